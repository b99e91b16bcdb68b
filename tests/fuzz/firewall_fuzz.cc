// Every rule that a firewall allows is a range of ports. A text of ufw's
// without "ALLOW" or a default that allows does not allow anything.
#include <vector>

#include "daemon/host/firewall/firewall_observer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

void CheckAllowed(const absl::StatusOr<AllowedFact::Allowed>& allowed) {
  if (!allowed.ok()) return;
  for (const AllowedPort& port : allowed->ports()) {
    Require(port.first_port() <= port.last_port() && port.last_port() <= 65535);
  }
}

void CheckFirewalld(const std::string& text) {
  std::vector<std::string> included;
  ParseFirewalldService(text, &included).status().IgnoreError();
  const absl::StatusOr<std::vector<FirewalldZone>> zones =
      ParseFirewalldZones(text);
  if (!zones.ok()) return;
  for (const FirewalldZone& zone : *zones) {
    CheckAllowed(FirewalldAllowed(*zones, zone, {{"ssh", {}}}));
  }
}

void CheckUfw(const std::string& text) {
  ParseUfwActive(text).status().IgnoreError();
  ParseUfwConf(text).status().IgnoreError();
  const absl::StatusOr<AllowedFact::Allowed> allowed = ParseUfwAllowed(text);
  CheckAllowed(allowed);
  const bool may_allow = absl::StrContains(text, "ALLOW") ||
                         absl::StrContains(text, "allow (incoming)");
  Require(!allowed.ok() || allowed->ports().empty() || may_allow);
}

void CheckDrops(const absl::StatusOr<std::vector<DropRule>>& drops) {
  if (!drops.ok()) return;
  for (const DropRule& drop : *drops) Require(!drop.text().empty());
}

void CheckPacketFilter(const std::string& text) {
  const OwnAddresses own = {Ipv4Address(0xC0A80716)};
  CheckDrops(FindIptablesDrops(text, own));
  CheckDrops(FindNftDrops(text, FindSavedTables(text).whole, own));
}

FUZZ_TEXT(firewall, 2, "tests/testdata/host/firewalld/*",
          "tests/testdata/host/ufw/*") {
  CheckFirewalld(text);
  CheckUfw(text);
  CheckPacketFilter(text);
}

}  // namespace
}  // namespace clusterd
