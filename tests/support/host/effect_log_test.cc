#include "tests/support/host/effect_log.h"

#include <gtest/gtest.h>

#include "tests/support/host/fake_file_system.h"

namespace clusterd {
namespace {

class CountingRunner final : public CommandRunner {
 public:
  absl::StatusOr<CommandResult> Run(const Command&) override {
    ++runs;
    return CommandResult();
  }
  int runs = 0;
};

Command Any() {
  Command command;
  command.argv = {"/bin/true", "x"};
  return command;
}

class EffectLogTest : public testing::Test {
 protected:
  FakeFileSystem files_;
  EffectLog log_;
  EffectFileSystem logged_{&files_, &log_};
};

TEST_F(EffectLogTest, NothingHappensAfterTheCrash) {
  files_.Put("/etc/x", "old");
  log_.CrashAt(0, CrashPoint::kBefore);
  EXPECT_FALSE(logged_.Remove("/etc/x").ok());
  EXPECT_TRUE(log_.dead());
  EXPECT_FALSE(logged_.Remove("/etc/x").ok());
  EXPECT_FALSE(logged_.Open("/etc/x", OpenMode::kRead).ok());
  EXPECT_EQ(*files_.Content("/etc/x"), "old");
  EXPECT_EQ(log_.effects(), std::vector<std::string>{"remove /etc/x"});
}

TEST_F(EffectLogTest, WhatComesBeforeTheCrashHappensAndTellsItsOwnResult) {
  files_.Put("/etc/x", "long");
  log_.CrashAt(3, CrashPoint::kDuring);
  auto file = logged_.Open("/etc/x", OpenMode::kReadWrite);
  EXPECT_EQ((*file)->Truncate(2), absl::OkStatus());
  EXPECT_EQ(*files_.Content("/etc/x"), "lo");
  EXPECT_TRUE(absl::IsNotFound(logged_.Remove("/etc/y")));
  EXPECT_EQ(logged_.Rename("/etc/x", "/etc/z"), absl::OkStatus());
  EXPECT_FALSE(log_.dead());
  // It cannot be half done.
  EXPECT_EQ(logged_.Remove("/etc/z"), EffectLog::DeadStatus());
  EXPECT_EQ(*files_.Content("/etc/z"), "lo");
}

TEST_F(EffectLogTest, AfterMeansThatItHappenedAndNobodyKnows) {
  files_.Put("/etc/x", "old");
  log_.CrashAt(0, CrashPoint::kAfter);
  EXPECT_FALSE(logged_.Remove("/etc/x").ok());
  EXPECT_FALSE(files_.Content("/etc/x").has_value());
}

TEST_F(EffectLogTest, DuringWritesHalfAndDiesInEveryCall) {
  files_.Put("/etc/x", "");
  auto file = logged_.Open("/etc/x", OpenMode::kReadWrite);
  log_.CrashAt(0, CrashPoint::kDuring);
  EXPECT_FALSE((*file)->WriteAt(0, "abcd").ok());
  EXPECT_EQ(*files_.Content("/etc/x"), "ab");
  EffectLog other;
  EffectFileSystem again(&files_, &other);
  other.CrashAt(0, CrashPoint::kDuring);
  EXPECT_FALSE(again.Remove("/etc/x").ok());
  EXPECT_TRUE(other.dead());
  EXPECT_TRUE(files_.Content("/etc/x").has_value());
}

TEST_F(EffectLogTest, HandsAHalfRunToTheOtherRunner) {
  CountingRunner whole;
  CountingRunner half;
  EffectCommandRunner logged(&whole, &half, &log_);
  EXPECT_TRUE(logged.Run(Any()).ok());
  log_.CrashAt(1, CrashPoint::kDuring);
  EXPECT_FALSE(logged.Run(Any()).ok());
  EXPECT_FALSE(logged.Run(Any()).ok());
  EXPECT_EQ(whole.runs, 1);
  EXPECT_EQ(half.runs, 1);
  EXPECT_EQ(log_.effects()[0], "run /bin/true x");
}

}  // namespace
}  // namespace clusterd
