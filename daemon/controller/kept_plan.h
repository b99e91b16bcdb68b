// The plan that an apply names, as this controller made it. What a client holds
// is only a copy: its digest says which plan it is of, and proves nothing, for
// whoever edits a plan can compute the digest anew. So the plan that is applied
// is the one in the history.
#ifndef DAEMON_CONTROLLER_KEPT_PLAN_H_
#define DAEMON_CONTROLLER_KEPT_PLAN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/controller/history/history_store.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The plan that was kept under exactly this id, with exactly this digest.
//   InvalidArgument  what is kept under the id has another digest, or is no
//                    plan: the client's copy was edited; or there is no id
//   Aborted          nothing is kept under the id: another controller made it,
//                    or it made room for newer entries; plan again
//   others           the history cannot be read
// Whether the plan fits the spec of now is for who applies it.
absl::StatusOr<std::shared_ptr<const ClusterPlan>> ReadKeptPlan(
    const HistoryStore& history, absl::string_view plan_id,
    absl::string_view digest);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_KEPT_PLAN_H_
