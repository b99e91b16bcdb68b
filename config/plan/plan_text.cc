#include "config/plan/plan_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/settings.h"

namespace clusterd {

std::string StepText(const PlanStep& step) {
  const Setting* const setting = SettingOf(step);
  return setting == nullptr ? "a change that this version does not know"
                            : setting->text(step);
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
