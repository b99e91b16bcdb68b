#include "daemon/host/hccn_query/hccn_addresses.h"

#include <arpa/inet.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/hccn_named_values.h"

namespace clusterd {
namespace {

bool IsIpv6(const std::string& text) {
  // inet_pton would stop at a NUL and take what stands before it.
  if (text.find('\0') != std::string::npos) return false;
  in6_addr address;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace

absl::StatusOr<HccnVnic> ParseHccnVnic(absl::string_view output) {
  constexpr absl::string_view kNames[] = {"vnic link status", "vnic ipaddr",
                                          "vnic netmask"};
  const absl::StatusOr<std::vector<absl::string_view>> values =
      ParseHccnValuesOf(kNames, output);
  if (!values.ok()) return values.status();
  const absl::string_view link = (*values)[0];
  if (link != "UP" && link != "DOWN") {
    return UnexpectedHccnText(link, "UP or DOWN");
  }
  const absl::StatusOr<Ipv4Interface> address =
      Ipv4Interface::Parse((*values)[1], (*values)[2]);
  if (!address.ok()) {
    return UnexpectedHccnText(absl::StrCat((*values)[1], " ", (*values)[2]),
                              "an IPv4 address and netmask");
  }
  return HccnVnic{link == "UP", *address};
}

absl::StatusOr<HccnIpv6> ParseHccnIpv6(absl::string_view output) {
  constexpr absl::string_view kNames[] = {"ipv6_address", "prefix_length"};
  const absl::StatusOr<std::vector<absl::string_view>> values =
      ParseHccnValuesOf(kNames, output);
  if (!values.ok()) return values.status();
  HccnIpv6 ipv6;
  ipv6.address = std::string((*values)[0]);
  if (!IsIpv6(ipv6.address)) {
    return UnexpectedHccnText(ipv6.address, "an IPv6 address");
  }
  constexpr uint64_t kMaxPrefixLength = 128;
  const absl::StatusOr<uint64_t> length =
      ParseHccnNumber((*values)[1], kMaxPrefixLength);
  if (!length.ok()) return length.status();
  ipv6.prefix_length = static_cast<uint32_t>(*length);
  return ipv6;
}

}  // namespace clusterd
