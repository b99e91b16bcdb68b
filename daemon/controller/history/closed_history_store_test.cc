#include "daemon/controller/history/closed_history_store.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using testing::HasSubstr;

void ExpectReason(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no history is kept: history.db: is damaged"));
}

TEST(ClosedHistoryStoreTest, GivesReasonForEveryCall) {
  ClosedHistoryStore store(absl::DataLossError("history.db: is damaged"));
  ExpectReason(store.Add({}));
  ExpectReason(store.Update({}));
  ExpectReason(store.List({}).status());
  ExpectReason(store.Get("0123456789abcdef").status());
  ExpectReason(store.FindApply("0123456789abcdef").status());
  ExpectReason(store.FindRunning().status());
}

}  // namespace
}  // namespace clusterd
