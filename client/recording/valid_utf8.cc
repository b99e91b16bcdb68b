#include "client/recording/valid_utf8.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

constexpr absl::string_view kReplacement = "\xef\xbf\xbd";

// Bytes of the sequence at the beginning of `bytes`; 0 if it is not valid.
size_t SequenceLength(absl::string_view bytes) {
  const auto byte = [&bytes](size_t i) {
    return static_cast<uint8_t>(bytes[i]);
  };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;   // Overlong.
  if (first == 0xed && byte(1) >= 0xa0) return 0;  // Surrogate.
  if (first == 0xf0 && byte(1) < 0x90) return 0;   // Overlong.
  if (first == 0xf4 && byte(1) >= 0x90) return 0;  // Above U+10FFFF.
  return length;
}

}  // namespace

std::string ValidUtf8(absl::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const size_t length = SequenceLength(bytes);
    absl::StrAppend(&out, length == 0 ? kReplacement : bytes.substr(0, length));
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace clusterd
