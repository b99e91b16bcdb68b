// Ids that parse are written back as the same text, or without "/role/viewer".
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/identity/certificate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<clusterd::SpiffeId> id = clusterd::ParseSpiffeId(text);
  if (!id.ok()) return 0;
  const std::string written = id->ToString();
  if (written != text && written + "/role/viewer" != text) std::abort();
  if (!(*clusterd::ParseSpiffeId(written) == *id)) std::abort();
  return 0;
}
