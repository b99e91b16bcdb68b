// Applies one host's plan, rolls it back, and cleans up after a crash. The only
// part of clusterd that changes a machine.
//
//   Apply      refuse or lock -> for each step: save, journal, do, read back ->
//              read the host back -> applied; on any failure undo all, in
//              reverse
//   Rollback   the undo of an apply that ended well, later
//   Confirm    keeps an apply that would otherwise roll back automatically
//   Recover    at start, before anything else: the undo of what a crash cut
//              off, or was not confirmed in time; later, of what a full disk
//              kept from being finished. It waits for no process: users decide
//              who uses a device
//
// Order of refusals, none of which has changed anything:
//   InvalidArgument     the plan or apply id is invalid (make_plan.h), or it is
//                       for another host
//   PermissionDenied    this host does not allow a step (veto.h)
//                       or it would wait for over a day to be confirmed
//   Unavailable         another apply or rollback runs on this host
//   ResourceExhausted   its journal might not fit (journal.h, MakeRoom)
//   FailedPrecondition  a crash's undo is not finished yet, or its end could
//                       not be written: Recover first; or an apply waits to
//                       be confirmed, which only its own rollback may end; or
//                       the boot id is unknown, and it is to be confirmed; or
//                       a device that would change is in use by a process
//                       (named) or its users are unknown, unless forced; or
//                       the apply id was used before
//   Aborted             facts moved since the plan was made (named), or its
//                       network namespace is gone. NOTHING_TO_DO instead, also
//                       with a device in use, where all moved as the plan
//                       wants it (IsAlreadySo in settings.h): no journal
// A plan for another network namespace (machine.h) is also refused if that
// cannot be entered. If it is gone at a rollback or recovery, its values are
// gone too: that is clean, and each step says so.
#ifndef DAEMON_AGENT_APPLY_APPLIER_H_
#define DAEMON_AGENT_APPLY_APPLIER_H_

#include <string>

#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "daemon/agent/apply/journal.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/agent/apply/veto.h"
#include "daemon/host/device_users.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace clusterd {

struct ApplierOptions {
  // The name in this host's certificate.
  std::string host;
  // For journals and the lock; created if absent, but its parent is not.
  std::string state_folder = "/var/lib/clusterd/apply";
  // Called before each change: the driver may have been installed since.
  std::function<MachinePaths()> find_paths = [] { return MachinePaths(); };
  // Limits for finished journals. Without one, an apply cannot be rolled back.
  KeptJournals kept;
};

// Called for each undo in Recover, even if Recover returns the error of another
// one. Neither function may call the applier.
struct UndoWatch {
  // Called just before its first effect.
  std::function<void(const std::string& apply_id)> begins;
  // Called after its last effect. An error says why the undo is not finished.
  std::function<void(const std::string& apply_id,
                     const absl::StatusOr<ApplyResult>& result)>
      ends;
};

struct ApplyRequest {
  HostPlan plan;
  std::string plan_digest;  // Digest of the cluster plan, for the journal.
  // Unique; 1 to 64 of [A-Za-z0-9._-], not starting with a dot.
  std::string apply_id;
  std::string actor;  // The journal's actor.
  bool force = false;
  // If set, Recover rolls back this long after the begin, unless confirmed.
  absl::Duration confirm_within;
  // Called after each step and undo; may be empty. Must not call the applier.
  std::function<void(const StepOutcome&)> progress;
};

struct RollbackRequest {
  std::string apply_id;
  std::string actor;
  // Rolls back even if the machine was changed since, or a device is in use.
  bool force = false;
};

struct KeepRequest {
  std::string apply_id;
  std::string actor;
  // Zero: makes the apply permanent. Otherwise postpones its rollback.
  absl::Duration extend_by;
};

// Only one call at a time changes the machine, in all threads and processes; a
// second one is Unavailable. Calls block for as long as their commands take.
class Applier {
 public:
  // Finds the processes that use devices now; an error if they are unknown.
  using DeviceUsers = std::function<absl::StatusOr<std::vector<DeviceUser>>()>;
  // Called for each change, so that an edited agent.yaml takes effect at once.
  using ReadAllowed = std::function<HostAllows()>;

  // The objects that `access` points to must outlive it.
  Applier(ApplierOptions options, const MachineAccess& access,
          ReadAllowed allows, DeviceUsers device_users)
      : options_(std::move(options)),
        access_(access),
        allows_(std::move(allows)),
        device_users_(std::move(device_users)),
        folder_(access.files, options_.state_folder) {}

  // Refusals are listed above. Otherwise the outcome: APPLIED, NOTHING_TO_DO,
  // UNDONE or UNDONE_WITH_RESIDUES with the failed step in `error`. Any other
  // status: the journal cannot be written before the first effect.
  absl::StatusOr<ApplyResult> Apply(const ApplyRequest& request);

  // OK if Rollback would find a journal; otherwise NotFound. Changes nothing.
  absl::Status CheckJournal(const std::string& apply_id);

  // Restores exactly the values before that apply. NOTHING_TO_DO if it was
  // already undone or rolled back. Refusals as Apply. NotFound: no journal of
  // that id, or an empty one: never begun, or dropped. Aborted, unless forced:
  // the machine changed since, or a named later apply in effect set some of it.
  // Automatic repairs of the controller do not count.
  absl::StatusOr<ApplyResult> Rollback(const RollbackRequest& request);

  // Writes the confirmation to the journal and syncs it. APPLIED, with the time
  // left until the rollback; 0 if the apply is permanent. Confirming twice is
  // OK.
  //   NotFound            as Rollback
  //   FailedPrecondition  it does not wait: rolled back, permanent, or too late
  //   InvalidArgument     over a day in total, or less than a minute more
  //   others              the journal cannot be written: it is rolled back
  absl::StatusOr<ApplyResult> Confirm(const KeepRequest& request);

  // Time left until an unconfirmed apply rolls back; zero: it is due.
  absl::Duration TimeLeftOf(const JournalState& state);
  // The clock of these deadlines. Safe for concurrent use.
  absl::Duration SinceBoot() const { return access_.clock->SinceBoot(); }

  // Finishes what a crash interrupted, and what a full disk left unfinished.
  // Rolls back applies that were not confirmed in time; with `also_waiting`
  // also those that still wait. Later changes to the same settings do not
  // prevent that. Tries each such journal, even if another fails, and returns
  // one result for each, or the first error in this list. Needs neither
  // certificate nor config.
  //   DataLoss            a journal is damaged; nothing is applied on this host
  //                       until a person has moved that file away
  //   Unimplemented       the same, of one that this version may not undo
  //   Unavailable         another process is recovering
  //   PermissionDenied    others than root can write the journals
  // Must be called before the first Apply, and again if one is unfinished.
  absl::StatusOr<std::vector<ApplyResult>> Recover(
      const UndoWatch& watch = UndoWatch(), bool also_waiting = false);

  // The `end` of each journal's state, oldest first, without damaged ones.
  absl::StatusOr<std::vector<JournalState>> ListApplies() {
    return folder_.List();
  }

 private:
  absl::StatusOr<std::unique_ptr<OpenFile>> TakeLock();
  // REQUIRES: the lock is held. NotFound also if the journal is empty.
  absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(
      const std::string& apply_id);
  // Returns the next apply's sequence. Only `ended` may wait to be confirmed.
  absl::StatusOr<uint64_t> CheckNothingUnfinished(const std::string& ended);
  absl::Status CheckConfirmWithin(absl::Duration within);
  void SetReverts(const JournalState& state, ApplyResult* result);
  // True if the apply must be rolled back now. After a boot it rewrites the
  // deadline for this boot's clock; if that fails, the apply is overdue.
  bool IsOverdue(const std::string& apply_id, const JournalState& state);
  // Processes that use the plan's devices, or why they are unknown.
  FindingValue WhoUsesDevicesOf(const HostPlan& plan);
  absl::Status CheckIdle(const HostPlan& plan, bool force,
                         FindingValues* forced);
  absl::StatusOr<ApplyResult> NothingToDo(const ApplyRequest& request);

  ApplyResult NewResult(const std::string& apply_id) {
    ApplyResult result;
    result.set_apply_id(apply_id);
    result.set_host(options_.host);
    return result;
  }
  // Creates the journal, which also records the use of force in `result`.
  absl::StatusOr<std::unique_ptr<Journal>> Begin(const ApplyRequest& request,
                                                 const ApplyResult& result,
                                                 uint64_t sequence);

  absl::StatusOr<ApplyResult> UndoUnfinished(const std::string& apply_id,
                                             const JournalState& state,
                                             const UndoWatch& watch);
  absl::StatusOr<ApplyResult> UndoJournal(
      const absl::StatusOr<PlanNamespace>& inside, const JournalState& state,
      const JournalUndo& undo, std::unique_ptr<Journal> journal,
      std::function<FindingValue()> used_by);

  const ApplierOptions options_;
  const MachineAccess access_;
  const ReadAllowed allows_;
  const DeviceUsers device_users_;
  JournalFolder folder_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_APPLIER_H_
