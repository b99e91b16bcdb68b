#include "tests/readers/seen_text.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace clusterd {
namespace {

bool Continues(char c) { return c == '.' || absl::ascii_isdigit(c); }

std::string Escaped(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '\n' || absl::ascii_isprint(byte)) {
      escaped.push_back(c);
    } else if (c == '\t') {
      escaped.append("\\t");
    } else if (c == '\r') {
      escaped.append("\\r");
    } else {
      absl::StrAppendFormat(&escaped, "\\x%02x", byte);
    }
  }
  return escaped;
}

std::string WithoutBlanks(absl::string_view text) {
  std::string rest;
  for (const char c : text) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(c))) rest.push_back(c);
  }
  return rest;
}

}  // namespace

SeenText::SeenText(absl::string_view text)
    : text_(text),
      escaped_(Escaped(text)),
      without_blanks_(WithoutBlanks(text)) {}

bool SeenText::Has(absl::string_view words) const {
  return absl::StrContains(text_, words);
}

bool SeenText::HasWithoutBlanks(absl::string_view words) const {
  return absl::StrContains(without_blanks_, words);
}

bool SeenText::HasNumber(absl::string_view number) const {
  for (size_t at = text_.find(std::string(number)); at != std::string::npos;
       at = text_.find(std::string(number), at + 1)) {
    const size_t end = at + number.size();
    if ((at == 0 || !Continues(text_[at - 1])) &&
        (end == text_.size() || !Continues(text_[end]))) {
      return true;
    }
  }
  return false;
}

bool SeenText::HasHex(uint32_t number) const {
  for (size_t at = text_.find("0x"); at != std::string::npos;
       at = text_.find("0x", at + 1)) {
    char* end = nullptr;
    if (std::strtoul(text_.c_str() + at, &end, 16) == number &&
        end > text_.c_str() + at + 2) {
      return true;
    }
  }
  return false;
}

bool SeenText::HasDecimal(double value) const {
  for (int decimals = 0; decimals <= 4; ++decimals) {
    if (HasNumber(absl::StrFormat("%.*f", decimals, value))) return true;
  }
  return false;
}

bool SeenText::HasPrintable(absl::string_view value) const {
  if (value.size() > 255) absl::ConsumeSuffix(&value, "...");
  return absl::StrContains(escaped_, value);
}

bool SeenText::HasOnlyBlankLinesAndWarnings() const {
  for (const absl::string_view line : absl::StrSplit(text_, '\n')) {
    if (!absl::StripAsciiWhitespace(line).empty() &&
        !absl::StartsWith(line, "[WARNING]")) {
      return false;
    }
  }
  return true;
}

void InventedList::Expect(bool is_there, absl::string_view query,
                          absl::string_view value) {
  if (!is_there) invented_.push_back(absl::StrCat(query, ": ", value));
}

std::vector<std::string> InventedList::Take() { return std::move(invented_); }

}  // namespace clusterd
