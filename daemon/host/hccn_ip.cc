#include "daemon/host/hccn_ip.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "daemon/host/hccn_output.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace {

absl::Status Malformed(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(absl::StrCat(what, " ", QuotedText(line)));
}

}  // namespace

absl::StatusOr<std::vector<Ipv4Interface>> ParseHccnIp(
    absl::string_view output) {
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  if (lines.empty()) return Malformed("no ipaddr line in", output);
  std::vector<Ipv4Interface> interfaces;
  for (size_t i = 0; i < lines.size(); i += 2) {
    absl::string_view address = lines[i];
    if (!absl::ConsumePrefix(&address, "ipaddr:")) {
      return Malformed("no ipaddr line in", lines[i]);
    }
    if (i + 1 == lines.size()) {
      return Malformed("no netmask line after", lines[i]);
    }
    absl::string_view netmask = lines[i + 1];
    if (!absl::ConsumePrefix(&netmask, "netmask:")) {
      return Malformed("no netmask line in", lines[i + 1]);
    }
    const absl::StatusOr<Ipv4Interface> interface =
        Ipv4Interface::Parse(absl::StripAsciiWhitespace(address),
                             absl::StripAsciiWhitespace(netmask));
    if (!interface.ok()) {
      return Malformed("no IPv4 address and netmask in",
                       absl::StrCat(lines[i], " ", lines[i + 1]));
    }
    if (std::find(interfaces.begin(), interfaces.end(), *interface) ==
        interfaces.end()) {
      interfaces.push_back(*interface);
    }
  }
  return interfaces;
}

}  // namespace clusterd
