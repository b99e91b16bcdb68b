// Settings of a host, their values, and keys of facts (proto/setting.proto).
// Values and keys have one text each, which no code reads back:
//   10.20.0.17/24      an address with its netmask
//   on, off; yes, no   a switch; a fact
//   0,0,0,0,1,0,0,0    numbers
//   33:1,46:2          a map
//   none, unknown
//
//   device 3: address          hccn.conf: netmask_3      hccn.conf: form
//   net.core.somaxconn         net.core.somaxconn at boot
//   ufw: active                ufw: allowed 22-22/tcp from 10.0.0.0/24
//   network namespace          /etc/sysctl.d/90-clusterd.conf: SHA-256
#ifndef CONFIG_VALUES_SETTING_H_
#define CONFIG_VALUES_SETTING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"
#include "config/values/port_set.h"
#include "proto/setting.pb.h"

namespace clusterd {

// The traffic class of each DSCP. A text names those of another class than 0:
//   33:1,46:2     in specs, facts and plans
//   0:0           there, for a map with only class 0
//   33:1,46:0,    in hccn.conf, where hccn_tool keeps entries reset to 0
//                 (vendor-tool.md, 3.23)
inline constexpr size_t kDscps = 64;
using DscpClasses = std::array<uint32_t, kDscps>;

// Pairs in any order, without a comma at the end. InvalidArgument, quoting the
// pair, if it is not a DSCP with a class from 0 to 3, or repeats a DSCP.
absl::StatusOr<DscpClasses> ParseDscpClasses(absl::string_view text);

// True if both mean the same and are known, or both are unknown.
bool operator==(const SettingValue& a, const SettingValue& b);
inline bool operator!=(const SettingValue& a, const SettingValue& b) {
  return !(a == b);
}

inline bool IsUnknown(const SettingValue& value) {
  return value.of_case() == SettingValue::OF_NOT_SET;
}

SettingValue NoneValue();
SettingValue AddressValue(Ipv4Address address);
SettingValue InterfaceValue(const Ipv4Interface& interface);
SettingValue SwitchValue(bool on);
SettingValue YesValue(bool yes);
SettingValue NumberValue(uint64_t number);
SettingValue MapValue(const DscpClasses& classes);
// None for no port.
SettingValue PortsValue(const PortSet& ports);
// None for no text.
SettingValue TextsValue(std::vector<std::string> texts);

// The value, if it is one of that type; it may have come from another machine.
std::optional<Ipv4Address> AddressOf(const SettingValue& value);
std::optional<Ipv4Interface> InterfaceOf(const SettingValue& value);
std::optional<DscpClasses> ClassesOf(const SettingValue& value);
// The ports; none for a value of another type.
PortSet PortsOf(const SettingValue& value);

// The one text of a value, as above. Not safe for a terminal.
std::string SettingText(const SettingValue& value);

// The value; if its text is longer, the text cut between characters, with
// "...".
SettingValue Shortened(const SettingValue& value, size_t max_bytes);

bool operator<(const FactKey& a, const FactKey& b);
inline bool operator==(const FactKey& a, const FactKey& b) {
  return !(a < b) && !(b < a);
}
inline bool operator!=(const FactKey& a, const FactKey& b) { return !(a == b); }

FactKey DeviceFact(uint32_t device, SettingId setting);
// A line of hccn.conf, `key` without its device; all routes of the device.
FactKey ConfLineFact(uint32_t device, absl::string_view key);
FactKey RoutesFact(uint32_t device);
FactKey FormFact();
// SETTING_RUNNING or SETTING_AT_BOOT.
FactKey KernelFact(absl::string_view parameter, SettingId setting);
FactKey FirewallFact(FirewallProgram program, SettingId setting);
FactKey FirewallFact(FirewallProgram program, FactKey::Other other);
FactKey RuleFact(const FirewallRule& rule);
FactKey NamespaceFact();
FactKey FileFact(absl::string_view path, FactKey::Other other);

// The one text of a key, as above; "" without any. Not safe for a terminal.
std::string FactKeyText(const FactKey& key);

// "detect address" of SETTING_DETECT_ADDRESS; "" for an unknown setting. In the
// texts of rules and findings.
std::string SettingName(SettingId setting);
// SETTING_UNSPECIFIED for another name.
SettingId ParseSettingName(absl::string_view name);

// "ufw", "firewalld".
std::string FirewallName(FirewallProgram program);
// "22-22/tcp from 10.0.0.0/24".
std::string PortRuleText(const AllowedPort& port);

inline constexpr char kHccnConfFile[] = "/etc/hccn.conf";

}  // namespace clusterd

#endif  // CONFIG_VALUES_SETTING_H_
