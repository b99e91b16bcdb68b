// The machine that an apply works on, and where its things are.
#ifndef DAEMON_AGENT_APPLY_MACHINE_H_
#define DAEMON_AGENT_APPLY_MACHINE_H_

#include <string>

#include "absl/time/time.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/firewall_changer.h"
#include "daemon/host/change/hccn_setter.h"
#include "daemon/host/change/host_reader.h"
#include "daemon/host/change/in_place_file.h"
#include "daemon/host/change/namespace_door.h"
#include "daemon/host/change/sysctl_writer.h"
#include "daemon/host/clock.h"
#include "daemon/host/command_runner.h"
#include "daemon/host/device_turns.h"

namespace clusterd {

// Doors to the outside; all must outlive what uses them.
struct MachineDoors {
  FileSystem* files = nullptr;
  CommandRunner* runner = nullptr;
  HostReader* reader = nullptr;
  Clock* clock = nullptr;
  // Shared with the observer, which asks the same devices.
  DeviceTurns* turns = nullptr;
  // Into other network namespaces; null: plans for one are refused.
  NamespaceDoor* namespaces = nullptr;
  // Where /proc/sys is read and written; null: `files`.
  FileSystem* sysctl_files = nullptr;
};

struct MachinePaths {
  std::string hccn_tool = "/usr/local/Ascend/driver/tools/hccn_tool";
  std::string hccn_conf = "/etc/hccn.conf";
  std::string proc_sys = "/proc/sys";
  FirewallPrograms firewalls;
  absl::Duration command_deadline = absl::Seconds(10);
  absl::Duration lock_wait = absl::Seconds(10);  // For flock on hccn.conf.
};

// Everything that changes the machine, made once for an apply.
struct Machine {
  Machine(const MachineDoors& doors, const MachinePaths& paths)
      : files(doors.files),
        reader(doors.reader),
        conf(doors.files, doors.clock, paths.hccn_conf, paths.lock_wait),
        tool(doors.runner, doors.clock, doors.turns, paths.hccn_tool,
             paths.command_deadline),
        sysctl(doors.sysctl_files == nullptr ? doors.files : doors.sysctl_files,
               paths.proc_sys),
        firewall(doors.runner, doors.files, doors.reader, paths.firewalls) {}

  FileSystem* files;
  HostReader* reader;
  InPlaceFile conf;
  HccnSetter tool;
  SysctlWriter sysctl;
  FirewallChanger firewall;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_MACHINE_H_
