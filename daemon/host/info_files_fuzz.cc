// A path is absolute and climbs nowhere; values are printable.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/info_files.h"

namespace {

void CheckValue(const absl::StatusOr<std::string>& value) {
  if (!value.ok()) return;
  if (value->empty()) std::abort();
  for (const unsigned char c : *value) {
    if (c < 0x20 || c > 0x7e) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckValue(clusterd::ParseVersionInfo(text));
  CheckValue(clusterd::ParsePrettyName(text));
  const absl::StatusOr<std::string> path = clusterd::ParseInstallPath(text);
  if (path.ok() &&
      ((*path)[0] != '/' || (*path + "/").find("/../") != std::string::npos)) {
    std::abort();
  }
  return 0;
}
