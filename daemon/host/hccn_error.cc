#include "daemon/host/hccn_error.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/host/hccn_output.h"
#include "daemon/host/quoted_text.h"

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

std::vector<absl::string_view> Lines(absl::string_view text) {
  return absl::StrSplit(text, '\n', absl::SkipWhitespace());
}

template <size_t kCount>
const KnownText* FindText(const KnownText (&texts)[kCount],
                          const std::vector<absl::string_view>& lines) {
  for (const absl::string_view line : lines) {
    for (const KnownText& known : texts) {
      if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(line),
                           known.prefix)) {
        return &known;
      }
    }
  }
  return nullptr;
}

// The first line that contains `prefix`'s text, to quote all of it.
std::string WholeLine(const std::vector<absl::string_view>& lines,
                      absl::string_view prefix) {
  for (const absl::string_view line : lines) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(text, prefix)) {
      return PrintableText(text, kMaxQuotedBytes);
    }
  }
  return std::string(prefix);
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

HccnVerdict ClassifyHccnRun(const CommandResult& result) {
  // On stdout only a text that comes first counts: what a device or its LLDP
  // neighbour says further down is data.
  std::vector<absl::string_view> said = Lines(result.standard_error);
  const std::vector<absl::string_view> data =
      HccnDataLines(result.standard_output);
  if (!data.empty()) said.push_back(data[0]);

  const KnownText* known = FindText(kSpecificTexts, said);
  if (known == nullptr) known = FindText(kGeneralTexts, said);
  if (known != nullptr) return {known->failure, WholeLine(said, known->prefix)};

  if (result.signal == 0 && result.exit_status == 0) return {};
  if (result.exit_status == 234 && said.empty()) {
    return {HccnFailure::kNotPermitted,
            "status 234 without a word, which the tool gives when its user id "
            "has no passwd entry"};
  }
  return {HccnFailure::kOther, StatusText(result, said)};
}

}  // namespace clusterd
