#include "config/values/host_interfaces.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "config/values/value_error.h"

namespace clusterd {
const HostInterface* FindInterface(const HostFacts& facts,
                                   absl::string_view address) {
  for (const HostInterface& each : facts.interfaces().value().interfaces()) {
    if (absl::c_linear_search(each.addresses(), address)) return &each;
  }
  return nullptr;
}

absl::StatusOr<const FirewallZone*> FindOtherZone(const HostFacts& facts,
                                                  absl::string_view address) {
  const ZonesFact& zones = facts.firewalld().other_zones();
  if (!zones.has_value()) {
    return ErrorIn(absl::StatusCode::kUnavailable,
                   ErrorWords("value-no-zones", {}));
  }
  if (zones.value().zones().empty()) return nullptr;
  if (!facts.interfaces().has_value()) {
    return ErrorIn(absl::StatusCode::kUnavailable,
                   ErrorWords("value-no-interfaces", {}));
  }
  const HostInterface* const interface = FindInterface(facts, address);
  if (interface == nullptr) {
    return ErrorIn(absl::StatusCode::kNotFound,
                   ErrorWords("value-no-interface-of", {ErrorValue(address)}));
  }
  for (const FirewallZone& zone : zones.value().zones()) {
    for (absl::string_view pattern : zone.interfaces()) {
      // "br-+" is every interface whose name begins with "br-"
      // (firewall-cmd(1)).
      const bool named = absl::ConsumeSuffix(&pattern, "+")
                             ? absl::StartsWith(interface->name(), pattern)
                             : interface->name() == pattern;
      if (named) return &zone;
    }
  }
  return nullptr;
}

}  // namespace clusterd
