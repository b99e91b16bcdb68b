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
// hccn_tool sets both, and both must match. The words of a value are those of
// its first fact: "10.0.0.1/255.255.255.0", "on", "1500"; "none": none is set.
#ifndef CONFIG_PLAN_SETTINGS_H_
#define CONFIG_PLAN_SETTINGS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "config/plan/named_facts.h"
#include "config/words/words.h"
#include "proto/spec.pb.h"

namespace clusterd {

inline constexpr char kFormSetting[] = "form";
inline constexpr char kAddressSetting[] = "address";
inline constexpr char kGatewaySetting[] = "gateway";
inline constexpr char kDetectSetting[] = "detect address";
inline constexpr char kMtuSetting[] = "mtu";
inline constexpr char kTlsSetting[] = "tls";
inline constexpr char kPfcSetting[] = "pfc";
inline constexpr char kRocePortSetting[] = "roce port";
inline constexpr char kDscpSetting[] = "dscp to tc";
inline constexpr char kRunningSetting[] = "running";
inline constexpr char kAtBootSetting[] = "at boot";
inline constexpr char kActiveSetting[] = "active";
inline constexpr char kAllowSetting[] = "allowed";

// Settings of devices, and of a host, in the order of both halves of the table.
inline constexpr const char* kDeviceSettingNames[] = {
    kAddressSetting, kGatewaySetting, kDetectSetting,   kMtuSetting,
    kTlsSetting,     kPfcSetting,     kRocePortSetting, kDscpSetting};
inline constexpr const char* kHostSettingNames[] = {
    kFormSetting, kRunningSetting, kAtBootSetting, kActiveSetting,
    kAllowSetting};

// For a static_assert beside a table: true if the rows' constexpr `name`s are
// these settings in this order.
template <typename Row, size_t kRows, size_t kNames>
constexpr bool HasRowForEach(const char* const (&names)[kNames],
                             const Row (&rows)[kRows]) {
  if (kRows != kNames) return false;
  for (size_t i = 0; i < kRows; ++i) {
    if (absl::string_view(rows[i].name) != names[i]) return false;
  }
  return true;
}

// The value of a fact.
struct FactReading {
  std::string value;  // kUnknownFact: unknown, and `missing` says why.
  const Missing* missing = nullptr;
};

// The additional columns of a device setting.
struct DeviceSetting {
  const char* name;
  const char* words;  // For people, e.g. "TLS" for "tls".
  ChangeKind kind;    // The kind that a host must allow.
  // Reads the device's value.
  FactReading (*live)(const DeviceFacts& facts);
  // The keys of hccn.conf that restore it at boot, without the device,
  // separated by "/". A value has one part for each key.
  const char* conf_keys;
  // The arguments of hccn_tool: `-ip -s address A netmask M`. A word precedes
  // each part of a value; words are separated like the keys.
  const char* tool_option;
  const char* tool_words;
  // Spells a part of a value for hccn.conf; nullptr: unchanged.
  std::string (*conf_spelling)(absl::string_view part);
  // The spec's value; nullopt: the spec has none.
  std::optional<std::string> (*wanted)(const ClusterSpec& spec,
                                       const DeviceSpec& device);
  // True if a plan may set this value.
  bool (*is_legal)(absl::string_view value);
  // True if setting it breaks what uses the device.
  bool needs_idle_device;
  // The tool may change it together with another setting of the device, so it
  // must be known, and is saved, before any of them is set.
  bool always_saved;
  // A value that takes no word in front; nullptr: there is none.
  const char* word_alone = nullptr;
  // Keys of hccn.conf that the tool drops with it, separated like conf_keys.
  const char* dropped_keys = "";
  // The value is DscpClasses: each pair that differs needs its own command, and
  // hccn.conf may also have pairs of class 0.
  bool is_map = false;
};

absl::Span<const DeviceSetting> DeviceSettings();

class SettingFacts;

// The result of checking what a step set against the facts.
struct StepVerdict {
  enum State {
    kSo,
    kMoved,
    kUnknown,  // A fact for it is unknown.
  };
  State state = kSo;
  // `device 3: address`, `10.0.0.1/…`, applied was `10.20.0.17/…`. Empty: the
  // change is not known, or the fact lacks it.
  std::string fact;
  std::string now;
  std::string wanted;

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
  const char* name;  // As in plans, journals, JSON.
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
  bool (*restores)(const PlanStep& step, const std::string& applied) = nullptr;
  // Other targets that the step decides about, as GoalName has them; a trailing
  // "*" matches every target with that prefix. nullptr: none.
  std::vector<std::string> (*also)(const PlanStep& step) = nullptr;
  const DeviceSetting* device = nullptr;  // nullptr: no setting of a device.
};

// Returns nullptr if this version does not know the setting.
const Setting* FindSetting(absl::string_view name);

// The step's row; nullptr: its setting is unknown or does not fit its target.
const Setting* SettingOf(const PlanStep& step);

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

// The name of a step's target. If two steps have the same name, the later one
// decides:
//   device 3: gateway
//   net.core.somaxconn, net.core.somaxconn at boot
//   ufw: active
//   ufw: allowed 22-22/tcp from 10.0.0.0/24
//   hccn.conf: form
std::string GoalName(const PlanStep& step);

// True if it changes a device or its lines of hccn.conf by hccn_tool.
inline bool IsOfDevice(const PlanStep& step) {
  return step.target().has_device();
}
// True if the device has the value already and only hccn.conf is rewritten.
inline bool IsRewrite(const PlanStep& step) {
  return IsOfDevice(step) && step.kind() == CHANGE_HCCN_CONF;
}

// A key of hccn.conf with its device, and its value as StoredPart gives it.
struct ConfLine {
  std::string key;  // e.g. "netmask_3"
  std::string value;
};

// The lines that hccn.conf has when the value is stored.
std::vector<ConfLine> ConfLinesOf(const DeviceSetting& setting, uint32_t device,
                                  absl::string_view value);

// The value of a line's text, to compare with a ConfLine; "" for a missing
// line. Only the text of a map may differ from its value.
std::string StoredPart(const DeviceSetting& setting, absl::string_view text);

}  // namespace clusterd

#endif  // CONFIG_PLAN_SETTINGS_H_
