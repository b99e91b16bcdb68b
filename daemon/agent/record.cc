#include "daemon/agent/record.h"

#include <sys/stat.h>

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_tool_recorder.h"
#include "daemon/host/machine_observer.h"
#include "proto/host_recording.pb.h"

namespace clusterd {
namespace {

constexpr int kNotWritten = 1;

bool IsPipe(int descriptor) {
  struct stat info;
  return fstat(descriptor, &info) == 0 &&
         (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

}  // namespace

int RecordHost(int descriptor, const std::string& root, CommandRunner* runner,
               Clock* clock, std::ostream* err) {
  if (!IsPipe(descriptor)) {
    *err << "--record: standard output is no pipe, expected `clusterd --record "
            "| clusterctl anonymise FILE`\n";
    return kNotWritten;
  }
  const FileReader files(root);
  HccnToolRecorder recorder(runner, [&files]() -> std::optional<std::string> {
    absl::StatusOr<FileText> conf = files.Read("/etc/hccn.conf");
    if (!conf.ok()) return std::nullopt;
    return std::move(conf->text);
  });
  MachineObserver observer({root}, &recorder, clock);
  HostRecording recording;
  *recording.mutable_facts() = observer.Observe("recorded", ObserveRequest());
  for (HostRecording::Run& run : recorder.runs()) {
    *recording.add_runs() = std::move(run);
  }
  recording.set_complete(true);
  if (recording.SerializeToFileDescriptor(descriptor)) return 0;
  *err << "--record: the recording cannot be written\n";
  return kNotWritten;
}

}  // namespace clusterd
