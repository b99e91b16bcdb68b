// The main job with the real programs: clusterctl check over a controller and
// simulated servers, all of them processes, over mutual TLS.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/sim/private_root.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kTwoHosts = {"server0", "server1"};

bool Names(const Report& report, const std::string& rule,
           const std::string& host, int device) {
  for (const Finding& finding : FindingsOf(report, rule)) {
    for (const Subject& subject : finding.subjects()) {
      if (subject.host() != host) continue;
      if (device < 0) return true;
      for (uint32_t id : subject.devices()) {
        if (id == static_cast<uint32_t>(device)) return true;
      }
    }
  }
  return false;
}

// With a short deadline, for a tool that hangs forever.
std::string HangingToolSpec() { return DemoSpec(2, "10s"); }

class HealthyClusterTest : public testing::Test {
 protected:
  HealthyClusterTest() : cluster_(DemoSpec(2), kTwoHosts) {
    cluster_.StartAll();
  }
  DemoCluster cluster_;
};

TEST_F(HealthyClusterTest, PassesWithEveryRuleJudged) {
  const CheckOutcome outcome = cluster_.Check();
  EXPECT_EQ(outcome.process.exit_status, 0) << outcome.process.standard_output;
  EXPECT_EQ(outcome.report.verdict(), PASS);
  EXPECT_EQ(outcome.report.hosts_size(), 2);
  for (const RuleResult& rule : outcome.report.rules()) {
    EXPECT_TRUE(rule.state() == PASS || rule.state() == SKIPPED)
        << rule.ShortDebugString();
  }
  EXPECT_EQ(StateOf(outcome.report, "subnet-pairs"), PASS);
  EXPECT_EQ(StateOf(outcome.report, "net-health"), PASS);
  EXPECT_EQ(StateOf(outcome.report, "device-health"), PASS);
  EXPECT_EQ(StateOf(outcome.report, "driver-compat"), PASS);
}

TEST_F(HealthyClusterTest, PrintsTheTableForPeopleAndOneLineForChat) {
  const ProcessResult table = cluster_.RunClusterctl({"check"});
  EXPECT_EQ(table.exit_status, 0) << table.standard_error;
  EXPECT_THAT(table.standard_output, HasSubstr("pass"));
  EXPECT_THAT(table.standard_output, Not(HasSubstr("ports-reserved")));
  EXPECT_THAT(cluster_.RunClusterctl({"check", "--verbose"}).standard_output,
              HasSubstr("ports-reserved"));
  const ProcessResult line = cluster_.RunClusterctl({"check", "-o", "short"});
  EXPECT_EQ(line.exit_status, 0);
  EXPECT_THAT(line.standard_output, HasSubstr("demo"));
  EXPECT_EQ(std::count(line.standard_output.begin(), line.standard_output.end(),
                       '\n'),
            1);
}

// A running job is not a failure: this process has a device node open.
TEST_F(HealthyClusterTest, NamesTheProcessThatUsesADevice) {
  const int node = open((cluster_.Root("server0") + "/dev/davinci3").c_str(),
                        O_RDONLY | O_CLOEXEC);
  ASSERT_GE(node, 0);
  const CheckOutcome outcome = cluster_.Check();
  close(node);
  EXPECT_EQ(outcome.process.exit_status, 0) << outcome.process.standard_output;
  EXPECT_EQ(StateOf(outcome.report, "device-idle"), WARN);
  EXPECT_TRUE(Names(outcome.report, "device-idle", "server0", 3));
  EXPECT_FALSE(Names(outcome.report, "device-idle", "server1", -1));
  EXPECT_THAT(Shown(outcome.report, "device-idle"),
              HasSubstr(absl::StrCat("in use by pid ", getpid())));
}

TEST_F(HealthyClusterTest, DescribesAHostAndListsBoth) {
  const ProcessResult described =
      cluster_.RunClusterctl({"describe", "server1"});
  EXPECT_EQ(described.exit_status, 0) << described.standard_error;
  EXPECT_THAT(described.standard_output, HasSubstr("192.168.103.110"));
  const ProcessResult hosts = cluster_.RunClusterctl({"hosts"});
  EXPECT_EQ(hosts.exit_status, 0) << hosts.standard_error;
  EXPECT_THAT(hosts.standard_output, HasSubstr("server"));
}

// One fault: the broken part, the rule that must report it, its subject, and a
// piece of the text.
struct FaultCase {
  const char* name;
  const char* host;
  int device;  // -1: the host.
  const char* fault;
  const char* rule;
  State state;
  const char* text;
};

class FaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(FaultTest, IsFoundAndNamedWithHostAndDevice) {
  const FaultCase& fault = GetParam();
  const bool hangs = absl::StrContains(fault.fault, "hang");
  DemoCluster cluster(hangs ? HangingToolSpec() : DemoSpec(2), kTwoHosts);
  cluster.SetFault(fault.host, fault.fault);
  cluster.StartAll();
  const CheckOutcome outcome = cluster.Check();
  const int expected = fault.state == FAIL ? 1 : fault.state == UNKNOWN ? 2 : 0;
  EXPECT_EQ(outcome.process.exit_status, expected)
      << outcome.process.standard_output;
  EXPECT_EQ(StateOf(outcome.report, fault.rule), fault.state)
      << Shown(outcome.report, fault.rule);
  EXPECT_TRUE(Names(outcome.report, fault.rule, fault.host, fault.device))
      << Shown(outcome.report, fault.rule);
  EXPECT_THAT(Shown(outcome.report, fault.rule), HasSubstr(fault.text));
  for (const Finding& finding : FindingsOf(outcome.report, fault.rule)) {
    EXPECT_NE(finding.observed(), "");
    EXPECT_NE(finding.expected(), "");
    EXPECT_NE(finding.fix(), "");
  }
}

// One case of each verdict on the two-server example; fault_e2e_test.cc has one
// of each kind, and random_cluster_test.cc other values.
INSTANTIATE_TEST_SUITE_P(
    OfOtherValues, FaultTest,
    testing::Values(
        FaultCase{"Link", "server1", 3, "3:link=DOWN", "link", FAIL, "DOWN"},
        // No base port is pinned, so the first 16 are enough.
        FaultCase{"SecondSixteen", "server1", -1,
                  "host:reserved_ports=60000-60015", "ports-reserved", WARN,
                  "60016-60031"},
        // npu-smi reports OK for a bad state if it could read no code in time.
        FaultCase{"ChipFaultCode", "server0", 2, "2:health=OK/8C03A000",
                  "device-health", FAIL, "8C03A000 (RestartNPU)"},
        FaultCase{"SilentNpuSmi", "server0", 3, "host:npu_smi=silent",
                  "device-health", UNKNOWN, "npu-smi info -m"},
        FaultCase{"SilentTool", "server0", -1, "host:tool=silent", "hccn-tool",
                  UNKNOWN, "status 0 without a word"},
        FaultCase{"Hang", "server1", 2, "2:hang=1", "hccn-tool", UNKNOWN,
                  "10s"}),
    [](const testing::TestParamInfo<FaultCase>& info) {
      return info.param.name;
    });

// Facts that a healthy host may lack do not change the verdict.
TEST(OptionalToolTest, AHostWithoutNpuSmiAndCannPassesAndIsNoted) {
  DemoCluster cluster(DemoSpec(2), kTwoHosts);
  cluster.SetFault("server0", "host:npu_smi=absent");
  cluster.SetFault("server0", "host:cann=absent");
  cluster.StartAll();
  const CheckOutcome outcome = cluster.Check();
  EXPECT_EQ(outcome.process.exit_status, 0) << outcome.process.standard_output;
  for (const RuleResult& rule : outcome.report.rules()) {
    EXPECT_TRUE(rule.state() == PASS || rule.state() == SKIPPED)
        << rule.ShortDebugString();
    if (rule.rule() == "device-health") {
      EXPECT_THAT(rule.summary(),
                  Tells("not-reported-by", absl::StrCat(kAny, "health"),
                        Counted(8, "device")));
    }
    if (rule.rule() == "version-uniform") {
      EXPECT_THAT(rule.summary(),
                  Tells("not-compared-on", absl::StrCat(kAny, "CANN"),
                        Counted(1, "host")));
    }
  }
}

TEST(WrongCertificateTest, NeverAttaches) {
  DemoCluster cluster(DemoSpec(2), kTwoHosts);
  DemoCluster strangers(DemoSpec(2), kTwoHosts);
  cluster.StartController();
  cluster.StartHost("server0");
  // The same names from another CA. The impostor trusts both CAs.
  const std::string both = strangers.Certificates() + "/both.crt";
  std::ofstream(both)
      << std::ifstream(cluster.Certificates() + "/ca.crt").rdbuf()
      << std::ifstream(strangers.Certificates() + "/ca.crt").rdbuf();
  Process impostor(
      {Runfile("daemon/agent/clusterd"), "--controller",
       absl::StrCat("127.0.0.1:", cluster.port()), "--cluster", "demo", "--ca",
       both, "--cert", strangers.Certificates() + "/server1.crt", "--key",
       strangers.Certificates() + "/server1.key", "--root",
       cluster.Root("server1"), "--socket", cluster.Socket("server1")});
  impostor.ExpectError("not attached to");
  const CheckOutcome outcome = cluster.Check();
  EXPECT_EQ(outcome.process.exit_status, 2);
  EXPECT_TRUE(Names(outcome.report, "host-identity", "server1", -1));
}

TEST(AbsentControllerTest, IsNoVerdict) {
  DemoCluster cluster(DemoSpec(2), kTwoHosts);
  cluster.StartController();
  EXPECT_EQ(cluster.controller().EndBy(SIGTERM).exit_status, 0);
  const ProcessResult result = cluster.RunClusterctl({"check"});
  EXPECT_EQ(result.exit_status, 2) << result.standard_error;
  EXPECT_THAT(result.standard_error, HasSubstr("127.0.0.1"));
}

TEST(SpecReloadTest, KeepsTheOldSpecWhenTheNewOneIsBad) {
  DemoCluster cluster(DemoSpec(2), kTwoHosts);
  cluster.StartAll();
  const std::string path = cluster.folder() + "/cluster.yaml";
  std::ofstream(path) << "version: 1\nname: demo\nproduct: atlas-trainin\n";
  cluster.controller().Signal(SIGHUP);
  cluster.controller().ExpectError("refused");
  cluster.controller().ExpectError("cluster.yaml:3:");
  EXPECT_EQ(cluster.Check().process.exit_status, 0);
  std::ofstream(path) << DemoSpec(3);
  cluster.controller().Signal(SIGHUP);
  cluster.controller().ExpectError("read again");
  EXPECT_EQ(cluster.Check().report.hosts_size(), 3);
}

TEST(TerminateTest, EndsEveryProgramWithStatusZero) {
  DemoCluster cluster(DemoSpec(2), kTwoHosts);
  cluster.StartAll();
  EXPECT_EQ(cluster.host("server0").EndBy(SIGTERM).exit_status, 0);
  EXPECT_EQ(cluster.controller().EndBy(SIGTERM).exit_status, 0);
}

TEST(OnceTest, PrintsFactsAndFindingsWithoutAController) {
  DemoCluster cluster(DemoSpec(2), kTwoHosts);
  cluster.SetFault("server0", "3:link=DOWN");
  const ProcessResult result =
      RunProgram({Runfile("daemon/agent/clusterd"), "--once", "--cluster",
                  "demo", "--root", cluster.Root("server0"), "--spec",
                  cluster.folder() + "/cluster.yaml", "--ca",
                  cluster.Certificates() + "/ca.crt", "--cert",
                  cluster.Certificates() + "/server0.crt", "--key",
                  cluster.Certificates() + "/server0.key"});
  EXPECT_EQ(result.exit_status, 1) << result.standard_error;
  EXPECT_THAT(result.standard_output, HasSubstr("192.168.100.101"));
  EXPECT_THAT(result.standard_output, HasSubstr("link"));
}

// The text of hccn.conf on a server of the cluster.
std::string ConfOf(const DemoCluster& cluster, const std::string& host) {
  return TextOfFile(cluster.Root(host) + "/etc/hccn.conf");
}

// The switch of this device was never set; the tool reports its value, and a
// check leaves the file as it is.
TEST(TlsQueryTest, AHostWithoutTheKeyIsJudgedByItsToolsWord) {
  if (!sim::MayEnterPrivately()) GTEST_SKIP() << "needs mount namespaces";
  DemoCluster cluster(absl::StrCat(DemoSpec(2), "tls: false\n"), kTwoHosts);
  cluster.SetFault("server0", "3:tls=absent");
  const std::string before = ConfOf(cluster, "server0");
  cluster.StartAll();
  const CheckOutcome off = cluster.Check();
  EXPECT_EQ(StateOf(off.report, "tls-uniform"), PASS)
      << Shown(off.report, "tls-uniform");
  cluster.SetFault("server0", "3:state=tls=1");
  const CheckOutcome on = cluster.Check();
  EXPECT_EQ(StateOf(on.report, "tls-uniform"), FAIL);
  EXPECT_TRUE(Names(on.report, "tls-uniform", "server0", 3));
  EXPECT_EQ(ConfOf(cluster, "server0"), before);
}

TEST(RecordTest, WritesRunsThatReplayAgainstTheSameTool) {
  DemoCluster cluster(DemoSpec(2), kTwoHosts);
  const std::string file = cluster.folder() + "/runs.jsonl";
  const ProcessResult recorded = RunProgram(
      {"/bin/sh", "-c",
       absl::StrCat(Runfile("daemon/agent/clusterd"), " --record --root ",
                    cluster.Root("server0"), " | ",
                    Runfile("client/clusterctl"), " anonymise ", file)});
  EXPECT_EQ(recorded.exit_status, 0) << recorded.standard_error;
  EXPECT_THAT(recorded.standard_output, Tells("ctl-anonymised"));
  const ProcessResult replayed =
      RunProgram({Runfile("tests/sim/replay"), "--tool",
                  Runfile("tests/sim/hccn_tool"), file});
  EXPECT_EQ(replayed.exit_status, 0)
      << replayed.standard_output << replayed.standard_error;
  EXPECT_THAT(replayed.standard_output, HasSubstr(" matched, 0 different"));
}

TEST(LocalSocketTest, AnswersWithoutTheController) {
  DemoCluster cluster(DemoSpec(2), kTwoHosts);
  cluster.StartAll();
  cluster.controller().EndBy(SIGKILL);
  const ProcessResult result =
      RunProgram({Runfile("client/clusterctl"), "check", "--local", "--socket",
                  cluster.Socket("server0"), "-o", "json"});
  EXPECT_THAT(result.standard_output, HasSubstr("server0"))
      << result.standard_error;
}

TEST(TenMistakesTest, AreAllNamedAndNothingStarts) {
  const ProcessResult validated =
      RunProgram({Runfile("client/clusterctl"), "config", "validate",
                  Runfile("tests/testdata/spec/ten-mistakes.yaml")});
  EXPECT_EQ(validated.exit_status, 3);
  EXPECT_GE(std::count(validated.standard_error.begin(),
                       validated.standard_error.end(), '\n'),
            10)
      << validated.standard_error;
  DemoCluster cluster(DemoSpec(2), kTwoHosts);
  const ProcessResult controller = RunProgram(
      {Runfile("daemon/controller/clusterd-controller"), "--spec",
       Runfile("tests/testdata/spec/ten-mistakes.yaml"), "--cluster", "demo",
       "--listen", "127.0.0.1:0", "--ca", cluster.Certificates() + "/ca.crt",
       "--cert", cluster.Certificates() + "/controller.crt", "--key",
       cluster.Certificates() + "/controller.key"});
  EXPECT_NE(controller.exit_status, 0);
  EXPECT_THAT(controller.standard_error, HasSubstr("ten-mistakes.yaml:"));
}

}  // namespace
}  // namespace clusterd
