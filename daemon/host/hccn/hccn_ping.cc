#include "daemon/host/hccn/hccn_ping.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

constexpr absl::string_view kMarkers[] = {
    "recv time out seq",   "Destination Host Unreachable",
    "Message too long",    "This pkt ping not start to send!",
    "This pkt send fail!", "This pkt check recv msg fail!",
};

// 3333 of "33.33%".
absl::StatusOr<uint64_t> ParseHundredths(absl::string_view text) {
  const bool is_percentage = absl::ConsumeSuffix(&text, "%");
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  uint64_t fraction = 0;
  if (!is_percentage || parts.size() != 2 || parts[1].size() != 2 ||
      !absl::c_all_of(parts[1], absl::ascii_isdigit) ||
      !absl::SimpleAtoi(parts[1], &fraction)) {
    return UnexpectedHccnText(text, "a percentage with two decimals");
  }
  ASSIGN_OR_RETURN(const uint64_t whole, ParseHccnNumber(parts[0], 100));
  return whole * 100 + fraction;
}

// Whether the percentage is the share of lost packets, rounded or cut to two
// decimals. REQUIRES: ping.received <= ping.transmitted.
bool IsLossOf(const HccnPing& ping, uint64_t hundredths) {
  const uint64_t lost = ping.transmitted - ping.received;
  const uint64_t exact = lost * 10000;
  const uint64_t printed = hundredths * ping.transmitted;
  const uint64_t off = exact > printed ? exact - printed : printed - exact;
  return off < ping.transmitted;
}

bool IsLossLine(absl::string_view line) {
  return absl::StrContains(line, "packets transmitted") ||
         absl::StrContains(line, "packet loss") ||
         absl::StrContains(line, "packets loss");
}

absl::StatusOr<HccnPing> ParseLossLine(absl::string_view line) {
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  words.resize(std::max<size_t>(words.size(), 6));
  const absl::StatusOr<uint64_t> transmitted = ParseHccnNumber(words[0], kMax);
  const absl::StatusOr<uint64_t> received = ParseHccnNumber(words[3], kMax);
  const absl::StatusOr<uint64_t> hundredths = ParseHundredths(words[5]);
  const std::string begin =
      absl::StrCat(words[0], " packets transmitted, ", words[3], " received, ",
                   words[5], " packet");
  const absl::string_view end = absl::StripPrefix(line, begin);
  if (!transmitted.ok() || !received.ok() || !hundredths.ok() ||
      (end != " loss" && end != "s loss")) {
    return UnexpectedHccnText(
        line, "\"N packets transmitted, N received, N.NN% packet loss\"");
  }
  HccnPing ping;
  ping.transmitted = static_cast<uint32_t>(*transmitted);
  ping.received = static_cast<uint32_t>(*received);
  ping.hccs = end == "s loss";
  if (ping.transmitted == 0) {
    return UnexpectedHccnText(line, "at least one packet transmitted");
  }
  if (ping.received > ping.transmitted) {
    return UnexpectedHccnText(line, "at most as many received as transmitted");
  }
  if (!IsLossOf(ping, *hundredths)) {
    return UnexpectedHccnText(line,
                              "the percentage of the packets not received");
  }
  return ping;
}

void AddMarkers(absl::string_view line, std::vector<std::string>* markers) {
  for (const absl::string_view marker : kMarkers) {
    if (absl::StrContains(line, marker) &&
        !absl::c_linear_search(*markers, marker)) {
      markers->emplace_back(marker);
    }
  }
}

}  // namespace

absl::StatusOr<HccnPing> ParseHccnPing(absl::string_view output) {
  std::optional<absl::string_view> loss_line;
  std::vector<std::string> markers;
  for (const absl::string_view line : HccnDataLines(output)) {
    AddMarkers(line, &markers);
    if (!IsLossLine(line)) continue;
    if (loss_line.has_value())
      return UnexpectedHccnText(line, "one line with the loss");
    loss_line = line;
  }
  if (!loss_line.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no line with the packet loss in ", QuotedText(output)));
  }
  ASSIGN_OR_RETURN(HccnPing ping, ParseLossLine(*loss_line));
  ping.markers = std::move(markers);
  return ping;
}

}  // namespace clusterd
