// The only digest that we use: identifies the content of a file, a plan or a
// record. It does not prove who wrote it.
#ifndef CONFIG_VALUES_SHA256_H_
#define CONFIG_VALUES_SHA256_H_

#include <openssl/sha.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace clusterd {

inline std::string Sha256(absl::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(&digest[0]));
  return digest;
}

// Lower-case hex.
inline std::string Sha256Hex(absl::string_view bytes) {
  return absl::BytesToHexString(Sha256(bytes));
}

}  // namespace clusterd

#endif  // CONFIG_VALUES_SHA256_H_
