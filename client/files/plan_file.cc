#include "client/files/plan_file.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/files/text_file.h"
#include "config/plan/make_plan.h"
#include "config/report/message_json.h"
#include "config/values/status_macros.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {
namespace {

constexpr int kQuotedBytes = 200;

}  // namespace

absl::StatusOr<std::string> PlanFileText(const ClusterPlan& plan) {
  // JSON has no place for fields that we do not know, and for nothing else.
  ClusterPlan known = plan;
  known.DiscardUnknownFields();
  if (PlanDigest(known) != PlanDigest(plan)) {
    return absl::FailedPreconditionError(
        "plan: holds what this clusterctl does not know, and a file would lose "
        "it; use the controller's version");
  }
  return SparseJson(plan);
}

absl::StatusOr<ClusterPlan> ParsePlanFile(absl::string_view text) {
  ClusterPlan plan;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &plan);
  if (!status.ok()) {
    const auto message = status.message();
    // Behind the first line is a piece of the text, and where in it.
    const absl::string_view reason =
        absl::string_view(message.data(), message.size())
            .substr(0, message.find('\n'));
    return absl::InvalidArgumentError(absl::StrCat(
        "is no plan of clusterctl: ", reason.substr(0, kQuotedBytes),
        ", expected a file of clusterctl plan --out"));
  }
  if (plan.schema_version() == 0 && plan.digest().empty()) {
    return absl::InvalidArgumentError(
        "is no plan of clusterctl: no schema version and no digest, expected a "
        "file of clusterctl plan --out");
  }
  return plan;
}

absl::StatusOr<ClusterPlan> ReadPlanFile(const std::string& path) {
  ASSIGN_OR_RETURN(
      const std::string text,
      ReadTextFile(path == "-" ? "/dev/stdin" : path, kMaxPlanFileBytes));
  absl::StatusOr<ClusterPlan> plan = ParsePlanFile(text);
  const absl::Status verified = plan.ok() ? VerifyPlan(*plan) : plan.status();
  if (verified.ok()) return plan;
  return absl::Status(verified.code(),
                      absl::StrCat(path, ": ", verified.message()));
}

absl::Status CheckPlanTarget(const std::string& path) {
  RETURN_IF_ERROR(CheckFileTarget(path));
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string text,
                   ReadTextFile(path, kMaxPlanFileBytes));
  if (text.empty() || ParsePlanFile(text).ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": is there and is no plan, expected a new file or an older "
                   "plan; nothing was overwritten"));
}

}  // namespace clusterd
