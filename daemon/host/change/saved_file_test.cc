#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "daemon/host/change/file_system.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/host/effect_log.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

constexpr char kPath[] = "/etc/sysctl.d/90-clusterd.conf";

class SaveFileTest : public testing::Test {
 protected:
  absl::Status Replace(const std::string& text) {
    return ReplaceFile(issuer_.token(), &files_, kPath, text);
  }
  absl::Status Restore(const SavedFile& saved) {
    return RestoreFile(issuer_.token(), &files_, saved);
  }

  FakeFileSystem files_;
  MutationTokenIssuer issuer_;
};
using ReplaceFileTest = SaveFileTest;
using RestoreFileTest = SaveFileTest;

TEST_F(SaveFileTest, KeepsContentOwnerAndMode) {
  files_.Put(kPath, "text\n", 0640, 3, 4);
  const auto saved = SaveFile(&files_, kPath).value();
  EXPECT_TRUE(saved.existed());
  EXPECT_EQ(saved.content(), "text\n");
  EXPECT_EQ(saved.mode(), 0640u);
  EXPECT_EQ(saved.uid(), 3u);
  EXPECT_FALSE(SaveFile(&files_, "/etc/none")->existed());
}

TEST_F(SaveFileTest, RefusesALinkBecauseARenameWouldReplaceIt) {
  files_.PutLink(kPath);
  const absl::Status status = SaveFile(&files_, kPath).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status, HasText(kPath));
}

TEST_F(ReplaceFileTest, WritesBesideSyncsRenamesAndSyncsTheFolder) {
  files_.Put(kPath, "old", 0640, 3, 4);
  EffectLog log;
  EffectFileSystem logged(&files_, &log);
  ASSERT_TRUE(ReplaceFile(issuer_.token(), &logged, kPath, "new").ok());
  const std::string temporary = TemporaryOf(kPath);
  EXPECT_EQ(
      log.effects(),
      (std::vector<std::string>{
          "create " + temporary, "write " + temporary, "chown " + temporary,
          "chmod " + temporary, "sync " + temporary,
          std::string("rename to ") + kPath, "sync folder /etc/sysctl.d"}));
  EXPECT_EQ(files_.Snapshot({}).at(kPath), "0640 3:4 new");
}

TEST_F(ReplaceFileTest, IsOldOrNewAfterAPowerCutAnywhere) {
  for (size_t effect = 0; effect < 7; ++effect) {
    for (const CrashPoint point :
         {CrashPoint::kBefore, CrashPoint::kDuring, CrashPoint::kAfter}) {
      FakeFileSystem files;
      files.Put(kPath, "old");
      EffectLog log;
      log.CrashAt(effect, point);
      EffectFileSystem logged(&files, &log);
      (void)ReplaceFile(issuer_.token(), &logged, kPath, "new");
      ASSERT_TRUE(log.dead());
      files.LosePower();
      const std::string now = *files.Content(kPath);
      EXPECT_TRUE(now == "old" || now == "new") << effect << ": " << now;
    }
  }
}

TEST_F(ReplaceFileTest, LeavesTheOldFileAndNoTemporaryOnAFullDisk) {
  files_.Put(kPath, "old");
  files_.SetFreeBytes(2);
  EXPECT_TRUE(absl::IsResourceExhausted(Replace("longer text")));
  EXPECT_EQ(*files_.Content(kPath), "old");
  EXPECT_FALSE(files_.Content(TemporaryOf(kPath)).has_value());
}

TEST_F(ReplaceFileTest, OverwritesATemporaryThatACrashLeft) {
  files_.Put(TemporaryOf(kPath), "half");
  ASSERT_TRUE(Replace("new").ok());
  EXPECT_EQ(files_.Snapshot({}).at(kPath), "0644 0:0 new");
  EXPECT_FALSE(files_.Content(TemporaryOf(kPath)).has_value());
}

TEST_F(RestoreFileTest, RemovesAFileThatWasNotThere) {
  files_.PutFolder("/etc/sysctl.d");
  const SavedFile saved = *SaveFile(&files_, kPath);
  files_.Put(kPath, "new");
  ASSERT_TRUE(Restore(saved).ok());
  EXPECT_FALSE(files_.Content(kPath).has_value());
  ASSERT_TRUE(Restore(saved).ok());
}

TEST_F(RestoreFileTest, BringsBackContentOwnerAndMode) {
  files_.Put(kPath, "old", 0600, 1, 2);
  const SavedFile saved = *SaveFile(&files_, kPath);
  files_.Put(kPath, "new", 0644, 0, 0);
  ASSERT_TRUE(Restore(saved).ok());
  EXPECT_EQ(files_.Snapshot({}).at(kPath), "0600 1:2 old");
}

constexpr char kConf[] = "/etc/hccn.conf";

class InPlaceFileTest : public testing::Test {
 protected:
  absl::Status Write(const std::string& text) {
    return file_.Edit(issuer_.token(), [&](absl::string_view) {
      return absl::StatusOr<std::string>(text);
    });
  }
  absl::Status Restore(const SavedFile& saved) {
    return file_.Restore(issuer_.token(), saved);
  }
  std::string Now() { return files_.Snapshot({}).at(kConf); }
  void PutLocked(const std::string& text) {
    files_.Put(kConf, text);
    files_.SetLockedElsewhere(kConf, true);
  }

  FakeFileSystem files_;
  FakeClock clock_;
  MutationTokenIssuer issuer_;
  InPlaceFile file_{&files_, &clock_, kConf, absl::Seconds(1)};
};

TEST_F(InPlaceFileTest, KeepsTheInodeTheOwnerAndTheMode) {
  files_.Put(kConf, "a much longer old text\n", 0640, 0, 12);
  const uint64_t inode = files_.Stat(kConf)->inode;
  ASSERT_TRUE(Write("new\n").ok());
  EXPECT_EQ(files_.Stat(kConf)->inode, inode);
  EXPECT_EQ(Now(), "0640 0:12 new\n");
}

TEST_F(InPlaceFileTest, GivesUpOnALockThatIsHeldTooLong) {
  PutLocked("old\n");
  const absl::Status status = Write("new\n");
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(status.message(), Tells("msg-step-locked-by-another", "1s"));
  EXPECT_EQ(*files_.Content(kConf), "old\n");
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

TEST_F(InPlaceFileTest, ReadsNothingThatIsHalfWritten) {
  constexpr char kWhole[] = "gateway_0=10.0.0.254\n";
  for (const bool save : {false, true}) {
    BusyClock clock;
    const InPlaceFile file(&files_, &clock, kConf, absl::Seconds(1));
    PutLocked("gateway_0=10.0");
    clock.on_sleep = [&] {
      auto writer = files_.Open(kConf, OpenMode::kReadWrite);
      ASSERT_TRUE((*writer)->WriteAt(14, ".0.254\n").ok());
      files_.SetLockedElsewhere(kConf, false);
    };
    if (save) {
      const auto saved = file.Save().value();
      EXPECT_EQ(saved.content(), kWhole);
    } else {
      EXPECT_EQ(file.Read().value_or("nothing"), kWhole);
    }
  }
}

TEST_F(InPlaceFileTest, ReadsNothingWhileTheLockIsHeld) {
  PutLocked("old\n");
  EXPECT_TRUE(absl::IsDeadlineExceeded(file_.Read().status()));
  // A process that holds it that long is not the tool, unless the tool hangs.
  EXPECT_EQ(file_.Save()->content(), "old\n");
  PutLocked("");
  EXPECT_TRUE(absl::IsDeadlineExceeded(file_.Save().status()));
}

TEST_F(InPlaceFileTest, GivesTheLockBack) {
  files_.Put(kConf, "old\n");
  ASSERT_TRUE(file_.Read().ok());
  ASSERT_TRUE(file_.Save().ok());
  ASSERT_TRUE(Write("new\n").ok());
  auto file = files_.Open(kConf, OpenMode::kReadWrite);
  EXPECT_TRUE(*(*file)->TryLock());
}

TEST_F(InPlaceFileTest, HandsOnTheErrorOfTheEditAndWritesNothing) {
  files_.Put(kConf, "old\n");
  const absl::Status status =
      file_.Edit(issuer_.token(), [](absl::string_view) {
        return absl::StatusOr<std::string>(absl::AbortedError("moved"));
      });
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_EQ(*files_.Content(kConf), "old\n");
}

TEST_F(InPlaceFileTest, DoesNotCreateAFileThatIsNotThere) {
  files_.PutFolder("/etc");
  EXPECT_TRUE(absl::IsNotFound(Write("new\n")));
  EXPECT_FALSE(files_.Content(kConf).has_value());
}

TEST_F(InPlaceFileTest, KeepsTheOldTextWhenTheDiskIsFull) {
  files_.Put(kConf, "old\n");
  files_.SetFreeBytes(0);
  EXPECT_TRUE(absl::IsResourceExhausted(Write("old\nand more\n")));
  // The part that fit is unchanged.
  EXPECT_EQ(*files_.Content(kConf), "old\n");
}

TEST_F(InPlaceFileTest, LeavesTheLockToNobodyElseDuringAnUndo) {
  files_.Put(kConf, "old\n", 0644, 0, 12);
  const SavedFile saved = *file_.Save();
  ASSERT_TRUE(Write("new\n").ok());
  files_.SetLockedElsewhere(kConf, true);
  ASSERT_TRUE(absl::IsDeadlineExceeded(Write("newer\n")));
  ASSERT_TRUE(file_.Guard(issuer_.token()).ok());
  EXPECT_EQ(Now(), "0600 0:12 new\n");
  EXPECT_TRUE(Write("newer\n").ok());
  ASSERT_TRUE(Restore(saved).ok());
  EXPECT_EQ(Now(), "0644 0:12 old\n");
}

// With a real lock, held by a process that has the file open for reading.
TEST_F(InPlaceFileTest, KeepsTheInodeUnlessSomebodyHasItOpen) {
  ScratchRoot root;
  root.Write(kConf, "text\n");
  const auto files = MakePosixFileSystem(root.path());
  InPlaceFile file(files.get(), &clock_, kConf, absl::Seconds(1));
  const uint64_t inode = files->Stat(kConf)->inode;
  if ((*files->Open(kConf, OpenMode::kReadWrite))->IsOpenElsewhere()) {
    GTEST_SKIP() << "no leases on this file system";
  }
  ASSERT_TRUE(file.Guard(issuer_.token()).ok());
  EXPECT_EQ(files->Stat(kConf)->inode, inode);
  EXPECT_EQ(files->Stat(kConf)->mode, 0600u);
  const int held = open((root.path() + kConf).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_SH), 0);
  EXPECT_TRUE(absl::IsDeadlineExceeded(file.Read().status()));
  ASSERT_TRUE(file.Guard(issuer_.token()).ok());
  EXPECT_NE(files->Stat(kConf)->inode, inode);
  EXPECT_EQ(file.Read().value_or(""), "text\n");
  close(held);
}

TEST_F(InPlaceFileTest, RestoreTouchesOnlyWhatDiffers) {
  const struct {
    uint32_t mode;
    uint32_t group;
    std::vector<std::string> effects;
  } cases[] = {{0640, 12, {"sync /etc/hccn.conf"}},
               {0640, 13, {"chown /etc/hccn.conf", "sync /etc/hccn.conf"}},
               {0600, 12, {"chmod /etc/hccn.conf", "sync /etc/hccn.conf"}}};
  for (const auto& [mode, group, effects] : cases) {
    files_.Put(kConf, "old\n", 0640, 0, 12);
    const SavedFile saved = *file_.Save();
    files_.Put(kConf, "old\n", mode, 0, group);
    EffectLog log;
    EffectFileSystem logged(&files_, &log);
    InPlaceFile file(&logged, &clock_, kConf, absl::Seconds(1));
    EXPECT_TRUE(file.Restore(issuer_.token(), saved).ok());
    EXPECT_EQ(log.effects(), effects);
    EXPECT_EQ(Now(), "0640 0:12 old\n");
  }
}

TEST_F(InPlaceFileTest, RestoresByteForByteAndCreatesWhatVanished) {
  files_.Put(kConf, "no newline", 0640, 0, 12);
  const SavedFile saved = *file_.Save();
  ASSERT_TRUE(Write("x\n").ok());
  ASSERT_TRUE(Restore(saved).ok());
  EXPECT_EQ(Now(), "0640 0:12 no newline");
  ASSERT_TRUE(files_.Remove(kConf).ok());
  ASSERT_TRUE(Restore(saved).ok());
  EXPECT_EQ(Now(), "0640 0:12 no newline");
}

}  // namespace
}  // namespace clusterd
