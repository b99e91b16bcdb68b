// Stands for a history that could not be opened.
#ifndef DAEMON_CONTROLLER_HISTORY_CLOSED_HISTORY_STORE_H_
#define DAEMON_CONTROLLER_HISTORY_CLOSED_HISTORY_STORE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/controller/history/history_store.h"

namespace clusterd {

// Every call: FailedPrecondition with the reason. Safe for concurrent use.
class ClosedHistoryStore final : public HistoryStore {
 public:
  // `why` is not OK: what opening it gave.
  explicit ClosedHistoryStore(const absl::Status& why);

  absl::Status Add(const HistoryRecord& record) override;
  absl::Status Update(const HistoryRecord& record) override;
  absl::StatusOr<ListHistoryResponse> List(
      const ListHistoryRequest& request) const override;
  absl::StatusOr<HistoryRecord> Get(absl::string_view id) const override;
  absl::StatusOr<HistoryRecord> FindApply(
      absl::string_view apply_id) const override;
  absl::StatusOr<RunningRecords> FindRunning() const override;

 private:
  const absl::Status closed_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_CLOSED_HISTORY_STORE_H_
