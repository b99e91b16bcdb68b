// Converts ports and sources as firewalls write them to AllowedPort.
#ifndef DAEMON_HOST_FIREWALL_ALLOWED_PORT_H_
#define DAEMON_HOST_FIREWALL_ALLOWED_PORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// `protocol`: "tcp", "udp" or "" for both. `source`: empty for anywhere.
AllowedPort MakeAllowedPort(uint32_t first, uint32_t last,
                            absl::string_view protocol,
                            absl::string_view source);

// The same for all ports.
AllowedPort AllAllowedPorts(absl::string_view protocol,
                            absl::string_view source);

// Parses "60000-60031/tcp", "22,80:90/tcp" or "8080": comma-separated ports and
// ranges, whose ends `range` separates, and a protocol or none for both.
// InvalidArgument, quoting the text, for any other form.
absl::StatusOr<std::vector<AllowedPort>> ParseAllowedPorts(
    absl::string_view text, char range, absl::string_view source);

// Returns an IPv4 address or subnet, "10.77.0.0/16" or "10.77.0.0/255.255.0.0",
// as an address or CIDR; "" for 0.0.0.0/0. InvalidArgument for any other text.
absl::StatusOr<std::string> ParseAllowedSource(absl::string_view text);

// Returns what is left of `allowed`, perhaps nothing, when an earlier rule
// takes all packets of `taken`. No result if AllowedPorts cannot express that,
// because `taken` covers only some of the sources. REQUIRES: sources came from
// ParseAllowedSource.
std::optional<std::vector<AllowedPort>> MinusAllowedPort(
    const AllowedPort& allowed, const AllowedPort& taken);

}  // namespace clusterd

#endif  // DAEMON_HOST_FIREWALL_ALLOWED_PORT_H_
