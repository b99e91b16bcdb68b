#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kPfc4[] = "0,0,0,0,1,0,0,0";
constexpr char kPfc3[] = "0,0,0,1,0,0,0,0";

// Priority 4 and DSCP 33 in class 1, with PFC, to match HCCL's defaults.
TestCluster LosslessCluster() {
  TestCluster cluster("atlas-a2");
  cluster.ForEachDevice([](DeviceFacts& device) {
    device.mutable_pfc()->set_value(kPfc4);
    device.mutable_dscp_to_tc()->set_value("3:2,33:1");
    device.mutable_priority_to_tc()->set_value("0,0,0,0,1,0,0,0");
    device.mutable_roce_port()->set_value("4791");
  });
  return cluster;
}

LinkHistoryFact::History& HistoryOf(TestCluster* cluster) {
  return *cluster->device(0, 3).mutable_link_history()->mutable_value();
}

void AddChange(LinkHistoryFact::History* history, uint64_t ago, bool up) {
  LinkHistoryFact::Change* change = history->add_changes();
  change->set_seconds_ago(ago);
  change->set_up(up);
}

TEST(LosslessTest, HostThatNobodySetUpPassesWhereTheSpecIsSilent) {
  TestCluster cluster("atlas-a2");
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
  EXPECT_EQ(JudgedCount(cluster.Check("lossless")), 16);
  // The spec wants no class.
  cluster.spec.mutable_lossless()->set_dscp_to_tc("0:0");
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
  // A rail may differ from another.
  for (const int host : {0, 1}) {
    cluster.device(host, 3).mutable_pfc()->set_value(kPfc3);
  }
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
}

TEST(LosslessTest, DeviceUnlikeItsRailIsAWarningWithTheCommand) {
  TestCluster cluster("atlas-a2", "", 3);
  cluster.device(1, 3).mutable_pfc()->set_value(kPfc4);
  cluster.Set(1, 3, "dscp_to_tc {value: '33:1'} roce_port {value: '4791'}");
  const std::string lines = Lines(cluster.Check("lossless"));
  EXPECT_THAT(lines,
              HasSubstr("WARN server1:3 other what=PFC, now=0,0,0,0,1,0,0,0, "
                        "right=0,0,0,0,0,0,0,0, device=3, others=2 other "
                        "hosts, command=-pfc -s bitmap 0,0,0,0,0,0,0,0"));
  EXPECT_THAT(lines,
              HasSubstr("other what=DSCP to traffic class, now=33:1, right=0 "
                        "for every DSCP, device=3, others=2 other hosts"));
  EXPECT_THAT(lines,
              HasSubstr("other what=RoCE port, now=4791, right=auto, device=3, "
                        "others=2 other hosts, command=-udp -s auto"));
}

TEST(LosslessTest, DeviceUnlikeTheSpecFailsAndAPlanFixesWhatItSets) {
  TestCluster cluster = LosslessCluster();
  cluster.spec.mutable_lossless()->set_pfc(kPfc3);
  cluster.SetSpec("lossless {dscp_to_tc: '33:1' roce_port: 4792}");
  const RuleResult result = cluster.Check("lossless");
  EXPECT_EQ(result.state(), FAIL);
  ASSERT_EQ(result.findings_size(), 3);
  EXPECT_EQ(Brief(result.findings(0)),
            "unlike-spec what=PFC, now=0,0,0,0,1,0,0,0, right=0,0,0,1,0,0,0,0, "
            "command=-pfc -s bitmap 0,0,0,1,0,0,0,0");
  EXPECT_TRUE(result.findings(0).fixed_by_plan());
  EXPECT_TRUE(result.findings(1).fixed_by_plan());
  EXPECT_EQ(Brief(result.findings(2)),
            "unlike-spec what=RoCE port, now=4791, right=4792, command=-udp -s "
            "port 4792");
  EXPECT_TRUE(result.findings(2).fixed_by_plan());
}

TEST(LosslessTest, ClassAndLevelOfTheJobsNeedPfc) {
  TestCluster cluster = LosslessCluster();
  cluster.SetSpec("hccl {rdma_tc: 132 rdma_sl: 4}");
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
  // DSCP 3 has class 2, which lacks a priority.
  EXPECT_THAT(cluster.SetSpec("hccl {rdma_tc: 12}").Check("lossless"),
              Warns("class-without-pfc tc=12, dscp=3, class=2"));
  EXPECT_THAT(cluster.SetSpec("hccl {rdma_sl: 3}").Check("lossless"),
              Finds("WARN server0:0-7 server1:0-7 level-without-pfc "
                    "level=3, priority=3"));
}

void SetJobs(TestCluster* cluster, const std::string& tc,
             const std::string& sl) {
  cluster->SetInLogins(1, "HCCL_RDMA_TC", tc);
  if (!sl.empty()) cluster->SetInLogins(1, "HCCL_RDMA_SL", sl);
}

TEST(LosslessTest, WhatAHostSetsForEveryLoginIsJudgedOnThatHost) {
  TestCluster cluster = LosslessCluster();
  SetJobs(&cluster, "132", "4");
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
  SetJobs(&cluster, "12", "3");
  const RuleResult result = cluster.Check("lossless");
  EXPECT_EQ(result.state(), WARN);
  EXPECT_EQ(result.findings_size(), 2);
  const std::string lines = Lines(result);
  EXPECT_THAT(lines, HasSubstr("WARN server1:0-7 class-without-pfc tc=12 "
                               "(/etc/environment:1), dscp=3, class=2"));
  EXPECT_THAT(lines, HasSubstr("WARN server1:0-7 level-without-pfc level=3 "
                               "(/etc/environment:1), priority=3"));
  // The spec has the word before the host.
  cluster.SetSpec("hccl {rdma_tc: 132 rdma_sl: 4}");
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
}

TEST(LosslessTest, VariableThatIsNoneOfHcclsIsLeftToHcclEnvironment) {
  TestCluster cluster("atlas-a2");  // No PFC anywhere.
  for (const char* const value : {"", "133", "256", "-4", "$TC", "1e2"}) {
    SetJobs(&cluster, value, "");
    EXPECT_EQ(cluster.Check("lossless").state(), PASS) << value;
  }
  SetMissing(Missing::TIMED_OUT, "", cluster.facts[1].mutable_environment());
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
}

TEST(LosslessTest, OlderToolWithoutTheQueriesIsSkippedWithTheReason) {
  TestCluster cluster("atlas-a2");
  cluster.ForEachDevice([](DeviceFacts& device) {
    for (TextFact* fact :
         {device.mutable_pfc(), device.mutable_dscp_to_tc(),
          device.mutable_priority_to_tc(), device.mutable_roce_port()}) {
      SetMissing(Missing::NOT_SUPPORTED, "Get invalid major cmd.", fact);
    }
  });
  cluster.spec.mutable_hccl()->set_rdma_tc(132);
  const RuleResult result = cluster.Check("lossless");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(Brief(result.findings(0)), "no-such-query what=PFC");
}

TEST(LosslessTest, ValueThatTheSpecDemandsAndTheToolDoesNotTellIsUnknown) {
  TestCluster cluster = LosslessCluster();
  SetMissing(Missing::NOT_SUPPORTED, "Get invalid major cmd.",
             cluster.device(0, 3).mutable_pfc());
  cluster.spec.mutable_lossless()->set_roce_port(4791);
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
  cluster.spec.mutable_lossless()->set_pfc(kPfc4);
  EXPECT_THAT(cluster.Check("lossless"),
              IsUnknown("UNKNOWN server0:3 not-known what=PFC, reason="));
}

TEST(LosslessTest, OneQueryThatAToolLacksCostsNoVerdictAboutTheOthers) {
  TestCluster cluster = LosslessCluster();
  cluster.spec.mutable_hccl()->set_rdma_tc(132);
  cluster.SetDevices("priority_to_tc {missing {reason: NOT_SUPPORTED}}");
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
  cluster.device(0, 0).mutable_pfc()->set_value(kPfc3);
  EXPECT_EQ(cluster.Check("lossless").state(), WARN);
}

TEST(LosslessTest, NoCommandIsMadeOfWhatHostsMakeUp) {
  TestCluster cluster("atlas-a2", "", 3);
  for (const int host : {0, 1}) {
    DeviceFacts& device = cluster.device(host, 3);
    device.mutable_pfc()->set_value("0; reboot");
    device.mutable_dscp_to_tc()->set_value("33:1 && reboot");
    device.mutable_priority_to_tc()->set_value("0,0,0,0\x1b[2J");
    device.mutable_roce_port()->set_value("$(reboot)");
  }
  const RuleResult result = cluster.Check("lossless");
  EXPECT_EQ(result.findings_size(), 4);
  for (const Finding& finding : result.findings()) {
    EXPECT_EQ(finding.command(), "");
    EXPECT_EQ(finding.finding(), "other");
    EXPECT_THAT(finding.fix(), HasSubstr("hccn_tool -h"));
    EXPECT_EQ(finding.expected().find('\x1b'), std::string::npos);
  }
}

TEST(OpticsTest, PortThatIsUpNeedsNoModule) {
  TestCluster cluster("atlas-a2");
  cluster.Set(0, 3, "optical {value {present: false}}");
  EXPECT_EQ(cluster.Check("optics").state(), PASS);
  // Rule link reports it as unknown.
  SetMissing(Missing::TIMED_OUT, "10s", cluster.device(0, 3).mutable_link());
  EXPECT_EQ(cluster.Check("optics").state(), PASS);
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  EXPECT_THAT(cluster.Check("optics"), Finds("WARN server0:3 absent"));
}

TEST(OpticsTest, FlagAndThresholdAreWarningsInTheToolsWords) {
  TestCluster cluster("atlas-a2");
  cluster.Set(0, 3, R"(optical {value {
      alarms {name: 'Rx Los Flag' value: '0xff'}
      alarms {name: 'Rx Power1' value: '0.1018 mW'
              limits: '0.1445 ~ 3.4673 mW'}}})");
  EXPECT_THAT(cluster.Check("optics"),
              Warns("flag flag=Rx Los Flag, lanes=0xff",
                    "outside what=Rx Power1, value=0.1018 "
                    "mW, limits=0.1445 ~ 3.4673 mW"));
}

TEST(OpticsTest, OlderToolIsSkippedAndAMuteModuleIsUnknown) {
  TestCluster cluster("atlas-a2");
  SetMissing(Missing::TOOL_FAILED, "Control link unreachable.",
             cluster.device(0, 3).mutable_optical());
  EXPECT_EQ(cluster.Check("optics").state(), UNKNOWN);
  cluster.SetDevices("optical {missing {reason: NOT_SUPPORTED}}");
  EXPECT_EQ(cluster.Check("optics").state(), SKIPPED);
}

TEST(LosslessTest, SwitchThatPausesAnotherPriorityIsAWarning) {
  TestCluster cluster = LosslessCluster();
  LldpNeighbour* const neighbour =
      cluster.device(0, 3).mutable_lldp()->mutable_value();
  neighbour->set_pfc(kPfc4);
  EXPECT_EQ(cluster.Check("lossless").state(), PASS);
  neighbour->set_pfc(kPfc3);
  EXPECT_THAT(
      cluster.Check("lossless"),
      Finds("WARN server0:3 unlike-switch now=0,0,0,0,1,0,0,0, "
            "right=0,0,0,1,0,0,0,0, command=-pfc -s bitmap 0,0,0,1,0,0,0,0"));
}

TEST(LinkFlapsTest, OldFallCounterAloneAndBootAreNoFault) {
  TestCluster cluster("atlas-a2");
  LinkHistoryFact::History& history = HistoryOf(&cluster);
  history.set_downs(1000);
  EXPECT_EQ(cluster.Check("link-flaps").state(), PASS);
  AddChange(&history, 86400, true);
  AddChange(&history, 86401, false);
  AddChange(&history, 1985591, true);
  EXPECT_EQ(cluster.Check("link-flaps").state(), PASS);
  TestCluster booted("atlas-a2");
  AddChange(&HistoryOf(&booted), 600, true);
  AddChange(&HistoryOf(&booted), 600, false);
  EXPECT_EQ(booted.Check("link-flaps").state(), PASS);
}

TEST(LinkFlapsTest, FallWithinADayIsAWarningWithItsTime) {
  TestCluster cluster("atlas-a2");
  LinkHistoryFact::History& history = HistoryOf(&cluster);
  AddChange(&history, 7000, true);
  AddChange(&history, 7200, false);
  AddChange(&history, 90000, true);
  AddChange(&history, 90060, false);
  EXPECT_THAT(cluster.Check("link-flaps"),
              Warns("WARN server0:3 went-down times=1 time, ago=2h"));
}

TEST(LinkFlapsTest, ToolThatRefusesSinceTheLinkIsDownCostsNoVerdict) {
  TestCluster cluster("atlas-a2");
  SetMissing(Missing::TOOL_FAILED, "Execute failed: Link status is down.",
             cluster.device(0, 3).mutable_link_history());
  EXPECT_EQ(cluster.Check("link-flaps").state(), UNKNOWN);
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  EXPECT_THAT(cluster.Check("link-flaps"), Passes("SKIPPED server0:3 [link]"));
}

TEST(LinkFlapsTest, LinkThatIsDownNowIsTheCause) {
  TestCluster cluster("atlas-a2");
  AddChange(&HistoryOf(&cluster), 60, false);
  EXPECT_THAT(cluster.Set(0, 3, "link {value: DOWN}").Check("link-flaps"),
              Finds("WARN server0:3 [link] went-down times=1 time, ago=1m"));
}

TEST(LinkFlapsTest, ErrorCounterThatRoseBetweenTwoReadsIsAWarning) {
  TestCluster cluster("atlas-a2");
  cluster.Set(
      0, 3,
      "counter_rises {value {rises {name: 'roce_new_pkt_rty_num' rise: 12}}}");
  EXPECT_THAT(cluster.Check("link-flaps"),
              Warns("WARN server0:3 rose counter=roce_new_pkt_rty_num, "
                    "rise=12, span=5 min"));
}

TEST(LinkFlapsTest, CountersWithoutAnEarlierReadAreNoFaultAndTheSummarySaysSo) {
  TestCluster cluster("atlas-a2");
  CounterRisesFact::Rises& rises =
      *cluster.device(0, 3).mutable_counter_rises()->mutable_value();
  rises.clear_seconds();
  rises.set_not_compared("clusterd has read them for the first time");
  const RuleResult result = cluster.Check("link-flaps");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_THAT(result.summary(),
              HasSubstr(Say("counters-not-compared", Counted(1, "device"))));
}

TEST(LinkFlapsTest, ToolWithOnlyOneOfTheQueriesIsJudgedByThatOne) {
  TestCluster cluster("atlas-a2");
  cluster.SetDevices("counter_rises {missing {reason: NOT_SUPPORTED}}");
  EXPECT_EQ(cluster.Check("link-flaps").state(), PASS);
  cluster.SetDevices("link_history {missing {reason: NOT_SUPPORTED}}");
  EXPECT_EQ(cluster.Check("link-flaps").state(), SKIPPED);
}

}  // namespace
}  // namespace clusterd
