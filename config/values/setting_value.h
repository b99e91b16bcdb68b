// Values of settings and facts (proto/setting.proto): makes them, compares them
// and has one text for each, which no code reads back:
//   10.20.0.17/24      an address with its netmask
//   on, off; yes, no   a switch; a fact
//   0,0,0,0,1,0,0,0    numbers
//   33:1,46:2          a map
//   none, unknown
// Keys of facts: fact_key.h.
#ifndef CONFIG_VALUES_SETTING_VALUE_H_
#define CONFIG_VALUES_SETTING_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/values/dscp_classes.h"
#include "config/values/ipv4.h"
#include "config/values/port_set.h"
#include "proto/setting.pb.h"

namespace clusterd {

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

}  // namespace clusterd

#endif  // CONFIG_VALUES_SETTING_VALUE_H_
