#include "daemon/host/npu_smi/npu_smi_error.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

struct KnownText {
  absl::string_view prefix;
  absl::StatusCode code;
};

constexpr KnownText kTexts[] = {
    {"There is no NPU card on this server.", absl::StatusCode::kNotFound},
    {"Invalid card id.", absl::StatusCode::kNotFound},
    {"This device does not support ", absl::StatusCode::kUnimplemented},
    {"Error parameter of ", absl::StatusCode::kInvalidArgument},
    {"Usage: npu-smi", absl::StatusCode::kInvalidArgument},
};
constexpr absl::string_view kWarning = "[WARNING]";

absl::Status FailureIn(absl::string_view stream) {
  for (const absl::string_view line : absl::StrSplit(stream, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    for (const KnownText& known : kTexts) {
      if (absl::StartsWith(text, known.prefix)) {
        return absl::Status(
            known.code,
            absl::StrCat("npu-smi: ", PrintableText(text, kMaxQuotedBytes)));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status NpuSmiFailure(const CommandResult& result) {
  for (const std::string& stream :
       {result.standard_error, result.standard_output}) {
    RETURN_IF_ERROR(FailureIn(stream));
  }
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
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (absl::StripLeadingAsciiWhitespace(line).empty()) continue;
    if (absl::StartsWith(line, kWarning)) continue;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace clusterd
