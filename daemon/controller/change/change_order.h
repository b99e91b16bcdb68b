// What an apply or rollback is to do on which host, decided before any of them
// is asked, and why it is refused.
//
// An apply is of a plan as this controller made it. What a client holds is only
// a copy: its digest says which plan it is of, and proves nothing, for whoever
// edits a plan can compute the digest anew. So the plan that is applied is the
// one in the history.
#ifndef DAEMON_CONTROLLER_CHANGE_CHANGE_ORDER_H_
#define DAEMON_CONTROLLER_CHANGE_CHANGE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "proto/audit.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

struct ApplyOrder {
  struct Host {
    std::string name;
    const HostPlan* plan = nullptr;  // Of the order's; null: not known.
    absl::Duration deadline;
    // Of a rollback: nobody knows whether the apply was begun there.
    bool was_lost = false;
  };
  // All but times, outcome and hosts.
  ApplyReport report;
  // At least one, in the order of the plan.
  std::vector<Host> hosts;
  // Null for a rollback whose plan the history has dropped.
  std::shared_ptr<const ClusterPlan> plan;
  // Where its kernel parameters are, as NetworkNamespaceText.
  std::string network_namespace;
  AuditEntry caller;  // Who asks, for the hosts' audit files.
};

inline void AddNote(FindingValue note, ApplyReport* report) {
  *report->mutable_notes_words()->add_values() = std::move(note);
}

// How long one host's apply or rollback of so many steps is waited for. Each
// step saves, does, reads back and may be undone: four commands, none longer
// than `command_ms`. Two minutes more, for observing before and after: the
// least there is. At most a day.
absl::Duration HostChangeDeadline(int steps, uint32_t command_ms);

// How long a change with firewall steps, which can cut a host off, waits to be
// confirmed where nobody says; so long for each wave if that is more, since the
// first hosts go back while later waves are still to come.
inline constexpr absl::Duration kDefaultConfirmWithin = absl::Minutes(5);
inline constexpr absl::Duration kDefaultConfirmPerWave = absl::Seconds(30);
inline constexpr absl::Duration kShortestConfirmWithin = absl::Minutes(1);
inline constexpr absl::Duration kLongestConfirmWithin = absl::Hours(24);

// How a plan's change goes back by itself, still without a state; within_ms 0:
// it stays. `wished` as in ApplyPlanRequest, zero: nothing; then a day at most.
// `waves`: how many its run has. InvalidArgument beyond the bounds above, or if
// it is both to stay and to go back.
absl::StatusOr<Confirmation> ConfirmationOf(const ClusterPlan& plan,
                                            absl::Duration wished,
                                            bool automatic, bool stays,
                                            size_t waves);

// The plan that was kept under exactly this id, with exactly this digest.
//   InvalidArgument  what is kept under the id has another digest, or is no
//                    plan: the client's copy was edited; or there is no id
//   Aborted          nothing is kept under the id: another controller made it,
//                    or it made room for newer entries; plan again
//   others           the history cannot be read
// Whether the plan fits the spec of now is for OrderOfApply.
absl::StatusOr<std::shared_ptr<const ClusterPlan>> ReadKeptPlan(
    const HistoryStore& history, absl::string_view plan_id,
    absl::string_view digest);

//   InvalidArgument     the plan's digest is not that of its content, its id is
//                       none, it is for another cluster, names a host twice, or
//                       one that is not in the spec
//   FailedPrecondition  the plan is of a newer schema; it has nothing to do; a
//                       host to be changed is not attached (named); or it is to
//                       go back by itself, and the clusterd of one cannot do it
//   Aborted             the spec has changed since: plan again
// `confirm`: how it goes back by itself, from ConfirmationOf.
absl::StatusOr<ApplyOrder> OrderOfApply(const ControllerParts& parts,
                                        std::shared_ptr<const ClusterPlan> plan,
                                        const Confirmation& confirm = {});

// Every host that the apply may have changed and that has not been taken back
// yet, or not wholly. `apply_id`, and errors, as HistoryStore::FindApply;
// FailedPrecondition if no such host is left.
absl::StatusOr<ApplyOrder> OrderOfRollback(const ControllerParts& parts,
                                           const std::string& apply_id);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_CHANGE_ORDER_H_
