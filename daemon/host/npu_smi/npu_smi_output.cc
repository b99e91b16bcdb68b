#include "daemon/host/npu_smi/npu_smi_output.h"

#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxInformationBytes = 500;
constexpr absl::string_view kWarning = "[WARNING]";

constexpr std::pair<absl::string_view, absl::StatusCode> kFailures[] = {
    {"There is no NPU card on this server.", absl::StatusCode::kNotFound},
    {"Invalid card id.", absl::StatusCode::kNotFound},
    {"This device does not support ", absl::StatusCode::kUnimplemented},
    {"Error parameter of ", absl::StatusCode::kInvalidArgument},
    {"Usage: npu-smi", absl::StatusCode::kInvalidArgument},
};

constexpr std::pair<absl::string_view, NpuSmiHealth::Status> kStatuses[] = {
    {"OK", NpuSmiHealth::Status::kOk},
    {"Warning", NpuSmiHealth::Status::kWarning},
    {"Alarm", NpuSmiHealth::Status::kAlarm},
    {"Critical", NpuSmiHealth::Status::kCritical},
};

absl::Status FailureIn(absl::string_view stream) {
  for (const absl::string_view line : absl::StrSplit(stream, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    for (const auto& [prefix, code] : kFailures) {
      if (absl::StartsWith(text, prefix)) {
        return absl::Status(
            code,
            absl::StrCat("npu-smi: ", PrintableText(text, kMaxQuotedBytes)));
      }
    }
  }
  return absl::OkStatus();
}

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

}  // namespace

absl::Status NpuSmiFailure(const CommandResult& result) {
  RETURN_IF_ERROR(FailureIn(result.standard_error));
  RETURN_IF_ERROR(FailureIn(result.standard_output));
  if (result.signal == 0 && result.exit_status == 0) return absl::OkStatus();
  const std::string end = result.signal != 0
                              ? absl::StrCat("ended by signal ", result.signal)
                              : absl::StrCat("status ", result.exit_status);
  const std::string& said = result.standard_error.empty()
                                ? result.standard_output
                                : result.standard_error;
  return absl::UnavailableError(
      absl::StrCat("npu-smi: ", end, " and ", QuotedText(said)));
}

std::vector<absl::string_view> NpuSmiDataLines(absl::string_view output) {
  std::vector<absl::string_view> lines;
  for (absl::string_view line :
       absl::StrSplit(output, '\n', absl::SkipWhitespace())) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (!absl::StartsWith(line, kWarning)) lines.push_back(line);
  }
  return lines;
}

absl::StatusOr<NpuSmiHealth> ParseNpuSmiHealth(absl::string_view output) {
  ASSIGN_OR_RETURN(Values values, ParseValues(output));
  auto word = values.find("Health Status");
  if (word == values.end()) word = values.find("Health");
  if (word == values.end()) return Bad("no \"Health Status\" in", output);
  const auto* const status = absl::c_find_if(kStatuses, [&](const auto& known) {
    return known.first == word->second;
  });
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
    if (!absl::c_all_of(code, absl::ascii_isxdigit)) {
      return Bad("no error code:", code);
    }
  }
  health.information =
      PrintableText(value_of("Error Information"), kMaxInformationBytes);
  return health;
}

}  // namespace clusterd
