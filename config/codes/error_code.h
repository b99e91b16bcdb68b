// The errors that logs of jobs have. A row leads from a text of a log to its
// code, and from the code to rules and what to do. The rows are data in
// config/rules/texts/codes.textproto and titles.textproto, from which the build
// makes the table. README.md lists them.
#ifndef CONFIG_CODES_ERROR_CODE_H_
#define CONFIG_CODES_ERROR_CODE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/words/terminal.h"

namespace clusterd {

struct ErrorCodeText {
  absl::string_view meaning;  // A part of a sentence, or the vendor's title.
  absl::string_view fix;      // Empty with a title alone.
};

struct ErrorCode {
  // "EI0006", "507899", "0x80E18402", "AISW_CANN_HCCL_001", or the rule that
  // texts without a code are about: "host-name".
  absl::string_view name;
  absl::string_view also;   // "AISW_CANN_HCCL_004/AISW_CANN_HCCL_005".
  absl::string_view form;   // RE2 of those texts; empty: there are none.
  absl::string_view rules;  // "link/optics", in the order of the rules.
  absl::string_view source;
  ErrorCodeText english;
  ErrorCodeText chinese;
  // Known by the title that the vendor's catalogue has for it, and no more.
  bool is_title;

  const ErrorCodeText& text() const {
    return CurrentLanguage() == Language::kChinese ? chinese : english;
  }
};

absl::Span<const ErrorCode> ErrorCodes();

// The row of a code in upper or lower case, with or without "0x", or that of an
// entry of the vendor's catalogue about the same error; nullptr: not known.
const ErrorCode* FindErrorCode(absl::string_view code);

}  // namespace clusterd

#endif  // CONFIG_CODES_ERROR_CODE_H_
