#include "daemon/host/hccn/hccn_error.h"

#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "config/words/quoted_text.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

struct KnownText {
  absl::string_view prefix;
  HccnFailure failure;
};

// Whole lines of the tool; a prefix where the rest differs between versions.
constexpr KnownText kSpecificTexts[] = {
    {"Get ipconf failed, because no ip was preset there!",
     HccnFailure::kNoAddress},
    // The Ascend 950 tool.
    {"Get ip failed, because no ip was preset there!", HccnFailure::kNoAddress},
    {"Get gateway failed, because no gateway was preset there!",
     HccnFailure::kNoGateway},
    {"hccn_tool is busy, please try again.", HccnFailure::kBusy},
    {"Get lock failed. Please try again.", HccnFailure::kBusy},
    {"The device is occupied. Please try again later.", HccnFailure::kBusy},
    {"permission denied: pls check this cmd run permission.",
     HccnFailure::kNotPermitted},
    {"The command is not supported on this product.",
     HccnFailure::kNotSupported},
    {"This device does not support ", HccnFailure::kNotSupported},
    {"Get invalid device id.", HccnFailure::kNoDevice},
    {"The device is not exist!", HccnFailure::kNoDevice},
    {"Get invalid major cmd type.", HccnFailure::kWrongCommandLine},
    {"Get invalid major cmd number.", HccnFailure::kWrongCommandLine},
    {"Get invalid major cmd.", HccnFailure::kWrongCommandLine},
    {"The total count of input parameters is wrong!",
     HccnFailure::kWrongCommandLine},
    {"Get unknown option!", HccnFailure::kWrongCommandLine},
    {"Get invalid parameters!", HccnFailure::kWrongCommandLine},
    {"Get device health status failed!", HccnFailure::kOther},
    {"The cmd line execute timeout!", HccnFailure::kOther},
    {"Read file failed, cmd execute failed!", HccnFailure::kOther},
    {"The hccn.conf can't access, cmd execute failed!", HccnFailure::kOther},
    {"Write configurations to config file failed.", HccnFailure::kOther},
    {"No certificate found, please set certs firstly!", HccnFailure::kOther},
    {"Execute failed: Link status is down.", HccnFailure::kOther},
    {"Control link unreachable.", HccnFailure::kOther},
    {"Optical module is not present.", HccnFailure::kOther},
    {"User aborts command.", HccnFailure::kOther},
    {"Recovery failed.", HccnFailure::kOther},
};

// Say that something failed and not what; another line may tell more.
constexpr KnownText kGeneralTexts[] = {
    {"Command execute failed!", HccnFailure::kOther},
    {"Cmd execute failed!", HccnFailure::kOther},
};

// What only the Ascend 950 tool says, on standard error.
constexpr KnownText kAscend950Texts[] = {
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

std::vector<absl::string_view> Lines(absl::string_view text) {
  return absl::StrSplit(text, '\n', absl::SkipWhitespace());
}

// What the first known text says, with all of its line to quote.
std::optional<HccnVerdict> FindText(
    absl::Span<const KnownText> texts,
    const std::vector<absl::string_view>& lines) {
  for (const absl::string_view line : lines) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    for (const KnownText& known : texts) {
      if (absl::StartsWith(text, known.prefix)) {
        return HccnVerdict{known.failure, PrintableText(text, kMaxQuotedBytes)};
      }
    }
  }
  return std::nullopt;
}

std::string StatusText(const CommandResult& result,
                       const std::vector<absl::string_view>& lines) {
  const std::string end = result.signal != 0
                              ? absl::StrCat("ended by signal ", result.signal)
                              : absl::StrCat("status ", result.exit_status);
  if (lines.empty()) return absl::StrCat(end, " without a word");
  return absl::StrCat(end, " and ", QuotedText(lines[0]));
}

}  // namespace

HccnVerdict ClassifyHccnRun(const CommandResult& result,
                            NpuToolFacts::Generation generation) {
  std::vector<absl::string_view> said = Lines(result.standard_error);
  std::optional<HccnVerdict> known;
  if (generation == NpuToolFacts::ASCEND_950) {
    known = FindText(kAscend950Texts, said);
  }
  // On stdout only a text that comes first counts: what a device or its LLDP
  // neighbour says further down is data.
  const std::vector<absl::string_view> data =
      HccnDataLines(result.standard_output);
  if (!data.empty()) said.push_back(data[0]);

  if (!known.has_value()) known = FindText(kSpecificTexts, said);
  if (!known.has_value()) known = FindText(kGeneralTexts, said);
  if (known.has_value()) return *known;

  if (result.signal == 0 && result.exit_status == 0) return {};
  if (result.exit_status == 234 && said.empty()) {
    return {HccnFailure::kNotPermitted,
            "status 234 without a word, which the tool gives when its user id "
            "has no passwd entry"};
  }
  return {HccnFailure::kOther, StatusText(result, said)};
}

}  // namespace clusterd
