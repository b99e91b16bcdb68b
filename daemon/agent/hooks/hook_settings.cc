#include "daemon/agent/hooks/hook_settings.h"

#include <optional>
#include <vector>

#include "config/rules/catalogue.h"
#include "config/spec/yaml_keys.inc"

namespace clusterd {
namespace {

constexpr absl::Duration kLeastAge = absl::Seconds(1);
constexpr absl::Duration kMostAge = absl::Hours(24);
constexpr absl::Duration kMostGrace = absl::Seconds(25);

std::set<std::string> ReadRules(const YamlValue& list) {
  std::set<std::string> rules;
  if (list.node() == nullptr) return rules;
  if (!list.Is(YamlNode::Kind::kList)) {
    list.WrongKind("spec-list-of-rules");
    return rules;
  }
  const std::vector<absl::string_view> names = RuleNames();
  for (const YamlValue& item : list.Items()) {
    const std::optional<std::string> rule = item.Word(names);
    if (rule) rules.insert(*rule);
  }
  return rules;
}

std::optional<std::string> ReadPath(const YamlValue& value) {
  std::optional<std::string> path = value.Text();
  if (path && path->front() != '/') {
    value.Wrong("msg-spec-not-absolute", QuoteValue(*path));
  }
  return path;
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
  const YamlMap map(hooks.node(), "hooks", kAgentKeys, hooks.mistakes());
  HookSettings settings;
  settings.drain = map["drain"].Bool().value_or(settings.drain);
  settings.max_age =
      map["max_age"].Duration(kLeastAge, kMostAge).value_or(settings.max_age);
  settings.grace = map["grace"]
                       .Duration(absl::ZeroDuration(), kMostGrace)
                       .value_or(settings.grace);
  settings.fail_open = ReadRules(map["fail_open"]);
  settings.fail_closed = ReadRules(map["fail_closed"]);
  settings.fail_closed_unknown = ReadRules(map["fail_closed_unknown"]);
  settings.scontrol = ReadPath(map["scontrol"]).value_or(settings.scontrol);
  settings.slurm_conf = ReadPath(map["slurm_conf"]).value_or("");
  for (const std::string& rule : settings.fail_open) {
    if (settings.fail_closed.count(rule) > 0 ||
        settings.fail_closed_unknown.count(rule) > 0) {
      map["fail_open"].Wrong("msg-hook-fail-open-and-closed", rule);
    }
  }
  return settings;
}

}  // namespace clusterd
