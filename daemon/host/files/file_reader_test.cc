#include "daemon/host/files/file_reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class FileReaderTest : public testing::Test {
 protected:
  ScratchRoot root_;
  const FileReader files_{root_.path()};
};

TEST_F(FileReaderTest, ReadsTextAndModeAndTrims) {
  root_.Write("/etc/hccn.conf", "address_0=1\n", 0640);
  const auto file = files_.Read("/etc/hccn.conf").value();
  EXPECT_EQ(file.text, "address_0=1\n");
  EXPECT_EQ(file.mode, 0640u);
  root_.Write("/number", " 65535\n");
  EXPECT_EQ(*files_.ReadTrimmed("/number"), "65535");
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

// A reader of /etc/hccn.conf beside another writer.
class ReadSharedTest : public testing::Test {
 protected:
  void Begin(const std::string& text, bool locked = true) {
    root_.Write("/etc/hccn.conf", text, 0640);
    other_.emplace(root_);
    EXPECT_TRUE(!locked || other_->Lock());
  }
  absl::StatusOr<FileText> Read() {
    return FileReader(root_.path())
        .ReadShared("/etc/hccn.conf", &*other_, absl::Milliseconds(500));
  }

  ScratchRoot root_;
  std::optional<OtherWriter> other_;
};

TEST_F(ReadSharedTest, SeesNoFileBetweenTheToolsCutAndItsWrite) {
  Begin("mtu_0=1500\n");
  other_->Write("");
  other_->meanwhile = [this] {
    if (other_->waits != 3) return;
    other_->Write("mtu_0=9000\n");
    other_->Unlock();
  };
  const auto file = Read().value();
  EXPECT_EQ(file.text, "mtu_0=9000\n");
  EXPECT_EQ(file.mode, 0640u);
  // The reader has released its lock.
  EXPECT_TRUE(other_->Lock());
}

TEST_F(ReadSharedTest, ReadsOnWhereSomebodyHoldsTheLockForEver) {
  Begin("mtu_0=1500\n");
  EXPECT_EQ(Read().value().text, "mtu_0=1500\n");
  EXPECT_LE(other_->Monotonic(), absl::Seconds(1));
}

TEST_F(ReadSharedTest, TakesNoFileForEmptyWhileItsWriterHoldsTheLock) {
  Begin("");
  EXPECT_EQ(Read().status(), AbortedWords("fact-lock-held", "/etc/hccn.conf"));
  other_->Unlock();
  EXPECT_EQ(Read()->text, "");
}

TEST_F(ReadSharedTest, BelievesNoSingleReadWithoutTheLock) {
  Begin("");
  // Runs after the wait for the lock, between the first two reads.
  other_->meanwhile = [this] {
    if (other_->Monotonic() > absl::Milliseconds(500)) {
      other_->Write("mtu_0=9000\n");
    }
  };
  EXPECT_EQ(Read()->text, "mtu_0=9000\n");
  // Writes another text each time.
  other_->meanwhile = [this] {
    other_->Write(std::string(static_cast<size_t>(other_->waits), 'x'));
  };
  EXPECT_TRUE(absl::IsAborted(Read().status()));
}

TEST_F(ReadSharedTest, WaitsForNobodyWhereNobodyHoldsTheLock) {
  Begin("mtu_0=1500\n", /*locked=*/false);
  EXPECT_EQ(Read()->text, "mtu_0=1500\n");
  EXPECT_EQ(other_->waits, 0);
}

TEST_F(FileReaderTest, ReadsTheRealRoot) {
  EXPECT_TRUE(FileReader("/").Read("/proc/self/stat").ok());
  EXPECT_EQ(FileReader("/").Resolve("/etc"), "/etc");
}

TEST_F(FileReaderTest, TellsAbsentFromUnreadable) {
  root_.MakeFolder("/etc/hccn.conf");
  const absl::Status absent = files_.Read("/etc/none").status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(absent.message()), StartsWith("/etc/none: "));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(files_.Read("/etc/hccn.conf").status()));
  EXPECT_TRUE(absl::IsNotFound(files_.Read("/none/hccn.conf").status()));
  // A link to nothing exists.
  root_.Link("/link", "/nowhere");
  EXPECT_TRUE(files_.CheckExists("/link").ok());
  EXPECT_EQ(files_.CheckExists("/none").code(), absl::StatusCode::kNotFound);
}

TEST_F(FileReaderTest, TellsWhatIsNotPermitted) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  root_.Write("/etc/secret", "x", 0000);
  EXPECT_TRUE(absl::IsPermissionDenied(files_.Read("/etc/secret").status()));
}

TEST_F(FileReaderTest, DoesNotWaitForAFifo) {
  root_.MakeFolder("/etc");
  ASSERT_EQ(mkfifo((root_.path() + "/etc/fifo").c_str(), 0644), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(files_.Read("/etc/fifo").status()));
}

TEST_F(FileReaderTest, StopsAtItsBound) {
  root_.Write("/big", std::string(101, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(files_.Read("/big", 100).status()));
  EXPECT_TRUE(files_.Read("/big", 101).ok());
}

TEST_F(FileReaderTest, FollowsLinksInsideItsRootAlone) {
  root_.Write("/usr/lib/os-release", "NAME=x\n");
  root_.Link("/etc/os-release", "../usr/lib/os-release");
  EXPECT_TRUE(files_.Read("/etc/os-release").ok());
  root_.Link("/etc/passwd", "/etc/passwd");
  root_.Link("/folder", "/etc");
  EXPECT_TRUE(absl::IsPermissionDenied(files_.Read("/etc/passwd").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(files_.Read("/folder/passwd").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(files_.List("/folder").status()));
}

TEST_F(FileReaderTest, VisitsLinesAcrossItsBuffer) {
  const std::string longer(40000, 'a');
  root_.Write("/lines", longer + "\n" + longer + "\n\nlast");
  std::vector<size_t> sizes;
  const absl::Status read =
      files_.ReadLines("/lines", [&](absl::string_view line) {
        sizes.push_back(line.size());
        return absl::OkStatus();
      });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_THAT(sizes, ElementsAre(40000, 40000, 0, 4));
}

TEST_F(FileReaderTest, StopsVisitingLinesAtAnErrorOrALineWithoutEnd) {
  root_.Write("/lines", "1\n2\n3\n");
  int visited = 0;
  const auto visit = [&](absl::string_view) {
    return ++visited < 2 ? absl::OkStatus() : absl::AbortedError("enough");
  };
  EXPECT_EQ(files_.ReadLines("/lines", visit),
            absl::AbortedError("/lines: enough"));
  EXPECT_EQ(visited, 2);
  root_.Write("/line", std::string(1 << 20, 'x'));
  EXPECT_EQ(files_.ReadLines("/line", visit).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(FileReaderTest, ListsSortedNames) {
  root_.Write("/d/b", "");
  root_.Write("/d/a", "");
  root_.MakeFolder("/d/c");
  root_.MakeFolder("/empty");
  EXPECT_THAT(*files_.List("/d"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*files_.List("/empty"), IsEmpty());
  EXPECT_EQ(files_.List("/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::IsFailedPrecondition(files_.List("/d/a").status()));
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
  EXPECT_EQ(*files_.ReadLink("/proc/7/fd/3"), "socket:[12345]");
  EXPECT_TRUE(absl::IsFailedPrecondition(files_.ReadLink("/file").status()));
  EXPECT_TRUE(absl::IsNotFound(files_.ReadLink("/none").status()));
}

TEST(MissingForTest, TurnsCodesIntoReasonsAndKeepsTheMessage) {
  const std::pair<absl::StatusCode, Missing::Reason> kReasons[] = {
      {absl::StatusCode::kNotFound, Missing::ABSENT},
      {absl::StatusCode::kPermissionDenied, Missing::NOT_PERMITTED},
      {absl::StatusCode::kDeadlineExceeded, Missing::TIMED_OUT},
      {absl::StatusCode::kUnavailable, Missing::TOOL_FAILED},
      {absl::StatusCode::kUnimplemented, Missing::NOT_SUPPORTED},
      {absl::StatusCode::kCancelled, Missing::NOT_QUERIED},
      {absl::StatusCode::kInvalidArgument, Missing::UNREADABLE},
      {absl::StatusCode::kResourceExhausted, Missing::UNREADABLE}};
  for (const auto& [code, reason] : kReasons) {
    const Missing missing = MissingFor(absl::Status(code, "/x: gone"));
    EXPECT_EQ(missing.reason(), reason) << code;
    EXPECT_EQ(missing.detail(), "/x: gone");
  }
}

TEST(MakeMissingTest, MakesTheDetailPrintableAndShort) {
  const Missing missing =
      MakeMissing(Missing::BUSY, "\xff\n" + std::string(1000, 'x'));
  EXPECT_EQ(missing.detail().substr(0, 6), "\\xff\\n");
  EXPECT_LT(missing.detail().size(), 520u);
}

TEST(MissingForTest, KeepsTheWordsOfAnErrorBesideTheText) {
  const absl::Status error =
      UnavailableWords("about", "npu-smi", ToFindingValue("no answer"));
  const Missing missing = MissingFor(error);
  EXPECT_EQ(missing.detail(), "npu-smi: no answer");
  EXPECT_EQ(missing.detail_words().words(), "about");
  EXPECT_FALSE(MissingFor(absl::UnavailableError("x")).has_detail_words());
}

TEST(MakeMissingTest, KeepsWordsForAnotherLanguageAndMakesThemPrintable) {
  const Missing missing =
      MakeMissing(Missing::NOT_SUPPORTED, Worded("fact-ufw-no-zones"));
  EXPECT_EQ(WhyMissing(missing), "not supported: ufw has no zones");
  const Missing hostile =
      MakeMissing(Missing::UNREADABLE, Worded("fact-no-file", "\xff\n"));
  EXPECT_EQ(hostile.detail(), "\\xff\\n: not a regular file");
  EXPECT_EQ(hostile.detail_words().values(0).text(), "\\xff\\n");
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(WhyMissing(missing), "不支持：ufw 没有区域");
}

TEST(MakeMissingTest, CountsTheTimesInWords) {
  const FindingValue busy = ToFindingValue("`hccn_tool -i 3 -link -g`: busy");
  EXPECT_EQ(EnglishText(Worded("fact-asked-times", 1, busy)),
            "`hccn_tool -i 3 -link -g`: busy, asked 1 time");
  EXPECT_EQ(EnglishText(Worded("fact-asked-times", 3, busy)),
            "`hccn_tool -i 3 -link -g`: busy, asked 3 times");
}

TEST(SetMissingTest, ReplacesAValue) {
  NumberFact fact;
  fact.set_value(1);
  SetMissing(MakeMissing(Missing::ABSENT, "x"), &fact);
  EXPECT_FALSE(fact.has_value());
  EXPECT_EQ(fact.missing().reason(), Missing::ABSENT);
}

std::string ReadTestData(const std::string& name) {
  return TestData("tests/testdata/host/info/" + name);
}

TEST(ParseInstallPathTest, ReadsThePathOrFallsBackToTheDefault) {
  const std::pair<std::string, const char*> kPaths[] = {
      {ReadTestData("ascend_install.info"), "/usr/local/Ascend"},
      {"Driver_Install_Path_Param=/opt/npu/\n", "/opt/npu"},
      {"", "/usr/local/Ascend"},
      {"Firmware_Install_Path_Param=/x\n", "/usr/local/Ascend"}};
  for (const auto& [text, path] : kPaths) {
    EXPECT_EQ(*ParseInstallPath(text), path) << text;
  }
}

TEST(ParseInstallPathTest, RejectsPathsThatLeadElsewhere) {
  for (const char* path : {"", "opt/npu", "/opt/../tmp", "/opt/\x01npu"}) {
    const absl::Status status =
        ParseInstallPath(std::string("Driver_Install_Path_Param=") + path)
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(status.message()), HasSubstr("absolute path"));
  }
}

TEST(ParseInfoValueTest, ReadsTheFirstVersionAndANameWithoutItsQuotes) {
  const std::pair<std::string, const char*> kVersions[] = {
      {ReadTestData("version.info"), "23.0.7"},
      {"Version=7.1.0.11.220\ncompatible_version_drv=[23]\n", "7.1.0.11.220"}};
  for (const auto& [text, version] : kVersions) {
    EXPECT_EQ(*ParseInfoValue(text, "Version"), version);
  }
  for (const char* text : {"", "Version=\n", "version=1\n", "package=1\n"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(ParseInfoValue(text, "Version").status()))
        << text;
  }
  const std::pair<std::string, const char*> kNames[] = {
      {ReadTestData("os-release"), "Debian GNU/Linux 12 (bookworm)"},
      {"PRETTY_NAME='Kylin V10'\n", "Kylin V10"},
      {"PRETTY_NAME=Void\n", "Void"},
      {"PRETTY_NAME=\"a\x1b[2J\"\n", "a\\x1b[2J"}};
  for (const auto& [text, name] : kNames) {
    EXPECT_EQ(*ParseInfoValue(text, "PRETTY_NAME"), name);
  }
}

}  // namespace
}  // namespace clusterd
