#include "daemon/host/firewall/allowed_port.h"

#include "absl/strings/str_split.h"
#include "config/values/ipv4.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr uint32_t kMaxPort = 65535;

absl::Status Malformed(absl::string_view want, absl::string_view text) {
  return InvalidWords("fact-firewall-text", QuotedText(text), Worded(want));
}

// "10.77.0.0/16", "10.77.0.0/255.255.0.0" or one address.
std::optional<Ipv4Subnet> SubnetOf(absl::string_view text) {
  static const LazyRE2 kSubnet = {R"(([0-9.]+)(?:/(?:(\d{1,2})|([0-9.]+)))?)"};
  absl::string_view address_text;
  std::optional<int> length;
  absl::string_view netmask;
  if (!HasForm(text, *kSubnet, &address_text, &length, &netmask)) return {};
  if (!netmask.empty()) length = ParseNetmask(netmask).value_or(-1);
  const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(address_text);
  const int prefix_length = length.value_or(32);
  if (!address.ok() || prefix_length < 0 || prefix_length > 32) return {};
  return Ipv4Subnet(*address, prefix_length);
}

// Returns the source of an AllowedPort; "" is everywhere.
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
  static const LazyRE2 kPorts = {R"(([^/]*)(?:/(tcp|udp))?)"};
  static const LazyRE2 kPart = {R"((\d{1,5})(?:([:-])(\d{1,5}))?)"};
  const absl::Status malformed = Malformed("want-firewall-ports", text);
  absl::string_view parts;
  absl::string_view protocol;
  if (!HasForm(text, *kPorts, &parts, &protocol)) return malformed;
  std::vector<AllowedPort> ports;
  for (const absl::string_view part : absl::StrSplit(parts, ',')) {
    uint32_t first = 0;
    absl::string_view sign;
    std::optional<uint32_t> end;
    if (!HasForm(part, *kPart, &first, &sign, &end)) return malformed;
    const uint32_t last = end.value_or(first);
    if (first > last || last > kMaxPort ||
        (!sign.empty() && sign[0] != range)) {
      return malformed;
    }
    ports.push_back(MakeAllowedPort(first, last, protocol, source));
  }
  return ports;
}

absl::StatusOr<std::string> ParseAllowedSource(absl::string_view text) {
  const std::optional<Ipv4Subnet> subnet = SubnetOf(text);
  if (!subnet.has_value()) return Malformed("want-subnet", text);
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
