// A plan as a file between `clusterctl plan --out` and `clusterctl apply`: the
// protobuf JSON form of ClusterPlan, which a person can read and a review tool
// can compare. The digest inside is over the message, not over the text, so
// that white space may change and nothing else.
#ifndef CLIENT_FILES_PLAN_FILE_H_
#define CLIENT_FILES_PLAN_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace clusterd {

// 10,000 hosts of eight devices with 30 steps and 60 facts each are 160 MB, and
// take some ten seconds to write or to read.
inline constexpr size_t kMaxPlanFileBytes = size_t{1} << 30;

// To be written with WritePrivateFile. FailedPrecondition if the plan holds
// what its text would lose: it was made by a newer program.
absl::StatusOr<std::string> PlanFileText(const ClusterPlan& plan);

// InvalidArgument if the text is no plan: no JSON, unknown keys, wrong types.
// Whether its digest is right is not looked at.
absl::StatusOr<ClusterPlan> ParsePlanFile(absl::string_view text);

// The plan in a file, or of stdin for "-", with the digest verified. The errors
// of ReadTextFile, ParsePlanFile and VerifyPlan, with the path in front.
absl::StatusOr<ClusterPlan> ReadPlanFile(const std::string& path);

// OK where a plan may be written: nothing is there, or an empty file, a plan
// (right or edited) or something that is written to in place.
// FailedPrecondition for any other file: it would be lost. Else the errors of
// CheckFileTarget.
absl::Status CheckPlanTarget(const std::string& path);

}  // namespace clusterd

#endif  // CLIENT_FILES_PLAN_FILE_H_
