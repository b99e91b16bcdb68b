// Applies one host's plan, takes it back, and cleans up after a crash. The only
// part of clusterd that changes a machine.
//
//   Apply      refuse or lock -> for each step: save, journal, do, read back ->
//              read the host back -> applied; on any failure undo all, in
//              reverse
//   Rollback   the undo of an apply that ended well, later
//   Confirm    keeps an apply that would else go back by itself
//   Recover    at start, before anything else: the undo of what a crash cut
//              off, or of what nobody confirmed in time; later, of what a full
//              disk kept from being finished. It waits for no process: users
//              decide who uses a device
//
// Order of refusals, none of which has changed anything:
//   InvalidArgument     the plan or apply id is not one (make_plan.h), or
//                       it is for another host
//   PermissionDenied    this host does not allow a step (veto.h)
//                       or it would wait to be confirmed for over a day
//   Unavailable         another apply or rollback runs on this host
//   ResourceExhausted   its journal might not fit (journal.h, MakeRoom)
//   FailedPrecondition  a crash's undo is not finished yet, or its end could
//                       not be written: Recover first; or an apply waits to
//                       be confirmed, which only its own rollback may end; or
//                       which boot this is cannot be told, and it is to be
//                       confirmed; or a device that would change is in use by a
//                       process (named) or that cannot be told, unless forced;
//                       or the apply id was used before
//   Aborted             facts moved since the plan was made (named), or its
//                       network namespace is gone. NOTHING_TO_DO instead, also
//                       with a device in use, where all moved as the plan
//                       wants it (IsAlreadySo in settings.h): no journal
// A plan for another network namespace (machine.h) is also refused with
// what keeps it from being entered. When it is gone at a rollback or recovery,
// its values went with it: that is clean, and each step says so.
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
  // Journals and the lock; made if absent, its parent is not.
  std::string state_folder = "/var/lib/clusterd/apply";
  // Asked before each change: the driver may have been installed since.
  std::function<MachinePaths()> find_paths = [] { return MachinePaths(); };
  // Of journals that are finished. What goes cannot be rolled back any more.
  KeptJournals kept;
};

// Told of each undo that Recover makes, also where Recover returns an error of
// another one. Neither may call the applier.
struct UndoWatch {
  // Right before its first effect.
  std::function<void(const std::string& apply_id)> begins;
  // After its last. An error: what keeps it from being finished.
  std::function<void(const std::string& apply_id,
                     const absl::StatusOr<ApplyResult>& result)>
      ends;
};

struct ApplyRequest {
  HostPlan plan;
  std::string plan_digest;  // Of the cluster plan; kept in the journal.
  // Unique; 1 to 64 of [A-Za-z0-9._-], not starting with a dot.
  std::string apply_id;
  std::string actor;  // For the journal: who asked.
  bool force = false;
  // Set: so long after it began it is taken back by Recover, unless Confirm
  // came before.
  absl::Duration confirm_within;
  // Called after each step, and again with UNDONE; may be empty. Must not call
  // the applier.
  std::function<void(const StepOutcome&)> progress;
};

struct RollbackRequest {
  std::string apply_id;
  std::string actor;
  // Also when the machine is not as the apply left it, or a device is in use.
  bool force = false;
};

struct KeepRequest {
  std::string apply_id;
  std::string actor;
  // Zero: it stays. Else it goes back so much later.
  absl::Duration extend_by;
};

// One call at a time changes the machine, whatever the thread or process; a
// second one is Unavailable. Calls block for as long as the commands take.
class Applier {
 public:
  // Who uses devices right now; an error: it cannot be told.
  using DeviceUsers = std::function<absl::StatusOr<std::vector<DeviceUser>>()>;
  // Read at each call, so that a changed agent.yaml counts at once.
  using ReadAllowed = std::function<HostAllows()>;

  // What `access` leads to must outlive it.
  Applier(ApplierOptions options, const MachineAccess& access,
          ReadAllowed allows, DeviceUsers device_users)
      : options_(std::move(options)),
        access_(access),
        allows_(std::move(allows)),
        device_users_(std::move(device_users)),
        folder_(access.files, options_.state_folder) {}

  // Refusals: see above. Otherwise what came of it: APPLIED, NOTHING_TO_DO,
  // UNDONE or UNDONE_WITH_RESIDUES with the failed step in `error`. Any other
  // status is a journal that cannot be written before the first effect.
  absl::StatusOr<ApplyResult> Apply(const ApplyRequest& request);

  // Whether Rollback would find a journal; NotFound as there. Changes nothing.
  absl::Status CheckJournal(const std::string& apply_id);

  // Restores exactly what was there before that apply. NOTHING_TO_DO: its
  // journal says that it was undone or rolled back before. Refusals as Apply;
  // NotFound: no journal of that id, or an empty one: never begun, or its
  // journal is gone; Aborted: the machine changed since, or a named later apply
  // in effect set some of it, unless forced. What the controller enforced
  // automatically does not count.
  absl::StatusOr<ApplyResult> Rollback(const RollbackRequest& request);

  // In the journal, synced, when it returns OK: APPLIED, with what is left
  // until it is rolled back; 0 for one that stays. Confirming twice is OK.
  //   NotFound            as Rollback
  //   FailedPrecondition  it does not wait: taken back, permanent, or too late
  //   InvalidArgument     over a day in all, or less than a minute more
  //   others              the journal cannot be written: it is rolled back
  absl::StatusOr<ApplyResult> Confirm(const KeepRequest& request);

  // Until an apply that waits to be confirmed goes back; zero: it is due.
  absl::Duration TimeLeftOf(const JournalState& state);
  // The clock that this goes by. Safe for concurrent use.
  absl::Duration SinceBoot() const { return access_.clock->SinceBoot(); }

  // Finishes what a crash cut off, and what could not be written to its end
  // because the disk was full; takes back what nobody confirmed in time, or,
  // `also_waiting`, has not confirmed yet. Whoever changed what that set does
  // not keep it from going back. One result for each such journal. Each is
  // tried, whatever becomes of another; the first error in this list is
  // returned. Needs neither certificate nor config.
  //   DataLoss            a journal is damaged; nothing is applied on this host
  //                       until a person has moved that file away
  //   Unimplemented       the same, of one that this version may not undo
  //   Unavailable         another process is at it
  //   PermissionDenied    others than root can write the journals
  // Must be called before the first Apply, and again if one is unfinished.
  absl::StatusOr<std::vector<ApplyResult>> Recover(
      const UndoWatch& watch = UndoWatch(), bool also_waiting = false);

  // One entry for each journal, oldest first: `end` of its state. Damaged ones
  // are left out.
  absl::StatusOr<std::vector<JournalState>> ListApplies() {
    return folder_.List();
  }

 private:
  // What `force` overrode, for people.
  using Forced = FindingValues;

  // An error with the host's name in front.
  template <absl::Status (*Make)(absl::string_view), typename... Values>
  absl::Status Refuse(absl::string_view row, const Values&... values) {
    return InFront(options_.host, WithWords(Make(""), Worded(row, values...)));
  }

  absl::StatusOr<std::unique_ptr<OpenFile>> TakeLock();
  // Under the lock. NotFound also for an empty one.
  absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(
      const std::string& apply_id);
  // The sequence of the next apply. `ended`: may wait to be confirmed.
  absl::StatusOr<uint64_t> CheckNothingUnfinished(const std::string& ended);
  absl::Status CheckConfirmWithin(absl::Duration within);
  void SetReverts(const JournalState& state, ApplyResult* result);
  // Whether it is to be taken back now. After a boot its deadline is written
  // anew, for the clock of this boot; where that cannot be, it is due.
  bool IsOverdue(const std::string& apply_id, const JournalState& state);
  // OK if `why` is empty, or with `force`, which is then told in `forced`.
  absl::Status CheckForced(const absl::Status& refused, const FindingValue& why,
                           bool force, Forced* forced);
  // Processes that use devices of the plan, or why that cannot be told; empty:
  // none.
  FindingValue WhoUsesDevicesOf(const HostPlan& plan);
  absl::Status CheckIdle(const HostPlan& plan, bool force, Forced* forced);
  // Aborted if it is neither as the plan saw it nor `already_so`.
  absl::StatusOr<PlanNamespace> EnterUnmoved(const HostPlan& plan,
                                             bool* already_so);
  absl::StatusOr<ApplyResult> NothingToDo(const ApplyRequest& request);

  ApplyResult NewResult(const std::string& apply_id);
  // The journal, with what `result` tells of force.
  absl::StatusOr<std::unique_ptr<Journal>> Begin(const ApplyRequest& request,
                                                 const ApplyResult& result,
                                                 uint64_t sequence);

  // What the undo of an apply in effect overrides is added to its `forced`.
  absl::Status CheckUnmovedSince(const RollbackRequest& request,
                                 const JournalState& state,
                                 const PlanNamespace& inside,
                                 JournalUndo* undo);
  absl::StatusOr<ApplyResult> UndoCutOff(const std::string& apply_id,
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
