#include "daemon/controller/controller_service.h"

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "proto/controller.pb.h"

namespace clusterd {
namespace {

TEST(SlotsTest, RefusesWhenAllAreTakenUntilOneIsGiven) {
  Slots slots(2);
  EXPECT_TRUE(slots.TryTake());
  EXPECT_TRUE(slots.TryTake());
  EXPECT_FALSE(slots.TryTake());
  slots.Give();
  EXPECT_TRUE(slots.TryTake());
  EXPECT_FALSE(slots.TryTake());
}

absl::Status Answer(WorkerPool* pool, const absl::StatusOr<HistoryRecord>& what,
                    HistoryRecord* response) {
  absl::Status status;
  absl::Notification done;
  AnswerOnPool<HistoryRecord>(
      pool, response, [&] { return what; },
      [&](const absl::Status& answered) {
        status = answered;
        done.Notify();
      });
  done.WaitForNotification();
  return status;
}

TEST(AnswerOnPoolTest, GivesTheAnswerOrTheReason) {
  WorkerPool pool(1, 1);
  HistoryRecord kept;
  kept.mutable_entry()->set_actor("alice");
  HistoryRecord record;
  EXPECT_EQ(Answer(&pool, kept, &record), absl::OkStatus());
  EXPECT_EQ(record.entry().actor(), "alice");
  HistoryRecord none;
  const absl::Status missing = absl::NotFoundError("no such entry");
  EXPECT_EQ(Answer(&pool, missing, &none), missing);
  EXPECT_FALSE(none.has_entry());
}

TEST(AnswerOnPoolTest, IsRefusedWhenThePoolIsFull) {
  // A pool that takes no queue takes no work at all.
  WorkerPool pool(1, 0);
  HistoryRecord record;
  HistoryRecord kept;
  kept.mutable_entry()->set_actor("alice");
  EXPECT_TRUE(absl::IsResourceExhausted(Answer(&pool, kept, &record)));
  EXPECT_FALSE(record.has_entry());
}

}  // namespace
}  // namespace clusterd
