#include <poll.h>

#include <thread>

#include "client/connection/rpc_client.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

// rpc_client_test.cc tests the end of a running call.
TEST(InterruptTest, FiresOnceAndWakesWhoPolls) {
  Interrupt interrupt;
  pollfd wait = {interrupt.descriptor(), POLLIN, 0};
  EXPECT_FALSE(interrupt.fired());
  EXPECT_EQ(poll(&wait, 1, 0), 0);
  EXPECT_TRUE(interrupt.Fire());
  EXPECT_TRUE(interrupt.fired());
  EXPECT_EQ(poll(&wait, 1, 0), 1);
  EXPECT_FALSE(interrupt.Fire());
}

TEST(InterruptTest, DoesWhatWasSetLastAndAtOnceIfItCameEarlier) {
  Interrupt interrupt;
  int first = 0;
  int second = 0;
  interrupt.Watch([&first] { ++first; });
  interrupt.Watch([&second] { ++second; });
  interrupt.Fire();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  interrupt.Watch([&first] { ++first; });
  EXPECT_EQ(first, 1);
}

TEST(InterruptTest, EndsAPause) {
  Interrupt interrupt;
  EXPECT_FALSE(interrupt.Await(absl::ZeroDuration()));
  std::thread presses([&interrupt] { interrupt.Fire(); });
  EXPECT_TRUE(interrupt.Await(absl::Hours(1)));
  presses.join();
}

TEST(InterruptTest, OutlivesTheCallThatItWatched) {
  Interrupt interrupt;
  NewCallContext(absl::Seconds(1), interrupt);
  EXPECT_TRUE(interrupt.Fire());
}

TEST(InterruptTest, FirstOneIsDeferredAndTheSecondFires) {
  Interrupt interrupt;
  int deferred = 0;
  interrupt.DeferTo([&] { ++deferred; });
  EXPECT_TRUE(interrupt.Fire());
  EXPECT_EQ(deferred, 1);
  EXPECT_FALSE(interrupt.fired());
  EXPECT_TRUE(interrupt.Fire());
  EXPECT_EQ(deferred, 1);
  EXPECT_TRUE(interrupt.fired());
  EXPECT_FALSE(interrupt.Fire());
}

TEST(InterruptTest, IsNotDeferredToWhoHasLeft) {
  Interrupt interrupt;
  interrupt.DeferTo([] { ADD_FAILURE() << "called"; });
  interrupt.DeferTo(nullptr);
  EXPECT_TRUE(interrupt.Fire());
  EXPECT_TRUE(interrupt.fired());
}

}  // namespace
}  // namespace clusterd
