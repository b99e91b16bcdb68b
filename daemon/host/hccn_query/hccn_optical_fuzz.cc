// A row without a number has none, one with a number has its unit, and every
// text is printable.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/hccn_optical.h"

namespace {

using clusterd::HccnNoNumber;

void CheckPrintable(const std::string& text) {
  for (const unsigned char c : text) {
    if (!absl::ascii_isprint(c)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto optical = clusterd::ParseHccnOptical(text);
  if (!optical.ok()) return 0;
  for (const clusterd::HccnMeasurement& row : optical->measurements) {
    CheckPrintable(row.name);
    const bool is_number = row.no_number == HccnNoNumber::kNone;
    if (is_number == row.unit.empty() || !std::isfinite(row.number)) {
      std::abort();
    }
    if (!is_number && row.number != 0) std::abort();
    if (!absl::StrContains(text, row.unit)) std::abort();
  }
  for (const clusterd::HccnOpticalFlag& row : optical->flags) {
    CheckPrintable(row.name);
    if (row.no_number != HccnNoNumber::kNone && row.mask != 0) std::abort();
    const std::string mask = absl::StrCat(absl::Hex(row.mask));
    if (row.no_number == HccnNoNumber::kNone &&
        !absl::StrContains(absl::AsciiStrToLower(text), mask)) {
      std::abort();
    }
  }
  for (const clusterd::HccnOpticalText& row : optical->texts) {
    CheckPrintable(row.name);
    CheckPrintable(row.value);
  }
  return 0;
}
