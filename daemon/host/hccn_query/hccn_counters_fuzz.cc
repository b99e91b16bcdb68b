// Every counter stands in the text, with its value.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/hccn_counters.h"

namespace {

void Check(const std::string& text,
           const absl::StatusOr<std::vector<clusterd::HccnCounter>>& counters) {
  if (!counters.ok()) return;
  if (counters->empty()) std::abort();
  for (const clusterd::HccnCounter& counter : *counters) {
    if (!absl::StrContains(text, counter.name) ||
        !absl::StrContains(text, absl::StrCat(counter.value))) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Check(text, clusterd::ParseHccnPacketStatistics(text));
  Check(text, clusterd::ParseHccnHardwareStatistics(text, 0));
  return 0;
}
