#include "daemon/agent/hooks/hook_settings.h"

#include <optional>
#include <vector>

#include "config/rules/catalogue.h"

namespace clusterd {
namespace {

constexpr bool kHoldsAlone = true;
constexpr bool kOfJob = true;

// Alone hold: a port, device or link that is broken, lost or in use, by what
// the vendor's tools say of it. Not firewall, ports-reserved, the kernel's
// values and addresses: how those should be is in cluster.yaml. Not lldp,
// optics, hccn-conf: a job runs in spite of them.
constexpr HookRule kHookRules[] = {
    {"device-count", kHoldsAlone, false},
    {"device-health", kHoldsAlone, false},
    {"device-idle", kHoldsAlone, false},
    {"driver-compat", kHoldsAlone, false},
    {"hccs", kHoldsAlone, false},
    {"link", kHoldsAlone, false},
    {"net-health", kHoldsAlone, false},
    {"cluster-size", false, kOfJob},
    {"device-process-limit", false, kOfJob},
    {"environment-uniform", false, kOfJob},
    {"hccl-environment", false, kOfJob},
    {"job-device-count", false, kOfJob},
    {"job-device-group", false, kOfJob},
    {"job-dtype", false, kOfJob},
    {"job-size", false, kOfJob},
    {"job-super-pod", false, kOfJob},
    {"job-uniform", false, kOfJob},
    {"rank-table", false, kOfJob},
    {"ranks", false, kOfJob},
    {"rendezvous", false, kOfJob},
    {"ssh-ready", false, kOfJob},
};

constexpr absl::Duration kLeastAge = absl::Seconds(1);
constexpr absl::Duration kMostAge = absl::Hours(24);
constexpr absl::Duration kMostGrace = absl::Seconds(25);

struct RuleListKey {
  absl::string_view key;
  std::set<std::string> HookSettings::*rules;
};
constexpr RuleListKey kRuleLists[] = {
    {"fail_open", &HookSettings::fail_open},
    {"fail_closed", &HookSettings::fail_closed},
    {"fail_closed_unknown", &HookSettings::fail_closed_unknown},
};

struct PathKey {
  absl::string_view key;
  std::string HookSettings::*path;
};
constexpr PathKey kPaths[] = {
    {"scontrol", &HookSettings::scontrol},
    {"slurm_conf", &HookSettings::slurm_conf},
};

std::set<std::string> ReadRules(const YamlValue& list) {
  std::set<std::string> rules;
  if (list.node() == nullptr) return rules;
  if (!list.Is(YamlNode::Kind::kList)) {
    list.WrongKind("a list of rules");
    return rules;
  }
  const std::vector<absl::string_view> names = RuleNames();
  for (const YamlValue& item : list.Items()) {
    const std::optional<std::string> rule = item.Word(names);
    if (rule) rules.insert(*rule);
  }
  return rules;
}

}  // namespace

absl::Span<const HookRule> HookRules() { return kHookRules; }

HookRule HookRuleOf(absl::string_view name) {
  for (const HookRule& rule : kHookRules) {
    if (rule.name == name) return rule;
  }
  return {name};
}

Return ReturnOf(absl::string_view rule) {
  if (HookRuleOf(rule).holds_alone) return Return::kByItself;
  const Rule* const row = FindRule(rule);
  return row != nullptr && row->JudgesOneHost() ? Return::kByController
                                                : Return::kByHand;
}

HookSettings ReadHookSettings(const YamlValue& hooks) {
  std::vector<absl::string_view> keys = {"drain", "max_age", "grace"};
  for (const RuleListKey& list : kRuleLists) keys.push_back(list.key);
  for (const PathKey& path : kPaths) keys.push_back(path.key);
  const YamlMap map(hooks.node(), "hooks", keys, hooks.mistakes());
  HookSettings settings;
  settings.drain = map["drain"].Bool().value_or(settings.drain);
  settings.max_age =
      map["max_age"].Duration(kLeastAge, kMostAge).value_or(settings.max_age);
  settings.grace = map["grace"]
                       .Duration(absl::ZeroDuration(), kMostGrace)
                       .value_or(settings.grace);
  for (const RuleListKey& list : kRuleLists) {
    settings.*list.rules = ReadRules(map[list.key]);
  }
  for (const PathKey& key : kPaths) {
    const YamlValue value = map[key.key];
    const std::optional<std::string> path = value.Text();
    if (!path) continue;
    if (path->front() != '/') {
      value.Wrong(": ", QuoteValue(*path), " is no absolute path");
    }
    settings.*key.path = *path;
  }
  for (const std::string& rule : settings.fail_open) {
    if (settings.fail_closed.count(rule) > 0 ||
        settings.fail_closed_unknown.count(rule) > 0) {
      map["fail_open"].Wrong(": ", rule,
                             " is to fail closed, too, expected one of both");
    }
  }
  return settings;
}

}  // namespace clusterd
