#include "daemon/host/logs/read_logs.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/command/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/logged_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<LogHit> Scan(absl::string_view text, uint64_t first_line = 1) {
  bool left_out = false;
  return ScanLog(text, first_line, &left_out);
}

TEST(ScanLogTest, TellsACodeWithItsFirstLineAndHowManyLinesHaveIt) {
  const auto hits = Scan(
      "[INFO] all is well\n"
      "[ERROR] HCCL(4711,python3): Communication_Error_Get_Socket(EI0006): "
      "Getting socket times out. EI0006\n"
      "[ERROR] [EI0006] again\n"
      "[ERROR] EJ0003: Failed to bind the IP port.\n");
  ASSERT_THAT(hits, SizeIs(2));
  EXPECT_THAT(hits[0], HasFields("code: 'EI0006' line: 2 count: 2"));
  EXPECT_THAT(hits[0].text(), HasSubstr("Getting socket times out"));
  EXPECT_EQ(hits[1].code(), "EJ0003");
  EXPECT_EQ(hits[1].line(), 4);
}

TEST(ScanLogTest, KnowsTextsThatTheLogWritesWithoutTheirCode) {
  const auto hits = Scan(
      "ssl3_get_record:wrong version number, The possible cause is that the "
      "TLS switch is inconsistent\n"
      "topo exchange agent get socket timeout!\n"
      "host nic listen start failed, port[60000], return[11]\n"
      "the IP address(10.0.0.1) in the ranktable is inconsistent with the "
      "IP(10.0.0.2)address of the network adapter\n");
  ASSERT_THAT(hits, SizeIs(4));
  EXPECT_EQ(hits[0].code(), "EI0016");
  EXPECT_EQ(hits[1].code(), "EI0015");
  EXPECT_EQ(hits[2].code(), "EJ0003");
  EXPECT_EQ(hits[3].code(), "EI0014");
}

constexpr char kAdvice[] =
    "[ERROR] HCCL(4711,): 5. The TLS switch is inconsistent, or the TLS "
    "certificate expires. \n";

TEST(ScanLogTest, TakesAdviceAndPartsOfWordsForNoFinding) {
  EXPECT_THAT(Scan(kAdvice), IsEmpty());
  EXPECT_THAT(Scan("0xEA1234 EI00061 PEI0006 EI_0006 ei0006 EI006"), IsEmpty());
}

std::string EndsOf(const LogHit& hit) {
  std::string text;
  for (const LogDetail& each : hit.details()) {
    absl::StrAppend(&text, each.here(), "(", each.here_rank(), ") ",
                    each.there(), "(", each.there_rank(), ") ", each.status(),
                    " ", each.tls(), "\n");
  }
  return text;
}

TEST(ScanLogTest, ReadsTheRowsOfLinkErrorInfo) {
  const auto hits = Scan(absl::StrCat(
      "[ERROR] HCCL(4711,): wait socket establish timeout, role[0] rank[0]\n"
      "[ERROR] |  dest_ip(user_rank)  |   dest_port   |  src_ip(user_rank)   | "
      "  src_port   |   MyRole   |   Status   |    TlsStatus   |\n"
      "[ERROR] |----------------------|---------------|---------------------|\n"
      "[ERROR] |  10.20.0.29(27)   |  16666  |   10.20.0.2(0)   |  344835272  "
      "|  server  | time out |   DISABLE  | LinkInfo\r\n"
      // Old CANN has four columns.
      "[ERROR] |  10.20.0.30(28)  |  10.20.0.2(0)  |  client  |  time out  |\n",
      kAdvice));
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0].code(), "EI0006");
  EXPECT_EQ(hits[0].count(), 3u);
  EXPECT_EQ(EndsOf(hits[0]),
            "10.20.0.2(0) 10.20.0.29(27) time out DISABLE\n"
            "10.20.0.2(0) 10.20.0.30(28) time out \n");
}

TEST(ScanLogTest, NamesRanksThatDidNotCome) {
  for (const char* text :
       {"EI0015: Reason: x. List of unconnected ranks: \"[1,7,]\".\n",
        "TopoDetect ERROR occur !!! fault_info[\"Failed to connect "
        "agent[1,7,]\"]\n",
        "[DisplayConnectionedRank]need connect rankNum is [11]\n"
        "connected rankinfo[LINE 0]: [0000000000000000],[0000000000000002],"
        "[0000000000000003],[0000000000000004],[0000000000000005];\r\n"
        "connected rankinfo[LINE 1]: [0000000000000006],[0000000000000008],"
        "[0000000000000009],[000000000000000a];\n"}) {
    const auto hits = Scan(text);
    ASSERT_THAT(hits, SizeIs(1)) << text;
    EXPECT_EQ(hits[0].code(), "EI0015");
    ASSERT_EQ(hits[0].details_size(), 1) << text;
    EXPECT_THAT(hits[0].details(0).ranks(), testing::ElementsAre(1, 7)) << text;
  }
}

TEST(ScanLogTest, NamesTwoRanksOnOneDevice) {
  const auto hits = Scan(
      "init: localIpAddr[172.16.0.114] port[1] remote_ip_addr[172.16.0.114]\n"
      "init: localIpAddr[172.16.0.1] remote_ip_addr[172.16.0.2]\n");
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0].code(), "EI0009");
  EXPECT_EQ(hits[0].count(), 1u);
  EXPECT_EQ(hits[0].details(0).kind(), LogDetail::SAME_DEVICE);
}

TEST(ScanLogTest, KnowsWhatReportsOfTheFieldHave) {
  const struct {
    const char* text;
    const char* code;
  } kCases[] = {
      {"listen on ip[192.168.20.160] and specific port[16666] fail. Please "
       "check the port status and whether the port is been using by other "
       "process",
       "EI0020"},
      {"specific port[60000] fail. whether the port is being used by",
       "EI0019"},
      {"[Get][SingleDeviceIp]'device_ip' is not set correctly,must be set",
       "EI0014"},
      {"[device_ip]:[10.0.0.1] is already exist", "EI0014"},
      {"Ranktable_Check_Failed(EI0014): Reason:[The IP is used repeatedly].",
       "EI0014"},
      {"devdrv_get_vnic_ip_by_sdid fail! sdid:0xffffffff ret:1", "EI0017"},
      {"EJ0001: Failed to initialize the HCCP process.", "EJ0001"},
      {"RuntimeError: EJ0002: [PID: 1] The network port is down.", "EJ0002"},
      {"[ts] int_process_hwts_sdma_timeout", "EI0012"},
      {"ibv_cmd_create_cq failed, ret 12", "EI0007"},
      {"dcmi model initialized failed, ret is -8020", "device-namespace"},
      {"drvErr=87, Can't get ascend_hal device count", "device-namespace"},
      {"<npu-smi:4711> Conflict open udevid. (udevid=0;", "device-namespace"},
      {"[c10d] The hostname of the client socket cannot be retrieved. err=-3",
       "host-name"},
      {"basic_filebuf::underflow error reading the file: Is a directory",
       "container-mounts"}};
  for (const auto& test_case : kCases) {
    const auto hits = Scan(test_case.text);
    ASSERT_THAT(hits, SizeIs(1)) << test_case.text;
    EXPECT_EQ(hits[0].code(), test_case.code) << test_case.text;
  }
}

// Unbounded texts would make a line of them take hours.
TEST(ScanLogTest, ALineOfHalfMatchesTakesTimeInProportion) {
  for (const char* part : {"port[16666] fail EI0006 ", "localIpAddr[1.2.3.4] ",
                           "[device_ip]:[ EI0006 ", "| 1.1.1.1(1) | EI0006 "}) {
    std::string text;
    while (text.size() < 4u << 20) text += part;
    EXPECT_LE(Scan(text).size(), 1u) << part;
  }
}

TEST(ScanLogTest, TellsNoLineWhereTheBeginningWasNotReadAndValidText) {
  const auto hits = Scan("\n\nEI0006\n", 0);
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0].line(), 0);
  const auto bytes = Scan(absl::string_view("\xff\x00 EI0006 \xe4\xb8\n", 13));
  ASSERT_THAT(bytes, SizeIs(1));
  EXPECT_THAT(bytes[0].text(), HasSubstr("\xEF\xBF\xBD"));
  EXPECT_LE(BoundedUtf8(std::string(400, '\xff'), 400).size(), 400);
}

TEST(ScanLogTest, BoundsTheTextAndTheNumberOfCodes) {
  const std::string noise(1 << 20, 'x');
  const auto far = Scan(absl::StrCat(noise, " EI0006 ", noise));
  ASSERT_THAT(far, SizeIs(1));
  EXPECT_LE(far[0].text().size(), kMaxHitTextBytes);
  EXPECT_THAT(far[0].text(), HasSubstr("EI0006"));
  std::string many;
  for (int i = 1000; i < 1100; ++i) absl::StrAppend(&many, "EI", i, "\n");
  bool left_out = false;
  EXPECT_THAT(ScanLog(many, 1, &left_out), SizeIs(kMaxCodesPerFile));
  EXPECT_TRUE(left_out);
}

// A root daemon would take minutes if each code read all that follows it.
TEST(ScanLogTest, ALineOfNothingButCodesTakesTimeInProportion) {
  std::string text;
  while (text.size() < 8u << 20) text += "EI0006 ";
  const auto hits = Scan(text);
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0].count(), 1u);
}

// Has users ann (1000) and bob (1001), and the processes that a test adds.
class FindLogFoldersTest : public testing::Test {
 protected:
  FindLogFoldersTest() {
    root_.WriteProgram("/usr/bin/getent", "");
    root_.WriteProgram("/usr/bin/id", "");
    root_.WriteProgram("/usr/bin/head", "");
    root_.MakeFolder("/proc");
    root_.MakeFolder("/home");
    AddUser("ann", 1000, "/home/ann");
    AddUser("bob", 1001, "/data/bob");
    AddUser("root", 0, "/root");
  }

  void AddUser(const std::string& name, int uid, const std::string& home) {
    const std::string line =
        absl::StrCat(name, ":x:", uid, ":", uid, "::", home, ":/bin/sh\n");
    runner_.Answers(absl::StrCat("getent passwd ", name), line);
    runner_.Answers(absl::StrCat("getent passwd ", uid), line);
    runner_.Answers(absl::StrCat("id -G ", name), absl::StrCat(uid, "\n"));
  }

  // Blanks separate the variables.
  void AddProcess(int pid, int uid, std::string variables) {
    for (char& c : variables) c = c == ' ' ? '\0' : c;
    root_.Write(absl::StrCat("/proc/", pid, "/environ"), variables);
    if (uid != 0) runner_.Answers(Head(pid), variables);
    root_.Write(absl::StrCat("/proc/", pid, "/status"),
                absl::StrCat("Name:\tpython3\nPid:\t", pid, "\nUid:\t", uid,
                             "\t0\t0\t0\nGid:\t", uid + 5, "\t0\t0\t0\n"));
  }

  // Returns the command that reads the environment of a user's process.
  std::string Head(int pid) const {
    return absl::StrCat("head -c 262144 ", root_.path(), "/proc/", pid,
                        "/environ");
  }

  absl::StatusOr<LogFolders> Find(const std::string& user,
                                  const std::string& job) {
    LogsQuery query;
    query.set_user(user);
    query.set_job_id(job);
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    return FindLogFolders({root_.paths(), &ran_, &budget}, query);
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  LoggedCommandRunner ran_{&runner_};
  const absl::Duration began_ = clock_.Monotonic();
};

TEST_F(FindLogFoldersTest, TakesTheFirstPlaceThatAJobsEnvironmentNames) {
  AddProcess(11, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l/ HOME=/h");
  AddProcess(12, 1000, "SLURM_JOBID=7 ASCEND_WORK_PATH=/w HOME=/h");
  AddProcess(13, 1001, "PBS_JOBID=7 HOME=/h");
  AddProcess(14, 1001, "LSB_JOBID=7");
  AddProcess(15, 1000, "SLURM_JOB_ID=77 ASCEND_PROCESS_LOG_PATH=/other");
  AddProcess(16, 1000, "NOT_SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/other");
  const auto found = Find("", "7").value();
  ASSERT_THAT(found.folders, SizeIs(4));
  EXPECT_EQ(found.folders[0].path, "/l");
  EXPECT_EQ(found.folders[0].user.name, "ann");
  EXPECT_THAT(found.folders[0].from,
              HasSubstr("process 11, ASCEND_PROCESS_LOG_PATH"));
  EXPECT_EQ(found.folders[1].path, "/w/log");
  EXPECT_EQ(found.folders[2].path, "/h/ascend/log");
  EXPECT_EQ(found.folders[2].user.uid, 1001u);
  EXPECT_EQ(found.folders[3].path, "/data/bob/ascend/log");
}

// A user controls a process's answers: its environment may be 8 TB long, or its
// memory may lie in a file system of the user's own.
TEST_F(FindLogFoldersTest, AProcessThatDoesNotAnswerHidesNoOther) {
  AddProcess(11, 1001, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
  AddProcess(12, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/other");
  runner_.NowHangs(Head(11));
  const auto found = Find("", "7").value();
  ASSERT_THAT(found.folders, SizeIs(1));
  EXPECT_EQ(found.folders[0].path, "/other");
  EXPECT_LE(clock_.Monotonic() - began_, absl::Seconds(1));
}

// A reader that cannot be killed then counts among that user's.
TEST_F(FindLogFoldersTest, WhatReadsTheMemoryOfAUsersProcessIsTheUser) {
  AddProcess(11, 1001, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
  AddProcess(12, 0, "SLURM_JOB_ID=7");
  ASSERT_TRUE(Find("", "7").ok());
  std::vector<std::string> read_as;
  for (const LoggedCommand& each : ran_.commands()) {
    if (!absl::EndsWith(each.command.argv[0], "/head")) continue;
    const RunAs as = each.command.as.value_or(RunAs());
    read_as.push_back(absl::StrCat(as.uid, ":", as.gid));
  }
  EXPECT_THAT(read_as, ElementsAre("1001:1006"));
}

TEST_F(FindLogFoldersTest, KeepsToTheUserAskedForAndToAbsolutePaths) {
  AddProcess(11, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
  AddProcess(12, 1001, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
  AddProcess(13, 1000, "SLURM_JOB_ID=8 ASCEND_PROCESS_LOG_PATH=../../etc");
  const auto found = Find("bob", "7").value();
  ASSERT_THAT(found.folders, SizeIs(1));
  EXPECT_EQ(found.folders[0].user.name, "bob");
  const auto relative = Find("", "8").value();
  EXPECT_THAT(relative.folders, IsEmpty());
  EXPECT_THAT(relative.notes, ElementsAre(Tells("log-not-absolute")));
}

TEST_F(FindLogFoldersTest, ReadsNothingOfRootUnlessItIsNamed) {
  AddProcess(11, 0, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/tmp/trap");
  const auto found = Find("", "7").value();
  EXPECT_THAT(found.folders, IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(Tells("log-left-out-root")));
  const auto named = Find("root", "").value();
  ASSERT_THAT(named.folders, SizeIs(1));
  EXPECT_EQ(named.folders[0].path, "/root/ascend/log");
}

TEST_F(FindLogFoldersTest, SaysOfAnEndedJobHowItIsFound) {
  EXPECT_THAT(std::string(Find("", "7").status().message()),
              HasSubstr("(--user) and time (--since)"));
  const auto found = Find("ann", "7").value();
  ASSERT_THAT(found.folders, SizeIs(1));
  EXPECT_EQ(found.folders[0].path, "/home/ann/ascend/log");
  EXPECT_THAT(found.notes, ElementsAre(Tells("log-all-of")));
}

TEST_F(FindLogFoldersTest, TakesOnePathInTwoContainersForTwoFolders) {
  for (int pid : {11, 12, 13}) {
    AddProcess(pid, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
    root_.Link(absl::StrCat("/proc/", pid, "/ns/mnt"),
               pid == 13 ? "mnt:[3]" : "mnt:[2]");
  }
  root_.Link("/proc/self/ns/mnt", "mnt:[1]");
  const auto found = Find("", "7").value();
  ASSERT_THAT(found.folders, SizeIs(2));
  EXPECT_EQ(found.folders[0].process_root, "/proc/11/root");
  EXPECT_EQ(found.folders[1].process_root, "/proc/13/root");
}

TEST_F(FindLogFoldersTest, WithoutUserAndJobTakesUsersWhoseHomesAreInHome) {
  root_.MakeFolder("/home/ann");
  root_.MakeFolder("/home/-rf");
  root_.MakeFolder("/home/root");
  const auto found = Find("", "").value();
  ASSERT_THAT(found.folders, SizeIs(1));
  EXPECT_EQ(found.folders[0].from, "home of ann");
}

TEST_F(FindLogFoldersTest, RefusesWordsThatAreNoUserOrJob) {
  EXPECT_TRUE(absl::IsInvalidArgument(Find("--help", "").status()));
  EXPECT_EQ(Find("0", "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Find("", "7;id").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace clusterd
