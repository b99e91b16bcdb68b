// From a token to a checked cluster with the real programs: no host's
// certificate is made or copied by hand.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/trust.pb.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> kHosts = {"server0", "server1"};

class JoinE2eTest : public testing::Test {
 protected:
  JoinE2eTest() : cluster_(DemoSpec(2), kHosts) {
    const ProcessResult made = RunProgram(
        {"/bin/bash", Runfile("deploy/certificates.sh"), "ca-dir",
         cluster_.Certificates(), "demo", cluster_.folder() + "/ca"});
    EXPECT_EQ(made.exit_status, 0) << made.standard_error;
    // The following steps work without it.
    for (const std::string& host : kHosts) {
      for (const char* end : {".crt", ".key"}) {
        std::filesystem::remove(cluster_.Certificates() + "/" + host + end);
      }
    }
    cluster_.StartController({"--ca-dir", cluster_.folder() + "/ca",
                              "--enrol-listen", "127.0.0.1:0"});
  }

  // The words of the command line that token create prints for hosts.
  std::vector<std::string> Line(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"token", "create", "-o", "short"});
    const ProcessResult made = cluster_.RunClusterctl(options);
    EXPECT_EQ(made.exit_status, 0) << made.standard_error;
    std::vector<std::string> words =
        absl::StrSplit(absl::StripAsciiWhitespace(made.standard_output), ' ');
    EXPECT_EQ(words[0], "clusterd");
    words[0] = Runfile("daemon/agent/clusterd");
    return words;
  }
  ProcessResult Join(std::vector<std::string> line, const std::string& host) {
    for (const std::string& word :
         {std::string("--name"), host, std::string("--root"),
          cluster_.Root(host)}) {
      line.push_back(word);
    }
    return RunProgram(line);
  }
  // The controller's only child; waits until it is not `before`.
  pid_t ProcessOfThePort(pid_t before) {
    std::vector<pid_t> now;
    const bool is_there = WaitUntil([&] {
      now = ChildrenOf(cluster_.controller().pid());
      return now.size() == 1 && now[0] != before;
    });
    return is_there ? now[0] : 0;
  }
  // Uses only the files that join has written.
  void LaunchHost(const std::string& host) {
    daemons_.push_back(std::make_unique<Process>(std::vector<std::string>{
        Runfile("daemon/agent/clusterd"), "--root", cluster_.Root(host),
        "--socket", cluster_.Socket(host)}));
  }
  void StartHost(const std::string& host) {
    LaunchHost(host);
    cluster_.controller().ExpectError("host " + host + ": attached from");
  }

  DemoCluster cluster_;
  std::vector<std::unique_ptr<Process>> daemons_;
};

TEST_F(JoinE2eTest, HostsJoinWithOneLineAttachAndAreChecked) {
  const std::vector<std::string> line = Line({"--hosts", "server[0-1]"});
  for (const std::string& host : kHosts) {
    const ProcessResult joined = Join(line, host);
    ASSERT_EQ(joined.exit_status, 0) << joined.standard_error;
    EXPECT_THAT(joined.standard_output,
                HasSubstr("host " + host + " has joined cluster demo"));
    StartHost(host);
  }
  const CheckOutcome outcome = cluster_.Check();
  EXPECT_EQ(outcome.process.exit_status, 0) << outcome.process.standard_output;
  EXPECT_EQ(outcome.report.hosts_size(), 2);

  const ProcessResult listed =
      cluster_.RunClusterctl({"certificates", "-o", "json"});
  ASSERT_EQ(listed.exit_status, 0) << listed.standard_error;
  const auto list = FromJson<ListCertificatesResponse>(listed);
  EXPECT_EQ(list.schema_version(), kReportSchemaVersion);
  ASSERT_EQ(list.certificates_size(), 2);
  for (const CertificateEntry& entry : list.certificates()) {
    EXPECT_EQ(entry.state(), CertificateEntry::ENROLLED);
    EXPECT_EQ(entry.serial().size(), 32u);
  }
  // The same line again, as in a second run over all hosts.
  EXPECT_EQ(Join(line, "server0").exit_status, 0);
  const ProcessResult tokens = cluster_.RunClusterctl({"token", "list"});
  EXPECT_THAT(tokens.standard_output, HasSubstr("server[0-1]"));
}

bool IsGone(pid_t process) {
  std::ifstream status(absl::StrCat("/proc/", process, "/stat"));
  std::string line;
  // A zombie has ended; its parent reaps it.
  return !std::getline(status, line) || line.find(") Z ") != std::string::npos;
}

TEST_F(JoinE2eTest, PortOfHostsThatJoinIsAProcessThatComesBack) {
  const pid_t controller = cluster_.controller().pid();
  EXPECT_TRUE(ChildrenOf(controller).empty());
  const std::vector<std::string> line = Line();
  const pid_t first = ProcessOfThePort(0);
  ASSERT_NE(first, 0);
  ASSERT_EQ(kill(first, SIGKILL), 0);
  EXPECT_EQ(Join(line, "server0").exit_status, 0);
  const pid_t second = ProcessOfThePort(first);
  ASSERT_NE(second, 0);
  EXPECT_EQ(cluster_.controller().EndBy(SIGTERM).exit_status, 0);
  EXPECT_TRUE(IsGone(second));
}

TEST_F(JoinE2eTest, PortOfHostsThatJoinEndsWithTheController) {
  Line();
  const pid_t process = ProcessOfThePort(0);
  ASSERT_NE(process, 0);
  cluster_.controller().EndBy(SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return IsGone(process); }));
}

// The steps of daemon/docs/security.md: old root, both, only the new one.
class RotationE2eTest : public JoinE2eTest {
 protected:
  RotationE2eTest() {
    std::filesystem::copy(tls_, old_);
    Script({"init", new_, "demo"});
    for (const std::string& host : kHosts) {
      const ProcessResult joined = Join(Line(), host);
      EXPECT_EQ(joined.exit_status, 0) << joined.standard_error;
      StartHost(host);
    }
  }
  void Script(std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"/bin/bash", Runfile("deploy/certificates.sh")});
    const ProcessResult done = RunProgram(words);
    ASSERT_EQ(done.exit_status, 0) << done.standard_error;
  }
  // Joins files into one, with the mode of the first.
  void Put(const std::vector<std::string>& from, const std::string& to) {
    const auto over = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(from[0], to, over);
    for (size_t i = 1; i < from.size(); ++i) {
      std::ofstream(to, std::ios::app) << std::ifstream(from[i]).rdbuf();
    }
  }
  void Restart() {
    cluster_.controller().EndBy(SIGTERM);
    cluster_.StartController(
        {"--ca-dir", ca_, "--enrol-listen", "127.0.0.1:0"});
  }
  void ExpectSays(size_t host, const std::string& text) {
    daemons_[host]->ExpectError(text);
  }
  void BothCount() {
    Script({"roots", old_, "demo", ca_ + "/roots.bundle", old_ + "/ca.crt",
            new_ + "/ca.crt"});
    Put({old_ + "/ca.crt", new_ + "/ca.crt"}, tls_ + "/ca.crt");
    Restart();
  }
  void GoOver() {
    Script({"controller", new_, "demo"});
    Script({"cross", old_, "demo", new_});
    Script({"ca-dir", new_, "demo", new_ca_});
    Script({"roots", new_, "demo", ca_ + "/roots.bundle", new_ + "/ca.crt"});
    Put({new_ + "/controller.crt", new_ + "/cross.crt"},
        tls_ + "/controller.crt");
    Put({new_ + "/controller.key"}, tls_ + "/controller.key");
    for (const char* file :
         {"/root.crt", "/intermediate.crt", "/intermediate.key"}) {
      Put({new_ca_ + file}, ca_ + file);
    }
    Restart();
  }
  void OldOneIsGone() {
    Script({"user", new_, "demo", "admin", "admin"});
    for (const char* file : {"/user-admin.crt", "/user-admin.key"}) {
      Put({new_ + file}, tls_ + file);
    }
    Put({new_ + "/ca.crt"}, tls_ + "/ca.crt");
    Restart();
  }

  const std::string tls_ = cluster_.Certificates();
  const std::string ca_ = cluster_.folder() + "/ca";
  const std::string old_ = cluster_.folder() + "/tls-old";
  const std::string new_ = cluster_.folder() + "/tls-new";
  const std::string new_ca_ = cluster_.folder() + "/ca-new";
};

TEST_F(RotationE2eTest, HostsGoOverAlsoOneThatWasAwayWhenBothCounted) {
  daemons_.pop_back();
  BothCount();
  ExpectSays(0, "root added sha256:");
  // Not twice within five minutes of one start.
  daemons_.clear();
  StartHost("server0");
  GoOver();
  ExpectSays(0, "root removed sha256:");
  StartHost("server1");
  ExpectSays(1, "root added sha256:");
  ExpectSays(1, "root removed sha256:");
  daemons_.clear();
  OldOneIsGone();
  for (const std::string& host : kHosts) StartHost(host);
  const CheckOutcome outcome = cluster_.Check();
  EXPECT_EQ(outcome.process.exit_status, 0) << outcome.process.standard_output;
  EXPECT_EQ(StateOf(outcome.report, "roots-uniform"), PASS);
}

TEST_F(RotationE2eTest, HostThatMissedTheRotationMustJoinAgain) {
  daemons_.pop_back();
  BothCount();
  GoOver();
  OldOneIsGone();
  LaunchHost("server1");
  ExpectSays(1, "after a change of the CA's root, clusterd join");
  daemons_.pop_back();
  const ProcessResult joined = Join(Line(), "server1");
  EXPECT_EQ(joined.exit_status, 0) << joined.standard_error;
  StartHost("server1");
}

TEST_F(JoinE2eTest, RefusalsSayWhatToDo) {
  const std::vector<std::string> line = Line({"--hosts", "server0"});
  const ProcessResult name = Join(line, "server1");
  EXPECT_EQ(name.exit_status, 1);
  EXPECT_THAT(name.standard_error,
              AllOf(HasSubstr("is for server0"),
                    HasSubstr("token create --hosts server1")));
  std::vector<std::string> wrong = line;
  for (size_t i = 1; i < wrong.size(); ++i) {
    if (wrong[i - 1] == "--ca-hash") {
      wrong[i] = "sha256:" + std::string(64, '0');
    }
  }
  const ProcessResult hash = Join(wrong, "server0");
  EXPECT_EQ(hash.exit_status, 1);
  EXPECT_THAT(hash.standard_error, HasSubstr("the token was not sent"));
  // No key either; the simulation itself made the files that are found.
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(
           cluster_.Root("server0") + "/etc/clusterd")) {
    found.push_back(entry.path().filename());
  }
  EXPECT_THAT(found, testing::ElementsAre("simulation"));
  EXPECT_EQ(Join({line[0], "join"}, "server0").exit_status, 3);
  const ProcessResult unknown =
      cluster_.RunClusterctl({"token", "create", "--hosts", "server[0-9]"});
  EXPECT_EQ(unknown.exit_status, 3);
  EXPECT_THAT(unknown.standard_error, HasSubstr("is not in cluster.yaml"));
}

TEST_F(JoinE2eTest, HostThatWasInstalledAnewJoinsAfterAReset) {
  const std::vector<std::string> line = Line();
  ASSERT_EQ(Join(line, "server0").exit_status, 0);
  StartHost("server0");
  daemons_.clear();
  std::filesystem::remove_all(cluster_.Root("server0") + "/etc/clusterd");
  const ProcessResult refused = Join(line, "server0");
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_THAT(refused.standard_error,
              HasSubstr("clusterctl certificates reset server0"));
  const ProcessResult reset =
      cluster_.RunClusterctl({"certificates", "reset", "server0"});
  ASSERT_EQ(reset.exit_status, 0) << reset.standard_error;
  const ProcessResult spent = Join(line, "server0");
  EXPECT_EQ(spent.exit_status, 1);
  EXPECT_THAT(spent.standard_error, HasSubstr("is spent, 1 of 1"));
  ASSERT_EQ(Join(Line(), "server0").exit_status, 0);
  StartHost("server0");
}

}  // namespace
}  // namespace clusterd
