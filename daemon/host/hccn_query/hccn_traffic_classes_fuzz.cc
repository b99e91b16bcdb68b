// Every class stands in the text, and what is on is a 1 there.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/hccn_traffic_classes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto classes = clusterd::ParseHccnDscpToTc(text);
  if (classes.ok()) {
    if (classes->empty()) std::abort();
    for (const auto& [dscp, tc] : *classes) {
      if (dscp > 63 || !absl::StrContains(text, absl::StrCat(dscp)) ||
          !absl::StrContains(text, absl::StrCat(tc))) {
        std::abort();
      }
    }
  }
  const auto pfc = clusterd::ParseHccnPfc(text);
  if (pfc.ok()) {
    std::string row;
    for (const bool enabled : *pfc) row += enabled ? '1' : '0';
    std::string seen;
    for (const char c : text.substr(text.find("enabled"))) {
      if (c == '0' || c == '1') seen += c;
    }
    if (!absl::StrContains(seen, row)) std::abort();
  }
  return 0;
}
