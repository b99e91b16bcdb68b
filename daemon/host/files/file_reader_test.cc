#include "daemon/host/files/file_reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class FileReaderTest : public testing::Test {
 protected:
  ScratchRoot root_;
};

TEST_F(FileReaderTest, ReadsTextAndMode) {
  root_.Write("/etc/hccn.conf", "address_0=1\n", 0640);
  const auto file = FileReader(root_.path()).Read("/etc/hccn.conf").value();
  EXPECT_EQ(file.text, "address_0=1\n");
  EXPECT_EQ(file.mode, 0640u);
}

// Another writer of /etc/hccn.conf, which proceeds whenever the reader waits.
class OtherWriter final : public Clock {
 public:
  explicit OtherWriter(const ScratchRoot& root)
      : path_(root.path() + "/etc/hccn.conf"),
        fd_(open(path_.c_str(), O_RDWR | O_CLOEXEC)) {}
  ~OtherWriter() override { close(fd_); }

  bool Lock() { return flock(fd_, LOCK_EX | LOCK_NB) == 0; }
  void Unlock() { flock(fd_, LOCK_UN); }
  void Write(const std::string& text) {
    ASSERT_EQ(ftruncate(fd_, 0), 0);
    ASSERT_EQ(pwrite(fd_, text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
  }

  absl::Time Now() override { return absl::UnixEpoch() + passed_; }
  absl::Duration Monotonic() override { return passed_; }
  void SleepFor(absl::Duration duration) override {
    passed_ += duration;
    ++waits;
    if (meanwhile) meanwhile();
  }

  int waits = 0;
  std::function<void()> meanwhile;

 private:
  const std::string path_;
  const int fd_;
  absl::Duration passed_ = absl::ZeroDuration();
};

absl::StatusOr<FileText> ReadShared(const ScratchRoot& root,
                                    OtherWriter* other) {
  return FileReader(root.path())
      .ReadShared("/etc/hccn.conf", other, absl::Milliseconds(500));
}

TEST(ReadSharedTest, SeesNoFileBetweenTheToolsCutAndItsWrite) {
  ScratchRoot root;
  root.Write("/etc/hccn.conf", "mtu_0=1500\n", 0640);
  OtherWriter tool(root);
  ASSERT_TRUE(tool.Lock());
  tool.Write("");
  tool.meanwhile = [&tool] {
    if (tool.waits != 3) return;
    tool.Write("mtu_0=9000\n");
    tool.Unlock();
  };
  const auto file = ReadShared(root, &tool).value();
  EXPECT_EQ(file.text, "mtu_0=9000\n");
  EXPECT_EQ(file.mode, 0640u);
  // The reader has released its lock.
  EXPECT_TRUE(tool.Lock());
}

TEST(ReadSharedTest, ReadsOnWhereSomebodyHoldsTheLockForEver) {
  ScratchRoot root;
  root.Write("/etc/hccn.conf", "mtu_0=1500\n");
  OtherWriter stuck(root);
  ASSERT_TRUE(stuck.Lock());
  const auto file = ReadShared(root, &stuck).value();
  EXPECT_EQ(file.text, "mtu_0=1500\n");
  EXPECT_LE(stuck.Monotonic(), absl::Seconds(1));
}

TEST(ReadSharedTest, TakesNoFileForEmptyWhileItsWriterHoldsTheLock) {
  ScratchRoot root;
  root.Write("/etc/hccn.conf", "");
  OtherWriter stuck(root);
  ASSERT_TRUE(stuck.Lock());
  EXPECT_EQ(ReadShared(root, &stuck).status(),
            AbortedWords("fact-lock-held", "/etc/hccn.conf"));
  stuck.Unlock();
  EXPECT_EQ(ReadShared(root, &stuck)->text, "");
}

TEST(ReadSharedTest, BelievesNoLookAloneWithoutTheLock) {
  ScratchRoot root;
  root.Write("/etc/hccn.conf", "");
  OtherWriter stuck(root);
  ASSERT_TRUE(stuck.Lock());
  // Runs after the wait for the lock, between the first two reads.
  stuck.meanwhile = [&stuck] {
    if (stuck.Monotonic() > absl::Milliseconds(500)) {
      stuck.Write("mtu_0=9000\n");
    }
  };
  EXPECT_EQ(ReadShared(root, &stuck)->text, "mtu_0=9000\n");
  // Writes another text each time.
  stuck.meanwhile = [&stuck] {
    stuck.Write(std::string(static_cast<size_t>(stuck.waits), 'x'));
  };
  EXPECT_TRUE(absl::IsAborted(ReadShared(root, &stuck).status()));
}

TEST(ReadSharedTest, WaitsForNobodyWhereNobodyHoldsTheLock) {
  ScratchRoot root;
  root.Write("/etc/hccn.conf", "mtu_0=1500\n");
  OtherWriter nobody(root);
  EXPECT_EQ(ReadShared(root, &nobody)->text, "mtu_0=1500\n");
  EXPECT_EQ(nobody.waits, 0);
}

TEST_F(FileReaderTest, ReadsTheRealRoot) {
  EXPECT_TRUE(FileReader("/").Read("/proc/self/stat").ok());
  EXPECT_EQ(FileReader("/").Resolve("/etc"), "/etc");
}

TEST_F(FileReaderTest, TellsAbsentFromUnreadable) {
  root_.MakeFolder("/etc/hccn.conf");
  const FileReader files(root_.path());
  const absl::Status absent = files.Read("/etc/none").status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(absent.message()), StartsWith("/etc/none: "));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(files.Read("/etc/hccn.conf").status()));
  EXPECT_TRUE(absl::IsNotFound(files.Read("/none/hccn.conf").status()));
}

TEST_F(FileReaderTest, TellsWhatIsNotPermitted) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  ScratchRoot root;
  root.Write("/etc/secret", "x", 0000);
  EXPECT_TRUE(absl::IsPermissionDenied(
      FileReader(root.path()).Read("/etc/secret").status()));
}

TEST_F(FileReaderTest, DoesNotWaitForAFifo) {
  root_.MakeFolder("/etc");
  ASSERT_EQ(mkfifo((root_.path() + "/etc/fifo").c_str(), 0644), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      FileReader(root_.path()).Read("/etc/fifo").status()));
}

TEST_F(FileReaderTest, StopsAtItsBound) {
  root_.Write("/big", std::string(101, 'x'));
  const FileReader files(root_.path());
  EXPECT_TRUE(absl::IsResourceExhausted(files.Read("/big", 100).status()));
  EXPECT_TRUE(files.Read("/big", 101).ok());
}

TEST_F(FileReaderTest, FollowsLinksInsideItsRoot) {
  root_.Write("/usr/lib/os-release", "NAME=x\n");
  root_.Link("/etc/os-release", "../usr/lib/os-release");
  EXPECT_TRUE(FileReader(root_.path()).Read("/etc/os-release").ok());
}

TEST_F(FileReaderTest, DoesNotFollowLinksOutOfItsRoot) {
  root_.Link("/etc/passwd", "/etc/passwd");
  root_.Link("/folder", "/etc");
  const FileReader files(root_.path());
  EXPECT_TRUE(absl::IsPermissionDenied(files.Read("/etc/passwd").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(files.Read("/folder/passwd").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(files.List("/folder").status()));
}

TEST_F(FileReaderTest, TrimsWhiteSpace) {
  root_.Write("/number", " 65535\n");
  EXPECT_EQ(*FileReader(root_.path()).ReadTrimmed("/number"), "65535");
}

TEST_F(FileReaderTest, VisitsLinesAcrossItsBuffer) {
  const std::string longer(40000, 'a');
  root_.Write("/lines", longer + "\n" + longer + "\n\nlast");
  std::vector<size_t> sizes;
  const absl::Status read =
      FileReader(root_.path()).ReadLines("/lines", [&](absl::string_view line) {
        sizes.push_back(line.size());
        return absl::OkStatus();
      });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_THAT(sizes, ElementsAre(40000, 40000, 0, 4));
}

TEST_F(FileReaderTest, StopsVisitingLinesAtAnError) {
  root_.Write("/lines", "1\n2\n3\n");
  int visited = 0;
  const absl::Status read =
      FileReader(root_.path()).ReadLines("/lines", [&](absl::string_view) {
        return ++visited < 2 ? absl::OkStatus() : absl::AbortedError("enough");
      });
  EXPECT_EQ(read, absl::AbortedError("/lines: enough"));
  EXPECT_EQ(visited, 2);
}

TEST_F(FileReaderTest, RejectsALineWithoutEnd) {
  root_.Write("/line", std::string(1 << 20, 'x'));
  EXPECT_EQ(FileReader(root_.path())
                .ReadLines("/line",
                           [](absl::string_view) { return absl::OkStatus(); })
                .code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(FileReaderTest, ListsSortedNames) {
  root_.Write("/d/b", "");
  root_.Write("/d/a", "");
  root_.MakeFolder("/d/c");
  root_.MakeFolder("/empty");
  const FileReader files(root_.path());
  EXPECT_THAT(*files.List("/d"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*files.List("/empty"), IsEmpty());
  EXPECT_EQ(files.List("/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::IsFailedPrecondition(files.List("/d/a").status()));
}

TEST_F(FileReaderTest, BoundsAFolderButNotTheListOfProcesses) {
  for (const char* name : {"1", "2", "3"}) {
    root_.Write(absl::StrCat("/many/", name), "");
    root_.Write(absl::StrCat("/proc/", name), "");
  }
  const FileReader files(root_.path(), /*max_names=*/2);
  EXPECT_TRUE(absl::IsResourceExhausted(files.List("/many").status()));
  EXPECT_EQ(files.List("/many", FileReader::Beyond::kLeftOut)->size(), 2u);
  EXPECT_EQ(files.List("/proc")->size(), 3u);
}

TEST_F(FileReaderTest, ReadsWhereALinkPoints) {
  root_.Link("/proc/7/fd/3", "socket:[12345]");
  root_.Write("/file", "");
  const FileReader files(root_.path());
  EXPECT_EQ(*files.ReadLink("/proc/7/fd/3"), "socket:[12345]");
  EXPECT_TRUE(absl::IsFailedPrecondition(files.ReadLink("/file").status()));
  EXPECT_TRUE(absl::IsNotFound(files.ReadLink("/none").status()));
}

TEST_F(FileReaderTest, SeesALinkToNothing) {
  root_.Link("/link", "/nowhere");
  const FileReader files(root_.path());
  EXPECT_TRUE(files.CheckExists("/link").ok());
  EXPECT_EQ(files.CheckExists("/none").code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace clusterd
