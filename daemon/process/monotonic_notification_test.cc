#include <string>
#include <thread>

#include "daemon/process/scheduler.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(MonotonicNotificationTest, HandsOverWhatWasDoneBefore) {
  MonotonicNotification done;
  std::string made;
  std::thread maker([&] {
    made = "made";
    done.Notify();
  });
  EXPECT_TRUE(done.WaitFor(absl::InfiniteDuration()));
  EXPECT_EQ(made, "made");
  maker.join();
  EXPECT_TRUE(done.WaitFor(absl::ZeroDuration()));
}

TEST(MonotonicNotificationTest, GivesUpInTime) {
  MonotonicNotification never;
  EXPECT_FALSE(never.WaitFor(absl::Milliseconds(1)));
  EXPECT_FALSE(never.WaitFor(-absl::InfiniteDuration()));
}

}  // namespace
}  // namespace clusterd
