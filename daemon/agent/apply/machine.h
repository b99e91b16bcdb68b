// The machine that an apply works on, and where its things are.
#ifndef DAEMON_AGENT_APPLY_MACHINE_H_
#define DAEMON_AGENT_APPLY_MACHINE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/firewall_changer.h"
#include "daemon/host/change/hccn_setter.h"
#include "daemon/host/change/host_reader.h"
#include "daemon/host/change/namespace_access.h"
#include "daemon/host/change/saved_file.h"
#include "daemon/host/change/sysctl_writer.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/device_locks.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// What reaches the machine; all must outlive what uses them.
struct MachineAccess {
  FileSystem* files = nullptr;
  CommandRunner* runner = nullptr;
  HostReader* reader = nullptr;
  Clock* clock = nullptr;
  // Shared with the observer, which asks the same devices.
  DeviceLocks* locks = nullptr;
  // Other network namespaces; null: plans for one are refused.
  NamespaceAccess* namespaces = nullptr;
  // Opens files of /proc/sys; empty: as `files` does.
  SysctlWriter::OpenFunction open_sysctl = nullptr;
};

struct MachinePaths {
  std::string hccn_tool = "/usr/local/Ascend/driver/tools/hccn_tool";
  FirewallPrograms firewalls;
  absl::Duration command_deadline = absl::Seconds(10);
};

// Programs are found as the observation finds them: full paths below the root,
// also those that are not there, never those of the machine outside. One that
// others than root could have changed (program_path.h) is left empty, which no
// runner runs. Files are paths for a FileSystem of the same root.
MachinePaths FindMachinePaths(const HostPaths& host);

// Everything that changes the machine, made once for an apply.
struct Machine {
  Machine(const MachineAccess& access, const MachinePaths& paths);

  FileSystem* files;
  HostReader* reader;
  InPlaceFile conf;
  HccnSetter tool;
  SysctlWriter sysctl;
  FirewallChanger firewall;
};

// Where the values of a plan are: on the host itself, or in a network namespace
// of it, which is looked up anew for every apply, rollback and recovery and
// then held open. What the given access leads to must outlive it.
struct PlanNamespace {
  // The given one, with kernel parameters those of the namespace.
  MachineAccess access;
  // Its facts now.
  std::function<HostFacts()> read_host;
};

// Always OK for a plan of the host itself. Else the codes of
// NamespaceAccess::Enter; Unimplemented where there is none.
absl::StatusOr<PlanNamespace> EnterNamespace(const MachineAccess& access,
                                             const HostPlan& plan);
// The same namespace after the plan was applied, though its name may lead
// nowhere or elsewhere by now. NotFound: it is gone, after a reboot always, and
// what the apply set with it. Unavailable also when it is not known whether it
// is gone or which one it is: a kernel before 5.14 does not tell a namespace
// from a later one with its number, unless it is the host's own or all values
// are as applied.
absl::StatusOr<PlanNamespace> EnterNamespaceAgain(const MachineAccess& access,
                                                  const HostPlan& plan);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_MACHINE_H_
