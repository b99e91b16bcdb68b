#include "daemon/controller/history/open_history.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "daemon/controller/history/closed_history_store.h"
#include "daemon/controller/history/sqlite_history_store.h"

namespace clusterd {

absl::StatusOr<std::unique_ptr<HistoryStore>> OpenHistory(
    const std::string& state_folder, Log* log) {
  absl::StatusOr<std::unique_ptr<SqliteHistoryStore>> store =
      SqliteHistoryStore::Open(state_folder);
  if (store.ok()) return *std::move(store);
  if (absl::IsUnavailable(store.status()) || absl::IsNotFound(store.status())) {
    return store.status();
  }
  log->Error(absl::StrCat(
      store.status().message(),
      "; until then checks and plans are not kept, and no apply or rollback "
      "is taken"));
  return std::make_unique<ClosedHistoryStore>(store.status());
}

}  // namespace clusterd
