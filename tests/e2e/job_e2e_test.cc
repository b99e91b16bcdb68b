// A user's steps for one job, with the real programs: its check, rank table and
// launch; after a failure, its logs and a ticket.
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class JobE2eTest : public testing::Test {
 protected:
  JobE2eTest() : cluster_(DemoSpec(2), {"server0", "server1"}) {}

  std::string Path(const std::string& name) const {
    return absl::StrCat(cluster_.folder(), "/", name);
  }

  ProcessResult Generate(std::vector<std::string> words) const {
    words.insert(words.begin(), "generate");
    words.insert(words.end(),
                 {"--nodes", "server[0-1]", "--devices", "8", "--overwrite"});
    return cluster_.RunClusterctl(std::move(words));
  }

  // ann is this process's user, or user nobody if that is root. Skips the test
  // if it may not become another user.
  void MakeAnn() {
    if (geteuid() == 0 && setgroups(0, nullptr) != 0) {
      GTEST_SKIP() << "may not become another user here";
    }
    fs::permissions(cluster_.folder(), fs::perms(0755));
  }
  std::string AnnsLine() const {
    return absl::StrCat("echo 'ann:x:", ann_, ":", group_,
                        ":Ann:/home/ann:/bin/sh'");
  }
  static void WriteProgram(const std::string& path, const std::string& body) {
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(path, fs::perms(0755));
  }

  const uid_t ann_ = geteuid() == 0 ? 65534 : geteuid();
  const gid_t group_ = geteuid() == 0 ? 65534 : getegid();
  DemoCluster cluster_;
};

TEST_F(JobE2eTest, IsStartedFromLiveFactsAndTheTableThatWasWrittenIsRight) {
  cluster_.StartAll();
  const ProcessResult table =
      Generate({"ranktable", "--out", Path("table.json")});
  ASSERT_EQ(table.exit_status, 0) << table.standard_error;
  EXPECT_THAT(TextOfFile(Path("table.json")),
              AllOf(HasSubstr("\"server_id\":\"192.168.7.22\""),
                    HasSubstr("\"device_ip\":\"192.168.103.111\""),
                    HasSubstr("\"rank_id\":\"15\"")));
  EXPECT_EQ(
      cluster_.Check({"--rank-table", Path("table.json")}).process.exit_status,
      0);

  const ProcessResult launch =
      Generate({"launch", "--out", Path("launch-%h.sh")});
  ASSERT_EQ(launch.exit_status, 0) << launch.standard_error;
  EXPECT_THAT(launch.standard_error, AllOf(HasSubstr("29501 was chosen"),
                                           Not(HasSubstr("not looked at"))));
  EXPECT_THAT(TextOfFile(Path("launch-server1.sh")),
              AllOf(HasSubstr("HCCL_IF_IP=192.168.7.23"),
                    HasSubstr("MASTER_ADDR=192.168.7.22"),
                    HasSubstr("NODE_RANK=1"), HasSubstr("torchrun")));
}

TEST_F(JobE2eTest, IsNotStartedOnABrokenDeviceOrByATableOfOtherAddresses) {
  cluster_.StartAll();
  ASSERT_EQ(Generate({"ranktable", "--out", Path("table.json")}).exit_status,
            0);
  cluster_.SetFault("server1", "2:live_address=192.168.102.200");
  const CheckOutcome moved =
      cluster_.Check({"--rank-table", Path("table.json")});
  EXPECT_EQ(moved.process.exit_status, 1);
  EXPECT_EQ(StateOf(moved.report, "rank-table"), FAIL);

  cluster_.SetFault("server1", "3:link=DOWN");
  const ProcessResult refused =
      Generate({"launch", "--out", Path("launch-%h.sh")});
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_THAT(refused.standard_error,
              AllOf(HasSubstr("link"), HasSubstr("nothing was written")));
  EXPECT_FALSE(fs::exists(Path("launch-server0.sh")));
}

// A server on which ann has run a job: her folder of logs, and the programs
// that look her up and read files as her.
class FailedJobE2eTest : public JobE2eTest {
 protected:
  void SetUp() override {
    MakeAnn();
    if (IsSkipped()) return;
    const std::string programs = Root("/usr/bin/");
    fs::create_directories(programs);
    WriteProgram(programs + "getent", AnnsLine());
    WriteProgram(programs + "id", absl::StrCat("echo ", group_));
    WriteProgram(programs + "find", "exec /usr/bin/find \"$@\"");
    WriteProgram(programs + "tail", "exec /usr/bin/tail \"$@\"");
    const std::string logs = Root("/home/ann/ascend/log/debug/plog");
    fs::create_directories(logs);
    std::ofstream(logs + "/plog-1.log")
        << "[ERROR] HCCL(4711,python3): EI0006: Getting socket times out\n"
        << "export API_TOKEN=squeamish-ossifrage-0123456789\n";
    for (const auto& made :
         fs::recursive_directory_iterator(Root("/home/ann"))) {
      ASSERT_EQ(lchown(made.path().c_str(), ann_, group_), 0);
    }
    ASSERT_EQ(lchown(Root("/home/ann").c_str(), ann_, group_), 0);
    cluster_.StartAll();
  }

  std::string Root(const std::string& path) const {
    return cluster_.Root("server0") + path;
  }
};

TEST_F(FailedJobE2eTest, ShowsItsCodesWhereTheHostAllowsIt) {
  const std::vector<std::string> ask = {"logs", "server0", "--user", "ann"};
  const ProcessResult refused = cluster_.RunClusterctl(ask);
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.standard_output + refused.standard_error,
              HasSubstr("does not allow logs"));
  cluster_.Allow("server0", "observe, logs");
  const ProcessResult logs = cluster_.RunClusterctl(ask);
  EXPECT_EQ(logs.exit_status, 0) << logs.standard_error;
  EXPECT_THAT(logs.standard_output,
              AllOf(HasSubstr("EI0006"), HasSubstr("server0"),
                    HasSubstr("plog-1.log")));
}

TEST_F(FailedJobE2eTest, FillsATicketWithoutItsSecrets) {
  cluster_.Allow("server0", "observe, logs");
  const ProcessResult bundle = cluster_.RunClusterctl(
      {"bundle", "server0", "--user", "ann", "--out", Path("ticket.tar.gz")});
  ASSERT_EQ(bundle.exit_status, 0)
      << bundle.standard_output << bundle.standard_error;
  fs::create_directories(Path("ticket"));
  ASSERT_EQ(RunProgram({"/usr/bin/tar", "-xzf", Path("ticket.tar.gz"), "-C",
                        Path("ticket")})
                .exit_status,
            0);
  std::string index;
  std::string all;
  for (const auto& file : fs::recursive_directory_iterator(Path("ticket"))) {
    if (!file.is_regular_file()) continue;
    const std::string text = TextOfFile(file.path());
    if (file.path().filename() == "INDEX.txt") index = text;
    all += text;
  }
  EXPECT_THAT(index, AllOf(HasSubstr("server0"), HasSubstr("plog-1.log")));
  EXPECT_THAT(all, AllOf(HasSubstr("EI0006"), HasSubstr("-link -g"),
                         HasSubstr("[removed]"),
                         Not(HasSubstr("squeamish-ossifrage"))));
}

// Two servers on which ann has a virtual environment, and the programs that
// look her up and read as her.
class PythonJobE2eTest : public JobE2eTest {
 protected:
  void SetUp() override {
    MakeAnn();
    if (IsSkipped()) return;
    for (const char* host : {"server0", "server1"}) {
      const std::string programs = cluster_.Root(host) + "/usr/bin/";
      fs::rename(programs + "getent", programs + "getent.own");
      WriteProgram(programs + "getent",
                   absl::StrCat("if [ \"$1\" = passwd ]; then ", AnnsLine(),
                                "; else exec \"$0.own\" \"$@\"; fi"));
      WriteProgram(programs + "id", absl::StrCat("echo ", group_));
      for (const char* name : {"find", "grep", "readlink"}) {
        WriteProgram(programs + name,
                     absl::StrCat("exec /usr/bin/", name, " \"$@\""));
      }
      WriteProgram(programs + "python3.10", "exit 1");
      const std::string venv = cluster_.Root(host) + "/home/ann/venv";
      fs::create_directories(venv + "/bin");
      fs::create_symlink("../../../../usr/bin/python3.10",
                         venv + "/bin/python");
      std::ofstream(venv + "/pyvenv.cfg")
          << "home = /usr/bin\ninclude-system-site-packages = false\n"
             "version = 3.10.12\n";
      Install(host, "torch", "2.1.0");
    }
    std::ofstream(Path("train.py"))
        << "import torch\ndist.init_process_group('nccl')\n";
    std::ofstream(Path("requirements.txt")) << "torch==2.1.0\nsix>=1.16\n";
    std::ofstream(Path("job.yaml"))
        << "nodes: server[0-1]\ndevices: 8\nuser: ann\n"
           "python: /home/ann/venv/bin/python\n"
           "requirements: requirements.txt\nscript: train.py\n";
    cluster_.StartAll();
  }

  void Install(const std::string& host, const std::string& name,
               const std::string& version) const {
    const std::string folder = absl::StrCat(
        cluster_.Root(host), "/home/ann/venv/lib/python3.10/site-packages/",
        name, "-", version, ".dist-info");
    fs::create_directories(folder);
    std::ofstream(folder + "/METADATA")
        << "Metadata-Version: 2.1\nName: " << name << "\nVersion: " << version
        << "\n";
  }
};

TEST_F(PythonJobE2eTest, NamesTheServerAndTheMissingPackage) {
  Install("server0", "six", "1.16.0");
  const CheckOutcome lacking = cluster_.Check({"--job", Path("job.yaml")});
  EXPECT_EQ(lacking.process.exit_status, 1) << lacking.process.standard_error;
  EXPECT_EQ(StateOf(lacking.report, "job-script"), WARN);
  const std::vector<Finding> findings =
      FindingsOf(lacking.report, "job-python");
  ASSERT_EQ(findings.size(), 1u) << lacking.process.standard_output;
  EXPECT_EQ(findings[0].subjects(0).host(), "server1");
  EXPECT_THAT(findings[0].observed(), HasSubstr("lacks six>=1.16"));
  Install("server1", "six", "1.17.0");
  const CheckOutcome there = cluster_.Check({"--job", Path("job.yaml")});
  EXPECT_EQ(StateOf(there.report, "job-python"), WARN);
  EXPECT_THAT(FindingsOf(there.report, "job-python")[0].observed(),
              HasSubstr("six: 1.16.0 on server0, 1.17.0 on server1"));
}

}  // namespace
}  // namespace clusterd
