#include "daemon/host/ascend950/answers.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/host/hccn_lldp.h"
#include "daemon/host/hccn_output.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace ascend950 {
namespace {

constexpr size_t kSlaves = 2;
constexpr absl::string_view kHeaderBegin = "[dev_name:";
constexpr absl::string_view kHeaderEnd = "] LLDP neighbor info:";

struct Section {
  std::string slave;
  std::string text;
};

bool IsHeader(absl::string_view line) {
  return absl::StartsWith(line, kHeaderBegin) &&
         absl::EndsWith(line, kHeaderEnd);
}

absl::StatusOr<std::vector<Section>> SplitSections(absl::string_view output) {
  std::vector<Section> sections;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (IsHeader(line)) {
      absl::string_view slave = line.substr(kHeaderBegin.size());
      slave.remove_suffix(kHeaderEnd.size());
      sections.push_back({std::string(slave), ""});
    } else if (!sections.empty()) {
      absl::StrAppend(&sections.back().text, line, "\n");
    } else if (!absl::StripAsciiWhitespace(line).empty()) {
      break;
    }
  }
  if (sections.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("-lldp: no \"", kHeaderBegin,
                                                   "…", kHeaderEnd, "\" in ",
                                                   QuotedText(output)));
  }
  return sections;
}

}  // namespace

absl::StatusOr<bool> ParseTls(absl::string_view output, uint32_t device) {
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  absl::string_view line = lines.empty() ? "" : lines[0];
  const bool is_this_device =
      absl::ConsumePrefix(&line, absl::StrCat("device ", device, ", ")) ||
      absl::ConsumePrefix(&line, absl::StrCat("dev_id:", device, ", "));
  for (const bool enabled : {false, true}) {
    if (is_this_device &&
        absl::StartsWith(line, absl::StrCat("tls switch[", enabled ? 1 : 0,
                                            "](0:disable, 1:enable)"))) {
      return enabled;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("-tls: no switch of device ", device, " in ",
                   QuotedText(lines.empty() ? output : lines[0])));
}

absl::StatusOr<LldpNeighbour> ParseLldp(absl::string_view output) {
  const absl::StatusOr<std::vector<Section>> sections = SplitSections(output);
  if (!sections.ok()) return sections.status();
  if (sections->size() != kSlaves) {
    return absl::InvalidArgumentError(
        absl::StrCat("-lldp: answers of ", sections->size(),
                     " slaves of the bond, expected ", kSlaves));
  }
  const absl::StatusOr<LldpNeighbour> first =
      ParseHccnLldp((*sections)[0].text);
  const absl::StatusOr<LldpNeighbour> second =
      ParseHccnLldp((*sections)[1].text);
  if (!first.ok()) return first.status();
  if (!second.ok()) return second.status();
  if (first->heard() != second->heard()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "-lldp: of the bond's slaves ", QuotedText((*sections)[0].slave),
        first->heard() ? " hears a neighbour and " : " hears none and ",
        QuotedText((*sections)[1].slave),
        first->heard() ? " hears none" : " hears one"));
  }
  return first;
}

}  // namespace ascend950
}  // namespace clusterd
