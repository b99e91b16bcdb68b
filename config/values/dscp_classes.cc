#include "config/values/dscp_classes.h"

#include <bitset>

#include "absl/strings/str_split.h"
#include "config/values/text_form.h"
#include "config/values/value_error.h"

namespace clusterd {

absl::StatusOr<DscpClasses> ParseDscpClasses(absl::string_view text) {
  static const LazyRE2 kPair = {R"((0|[1-9]\d?):([0-3]))"};
  DscpClasses classes = {};
  std::bitset<kDscps> named;
  for (const absl::string_view pair : absl::StrSplit(text, ',')) {
    uint32_t dscp = 0, traffic_class = 0;
    if (!HasForm(pair, *kPair, &dscp, &traffic_class) || dscp >= kDscps ||
        named[dscp]) {
      return WrongValue("value-dscp", pair);
    }
    named.set(dscp);
    classes[dscp] = traffic_class;
  }
  return classes;
}

std::string DscpClassesText(const DscpClasses& classes) {
  std::string text;
  for (size_t dscp = 0; dscp < kDscps; ++dscp) {
    if (classes[dscp] == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ",", dscp, ":", classes[dscp]);
  }
  return text.empty() ? "0:0" : text;
}

}  // namespace clusterd
