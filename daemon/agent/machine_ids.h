// Which machine this is, and which of its starts: what the hello tells the
// controller, so that two machines under one name are noticed.
#ifndef DAEMON_AGENT_MACHINE_IDS_H_
#define DAEMON_AGENT_MACHINE_IDS_H_

#include <string>

namespace clusterd {

struct MachineIds {
  // Of /etc/machine-id and /proc/sys/kernel/random/boot_id; empty where there
  // is no such file, as in some containers.
  std::string machine_id;
  std::string boot_id;
};

// `root` is where the machine's files begin.
MachineIds ReadMachineIds(const std::string& root);

}  // namespace clusterd

#endif  // DAEMON_AGENT_MACHINE_IDS_H_
