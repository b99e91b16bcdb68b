#include "daemon/host/firewall/allowed_port.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/ipv4.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr uint32_t kMaxPort = 65535;

absl::Status Malformed(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("firewall: ", QuotedText(text), ", expected ", what));
}

bool ParsePort(absl::string_view text, uint32_t* port) {
  return text.size() <= 5 && absl::c_all_of(text, absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, port) && *port <= kMaxPort;
}

std::optional<Ipv4Subnet> SubnetOf(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(parts.first);
  if (!address.ok()) return {};
  if (parts.first.size() == text.size()) return Ipv4Subnet(*address, 32);
  if (const absl::StatusOr<int> mask = ParseNetmask(parts.second); mask.ok()) {
    return Ipv4Subnet(*address, *mask);
  }
  uint32_t length = 0;
  if (parts.second.size() > 2 || !ParsePort(parts.second, &length) ||
      length > 32) {
    return {};
  }
  return Ipv4Subnet(*address, static_cast<int>(length));
}

// Of an AllowedPort; "" is everywhere.
std::optional<Ipv4Subnet> SourceOf(const AllowedPort& port) {
  return port.source().empty() ? Ipv4Subnet() : SubnetOf(port.source());
}

}  // namespace

AllowedPort MakeAllowedPort(uint32_t first, uint32_t last,
                            absl::string_view protocol,
                            absl::string_view source) {
  AllowedPort port;
  port.set_first_port(first);
  port.set_last_port(last);
  port.set_protocol(std::string(protocol));
  port.set_source(std::string(source));
  return port;
}

AllowedPort AllAllowedPorts(absl::string_view protocol,
                            absl::string_view source) {
  return MakeAllowedPort(0, kMaxPort, protocol, source);
}

absl::StatusOr<std::vector<AllowedPort>> ParseAllowedPorts(
    absl::string_view text, char range, absl::string_view source) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  const bool both = parts.first.size() == text.size();
  if (!both && parts.second != "tcp" && parts.second != "udp") {
    return Malformed("ports with /tcp or /udp", text);
  }
  std::vector<AllowedPort> ports;
  for (const absl::string_view part : absl::StrSplit(parts.first, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits(range, 1));
    uint32_t first = 0;
    uint32_t last = 0;
    if (!ParsePort(ends.first, &first)) return Malformed("ports", text);
    last = first;
    if (ends.first.size() != part.size() &&
        (!ParsePort(ends.second, &last) || last < first)) {
      return Malformed("ports", text);
    }
    ports.push_back(
        MakeAllowedPort(first, last, both ? "" : parts.second, source));
  }
  return ports;
}

absl::StatusOr<std::string> ParseAllowedSource(absl::string_view text) {
  const std::optional<Ipv4Subnet> subnet = SubnetOf(text);
  if (!subnet.has_value()) return Malformed("an IPv4 address or subnet", text);
  if (subnet->prefix_length() == 0) return std::string();
  if (subnet->prefix_length() == 32) return subnet->network().ToString();
  return subnet->ToString();
}

std::optional<std::vector<AllowedPort>> MinusAllowedPort(
    const AllowedPort& allowed, const AllowedPort& taken) {
  const bool other_ports = allowed.last_port() < taken.first_port() ||
                           taken.last_port() < allowed.first_port();
  const bool other_protocol = !allowed.protocol().empty() &&
                              !taken.protocol().empty() &&
                              allowed.protocol() != taken.protocol();
  const std::optional<Ipv4Subnet> source = SourceOf(allowed);
  const std::optional<Ipv4Subnet> taken_source = SourceOf(taken);
  if (!source.has_value() || !taken_source.has_value()) return {};
  if (other_ports || other_protocol || !taken_source->Overlaps(*source)) {
    return std::vector<AllowedPort>{allowed};
  }
  if (taken_source->prefix_length() > source->prefix_length()) return {};
  std::vector<AllowedPort> left;
  const auto keep = [&](int64_t first, int64_t last,
                        absl::string_view protocol) {
    if (first > last) return;
    left.push_back(MakeAllowedPort(static_cast<uint32_t>(first),
                                   static_cast<uint32_t>(last), protocol,
                                   allowed.source()));
  };
  std::string protocol = allowed.protocol();
  if (protocol.empty() && !taken.protocol().empty()) {
    protocol = taken.protocol();
    keep(allowed.first_port(), allowed.last_port(),
         protocol == "tcp" ? "udp" : "tcp");
  }
  keep(allowed.first_port(), int64_t{taken.first_port()} - 1, protocol);
  keep(int64_t{taken.last_port()} + 1, allowed.last_port(), protocol);
  return left;
}

}  // namespace clusterd
