// What can be set on a host, one row for each setting, and when it is right.
// Pure: daemon/agent/apply has the other half of each row, how it is done.
//
//   setting         of                  kind            facts that tell
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
//   lets in         a firewall's rule   firewall        ufw: lets in
//
// A setting of a device is both what the device has and what the next boot
// gives it: hccn_tool sets both, and both must read so. The words of a value
// are those of its first fact, "10.0.0.1/255.255.255.0", "on", "1500"; "none":
// none is set.
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
inline constexpr char kLetsInSetting[] = "lets in";

// Settings of devices, and those of a host. Each half of the table has its rows
// in this order.
inline constexpr const char* kDeviceSettingNames[] = {
    kAddressSetting, kGatewaySetting, kDetectSetting,   kMtuSetting,
    kTlsSetting,     kPfcSetting,     kRocePortSetting, kDscpSetting};
inline constexpr const char* kHostSettingNames[] = {
    kFormSetting, kRunningSetting, kAtBootSetting, kActiveSetting,
    kLetsInSetting};

// For a static_assert beside a table: whether its rows, by their constexpr
// `name`, are these settings in their order.
template <typename Row, size_t kRows, size_t kNames>
constexpr bool HasRowForEach(const char* const (&names)[kNames],
                             const Row (&rows)[kRows]) {
  if (kRows != kNames) return false;
  for (size_t i = 0; i < kRows; ++i) {
    if (absl::string_view(rows[i].name) != names[i]) return false;
  }
  return true;
}

// What a fact says.
struct FactReading {
  std::string value;  // kUnknownFact: nobody knows, and `missing` says why.
  const Missing* missing = nullptr;
};

// What a setting of a device has beside a Setting.
struct DeviceSetting {
  const char* name;
  const char* words;  // For people, e.g. "TLS" for "tls".
  ChangeKind kind;    // What a host must allow.
  // What the device has.
  FactReading (*live)(const DeviceFacts& facts);
  // Keys of hccn.conf that bring it back at boot, without the device and
  // separated by "/", as are the parts of a value, one for each key.
  const char* conf_keys;
  // What hccn_tool is told: `-ip -s address A netmask M`. The words stand
  // before the parts of a value, and are separated as the keys are.
  const char* tool_option;
  const char* tool_words;
  // How hccn.conf spells a part of a value; nullptr: as it is.
  std::string (*conf_spelling)(absl::string_view part);
  // What the spec asks for; nullopt: nothing.
  std::optional<std::string> (*wanted)(const ClusterSpec& spec,
                                       const DeviceSpec& device);
  // Whether it is a value that a plan may set.
  bool (*is_legal)(absl::string_view value);
  // Setting it breaks what uses the device.
  bool needs_idle_device;
  // The tool may change it with another setting of the device: it must be
  // known, and is saved, before any of them is set.
  bool always_saved;
  // A value that the tool is told without a word before it; nullptr: none.
  const char* word_alone = nullptr;
  // Keys of hccn.conf that the tool drops with it, separated as conf_keys are.
  const char* dropped_keys = "";
  // The value is DscpClasses: the tool is told each pair that differs by a
  // command of its own, and hccn.conf may also have pairs of class 0.
  bool is_map = false;
};

absl::Span<const DeviceSetting> DeviceSettings();

class SettingFacts;

// Whether what a step set is so.
struct StepVerdict {
  enum State {
    kSo,
    kMoved,
    kUntold,  // A fact that would tell is not known.
  };
  State state = kSo;
  // `device 3: address`, `10.0.0.1/…`, applied was `10.20.0.17/…`. Empty: the
  // change is not known, or the fact lacks it.
  std::string fact;
  std::string now;
  std::string wanted;

  FindingValue Why() const;

  // What has moved says more than what is not known; else the first counts.
  void Take(const StepVerdict& other) {
    if (state == kSo || (state == kUntold && other.state == kMoved)) {
      *this = other;
    }
  }
};

// What can be done with any setting, whatever it is of.
struct Setting {
  const char* name;  // In plans, journals, JSON.
  ChangeKind kind;
  SettingTarget::OfCase target;

  // One line for people, e.g. "net.core.somaxconn: 4096 -> 65535".
  FindingValue (*text)(const PlanStep& step);
  // What must hold right before it, and how it is taken back.
  FindingValue (*condition)(const PlanStep& step);
  FindingValue (*undo)(const PlanStep& step);
  // InvalidArgument, quoting the value: config/plan would not have planned it.
  absl::Status (*check)(const PlanStep& step);
  // kSo: as the step set it, or better.
  StepVerdict (*judge)(const PlanStep& step, const SettingFacts& facts);
  // Whether the step, made from what is now, gives back all of `applied`;
  // nullptr: only the same value does.
  bool (*restores)(const PlanStep& step, const std::string& applied) = nullptr;
  // What else the step decides about, as GoalName has it; where a name ends in
  // "*", all that begin so. nullptr: nothing.
  std::vector<std::string> (*also)(const PlanStep& step) = nullptr;
  const DeviceSetting* device = nullptr;  // nullptr: no setting of a device.
};

// The row; nullptr: this version knows no such setting.
const Setting* FindSetting(absl::string_view name);

// The row of a step; nullptr: its setting is not known, or is none of what its
// target is.
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

// Whether what the step set is so. It is with more reserved ports, with larger
// numbers, and with a firewall that is no longer installed. It has moved with a
// firewall that should let ports in and is stopped, or lets them in only until
// it restarts, and with keys of an /etc/hccn.conf that is gone. A setting that
// this version does not know is untold.
StepVerdict JudgeStep(const PlanStep& step, const SettingFacts& facts);

// Whether nothing is left to do: the plan has no step, or every step is so and
// each of `moved`, the facts that moved since, is known and one that a step
// sets.
bool IsAlreadySo(const HostPlan& plan, const std::vector<MovedFact>& moved,
                 const SettingFacts& facts);

// "device 3: gateway 10.0.0.254 cannot be planned: …; correct the …"
std::string BlockedText(const BlockedChange& blocked);

// What a step sets, as a name; two steps with the same name set the same thing,
// and the later one decides:
//   device 3: gateway
//   net.core.somaxconn, net.core.somaxconn at boot
//   ufw: active
//   ufw: lets in 22-22/tcp from 10.0.0.0/24
//   hccn.conf: form
std::string GoalName(const PlanStep& step);

// Whether it changes a device or its lines of hccn.conf by hccn_tool.
inline bool IsOfDevice(const PlanStep& step) {
  return step.target().has_device();
}
// Whether the device has it already and only hccn.conf is rewritten.
inline bool IsRewrite(const PlanStep& step) {
  return IsOfDevice(step) && step.kind() == CHANGE_HCCN_CONF;
}

// A key of hccn.conf with its device, and what the file has for it, as
// StoredPart gives it.
struct ConfLine {
  std::string key;  // e.g. "netmask_3"
  std::string value;
};

// The lines that hccn.conf has when the value is stored.
std::vector<ConfLine> ConfLinesOf(const DeviceSetting& setting, uint32_t device,
                                  absl::string_view value);

// What the text of a line stands for, to be compared with a ConfLine; "" for a
// line that is not there. Only of a map not always the text itself.
std::string StoredPart(const DeviceSetting& setting, absl::string_view text);

}  // namespace clusterd

#endif  // CONFIG_PLAN_SETTINGS_H_
