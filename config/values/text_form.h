// Parses texts of a known form by a regular expression of RE2, which takes time
// in proportion to any text.
//
//   static const LazyRE2 kRow = {R"((\d+) +([A-Za-z]+))"};
//   if (!HasForm(line, *kRow, &number, &word)) return UnexpectedRow(line);
//
// And cuts texts that are too long.
#ifndef CONFIG_VALUES_TEXT_FORM_H_
#define CONFIG_VALUES_TEXT_FORM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "re2/re2.h"

namespace clusterd {

// The target of a group of a form. A view points into the text; an optional
// stays unset for a group without text; a number too large is a mismatch.
template <typename Value>
RE2::Arg FormPart(Value* part) {
  return RE2::Arg(part);
}
inline RE2::Arg FormPart(absl::string_view* part) {
  return {part, [](const char* text, size_t size, void* view) {
            *static_cast<absl::string_view*>(view) =
                absl::string_view(text, size);
            return true;
          }};
}
template <typename Value>
RE2::Arg FormPart(std::optional<Value>* part) {
  return {part, [](const char* text, size_t size, void* value) {
            auto& taken = *static_cast<std::optional<Value>*>(value);
            if (size == 0) return true;
            return FormPart(&taken.emplace()).Parse(text, size);
          }};
}

// True if all of `text` has the form. The groups of `form` go to `parts` in
// their order, as many as there are parts. On false some parts may be written.
template <typename... Parts>
bool HasForm(absl::string_view text, const RE2& form, Parts*... parts) {
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), form,
                        FormPart(parts)...);
}

// The same of bytes, for tables of what values must be:
//   constexpr char kSwitch[] = "0|1";
//   {"tls_enable", IsOfForm<kSwitch>},
template <const char* form>
bool IsOfForm(absl::string_view text) {
  static const LazyRE2 kForm = {form, RE2::Latin1};
  return HasForm(text, *kForm);
}

// At most `max_bytes` of the text, which are whole characters of UTF-8.
inline absl::string_view CutUtf8(absl::string_view text, size_t max_bytes) {
  size_t end = std::min(text.size(), max_bytes);
  const auto is_inside = [text](size_t at) {
    return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80;
  };
  while (end > 0 && is_inside(end)) --end;
  return text.substr(0, end);
}

}  // namespace clusterd

#endif  // CONFIG_VALUES_TEXT_FORM_H_
