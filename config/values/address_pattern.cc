#include "config/values/address_pattern.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr int64_t kAddresses = int64_t{1} << 32;

template <typename... Parts>
absl::Status Wrong(absl::string_view what, absl::string_view text,
                   const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(
      what, " \"", absl::Utf8SafeCEscape(text.substr(0, 80)), "\" ", parts...));
}

// The values of one octet: "168", "[100-103]".
absl::StatusOr<std::vector<uint32_t>> ParseOctet(absl::string_view octet) {
  absl::string_view list = octet;
  const bool bracket = absl::ConsumePrefix(&list, "[");
  if (bracket && !absl::ConsumeSuffix(&list, "]")) {
    return Wrong("octet", octet, "has an open bracket, expected \"]\"");
  }
  ASSIGN_OR_RETURN(const std::vector<NumberRange> ranges,
                   ParseNumberList(list));
  std::vector<uint32_t> values;
  for (const NumberRange& range : ranges) {
    if (range.last > 255) return Wrong("octet", octet, "is over 255");
    if (range.width > 0) return Wrong("octet", octet, "has leading zeros");
    for (uint64_t value = range.first; value <= range.last;
         value += range.step) {
      values.push_back(static_cast<uint32_t>(value));
    }
  }
  if (!bracket && values.size() != 1) {
    return Wrong("octet", octet, "is a list, expected it in brackets");
  }
  return values;
}

// Splits at the dots that stand outside of brackets; a list of numbers has none
// inside, so every dot counts.
absl::StatusOr<std::vector<Ipv4Address>> ExpandQuad(absl::string_view quad) {
  std::vector<uint32_t> expanded = {0};
  int octets = 0;
  absl::string_view rest = quad;
  while (true) {
    const size_t dot = rest.find('.');
    ASSIGN_OR_RETURN(const std::vector<uint32_t> values,
                     ParseOctet(rest.substr(0, dot)));
    if (++octets > 4) break;
    if (expanded.size() * values.size() > kMaxPatternAddresses) {
      return Wrong("address", quad, "lists too many, expected at most ",
                   kMaxPatternAddresses);
    }
    std::vector<uint32_t> longer;
    longer.reserve(expanded.size() * values.size());
    for (uint32_t prefix : expanded) {
      for (uint32_t value : values) longer.push_back(prefix << 8 | value);
    }
    expanded = std::move(longer);
    if (dot == absl::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (octets != 4) {
    return Wrong("address", quad, "is not IPv4, expected four octets");
  }
  return std::vector<Ipv4Address>(expanded.begin(), expanded.end());
}

// "10.1.0.1 + n" to "10.1.0.1" and "n", "10.1.0.1" to itself and "0".
std::pair<absl::string_view, absl::string_view> SplitOffset(
    absl::string_view text) {
  const size_t plus = text.find('+');
  if (plus == absl::string_view::npos) {
    return {absl::StripAsciiWhitespace(text), "0"};
  }
  return {absl::StripAsciiWhitespace(text.substr(0, plus)),
          text.substr(plus + 1)};
}

}  // namespace

absl::StatusOr<AddressPattern> AddressPattern::Parse(absl::string_view text) {
  const auto [quad, offset] = SplitOffset(text);
  AddressPattern pattern;
  pattern.text_ = std::string(text);
  pattern.has_formula_ = absl::StrContains(text, '+');
  absl::StatusOr<std::vector<Ipv4Address>> bases = ExpandQuad(quad);
  if (!bases.ok()) {
    // The plain case gets the plain message.
    if (quad.find_first_of("[]") == absl::string_view::npos) {
      return Ipv4Address::Parse(quad).status();
    }
    return Wrong("address", text, "is malformed: ", bases.status().message());
  }
  pattern.bases_ = *std::move(bases);
  ASSIGN_OR_RETURN(pattern.offset_, Formula::Parse(offset));
  return pattern;
}

absl::StatusOr<Ipv4Address> AddressPattern::At(
    size_t k, const FormulaInputs& inputs) const {
  ASSIGN_OR_RETURN(const int64_t offset, offset_.Evaluate(inputs));
  const Ipv4Address base = bases_[bases_.size() == 1 ? 0 : k];
  // The product of one that is not past all of IPv4 stays within 2^32.
  const int64_t units = kAddresses / unit_;
  const bool is_near = -units <= offset && offset <= units;
  const int64_t bits = base.bits() + (is_near ? offset * unit_ : kAddresses);
  if (bits < 0 || bits >= kAddresses) {
    return Wrong(what_, text_, "leads out of IPv4");
  }
  return Ipv4Address(static_cast<uint32_t>(bits));
}

absl::StatusOr<SubnetPattern> SubnetPattern::Parse(absl::string_view text) {
  const auto [quad_and_length, offset] = SplitOffset(text);
  // The last one: the step of a bracket has a slash too.
  const size_t slash = quad_and_length.rfind('/');
  const absl::string_view length = slash == absl::string_view::npos
                                       ? absl::string_view()
                                       : quad_and_length.substr(slash + 1);
  int prefix_length = 0;
  if (length.size() > 2 || !ParseDigits(length, &prefix_length) ||
      prefix_length < 1 || prefix_length > 30) {
    return Wrong("subnet", text,
                 "has no prefix length 1-30, expected e.g. 192.168.100.0/24");
  }
  absl::StatusOr<std::vector<Ipv4Address>> bases =
      ExpandQuad(quad_and_length.substr(0, slash));
  if (!bases.ok()) {
    return Wrong("subnet", text, "is malformed: ", bases.status().message());
  }
  for (Ipv4Address base : *bases) {
    const Ipv4Subnet subnet(base, prefix_length);
    if (subnet.network() == base) continue;
    return Wrong("subnet", text, "has host bits set, expected ",
                 subnet.ToString());
  }
  SubnetPattern pattern;
  pattern.prefix_length_ = prefix_length;
  pattern.networks_.what_ = "subnet";
  pattern.networks_.text_ = std::string(text);
  pattern.networks_.bases_ = *std::move(bases);
  pattern.networks_.unit_ = int64_t{1} << (32 - prefix_length);
  ASSIGN_OR_RETURN(pattern.networks_.offset_, Formula::Parse(offset));
  return pattern;
}

absl::StatusOr<Ipv4Subnet> SubnetPattern::At(
    size_t k, const FormulaInputs& inputs) const {
  ASSIGN_OR_RETURN(const Ipv4Address network, networks_.At(k, inputs));
  return Ipv4Subnet(network, prefix_length_);
}

absl::StatusOr<Ipv4Address> HostAddress(const Ipv4Subnet& subnet,
                                        int64_t host_part) {
  const int64_t broadcast = (int64_t{1} << (32 - subnet.prefix_length())) - 1;
  if (host_part > 0 && host_part < broadcast) {
    return Ipv4Address(subnet.network().bits() +
                       static_cast<uint32_t>(host_part));
  }
  absl::string_view problem = "is outside";
  if (host_part == 0) problem = "is the network address of";
  if (host_part == broadcast) problem = "is the broadcast address of";
  return absl::InvalidArgumentError(
      absl::StrCat("host part ", host_part, " ", problem, " ",
                   subnet.ToString(), ", expected 1-", broadcast - 1));
}

absl::Status CheckUsableAddress(Ipv4Address address, int prefix_length) {
  absl::string_view problem;
  const Ipv4Subnet subnet(address, prefix_length);
  if (address.bits() >> 24 == 0) {
    problem = "means \"this network\"";
  } else if (address.IsLoopback()) {
    problem = "is loopback";
  } else if (address.IsMulticast()) {
    problem = "is multicast";
  } else if (address.IsClassE()) {
    problem = "is class E";
  } else if (prefix_length <= 30 && address == subnet.network()) {
    problem = "is the network address of its subnet";
  } else if (prefix_length <= 30 && address == subnet.broadcast()) {
    problem = "is the broadcast address of its subnet";
  } else {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("address \"", address.ToString(), "\" ", problem,
                   ", expected a host's address"));
}

}  // namespace clusterd
