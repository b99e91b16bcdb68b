// The settings of a host, one row each, and when each is right. Pure:
// daemon/agent/apply has the acting half of each row.
//
//   setting         of                  kind            facts
//   form            /etc/hccn.conf      hccn-conf       hccn.conf: form
//   address         a device            device-address  device 3: address
//                                                       hccn.conf: address_3
//                                                       hccn.conf: netmask_3
//   tls             a device            tls             …
//   the others of kDeviceSettingIds     device-address  …
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
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/plan/device_settings.h"
#include "config/plan/named_facts.h"
#include "config/values/ipv4.h"
#include "config/values/port_set.h"
#include "config/words/words.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The TCP ports that a firewall allows, by address. Sources that are not IPv4
// addresses or subnets allow none of our hosts and are left out. Immutable.
class AllowedPorts {
 public:
  explicit AllowedPorts(const AllowedFact::Allowed& allowed);

  // Ports that this address may reach.
  PortSet For(Ipv4Address address) const {
    return OfAll(Ipv4Subnet(address, 32));
  }

  // True if every address of the source may reach every port. Only rules for
  // the whole source count.
  bool Contains(const AllowedPort& port) const;

 private:
  // Ports that every address of the source may reach.
  PortSet OfAll(const Ipv4Subnet& source) const;

  std::map<Ipv4Subnet, PortSet> ports_;  // By their source.
};

// The ports that the firewall allows; ufw always stores its running rules.
inline const AllowedFact& Allows(FirewallProgram program,
                                 const FirewallFacts& facts, bool permanently) {
  return permanently && program != UFW ? facts.allowed_permanently()
                                       : facts.allowed();
}

// A host's facts, prepared once for all steps. Not safe for concurrent use.
class SettingFacts {
 public:
  // `facts` must outlive it.
  explicit SettingFacts(const HostFacts& facts)
      : facts_(facts), named_(NameFacts(facts)) {}

  const HostFacts& host() const { return facts_; }
  const FirewallFacts& Firewall(FirewallProgram program) const {
    return program == UFW ? facts_.ufw() : facts_.firewalld();
  }
  // The fact's value. A missing hccn.conf counts as one without keys.
  SettingValue Now(const FactKey& key) const;
  // Cached: a firewall may have thousands of rules, each looked up here.
  const AllowedPorts& Ports(FirewallProgram program, bool permanently) const;

 private:
  const HostFacts& facts_;
  const NamedFacts named_;
  mutable std::optional<AllowedPorts> allowed_[2][2];
};

// The result of checking what a step set against the facts.
struct StepVerdict {
  enum State {
    kSo,
    kMoved,
    kUnknown,  // A fact for it is unknown.
  };
  State state = kSo;
  // As in AppliedDrift.
  FactKey fact;
  SettingValue now;
  SettingValue wanted;

  FindingValue Why() const;

  // A moved fact outranks an unknown one; otherwise the first verdict stays.
  void Take(const StepVerdict& other) {
    if (state == kSo || (state == kUnknown && other.state == kMoved)) {
      *this = other;
    }
  }
};

// The operations that every setting has, whatever its target.
struct Setting {
  SettingId id;
  ChangeKind kind;
  SettingTarget::OfCase target;

  // One line for people, e.g. "net.core.somaxconn: 4096 -> 65535".
  FindingValue (*text)(const PlanStep& step);
  // The condition that must hold just before the step, and the undo.
  FindingValue (*condition)(const PlanStep& step);
  FindingValue (*undo)(const PlanStep& step);
  // InvalidArgument, quoting a value that config/plan would not have planned.
  absl::Status (*check)(const PlanStep& step);
  // kSo: as the step set it, or better.
  StepVerdict (*judge)(const PlanStep& step, const SettingFacts& facts);
  // True if the step, made from the current value, restores all of `applied`;
  // nullptr: only the same value does.
  bool (*restores)(const PlanStep& step, const SettingValue& applied) = nullptr;
  // Other goals that the step decides about; `allowed` of a firewall stands for
  // all of its rules. nullptr: none.
  std::vector<FactKey> (*also)(const PlanStep& step) = nullptr;
  const DeviceSetting* device = nullptr;  // nullptr: no setting of a device.
};

// gateway: "10.0.0.300" is not a value that a plan sets, InvalidArgument.
absl::Status NotOneToSet(absl::string_view what, absl::string_view value);
inline absl::Status NotOneToSet(absl::string_view what,
                                const SettingValue& value) {
  return NotOneToSet(what, SettingText(value));
}

// Compares the fact with the wanted value.
StepVerdict Expect(const SettingFacts& facts, const FactKey& key,
                   const SettingValue& wanted);
// The fact has another value.
StepVerdict NotSo(const FactKey& key, const SettingValue& now,
                  const SettingValue& wanted);

// A value for people, of which none, on and off are words.
FindingValue ValueWords(const SettingValue& value);
// "22", "60000-60015" with that dash.
std::string RangeText(uint32_t first, uint32_t last,
                      absl::string_view dash = "-");

// The rows of settings that are not of a device, each beside its planner.
extern const Setting kFormRow;
extern const Setting kRunningRow;
extern const Setting kAtBootRow;
extern const Setting kActiveRow;
extern const Setting kAllowedRow;

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

// The fact that the step sets. If two steps have the same goal, the later one
// decides.
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
