#include "daemon/host/hccn/hccn_output.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

enum class Sayer { kBoth, kVaguely, kAscend950 };

struct KnownText {
  HccnFailure failure;
  Sayer sayer;
  absl::string_view prefix;
};

constexpr KnownText kKnownTexts[] = {
#include "daemon/host/hccn/failure_texts.inc"
};

// Returns the meaning of the first known text, with its line to quote.
std::optional<HccnVerdict> FindText(
    Sayer sayer, const std::vector<absl::string_view>& lines) {
  for (const absl::string_view line : lines) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    for (const KnownText& known : kKnownTexts) {
      if (known.sayer == sayer && absl::StartsWith(text, known.prefix)) {
        return HccnVerdict{known.failure, PrintableText(text, kMaxQuotedBytes)};
      }
    }
  }
  return std::nullopt;
}

HccnVerdict Spoken(HccnFailure failure, const FindingValue& words) {
  return {failure, EnglishText(words), words};
}

FindingValue StatusWords(const CommandResult& result,
                         const std::vector<absl::string_view>& lines) {
  const bool by_signal = result.signal != 0;
  const int number = by_signal ? result.signal : result.exit_status;
  if (lines.empty()) {
    return Worded(by_signal ? "fact-signal-silent" : "fact-status-silent",
                  number);
  }
  return Worded(by_signal ? "fact-signal-and" : "fact-status-and", number,
                QuotedText(lines[0]));
}

}  // namespace

absl::Status UnexpectedHccnText(absl::string_view text,
                                const FindingValue& expected) {
  return InvalidWords("fact-unexpected", QuotedText(text), expected);
}

std::vector<absl::string_view> HccnDataLines(absl::string_view output) {
  std::vector<absl::string_view> lines;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (line.empty() || absl::StartsWith(line, "[WARNING] ") ||
        absl::StartsWith(line, "[Warning] ") ||
        line == "Cmd executed successfully!") {
      continue;
    }
    lines.push_back(line);
  }
  return lines;
}

HccnVerdict ClassifyHccnRun(const CommandResult& result,
                            NpuToolFacts::Generation generation) {
  std::vector<absl::string_view> said =
      absl::StrSplit(result.standard_error, '\n', absl::SkipWhitespace());
  std::optional<HccnVerdict> known;
  if (generation == NpuToolFacts::ASCEND_950) {
    known = FindText(Sayer::kAscend950, said);
  }
  // On stdout only a leading text counts: later ones are a device's data.
  const std::vector<absl::string_view> data =
      HccnDataLines(result.standard_output);
  if (!data.empty()) said.push_back(data[0]);

  if (!known.has_value()) known = FindText(Sayer::kBoth, said);
  if (!known.has_value()) known = FindText(Sayer::kVaguely, said);
  if (known.has_value()) return *known;

  if (result.signal == 0 && result.exit_status == 0) return {};
  if (result.exit_status == 234 && said.empty()) {
    return Spoken(HccnFailure::kNotPermitted, Worded("fact-status-234"));
  }
  return Spoken(HccnFailure::kOther, StatusWords(result, said));
}

}  // namespace clusterd
