#include "config/values/sha256.h"

#include <openssl/sha.h>

#include "absl/strings/escaping.h"

namespace clusterd {

std::string Sha256(absl::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(&digest[0]));
  return digest;
}

std::string Sha256Hex(absl::string_view bytes) {
  return absl::BytesToHexString(Sha256(bytes));
}

}  // namespace clusterd
