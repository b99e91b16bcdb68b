#include "daemon/host/npu_smi/npu_smi_output.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// Both causes bring the same texts.
constexpr absl::string_view kOwned =
    ": another container owns the devices (device-namespace names it), or this "
    "one lacks a mount of the driver: /usr/local/dcmi, "
    "/usr/local/Ascend/driver/lib64, /etc/ascend_install.info";

struct Failure {
  absl::string_view prefix;
  absl::StatusCode code;
};
constexpr Failure kFailures[] = {
    {"There is no NPU card on this server.", absl::StatusCode::kNotFound},
    {"Invalid card id.", absl::StatusCode::kNotFound},
    {"Failed to query ", absl::StatusCode::kUnavailable},
    {"This device does not support ", absl::StatusCode::kUnimplemented},
    {"Error parameter of ", absl::StatusCode::kInvalidArgument},
    {"Usage: npu-smi", absl::StatusCode::kInvalidArgument},
};

}  // namespace

absl::Status NpuSmiFailure(const CommandResult& result) {
  const std::string streams =
      absl::StrCat(result.standard_error, "\n", result.standard_output);
  // "dcmi module initialize failed. ret is -8005" of other releases, too.
  static const LazyRE2 kIsOwned = {
      R"(.*(?:ret is -(?:8005|8020|9005)\b|drvErr=87\b).*|)"
      R"((?:dcmi model initialized|DrvMngGetConsoleLogLevel) failed.*)",
      RE2::Latin1};
  for (const absl::string_view line : absl::StrSplit(streams, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    const auto said = [&text](absl::string_view cause) {
      return absl::StrCat("npu-smi: ", PrintableText(text, kMaxQuotedBytes),
                          cause);
    };
    if (HasForm(text, *kIsOwned)) return absl::UnavailableError(said(kOwned));
    for (const Failure& failure : kFailures) {
      if (!absl::StartsWith(text, failure.prefix)) continue;
      return absl::Status(failure.code, said(""));
    }
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
  for (absl::string_view line :
       absl::StrSplit(output, '\n', absl::SkipWhitespace())) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (!absl::StartsWith(line, "[WARNING]")) lines.push_back(line);
  }
  return lines;
}

}  // namespace clusterd
