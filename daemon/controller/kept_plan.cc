#include "daemon/controller/kept_plan.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// What a client sends ends up in the log and on a terminal.
std::string Quoted(absl::string_view text) {
  return absl::StrCat(
      "\"", absl::CHexEscape(text.substr(0, kMaxHistoryIdBytes)), "\"");
}

absl::Status NotKept(absl::string_view plan_id) {
  return absl::AbortedError(absl::StrCat(
      "plan ", Quoted(plan_id),
      ": this controller has not made it, or keeps it no more (the oldest make "
      "room for newer entries of the history): plan again"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ClusterPlan>> ReadKeptPlan(
    const HistoryStore& history, absl::string_view plan_id,
    absl::string_view digest) {
  if (plan_id.empty()) {
    return absl::InvalidArgumentError(
        "plan: without an id, expected that of a plan that this controller has "
        "made: plan again, with the controller's version of clusterctl");
  }
  absl::StatusOr<HistoryRecord> record = history.Get(plan_id);
  if (absl::IsNotFound(record.status())) return NotKept(plan_id);
  if (!record.ok()) return record.status();
  // The store also takes the beginning of an id.
  if (record->entry().id() != plan_id) return NotKept(plan_id);
  if (!record->has_plan() || record->plan().digest() != digest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan ", Quoted(plan_id), ": digest ", Quoted(digest),
        " is not that of the plan that this controller has made under this id; "
        "the file was edited: plan again"));
  }
  return std::make_shared<const ClusterPlan>(
      std::move(*record->mutable_plan()));
}

}  // namespace clusterd
