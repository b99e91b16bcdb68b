#include "daemon/controller/history/closed_history_store.h"

#include "absl/strings/str_cat.h"

namespace clusterd {

ClosedHistoryStore::ClosedHistoryStore(const absl::Status& why)
    : closed_(absl::FailedPreconditionError(
          absl::StrCat("no history is kept: ", why.message()))) {}

absl::Status ClosedHistoryStore::Add(const HistoryRecord&) { return closed_; }

absl::Status ClosedHistoryStore::Update(const HistoryRecord&) {
  return closed_;
}

absl::StatusOr<ListHistoryResponse> ClosedHistoryStore::List(
    const ListHistoryRequest&) const {
  return closed_;
}

absl::StatusOr<HistoryRecord> ClosedHistoryStore::Get(absl::string_view) const {
  return closed_;
}

absl::StatusOr<HistoryRecord> ClosedHistoryStore::FindApply(
    absl::string_view) const {
  return closed_;
}

absl::StatusOr<RunningRecords> ClosedHistoryStore::FindRunning() const {
  return closed_;
}

}  // namespace clusterd
