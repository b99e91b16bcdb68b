// The machine that an apply works on, and where its things are.
#ifndef DAEMON_AGENT_APPLY_MACHINE_H_
#define DAEMON_AGENT_APPLY_MACHINE_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/plan/named_facts.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/firewall_changer.h"
#include "daemon/host/change/hccn_setter.h"
#include "daemon/host/change/host_reader.h"
#include "daemon/host/change/mutation_token.h"
#include "daemon/host/change/namespace_access.h"
#include "daemon/host/change/saved_file.h"
#include "daemon/host/change/sysctl_writer.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_tool.h"
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

// How each setting of config/plan/settings.h is saved, set, read back and put
// back: the acting half of its rows. What the machine says afterwards decides,
// not what a command or a write returned.
// For the steps of one apply, in their order, or for one undo.
class SettingActions {
 public:
  // `machine` must outlive it.
  explicit SettingActions(Machine* machine) : machine_(machine) {}

  // Compares the machine with what the plan saw. True: it is already as the
  // step wants it, and nothing needs to be set. Aborted, with both values: it
  // is neither that nor as planned. FailedPrecondition: cannot be told.
  // Changes nothing.
  absl::StatusOr<bool> IsAlreadySo(const PlanStep& step);

  // What the step changes and no earlier call has saved, as it is now. Changes
  // nothing. FailedPrecondition, with what is not known: a thing that cannot be
  // put back is not touched.
  absl::StatusOr<std::vector<SavedResource>> Save(const PlanStep& step);

  // Sets it. `saved` is what Save gave for this step, and is in the journal: if
  // hccn.conf is in it, that is kept from users. Returns what was repaired
  // on the way, e.g. lines of hccn.conf that the tool lost; no words if
  // nothing. FailedPrecondition, with both values and what the tool said, if
  // the machine is then not as the step wants it.
  absl::StatusOr<FindingValue> Set(const MutationToken& token,
                                   const PlanStep& step,
                                   const std::vector<SavedResource>& saved);

  // Puts everything back, the last saved first, and reads it back. May be cut
  // off anywhere and run again. Returns what is not as it was, with both values
  // and why; empty: all of it is. hccn.conf is put back twice: before the
  // devices, because a half-written file would make the tool fail, and after
  // them, because the tool writes it.
  std::vector<FindingValue> Restore(const MutationToken& token,
                                    const std::vector<SavedResource>& saved);

 private:
  Machine* const machine_;
  // What is saved already.
  std::set<std::string> touched_;
};

// "/etc/sysctl.d/90-clusterd.conf: SHA-256" of each saved file, as it is now;
// of hccn.conf "…: SHA-256 of what it sets". "none" without such a file.
std::vector<PlanFact> DigestFiles(FileSystem* files, Clock* clock,
                                  const std::vector<SavedResource>& saved);

// How the settings of a device are set, behind their rows: through hccn_tool,
// which writes the device and hccn.conf (device_actions.cc). What is said above
// about results and errors holds here too.

// Aborted, with both values.
absl::Status MovedError(const FindingValue& what, absl::string_view planned,
                        absl::string_view now);

// True only if the device and its lines of hccn.conf are so.
absl::StatusOr<bool> IsSoOnDevice(Machine* machine, const PlanStep& step);

// What the step may change on its device, and the routes in hccn.conf that it
// drops: with `is_first`, the settings that others take along; and its own.
// FailedPrecondition if one of them cannot be told, or not be put back.
absl::StatusOr<SavedDevice> SaveDevice(Machine* machine, const PlanStep& step,
                                       bool is_first);

// Sets it, puts back what lines of hccn.conf the tool lost, of which `repaired`
// then tells, and reads device and file.
absl::Status SetOnDevice(const MutationToken& token, Machine* machine,
                         const PlanStep& step,
                         const std::vector<SavedResource>& saved,
                         FindingValue* repaired);

// What the tool said to a setting or route that was set again, or why that
// could not be done.
using Said = std::map<std::string, FindingValue>;

// Sets again what differs. By setting or route, what the tool said to that, or
// why the device cannot be put back; nothing about what had not to be set.
Said RestoreDevice(const MutationToken& token, Machine* machine,
                   const SavedDevice& saved);

// What is not as it was, with both values and what was `said` about that one.
std::vector<FindingValue> DeviceDifferences(Machine* machine,
                                            const SavedDevice& saved,
                                            const Said& said);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_MACHINE_H_
