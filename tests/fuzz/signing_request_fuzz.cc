// A signing request is read or refused; the key that comes out has a digest.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/identity/signing_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto asked = clusterd::ReadSigningRequest(text);
  if (asked.ok() &&
      (asked->public_key_der.empty() || asked->spki_sha256.size() != 64)) {
    std::abort();
  }
  return 0;
}
