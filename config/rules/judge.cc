#include "config/rules/judge.h"

#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/address_rules.h"
#include "config/rules/catalogue.h"
#include "config/rules/cluster_rules.h"
#include "config/rules/cluster_view.h"
#include "config/rules/device_rules.h"
#include "config/rules/drift_rules.h"
#include "config/rules/firewall_rules.h"
#include "config/rules/hccn_conf_rules.h"
#include "config/rules/judge_view.h"
#include "config/rules/kernel_rules.h"
#include "config/rules/port_rules.h"
#include "config/rules/rule_report.h"
#include "config/rules/subnet_rules.h"
#include "config/rules/uniform_rules.h"
#include "config/rules/unique_rules.h"
#include "config/spec/namespace_facts.h"

namespace clusterd {
namespace {

using Check = void (*)(const ClusterView&, RuleReport&);

// Who carries a rule of the catalogue out. judge_test proves that every rule
// has its check.
constexpr struct {
  absl::string_view rule;
  Check check;
} kChecks[] = {
    {"ports-reserved", CheckPortsReserved},
    {"ports-free", CheckPortsFree},
    {"listen-backlog", CheckListenBacklog},
    {"syn-backlog", CheckSynBacklog},
    {"sysctl-persistent", CheckSysctlPersistent},
    {"firewall", CheckFirewall},
    {"drift", CheckDrift},
    {"hccn-tool", CheckHccnTool},
    {"device-count", CheckDeviceCount},
    {"hccn-conf", CheckHccnConf},
    {"link", CheckLink},
    {"net-health", CheckNetHealth},
    {"lldp", CheckLldp},
    {"device-ip-set", CheckDeviceIpSet},
    {"device-ip-planned", CheckDeviceIpPlanned},
    {"device-ip-persistent", CheckDeviceIpPersistent},
    {"device-ip-allowed", CheckDeviceIpAllowed},
    {"gateway", CheckGateway},
    {"gateway-persistent", CheckGatewayPersistent},
    {"detect-address", CheckDetectAddress},
    {"detect-address-persistent", CheckDetectAddressPersistent},
    {"subnet-pairs", CheckSubnetPairs},
    {"subnet-distinct", CheckSubnetDistinct},
    {"subnet-across-hosts", CheckSubnetAcrossHosts},
    {"subnet-shared", CheckSubnetShared},
    {"ip-unique", CheckIpUnique},
    {"ip-host-part", CheckIpHostPart},
    {"netmask-uniform", CheckNetmaskUniform},
    {"tls-uniform", CheckTlsUniform},
    {"mtu-uniform", CheckMtuUniform},
    {"version-uniform", CheckVersionUniform},
    {"cluster-size", CheckClusterSize},
    {"cluster-size-power", CheckClusterSizePower},
    {"host-identity", CheckHostIdentity},
};

// The rules that a network namespace can be judged by, and the one that says
// which hosts could not tell. Everything else is the host's.
constexpr absl::string_view kNamespaceRules[] = {
    "ports-reserved", "ports-free",    "listen-backlog",
    "syn-backlog",    "host-identity",
};

bool IsAboutNamespaces(absl::string_view rule) {
  return std::find(std::begin(kNamespaceRules), std::end(kNamespaceRules),
                   rule) != std::end(kNamespaceRules);
}

Check CheckOf(absl::string_view rule) {
  for (const auto& entry : kChecks) {
    if (entry.rule == rule) return entry.check;
  }
  return nullptr;
}

using Names = absl::flat_hash_set<std::string>;

template <typename Repeated>
Names NamesOf(const Repeated& names) {
  return Names(names.begin(), names.end());
}

RuleResult Skipped(const RuleInfo& rule, std::string reason) {
  RuleResult result;
  result.set_rule(rule.name);
  result.set_category(rule.category);
  result.set_state(SKIPPED);
  result.set_skip_reason(std::move(reason));
  return result;
}

void Downgrade(RuleResult* result) {
  State worst = STATE_UNSPECIFIED;
  for (Finding& finding : *result->mutable_findings()) {
    if (finding.state() == FAIL) {
      finding.set_state(WARN);
      finding.set_downgraded(true);
    }
    if (finding.state() != SKIPPED) worst = std::max(worst, finding.state());
  }
  if (worst != STATE_UNSPECIFIED) result->set_state(worst);
}

}  // namespace

absl::Status ValidateSelection(const RuleSelection& selection) {
  std::vector<std::string> mistakes;
  for (const auto* names :
       {&selection.only(), &selection.skip(), &selection.downgrade()}) {
    for (const std::string& name : *names) {
      if (FindRule(name) != nullptr) continue;
      const std::string nearest = NearestRule(name);
      mistakes.push_back(absl::StrCat(
          "rule \"", name, "\" does not exist",
          nearest.empty() ? ", expected a name of `clusterctl explain`"
                          : absl::StrCat(", expected \"", nearest, "\"")));
    }
  }
  if (!mistakes.empty()) {
    return absl::NotFoundError(absl::StrJoin(mistakes, "\n"));
  }
  const Names only = NamesOf(selection.only());
  const Names skip = NamesOf(selection.skip());
  for (const RuleInfo& rule : RuleCatalogue()) {
    const bool selected = only.empty() || only.contains(rule.name);
    if (selected && !skip.contains(rule.name)) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "rules: every one is skipped, expected at least one to check");
}

std::vector<RuleResult> Judge(const ClusterSpec& spec,
                              absl::Span<const HostFacts* const> hosts,
                              const JudgeOptions& options) {
  const NamespaceFacts asked(options.network_namespace, hosts);
  return JudgeView(ClusterView(spec, asked.hosts()), options);
}

std::vector<RuleResult> JudgeView(const ClusterView& view,
                                  const JudgeOptions& options) {
  const Names only = NamesOf(options.selection.only());
  const Names skip = NamesOf(options.selection.skip());
  const Names downgrade = NamesOf(options.selection.downgrade());
  std::vector<RuleResult> results;
  for (const RuleInfo& rule : RuleCatalogue()) {
    if (skip.contains(rule.name) ||
        (!only.empty() && !only.contains(rule.name))) {
      results.push_back(Skipped(rule, "asked to be skipped"));
      continue;
    }
    if (options.one_host && !rule.one_host) {
      results.push_back(
          Skipped(rule, "needs all hosts: only the controller can tell"));
      continue;
    }
    if (!options.network_namespace.empty() && !IsAboutNamespaces(rule.name)) {
      results.push_back(Skipped(rule, "does not apply to a network namespace"));
      continue;
    }
    RuleReport report(rule, view);
    CheckOf(rule.name)(view, report);
    results.push_back(std::move(report).Finish());
    if (downgrade.contains(rule.name)) Downgrade(&results.back());
  }
  return results;
}

}  // namespace clusterd
