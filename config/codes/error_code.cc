#include "config/codes/error_code.h"

#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace clusterd {

#include "config/rules/texts/code_table.inc"

namespace {

// The same for "0x80E18402" and "80e18402".
std::string CodeKey(absl::string_view code) {
  std::string key = absl::AsciiStrToUpper(code);
  return std::string(absl::StripPrefix(key, "0X"));
}

}  // namespace

absl::Span<const ErrorCode> ErrorCodes() { return kErrorCodes; }

const ErrorCode* FindErrorCode(absl::string_view code) {
  static const auto* const rows = [] {
    auto* const by_name = new std::map<std::string, const ErrorCode*>;
    for (const ErrorCode& row : kErrorCodes) {
      by_name->emplace(CodeKey(row.name), &row);
      for (const absl::string_view also :
           absl::StrSplit(row.also, '/', absl::SkipEmpty())) {
        by_name->emplace(CodeKey(also), &row);
      }
    }
    return by_name;
  }();
  const auto found = rows->find(CodeKey(code));
  return found == rows->end() ? nullptr : found->second;
}

}  // namespace clusterd
