// The planners of steps: each compares one part of a host's facts with the spec
// and adds the differences to the host's plan. make_plan.h calls them in order.
#ifndef CONFIG_PLAN_STEP_PLANNERS_H_
#define CONFIG_PLAN_STEP_PLANNERS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/plan/settings.h"
#include "config/values/ipv4.h"
#include "config/values/port_set.h"
#include "proto/spec.pb.h"

namespace clusterd {

struct PlanSelection;

// Adds what else the step does, for people.
inline void AddConsequence(const FindingValue& consequence, PlanStep* step) {
  *step->mutable_consequences_said()->add_values() = consequence;
}

// Collects the plan of one host while the planners read its facts: numbers
// steps, and records the facts they rest on and what is blocked.
class HostPlanBuilder {
 public:
  // `facts` must outlive the builder.
  explicit HostPlanBuilder(const HostFacts& facts);

  const HostFacts& facts() const { return facts_; }
  // The first hccn.conf line of a key ("address_3"), as the tool reads it; ""
  // if there is none. REQUIRES: facts().hccn_conf() has a value.
  std::string ConfValue(absl::string_view full_key) const;

  // True if there is such a line, whatever its value.
  bool HasConfLine(const std::string& full_key) const {
    return conf_.count(full_key) > 0;
  }

  // Appends a step that sets the goal's setting on its target, of the setting's
  // kind. All of `rests_on` are known, or the caller should have blocked the
  // step. Valid until the next call. REQUIRES: the setting exists.
  PlanStep* AddStep(const FactKey& goal, const SettingValue& from,
                    const SettingValue& to, std::vector<FactKey> rests_on);

  // Records a request of the spec that cannot be planned, and how to fix it.
  void Block(ChangeKind kind, const std::vector<uint32_t>& devices,
             const FindingValue& what, const FindingValue& reason,
             const FindingValue& fix);
  void Note(const FindingValue& words) {
    *plan_.mutable_notes_said()->add_values() = words;
  }

  // Removes what the selection does not include, and notes how much:
  //   a step of another kind, setting and kernel parameter, unless a step that
  //   stays needs it (make_plan.cc has the table)
  //   a blocked change of a kind that no selected step could have
  // REQUIRES: called at most once, after the planners and before Finish.
  void Narrow(const PlanSelection& selection);

  // Returns the plan. If the host reports what it allows (facts().allows()),
  // steps of other kinds become blocked, each with its text and what to write
  // into which file there. If the repair of /etc/hccn.conf is among them, so is
  // every step in which the tool would write that file. Other hosts keep their
  // steps, and refuse them themselves. REQUIRES: called once,
  // last.
  HostPlan Finish();

 private:
  struct Planned {
    PlanStep step;  // Without a number.
    std::vector<FactKey> rests_on;
  };

  void BlockWhatIsNotAllowed();

  const HostFacts& facts_;
  const NamedFacts named_;
  std::map<std::string, std::string> conf_;  // First line of each key.
  std::vector<Planned> planned_;
  HostPlan plan_;
};

// Plans the repair of an hccn.conf whose form would break the tool's next write
// or the recovery at boot. It is the first step, because the tool writes the
// file in every other device step. Adds nothing if the file is valid or
// unreadable. Blocks a problem whose repair would have to guess, with its line.
void PlanFormStep(HostPlanBuilder* plan, absl::string_view npu_series = "");

// Plans the spec's device settings: address, gateway and detect address of
// each, then the other settings of settings.h, each through hccn_tool.
//
//   live     hccn.conf   step
//   differs  any         set (address, gateway or detect address)
//   equal    differs     set again, so that the tool writes the file
//   equal    equal       none
//   unknown  any         blocked
//
// The plan keeps a live gateway or detect address that the spec does not name.
// If hccn.conf has another or none, it is set again, provided that the tool
// takes it and the file has, or gets, the device's address. Otherwise, or if
// only the file has one, nothing is planned or blocked: hccn_tool has no
// command to remove one.
//
// Setting an address makes the tool drop a gateway, route or ip_route of the
// device that is outside the new subnet (hccn_tool source, hicann/driver
// ef377e95, tool_ops.c). A gateway that fits is set again; the step lists the
// rest. It also says that routes of the device alone, which no fact shows, may
// go with the old address. Devices that take over each other's addresses are
// ordered so that an address is free before it is set. A cycle is blocked,
// since no address in between is known to be free.
//
// Only one of the devices that share a gateway (ProductProfile) is planned: one
// that already has its planned gateway, otherwise the lowest. Its step names
// the gateway that it replaces. The others of the four are served by it if the
// spec names the same gateway, and blocked otherwise. A gateway of a device
// with udhcpc_enable_N is blocked unless it is live, since the tool stores none
// then.
//
// The live TLS switch is the tool's answer, which is queried if a spec states a
// switch (ObserveRequest.ask_tls).
void PlanDeviceSteps(const ClusterSpec& spec, const ServerSpec& server,
                     HostPlanBuilder* plan);

// Plans the kernel parameters: the running value, and with `persistent: true`
// that of the next boot.
//
//   net.ipv4.ip_local_reserved_ports   the HCCL range is added to what is
//                                      reserved already
//   net.core.somaxconn,                raised to the spec's value; a higher one
//   net.ipv4.tcp_max_syn_backlog       stays
//
// At boot the last assignment of sysctl.d wins. If that is not enough, our own
// file gets the key. If a file after ours would still win, the key is blocked
// and the plan names file, line and what to write there. If /proc/sys is
// read-only for clusterd, a value that would have to change is blocked.
//
// For another network namespace it plans only running values: systemd applies
// sysctl.d to the host's own only.
void PlanSysctlSteps(const ClusterSpec& spec, HostPlanBuilder* plan);

// Plans what the firewall policy asks of ufw and firewalld.
//
//   policy      firewall                       step
//   disabled    active or starts at boot       stop and disable it
//   open-ports  active                         open what is missing
//   open-ports  stopped, but starts at boot    blocked: rules can be changed
//                                              and read only while it runs
//   open-ports  stopped, not at boot either    none: nothing is in the way
//   ignore      any                            none
//
// Also blocked: firewalld has the interface with the host's address in another
// zone than the default one, or the zone is unknown. Stopping firewalld removes
// Docker's chains, which the step says.
//
// It opens the HCCL range, the rendezvous port and the ssh port, TCP, only from
// the host addresses of the cluster, running and permanently. firewalld keeps
// the two apart, so what is open in only one of them is missing too.
//
// open-ports never starts or stops a firewall. A firewall in which it opened
// ports must keep running: one that is stopped later is drift (settings.h),
// since the user relied on a running firewall. Once started it is as applied.
// No step starts it, not with `enforce` either: the plan notes it for a person.
void PlanFirewallSteps(const ClusterSpec& spec, HostPlanBuilder* plan);

// The ports that HCCL will have on the host, if the spec has an HCCL range.
// InvalidArgument: the range ends above the last port.
absl::StatusOr<PortSet> HcclRange(const ClusterSpec& spec,
                                  const HostFacts& host);

// Why something cannot be planned; nullopt if no reason is known.
using Obstruction = std::optional<FindingValue>;

// Spec and state of one device. Pointers into spec and facts.
struct DeviceChange {
  const DeviceSpec* spec;
  const DeviceFacts* facts;                  // nullptr: the host sent nothing.
  std::optional<Ipv4Interface> live = {};    // nullopt: none is set.
  std::optional<Ipv4Interface> wanted = {};  // nullopt: the spec names none.

  uint32_t id() const { return spec->id(); }
  bool sets_address() const { return wanted && live != wanted; }
};

// Why no port could have this address, also because of the product.
Obstruction WhyUnassigned(const ClusterSpec& spec, Ipv4Address address);

// One change for each device whose live address is known and whose wanted one
// could be set; the others are blocked. Wrong addresses are ordered so that
// each is free before it is set. Blocks an address that another device keeps,
// maybe because its own change is blocked, and cycles of devices that take over
// addresses.
std::vector<DeviceChange> OrderedChanges(const ClusterSpec& spec,
                                         const ServerSpec& server,
                                         HostPlanBuilder* plan);

// Lists in the step what the tool drops with the device's old subnet.
// `may_set`: a step may set its gateway. REQUIRES: the change names an address.
void AddDropped(const DeviceChange& change, bool may_set,
                const HostPlanBuilder& plan, PlanStep* step);

}  // namespace clusterd

#endif  // CONFIG_PLAN_STEP_PLANNERS_H_
