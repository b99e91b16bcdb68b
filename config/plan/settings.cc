#include "config/plan/settings.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/hccn_conf_text.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr uint32_t kMaxDevice = 63;

const DeviceSetting& RowFor(const PlanStep& step) {
  return *SettingOf(step)->device;
}

// True for the device's gateway or route, which the tool drops with a subnet.
bool IsDroppable(const HccnConf::Entry& entry, uint32_t device) {
  return (entry.key() == "gateway" || IsRouteKey(entry.key())) &&
         entry.has_device() && entry.device() == device &&
         !absl::StrContains(entry.key(), '\n') &&
         !absl::StrContains(entry.value(), '\n');
}

FindingValue Text(const PlanStep& step) {
  const DeviceSetting& setting = RowFor(step);
  const auto of_device = [&step](const FindingValue& what) {
    return Worded("plan-say-of-device", step.target().device(), what);
  };
  if (IsRewrite(step)) {
    return of_device(Worded(
        "plan-say-set", absl::StrCat("hccn.conf ", setting.conf_keys[0]),
        Term(ConfText(setting, step.from())), ConfText(setting, step.to())));
  }
  const FindingValue to = ValueWords(step.to());
  if (step.from() == step.to()) {
    return of_device(Worded("plan-say-put-back", Term(setting.words), to));
  }
  return of_device(
      Worded("plan-say-set", Term(setting.words), ValueWords(step.from()), to));
}

FindingValue Condition(const PlanStep& step) {
  const DeviceSetting& setting = RowFor(step);
  const SettingValue& now = IsRewrite(step) ? step.to() : step.from();
  FindingValue has =
      now.has_none()
          ? Worded("plan-say-no-setting", Term(setting.words))
          : Worded("plan-say-value", Term(setting.words), ValueWords(now));
  if (!IsRewrite(step) && step.setting() == SETTING_GATEWAY) {
    has = Worded("plan-say-planned-address");
  }
  return Worded(!IsRewrite(step) && setting.needs_idle_device
                    ? "plan-say-if-idle"
                    : "plan-say-if-device",
                step.target().device(), has);
}

FindingValue Undo(const PlanStep& step) {
  if (IsRewrite(step) || step.from().has_none()) {
    return Worded("plan-say-undo-conf");
  }
  return Worded(
      step.from().has_on() ? "plan-say-undo-switch" : "plan-say-undo-set",
      ValueWords(step.from()));
}

absl::Status Check(const PlanStep& step) {
  const DeviceSetting& setting = RowFor(step);
  const uint32_t device = step.target().device();
  if (device > kMaxDevice) return NotOneToSet("device", absl::StrCat(device));
  if (!setting.is_legal(step.to())) {
    return NotOneToSet(setting.words, step.to());
  }
  const std::string from = SettingText(step.from());
  const bool plain = absl::c_all_of(from, [](unsigned char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("./,:_()", c);
  });
  if (!IsRewrite(step) && !plain) {
    return NotOneToSet(absl::StrCat("earlier ", setting.words), from);
  }
  for (const HccnConf::Entry& entry : step.dropped()) {
    // A gateway may replace that of another device, as ProductProfile says.
    const bool may_go =
        step.setting() == SETTING_ADDRESS
            ? IsDroppable(entry, device)
            : step.setting() == SETTING_GATEWAY && entry.key() == "gateway" &&
                  entry.device() != device && entry.device() <= kMaxDevice &&
                  IsDroppable(entry, entry.device());
    if (IsRewrite(step) || !may_go) {
      return NotOneToSet("dropped key", entry.key());
    }
  }
  return absl::OkStatus();
}

StepVerdict Judge(const PlanStep& step, const SettingFacts& facts) {
  const uint32_t device = step.target().device();
  StepVerdict verdict = Expect(facts, GoalOf(step), step.to());
  for (const ConfLine& line : ConfLinesOf(RowFor(step), step.to())) {
    verdict.Take(Expect(facts, ConfLineFact(device, line.key),
                        ConfLineValue(line.text)));
  }
  return verdict;
}

std::vector<FactKey> DroppedGateway(const PlanStep& step) {
  for (const HccnConf::Entry& entry : step.dropped()) {
    if (entry.key() != "gateway") continue;
    return {DeviceFact(entry.device(), SETTING_GATEWAY)};
  }
  return {};
}

Setting RowOf(const DeviceSetting& setting) {
  return {setting.id,     setting.kind, SettingTarget::kDevice,
          Text,           Condition,    Undo,
          Check,          Judge,        nullptr,
          DroppedGateway, &setting};
}

std::vector<Setting> MakeRows() {
  std::vector<Setting> rows = {kFormRow, kRunningRow, kAtBootRow, kActiveRow,
                               kAllowedRow};
  for (const DeviceSetting& device : DeviceSettings()) {
    rows.push_back(RowOf(device));
  }
  return rows;
}

bool IsInConf(const FactKey& fact) {
  return fact == FormFact() || fact.has_conf_key() ||
         fact.other() == FactKey::ROUTES;
}

// The fact of a line of hccn.conf.
FactKey FactOf(const HccnConf::Entry& entry) {
  return IsRouteKey(entry.key()) ? RoutesFact(entry.device())
                                 : ConfLineFact(entry.device(), entry.key());
}

// True if the step of a device sets that fact, or makes the tool drop it.
bool SetsOfDevice(const PlanStep& step, const FactKey& fact) {
  const uint32_t device = step.target().device();
  const auto lines = ConfLinesOf(*SettingOf(step)->device, step.to());
  return absl::c_any_of(lines,
                        [&](const ConfLine& line) {
                          return fact == ConfLineFact(device, line.key);
                        }) ||
         absl::c_any_of(step.dropped(), [&](const HccnConf::Entry& entry) {
           // Another device loses its gateway with its line.
           return fact == FactOf(entry) ||
                  (entry.device() != device &&
                   fact == DeviceFact(entry.device(), SETTING_GATEWAY));
         });
}

// True if the step sets that fact, or makes a program drop it.
bool SetsFact(const PlanStep& step, const FactKey& fact) {
  if (fact == GoalOf(step)) return true;
  const SettingTarget& target = step.target();
  switch (target.of_case()) {
    case SettingTarget::kDevice:
      return SetsOfDevice(step, fact);
    // These set all facts of the firewall, or of the file.
    case SettingTarget::kFirewall:
      return fact.target().firewall() == target.firewall();
    case SettingTarget::kRule:
      return fact.target().firewall() == target.rule().program();
    case SettingTarget::kFile:
      return IsInConf(fact);
    default:
      return false;
  }
}

}  // namespace

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

const Setting* FindSetting(SettingId id) {
  static const auto* const rows = new std::vector<Setting>(MakeRows());
  return FirstWith(*rows, &Setting::id, id);
}

const Setting* SettingOf(const PlanStep& step) {
  const Setting* const row = FindSetting(step.setting());
  return row != nullptr && row->target == step.target().of_case() ? row
                                                                  : nullptr;
}

FactKey GoalOf(const PlanStep& step) {
  FactKey goal;
  *goal.mutable_target() = step.target();
  goal.set_setting(step.setting());
  return goal;
}

FindingValue StepWords(const PlanStep& step) {
  const Setting* const setting = SettingOf(step);
  return setting == nullptr ? Worded("plan-say-change-unknown")
                            : setting->text(step);
}

StepVerdict JudgeStep(const PlanStep& step, const SettingFacts& facts) {
  const Setting* const setting = SettingOf(step);
  if (setting == nullptr) return {StepVerdict::kUnknown};
  return setting->judge(step, facts);
}

bool IsAlreadySo(const HostPlan& plan, const std::vector<MovedFact>& moved,
                 const SettingFacts& facts) {
  if (moved.empty()) return plan.steps().empty();
  for (const PlanStep& step : plan.steps()) {
    if (JudgeStep(step, facts).state != StepVerdict::kSo) return false;
  }
  return absl::c_all_of(moved, [&plan](const MovedFact& fact) {
    return !IsUnknown(fact.now) &&
           absl::c_any_of(plan.steps(), [&fact](const PlanStep& step) {
             return SetsFact(step, fact.key);
           });
  });
}

std::string BlockedText(const BlockedChange& blocked) {
  const std::string who =
      blocked.devices().empty()
          ? ""
          : absl::StrCat(blocked.devices_size() == 1 ? "device " : "devices ",
                         absl::StrJoin(blocked.devices(), ","), ": ");
  return absl::StrCat(who, blocked.what(),
                      " cannot be planned: ", blocked.reason(), "; ",
                      blocked.fix());
}

}  // namespace clusterd
