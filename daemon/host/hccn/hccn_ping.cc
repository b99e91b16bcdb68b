#include "daemon/host/hccn/hccn_ping.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/words/quoted_text.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

constexpr absl::string_view kMarkers[] = {
    "recv time out seq",   "Destination Host Unreachable",
    "Message too long",    "This pkt ping not start to send!",
    "This pkt send fail!", "This pkt check recv msg fail!",
};

// Takes the digits at the start of `text`.
absl::string_view ConsumeDigits(absl::string_view* text) {
  const auto* end = std::find_if_not(text->begin(), text->end(), [](char c) {
    return absl::ascii_isdigit(c);
  });
  const absl::string_view digits = text->substr(0, end - text->begin());
  text->remove_prefix(digits.size());
  return digits;
}

// Takes a number as printf writes it: no sign, no zeros in front.
bool ConsumeNumber(absl::string_view* text, uint32_t* number) {
  const absl::string_view digits = ConsumeDigits(text);
  const bool padded = digits.size() > 1 && digits[0] == '0';
  return !padded && absl::SimpleAtoi(digits, number);
}

// Takes "33.33%", as 3333.
bool ConsumePercentage(absl::string_view* text, uint32_t* hundredths) {
  uint32_t whole = 0;
  if (!ConsumeNumber(text, &whole) || whole > 100) return false;
  if (!absl::ConsumePrefix(text, ".")) return false;
  const absl::string_view decimals = ConsumeDigits(text);
  uint32_t fraction = 0;
  if (decimals.size() != 2 || !absl::SimpleAtoi(decimals, &fraction)) {
    return false;
  }
  *hundredths = whole * 100 + fraction;
  return absl::ConsumePrefix(text, "%");
}

// Whether the percentage is the share of lost packets, rounded or cut to two
// decimals. REQUIRES: ping.received <= ping.transmitted.
bool IsLossOf(const HccnPing& ping, uint32_t hundredths) {
  const uint64_t lost = ping.transmitted - ping.received;
  const uint64_t exact = lost * 10000;
  const uint64_t printed = uint64_t{hundredths} * ping.transmitted;
  const uint64_t off = exact > printed ? exact - printed : printed - exact;
  return off < ping.transmitted;
}

bool IsLossLine(absl::string_view line) {
  return absl::StrContains(line, "packets transmitted") ||
         absl::StrContains(line, "packet loss") ||
         absl::StrContains(line, "packets loss");
}

absl::StatusOr<HccnPing> ParseLossLine(absl::string_view line) {
  HccnPing ping;
  uint32_t hundredths = 0;
  absl::string_view rest = line;
  if (!ConsumeNumber(&rest, &ping.transmitted) ||
      !absl::ConsumePrefix(&rest, " packets transmitted, ") ||
      !ConsumeNumber(&rest, &ping.received) ||
      !absl::ConsumePrefix(&rest, " received, ") ||
      !ConsumePercentage(&rest, &hundredths) ||
      (rest != " packet loss" && rest != " packets loss")) {
    return UnexpectedHccnText(
        line, "\"N packets transmitted, N received, N.NN% packet loss\"");
  }
  ping.hccs = rest == " packets loss";
  if (ping.transmitted == 0) {
    return UnexpectedHccnText(line, "at least one packet transmitted");
  }
  if (ping.received > ping.transmitted) {
    return UnexpectedHccnText(line, "at most as many received as transmitted");
  }
  if (!IsLossOf(ping, hundredths)) {
    return UnexpectedHccnText(line,
                              "the percentage of the packets not received");
  }
  return ping;
}

void AddMarkers(absl::string_view line, std::vector<std::string>* markers) {
  for (const absl::string_view marker : kMarkers) {
    if (!absl::StrContains(line, marker)) continue;
    if (std::find(markers->begin(), markers->end(), marker) == markers->end()) {
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
  absl::StatusOr<HccnPing> ping = ParseLossLine(*loss_line);
  if (ping.ok()) ping->markers = std::move(markers);
  return ping;
}

}  // namespace clusterd
