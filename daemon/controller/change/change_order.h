// Decides which hosts an apply or rollback changes and how, before any of them
// is asked, or refuses it.
//
// An apply uses the plan in the history, as this controller made it. A client
// only has a copy: the digest identifies the plan but proves nothing, since an
// edited plan can get a new digest.
#ifndef DAEMON_CONTROLLER_CHANGE_CHANGE_ORDER_H_
#define DAEMON_CONTROLLER_CHANGE_CHANGE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/history/history_store.h"
#include "proto/audit.pb.h"
#include "proto/controller.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

struct ApplyOrder {
  struct Host {
    std::string name;
    const HostPlan* plan = nullptr;  // Into ApplyOrder::plan; null: unknown.
    absl::Duration deadline;
    // A rollback: it is unknown if the apply was begun on this host.
    bool was_lost = false;
  };
  // Everything but times, outcome and hosts.
  ApplyReport report;
  // At least one, in the order of the plan.
  std::vector<Host> hosts;
  // Null for a rollback whose plan the history has dropped.
  std::shared_ptr<const ClusterPlan> plan;
  AuditEntry caller;  // For the hosts' audit files.
};

// The deadline for a host to apply or roll back this many steps. Each step
// saves, changes, reads back and may be undone: four commands of at most
// `command_ms`. Observing adds two minutes, the minimum. At most a day.
absl::Duration HostChangeDeadline(int steps, uint32_t command_ms);

// The default time to confirm a change with firewall steps, which can isolate a
// host. The sum over all waves counts if it is longer: the first hosts would
// revert while later waves have yet to begin.
inline constexpr absl::Duration kDefaultConfirmWithin = absl::Minutes(5);
inline constexpr absl::Duration kDefaultConfirmPerWave = absl::Seconds(30);
inline constexpr absl::Duration kShortestConfirmWithin = absl::Minutes(1);
inline constexpr absl::Duration kLongestConfirmWithin = absl::Hours(24);

// The automatic rollback of a plan's change; within_ms 0: none. `waves`: the
// run's number of waves. InvalidArgument beyond these bounds, or if both a
// rollback and none are requested.
absl::StatusOr<Confirmation> ConfirmationOf(const ClusterPlan& plan,
                                            const ApplyPlanRequest& options,
                                            size_t waves);

// Reads the kept plan with exactly this id and digest.
//   InvalidArgument  the kept entry has another digest, or is not a plan: the
//                    client's copy was edited; or the id is missing
//   Aborted          the id is unknown: another controller made the plan, or it
//                    made room for newer entries; plan again
//   others           the history cannot be read
// OrderOfApply checks if the plan fits the current spec.
absl::StatusOr<std::shared_ptr<const ClusterPlan>> ReadKeptPlan(
    const HistoryStore& history, absl::string_view plan_id,
    absl::string_view digest);

//   InvalidArgument     the plan's digest is not that of its content, its id is
//                       invalid, it is for another cluster, names a host twice,
//                       or one that is not in the spec
//   FailedPrecondition  the plan is of a newer schema; it has nothing to do; a
//                       host to be changed is not attached (named); or it rolls
//                       back automatically, and the clusterd of one cannot
//   Aborted             the spec has changed since: plan again
// `confirm`: its automatic rollback, from ConfirmationOf.
absl::StatusOr<ApplyOrder> OrderOfApply(const ControllerParts& parts,
                                        std::shared_ptr<const ClusterPlan> plan,
                                        const Confirmation& confirm = {});

// The rollback of every host that may still have changes of the apply.
// `apply_id` and errors as in HistoryStore::FindApply; FailedPrecondition if no
// such host is left.
absl::StatusOr<ApplyOrder> OrderOfRollback(const ControllerParts& parts,
                                           const std::string& apply_id);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_CHANGE_ORDER_H_
