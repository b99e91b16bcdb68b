#include "daemon/host/npu_smi/npu_smi_health.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/npu_smi/npu_smi_error.h"

namespace clusterd {
namespace {

constexpr size_t kMaxInformationBytes = 500;

constexpr std::pair<absl::string_view, NpuSmiHealth::Status> kStatuses[] = {
    {"OK", NpuSmiHealth::Status::kOk},
    {"Warning", NpuSmiHealth::Status::kWarning},
    {"Alarm", NpuSmiHealth::Status::kAlarm},
    {"Critical", NpuSmiHealth::Status::kCritical},
};

absl::Status Bad(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("npu-smi info -t health: ", what, " ", QuotedText(text)));
}

using Values = std::map<absl::string_view, absl::string_view>;

absl::StatusOr<Values> ParseValues(absl::string_view output) {
  Values values;
  for (const absl::string_view line : NpuSmiDataLines(output)) {
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) return Bad("no colon in", line);
    const absl::string_view key =
        absl::StripAsciiWhitespace(line.substr(0, colon));
    const bool is_new =
        values.emplace(key, absl::StripAsciiWhitespace(line.substr(colon + 1)))
            .second;
    // Several errors may be worded one after the other; the first is enough.
    if (!is_new &&
        (key == "Health Status" || key == "Health" || key == "Error Code")) {
      return Bad(absl::StrCat("\"", key, "\" more than once in"), output);
    }
  }
  return values;
}

bool IsHex(absl::string_view word) {
  return std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

}  // namespace

absl::StatusOr<NpuSmiHealth> ParseNpuSmiHealth(absl::string_view output) {
  ASSIGN_OR_RETURN(Values values, ParseValues(output));
  auto word = values.find("Health Status");
  if (word == values.end()) word = values.find("Health");
  if (word == values.end()) return Bad("no \"Health Status\" in", output);
  const auto* const status = std::find_if(
      std::begin(kStatuses), std::end(kStatuses),
      [&](const auto& known) { return known.first == word->second; });
  if (status == std::end(kStatuses)) {
    return Bad("an unknown health", word->second);
  }
  NpuSmiHealth health;
  health.status = status->second;
  const auto value_of = [&](absl::string_view key) {
    const absl::string_view value = values[key];
    return value == "NA" ? "" : value;
  };
  health.error_codes = absl::StrSplit(
      value_of("Error Code"), absl::ByAnyChar(" ,\t"), absl::SkipEmpty());
  for (const std::string& code : health.error_codes) {
    if (!IsHex(code)) return Bad("no error code:", code);
  }
  health.information =
      PrintableText(value_of("Error Information"), kMaxInformationBytes);
  return health;
}

}  // namespace clusterd
