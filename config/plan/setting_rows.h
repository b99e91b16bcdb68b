// Shared parts of the rows of settings.h and the planners of steps.
#ifndef CONFIG_PLAN_SETTING_ROWS_H_
#define CONFIG_PLAN_SETTING_ROWS_H_

#include <utility>

#include "absl/status/statusor.h"
#include "config/plan/settings.h"
#include "config/values/ipv4.h"
#include "config/values/port_set.h"
#include "config/words/fact_text.h"

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
  // The text of a named fact. A missing hccn.conf counts as one without keys.
  std::string Now(const std::string& name) const;
  // Cached: a firewall may have thousands of rules, each looked up here.
  const AllowedPorts& Ports(FirewallProgram program, bool permanently) const;

 private:
  const HostFacts& facts_;
  const NamedFacts named_;
  mutable std::optional<AllowedPorts> allowed_[2][2];
};

// The reading of a fact with this value; an empty one is kNoneFact.
template <typename Fact>
FactReading ReadingOf(const Fact& fact, std::string value) {
  if (!IsKnown(fact)) return {kUnknownFact, MissingOf(fact)};
  return {value.empty() ? kNoneFact : std::move(value)};
}

// gateway: "10.0.0.300" is not a value that a plan sets, InvalidArgument.
absl::Status NotOneToSet(absl::string_view what, absl::string_view value);

// Compares the fact with the wanted text.
StepVerdict Expect(const SettingFacts& facts, const std::string& name,
                   const std::string& wanted);
// "NAME is NOW, applied was WANTED".
StepVerdict NotSo(absl::string_view name, const std::string& now,
                  absl::string_view wanted);

// A value as hccn.conf spells it, e.g. "1" for TLS "on".
std::string ConfSpelling(const DeviceSetting& setting, absl::string_view value);
// A value for people: "10.0.0.1/255.255.255.0" as "10.0.0.1/24"; kNoneFact,
// "on" and "off" in words.
FindingValue ValueWords(const std::string& value);
// "22-22/tcp from 10.0.0.0/24".
std::string PortRuleText(const AllowedPort& port);
// "22", "60000-60015" with that dash.
std::string RangeText(uint32_t first, uint32_t last,
                      absl::string_view dash = "-");

// The kernel parameters that clusterd sets, one row each: the spec's value, the
// running value, that of the next boot, and when one is enough.
//   net.ipv4.ip_local_reserved_ports   a set of ports: more is as good
//   net.core.somaxconn                 a number: a larger one is as good
//   net.ipv4.tcp_max_syn_backlog       a number
inline constexpr char kReservedPortsKey[] = "net.ipv4.ip_local_reserved_ports";
inline constexpr char kSomaxconnKey[] = "net.core.somaxconn";
inline constexpr char kSynBacklogKey[] = "net.ipv4.tcp_max_syn_backlog";

struct KernelParameter {
  const char* key;
  // The running value of a number; nullptr: the parameter is a set of ports.
  const NumberFact& (KernelFacts::*number)() const;
  const PersistentValueFact& (KernelFacts::*at_boot)() const;
  // The spec's value of a number.
  uint32_t (KernelSpec::*asked)() const;
  // Names what a change does not affect; nullptr: nothing.
  const char* consequence;

  bool is_ports() const { return number == nullptr; }
};

absl::Span<const KernelParameter> KernelParameters();

// As the kernel prints it, without outer blanks; kNoneFact for no ports.
FactReading RunningValue(const KernelParameter& parameter,
                         const KernelFacts& facts);

// InvalidArgument, naming the key: clusterd does not set it.
absl::StatusOr<const KernelParameter*> OurParameter(absl::string_view key);

// The ports that HCCL will have on the host, if the spec has an HCCL range.
// InvalidArgument: the range ends above the last port.
absl::StatusOr<PortSet> HcclRange(const ClusterSpec& spec,
                                  const HostFacts& host);

// Changes `value` (kNoneFact: no ports) as little as possible until it is
// enough for `needed`, in canonical form. InvalidArgument: one of them is not a
// value of the parameter.
absl::StatusOr<std::string> RaisedTo(const KernelParameter& parameter,
                                     absl::string_view value,
                                     absl::string_view needed);

// True if `value` is enough; false for an invalid value.
bool Reaches(const KernelParameter& parameter, absl::string_view value,
             absl::string_view needed);

// The spelling for the kernel and files: decimal numbers without leading zeros
// (the kernel reads 060000 as octal), port lists sorted and merged.
// InvalidArgument, naming key and value, for a value that clusterd does not
// set. It sets numbers from 1 to 2147483647, and ports up to 65535.
absl::StatusOr<std::string> CanonicalSysctlValue(absl::string_view key,
                                                 absl::string_view value);

// Our own file under /etc/sysctl.d:
//   # Written by clusterd. Lines that clusterd does not set are kept.
//   net.core.somaxconn = 65535
// sysctl.d(5) applies files in the order of their names, whatever their folder,
// and the last assignment wins. 90 comes after the files of distributions (10-
// to 60-) and before 99-sysctl.conf, the link to /etc/sysctl.conf. The
// administrator's lines there win, and a plan names a line that is in the way.
inline constexpr char kSysctlFile[] = "/etc/sysctl.d/90-clusterd.conf";

// Sets this assignment in `text` and keeps every other line. Replaces the key's
// first line and removes others, or appends one. Empty text gets a heading.
std::string EditSysctlFile(absl::string_view text, absl::string_view key,
                           absl::string_view value);

// The rows of kHostSettingNames, each beside its functions.
extern const Setting kFormRow;
extern const Setting kRunningRow;
extern const Setting kAtBootRow;
extern const Setting kActiveRow;
extern const Setting kAllowedRow;
Setting RowOf(const DeviceSetting& setting);

}  // namespace clusterd

#endif  // CONFIG_PLAN_SETTING_ROWS_H_
