// How each setting of config/plan/settings.h is saved, set, read back and put
// back: the acting half of its rows. What the machine says afterwards decides,
// not what a command or a write returned.
#ifndef DAEMON_AGENT_APPLY_SETTING_ACTIONS_H_
#define DAEMON_AGENT_APPLY_SETTING_ACTIONS_H_

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/plan/named_facts.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/host/change/mutation_token.h"

namespace clusterd {

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

  // Sets it. `saved` is what Save gave for this step. Returns what was repaired
  // on the way, e.g. lines of hccn.conf that the tool lost; "" if nothing.
  // FailedPrecondition, with both values and what the tool said, if the machine
  // is then not as the step wants it.
  absl::StatusOr<std::string> Set(const MutationToken& token,
                                  const PlanStep& step,
                                  const std::vector<SavedResource>& saved);

  // Puts everything back, the last saved first, and reads it back. May be cut
  // off anywhere and run again. Returns what is not as it was, with both values
  // and why; empty: all of it is. hccn.conf is put back twice: before the
  // devices, because a half-written file would make the tool fail, and after
  // them, because the tool writes it.
  std::vector<std::string> Restore(const MutationToken& token,
                                   const std::vector<SavedResource>& saved);

  // What of it is not as it was: all that Restore has to do, as far as can be
  // seen (FirewallChanger::IsAsSaved). Changes nothing.
  std::vector<SavedResource> FindChanged(
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
absl::Status MovedError(absl::string_view what, absl::string_view planned,
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
                         std::string* repaired);

// Sets again what differs. By setting or route, what the tool said to that, or
// why the device cannot be put back; nothing about what had not to be set.
NamedFacts RestoreDevice(const MutationToken& token, Machine* machine,
                         const SavedDevice& saved);

// What is not as it was, with both values and what was `said` about that one.
std::vector<std::string> DeviceDifferences(Machine* machine,
                                           const SavedDevice& saved,
                                           const NamedFacts& said);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_SETTING_ACTIONS_H_
