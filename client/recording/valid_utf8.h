// Makes any bytes valid UTF-8, as JSON needs them.
#ifndef CLIENT_RECORDING_VALID_UTF8_H_
#define CLIENT_RECORDING_VALID_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace clusterd {

// `bytes` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
// Surrogates, overlong forms and values above U+10FFFF are not valid.
std::string ValidUtf8(absl::string_view bytes);

}  // namespace clusterd

#endif  // CLIENT_RECORDING_VALID_UTF8_H_
