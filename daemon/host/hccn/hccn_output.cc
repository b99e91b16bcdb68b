#include "daemon/host/hccn/hccn_output.h"

#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {

absl::Status UnexpectedHccnText(absl::string_view text,
                                absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("unexpected ", QuotedText(text), ", expected ", expected));
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

absl::StatusOr<absl::string_view> OnlyHccnDataLine(absl::string_view output) {
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  if (lines.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no answer in ", QuotedText(output)));
  }
  if (lines.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected line ", QuotedText(lines[1]), " after ",
                     QuotedText(lines[0])));
  }
  return lines[0];
}

absl::StatusOr<std::vector<absl::string_view>> HccnLinesBelow(
    absl::string_view heading, absl::string_view output) {
  std::vector<absl::string_view> lines = HccnDataLines(output);
  if (lines.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no line \"", heading, "\" in ", QuotedText(output)));
  }
  if (lines[0] != heading) {
    return UnexpectedHccnText(lines[0], absl::StrCat("\"", heading, "\""));
  }
  lines.erase(lines.begin());
  return lines;
}

absl::StatusOr<std::vector<absl::string_view>> HccnLinesOfDevice(
    uint32_t device, absl::string_view output) {
  std::vector<absl::string_view> lines = HccnDataLines(output);
  for (absl::string_view& line : lines) {
    if (!absl::ConsumePrefix(&line, absl::StrCat("[devid ", device, "]")) &&
        !absl::ConsumePrefix(&line, absl::StrCat("[device ", device, "]"))) {
      return UnexpectedHccnText(line,
                                absl::StrCat("\"[devid ", device, "]...\""));
    }
  }
  return lines;
}

absl::StatusOr<HccnNamedValue> ParseHccnNamedValue(absl::string_view line) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) {
    return UnexpectedHccnText(line, "\"name: value\"");
  }
  const HccnNamedValue named{
      absl::StripAsciiWhitespace(line.substr(0, colon)),
      absl::StripAsciiWhitespace(line.substr(colon + 1))};
  if (named.name.empty()) {
    return UnexpectedHccnText(line, "a name before the colon");
  }
  return named;
}

absl::StatusOr<std::vector<HccnNamedValue>> ParseHccnNamedValues(
    absl::Span<const absl::string_view> lines) {
  std::vector<HccnNamedValue> values;
  std::set<absl::string_view> names;
  for (const absl::string_view line : lines) {
    ASSIGN_OR_RETURN(const HccnNamedValue named, ParseHccnNamedValue(line));
    if (!names.insert(named.name).second) {
      return UnexpectedHccnText(line, "each name once");
    }
    values.push_back(named);
  }
  return values;
}

absl::StatusOr<std::vector<absl::string_view>> ParseHccnValuesOf(
    absl::Span<const absl::string_view> names, absl::string_view output) {
  return ParseHccnValuesOf(names, HccnDataLines(output), output);
}

absl::StatusOr<std::vector<absl::string_view>> ParseHccnValuesOf(
    absl::Span<const absl::string_view> names,
    absl::Span<const absl::string_view> lines, absl::string_view output) {
  std::vector<absl::string_view> values;
  for (const absl::string_view name : names) {
    const std::string expected = absl::StrCat("\"", name, ": ...\"");
    if (values.size() == lines.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no line ", expected, " in ", QuotedText(output)));
    }
    const absl::string_view line = lines[values.size()];
    const absl::StatusOr<HccnNamedValue> named = ParseHccnNamedValue(line);
    if (!named.ok() || named->name != name) {
      return UnexpectedHccnText(line, expected);
    }
    values.push_back(named->value);
  }
  if (lines.size() > names.size()) {
    return UnexpectedHccnText(
        lines[names.size()],
        absl::StrCat("nothing after ", QuotedText(lines[names.size() - 1])));
  }
  return values;
}

absl::StatusOr<uint64_t> ParseHccnNumber(absl::string_view text, uint64_t max) {
  const bool padded = text.size() > 1 && text[0] == '0';
  uint64_t number = 0;
  if (!absl::c_all_of(text, absl::ascii_isdigit) || padded ||
      !absl::SimpleAtoi(text, &number) || number > max) {
    return UnexpectedHccnText(text, absl::StrCat("a number from 0 to ", max));
  }
  return number;
}

std::vector<absl::string_view> HccnWords(absl::string_view line) {
  return absl::StrSplit(line, ' ', absl::SkipEmpty());
}

std::string HccnText(absl::string_view value) {
  return PrintableText(value, kMaxHccnTextBytes);
}

}  // namespace clusterd
