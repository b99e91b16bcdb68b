#include "daemon/host/quoted_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

void AppendPrintable(char c, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  const unsigned char byte = static_cast<unsigned char>(c);
  if (absl::ascii_isprint(byte)) {
    out->push_back(c);
  } else if (c == '\n') {
    out->append("\\n");
  } else if (c == '\r') {
    out->append("\\r");
  } else if (c == '\t') {
    out->append("\\t");
  } else {
    out->append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
  }
}

}  // namespace

std::string PrintableText(absl::string_view text, size_t max_bytes) {
  std::string out;
  for (const char c : text.substr(0, max_bytes)) AppendPrintable(c, &out);
  if (text.size() > max_bytes) out.append("...");
  return out;
}

std::string QuotedText(absl::string_view text) {
  return absl::StrCat("\"", PrintableText(text, kMaxQuotedBytes), "\"");
}

}  // namespace clusterd
