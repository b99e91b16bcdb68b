#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/values/setting.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;

constexpr int64_t kApplied = 1700000000000;  // 2023-11-14 22:13:20 UTC.

// Values of the findings about it.
std::string Apply() {
  return "apply=apply 0123456789abcdef by alice, 2023-11-14 22:13 UTC";
}
std::string ByAlice() { return Apply() + ", id=0123456789abcdef"; }

AppliedDrift Drift(const std::string& change, const std::string& why,
                   const std::string& to) {
  auto drift = FromText<AppliedDrift>(
      "apply_id: '0123456789abcdef' step: 1 applied_by: 'alice'");
  drift.set_change(change);
  drift.set_why(why);
  drift.set_applied_at_ms(kApplied);
  *drift.mutable_to() = TextsValue({to});
  return drift;
}

AppliedDrift SomaxconnDrift() {
  return Drift("net.core.somaxconn: 4096 -> 65535",
               "net.core.somaxconn is 128, applied was 65535", "65535");
}

AppliedDrift GatewayDrift(uint32_t device) {
  AppliedDrift drift =
      Drift("device 3: gateway none -> 10.0.0.254", "", "10.0.0.254");
  drift.add_devices(device);
  *drift.mutable_fact() = DeviceFact(device, SETTING_GATEWAY);
  *drift.mutable_now() = NoneValue();
  drift.mutable_was()->set_address("10.0.0.254");
  return drift;
}

DriftFact::Drifts* DriftsOf(TestCluster* cluster, int host) {
  return cluster->facts[host].mutable_drift()->mutable_value();
}

TEST(CheckDriftTest, WarnsWithBothValuesTheApplyAndTheWayBack) {
  TestCluster cluster;
  *DriftsOf(&cluster, 0)->add_drifts() = SomaxconnDrift();
  const RuleResult result = cluster.Check("drift");
  EXPECT_EQ(Lines(result),
            "WARN server0 drifted why=net.core.somaxconn is 128, applied was "
            "65535, applied=65535, " +
                ByAlice() + "\n");
  EXPECT_EQ(result.category(), "host");
  EXPECT_EQ(result.summary(), "2 hosts");
}

// Drift of a stopped firewall that an apply had opened from port 22 up to these
// for an address each.
std::vector<AppliedDrift> FirewallDrift(const std::vector<uint32_t>& last) {
  std::vector<AppliedDrift> drifts;
  for (const uint32_t port : last) {
    drifts.push_back(Drift("firewalld: let in",
                           "firewalld: active is no, applied was yes", "yes"));
    FirewallRule& rule =
        *drifts.back().mutable_target()->mutable_target()->mutable_rule();
    MergeText("program: FIREWALLD port {first_port: 22 protocol: 'tcp'}",
              &rule);
    rule.mutable_port()->set_last_port(port);
    rule.mutable_port()->set_source(absl::StrCat("10.0.0.", drifts.size()));
  }
  return drifts;
}

RuleResult Check(const std::vector<AppliedDrift>& drifts) {
  TestCluster cluster;
  for (const AppliedDrift& drift : drifts) {
    *DriftsOf(&cluster, 0)->add_drifts() = drift;
  }
  return cluster.Check("drift");
}

TEST(CheckDriftTest, NamesTheRulesOfAFirewallAsTheirStepsDo) {
  const RuleResult result = Check(FirewallDrift({22, 23}));
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(Brief(result.findings(0)),
            "drifted why=firewalld: active is no, applied was yes, "
            "applied=firewalld: 22/tcp from 10.0.0.1, 22-23/tcp from 10.0.0.2 "
            "allowed, " +
                ByAlice());
}

TEST(CheckDriftTest, SaysOfEachRuleOfAFirewallWhyItIsGone) {
  std::vector<AppliedDrift> drifts = FirewallDrift({22, 22});
  drifts[0].set_why("firewalld: allowed lacks a");
  drifts[1].set_why("firewalld: allowed permanently lacks b");
  EXPECT_EQ(Brief(Check(drifts).findings(0)),
            "drifted why=firewalld: allowed lacks a; firewalld: allowed "
            "permanently lacks b, applied=firewalld: 22/tcp from 10.0.0.1, "
            "22/tcp from 10.0.0.2 allowed, " +
                ByAlice());
}

TEST(CheckDriftTest, TellsFirewallsAndAppliesApart) {
  std::vector<AppliedDrift> drifts = FirewallDrift({22, 22, 22});
  for (const int i : {1, 2}) {
    drifts[i].mutable_target()->mutable_target()->mutable_rule()->set_program(
        UFW);
  }
  drifts[2].set_apply_id("fedcba9876543210");
  EXPECT_EQ(Check(drifts).findings_size(), 3);
  // Two settings of one apply are two findings.
  EXPECT_EQ(
      Check({SomaxconnDrift(), Drift("b", "b is 1", "2")}).findings_size(), 2);
}

TEST(CheckDriftTest, CountsTheRulesOfAFirewallThatAreTooMany) {
  const std::vector<uint32_t> ports(20, 22);
  EXPECT_THAT(
      Brief(Check(FirewallDrift(ports)).findings(0)),
      AllOf(HasSubstr("10.0.0.8 and 12 more"), Not(HasSubstr("10.0.0.9"))));
}

TEST(CheckDriftTest, FailsWhereAnApplyIsHalfMadeAndWaitsForOneUnderWay) {
  TestCluster cluster;
  DriftsOf(&cluster, 0)->set_unfinished("a1.journal: is damaged");
  EXPECT_EQ(Lines(cluster.Check("drift")),
            "FAIL server0 half-made why=a1.journal: is damaged\n");
  SetMissing(Missing::NOT_QUERIED, "it runs", cluster.facts[0].mutable_drift());
  EXPECT_EQ(Lines(cluster.Check("drift")),
            "UNKNOWN server0 not-compared why=not queried: it runs\n");
}

TEST(CheckDriftTest, FoldsHostsAndDevicesThatAgree) {
  TestCluster cluster;
  for (int host = 0; host < 2; ++host) {
    for (const uint32_t device : {3, 4}) {
      AppliedDrift drift = GatewayDrift(device);
      // Each host starts at its own moment.
      drift.set_applied_at_ms(kApplied + host * 600000);
      *DriftsOf(&cluster, host)->add_drifts() = drift;
    }
  }
  EXPECT_THAT(cluster.Check("drift"),
              FindsOne("server0:3-4 server1:3-4",
                       "drifted why=gateway is none, applied was 10.0.0.254, "
                       "applied=10.0.0.254, " +
                           ByAlice()));
}

TEST(CheckDriftTest, IsUnknownWhereTheHostCannotTell) {
  TestCluster cluster;
  AppliedDrift unknown = GatewayDrift(3);
  unknown.clear_now();
  *DriftsOf(&cluster, 1)->add_unknown() = unknown;
  EXPECT_THAT(cluster.Check("drift"),
              Finds("UNKNOWN server1:3 unreadable why=gateway is unknown, "
                    "applied was 10.0.0.254, " +
                    Apply()));
  SetMissing(Missing::NOT_PERMITTED, "/var/lib/clusterd/apply",
             cluster.facts[0].mutable_drift());
  EXPECT_THAT(cluster.Check("drift"), IsUnknown("/var/lib/clusterd/apply"));
}

TEST(CheckDriftTest, PassesOnlyIfEveryHostKeepsARecord) {
  TestCluster cluster;
  EXPECT_EQ(cluster.Check("drift").state(), PASS);
  cluster.facts[1].clear_drift();
  const RuleResult result = cluster.Check("drift");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(Lines(result), "SKIPPED server1 no-record\n");
  // Drift of another host is still reported.
  *DriftsOf(&cluster, 0)->add_drifts() = SomaxconnDrift();
  EXPECT_EQ(cluster.Check("drift").state(), WARN);
}

TEST(CheckDriftTest, QuotesAnIdThatIsNoneAndSaysWhatIsLeftOut) {
  TestCluster cluster;
  AppliedDrift drift = SomaxconnDrift();
  drift.set_apply_id("x; reboot");
  *DriftsOf(&cluster, 0)->add_drifts() = drift;
  DriftsOf(&cluster, 0)->set_left_out(7);
  const RuleResult result = cluster.Check("drift");
  EXPECT_THAT(Brief(result.findings(0)), HasSubstr("id='x; reboot'"));
  EXPECT_THAT(result.findings(0).fix(), AllOf(HasSubstr("rollback 'x; reboot'"),
                                              Not(HasSubstr("rollback x"))));
  EXPECT_EQ(result.summary(), "2 hosts; " + Say("drifts-left-out", 7));
}

}  // namespace
}  // namespace clusterd
