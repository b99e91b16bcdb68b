#include "config/plan/make_plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/device_steps.h"
#include "config/plan/firewall_steps.h"
#include "config/plan/hccn_conf_steps.h"
#include "config/plan/host_plan_builder.h"
#include "config/plan/named_facts.h"
#include "config/plan/plan_digest.h"
#include "config/plan/sysctl_steps.h"
#include "config/plan/tls_steps.h"
#include "config/spec/namespace_facts.h"
#include "config/spec/network_namespace.h"

namespace clusterd {
namespace {

HostPlan PlanHost(const ClusterSpec& spec, const ServerSpec* server,
                  const HostFacts& facts) {
  HostPlanBuilder plan(facts);
  if (server == nullptr) {
    plan.Block(CHANGE_OBSERVE, {}, "the host", "the spec does not name it",
               "add it to the spec, or leave it out");
    return plan.Finish();
  }
  if (facts.has_missing()) {
    plan.Block(CHANGE_OBSERVE, {}, "the host",
               absl::StrCat("nothing is known about it: ",
                            MissingText(facts.missing())),
               facts.network_namespace().empty()
                   ? "let its clusterd attach, then plan again"
                   : "start the container there, or name another target with "
                     "--netns");
    return plan.Finish();
  }
  if (facts.network_namespace().empty()) {
    PlanHccnConfSteps(&plan);
    PlanDeviceSteps(spec, *server, &plan);
    PlanTlsSteps(spec, *server, &plan);
    PlanSysctlSteps(spec, &plan);
    PlanFirewallSteps(spec, &plan);
  } else {
    PlanNamespaceSysctlSteps(spec, &plan);
  }
  HostPlan host_plan = plan.Finish();
  host_plan.set_command_ms(spec.deadlines().command_ms());
  return host_plan;
}

}  // namespace

ClusterPlan MakePlan(const ClusterSpec& spec,
                     absl::Span<const HostFacts* const> hosts,
                     const NetworkNamespace& network_namespace) {
  ClusterPlan plan;
  plan.set_schema_version(1);
  plan.set_cluster(spec.name());
  plan.set_product(spec.product());
  plan.set_spec_digest(spec.digest());
  plan.set_spec_sha256(SpecSha256(spec));

  std::map<std::string, int> order;
  for (int i = 0; i < spec.servers_size(); ++i) {
    order.emplace(spec.servers(i).host(), i);
  }
  const auto position = [&order](const HostFacts* facts) {
    const auto found = order.find(facts->host());
    return found == order.end() ? static_cast<int>(order.size())
                                : found->second;
  };
  const NamespaceFacts asked(NetworkNamespaceText(network_namespace), hosts);
  std::vector<const HostFacts*> sorted = asked.hosts();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&position](const HostFacts* a, const HostFacts* b) {
                     return position(a) < position(b);
                   });
  for (const HostFacts* facts : sorted) {
    const auto found = order.find(facts->host());
    const ServerSpec* server =
        found == order.end() ? nullptr : &spec.servers(found->second);
    *plan.add_hosts() = PlanHost(spec, server, *facts);
    if (network_namespace.target_case() != NetworkNamespace::TARGET_NOT_SET) {
      *plan.mutable_hosts()->rbegin()->mutable_network_namespace() =
          network_namespace;
    }
  }
  plan.set_digest(PlanDigest(plan));
  return plan;
}

bool IsNothingToDo(const ClusterPlan& plan) {
  return !plan.hosts().empty() &&
         std::all_of(plan.hosts().begin(), plan.hosts().end(),
                     [](const HostPlan& host) {
                       return host.steps().empty() && host.blocked().empty();
                     });
}

}  // namespace clusterd
