// What tells two plans apart, and a whole plan from a damaged one. No proof of
// who made it: whoever edits a plan can compute its digest anew, and the
// controller applies only what it has kept itself
// (daemon/controller/change/change_order.h).
#ifndef CONFIG_PLAN_PLAN_DIGEST_H_
#define CONFIG_PLAN_PLAN_DIGEST_H_

#include <string>

#include "absl/status/status.h"
#include "config/values/sha256.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Of the spec as expanded, defaults and file digest included.
std::string SpecSha256(const ClusterSpec& spec);

// Over everything that is planned and everything that it rests on: schema,
// cluster, product, both spec digests, and of every host the steps, what is
// blocked, and the facts with their values. Not over plan_id, created_at_ms,
// created_by, not_kept and the digest itself. The input is the messages' binary
// form in field order (they hold no maps and no floating point).
std::string PlanDigest(const ClusterPlan& plan);

// FailedPrecondition if the plan was made by a newer schema; InvalidArgument if
// its digest is not that of its content: the file was damaged or edited. The
// message does not give the right one.
absl::Status VerifyPlan(const ClusterPlan& plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_PLAN_DIGEST_H_
