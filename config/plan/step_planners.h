// The planners of steps: each goes over one part of a host's facts and adds
// what the spec wants otherwise to the host's plan. make_plan.h calls them in
// order.
#ifndef CONFIG_PLAN_STEP_PLANNERS_H_
#define CONFIG_PLAN_STEP_PLANNERS_H_

#include "config/plan/settings.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"

namespace clusterd {

struct PlanSelection;

// Collects the plan of one host while the step families go over its facts:
// numbers steps, remembers which facts they rest on, and what is blocked.
class HostPlanBuilder {
 public:
  // `facts` must outlive the builder.
  explicit HostPlanBuilder(const HostFacts& facts);

  const HostFacts& facts() const { return facts_; }
  // The first hccn.conf line of a key ("address_3"), as the tool reads it; "":
  // there is none. REQUIRES: facts().hccn_conf() has a value.
  std::string ConfValue(absl::string_view full_key) const;

  // Whether there is such a line, whatever its value.
  bool HasConfLine(const std::string& full_key) const {
    return conf_.count(full_key) > 0;
  }

  // A new step after all others, of the setting's kind; the caller sets its
  // target. `rests_on` are names of named_facts.h; all are known, or the step
  // should have been blocked. Valid until the next call. REQUIRES: there is
  // such a setting.
  PlanStep* AddStep(absl::string_view setting, std::string from, std::string to,
                    std::vector<std::string> rests_on);

  // Something the spec asks for that cannot be planned, and what to do.
  void Block(ChangeKind kind, const std::vector<uint32_t>& devices,
             const FindingValue& what, const FindingValue& reason,
             const FindingValue& fix);
  void Note(const FindingValue& words) {
    *plan_.mutable_notes_said()->add_values() = words;
  }

  // Leaves out what the selection does not ask for, and notes how much:
  //   a step of another kind, setting and kernel parameter; not where a step
  //   that stays needs it (make_plan.cc has the table)
  //   a blocked change of a kind that no asked-for step could have
  // REQUIRES: called at most once, after the planners and before Finish.
  void Narrow(const PlanSelection& selection);

  // The plan. Of a host that tells what it allows (facts().allows()), steps of
  // other kinds are blocked instead, each with its text and what to write into
  // which file there; and if one of them was the repair of /etc/hccn.conf, so
  // is every step in which the tool would write that file. A host that does not
  // tell keeps its steps, and refuses by itself.
  // REQUIRES: called once, last.
  HostPlan Finish();

 private:
  struct Planned {
    PlanStep step;  // Without a number.
    std::vector<std::string> rests_on;
  };

  void BlockWhatIsNotAllowed();

  const HostFacts& facts_;
  const NamedFacts named_;
  std::map<std::string, std::string> conf_;  // First line of each key.
  std::vector<Planned> planned_;
  HostPlan plan_;
};

// Plans the repair of an hccn.conf whose form would ruin the tool's next write
// or the recovery at boot. First of all steps: the tool writes the file in
// every other device step. Nothing if the file is in order, or could not be
// read. A problem that cannot be repaired without guessing is blocked, with its
// line.
void PlanFormStep(HostPlanBuilder* plan, absl::string_view npu_series = "");

// Plans what the spec says about devices: address, gateway and detect address
// of each, then the other settings of settings.h, each through hccn_tool.
//
//   live     hccn.conf   step
//   differs  any         set (address, gateway or detect address)
//   equal    differs     set again, so that the tool writes the file
//   equal    equal       none
//   unknown  any         blocked
//
// A live gateway or detect address that the spec does not name is kept: where
// hccn.conf has another or none it is set again as well, if the tool takes it
// and the file has, or gets, the device's address. Nothing is planned and
// nothing blocked where that cannot be told, or where the file alone has one:
// hccn_tool has no command that takes one away.
//
// Setting an address makes the tool drop a gateway, route or ip_route of the
// device that is outside the new subnet (hccn_tool source, hicann/driver
// ef377e95, tool_ops.c). A gateway that fits is put back; the rest is listed
// with the step, which also says that routes of the device alone, which no fact
// tells, may go with the old address. Devices that take over each other's
// addresses are ordered so that an address is free before it is set; a cycle is
// blocked, since no address in between is known to be free.
//
// Of devices that keep one gateway together (ProductProfile) one is planned:
// one that has its planned one already, else the lowest. Its step names the
// gateway that goes for it. Others of the four are served by it where the spec
// names the same, and blocked where it names another. A gateway of a device
// with udhcpc_enable_N is blocked, unless it is live: the tool stores none
// then.
//
// The live TLS switch is what the tool said, as it is asked where a spec states
// one (ObserveRequest.ask_tls).
void PlanDeviceSteps(const ClusterSpec& spec, const ServerSpec& server,
                     HostPlanBuilder* plan);

// Plans the kernel parameters: the running value, and with `persistent: true`
// what the next boot sets.
//
//   net.ipv4.ip_local_reserved_ports   the HCCL range is added to what is
//                                      reserved already
//   net.core.somaxconn,                raised to the spec's value; a higher one
//   net.ipv4.tcp_max_syn_backlog       stays
//
// At boot the last assignment of sysctl.d wins. Where that is not good enough
// our own file gets the key; where a file after ours would still win, the key
// is blocked and the plan names file, line and what to write there. Where
// /proc/sys is read-only for clusterd, a value that would have to change is
// blocked.
//
// Of facts of a network namespace the running values alone: systemd applies
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
// Blocked, too, where firewalld has the interface with the host's address in
// another zone than the default one, or that cannot be told. Stopping firewalld
// takes Docker's chains along, which the step says.
//
// Opened: the HCCL range, the rendezvous port and the ssh port, TCP, only from
// the host addresses of the cluster, running and permanently. With firewalld,
// which keeps the two apart, what is open in one of them alone is missing too.
//
// open-ports never starts a firewall and never stops one. Where it opened ports
// it keeps the firewall running: one that is found stopped later is drift
// (settings.h), since whoever applied that relied on a firewall that runs.
// Started again it is as applied. No step starts it, not with `enforce` either:
// the plan notes it for a person.
void PlanFirewallSteps(const ClusterSpec& spec, HostPlanBuilder* plan);

// What a spec wants of the devices of a host beside what they have, with every
// address parsed and in an order in which the addresses can be set.
// device_steps.cc makes steps of it.

// Why something cannot be planned; nullopt: nothing is known against it.
using Obstruction = std::optional<FindingValue>;

// What is wanted of one device, and what it has. Pointers into spec and facts.
struct DeviceChange {
  const DeviceSpec* spec;
  const DeviceFacts* facts;                  // nullptr: the host sent nothing.
  std::optional<Ipv4Interface> live = {};    // nullopt: none is set.
  std::optional<Ipv4Interface> wanted = {};  // nullopt: the spec names none.

  bool sets_address() const { return wanted && live != wanted; }
};

// Why no port could have this address, by the product too.
Obstruction WhyUnassigned(const ClusterSpec& spec, Ipv4Address address);

// Why hccn_tool cannot be used for changes on this host.
Obstruction WhyNoSetCommands(const HostFacts& facts);

// Why no command puts right what hccn.conf has of a map.
Obstruction WhyNoMap(const DeviceSetting& setting, uint32_t device,
                     const HostPlanBuilder& plan);

// A line that hccn_tool deletes with what the device of it has.
struct TakenGateway {
  const HccnConf::Entry* entry = nullptr;  // nullptr: none.
  std::string value = {};                  // As a repair of the file leaves it.
};

// What setting the device's gateway takes from another one: of those that have
// one together, the stored line of the lowest id (recorded runs x-A1-gateway).
// REQUIRES: facts.hccn_conf() has a value.
TakenGateway TakenBy(const ProductProfile& profile, const HostFacts& facts,
                     uint32_t device);

// One for each device whose live address is known and whose wanted one could
// be set; the others are blocked. Those whose address is wrong come in an order
// in which an address is free before it is set. Blocks an address that another
// device has and keeps, maybe because its own change is blocked, and devices
// that take over each other's addresses in a circle.
std::vector<DeviceChange> OrderedChanges(const ClusterSpec& spec,
                                         const ServerSpec& server,
                                         HostPlanBuilder* plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_STEP_PLANNERS_H_
