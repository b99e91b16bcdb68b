#include "daemon/controller/history/history_service.h"

#include <memory>

#include "absl/synchronization/notification.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/sqlite_history_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

std::unique_ptr<HistoryStore> StoreWithOneCheck() {
  auto store = SqliteHistoryStore::InMemory();
  EXPECT_TRUE(store.ok()) << store.status();
  Report report;
  report.set_run_id("0123456789abcdef");
  report.set_product("atlas-a2");
  EXPECT_EQ((*store)->Add(RecordOfCheck(report, "alice")), absl::OkStatus());
  return *std::move(store);
}

TEST(AnswerListHistoryTest, ListsEntries) {
  const auto store = StoreWithOneCheck();
  WorkerPool pool(1, 1);
  const ListHistoryRequest request;
  ListHistoryResponse response;
  absl::Status status;
  absl::Notification done;
  AnswerListHistory(store.get(), &pool, &request, &response,
                    [&](const absl::Status& answered) {
                      status = answered;
                      done.Notify();
                    });
  done.WaitForNotification();
  EXPECT_EQ(status, absl::OkStatus());
  ASSERT_EQ(response.entries_size(), 1);
  EXPECT_EQ(response.entries(0).actor(), "alice");
}

TEST(AnswerGetHistoryTest, GivesDetailOrTheStoresError) {
  const auto store = StoreWithOneCheck();
  WorkerPool pool(1, 1);
  const auto get = [&](const std::string& id, HistoryRecord* record) {
    GetHistoryRequest request;
    request.set_id(id);
    absl::Status status;
    absl::Notification done;
    AnswerGetHistory(store.get(), &pool, &request, record,
                     [&](const absl::Status& answered) {
                       status = answered;
                       done.Notify();
                     });
    done.WaitForNotification();
    return status;
  };
  HistoryRecord record;
  EXPECT_EQ(get("0123", &record), absl::OkStatus());
  EXPECT_EQ(record.report().product(), "atlas-a2");
  HistoryRecord none;
  EXPECT_TRUE(absl::IsNotFound(get("ffff", &none)));
  EXPECT_FALSE(none.has_entry());
}

TEST(AnswerListHistoryTest, IsRefusedWhenThePoolIsFull) {
  const auto store = StoreWithOneCheck();
  WorkerPool pool(1, 0);
  const ListHistoryRequest request;
  ListHistoryResponse response;
  absl::Status status;
  // A pool that takes no queue takes no work at all.
  AnswerListHistory(store.get(), &pool, &request, &response,
                    [&](const absl::Status& answered) { status = answered; });
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(response.entries_size(), 0);
}

}  // namespace
}  // namespace clusterd
