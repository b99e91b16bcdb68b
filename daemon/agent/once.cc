#include "daemon/agent/once.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "config/identity/tls_credentials.h"
#include "config/report/facts_table.h"
#include "config/report/message_json.h"
#include "config/report/report_table.h"
#include "config/report/verdict.h"
#include "config/spec/spec_loader.h"
#include "config/values/status_macros.h"
#include "daemon/agent/self_check.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_tool_recorder.h"
#include "daemon/host/machine_observer.h"
#include "proto/host_recording.pb.h"

namespace clusterd {
namespace {

absl::StatusOr<std::string> HostName(const AgentFlags& flags,
                                     const std::string& machine_name) {
  if (flags.tls.certificate.empty()) return machine_name;
  ASSIGN_OR_RETURN(
      const SpiffeId self,
      ReadOwnIdentity(flags.tls, flags.cluster, IdentityKind::kHost));
  return self.name;
}

absl::StatusOr<std::optional<ClusterSpec>> ReadSpec(const std::string& path,
                                                    const std::string& host) {
  if (path.empty()) return std::optional<ClusterSpec>();
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  ASSIGN_OR_RETURN(ClusterSpec spec, LoadSpec(path, text));
  for (const ServerSpec& server : spec.servers()) {
    if (server.host() == host) {
      return std::optional<ClusterSpec>(std::move(spec));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": names no host \"", host,
                   "\", expected this host's name in it (--spec)"));
}

// The host's facts, and then the report as clusterctl prints it. Plain ASCII:
// this may be read on any console.
void PrintText(const CheckSelfResponse& response, std::ostream& out) {
  const Style plain;
  PrintFactsTable(response.facts(), plain, absl::Now(), out);
  out << "\n";
  PrintReportTable(response.report(), plain, out);
}

constexpr int kNotWritten = 1;

bool IsPipe(int descriptor) {
  struct stat info;
  return fstat(descriptor, &info) == 0 &&
         (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

}  // namespace

int RunOnce(const AgentFlags& flags, const std::string& machine_name,
            HostObserver* observer, std::ostream* out, std::ostream* err) {
  const absl::StatusOr<std::string> host = HostName(flags, machine_name);
  if (!host.ok()) {
    *err << host.status().message() << "\n";
    return kExitUsage;
  }
  const absl::StatusOr<std::optional<ClusterSpec>> spec =
      ReadSpec(flags.spec, *host);
  if (!spec.ok()) {
    *err << spec.status().message() << "\n";
    return kExitUsage;
  }
  const CheckSelfResponse response = CheckSelf(observer, *host, *spec);
  if (flags.format == "json") {
    *out << SparseJson(response);
  } else {
    PrintText(response, *out);
  }
  out->flush();
  return ExitStatusOf(response.report().verdict(), FailOn::kFail);
}

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
