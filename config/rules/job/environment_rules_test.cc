#include <string>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::Not;

EnvironmentVariable& SetOn(TestCluster& cluster, int host,
                           const std::string& name, const std::string& value) {
  return cluster.SetInLogins(host, name, value, "/etc/profile.d/hccl.sh", 3);
}

EnvironmentVariable& Set(TestCluster& cluster, const std::string& name,
                         const std::string& value) {
  return SetOn(cluster, 0, name, value);
}

RuleResult CheckOf(const std::string& name, const std::string& value,
                   const char* product = "atlas-a2") {
  TestCluster cluster(product);
  Set(cluster, name, value);
  return cluster.Check("hccl-environment");
}

// A variable with its line in a login file.
std::string Line(const std::string& variable) {
  return absl::StrCat("variable=", variable,
                      ", where=/etc/profile.d/hccl.sh:3");
}

// The part of a summary about variables that are not judged.
std::string NotJudged(const char* why, const std::string& variable,
                      const char* where = "/etc/profile.d/hccl.sh:3") {
  return Say("env-not-judged", Say(absl::StrCat("env-", why)),
             absl::StrCat(variable, " (", where, ")"));
}

TEST(CheckHcclEnvironmentTest, NamesTheVariableItsLineAndItsForm) {
  TestCluster cluster;
  Set(cluster, "HCCL_CONNECT_TIMEOUT", "600");
  EXPECT_EQ(cluster.Check("hccl-environment").state(), PASS);
  // The last one wins.
  Set(cluster, "HCCL_CONNECT_TIMEOUT", "60");
  EXPECT_THAT(cluster.Check("hccl-environment"),
              Finds("FAIL server0 wrong " + Line("HCCL_CONNECT_TIMEOUT") +
                        ", value=\"60\", expected=" +
                        Say("env-seconds", 120, 7200) + ", source=",
                    "HCOMM externalinput.cc"));
}

TEST(CheckHcclEnvironmentTest, IllegalValuesFail) {
  const std::pair<const char*, const char*> kIllegal[] = {
      {"HCCL_RDMA_TIMEOUT", "99"},     {"HCCL_BUFFSIZE", "0"},
      {"HCCL_DETERMINISTIC", "yes"},   {"ASCEND_RT_VISIBLE_DEVICES", "0-7"},
      {"GLOO_SOCKET_IFNAME", "=eth0"}, {"VLLM_HOST_IP", "eth0"},
      {"HCCL_IF_BASE_PORT", "65600"},  {"MASTER_PORT", "port"}};
  for (const auto& [name, value] : kIllegal) {
    EXPECT_EQ(CheckOf(name, value).state(), FAIL) << name;
  }
  EXPECT_EQ(CheckOf("HCCL_RDMA_TIMEOUT", "21", "atlas-training").state(), PASS);
  EXPECT_EQ(CheckOf("HCCL_RDMA_TIMEOUT", "99", "ascend-950").state(), PASS);
  // CANN takes its default.
  EXPECT_EQ(CheckOf("ASCEND_GLOBAL_LOG_LEVEL", "9").state(), WARN);
}

TEST(CheckHcclEnvironmentTest, VisibleDevicesMustBeThoseOfTheJob) {
  TestCluster cluster("atlas-a2");
  Set(cluster, "ASCEND_RT_VISIBLE_DEVICES", "0,1");
  EXPECT_EQ(cluster.Check("hccl-environment").state(), PASS);
  cluster.StartJob();
  EXPECT_THAT(
      cluster.Check("hccl-environment"),
      Finds("FAIL server0 hides-device " + Line("ASCEND_RT_VISIBLE_DEVICES") +
            ", value=\"0,1\", devices=devices 2-7\n"));
  Set(cluster, "ASCEND_RT_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7");
  EXPECT_EQ(cluster.Check("hccl-environment").state(), PASS);
  cluster.SetInJob("ASCEND_RT_VISIBLE_DEVICES", "4,5,6,7");
  EXPECT_EQ(cluster.Check("hccl-environment").state(), FAIL);
}

TEST(CheckHcclEnvironmentTest, PortsMustFitBehindTheBasePort) {
  TestCluster cluster;
  Set(cluster, "HCCL_IF_BASE_PORT", "65520");
  cluster.spec.mutable_hccl()->set_port_count(16);
  EXPECT_EQ(cluster.Check("hccl-environment").state(), PASS);
  cluster.spec.mutable_hccl()->set_port_count(32);
  EXPECT_THAT(cluster.Check("hccl-environment"),
              Finds("WARN server0 ports-end " + Line("HCCL_IF_BASE_PORT") +
                    ", value=\"65520\", count=32, last=65551, most=65504"));
  Set(cluster, "HCCL_IF_BASE_PORT", "65504");
  EXPECT_EQ(cluster.Check("hccl-environment").state(), PASS);
}

TEST(CheckHcclEnvironmentTest, ValueOfAWordProcessorIsShownInItsLetters) {
  EXPECT_THAT(Lines(CheckOf("HCCL_BUFFSIZE", "“200”")),
              AllOf(HasSubstr("FAIL server0 wrong variable=HCCL_BUFFSIZE"),
                    HasSubstr("value=\"“200”\" (with"),
                    HasSubstr("quote “), expected=")));
}

TEST(CheckHcclEnvironmentTest, NamesDevicesNamesAndPlaceholdersThatAreNone) {
  const struct {
    const char* name;
    const char* value;
    const char* finding;
    const char* values;
  } kCases[] = {
      {"ASCEND_RT_VISIBLE_DEVICES", "0,1,2,3,4,5,6,9",
       "FAIL server0 names-no-device ",
       ", value=\"0,1,2,3,4,5,6,9\", devices=device 9\n"},
      {"ASCEND_RT_VISIBLE_DEVICE", "0,1,2,3", "WARN server0 misspelt ",
       ", meant=ASCEND_RT_VISIBLE_DEVICES\n"},
      {"ASCEND_MF_STORE_URL", "tcp://PIP:PORT", "FAIL server0 placeholder ",
       ", value=\"tcp://PIP:PORT\"\n"}};
  for (const auto& c : kCases) {
    EXPECT_THAT(Lines(CheckOf(c.name, c.value)),
                HasSubstr(absl::StrCat(c.finding, Line(c.name), c.values)));
  }
  for (const char* value : {"<ip>", "x.x.x.x", "your_ip", "$MASTER_IP"}) {
    EXPECT_EQ(CheckOf("MASTER_ADDR", value).state(), FAIL) << value;
  }
  EXPECT_EQ(CheckOf("HCCL_OP_EXPANSION_MODE", "HOST").state(), PASS);
}

TEST(CheckHcclEnvironmentTest, AdviceHasTheNameThatWasMeant) {
  for (const auto& [effect, finding] :
       {std::pair(EnvironmentVariable::NOT_READ, "not-read"),
        std::pair(EnvironmentVariable::NOT_EXPORTED, "not-exported"),
        std::pair(EnvironmentVariable::AFTER_MARK, "after-mark")}) {
    TestCluster cluster;
    Set(cluster, "HCCL-BUFFSIZE", "").set_effect(effect);
    EXPECT_EQ(Lines(cluster.Check("hccl-environment")),
              absl::StrCat("WARN server0 ", finding, " ", Line("HCCL-BUFFSIZE"),
                           ", right=HCCL_BUFFSIZE\n"));
  }
}

TEST(CheckHcclEnvironmentTest, ContradictionQuotesWhatTheFileHas) {
  TestCluster cluster;
  Set(cluster, "HCCL_INTRA_ROCE_ENABLE", "1");
  Set(cluster, "HCCL_INTRA_PCIE_ENABLE", "1");
  EXPECT_THAT(cluster.Check("hccl-environment"),
              Finds("FAIL server0 wrong " + Line("HCCL_INTRA_ROCE_ENABLE") +
                    ", value=\"1\" (as HCCL_INTRA_PCIE_ENABLE is), "));
}

// HCCL documents the form for Ascend 950; the effect on others is not known.
TEST(CheckHcclEnvironmentTest, AlgorithmsByExecutorAreNoPlaceholder) {
  for (const char* value :
       {"allreduce:sequence{mesh,nhr};sole{nhr}", "not(nhr)", "nhr"}) {
    for (const char* product : {"atlas-a2", "ascend-950"}) {
      const RuleResult result = CheckOf("HCCL_ALGO", value, product);
      EXPECT_EQ(result.state(), PASS) << value << " " << product;
      EXPECT_THAT(result.summary(),
                  HasSubstr(NotJudged("by-executors", "HCCL_ALGO")));
    }
  }
  EXPECT_EQ(CheckOf("HCCL_ALGO", "level0:NA;level1:{algo}").state(), FAIL);
  EXPECT_EQ(
      CheckOf(
          "HCCL_ALGO",
          "allreduce=level0:NA;level1:ring/alltoall=level0:NA;level1:pairwise")
          .summary()
          .find("not judged"),
      std::string::npos);
}

// export HCCL_ALGO=level0:NA;level1:ring
TEST(CheckHcclEnvironmentTest, TextThatTheShellDropsIsAWarning) {
  for (const auto effect :
       {EnvironmentVariable::SET, EnvironmentVariable::NOT_READ}) {
    TestCluster cluster;
    EnvironmentVariable& line = Set(cluster, "HCCL_ALGO", "level0:NA");
    line.set_cut(";level1:ring");
    line.set_effect(effect);
    EXPECT_THAT(cluster.Check("hccl-environment"),
                Warns("WARN server0 cut " + Line("HCCL_ALGO") +
                      ", right=HCCL_ALGO, rest=\";level1:ring\""));
  }
  TestCluster cluster;
  Set(cluster, "RANK_ID", "1").set_cut(" 2");
  cluster.facts[0]
      .mutable_environment()
      ->mutable_value()
      ->mutable_variables(0)
      ->set_effect(EnvironmentVariable::NOT_EXPORTED);
  EXPECT_EQ(cluster.Check("hccl-environment").findings_size(), 2);
  // The rest of the value is judged, too.
  Set(cluster, "HCCL_OP_RETRY_ENABLE", "L1:0,").set_cut(" L2:0");
  EXPECT_EQ(cluster.Check("hccl-environment").state(), FAIL);
}

// The value itself is judged without the CR.
TEST(CheckHcclEnvironmentTest, CarriageReturnFailsBesideTheValue) {
  TestCluster cluster;
  Set(cluster, "HCCL_CONNECT_TIMEOUT", "600").set_carriage_return(true);
  EXPECT_THAT(cluster.Check("hccl-environment"),
              Finds("FAIL server0 carriage-return " +
                        Line("HCCL_CONNECT_TIMEOUT") + ", value=\"600\"",
                    Not(HasSubstr("120 to 7200"))));
  Set(cluster, "HCCL_BUFFSIZE", "0").set_carriage_return(true);
  EXPECT_THAT(cluster.Check("hccl-environment"),
              Finds("FAIL server0 wrong " + Line("HCCL_BUFFSIZE") +
                    ", value=\"0\", expected=1 or more (MB), "));
}

TEST(CheckHcclEnvironmentTest, LineThatSetsNothingIsAWarning) {
  for (const auto effect :
       {EnvironmentVariable::NOT_READ, EnvironmentVariable::NOT_EXPORTED}) {
    TestCluster cluster;
    Set(cluster, "HCCL_CONNECT_TIMEOUT", "60").set_effect(effect);
    EXPECT_THAT(cluster.Check("hccl-environment"),
                Warns("/etc/profile.d/hccl.sh:3"));
  }
}

TEST(CheckHcclEnvironmentTest, LineUnderAConditionIsJudgedAsAWarning) {
  TestCluster cluster;
  Set(cluster, "HCCL_CONNECT_TIMEOUT", "600");
  Set(cluster, "HCCL_CONNECT_TIMEOUT", "700").set_conditional(true);
  const RuleResult result = cluster.Check("hccl-environment");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_THAT(result.summary(),
              HasSubstr(NotJudged("conditional", "HCCL_CONNECT_TIMEOUT")));
  Set(cluster, "HCCL_CONNECT_TIMEOUT", "60").set_conditional(true);
  EXPECT_THAT(cluster.Check("hccl-environment"),
              Finds("WARN server0 perhaps-wrong " +
                    Line("HCCL_CONNECT_TIMEOUT") + ", value=\"60\", "));
}

// "export HCCL_CONNECT_TIMEOUT=$X" after an older line.
TEST(CheckHcclEnvironmentTest, WhatAShellWorksOutIsSaidAndNotJudged) {
  TestCluster cluster;
  Set(cluster, "HCCL_CONNECT_TIMEOUT", "600");
  Set(cluster, "HCCL_CONNECT_TIMEOUT", "").set_computed(true);
  Set(cluster, "HCCL_WHITELIST_DISABLE", "0");
  Set(cluster, "HCCL_WHITELIST_FILE", "").set_computed(true);
  Set(cluster, "HCCL_INTRA_ROCE_ENABLE", "0");
  Set(cluster, "HCCL_INTRA_PCIE_ENABLE", "").set_computed(true);
  EXPECT_THAT(cluster.Check("hccl-environment"),
              Warns("not-judged " + Line("HCCL_CONNECT_TIMEOUT")));
}

TEST(CheckHcclEnvironmentTest, NamesWhatHasNoPublishedForm) {
  TestCluster cluster;
  Set(cluster, "HCCL_SOMETHING_NEW", "7");
  Set(cluster, "/opt/x/env.sh", "").set_effect(EnvironmentVariable::SOURCED);
  EXPECT_EQ(cluster.Check("hccl-environment").state(), PASS);
  // The same beside a finding.
  Set(cluster, "HCCL_BUFFSIZE", "0");
  EXPECT_THAT(
      cluster.Check("hccl-environment").summary(),
      HasSubstr("2 hosts; " + NotJudged("no-form", "HCCL_SOMETHING_NEW") +
                "; " + NotJudged("sourced-file", "/opt/x/env.sh")));
}

TEST(CheckHcclEnvironmentTest, NamesKnownVariablesWithoutAForm) {
  for (const char* name :
       {"HCCL_ASYNC_ERROR_HANDLING", "HCCL_EVENT_TIMEOUT", "RANK_ID",
        "CM_CHIEF_IP", "ASCEND_HOST_LOG_FILE_NUM", "MIES_CONTAINER_IP"}) {
    const RuleResult result = CheckOf(name, "yes");
    EXPECT_EQ(result.state(), PASS);
    EXPECT_THAT(result.summary(), HasSubstr(NotJudged("no-form", name)));
    EXPECT_THAT(CheckOf(name, "<a>").summary(), Not(HasSubstr("not judged")));
  }
  // Any folder is valid, and the others have rules of their own.
  for (const char* name : {"ASCEND_OPP_PATH", "ASCEND_TOOLKIT_HOME",
                           "MASTER_ADDR", "NNODES", "RANK_SIZE"}) {
    EXPECT_THAT(CheckOf(name, "2").summary(), Not(HasSubstr("not judged")));
  }
}

TEST(CheckHcclEnvironmentTest, NamesTheFilesThatItDoesNotJudge) {
  TestCluster cluster;
  Set(cluster, "RANK_ID", "").set_effect(EnvironmentVariable::OTHER_FILE);
  cluster.SetInLogins(0, "over 65536 bytes", "", "/root/.bashrc", 0)
      .set_effect(EnvironmentVariable::UNREADABLE_FILE);
  const RuleResult result = cluster.Check("hccl-environment");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_THAT(result.summary(),
              AllOf(HasSubstr(NotJudged("in-other-file", "RANK_ID")),
                    HasSubstr(NotJudged("unreadable-file", "over 65536 bytes",
                                        "/root/.bashrc"))));
}

EnvironmentVariable& SetInJobFile(TestCluster& cluster, const std::string& name,
                                  const std::string& value) {
  EnvironmentVariable& own = cluster.SetInJob(name, value);
  MergeText("file: 'job file' line: 4", &own);
  return own;
}

TEST(CheckHcclEnvironmentTest, JobFileIsJudgedAndWinsOverALogin) {
  TestCluster cluster;
  Set(cluster, "HCCL_BUFFSIZE", "0");
  EnvironmentVariable& own = SetInJobFile(cluster, "HCCL_BUFFSIZE", "200");
  EXPECT_EQ(cluster.Check("hccl-environment").state(), PASS);
  own.set_value("0");
  EXPECT_THAT(cluster.Check("hccl-environment"),
              Finds("FAIL cluster wrong-of-job variable=HCCL_BUFFSIZE, "
                    "where=job file:4, value=\"0\", "));
}

TEST(CheckHcclEnvironmentTest, VariablesOfOtherProgramsAreNoPlaceholder) {
  TestCluster cluster;
  const std::pair<const char*, const char*> kOthers[] = {
      {"DS", "{\"a\":1}"},    {"NAME", "job{1}"}, {"Q", "a<b>c"},
      {"R", "${HOME}/x"},     {"P", "x.x.x.x"},   {"S", "$(date)"},
      {"WANDB_MODE", "xxxx"}, {"HOST_IP", "IP"},  {"ADDRESS", "your_ip"}};
  for (const auto& [name, value] : kOthers) SetInJobFile(cluster, name, value);
  const RuleResult result = cluster.Check("hccl-environment");
  EXPECT_EQ(result.state(), PASS) << Lines(result);
  EXPECT_THAT(result.summary(), Not(HasSubstr("not judged")));
  // HCCL's, without a published form.
  SetInJobFile(cluster, "HCCL_SOMETHING_NEW", "{\"a\":1}");
  const RuleResult unknown = cluster.Check("hccl-environment");
  EXPECT_EQ(unknown.state(), PASS) << Lines(unknown);
  EXPECT_THAT(unknown.summary(), HasSubstr("HCCL_SOMETHING_NEW (job file:4)"));
}

TEST(CheckHcclEnvironmentTest, LineOfAJobFileIsCorrectedThere) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"MASTER_ADDR", "${HOME}"},     {"RANK_TABLE_FILE", "<path>.json"},
      {"HCCL_BUFFSIZE", "0"},         {"ASCEND_GLOBAL_LOG_LEVEL", "9"},
      {"HCCL_CONECT_TIMEOUT", "600"}, {"ASCEND_RT_VISIBLE_DEVICES", "0,9"}};
  for (const auto& [name, value] : kWrong) {
    TestCluster cluster("atlas-a2");
    SetInJobFile(cluster, name, value);
    const RuleResult result = cluster.Check("hccl-environment");
    ASSERT_GT(result.findings_size(), 0) << name;
    EXPECT_THAT(result.findings(0).finding(), EndsWith("-of-job")) << name;
    EXPECT_THAT(result.findings(0).fix(),
                AllOf(HasSubstr("of the job file"), Not(HasSubstr("log in")),
                      Not(HasSubstr("profile.d"))))
        << name;
    const Finding of_login = CheckOf(name, value).findings(0);
    EXPECT_THAT(of_login.finding(), Not(EndsWith("-of-job"))) << name;
    EXPECT_THAT(of_login.fix(), HasSubstr("and log in again")) << name;
  }
}

// Set for only one role of a job, as with prefill and decode.
TEST(CheckEnvironmentUniformTest, WarnsOfTheClusterAndFailsAJob) {
  TestCluster cluster;
  Set(cluster, "HCCL_INTRA_ROCE_ENABLE", "1");
  for (int host : {0, 1}) SetOn(cluster, host, "HCCL_RDMA_TIMEOUT", "17");
  const RuleResult result = cluster.Check("environment-uniform");
  EXPECT_EQ(result.state(), WARN);
  constexpr char kSet[] = "value=\"1\" (/etc/profile.d/hccl.sh:3), all=";
  EXPECT_THAT(
      result,
      Finds(absl::StrCat(
                "WARN server0 differs variable=HCCL_INTRA_ROCE_ENABLE, ", kSet),
            "WARN server1 differs variable=HCCL_INTRA_ROCE_ENABLE, value=not "
            "set, all=\"1\" (/etc/profile.d/hccl.sh:3) on 1 host, not set on 1 "
            "host",
            Not(HasSubstr("HCCL_RDMA_TIMEOUT"))));
  cluster.StartJob();
  EXPECT_EQ(cluster.Check("environment-uniform").state(), FAIL);
  // The job sets the same value on all hosts.
  cluster.SetInJob("HCCL_INTRA_ROCE_ENABLE", "1");
  EXPECT_EQ(cluster.Check("environment-uniform").state(), PASS);
}

TEST(CheckEnvironmentUniformTest, NamesTheHostsBesideTheMajority) {
  TestCluster cluster("atlas-a2", "", 3);
  for (int host : {0, 1}) SetOn(cluster, host, "HCCL_BUFFSIZE", "400");
  EXPECT_THAT(cluster.Check("environment-uniform"),
              FindsOne("server2", testing::_));
}

TEST(CheckEnvironmentUniformTest, DefaultsAndWhatHostsHaveOfTheirOwnAreEqual) {
  TestCluster cluster;
  Set(cluster, "HCCL_WHITELIST_DISABLE", "1");
  Set(cluster, "HCCL_CONNECT_TIMEOUT", "0120");
  Set(cluster, "HCCL_DETERMINISTIC", "FALSE");
  Set(cluster, "HCCL_INTER_HCCS_DISABLE", "true");
  SetOn(cluster, 1, "HCCL_INTER_HCCS_DISABLE", "TRUE");
  // No program reads it.
  Set(cluster, "HCCL_CONECT_TIMEOUT", "600");
  Set(cluster, "HCCL_IF_IP", "172.16.0.1");
  SetOn(cluster, 1, "HCCL_IF_IP", "172.16.0.2");
  Set(cluster, "NODE_RANK", "0");
  SetOn(cluster, 1, "NODE_RANK", "1");
  Set(cluster, "HCCL_ENTRY_LOG_ENABLE", "1");
  Set(cluster, "HCCL_BUFFSIZE", "").set_computed(true);
  EXPECT_EQ(cluster.Check("environment-uniform").state(), PASS);
  Set(cluster, "ASCEND_RT_VISIBLE_DEVICES", "0,1");
  Set(cluster, "MASTER_PORT", "29500");
  EXPECT_EQ(cluster.Check("environment-uniform").findings_size(), 4);
}

}  // namespace
}  // namespace clusterd
