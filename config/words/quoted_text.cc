#include "config/words/quoted_text.h"

#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/text_form.h"
#include "utf8proc.h"

namespace clusterd {
namespace {

// One character at the head of `text`: its code point and its bytes. No code
// point: the first byte does not begin a valid, shortest-form sequence.
struct Character {
  std::optional<uint32_t> code;
  absl::string_view bytes;
};

Character FirstCharacter(absl::string_view text) {
  const auto* const bytes =
      reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  if (*bytes < 0x80) return {*bytes, text.substr(0, 1)};
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t size = utf8proc_iterate(
      bytes, static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (size <= 0) return {std::nullopt, text.substr(0, 1)};
  return {static_cast<uint32_t>(code),
          text.substr(0, static_cast<size_t>(size))};
}

// Calls `visit` for each character of the text.
template <typename Visit>
void ForEachCharacter(absl::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const Character first = FirstCharacter(text);
    visit(first);
    text.remove_prefix(first.bytes.size());
  }
}

// Characters that a terminal would obey, hide, or show in another order.
bool IsUnsafe(uint32_t code) {
  constexpr uint32_t kRanges[][2] = {
      {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
      {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
      {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
  return absl::c_any_of(kRanges, [code](const uint32_t(&range)[2]) {
    return code >= range[0] && code <= range[1];
  });
}

std::string Escaped(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  if (code < 0x100) return absl::StrFormat("\\x%02x", code);
  if (code < 0x10000) return absl::StrFormat("\\u%04x", code);
  return absl::StrFormat("\\U%08x", code);
}

// ASCII for the signs that our own texts use; otherwise an escape.
std::string AsciiForm(uint32_t code) {
  struct Sign {
    uint32_t code;
    const char* ascii;
  };
  constexpr Sign kSigns[] = {{0xa7, "section "}, {0xb7, "*"},    {0xd7, "x"},
                             {0x2013, "-"},      {0x2014, "-"},  {0x2018, "'"},
                             {0x2019, "'"},      {0x201c, "\""}, {0x201d, "\""},
                             {0x2026, "..."},    {0x2192, "->"}};
  for (const Sign& sign : kSigns) {
    if (sign.code == code) return sign.ascii;
  }
  return Escaped(code);
}

}  // namespace

std::string PrintableText(absl::string_view text, size_t max_bytes) {
  const absl::string_view head = text.substr(0, max_bytes);
  // Nearly every text is, and then it is one copy.
  if (head.size() == text.size() && absl::c_all_of(text, absl::ascii_isprint)) {
    return std::string(text);
  }
  std::string shown;
  for (const char c : head) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (absl::ascii_isprint(byte)) {
      shown += c;
    } else {
      shown += Escaped(byte);
    }
  }
  if (text.size() > max_bytes) shown += "...";
  return shown;
}

std::string QuotedText(absl::string_view text) {
  const absl::string_view head = CutUtf8(text, kMaxQuotedBytes);
  return absl::StrCat(
      "\"",
      ValidUtf8(head) == head ? SafeText(head, true) : PrintableText(head),
      head.size() < text.size() ? "...\"" : "\"");
}

std::string SafeText(absl::string_view text, bool utf8) {
  std::string safe;
  safe.reserve(text.size());
  ForEachCharacter(text, [&](const Character& next) {
    if (!next.code.has_value()) {
      safe += Escaped(static_cast<uint8_t>(next.bytes[0]));
    } else if (IsUnsafe(*next.code)) {
      safe += Escaped(*next.code);
    } else if (utf8 || *next.code < 0x80) {
      absl::StrAppend(&safe, next.bytes);
    } else {
      safe += AsciiForm(*next.code);
    }
  });
  return safe;
}

std::string SafeLines(absl::string_view text, bool utf8) {
  return absl::StrJoin(absl::StrSplit(text, '\n'), "\n",
                       [utf8](std::string* out, absl::string_view line) {
                         absl::StrAppend(out, SafeText(line, utf8));
                       });
}

std::string SafeJson(absl::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  ForEachCharacter(json, [&](const Character& next) {
    const uint32_t code = next.code.value_or(0xfffd);
    // Lower codes are JSON's own layout, or escaped by it.
    const bool keeps =
        next.code.has_value() && (code < 0x7f || !IsUnsafe(code));
    if (keeps) {
      absl::StrAppend(&safe, next.bytes);
    } else if (code < 0x10000) {
      absl::StrAppendFormat(&safe, "\\u%04x", code);
    } else {
      const uint32_t rest = code - 0x10000;
      absl::StrAppendFormat(&safe, "\\u%04x\\u%04x", 0xd800 + (rest >> 10),
                            0xdc00 + (rest & 0x3ff));
    }
  });
  return safe;
}

std::string ValidUtf8(absl::string_view bytes) {
  std::string valid;
  ForEachCharacter(bytes, [&](const Character& next) {
    absl::StrAppend(&valid, next.code.has_value() ? next.bytes : "\uFFFD");
  });
  return valid;
}

std::string ShellQuoted(absl::string_view text) {
  std::string word = "'";
  ForEachCharacter(text, [&](const Character& next) {
    if (!next.code.has_value() || IsUnsafe(*next.code)) return;
    if (next.bytes == "'") {
      word += "'\\''";
    } else {
      absl::StrAppend(&word, next.bytes);
    }
  });
  return word + "'";
}

}  // namespace clusterd
