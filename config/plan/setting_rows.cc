#include "config/plan/setting_rows.h"

#include "absl/strings/str_cat.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"

namespace clusterd {

SettingValue SettingFacts::Now(const FactKey& key) const {
  const SettingValue now = FactValue(named_, key);
  const bool gone = facts_.hccn_conf().missing().reason() == Missing::ABSENT;
  const bool is_in_file = key.has_conf_key() || key.other() == FactKey::ROUTES;
  return IsUnknown(now) && gone && is_in_file ? NoneValue() : now;
}

const AllowedPorts& SettingFacts::Ports(FirewallProgram program,
                                        bool permanently) const {
  std::optional<AllowedPorts>& ports =
      allowed_[program == UFW ? 0 : 1][permanently ? 1 : 0];
  if (!ports) {
    ports.emplace(Allows(program, Firewall(program), permanently).value());
  }
  return *ports;
}

FindingValue StepVerdict::Why() const {
  return fact.has_target() ? DriftWords(FactKeyText(fact), SettingText(now),
                                        SettingText(wanted))
                           : Worded("plan-say-change-unknown");
}

absl::Status NotOneToSet(absl::string_view what, absl::string_view value) {
  return InvalidWords("msg-plan-value-not-valid", what, value.substr(0, 80));
}

StepVerdict Expect(const SettingFacts& facts, const FactKey& key,
                   const SettingValue& wanted) {
  const SettingValue now = facts.Now(key);
  return now == wanted ? StepVerdict() : NotSo(key, now, wanted);
}

StepVerdict NotSo(const FactKey& key, const SettingValue& now,
                  const SettingValue& wanted) {
  return {IsUnknown(now) ? StepVerdict::kUnknown : StepVerdict::kMoved, key,
          now, wanted};
}

FindingValue ValueWords(const SettingValue& value) {
  return value.has_none() ? Worded("plan-say-none") : Term(SettingText(value));
}

std::string RangeText(uint32_t first, uint32_t last, absl::string_view dash) {
  return first == last ? absl::StrCat(first) : absl::StrCat(first, dash, last);
}

}  // namespace clusterd
