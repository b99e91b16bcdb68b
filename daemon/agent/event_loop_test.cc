#include "daemon/agent/event_loop.h"

#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(EventLoopTest, RunsPostedWorkOnOneThreadOfItsOwn) {
  EventLoop loop;
  absl::Notification done;
  std::thread::id first;
  std::thread::id second;
  loop.Post([&] {
    first = std::this_thread::get_id();
    loop.Post([&] {
      second = std::this_thread::get_id();
      done.Notify();
    });
  });
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(EventLoopTest, RunsWhatWasPostedBeforeItEnds) {
  int ran = 0;
  {
    EventLoop loop;
    for (int i = 0; i < 100; ++i) loop.Post([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 100);
}

}  // namespace
}  // namespace clusterd
