// Keys of facts (proto/setting.proto), with one text each, which no code reads
// back:
//   device 3: address          hccn.conf: netmask_3      hccn.conf: form
//   net.core.somaxconn         net.core.somaxconn at boot
//   ufw: active                ufw: allowed 22-22/tcp from 10.0.0.0/24
//   network namespace          /etc/sysctl.d/90-clusterd.conf: SHA-256
#ifndef CONFIG_VALUES_FACT_KEY_H_
#define CONFIG_VALUES_FACT_KEY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/setting.pb.h"

namespace clusterd {

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

#endif  // CONFIG_VALUES_FACT_KEY_H_
