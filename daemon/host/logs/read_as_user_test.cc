// Runs real `find` and `tail` as another user, which needs root outside a user
// namespace; otherwise as the test's own user.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/logs/read_logs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/user_machine.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kLogs[] = "/home/ann/ascend/log";
constexpr char kPlog[] = "/home/ann/ascend/log/debug/plog";

// A machine with one user, ann, whose folder the test fills.
class ReadAsUserTest : public UserMachineTest {
 protected:
  ReadAsUserTest() : UserMachineTest({"find", "tail", "gzip"}) {
    root_.MakeFolder(kPlog);
    root_.MakeFolder("/proc");
    query_.set_user("ann");
  }

  void Own(absl::string_view path) {
    ASSERT_EQ(lchown(Full(path).c_str(), user_, group_), 0);
  }
  void Write(const std::string& name, absl::string_view text) {
    root_.Write(absl::StrCat(kPlog, "/", name), text, 0600);
    Own(absl::StrCat(kPlog, "/", name));
  }
  HostLogs Read() {
    for (const char* folder : {"/home/ann", "/home/ann/ascend", kLogs,
                               "/home/ann/ascend/log/debug", kPlog}) {
      Own(folder);
    }
    return ReadWithoutOwners(query_);
  }
  HostLogs ReadWithoutOwners(const LogsQuery& query) {
    const TimeBudget budget(&clock_, kPatience, kPatience);
    return ReadHostLogs({root_.paths(), &runner_, &budget}, query);
  }
  void RemoveLogs() {
    for (const char* folder : {kPlog, "/home/ann/ascend/log/debug", kLogs}) {
      root_.Remove(folder);
    }
  }
  static std::string NotRead(absl::string_view why) {
    return absl::StrCat(kLogs, ": not read as ann: ", why);
  }

  LogsQuery query_;
};

TEST_F(ReadAsUserTest, FindsCodesWithFileAndLine) {
  Write("plog-1.log", "fine\n[ERROR] HCCL EI0006: Getting socket times out\n");
  Write("plog-2.txt", "EI0009\n");
  const HostLogs logs = Read();
  EXPECT_FALSE(logs.has_missing()) << logs.DebugString();
  ASSERT_THAT(logs.hits(), SizeIs(1)) << logs.DebugString();
  EXPECT_EQ(logs.hits(0).code(), "EI0006");
  EXPECT_EQ(logs.hits(0).line(), 2);
  EXPECT_EQ(logs.hits(0).file(), absl::StrCat(kPlog, "/plog-1.log"));
  EXPECT_THAT(logs.folders(), ElementsAre(HasSubstr("(ann; home of ann)")));
  EXPECT_EQ(logs.files(0).user(), "ann");
  EXPECT_THAT(logs.files(0).content(), IsEmpty());
}

TEST_F(ReadAsUserTest, ReadsNeitherLinksNorPipesNorWhatTheUserMayNot) {
  root_.Write("/secret.log", "EI0001 the secret\n", 0600);
  root_.Link(absl::StrCat(kPlog, "/link.log"), Full("/secret.log"));
  root_.Link(absl::StrCat(kPlog, "/folder.log"), Full("/"));
  ASSERT_EQ(mkfifo(Full(absl::StrCat(kPlog, "/pipe.log")).c_str(), 0666), 0);
  root_.Write(absl::StrCat(kPlog, "/root.log"), "EI0002 the secret\n", 0600);
  query_.set_max_sent_bytes(1 << 20);
  const HostLogs logs = Read();
  if (geteuid() == 0) {
    EXPECT_THAT(logs.DebugString(), Not(HasSubstr("the secret")));
    ASSERT_THAT(logs.files(), SizeIs(1));
    EXPECT_THAT(logs.files(0).cut(), HasSubstr("Permission denied"));
  }
  EXPECT_THAT(logs.DebugString(), Not(HasSubstr("EI0001")));
}

TEST_F(ReadAsUserTest, AFolderThatIsALinkShowsOnlyWhatTheUserMayRead) {
  if (geteuid() != 0) GTEST_SKIP() << "everything here is the user's own";
  root_.MakeFolder("/root-only", 0700);
  root_.Write("/root-only/a.log", "EI0001 the secret\n", 0644);
  RemoveLogs();
  root_.Link(kLogs, Full("/root-only"));
  const HostLogs logs = ReadWithoutOwners(query_);
  EXPECT_THAT(logs.DebugString(), Not(HasSubstr("the secret")));
  EXPECT_THAT(logs.notes(), Contains(HasSubstr("Permission denied")));
}

TEST_F(ReadAsUserTest, ReadsOnlyTheEndOfAHugeSparseFile) {
  Write("plog-1.log", "");
  const std::string path = Full(absl::StrCat(kPlog, "/plog-1.log"));
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const off_t size = off_t{10} << 30;
  ASSERT_EQ(pwrite(fd, "EI0006\n", 7, size - 7), 7);
  close(fd);
  const HostLogs logs = Read();
  ASSERT_THAT(logs.hits(), SizeIs(1)) << logs.notes_size();
  EXPECT_EQ(logs.hits(0).line(), 0);
  EXPECT_LE(logs.read_bytes(), kMaxLogBytesPerFile);
  EXPECT_THAT(logs.files(0).cut(), HasSubstr("its last 8388608 bytes"));
}

TEST_F(ReadAsUserTest, TellsNamesWithNewlinesAndEscapesAsOneFileEach) {
  const std::string name = "a\n1.0 2 /etc/shadow\x1b[2J.log";
  Write(name, "EI0006\n");
  const HostLogs logs = Read();
  ASSERT_THAT(logs.files(), SizeIs(1));
  EXPECT_EQ(logs.files(0).path(), absl::StrCat(kPlog, "/", name));
  EXPECT_THAT(logs.hits(), SizeIs(1));
}

TEST_F(ReadAsUserTest, ReadsRotatedFilesAndWhatSlurmWrote) {
  Write("plog-1.log.1", "\x1b[31mEI0006\x1b[0m\n");
  Write("train.log-20260301", "EI0009\n");
  // One stored block, its checksum and length.
  constexpr absl::string_view kPacked(
      "\x1f\x8b\x08\0\0\0\0\0\x02\x03\x01\x07\0\xf8\xff"
      "EI0015\n"
      "\x2c\x3a\x4f\x95\x07\0\0\0",
      30);
  Write("train.log.2.gz", kPacked);
  Write("train.log.3.xz", "packed\n");
  Write("train.logs", "EI0001\n");
  root_.Write("/home/ann/slurm-4711.out", "EI0003\nCANCELLED\n", 0600);
  Own("/home/ann/slurm-4711.out");
  root_.Write("/home/ann/other.out", "EI0002\n", 0600);
  const HostLogs logs = Read();
  std::vector<std::string> codes;
  for (const LogHit& hit : logs.hits()) codes.push_back(hit.code());
  EXPECT_THAT(codes,
              UnorderedElementsAre("EI0003", "EI0006", "EI0009", "EI0015"));
  for (const LogFile& file : logs.files()) {
    EXPECT_EQ(file.cut().empty(), !absl::EndsWith(file.path(), ".xz"))
        << file.path();
    if (absl::EndsWith(file.path(), ".out")) {
      EXPECT_EQ(file.last_line(), "CANCELLED");
    }
  }
  EXPECT_THAT(logs.folders(), Contains(HasSubstr("slurm-*.out")));
}

TEST_F(ReadAsUserTest, StopsAtTheBytesAskedForAndSendsEnds) {
  Write("plog-1.log", std::string(1000, 'a') + "\nEI0006\n");
  Write("plog-2.log", std::string(1000, 'b') + "\nEI0009\n");
  query_.set_max_read_bytes(1500);
  query_.set_max_sent_bytes(400);
  const HostLogs logs = Read();
  EXPECT_EQ(logs.read_bytes(), 1500u);
  ASSERT_THAT(logs.files(), SizeIs(2));
  EXPECT_THAT(logs.files(1).cut(), HasSubstr("492 bytes"));
  EXPECT_THAT(logs.files(0).content(), SizeIs(100));
  EXPECT_TRUE(absl::EndsWith(logs.files(0).content(), "\n"));
}

TEST_F(ReadAsUserTest, AHostWithoutLogsIsAnAnswer) {
  RemoveLogs();
  const HostLogs logs = ReadWithoutOwners(query_);
  EXPECT_FALSE(logs.has_missing()) << logs.DebugString();
  EXPECT_THAT(logs.files(), IsEmpty());
  // Not find(1)'s own text, and with the path that the user knows.
  EXPECT_THAT(logs.notes(), Contains(NotRead("No such file or directory")));
  // A host without NPUs and users has none either.
  root_.Remove("/home/ann/ascend");
  root_.Remove("/home/ann");
  const HostLogs none = ReadWithoutOwners(LogsQuery());
  EXPECT_FALSE(none.has_missing()) << none.DebugString();
  EXPECT_THAT(none.notes(), ElementsAre(HasSubstr("name a user (--user)")));
}

TEST_F(ReadAsUserTest, NothingIsKnownIfNoFolderCouldBeRead) {
  if (geteuid() != 0) GTEST_SKIP() << "everything here is the user's own";
  ASSERT_EQ(chmod(Full("/home/ann/ascend").c_str(), 0), 0);
  const HostLogs logs = ReadWithoutOwners(query_);
  EXPECT_THAT(logs.missing().detail(), HasSubstr("no folder of logs"));
  EXPECT_THAT(logs.notes(), Contains(NotRead("Permission denied")));
}

TEST_F(ReadAsUserTest, AFolderThatCannotBeReadIsNamedBesideWhatWasRead) {
  if (geteuid() != 0) GTEST_SKIP() << "everything here is the user's own";
  Write("plog-1.log", "EI0006\n");
  const std::string closed = absl::StrCat(kPlog, "/it's closed: no");
  root_.MakeFolder(closed, 0700);
  const HostLogs logs = Read();
  EXPECT_FALSE(logs.has_missing());
  EXPECT_THAT(logs.hits(), SizeIs(1));
  EXPECT_THAT(logs.notes(),
              Contains(AllOf(StartsWith(kPlog),
                             EndsWith("s closed: no: not read as ann: "
                                      "Permission denied"))));
}

TEST_F(ReadAsUserTest, ReportsTheErrorOfTheToolForTheFolder) {
  root_.WriteProgram(
      "/usr/bin/find",
      "#!/bin/sh\necho \"find: unrecognized option -newermt\" >&2\n"
      "echo 'usage: find' >&2\nexit 1\n");
  EXPECT_THAT(Read().notes(),
              Contains(NotRead("unrecognized option -newermt")));
}

TEST_F(ReadAsUserTest, TellsAFileThatHasTwoNamesOnce) {
  Write("plog-1.log", "EI0006\n");
  const std::string path = Full(absl::StrCat(kPlog, "/plog-1.log"));
  ASSERT_EQ(link(path.c_str(), (path + ".log").c_str()), 0);
  const HostLogs logs = Read();
  EXPECT_THAT(logs.files(), SizeIs(1));
  EXPECT_THAT(logs.hits(), SizeIs(1));
}

TEST_F(ReadAsUserTest, LeavesOutFilesThatAreOlder) {
  Write("plog-1.log", "EI0006\n");
  query_.set_since_ms(absl::ToUnixMillis(absl::Now() + absl::Hours(1)));
  const HostLogs logs = Read();
  EXPECT_FALSE(logs.has_missing());
  EXPECT_THAT(logs.files(), IsEmpty());
}

}  // namespace
}  // namespace clusterd
