// Every time and count stands in the text as the tool writes it.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "daemon/host/hccn_query/hccn_link_stat.h"

namespace {

void ExpectTime(const std::string& text, absl::CivilSecond time) {
  const std::string printed =
      absl::StrFormat("%2d %02d:%02d:%02d %d", time.day(), time.hour(),
                      time.minute(), time.second(), time.year());
  if (!absl::StrContains(text, printed)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto stat = clusterd::ParseHccnLinkStat(text, 0);
  if (!stat.ok()) return 0;
  ExpectTime(text, stat->current_time);
  if (!absl::StrContains(text, absl::StrCat(stat->ups))) std::abort();
  for (const clusterd::HccnLinkChange& change : stat->changes) {
    ExpectTime(text, change.time);
    if (!absl::StrContains(text, change.up ? "LINK UP" : "LINK DOWN")) {
      std::abort();
    }
  }
  return 0;
}
