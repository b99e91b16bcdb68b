#include "daemon/controller/calls/call_limits.h"

#include "absl/synchronization/notification.h"
#include "config/words/message.h"
#include "daemon/controller/calls/user_calls.h"
#include "gtest/gtest.h"
#include "proto/controller.pb.h"

namespace clusterd {
namespace {

constexpr CallClass kOf = CallClass::kLists;

CallLimitTable Lists(size_t of_all, size_t of_one) {
  CallLimitTable limits = kCallLimits;
  limits[0].at_once = of_all;
  limits[0].at_once_of_one = of_one;
  return limits;
}

TEST(SlotsTest, RefusesWhenAllAreTakenUntilOneIsGiven) {
  CallSlots slots(Lists(/*of_all=*/2, /*of_one=*/2));
  EXPECT_TRUE(slots.Take(kOf, "ann").ok());
  EXPECT_TRUE(slots.Take(kOf, "bob").ok());
  EXPECT_EQ(slots.Take(kOf, "eve"), ExhaustedWords("msg-hub-too-many-calls", 2,
                                                   Worded("hub-calls-lists")));
  EXPECT_TRUE(slots.Take(CallClass::kEnds, "eve").ok()) << "of another class";
  slots.Give(kOf, "bob");
  EXPECT_TRUE(slots.Take(kOf, "eve").ok());
  EXPECT_FALSE(slots.Take(kOf, "ann").ok());
}

TEST(SlotsTest, OneUserNeverHoldsAllOfThem) {
  CallSlots slots(Lists(/*of_all=*/3, /*of_one=*/1));
  EXPECT_TRUE(slots.Take(kOf, "ann").ok());
  EXPECT_EQ(slots.Take(kOf, "ann"),
            ExhaustedWords("msg-hub-too-many-calls-of-user", 1,
                           Worded("hub-calls-lists"), "ann"));
  EXPECT_TRUE(slots.Take(kOf, "bob").ok());
  slots.Give(kOf, "ann");
  EXPECT_TRUE(slots.Take(kOf, "ann").ok());
}

absl::Status Answer(WorkerPool* pool, const absl::StatusOr<HistoryRecord>& what,
                    HistoryRecord* response) {
  absl::Status status;
  absl::Notification done;
  AnswerOnPool<HistoryRecord>(
      pool, WorkerPool::Place::kInTurn, [&] { return what; },
      [&](absl::StatusOr<HistoryRecord> answer) {
        status = answer.status();
        if (answer.ok()) *response = *std::move(answer);
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
  // A pool without a queue takes no work.
  WorkerPool pool(1, 0);
  HistoryRecord record;
  HistoryRecord kept;
  kept.mutable_entry()->set_actor("alice");
  EXPECT_TRUE(absl::IsResourceExhausted(Answer(&pool, kept, &record)));
  EXPECT_FALSE(record.has_entry());
}

}  // namespace
}  // namespace clusterd
