#include "daemon/agent/hub_connection.h"

#include <atomic>
#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include "daemon/agent/agent_stream.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"

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
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(kPatience));
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

BackoffOptions Options() {
  BackoffOptions options;
  options.min = absl::Milliseconds(10);
  options.initial = absl::Seconds(2);
  options.max = absl::Seconds(10);
  return options;
}

TEST(BackoffTest, DoublesItsBoundUpToTheLargest) {
  Backoff backoff(Options(), [] { return 0.5; });
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
  EXPECT_EQ(backoff.Next(), absl::Seconds(2));
  EXPECT_EQ(backoff.Next(), absl::Seconds(4));
  EXPECT_EQ(backoff.Next(), absl::Seconds(5));
  EXPECT_EQ(backoff.Next(), absl::Seconds(5));
}

TEST(BackoffTest, NeverWaitsLessThanTheSmallest) {
  Backoff backoff(Options(), [] { return 0.0; });
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(10));
}

TEST(BackoffTest, FirstWaitIsAPartOfWhatTheControllerSaid) {
  Backoff backoff(Options(), [] { return 0.5; });
  backoff.Reset(absl::Seconds(40));
  EXPECT_EQ(backoff.Next(), absl::Seconds(20));
  EXPECT_EQ(backoff.Next(), absl::Seconds(20));  // No more than all need.
  backoff.Reset(absl::Seconds(1));               // A small cluster: no effect.
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
  EXPECT_EQ(backoff.Next(), absl::Seconds(2));
  backoff.Reset(absl::Hours(100));
  EXPECT_EQ(backoff.Next(), Backoff::kMaxSpread / 2);
}

TEST(BackoffTest, BeginsAgainAfterSuccess) {
  Backoff backoff(Options(), [] { return 0.5; });
  backoff.Next();
  backoff.Next();
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
}

// Racks are switched on at once.
TEST(AgentStreamTest, DialsFirstAfterTheDrawnPartOfTheTimeGivenAndNotBefore) {
  for (const double draw : {0.25, 0.999}) {
    EventLoop loop;
    ManualScheduler scheduler;
    WorkerPool pool(1, 1);
    CapturedLog log;
    std::atomic<int> dials{0};
    AgentStreamOptions options;
    options.dial.controller = "unix:" + testing::TempDir() + "/nobody";
    options.first_dial_within = absl::Seconds(8);
    options.credentials = [&dials] {
      ++dials;
      return grpc::InsecureChannelCredentials();
    };
    const auto stream = std::make_shared<AgentStream>(
        options, AgentStreamParts{nullptr, &loop, &scheduler, &pool, &log,
                                  [draw] { return draw; }});
    const auto advance = [&](absl::Duration by) {
      scheduler.Advance(by);
      absl::Notification done;  // After the due timers.
      loop.Post([&done] { done.Notify(); });
      done.WaitForNotification();
    };
    stream->Start();
    advance(absl::ZeroDuration());
    EXPECT_EQ(scheduler.UntilNext(), absl::Seconds(8) * draw);
    advance(absl::Seconds(8) * draw - absl::Milliseconds(1));
    EXPECT_EQ(dials, 0);
    advance(absl::Milliseconds(1));
    EXPECT_EQ(dials, 1);
    stream->Stop();
  }
}

TEST(BackoffTest, SpreadsOverTheWholeBound) {
  double draw = 0.0;
  Backoff backoff(Options(), [&draw] { return draw; });
  draw = 0.01;
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(20));
  backoff.Reset();
  draw = 0.75;
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(1500));
}

}  // namespace
}  // namespace clusterd
