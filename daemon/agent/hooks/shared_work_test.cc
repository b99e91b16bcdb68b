#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "daemon/agent/hooks/drainer.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

TEST(SharedWorkTest, WorksOnceForAllThatComeMeanwhile) {
  SharedWork<int> shared;
  std::atomic<int> worked{0};
  absl::Notification begun;
  absl::Notification go_on;
  const auto work = [&] {
    begun.Notify();
    go_on.WaitForNotification();
    return ++worked;
  };
  std::thread first([&] { EXPECT_EQ(shared.Do("a", kPatience, work), 1); });
  begun.WaitForNotification();
  EXPECT_EQ(shared.Do("b", kPatience, [] { return 7; }), 7);
  EXPECT_EQ(shared.Do("a", absl::ZeroDuration(), [] { return 8; }),
            std::nullopt);
  std::vector<std::thread> others;
  for (int i = 0; i < 63; ++i) {
    others.emplace_back([&] {
      const auto found = shared.Do("a", kPatience, [] { return 9; });
      // A caller that comes after the first has ended works alone.
      EXPECT_TRUE(found == 1 || found == 9);
    });
  }
  go_on.Notify();
  first.join();
  for (std::thread& other : others) other.join();
  EXPECT_EQ(worked, 1);
}

TEST(SharedWorkTest, WorksAnewOnceItHasEnded) {
  SharedWork<int> shared;
  int count = 0;
  const auto work = [&count] { return ++count; };
  EXPECT_EQ(shared.Do("", kPatience, work), 1);
  EXPECT_EQ(shared.Do("", kPatience, work), 2);
}

}  // namespace
}  // namespace clusterd
