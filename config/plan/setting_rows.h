// What the rows of settings.h and the planners of steps share.
#ifndef CONFIG_PLAN_SETTING_ROWS_H_
#define CONFIG_PLAN_SETTING_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/plan/allowed_ports.h"
#include "config/plan/named_facts.h"
#include "config/plan/settings.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// A host's facts, made ready once for all steps. Not safe for concurrent use.
class SettingFacts {
 public:
  // `facts` must outlive it.
  explicit SettingFacts(const HostFacts& facts)
      : facts_(facts), named_(NameFacts(facts)) {}

  const HostFacts& host() const { return facts_; }
  const FirewallFacts& Firewall(FirewallProgram program) const {
    return program == UFW ? facts_.ufw() : facts_.firewalld();
  }
  // The text of a named fact. Of an hccn.conf that is not there every key is
  // known not to be there.
  std::string Now(const std::string& name) const;
  // A firewall may have thousands of rules, and be asked for each of them.
  const AllowedPorts& LetsIn(FirewallProgram program, bool permanently) const;

 private:
  const HostFacts& facts_;
  const NamedFacts named_;
  mutable std::optional<AllowedPorts> lets_in_[2][2];
};

// "gateway "10.0.0.300" is not one to set", InvalidArgument.
absl::Status NotOneToSet(absl::string_view what, absl::string_view value);

// Appends to `found` unless the fact reads so.
void Expect(const SettingFacts& facts, const std::string& name,
            const std::string& wanted, std::vector<Mismatch>* found);
// "NAME is NOW, applied was WANTED".
Mismatch MakeMismatch(absl::string_view name, const std::string& now,
                      absl::string_view wanted);

// A value as hccn.conf spells it, e.g. "1" for TLS "on".
std::string ConfSpelling(const DeviceSetting& setting, absl::string_view value);
// The value of a device's setting for people: "10.0.0.1/255.255.255.0" as
// "10.0.0.1/24".
std::string ShownValue(const std::string& value);
// "22-22/tcp from 10.0.0.0/24".
std::string RuleText(const AllowedPort& port);
// "22", "60000-60015".
std::string RangeText(uint32_t first, uint32_t last);

// The kernel parameters that clusterd sets, one row each: what the spec asks of
// it, what runs, what the next boot sets, and when that is enough.
//   net.ipv4.ip_local_reserved_ports   a set of ports: more is as good
//   net.core.somaxconn                 a number: a larger one is as good
//   net.ipv4.tcp_max_syn_backlog       a number
inline constexpr uint32_t kLargestKernelNumber = 2147483647;

struct KernelParameter {
  const char* key;
  bool is_ports;  // A set of ports; else a number.
  // As the kernel prints it, without blanks around it.
  Reading (*running)(const KernelFacts& facts);
  const PersistentValueFact& (*at_boot)(const KernelFacts& facts);
  // "": nothing. InvalidArgument: more than the kernel takes.
  absl::StatusOr<std::string> (*wanted)(const ClusterSpec& spec);
  // What a change of it does not reach; nullptr: nothing.
  const char* consequence;
};

absl::Span<const KernelParameter> KernelParameters();

// nullptr: not one of ours.
const KernelParameter* FindKernelParameter(absl::string_view key);

// `value`, in canonical form, changed as little as possible so that it is
// enough for `needed`. InvalidArgument: one of them is no value of it.
absl::StatusOr<std::string> RaisedTo(const KernelParameter& parameter,
                                     absl::string_view value,
                                     absl::string_view needed);

// Whether `value` is enough; false for what is not a value.
bool Reaches(const KernelParameter& parameter, absl::string_view value,
             absl::string_view needed);

// The rows of kHostSettingNames, each beside its functions.
extern const Setting kFormRow;
extern const Setting kRunningRow;
extern const Setting kAtBootRow;
extern const Setting kActiveRow;
extern const Setting kLetsInRow;
Setting RowOf(const DeviceSetting& setting);

}  // namespace clusterd

#endif  // CONFIG_PLAN_SETTING_ROWS_H_
