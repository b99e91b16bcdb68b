// The record of one change: its report, as the history keeps it, with a state
// for each host. The run, the confirmation and later reports of hosts change
// hosts only through it, by the transitions of host_state.h.
//
//   the run ends      CONFIRM_PENDING or LOST hosts: the change waits to be
//                     confirmed. Others need no confirmation.
//   confirmation      `pending` are its CONFIRM_PENDING, REVERTING and LOST
//                     hosts, once it is CONFIRMED
//   a host comes back its result replaces LOST. If all hosts are well then, the
//                     run has SUCCEEDED: it had failed only because a result
//                     was unknown.
// Pure: no clock, threads or files.
#ifndef CONFIG_CHANGE_CHANGE_RECORD_H_
#define CONFIG_CHANGE_CHANGE_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "config/change/host_state.h"
#include "config/plan/waves.h"
#include "config/words/words.h"
#include "proto/plan.pb.h"

namespace clusterd {

// A host may report this much later than agreed that it began or reverted.
inline constexpr absl::Duration kRevertGrace = absl::Seconds(15);

// A host that has the change, and may revert it.
inline constexpr std::initializer_list<HostState> kMayRevert = {
    HOST_CONFIRM_PENDING, HOST_REVERTING};
// The host's result may still change.
inline constexpr std::initializer_list<HostState> kOpenStates = {
    HOST_LOST, HOST_CONFIRM_PENDING, HOST_REVERTING};

// True if the result of a host may still change, though the run is over, or if
// the change still waits to be confirmed.
bool IsOpen(const ApplyReport& report);

inline void AddNote(FindingValue note, ApplyReport* report) {
  *report->mutable_notes_words()->add_values() = std::move(note);
}

// "rollback 4f09c2d1 of alice".
FindingValue ChangeWords(const ApplyReport& head);
inline std::string ChangeText(const ApplyReport& head) {
  return ValueText(ChangeWords(head));
}

// Whether a host works neither on this apply nor on its rollback; and whether
// it has a journal of it.
bool HasEnded(const std::string& apply_id, const PastApplies& past);
bool HasJournal(const std::string& apply_id, const PastApplies& past);

// Not safe for concurrent use.
class ChangeRecord {
 public:
  ChangeRecord() = default;
  // A kept report, or a new one whose hosts are WAITING. `has_plan`: the plan
  // is kept, too.
  explicit ChangeRecord(ApplyReport report, bool has_plan = true);

  const ApplyReport& report() const { return report_; }
  // For the run itself, its notes and its confirmation; not for hosts.
  ApplyReport* mutable_report() { return &report_; }
  const ApplyResult& host(size_t index) const {
    return report_.hosts(static_cast<int>(index));
  }
  HostState state(size_t index) const { return host(index).state(); }
  std::optional<size_t> IndexOf(const std::string& host) const;
  bool IsIn(const std::string& host,
            std::initializer_list<HostState> states) const;
  std::vector<std::string> HostsIn(
      std::initializer_list<HostState> states) const;
  bool AnyIn(std::initializer_list<HostState> states) const;
  // The run's hosts that ended as intended, or did not.
  uint32_t done() const { return done_; }
  uint32_t failed() const { return failed_; }
  bool is_running() const { return report_.outcome() == ApplyReport::RUNNING; }

  // False: the state has no such transition, and nothing has changed.
  bool Move(size_t index, HostEvent event);
  // The same for every host.
  bool MoveAll(HostEvent event);
  // Ends a running host. The outcome is a host's own, or LOST: it is unknown,
  // or NOT_STARTED: the task was not sent.
  void End(size_t index, ApplyResult result);
  // A result that the host reports. False: it brings nothing new.
  bool Take(size_t index, ApplyResult result);

  // Takes what a host reports when it attaches, in any order and any number of
  // times. False: nothing has changed.
  bool Merge(const std::string& name, const PastApplies& past);
  // Takes the hosts that this rollback, which is over, has restored. False:
  // there are none.
  bool TakeBack(const ApplyReport& rollback);

  // Limits a CONFIRM_PENDING host's deadline to what was agreed, since it was
  // asked and has answered now; the change reverts by the first deadline.
  void NoteDeadline(size_t index, absl::Time asked, absl::Time now);
  // Ends the run. `wave`: the last one that began, from 0. After a failure
  // only a person may confirm.
  void Close(ApplyReport::Outcome outcome, size_t wave, const Waves& waves,
             absl::Time now);
  // The controller ended while it ran.
  void Interrupt(absl::Time now);
  // Sets the confirmation's `pending`. True: it has changed.
  bool UpdatePending();

 private:
  ApplyResult* mutable_host(size_t index) {
    return report_.mutable_hosts(static_cast<int>(index));
  }
  // Counts the host, or with -1 no longer.
  void Count(const ApplyResult& host, int by);
  void Put(size_t index, HostState state, ApplyResult result);
  // The apply's own report may come after that of its rollback.
  bool AddSteps(size_t index, ApplyResult* result);
  // Sets the reason, by the run's outcome, on each host whose wave never began;
  // returns how many there are.
  int ExplainWaiting();
  void CloseConfirmation(absl::Time now);
  void NoteCameBack();

  ApplyReport report_;
  bool has_plan_ = true;
  std::map<std::string, size_t> index_of_;
  uint32_t done_ = 0;
  uint32_t failed_ = 0;
};

}  // namespace clusterd

#endif  // CONFIG_CHANGE_CHANGE_RECORD_H_
