#include "daemon/host/hccn/hccn_answers.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

constexpr std::pair<absl::string_view, NetHealth> kNetHealthTexts[] = {
    {"Success", NET_HEALTH_SUCCESS},
    {"Socket fail", NET_HEALTH_SOCKET_FAIL},
    {"Socket failed", NET_HEALTH_SOCKET_FAIL},
    {"Receive timeout", NET_HEALTH_RECEIVE_TIMEOUT},
    {"Unreachable", NET_HEALTH_UNREACHABLE},
    {"Time exceeded", NET_HEALTH_TIME_EXCEEDED},
    {"Fault", NET_HEALTH_FAULT},
    {"Init", NET_HEALTH_INIT},
    {"Thread error", NET_HEALTH_THREAD_ERROR},
    {"Detect ip set", NET_HEALTH_DETECT_IP_SET},
    {"Unknown", NET_HEALTH_UNKNOWN},
};

// What stands after `label` and blanks in the only data line.
absl::StatusOr<absl::string_view> ValueAfter(absl::string_view output,
                                             absl::string_view label) {
  ASSIGN_OR_RETURN(const absl::string_view line, OnlyHccnDataLine(output));
  absl::string_view value = line;
  if (!absl::ConsumePrefix(&value, label)) {
    return UnexpectedHccnText(line, absl::StrCat("\"", label, "...\""));
  }
  return absl::StripLeadingAsciiWhitespace(value);
}

absl::StatusOr<Ipv4Address> ParseAddress(absl::string_view text) {
  const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(text);
  if (!address.ok()) return UnexpectedHccnText(text, "an IPv4 address");
  return address;
}

bool IsInterfaceName(absl::string_view text) {
  return !text.empty() && text.size() < 16 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.' ||
                  c == ':';
         });
}

absl::Status BadIp(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(absl::StrCat(what, " ", QuotedText(line)));
}

}  // namespace

absl::StatusOr<std::vector<Ipv4Interface>> ParseHccnIp(
    absl::string_view output) {
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  if (lines.empty()) return BadIp("no ipaddr line in", output);
  std::vector<Ipv4Interface> interfaces;
  for (size_t i = 0; i < lines.size(); i += 2) {
    absl::string_view address = lines[i];
    if (!absl::ConsumePrefix(&address, "ipaddr:")) {
      return BadIp("no ipaddr line in", lines[i]);
    }
    if (i + 1 == lines.size()) {
      return BadIp("no netmask line after", lines[i]);
    }
    absl::string_view netmask = lines[i + 1];
    if (!absl::ConsumePrefix(&netmask, "netmask:")) {
      return BadIp("no netmask line in", lines[i + 1]);
    }
    const absl::StatusOr<Ipv4Interface> interface =
        Ipv4Interface::Parse(absl::StripAsciiWhitespace(address),
                             absl::StripAsciiWhitespace(netmask));
    if (!interface.ok()) {
      return BadIp("no IPv4 address and netmask in",
                   absl::StrCat(lines[i], " ", lines[i + 1]));
    }
    if (std::find(interfaces.begin(), interfaces.end(), *interface) ==
        interfaces.end()) {
      interfaces.push_back(*interface);
    }
  }
  return interfaces;
}

absl::StatusOr<Ipv4Address> ParseHccnGateway(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value,
                   ValueAfter(output, "default gateway:"));
  const size_t comma = value.find(',');
  if (comma != absl::string_view::npos) {
    absl::string_view rest =
        absl::StripLeadingAsciiWhitespace(value.substr(comma + 1));
    if (!absl::ConsumePrefix(&rest, "Iface:") ||
        !IsInterfaceName(absl::StripAsciiWhitespace(rest))) {
      return UnexpectedHccnText(value, "\", Iface:...\" after the address");
    }
  }
  return ParseAddress(absl::StripAsciiWhitespace(value.substr(0, comma)));
}

absl::StatusOr<Ipv4Address> ParseHccnNetdetect(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view line, OnlyHccnDataLine(output));
  absl::string_view rest = line;
  if (!absl::ConsumePrefix(&rest, "netdetect addr:") &&
      !absl::ConsumePrefix(&rest, "netdetect address:")) {
    return UnexpectedHccnText(line, "\"netdetect address: ...\"");
  }
  return ParseAddress(absl::StripAsciiWhitespace(rest));
}

absl::StatusOr<NetHealth> ParseHccnNetHealth(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value,
                   ValueAfter(output, "net health status:"));
  return ParseHccnWord<NetHealth>(value, kNetHealthTexts,
                                  "one of the vendor's ten states");
}

absl::StatusOr<LinkFact::Link> ParseHccnLink(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value,
                   ValueAfter(output, "link status:"));
  return ParseHccnWord<LinkFact::Link>(
      value, {{"UP", LinkFact::UP}, {"DOWN", LinkFact::DOWN}}, "UP or DOWN");
}

absl::StatusOr<uint32_t> ParseHccnMtu(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value, ValueAfter(output, "mtu:"));
  uint32_t mtu = 0;
  const bool digits = std::all_of(value.begin(), value.end(), [](char c) {
    return absl::ascii_isdigit(c);
  });
  if (!digits || !absl::SimpleAtoi(value, &mtu) || mtu == 0 || mtu > 65535) {
    return UnexpectedHccnText(value, "a number of bytes from 1 to 65535");
  }
  return mtu;
}

absl::StatusOr<bool> ParseHccnTls(absl::string_view output, uint32_t device) {
  const std::string label = absl::StrCat("dev_id:", device, ", tls switch[");
  std::optional<bool> enabled;
  for (const absl::string_view line : HccnDataLines(output)) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, label)) continue;
    const bool on = absl::StartsWith(rest, "1](0:disable, 1:enable)");
    const bool off = absl::StartsWith(rest, "0](0:disable, 1:enable)");
    if (!on && !off) {
      return UnexpectedHccnText(line, "\"tls switch[0]\" or \"tls switch[1]\"");
    }
    if (enabled.has_value()) {
      return UnexpectedHccnText(line, "one tls switch");
    }
    enabled = on;
  }
  if (!enabled.has_value()) {
    return UnexpectedHccnText(output, absl::StrCat("\"", label, "...\""));
  }
  return *enabled;
}

}  // namespace clusterd
