// The kernel parameters that clusterd sets, one row each: the spec's value, the
// running value, that of the next boot, and when one is enough.
//   net.ipv4.ip_local_reserved_ports   a set of ports: more is as good
//   net.core.somaxconn                 a number: a larger one is as good
//   net.ipv4.tcp_max_syn_backlog       a number
// step_planners.h has the planner of their steps.
#ifndef CONFIG_PLAN_KERNEL_PARAMETERS_H_
#define CONFIG_PLAN_KERNEL_PARAMETERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/plan/device_settings.h"
#include "proto/facts.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

inline constexpr char kReservedPortsKey[] = "net.ipv4.ip_local_reserved_ports";
inline constexpr char kSomaxconnKey[] = "net.core.somaxconn";
inline constexpr char kSynBacklogKey[] = "net.ipv4.tcp_max_syn_backlog";

// The largest number that a plan sets; the kernel rejects larger ones.
inline constexpr uint32_t kLargestSysctl = 2147483647;

struct KernelParameter {
  const char* key;
  // The running value of a number; nullptr: the parameter is a set of ports.
  const NumberFact& (KernelFacts::*number)() const;
  const PersistentValueFact& (KernelFacts::*at_boot)() const;
  // The spec's value of a number.
  uint32_t (KernelSpec::*asked)() const;
  bool (KernelSpec::*is_auto)() const;  // The spec leaves it to clusterd.
  // Names what a change does not affect; nullptr: nothing.
  const char* consequence;

  bool is_ports() const { return number == nullptr; }
};

absl::Span<const KernelParameter> KernelParameters();

// nullptr: clusterd does not set it.
const KernelParameter* FindKernelParameter(absl::string_view key);
// The same; InvalidArgument, naming the key.
absl::StatusOr<const KernelParameter*> OurParameter(absl::string_view key);

// The value of a text from the kernel or a file, blanks around it ignored; none
// for no ports. InvalidArgument: not a value of the parameter. Numbers are
// strict, because the kernel reads 060000 as octal.
absl::StatusOr<SettingValue> ParseSysctl(const KernelParameter& parameter,
                                         absl::string_view text);

// The running value; texts if it is not a value of the parameter.
FactReading RunningValue(const KernelParameter& parameter,
                         const KernelFacts& facts);

// The spelling for the kernel and files; "" for no ports.
std::string SysctlText(const SettingValue& value);

// Changes `value` as little as possible until it is enough for `needed`.
SettingValue RaisedTo(const KernelParameter& parameter,
                      const SettingValue& value, const SettingValue& needed);

// True if `value` is enough; false for a value that is not the parameter's.
bool Reaches(const KernelParameter& parameter, const SettingValue& value,
             const SettingValue& needed);

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

}  // namespace clusterd

#endif  // CONFIG_PLAN_KERNEL_PARAMETERS_H_
