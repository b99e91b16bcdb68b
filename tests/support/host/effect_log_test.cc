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

TEST(EffectLogTest, NothingHappensAfterTheCrash) {
  FakeFileSystem files;
  files.Put("/etc/x", "old");
  EffectLog log;
  EffectFileSystem logged(&files, &log);
  log.CrashAt(0, CrashPoint::kBefore);
  EXPECT_FALSE(logged.Remove("/etc/x").ok());
  EXPECT_TRUE(log.dead());
  EXPECT_FALSE(logged.Remove("/etc/x").ok());
  EXPECT_FALSE(logged.Open("/etc/x", OpenMode::kRead).ok());
  EXPECT_EQ(*files.Content("/etc/x"), "old");
  EXPECT_EQ(log.effects(), std::vector<std::string>{"remove /etc/x"});
}

TEST(EffectLogTest, WhatComesBeforeTheCrashHappensAndTellsItsOwnResult) {
  FakeFileSystem files;
  files.Put("/etc/x", "long");
  EffectLog log;
  EffectFileSystem logged(&files, &log);
  log.CrashAt(3, CrashPoint::kDuring);
  auto file = logged.Open("/etc/x", OpenMode::kReadWrite);
  EXPECT_EQ((*file)->Truncate(2), absl::OkStatus());
  EXPECT_EQ(*files.Content("/etc/x"), "lo");
  EXPECT_TRUE(absl::IsNotFound(logged.Remove("/etc/y")));
  EXPECT_EQ(logged.Rename("/etc/x", "/etc/z"), absl::OkStatus());
  EXPECT_FALSE(log.dead());
  // It cannot be done by half.
  EXPECT_EQ(logged.Remove("/etc/z"), EffectLog::DeadStatus());
  EXPECT_EQ(*files.Content("/etc/z"), "lo");
}

TEST(EffectLogTest, AfterMeansThatItHappenedAndNobodyKnows) {
  FakeFileSystem files;
  files.Put("/etc/x", "old");
  EffectLog log;
  EffectFileSystem logged(&files, &log);
  log.CrashAt(0, CrashPoint::kAfter);
  EXPECT_FALSE(logged.Remove("/etc/x").ok());
  EXPECT_FALSE(files.Content("/etc/x").has_value());
}

TEST(EffectLogTest, DuringWritesHalfAndDiesInEveryCall) {
  FakeFileSystem files;
  files.Put("/etc/x", "");
  EffectLog log;
  EffectFileSystem logged(&files, &log);
  auto file = logged.Open("/etc/x", OpenMode::kReadWrite);
  log.CrashAt(0, CrashPoint::kDuring);
  EXPECT_FALSE((*file)->WriteAt(0, "abcd").ok());
  EXPECT_EQ(*files.Content("/etc/x"), "ab");

  EffectLog other;
  EffectFileSystem again(&files, &other);
  other.CrashAt(0, CrashPoint::kDuring);
  EXPECT_FALSE(again.Remove("/etc/x").ok());
  EXPECT_TRUE(other.dead());
  EXPECT_TRUE(files.Content("/etc/x").has_value());
}

TEST(EffectLogTest, HandsAHalfRunToTheOtherRunner) {
  CountingRunner whole;
  CountingRunner half;
  EffectLog log;
  EffectCommandRunner logged(&whole, &half, &log);
  EXPECT_TRUE(logged.Run(Any()).ok());
  log.CrashAt(1, CrashPoint::kDuring);
  EXPECT_FALSE(logged.Run(Any()).ok());
  EXPECT_FALSE(logged.Run(Any()).ok());
  EXPECT_EQ(whole.runs, 1);
  EXPECT_EQ(half.runs, 1);
  EXPECT_EQ(log.effects()[0], "run /bin/true x");
}

}  // namespace
}  // namespace clusterd
