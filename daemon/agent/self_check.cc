#include "daemon/agent/self_check.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "config/identity/certificate.h"
#include "config/identity/regular_file.h"
#include "config/report/facts_table.h"
#include "config/report/message_json.h"
#include "config/report/report_table.h"
#include "config/report/verdict.h"
#include "config/rules/judge.h"
#include "config/spec/host_names.h"
#include "config/spec/product_profile.h"
#include "config/spec/spec_loader.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "daemon/agent/task_runner.h"
#include "google/protobuf/text_format.h"

namespace clusterd {
namespace {

// The spec that HCCL's own defaults need. Every CANN version needs at most 32
// ports; cluster.yaml's "auto" is the same.
constexpr char kAssumed[] = R"(
  version: 1
  hccl { base_port: 60000 base_port_auto: true
         port_count: 32 port_count_auto: true }
  kernel { somaxconn: 65535 somaxconn_auto: true
           tcp_max_syn_backlog: 65535 tcp_max_syn_backlog_auto: true }
  firewall: FIREWALL_DISABLED
  deadlines { command_ms: 10000 host_ms: 30000 run_ms: 60000 }
)";

// The default mode of the product that matches the PCI ids and the devices'
// ids; nullptr if they are ambiguous. The fact has the form "A2 x 8".
const ProductProfile* ProfileOf(const HostFacts& facts) {
  const std::string& series = facts.identity().npu_series().value();
  if (absl::StrContains(series, ',')) return nullptr;  // A mixture.
  const auto& ids = facts.device_ids().value().ids();
  for (const ProductProfile& profile : AllProductProfiles()) {
    if (!profile.npu_series.empty() &&
        absl::StartsWith(series, profile.npu_series + " x ") &&
        absl::c_equal(profile.device_ids, ids)) {
      return &profile;
    }
  }
  return nullptr;
}

absl::StatusOr<std::string> HostName(const AgentFlags& flags,
                                     const std::string& machine_name) {
  const std::string& file = flags.tls.certificate;
  if (file.empty()) return machine_name;
  // Only its name counts: it may be expired, or its key readable only by root.
  ASSIGN_OR_RETURN(const std::string pem, ReadRegularFile(file));
  const absl::StatusOr<CertificateInfo> info = ParseCertificate(pem);
  RETURN_IF_ERROR(InFront(file, info.status()));
  if (info->id.kind == IdentityKind::kHost) return info->id.name;
  return PermissionDenied(file, ": is ", info->id.ToString(),
                          ", expected that of a host");
}

absl::StatusOr<std::optional<ClusterSpec>> ReadSpec(const std::string& path,
                                                    const std::string& host) {
  if (path.empty()) return std::optional<ClusterSpec>();
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  if (!file) return NotFound(path, ": cannot be read");
  ASSIGN_OR_RETURN(ClusterSpec spec, LoadSpec(path, text));
  if (NamesHost(spec, host)) return std::optional<ClusterSpec>(std::move(spec));
  return InvalidArgument(path, ": names no host \"", host,
                         "\", expected this host's name in it (--spec)");
}

constexpr int kNotWritten = 1;

}  // namespace

ClusterSpec AssumedSpec(const HostFacts& facts) {
  ClusterSpec spec;
  google::protobuf::TextFormat::ParseFromString(kAssumed, &spec);
  if (const ProductProfile* profile = ProfileOf(facts)) {
    spec.set_product(profile->name);
    spec.set_mode(profile->mode);
  }
  spec.add_servers()->set_host(facts.host());
  return spec;
}

HostFacts ObserveSelf(HostObserver* observer, const std::string& host,
                      absl::Duration deadline) {
  HostFacts nothing_yet;
  nothing_yet.set_host(host);
  ObserveRequest request = MakeObserveRequest(AssumedSpec(nothing_yet));
  const uint32_t most =
      static_cast<uint32_t>(absl::ToInt64Milliseconds(deadline));
  request.set_host_ms(std::min(request.host_ms(), std::max(most, 1u)));
  request.set_command_ms(std::min(request.command_ms(), request.host_ms()));
  return observer->Observe(host, request);
}

Report JudgeSelf(const HostFacts& facts, const JobSpec* job,
                 const HostWaivers* waivers, absl::Time now) {
  ClusterSpec spec = AssumedSpec(facts);
  if (waivers != nullptr) *spec.mutable_waivers() = waivers->waivers();
  // A cabled port is meant for RoCE: if no device has an address, it has lost
  // its own, for example in a boot without hccn.conf. Rules then decide if the
  // job needs RoCE; servers of A3 may communicate over HCCS.
  const ProductProfile* const profile = ProfileOf(facts);
  const bool is_cabled =
      job != nullptr && profile != nullptr && profile->npu_series != "A3" &&
      absl::c_any_of(facts.devices(), [](const DeviceFacts& device) {
        return device.link().value() == LinkFact::UP;
      });
  spec.set_roce_unused(
      (waivers != nullptr && waivers->roce_unused()) ||
      absl::c_none_of(facts.devices(), [is_cabled](const auto& device) {
        return is_cabled || device.address().value().settings_size() > 0;
      }));
  JobSpec own;
  if (job != nullptr) own = *job;
  if (!own.servers().empty()) {
    // Rule rendezvous needs all servers; ports-free judges the spec's port.
    spec.set_rendezvous_port(own.servers(0).master_port());
    for (JobServer& server : *own.mutable_servers()) server.clear_master_port();
    for (const uint32_t id : own.servers(0).devices()) {
      spec.mutable_servers(0)->add_devices()->set_id(id);
    }
  }
  JudgeOptions options;
  options.one_host = true;
  options.now = now;
  options.job = job == nullptr ? nullptr : &own;
  const std::vector<const HostFacts*> hosts = {&facts};
  return BuildReport(spec, hosts, options);
}

CheckSelfResponse CheckSelf(HostObserver* observer, const std::string& host,
                            const std::optional<ClusterSpec>& spec) {
  HostFacts nothing_yet;
  nothing_yet.set_host(host);
  const ObserveRequest request =
      MakeObserveRequest(spec ? *spec : AssumedSpec(nothing_yet));
  CheckSelfResponse response;
  response.set_schema_version(kReportSchemaVersion);
  *response.mutable_facts() = observer->Observe(host, request);
  const HostFacts& facts = response.facts();
  const ClusterSpec judged_by = spec ? *spec : AssumedSpec(facts);
  JudgeOptions options;
  options.one_host = true;
  const std::vector<const HostFacts*> hosts = {&facts};
  Report& report = *response.mutable_report();
  report = BuildReport(judged_by, hosts, options);
  report.set_started_at_ms(facts.observed_at_ms());
  report.set_elapsed_ms(facts.elapsed_ms());
  report.set_clusterd_version(kClusterdVersion);
  report.add_notes(
      spec ? "one host alone: rules that compare hosts were not judged"
           : "one host alone and no spec: rules that compare hosts, and plans, "
             "were not judged");
  return response;
}

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
    *out << MessageJson(response, /*with_defaults=*/false);
  } else {
    // Prints as clusterctl does, in plain ASCII for any console.
    const Style plain;
    PrintFactsTable(response.facts(), plain, absl::Now(), *out);
    *out << "\n";
    PrintReportTable(response.report(), plain, /*verbose=*/true, *out);
  }
  out->flush();
  return ExitStatusOf(response.report().verdict(), FailOn::kFail);
}

int RecordHost(int descriptor, const std::string& root, CommandRunner* runner,
               Clock* clock, std::ostream* err) {
  struct stat info;
  if (fstat(descriptor, &info) != 0 ||
      (!S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode))) {
    *err << "--record: standard output is not a pipe, expected "
            "`clusterd --record | clusterctl anonymise FILE`\n";
    return kNotWritten;
  }
  const HostRecording recording =
      MakeRecording("recorded", root, runner, clock, nullptr, ObserveRequest());
  if (recording.SerializeToFileDescriptor(descriptor)) return 0;
  *err << "--record: the recording cannot be written\n";
  return kNotWritten;
}

}  // namespace clusterd
