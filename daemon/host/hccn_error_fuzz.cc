// A failure has a printable text, and success has none.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/hccn_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  clusterd::CommandResult result;
  const std::string text(reinterpret_cast<const char*>(data), size);
  result.exit_status = size == 0 ? 0 : data[0] % 2;
  result.standard_error = text.substr(0, size / 2);
  result.standard_output = text.substr(size / 2);
  const clusterd::HccnVerdict verdict = clusterd::ClassifyHccnRun(result);
  const bool none = verdict.failure == clusterd::HccnFailure::kNone;
  if (none != verdict.text.empty()) std::abort();
  if (none && result.exit_status != 0) std::abort();
  for (const unsigned char c : verdict.text) {
    if (c < 0x20 || c > 0x7e) std::abort();
  }
  return 0;
}
