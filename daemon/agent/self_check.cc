#include "daemon/agent/self_check.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "config/rules/judge.h"
#include "config/spec/product_profile.h"
#include "config/values/version.h"

namespace clusterd {
namespace {

constexpr uint32_t kBasePort = 60000;
// The width that every CANN version fits into; cluster.yaml's "auto" is the
// same.
constexpr uint32_t kPortCount = 32;
constexpr uint32_t kBacklog = 65535;

// The default mode of the product that the PCI ids and the devices' ids speak
// for; nullptr if they do not settle it. The fact reads "A2 x 8".
const ProductProfile* ProfileOf(const HostFacts& facts) {
  const std::string& series = facts.identity().npu_series().value();
  if (series.find(',') != std::string::npos) return nullptr;  // A mixture.
  const std::vector<uint32_t> ids(facts.device_ids().value().ids().begin(),
                                  facts.device_ids().value().ids().end());
  for (const ProductProfile& profile : AllProductProfiles()) {
    if (profile.npu_series.empty() ||
        !absl::StartsWith(series, profile.npu_series + " x ")) {
      continue;
    }
    if (profile.device_ids == ids) return &profile;
  }
  return nullptr;
}

}  // namespace

ClusterSpec AssumedSpec(const std::string& cluster, const HostFacts& facts) {
  ClusterSpec spec;
  spec.set_version(1);
  spec.set_name(cluster);
  if (const ProductProfile* profile = ProfileOf(facts)) {
    spec.set_product(profile->name);
    spec.set_mode(profile->mode);
  }
  spec.add_servers()->set_host(facts.host());
  spec.mutable_hccl()->set_base_port(kBasePort);
  spec.mutable_hccl()->set_port_count(kPortCount);
  spec.mutable_hccl()->set_port_count_auto(true);
  spec.mutable_kernel()->set_somaxconn(kBacklog);
  spec.mutable_kernel()->set_tcp_max_syn_backlog(kBacklog);
  spec.set_firewall(FIREWALL_DISABLED);
  spec.mutable_deadlines()->set_command_ms(10000);
  spec.mutable_deadlines()->set_host_ms(30000);
  spec.mutable_deadlines()->set_run_ms(60000);
  return spec;
}

CheckSelfResponse CheckSelf(HostObserver* observer, const std::string& host,
                            const std::optional<ClusterSpec>& spec) {
  HostFacts nothing_yet;
  nothing_yet.set_host(host);
  const ObserveRequest request =
      MakeObserveRequest(spec ? *spec : AssumedSpec("", nothing_yet));
  CheckSelfResponse response;
  *response.mutable_facts() = observer->Observe(host, request);
  const HostFacts& facts = response.facts();
  const ClusterSpec judged_by = spec ? *spec : AssumedSpec("", facts);
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

}  // namespace clusterd
