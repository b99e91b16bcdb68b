#include "config/words/terminal.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

std::string Get(const Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() ? "" : it->second;
}

bool LocaleIsUtf8(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = Get(environment, name);
    if (value.empty()) continue;
    const std::string lower = absl::AsciiStrToLower(value);
    return absl::StrContains(lower, "utf-8") ||
           absl::StrContains(lower, "utf8");
  }
  return false;
}

Style MakeStyle(bool is_terminal, const Terminal& terminal,
                const Environment& environment, ColorMode mode) {
  const bool dumb = Get(environment, "TERM") == "dumb";
  Style style;
  style.utf8 = LocaleIsUtf8(environment);
  style.width = is_terminal ? terminal.width : 0;
  style.rewrites = is_terminal && !dumb;
  style.color = mode == ColorMode::kAlways ||
                (mode == ColorMode::kAuto && is_terminal && !dumb &&
                 Get(environment, "NO_COLOR").empty());
  return style;
}

}  // namespace

Style StyleOfOut(const Terminal& terminal, const Environment& environment,
                 ColorMode mode) {
  return MakeStyle(terminal.out_is_terminal, terminal, environment, mode);
}

Style StyleOfErr(const Terminal& terminal, const Environment& environment,
                 ColorMode mode) {
  return MakeStyle(terminal.err_is_terminal, terminal, environment, mode);
}

std::string Painted(const Style& style, Paint paint, absl::string_view text) {
  if (!style.color || paint == Paint::kNone || text.empty()) {
    return std::string(text);
  }
  // In the order of Paint.
  constexpr int kCodes[] = {0, 1, 2, 32, 33, 31, 35};
  return absl::StrCat("\x1b[", kCodes[static_cast<int>(paint)], "m", text,
                      "\x1b[0m");
}

}  // namespace clusterd
