// Every line that is kept is printable, short and not empty.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "daemon/host/hccn_query/hccn_device_text.h"

namespace {

void Check(const absl::StatusOr<std::vector<std::string>>& lines) {
  if (!lines.ok()) return;
  for (const std::string& line : *lines) {
    if (line.empty() || line.size() > 4 * 255 + 3) std::abort();
    for (const unsigned char c : line) {
      if (!absl::ascii_isprint(c)) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Check(clusterd::ParseHccnArpTable(text));
  Check(clusterd::ParseHccnIpRouteTable(text));
  Check(clusterd::ParseHccnIpRuleTable(text));
  Check(clusterd::ParseHccnPci(text));
  Check(clusterd::ParseHccnNetdevStatus(text));
  return 0;
}
