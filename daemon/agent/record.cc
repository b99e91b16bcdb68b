#include "daemon/agent/record.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/host/file_reader.h"
#include "daemon/host/machine_observer.h"
#include "daemon/host/recording/address_map.h"
#include "daemon/host/recording/hccn_tool_recorder.h"
#include "daemon/host/recording/recording.h"

namespace clusterd {
namespace {

constexpr int kNotWritten = 1;
constexpr int kNothingRan = 2;

// The name is one of those that the file must not hold, so none is given.
absl::Status Write(const std::string& path,
                   const std::vector<RecordedRun>& runs,
                   const HostFacts& facts) {
  absl::StatusOr<std::string> key = RandomAddressKey();
  if (!key.ok()) return key.status();
  absl::StatusOr<std::string> text =
      FormatRecords(MakeRecords(runs, facts, AddressMap(*std::move(key))));
  if (!text.ok()) return text.status();
  return WriteNewFile(path, *text);
}

}  // namespace

int RecordHost(const std::string& path, const std::string& root,
               CommandRunner* runner, Clock* clock, std::ostream* out,
               std::ostream* err) {
  const FileReader files(root);
  HccnToolRecorder recorder(runner, [&files]() -> std::optional<std::string> {
    absl::StatusOr<FileText> conf = files.Read("/etc/hccn.conf");
    if (!conf.ok()) return std::nullopt;
    return std::move(conf->text);
  });
  MachineObserver observer({root}, &recorder, clock);
  const HostFacts facts = observer.Observe("recorded", ObserveRequest());
  const std::vector<RecordedRun> runs = recorder.runs();
  const absl::Status written = Write(path, runs, facts);
  if (!written.ok()) {
    *err << written.message() << "\n";
    return kNotWritten;
  }
  *out << path << ": " << runs.size()
       << " runs of hccn_tool, addresses and names replaced. Read it before "
          "you send it.\n";
  return runs.empty() ? kNothingRan : 0;
}

}  // namespace clusterd
