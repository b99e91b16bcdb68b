// The rows of words in both languages, and errors of this room in them: rows
// "value-…" of config/words/texts/values.textproto.
#ifndef CONFIG_VALUES_VALUE_ERROR_H_
#define CONFIG_VALUES_VALUE_ERROR_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/finding.pb.h"

namespace clusterd {

// With $0, $1, … for the values.
struct WordRow {
  absl::string_view name;
  absl::string_view english;
  absl::string_view english_of_one;  // Empty: as of any number.
  absl::string_view chinese;
};
// nullptr: there is none of that name.
const WordRow* FindWords(absl::string_view name);

// The key of a status's payload that has its words (config/words/message.h).
inline constexpr char kMessageWords[] = "clusterd/words";

// A value of words: a text, cut after 80 bytes and escaped; a number; or
// another error of this room.
FindingValue ErrorValue(const absl::AlphaNum& value);
FindingValue ErrorValue(const absl::Status& error);

// The words of that row, and their English. REQUIRES: there is such a row.
FindingValue ErrorWords(absl::string_view row,
                        const std::vector<FindingValue>& values);
absl::Status ErrorIn(absl::StatusCode code, const FindingValue& words);

// InvalidArgument in those words: WrongValue("value-netmask", text).
template <typename... Values>
absl::Status WrongValue(absl::string_view row, const Values&... values) {
  return ErrorIn(absl::StatusCode::kInvalidArgument,
                 ErrorWords(row, {ErrorValue(values)...}));
}

}  // namespace clusterd

#endif  // CONFIG_VALUES_VALUE_ERROR_H_
