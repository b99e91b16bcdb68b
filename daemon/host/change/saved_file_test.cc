#include "daemon/host/change/saved_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/host/effect_log.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

constexpr char kPath[] = "/etc/sysctl.d/90-clusterd.conf";

TEST(SaveFileTest, KeepsContentOwnerAndMode) {
  FakeFileSystem files;
  files.Put(kPath, "text\n", 0640, 3, 4);
  const auto saved = SaveFile(&files, kPath);
  ASSERT_TRUE(saved.ok());
  EXPECT_TRUE(saved->existed());
  EXPECT_EQ(saved->content(), "text\n");
  EXPECT_EQ(saved->mode(), 0640u);
  EXPECT_EQ(saved->uid(), 3u);
  EXPECT_FALSE(SaveFile(&files, "/etc/none")->existed());
}

TEST(SaveFileTest, RefusesALinkBecauseARenameWouldReplaceIt) {
  FakeFileSystem files;
  files.PutLink(kPath);
  const absl::Status status = SaveFile(&files, kPath).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find(kPath), absl::string_view::npos);
}

TEST(ReplaceFileTest, WritesBesideSyncsRenamesAndSyncsTheFolder) {
  FakeFileSystem files;
  files.Put(kPath, "old", 0640, 3, 4);
  EffectLog log;
  EffectFileSystem logged(&files, &log);
  MutationTokenIssuer issuer;
  ASSERT_TRUE(ReplaceFile(issuer.token(), &logged, kPath, "new").ok());
  const std::string temporary = TemporaryOf(kPath);
  EXPECT_EQ(
      log.effects(),
      (std::vector<std::string>{
          "create " + temporary, "write " + temporary, "chown " + temporary,
          "chmod " + temporary, "sync " + temporary,
          std::string("rename to ") + kPath, "sync folder /etc/sysctl.d"}));
  EXPECT_EQ(files.Snapshot({}).at(kPath), "0640 3:4 new");
}

TEST(ReplaceFileTest, IsOldOrNewAfterAPowerCutAnywhere) {
  for (size_t effect = 0; effect < 7; ++effect) {
    for (const CrashPoint point :
         {CrashPoint::kBefore, CrashPoint::kDuring, CrashPoint::kAfter}) {
      FakeFileSystem files;
      files.Put(kPath, "old");
      EffectLog log;
      log.CrashAt(effect, point);
      EffectFileSystem logged(&files, &log);
      MutationTokenIssuer issuer;
      (void)ReplaceFile(issuer.token(), &logged, kPath, "new");
      ASSERT_TRUE(log.dead());
      files.LosePower();
      const std::string now = *files.Content(kPath);
      EXPECT_TRUE(now == "old" || now == "new") << effect << ": " << now;
    }
  }
}

TEST(ReplaceFileTest, LeavesTheOldFileAndNoTemporaryOnAFullDisk) {
  FakeFileSystem files;
  files.Put(kPath, "old");
  files.SetFreeBytes(2);
  MutationTokenIssuer issuer;
  EXPECT_TRUE(absl::IsResourceExhausted(
      ReplaceFile(issuer.token(), &files, kPath, "longer text")));
  EXPECT_EQ(*files.Content(kPath), "old");
  EXPECT_FALSE(files.Content(TemporaryOf(kPath)).has_value());
}

TEST(ReplaceFileTest, OverwritesATemporaryThatACrashLeft) {
  FakeFileSystem files;
  files.Put(TemporaryOf(kPath), "half");
  MutationTokenIssuer issuer;
  ASSERT_TRUE(ReplaceFile(issuer.token(), &files, kPath, "new").ok());
  EXPECT_EQ(files.Snapshot({}).at(kPath), "0644 0:0 new");
  EXPECT_FALSE(files.Content(TemporaryOf(kPath)).has_value());
}

TEST(RestoreFileTest, RemovesAFileThatWasNotThere) {
  FakeFileSystem files;
  files.PutFolder("/etc/sysctl.d");
  const SavedFile saved = *SaveFile(&files, kPath);
  files.Put(kPath, "new");
  MutationTokenIssuer issuer;
  ASSERT_TRUE(RestoreFile(issuer.token(), &files, saved).ok());
  EXPECT_FALSE(files.Content(kPath).has_value());
  ASSERT_TRUE(RestoreFile(issuer.token(), &files, saved).ok());
}

TEST(RestoreFileTest, BringsBackContentOwnerAndMode) {
  FakeFileSystem files;
  files.Put(kPath, "old", 0600, 1, 2);
  const SavedFile saved = *SaveFile(&files, kPath);
  files.Put(kPath, "new", 0644, 0, 0);
  MutationTokenIssuer issuer;
  ASSERT_TRUE(RestoreFile(issuer.token(), &files, saved).ok());
  EXPECT_EQ(files.Snapshot({}).at(kPath), "0600 1:2 old");
}

constexpr char kConf[] = "/etc/hccn.conf";

struct Conf {
  FakeFileSystem files;
  FakeClock clock;
  MutationTokenIssuer issuer;
  InPlaceFile file{&files, &clock, kConf, absl::Seconds(1)};

  absl::Status Write(const std::string& text) {
    return file.Edit(issuer.token(), [&](absl::string_view) {
      return absl::StatusOr<std::string>(text);
    });
  }
};

TEST(InPlaceFileTest, KeepsTheInodeTheOwnerAndTheMode) {
  Conf conf;
  conf.files.Put(kConf, "a much longer old text\n", 0640, 0, 12);
  const uint64_t inode = conf.files.Stat(kConf)->inode;
  ASSERT_TRUE(conf.Write("new\n").ok());
  EXPECT_EQ(conf.files.Stat(kConf)->inode, inode);
  EXPECT_EQ(conf.files.Snapshot({}).at(kConf), "0640 0:12 new\n");
}

TEST(InPlaceFileTest, GivesUpOnALockThatIsHeldTooLong) {
  Conf conf;
  conf.files.Put(kConf, "old\n");
  conf.files.SetLockedElsewhere(kConf, true);
  const absl::Status status = conf.Write("new\n");
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(status.message(), Tells("msg-step-locked-by-another", "1s"));
  EXPECT_EQ(*conf.files.Content(kConf), "old\n");
}

// A clock that runs a callback during each wait.
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
    const InPlaceFile file(&files, &clock, kConf, absl::Seconds(1));
    files.Put(kConf, "gateway_0=10.0");
    files.SetLockedElsewhere(kConf, true);
    clock.on_sleep = [&] {
      auto writer = files.Open(kConf, OpenMode::kReadWrite);
      ASSERT_TRUE((*writer)->WriteAt(14, ".0.254\n").ok());
      files.SetLockedElsewhere(kConf, false);
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
  conf.files.Put(kConf, "old\n");
  conf.files.SetLockedElsewhere(kConf, true);
  EXPECT_TRUE(absl::IsDeadlineExceeded(conf.file.Read().status()));
  // A process that holds it that long is not the tool, unless the tool hangs.
  EXPECT_EQ(conf.file.Save()->content(), "old\n");
  conf.files.Put(kConf, "");
  conf.files.SetLockedElsewhere(kConf, true);
  EXPECT_TRUE(absl::IsDeadlineExceeded(conf.file.Save().status()));
}

TEST(InPlaceFileTest, GivesTheLockBack) {
  Conf conf;
  conf.files.Put(kConf, "old\n");
  ASSERT_TRUE(conf.file.Read().ok());
  ASSERT_TRUE(conf.file.Save().ok());
  ASSERT_TRUE(conf.Write("new\n").ok());
  auto file = conf.files.Open(kConf, OpenMode::kReadWrite);
  EXPECT_TRUE(*(*file)->TryLock());
}

TEST(InPlaceFileTest, HandsOnTheErrorOfTheEditAndWritesNothing) {
  Conf conf;
  conf.files.Put(kConf, "old\n");
  const absl::Status status =
      conf.file.Edit(conf.issuer.token(), [](absl::string_view) {
        return absl::StatusOr<std::string>(absl::AbortedError("moved"));
      });
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_EQ(*conf.files.Content(kConf), "old\n");
}

TEST(InPlaceFileTest, DoesNotCreateAFileThatIsNotThere) {
  Conf conf;
  conf.files.PutFolder("/etc");
  EXPECT_TRUE(absl::IsNotFound(conf.Write("new\n")));
  EXPECT_FALSE(conf.files.Content(kConf).has_value());
}

TEST(InPlaceFileTest, KeepsTheOldTextWhenTheDiskIsFull) {
  Conf conf;
  conf.files.Put(kConf, "old\n");
  conf.files.SetFreeBytes(0);
  EXPECT_TRUE(absl::IsResourceExhausted(conf.Write("old\nand more\n")));
  // The part that fit is unchanged.
  EXPECT_EQ(*conf.files.Content(kConf), "old\n");
}

TEST(InPlaceFileTest, LeavesTheLockToNobodyElseDuringAnUndo) {
  Conf conf;
  conf.files.Put(kConf, "old\n", 0644, 0, 12);
  const SavedFile saved = *conf.file.Save();
  ASSERT_TRUE(conf.Write("new\n").ok());
  conf.files.SetLockedElsewhere(kConf, true);
  ASSERT_TRUE(absl::IsDeadlineExceeded(conf.Write("newer\n")));
  ASSERT_TRUE(conf.file.Guard(conf.issuer.token()).ok());
  EXPECT_EQ(conf.files.Snapshot({}).at(kConf), "0600 0:12 new\n");
  EXPECT_TRUE(conf.Write("newer\n").ok());
  ASSERT_TRUE(conf.file.Restore(conf.issuer.token(), saved).ok());
  EXPECT_EQ(conf.files.Snapshot({}).at(kConf), "0644 0:12 old\n");
}

// With a real lock, held by a process that has the file open for reading.
TEST(InPlaceFileTest, KeepsTheInodeUnlessSomebodyHasItOpen) {
  ScratchRoot root;
  root.Write(kConf, "text\n");
  const auto files = MakePosixFileSystem(root.path());
  FakeClock clock;
  MutationTokenIssuer issuer;
  InPlaceFile file(files.get(), &clock, kConf, absl::Seconds(1));
  const uint64_t inode = files->Stat(kConf)->inode;
  if ((*files->Open(kConf, OpenMode::kReadWrite))->IsOpenElsewhere()) {
    GTEST_SKIP() << "no leases on this file system";
  }
  ASSERT_TRUE(file.Guard(issuer.token()).ok());
  EXPECT_EQ(files->Stat(kConf)->inode, inode);
  EXPECT_EQ(files->Stat(kConf)->mode, 0600u);
  const int held = open((root.path() + kConf).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_SH), 0);
  EXPECT_TRUE(absl::IsDeadlineExceeded(file.Read().status()));
  ASSERT_TRUE(file.Guard(issuer.token()).ok());
  EXPECT_NE(files->Stat(kConf)->inode, inode);
  EXPECT_EQ(file.Read().value_or(""), "text\n");
  close(held);
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
    conf.files.Put(kConf, "old\n", 0640, 0, 12);
    const SavedFile saved = *conf.file.Save();
    conf.files.Put(kConf, "old\n", mode, 0, group);
    EffectLog log;
    EffectFileSystem logged(&conf.files, &log);
    InPlaceFile file(&logged, &conf.clock, kConf, absl::Seconds(1));
    EXPECT_TRUE(file.Restore(conf.issuer.token(), saved).ok());
    EXPECT_EQ(log.effects(), effects);
    EXPECT_EQ(conf.files.Snapshot({}).at(kConf), "0640 0:12 old\n");
  }
}

TEST(InPlaceFileTest, RestoresByteForByteAndCreatesWhatVanished) {
  Conf conf;
  conf.files.Put(kConf, "no newline", 0640, 0, 12);
  const SavedFile saved = *conf.file.Save();
  ASSERT_TRUE(conf.Write("x\n").ok());
  ASSERT_TRUE(conf.file.Restore(conf.issuer.token(), saved).ok());
  EXPECT_EQ(conf.files.Snapshot({}).at(kConf), "0640 0:12 no newline");
  ASSERT_TRUE(conf.files.Remove(kConf).ok());
  ASSERT_TRUE(conf.file.Restore(conf.issuer.token(), saved).ok());
  EXPECT_EQ(conf.files.Snapshot({}).at(kConf), "0640 0:12 no newline");
}

}  // namespace
}  // namespace clusterd
