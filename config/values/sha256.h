// The one digest that we use: what a file, a plan or a record held, to tell it
// from another one. No proof of who wrote it.
#ifndef CONFIG_VALUES_SHA256_H_
#define CONFIG_VALUES_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace clusterd {

// The 32 bytes.
std::string Sha256(absl::string_view bytes);

// In lower-case hex.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace clusterd

#endif  // CONFIG_VALUES_SHA256_H_
