#include "client/print/terminal_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace clusterd {
namespace {

// One character at the head of `text`: its code point and its bytes. No code
// point: the first byte does not begin a valid, shortest-form sequence.
struct Character {
  std::optional<uint32_t> code;
  size_t bytes = 1;
};

Character FirstCharacter(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t head = byte(0);
  if (head < 0x80) return {head, 1};
  size_t bytes = 0;
  uint32_t code = 0;
  uint32_t smallest = 0;
  if ((head & 0xe0) == 0xc0) {
    bytes = 2, code = head & 0x1f, smallest = 0x80;
  } else if ((head & 0xf0) == 0xe0) {
    bytes = 3, code = head & 0x0f, smallest = 0x800;
  } else if ((head & 0xf8) == 0xf0) {
    bytes = 4, code = head & 0x07, smallest = 0x10000;
  } else {
    return {};
  }
  if (text.size() < bytes) return {};
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < smallest || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
}

// What a terminal would obey, or show as nothing, or show in another order.
bool IsUnsafe(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0xad ||
         code == 0x61c || code == 0x180e ||
         (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
         (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe0fff);
}

std::string Escaped(uint32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      if (code < 0x100) return absl::StrFormat("\\x%02x", code);
      if (code < 0x10000) return absl::StrFormat("\\u%04x", code);
      return absl::StrFormat("\\U%08x", code);
  }
}

// ASCII for the signs that our own texts use.
const char* AsciiForm(uint32_t code) {
  switch (code) {
    case 0xa7:
      return "section ";
    case 0xb7:
      return "*";
    case 0xd7:
      return "x";
    case 0x2013:
    case 0x2014:
      return "-";
    case 0x2018:
    case 0x2019:
      return "'";
    case 0x201c:
    case 0x201d:
      return "\"";
    case 0x2026:
      return "...";
    case 0x2192:
      return "->";
    default:
      return nullptr;
  }
}

std::string Shown(uint32_t code, absl::string_view bytes, bool utf8) {
  if (IsUnsafe(code)) return Escaped(code);
  if (code < 0x80 || utf8) return std::string(bytes);
  const char* ascii = AsciiForm(code);
  return ascii != nullptr ? ascii : Escaped(code);
}

}  // namespace

std::string SafeText(absl::string_view text, bool utf8) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Character first = FirstCharacter(text);
    if (first.code.has_value()) {
      safe += Shown(*first.code, text.substr(0, first.bytes), utf8);
    } else {
      absl::StrAppendFormat(&safe, "\\x%02x", static_cast<uint8_t>(text[0]));
    }
    text.remove_prefix(first.bytes);
  }
  return safe;
}

std::string SafeJson(absl::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  while (!json.empty()) {
    const Character first = FirstCharacter(json);
    const uint32_t code = first.code.value_or(0);
    if (!first.code.has_value()) {
      absl::StrAppend(&safe, "\\ufffd");
    } else if (code >= 0x10000 && IsUnsafe(code)) {
      const uint32_t rest = code - 0x10000;
      absl::StrAppendFormat(&safe, "\\u%04x\\u%04x", 0xd800 + (rest >> 10),
                            0xdc00 + (rest & 0x3ff));
    } else if (code >= 0x7f && IsUnsafe(code)) {
      absl::StrAppendFormat(&safe, "\\u%04x", code);
    } else {
      absl::StrAppend(&safe, json.substr(0, first.bytes));
    }
    json.remove_prefix(first.bytes);
  }
  return safe;
}

std::string CutText(absl::string_view text, int columns, bool utf8) {
  if (TextColumns(text) <= columns) return std::string(text);
  const absl::string_view mark = utf8 ? "…" : "...";
  int left = columns - TextColumns(mark);
  size_t end = 0;
  while (left-- > 0) end += FirstCharacter(text.substr(end)).bytes;
  return absl::StrCat(text.substr(0, end), mark);
}

int TextColumns(absl::string_view text) {
  // Every byte but the continuation bytes of UTF-8.
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<uint8_t>(c) & 0xc0) != 0x80;
  }));
}

std::string Padded(absl::string_view text, int columns) {
  const int missing = columns - TextColumns(text);
  return absl::StrCat(text, std::string(std::max(missing, 0), ' '));
}

std::vector<std::string> WrapText(absl::string_view text, int columns) {
  if (columns <= 0) return {std::string(text)};
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    // A word with the spaces before it, which vanish where a line breaks.
    const size_t word = std::min(text.find_first_not_of(' '), text.size());
    const size_t end = std::min(text.find(' ', word), text.size());
    const absl::string_view piece = text.substr(0, end);
    if (!lines.back().empty() &&
        TextColumns(lines.back()) + TextColumns(piece) > columns) {
      lines.push_back(std::string(text.substr(word, end - word)));
    } else {
      absl::StrAppend(&lines.back(), piece);
    }
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace clusterd
