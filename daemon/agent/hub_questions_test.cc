#include <memory>
#include <vector>

#include "daemon/agent/agent_stream.h"
#include "gtest/gtest.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {
namespace {

class HubQuestionsTest : public testing::Test {
 protected:
  uint64_t Open(absl::Duration wait) {
    return questions_->Open(wait, [this](absl::StatusOr<HubMessage> answer) {
      answers_.push_back(answer.status().code());
    });
  }

  ManualScheduler scheduler_;
  std::shared_ptr<HubQuestions> questions_ =
      std::make_shared<HubQuestions>(&scheduler_);
  std::vector<absl::StatusCode> answers_;
};

TEST_F(HubQuestionsTest, EndsEachQuestionOnce) {
  const uint64_t first = Open(absl::Seconds(1));
  const uint64_t second = Open(absl::Seconds(2));
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  questions_->Answer(second, HubMessage());
  questions_->Answer(second, HubMessage());
  EXPECT_EQ(answers_, std::vector({absl::StatusCode::kOk}));
  scheduler_.Advance(absl::Seconds(1));
  EXPECT_EQ(answers_.back(), absl::StatusCode::kDeadlineExceeded);
  questions_->Answer(first, HubMessage());
  questions_->EndAll(absl::UnavailableError(""));
  EXPECT_EQ(answers_.size(), 2u);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(HubQuestionsTest, EndsAllWithTheStream) {
  Open(absl::Seconds(1));
  Open(absl::Seconds(1));
  questions_->EndAll(absl::UnavailableError("the controller went away"));
  EXPECT_EQ(answers_, std::vector(2, absl::StatusCode::kUnavailable));
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(HubQuestionsTest, BoundsHowManyWait) {
  for (size_t i = 0; i < kMaxOpenQuestions; ++i) {
    EXPECT_NE(Open(absl::Hours(1)), 0u);
  }
  EXPECT_EQ(Open(absl::Hours(1)), 0u);
  EXPECT_EQ(answers_, std::vector({absl::StatusCode::kResourceExhausted}));
}

TEST_F(HubQuestionsTest, MayEndBeforeItsTimers) {
  Open(absl::Seconds(1));
  questions_ = nullptr;
  scheduler_.Advance(absl::Seconds(2));
  EXPECT_TRUE(answers_.empty());
}

}  // namespace
}  // namespace clusterd
