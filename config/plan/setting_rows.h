// What every setting of settings.h can do, and shared parts of the rows, each
// of which stands beside the planner of its steps.
#ifndef CONFIG_PLAN_SETTING_ROWS_H_
#define CONFIG_PLAN_SETTING_ROWS_H_

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

// The rows of settings that are not of a device, each beside its functions.
extern const Setting kFormRow;
extern const Setting kRunningRow;
extern const Setting kAtBootRow;
extern const Setting kActiveRow;
extern const Setting kAllowedRow;
Setting RowOf(const DeviceSetting& setting);

}  // namespace clusterd

#endif  // CONFIG_PLAN_SETTING_ROWS_H_
