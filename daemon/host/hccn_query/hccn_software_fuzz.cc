// Whatever is read stands in the text, and versions are printable.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "daemon/host/hccn_query/hccn_software.h"

namespace {

void CheckVersion(const std::string& version) {
  if (version.empty()) std::abort();
  for (const unsigned char c : version) {
    if (!absl::ascii_isprint(c)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto process = clusterd::ParseHccnProcess(text);
  if (process.ok() && *process == absl::StrContains(text, "not exist")) {
    std::abort();
  }
  const auto versions = clusterd::ParseHccnVersions(text);
  if (versions.ok()) {
    CheckVersion(versions->driver);
    CheckVersion(versions->firmware);
  }
  const auto status = clusterd::ParseHccnConfigStatus(text);
  if (status.ok() && *status == clusterd::HccnConfigStatus::kSuccess &&
      !absl::StrContains(text, "SUCCESS")) {
    std::abort();
  }
  return 0;
}
