#include "daemon/host/hccn_query/hccn_port.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {

absl::StatusOr<std::optional<uint32_t>> ParseHccnSpeed(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const auto values, ParseHccnValuesOf({"Speed"}, output));
  absl::string_view number = values.front();
  if (number == "Unknown!") return std::optional<uint32_t>();
  const bool has_unit = absl::ConsumeSuffix(&number, " Mb/s");
  const absl::StatusOr<uint64_t> mbps =
      ParseHccnNumber(number, std::numeric_limits<uint32_t>::max());
  if (!has_unit || !mbps.ok()) {
    return UnexpectedHccnText(values.front(), "a speed like \"200000 Mb/s\"");
  }
  return std::optional<uint32_t>(static_cast<uint32_t>(*mbps));
}

absl::StatusOr<HccnDuplex> ParseHccnDuplex(absl::string_view output) {
  ASSIGN_OR_RETURN(const auto values, ParseHccnValuesOf({"Duplex"}, output));
  return ParseHccnWord<HccnDuplex>(values.front(),
                                   {{"Full", HccnDuplex::kFull},
                                    {"Half", HccnDuplex::kHalf},
                                    {"Unknown!", HccnDuplex::kUnknown}},
                                   "Full, Half or Unknown!");
}

absl::StatusOr<HccnVnic> ParseHccnVnic(absl::string_view output) {
  ASSIGN_OR_RETURN(
      const auto values,
      ParseHccnValuesOf({"vnic link status", "vnic ipaddr", "vnic netmask"},
                        output));
  const absl::StatusOr<bool> link_up = ParseHccnWord<bool>(
      values[0], {{"UP", true}, {"DOWN", false}}, "UP or DOWN");
  if (!link_up.ok()) return link_up.status();
  const absl::StatusOr<Ipv4Interface> address =
      Ipv4Interface::Parse(values[1], values[2]);
  if (!address.ok()) {
    return UnexpectedHccnText(absl::StrCat(values[1], " ", values[2]),
                              "an IPv4 address and netmask");
  }
  return HccnVnic{*link_up, *address};
}

}  // namespace clusterd
