// The steps of a device's settings: their words, and when each is right.
#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/settings.h"

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

}  // namespace

Setting RowOf(const DeviceSetting& setting) {
  return {setting.id,     setting.kind, SettingTarget::kDevice,
          Text,           Condition,    Undo,
          Check,          Judge,        nullptr,
          DroppedGateway, &setting};
}

}  // namespace clusterd
