#include "daemon/agent/hooks/hook_settings.h"

#include <optional>
#include <vector>

#include "config/rules/catalogue.h"

namespace clusterd {
namespace {

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

bool HoldsAlone(absl::string_view rule) {
  const Rule* const row = FindRule(rule);
  return row != nullptr && row->holds_alone;
}

bool IsOfJob(absl::string_view rule) {
  const Rule* const row = FindRule(rule);
  return row != nullptr && row->of_job;
}

Return ReturnOf(absl::string_view rule) {
  if (HoldsAlone(rule)) return Return::kByItself;
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
