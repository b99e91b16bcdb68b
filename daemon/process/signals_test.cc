#include "daemon/process/signals.h"

#include <pthread.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(BlockedSignalsTest, HandsOverSignalsOfTheProcess) {
  BlockedSignals signals;
  kill(getpid(), SIGHUP);
  EXPECT_EQ(signals.Wait(), DaemonSignal::kReload);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals.Wait(), DaemonSignal::kStop);
  kill(getpid(), SIGINT);
  EXPECT_EQ(signals.Wait(), DaemonSignal::kStop);
}

TEST(BlockedSignalsTest, SurvivesBrokenPipe) {
  BlockedSignals signals;
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  close(pipe_fds[0]);
  EXPECT_EQ(write(pipe_fds[1], "x", 1), -1);
  close(pipe_fds[1]);
}

TEST(BlockedSignalsTest, RestoresMaskAfterwards) {
  { BlockedSignals signals; }
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
}

}  // namespace
}  // namespace clusterd
