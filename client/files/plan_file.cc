#include "client/files/plan_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/files/text_file.h"
#include "config/plan/make_plan.h"
#include "config/report/message_json.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {
namespace {

constexpr int kQuotedBytes = 200;

absl::Status WithPath(const std::string& path, const absl::Status& error) {
  return absl::Status(error.code(), absl::StrCat(path, ": ", error.message()));
}

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
  const absl::StatusOr<std::string> text =
      ReadTextFile(path == "-" ? "/dev/stdin" : path, kMaxPlanFileBytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<ClusterPlan> plan = ParsePlanFile(*text);
  if (!plan.ok()) return WithPath(path, plan.status());
  const absl::Status verified = VerifyPlan(*plan);
  if (!verified.ok()) return WithPath(path, verified);
  return plan;
}

absl::Status CheckPlanTarget(const std::string& path) {
  struct stat info = {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) return absl::OkStatus();
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
    const std::string message = absl::StrCat(path, ": ", std::strerror(errno));
    return errno == ENOENT || errno == ENOTDIR
               ? absl::NotFoundError(message)
               : absl::PermissionDeniedError(message);
  }
  if (!exists || info.st_size == 0) return absl::OkStatus();
  const absl::StatusOr<std::string> text =
      ReadTextFile(path, kMaxPlanFileBytes);
  if (!text.ok()) return text.status();
  if (ParsePlanFile(*text).ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": is there and is no plan, expected a new file or an older "
                   "plan; nothing was overwritten"));
}

}  // namespace clusterd
