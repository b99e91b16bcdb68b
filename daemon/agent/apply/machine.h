// The machine that an apply changes, and the paths of its programs.
#ifndef DAEMON_AGENT_APPLY_MACHINE_H_
#define DAEMON_AGENT_APPLY_MACHINE_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/firewall_changer.h"
#include "daemon/host/change/hccn_setter.h"
#include "daemon/host/change/host_reader.h"
#include "daemon/host/change/mutation_token.h"
#include "daemon/host/change/sysctl_writer.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// Access to the machine; all pointers must outlive its users.
struct MachineAccess {
  FileSystem* files = nullptr;
  CommandRunner* runner = nullptr;
  HostReader* reader = nullptr;
  Clock* clock = nullptr;
  // Shared with the observer, which reads the same devices.
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

// Finds programs as the observation does: full paths below the root, also of
// missing ones, never of the machine outside. If others than root could have
// changed a program (program_path.h), its path is empty, which no runner runs.
// Files are paths for a FileSystem of the same root.
MachinePaths FindMachinePaths(const HostPaths& host);

// Everything that changes the machine, made once for each apply.
struct Machine {
  Machine(const MachineAccess& access, const MachinePaths& paths);

  FileSystem* files;
  HostReader* reader;
  InPlaceFile conf;
  HccnSetter tool;
  SysctlWriter sysctl;
  FirewallChanger firewall;
};

// The place of a plan's values: the host itself, or one of its network
// namespaces. Every apply, rollback and recovery looks that up again and holds
// it open. The objects that the given access points to must outlive it.
struct PlanNamespace {
  // The given access, with kernel parameters of the namespace.
  MachineAccess access;
  // Its current facts.
  std::function<HostFacts()> read_host;
};

// Always OK for a plan of the host itself. Otherwise the codes of
// NamespaceAccess::Enter; Unimplemented if there is none.
absl::StatusOr<PlanNamespace> EnterNamespace(const MachineAccess& access,
                                             const HostPlan& plan);
// Finds the same namespace after the plan was applied, even if its name is gone
// or now identifies another. NotFound if it is gone, always after a reboot,
// with the values that the apply set. Unavailable also if its end or identity
// is unknown. A kernel before 5.14 can only identify the host's own, or one
// with all values as applied: a later namespace may have the same number.
absl::StatusOr<PlanNamespace> EnterNamespaceAgain(const MachineAccess& access,
                                                  const HostPlan& plan);

// The acting half of the rows of config/plan/settings.h: saves, sets, reads
// back and restores each setting. The machine's state afterwards decides, not
// the result of a command or write. Serves one apply, with its steps in order,
// or one undo.
class SettingActions {
 public:
  // `machine` must outlive it.
  explicit SettingActions(Machine* machine) : machine_(machine) {}

  // Compares the machine with what the plan saw. True if the machine is already
  // as the step wants it. Aborted, with both values, if it is neither that nor
  // as planned; FailedPrecondition if it is unknown. Changes nothing.
  absl::StatusOr<bool> IsAlreadySo(const PlanStep& step);

  // Reads the values that the step changes and no earlier call has saved.
  // Changes nothing. FailedPrecondition, naming an unknown value, without which
  // the step could not be undone.
  absl::StatusOr<std::vector<SavedResource>> Save(const PlanStep& step);

  // Sets the step's value. `saved` is Save's result for this step, and is in
  // the journal: if it has hccn.conf, users cannot access that file. Returns
  // what was repaired meanwhile, e.g. lines of hccn.conf that the tool lost; no
  // words if nothing. FailedPrecondition, with both values and the tool's
  // output, if the machine is then not as the step wants it.
  absl::StatusOr<FindingValue> Set(const MutationToken& token,
                                   const PlanStep& step,
                                   const std::vector<SavedResource>& saved);

  // Restores everything, the last saved first, and reads it back. May be
  // interrupted anywhere and run again. Returns what differs, with both values
  // and the reason; empty if nothing does. Restores hccn.conf twice: before the
  // devices, because an incomplete file would make the tool fail, and after
  // them, because the tool writes it.
  std::vector<FindingValue> Restore(const MutationToken& token,
                                    const std::vector<SavedResource>& saved);

 private:
  Machine* const machine_;
  // Names of the saved resources.
  std::set<std::string> touched_;
};

// "/etc/sysctl.d/90-clusterd.conf: SHA-256" of each saved file now; of
// hccn.conf "…: SHA-256 of what it sets". "none" if the file is missing.
std::vector<PlanFact> DigestFiles(FileSystem* files, Clock* clock,
                                  const std::vector<SavedResource>& saved);

// The device settings of these rows, through hccn_tool, which writes the device
// and hccn.conf (device_actions.cc). Results and errors are as above.

// Aborted, with both values.
absl::Status MovedError(const FindingValue& what, const SettingValue& planned,
                        const SettingValue& now);

// True only if the device and its lines of hccn.conf match the step.
absl::StatusOr<bool> IsSoOnDevice(Machine* machine, const PlanStep& step);

// Saves the step's setting and the routes in hccn.conf that it drops; with
// `is_first` also the settings that others may change. FailedPrecondition if
// one of them is unknown, or cannot be restored.
absl::StatusOr<SavedDevice> SaveDevice(Machine* machine, const PlanStep& step,
                                       bool is_first);

// Sets the value, restores the lines of hccn.conf that the tool lost, lists
// those in `repaired`, and reads device and file.
absl::Status SetOnDevice(const MutationToken& token, Machine* machine,
                         const PlanStep& step,
                         const std::vector<SavedResource>& saved,
                         FindingValue* repaired);

// By what was restored, a setting or the line of a route: the tool's output, or
// the error.
using Said = std::map<std::string, FindingValue>;

// Restores what differs. Returns the tool's output by setting or route, or why
// the device cannot be restored; no entry for unchanged ones.
Said RestoreDevice(const MutationToken& token, Machine* machine,
                   const SavedDevice& saved);

// Lists the differences, with both values and the matching part of `said`.
std::vector<FindingValue> DeviceDifferences(Machine* machine,
                                            const SavedDevice& saved,
                                            const Said& said);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_MACHINE_H_
