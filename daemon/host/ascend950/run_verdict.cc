#include "daemon/host/ascend950/run_verdict.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace ascend950 {
namespace {

struct KnownText {
  absl::string_view prefix;
  HccnFailure failure;
};

// What only this generation says, on standard error.
constexpr KnownText kTexts[] = {
    {"permission denied: pls check this cmd run environment.",
     HccnFailure::kNotPermitted},
    {"Please specify a mode.", HccnFailure::kWrongCommandLine},
    {"Please specify a valid mode.", HccnFailure::kWrongCommandLine},
    {"Please specify a cmd.", HccnFailure::kWrongCommandLine},
    {"Please specify a valid cmd.", HccnFailure::kWrongCommandLine},
    {"Parse cmd option failed.", HccnFailure::kWrongCommandLine},
    {"The total count of options is wrong.", HccnFailure::kWrongCommandLine},
    {"Command is only applicable to bond devices",
     HccnFailure::kWrongCommandLine},
    {"Invalid bond device name format", HccnFailure::kWrongCommandLine},
    {"Bond device ID mismatch:", HccnFailure::kWrongCommandLine},
    {"target chip is invalid, please check.", HccnFailure::kNoDevice},
    {"target udie is invalid, please check.", HccnFailure::kNoDevice},
    {"target port is invalid, please check.", HccnFailure::kNoDevice},
    {"The ip address configured is conflicted!", HccnFailure::kOther},
    {"The segment of configured gateway doesn't match", HccnFailure::kOther},
    {"Get device info failed.", HccnFailure::kOther},
    {"The Certificate has expired!", HccnFailure::kOther},
    {"Cmd executed successfully, but persistent configuration failed.",
     HccnFailure::kOther},
};

}  // namespace

HccnVerdict ClassifyRun(const CommandResult& result) {
  for (const absl::string_view line :
       absl::StrSplit(result.standard_error, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    for (const KnownText& known : kTexts) {
      if (absl::StartsWith(text, known.prefix)) {
        return {known.failure, PrintableText(text, kMaxQuotedBytes)};
      }
    }
  }
  return ClassifyHccnRun(result);
}

}  // namespace ascend950
}  // namespace clusterd
