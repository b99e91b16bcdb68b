#include "daemon/host/change/in_place_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/host/effect_log.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_file_system.h"

namespace clusterd {
namespace {

constexpr char kPath[] = "/etc/hccn.conf";

struct Conf {
  FakeFileSystem files;
  FakeClock clock;
  MutationTokenIssuer issuer;
  InPlaceFile file{&files, &clock, kPath, absl::Seconds(1)};

  absl::Status Write(const std::string& text) {
    return file.Edit(issuer.token(), [&](absl::string_view) {
      return absl::StatusOr<std::string>(text);
    });
  }
};

TEST(InPlaceFileTest, KeepsTheInodeTheOwnerAndTheMode) {
  Conf conf;
  conf.files.Put(kPath, "a much longer old text\n", 0640, 0, 12);
  const uint64_t inode = conf.files.Stat(kPath)->inode;
  ASSERT_TRUE(conf.Write("new\n").ok());
  EXPECT_EQ(conf.files.Stat(kPath)->inode, inode);
  EXPECT_EQ(conf.files.Snapshot({}).at(kPath), "0640 0:12 new\n");
}

TEST(InPlaceFileTest, GivesUpOnALockThatIsHeldTooLong) {
  Conf conf;
  conf.files.Put(kPath, "old\n");
  conf.files.SetLockedElsewhere(kPath, true);
  const absl::Status status = conf.Write("new\n");
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_NE(status.message().find("locked by another process for 1s"),
            absl::string_view::npos);
  EXPECT_EQ(*conf.files.Content(kPath), "old\n");
}

// A clock on which something happens while somebody waits.
class BusyClock final : public Clock {
 public:
  absl::Time Now() override { return clock_.Now(); }
  absl::Duration Monotonic() override { return clock_.Monotonic(); }
  void SleepFor(absl::Duration duration) override {
    clock_.SleepFor(duration);
    if (on_sleep) on_sleep();
  }

  std::function<void()> on_sleep;

 private:
  FakeClock clock_;
};

TEST(InPlaceFileTest, ReadsNothingThatIsHalfWritten) {
  for (const bool save : {false, true}) {
    FakeFileSystem files;
    BusyClock clock;
    const InPlaceFile file(&files, &clock, kPath, absl::Seconds(1));
    files.Put(kPath, "gateway_0=10.0");
    files.SetLockedElsewhere(kPath, true);
    clock.on_sleep = [&] {
      auto writer = files.Open(kPath, OpenMode::kReadWrite);
      ASSERT_TRUE((*writer)->WriteAt(14, ".0.254\n").ok());
      files.SetLockedElsewhere(kPath, false);
    };
    if (save) {
      const auto saved = file.Save();
      ASSERT_TRUE(saved.ok()) << saved.status();
      EXPECT_EQ(saved->content(), "gateway_0=10.0.0.254\n");
    } else {
      EXPECT_EQ(file.Read().value_or("nothing"), "gateway_0=10.0.0.254\n");
    }
  }
}

TEST(InPlaceFileTest, ReadsNothingWhileTheLockIsHeld) {
  Conf conf;
  conf.files.Put(kPath, "old\n");
  conf.files.SetLockedElsewhere(kPath, true);
  EXPECT_TRUE(absl::IsDeadlineExceeded(conf.file.Read().status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(conf.file.Save().status()));
}

TEST(InPlaceFileTest, GivesTheLockBack) {
  Conf conf;
  conf.files.Put(kPath, "old\n");
  ASSERT_TRUE(conf.file.Read().ok());
  ASSERT_TRUE(conf.file.Save().ok());
  ASSERT_TRUE(conf.Write("new\n").ok());
  auto file = conf.files.Open(kPath, OpenMode::kReadWrite);
  EXPECT_TRUE(*(*file)->TryLock());
}

TEST(InPlaceFileTest, HandsOnTheErrorOfTheEditAndWritesNothing) {
  Conf conf;
  conf.files.Put(kPath, "old\n");
  const absl::Status status =
      conf.file.Edit(conf.issuer.token(), [](absl::string_view) {
        return absl::StatusOr<std::string>(absl::AbortedError("moved"));
      });
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_EQ(*conf.files.Content(kPath), "old\n");
}

TEST(InPlaceFileTest, DoesNotCreateAFileThatIsNotThere) {
  Conf conf;
  conf.files.PutFolder("/etc");
  EXPECT_TRUE(absl::IsNotFound(conf.Write("new\n")));
  EXPECT_FALSE(conf.files.Content(kPath).has_value());
}

TEST(InPlaceFileTest, KeepsTheOldTextWhenTheDiskIsFull) {
  Conf conf;
  conf.files.Put(kPath, "old\n");
  conf.files.SetFreeBytes(0);
  EXPECT_TRUE(absl::IsResourceExhausted(conf.Write("old\nand more\n")));
  // What did fit is the same text.
  EXPECT_EQ(*conf.files.Content(kPath), "old\n");
}

TEST(InPlaceFileTest, RestoreTouchesOnlyWhatDiffers) {
  const struct {
    uint32_t mode;
    uint32_t group;
    std::vector<std::string> effects;
  } cases[] = {
      {0640, 12, {"sync /etc/hccn.conf"}},
      {0640, 13, {"chown /etc/hccn.conf", "sync /etc/hccn.conf"}},
      {0600, 12, {"chmod /etc/hccn.conf", "sync /etc/hccn.conf"}},
  };
  for (const auto& [mode, group, effects] : cases) {
    Conf conf;
    conf.files.Put(kPath, "old\n", 0640, 0, 12);
    const SavedFile saved = *conf.file.Save();
    conf.files.Put(kPath, "old\n", mode, 0, group);
    EffectLog log;
    EffectFileSystem logged(&conf.files, &log);
    InPlaceFile file(&logged, &conf.clock, kPath, absl::Seconds(1));
    EXPECT_TRUE(file.Restore(conf.issuer.token(), saved).ok());
    EXPECT_EQ(log.effects(), effects);
    EXPECT_EQ(conf.files.Snapshot({}).at(kPath), "0640 0:12 old\n");
  }
}

TEST(InPlaceFileTest, RestoresByteForByteAndCreatesWhatVanished) {
  Conf conf;
  conf.files.Put(kPath, "no newline", 0640, 0, 12);
  const SavedFile saved = *conf.file.Save();
  ASSERT_TRUE(conf.Write("x\n").ok());
  ASSERT_TRUE(conf.file.Restore(conf.issuer.token(), saved).ok());
  EXPECT_EQ(conf.files.Snapshot({}).at(kPath), "0640 0:12 no newline");
  ASSERT_TRUE(conf.files.Remove(kPath).ok());
  ASSERT_TRUE(conf.file.Restore(conf.issuer.token(), saved).ok());
  EXPECT_EQ(conf.files.Snapshot({}).at(kPath), "0640 0:12 no newline");
}

}  // namespace
}  // namespace clusterd
