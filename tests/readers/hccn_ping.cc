#include "tests/readers/hccn_ping.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/hccn/hccn_tool.h"

namespace clusterd {
namespace {

constexpr absl::string_view kMarkers[] = {
    "recv time out seq",   "Destination Host Unreachable",
    "Message too long",    "This pkt ping not start to send!",
    "This pkt send fail!", "This pkt check recv msg fail!",
};

// True if the percentage is the share of lost packets, rounded or cut to two
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
  static const LazyRE2 kForm = {
      R"((0|[1-9]\d*) packets transmitted, (0|[1-9]\d*) received, )"
      R"((0|[1-9]\d?|100)\.(\d\d)% packet(s?) loss)"};
  HccnPing ping;
  uint64_t percent = 0;
  uint64_t hundredths = 0;
  absl::string_view plural;
  if (!HasForm(line, *kForm, &ping.transmitted, &ping.received, &percent,
               &hundredths, &plural)) {
    return UnexpectedHccnText(
        line, "\"N packets transmitted, N received, N.NN% packet loss\"");
  }
  ping.hccs = !plural.empty();
  if (ping.transmitted == 0) {
    return UnexpectedHccnText(line, "at least one packet transmitted");
  }
  if (ping.received > ping.transmitted) {
    return UnexpectedHccnText(line, "at most as many received as transmitted");
  }
  if (!IsLossOf(ping, percent * 100 + hundredths)) {
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
