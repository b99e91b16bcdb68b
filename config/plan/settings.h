// The settings of a host, one row each, and when each is right. Pure:
// daemon/agent/apply has the acting half of each row.
//
//   setting         of                  kind            facts
//   form            /etc/hccn.conf      hccn-conf       hccn.conf: form
//   address         a device            device-address  device 3: address
//                                                       hccn.conf: address_3
//                                                       hccn.conf: netmask_3
//   gateway         a device            device-address  …
//   detect address  a device            device-address  …
//   mtu             a device            device-address  …
//   tls             a device            tls             …
//   pfc             a device            device-address  …
//   roce port       a device            device-address  …
//   dscp to tc      a device            device-address  …
//   running         a kernel parameter  sysctl          net.core.somaxconn
//   at boot         a kernel parameter  sysctl          … at boot
//   active          a firewall          firewall        ufw: active
//                                                       ufw: starts at boot
//   allowed         a firewall's rule   firewall        ufw: allowed
//
// A device setting covers the device's value and that of the next boot:
// hccn_tool sets both, and both must match.
#ifndef CONFIG_PLAN_SETTINGS_H_
#define CONFIG_PLAN_SETTINGS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "config/plan/named_facts.h"
#include "config/plan/setting_rows.h"
#include "config/words/words.h"
#include "proto/plan.pb.h"

namespace clusterd {

// Settings of devices, and of a host, in the order of both halves of the table.
inline constexpr SettingId kDeviceSettingIds[] = {
    SETTING_ADDRESS,   SETTING_GATEWAY,   SETTING_DETECT_ADDRESS,
    SETTING_MTU,       SETTING_TLS,       SETTING_PFC,
    SETTING_ROCE_PORT, SETTING_DSCP_TO_TC};
inline constexpr SettingId kHostSettingIds[] = {SETTING_FORM, SETTING_RUNNING,
                                                SETTING_AT_BOOT, SETTING_ACTIVE,
                                                SETTING_ALLOWED};

// For a static_assert beside a table: true if the rows' constexpr `id`s are
// these settings in this order.
template <typename Row, size_t kRows, size_t kIds>
constexpr bool HasRowForEach(const SettingId (&ids)[kIds],
                             const Row (&rows)[kRows]) {
  if (kRows != kIds) return false;
  for (size_t i = 0; i < kRows; ++i) {
    if (rows[i].id != ids[i]) return false;
  }
  return true;
}

// Returns nullptr if this version does not know the setting.
const Setting* FindSetting(SettingId id);

// The step's row; nullptr: its setting is unknown or does not fit its target.
const Setting* SettingOf(const PlanStep& step);

// What the step sets. If two steps have the same goal, the later one decides.
FactKey GoalOf(const PlanStep& step);

// A step for people:
//   device 3: address 10.0.0.1/24 -> 10.20.0.17/24
//   net.core.somaxconn: 4096 -> 65535
//   /etc/sysctl.d/90-clusterd.conf: net.core.somaxconn = 65535
// Never empty; a setting that this version does not know says so.
FindingValue StepWords(const PlanStep& step);
inline std::string StepText(const PlanStep& step) {
  return ValueText(StepWords(step));
}

// Checks that the step's setting still holds. More reserved ports, larger
// numbers, and a firewall that is no longer installed hold too. Moved are: a
// firewall that should allow ports and is stopped, or allows them only until it
// restarts; keys of a missing /etc/hccn.conf. An unknown one is kUnknown.
StepVerdict JudgeStep(const PlanStep& step, const SettingFacts& facts);

// True if nothing is left to do: the plan has no step, or every step holds and
// each of `moved`, the facts that moved since, is known and set by a step.
bool IsAlreadySo(const HostPlan& plan, const std::vector<MovedFact>& moved,
                 const SettingFacts& facts);

// "device 3: gateway 10.0.0.254 cannot be planned: …; correct the …"
std::string BlockedText(const BlockedChange& blocked);

// True if it changes a device or its lines of hccn.conf by hccn_tool.
inline bool IsOfDevice(const PlanStep& step) {
  return step.target().has_device();
}
// True if the device has the value already and only hccn.conf is rewritten.
inline bool IsRewrite(const PlanStep& step) {
  return IsOfDevice(step) && step.kind() == CHANGE_HCCN_CONF;
}

}  // namespace clusterd

#endif  // CONFIG_PLAN_SETTINGS_H_
