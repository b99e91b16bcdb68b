#include <string>

#include "daemon/agent/hooks/hook_service.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

JobReason Reason(const std::string& rule, State state,
                 const std::string& text = "is wrong") {
  JobReason reason;
  reason.set_rule(rule);
  reason.set_state(state);
  reason.set_text(text);
  return reason;
}

JudgedHost ByVerdict(const JobReason& reason) {
  JudgedHost judged;
  judged.by_verdict.push_back(reason);
  return judged;
}

JudgedHost ByItself(const JobReason& reason) {
  JudgedHost judged;
  judged.by_itself.push_back(reason);
  return judged;
}

TEST(DecideTest, AllowsWhereNothingIsWrong) {
  JudgedHost judged;
  judged.basis = "run ab12";
  const HookAnswer answer = Decide(judged, {});
  EXPECT_THAT(answer, HasFields(R"(
      decision: ALLOW reason: "" basis: "run ab12" schema_version: 1)"));
}

TEST(DecideTest, DrainsForAFailureAboutThisHost) {
  JobReason reason = Reason("link", FAIL, "DOWN");
  reason.add_devices(3);
  for (const JudgedHost& judged : {ByVerdict(reason), ByItself(reason)}) {
    const HookAnswer answer = Decide(judged, {});
    EXPECT_EQ(answer.decision(), HookAnswer::REFUSE_AND_DRAIN);
    EXPECT_THAT(answer.reason(),
                AllOf(HasSubstr("clusterd: link: "), HasSubstr("device 3")));
    EXPECT_EQ(answer.reasons_size(), 1);
  }
}

TEST(DecideTest, DecidesByStateRuleSettingsAndWhoSaysSo) {
  HookSettings open, closed, unknown, no_drain;
  open.fail_open = {"link"};
  closed.fail_closed = {"firewall"};
  unknown.fail_closed_unknown = {"link"};
  no_drain.drain = false;
  JobReason sure = Reason("hccn-conf", FAIL);
  sure.set_holds_alone(true);
  constexpr auto kAllow = HookAnswer::ALLOW;
  constexpr auto kRefuse = HookAnswer::REFUSE;
  constexpr auto kDrain = HookAnswer::REFUSE_AND_DRAIN;
  const struct {
    JobReason reason;
    HookSettings settings;
    HookAnswer::Decision by_verdict;
    HookAnswer::Decision by_itself;
  } kCases[] = {
      {Reason("link", FAIL), {}, kDrain, kDrain},
      {Reason("device-health", FAIL), {}, kDrain, kDrain},
      {Reason("link", FAIL), no_drain, kRefuse, kRefuse},
      {Reason("link", FAIL), open, kAllow, kAllow},
      {Reason("link", UNKNOWN), {}, kAllow, kAllow},
      // Sent by a newer controller.
      {Reason("link", static_cast<State>(77)), {}, kAllow, kAllow},
      {Reason("link", UNKNOWN), unknown, kRefuse, kRefuse},
      {Reason("link", WARN), {}, kAllow, kAllow},
      {Reason("maintenance", FAIL), {}, kRefuse, kRefuse},
      // The job's own request is wrong.
      {Reason("job-device-count", FAIL), {}, kRefuse, kAllow},
      // Without a controller a host is not sure of rules that need the spec.
      {Reason("firewall", FAIL), {}, kDrain, kAllow},
      {Reason("firewall", FAIL), closed, kDrain, kDrain},
      {Reason("hccn-conf", FAIL), {}, kDrain, kAllow},
      {sure, {}, kDrain, kDrain},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.reason.ShortDebugString());
    EXPECT_EQ(Decide(ByVerdict(each.reason), each.settings).decision(),
              each.by_verdict);
    EXPECT_EQ(Decide(ByItself(each.reason), each.settings).decision(),
              each.by_itself);
  }
}

TEST(DecideTest, TellsWhatItLetsThroughButNoWarning) {
  const HookAnswer warned = Decide(ByVerdict(Reason("optics", WARN)), {});
  EXPECT_THAT(warned.let_through(), IsEmpty());
  EXPECT_EQ(warned.reasons_size(), 1);
  HookSettings open;
  open.fail_open = {"link"};
  for (const State state : {FAIL, UNKNOWN, static_cast<State>(77)}) {
    EXPECT_EQ(Decide(ByVerdict(Reason("link", state)), open).let_through_size(),
              1);
  }
}

TEST(DecideTest, RefusesAndDrainsNobodyForAnotherHost) {
  JudgedHost judged;
  JobReason reason = Reason("link", FAIL, "DOWN");
  reason.add_devices(3);
  reason.set_host("node07");
  judged.others.push_back(reason);
  const HookAnswer answer = Decide(judged, {});
  EXPECT_EQ(answer.decision(), HookAnswer::REFUSE);
  EXPECT_EQ(answer.reason(), "clusterd: link: node07 device 3: DOWN");
  // And for the job as a whole.
  judged.others[0] = Reason("subnet-shared", FAIL);
  EXPECT_EQ(Decide(judged, {}).decision(), HookAnswer::REFUSE);
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(ValueText(answer.reason_words()),
            "clusterd：link：node07 设备 3：DOWN");
}

TEST(DecideTest, DrainWinsOverARefusalForAnother) {
  JudgedHost judged = ByVerdict(Reason("net-health", FAIL));
  judged.others.push_back(Reason("link", FAIL));
  judged.others.push_back(Reason("subnet-shared", FAIL));
  const HookAnswer answer = Decide(judged, {});
  EXPECT_EQ(answer.decision(), HookAnswer::REFUSE_AND_DRAIN);
  EXPECT_THAT(answer.reason(), HasSubstr("net-health"));
}

TEST(DecideTest, LetsThroughWhatIsUnknownAndSaysSo) {
  JudgedHost judged = ByVerdict(Reason("lldp", UNKNOWN, "timed out"));
  judged.trouble.push_back(ToFindingValue("the controller is away\n\x1b[2J"));
  const HookAnswer answer = Decide(judged, {});
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  ASSERT_EQ(answer.let_through_size(), 2);
  EXPECT_EQ(answer.let_through_words_size(), 2);
  EXPECT_THAT(answer.let_through(0),
              AllOf(HasSubstr("unknown"), HasSubstr("lldp")));
  EXPECT_THAT(answer.let_through(1),
              AllOf(HasSubstr("away"), Not(HasSubstr("\x1b"))));
}

TEST(DecideTest, TellsTheSameReasonOnceAndTheWorstFirst) {
  JudgedHost judged = ByVerdict(Reason("optics", WARN));
  judged.by_verdict.push_back(Reason("link", FAIL));
  judged.by_itself.push_back(Reason("link", FAIL));
  const HookAnswer answer = Decide(judged, {});
  ASSERT_EQ(answer.reasons_size(), 2);
  EXPECT_EQ(answer.reasons(0).rule(), "link");
}

// What the verdict says of node1 and of others.
JudgedHost Judged(const char* verdict) {
  JudgedHost judged;
  AddVerdict(FromText<JobVerdict>(verdict), "node1", &judged);
  return judged;
}

TEST(AddVerdictTest, SplitsReasonsByWhoTheyAreAbout) {
  const JudgedHost judged = Judged(R"(
      verdict: FAIL
      hosts { host: 'node1' state: WARN
              reasons { rule: 'optics' state: WARN text: 'is wrong' } }
      hosts { host: 'node2' state: FAIL
              reasons { rule: 'link' state: FAIL text: 'is wrong' } }
      reasons { rule: 'subnet-shared' state: FAIL text: 'is wrong' })");
  ASSERT_EQ(judged.by_verdict.size(), 1u);
  EXPECT_EQ(judged.by_verdict[0].rule(), "optics");
  ASSERT_EQ(judged.others.size(), 2u);
  EXPECT_EQ(judged.others[0].host(), "node2");
  EXPECT_EQ(judged.others[1].host(), "");
  EXPECT_THAT(judged.trouble, IsEmpty());
}

TEST(AddVerdictTest, BelievesAFailureThatNoReasonExplains) {
  const JudgedHost of_this = Judged(R"(
      verdict: FAIL hosts { host: 'node1' state: FAIL reasons {
        rule: 'optics' state: WARN text: 'is wrong' } })");
  EXPECT_EQ(Decide(of_this, {}).decision(), HookAnswer::REFUSE_AND_DRAIN);
  const JudgedHost of_none =
      Judged("verdict: FAIL hosts { host: 'node1' state: PASS }");
  EXPECT_EQ(Decide(of_none, {}).decision(), HookAnswer::REFUSE);
}

TEST(AddVerdictTest, NeverTakesAVerdictWithoutThisHostForAPass) {
  EXPECT_EQ(Decide(Judged("verdict: PASS"), {}).let_through_size(), 1);
}

TEST(JobEnvironmentTest, TellsWhatTheVerdictKnows) {
  const auto verdict = FromText<JobVerdict>(R"(
      hosts { host: 'node1' state: PASS address: '10.0.0.1' }
      hosts { host: 'node2' state: PASS address: '10.0.0.2' }
      master_port: 29500 hccl_base_port: 50000)");
  const auto job =
      FromText<JobSpec>("servers { host: 'node1' } servers { host: 'node2' }");
  EXPECT_THAT(
      JobEnvironment(&verdict, job, "node2"),
      ElementsAre("HCCL_WHITELIST_DISABLE=1", "MASTER_ADDR=10.0.0.1",
                  "HCCL_IF_IP=10.0.0.2", "MASTER_PORT=29500",
                  "HCCL_IF_BASE_PORT=50000", "NNODES=2", "NODE_RANK=1"));
}

TEST(JobEnvironmentTest, InventsNothingAndLeavesThePortToALoginFile) {
  const std::string always = "HCCL_WHITELIST_DISABLE=1";
  EXPECT_THAT(JobEnvironment(nullptr, JobSpec(), "node2"), ElementsAre(always));
  auto verdict = FromText<JobVerdict>(R"(
      hosts { host: 'node1' state: PASS sets_base_port: true }
      hosts { host: 'node2' state: PASS address: '10.0.0.2\nLD_PRELOAD=/tmp/x' }
  )");
  EXPECT_THAT(JobEnvironment(&verdict, JobSpec(), "node2"),
              ElementsAre(always));
  verdict.set_hccl_base_port(50000);
  EXPECT_THAT(JobEnvironment(&verdict, JobSpec(), "node1"),
              ElementsAre(always));
  EXPECT_THAT(JobEnvironment(&verdict, JobSpec(), "node2"),
              ElementsAre(always, "HCCL_IF_BASE_PORT=50000"));
}

TEST(DecideTest, LetsWhatIsWaivedThroughAndTellsIt) {
  JobReason reason = Reason("link", WARN, "DOWN; waived, else fail, until …");
  reason.set_waived(true);
  const HookAnswer answer = Decide(ByVerdict(reason), {});
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  EXPECT_THAT(answer.let_through(),
              ElementsAre(HasSubstr("warn: clusterd: link: DOWN; ")));
}

TEST(DecideTest, CountsWhatIsLetThroughBeyondItsBound) {
  JudgedHost judged;
  for (int i = 0; i < 30; ++i) {
    const JobReason reason =
        Reason("link", UNKNOWN, "no answer " + std::to_string(i));
    judged.by_verdict.push_back(reason);
    judged.by_itself.push_back(reason);
  }
  const HookAnswer answer = Decide(judged, {});
  EXPECT_EQ(answer.let_through_size(), 16);
  EXPECT_EQ(answer.let_through_more(), 14u);
}

JudgedHost WithoutItsConf() {
  JudgedHost judged;
  for (int i = 0; i < 20; ++i) {
    JobReason reason =
        Reason("mtu-persistent", UNKNOWN, "device " + std::to_string(i));
    reason.set_caused_by("hccn-conf");
    judged.by_itself.push_back(reason);
  }
  judged.by_itself.push_back(Reason("host-memory", UNKNOWN));
  judged.by_itself.push_back(Reason("hccn-conf", FAIL, "no such file"));
  JobReason follows = Reason("firewall", FAIL, "is active");
  follows.set_caused_by("hccn-conf");
  judged.by_itself.push_back(follows);
  return judged;
}

TEST(DecideTest, NamesFailuresFirstAndLastWhatAnotherReasonExplains) {
  const HookAnswer answer = Decide(WithoutItsConf(), {});
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  ASSERT_EQ(answer.let_through_size(), 16);
  EXPECT_THAT(answer.let_through(0), HasSubstr("fail: clusterd: hccn"));
  EXPECT_THAT(answer.let_through(1), HasSubstr("fail: clusterd: firewall"));
  EXPECT_EQ(answer.let_through_worst(), 2u);
  EXPECT_THAT(answer.let_through(2), HasSubstr("unknown: clusterd: host-"));
  EXPECT_THAT(answer.let_through(3), HasSubstr("mtu-persistent"));
  EXPECT_EQ(answer.let_through_more(), 7u);
}

TEST(DecideTest, LeavesOutNoFailureForLength) {
  JudgedHost judged;
  for (int i = 0; i < 30; ++i) {
    judged.by_itself.push_back(Reason("lldp", UNKNOWN, std::to_string(i)));
    judged.by_itself.push_back(Reason("firewall", FAIL, std::to_string(i)));
  }
  const HookAnswer answer = Decide(judged, {});
  EXPECT_EQ(answer.let_through_size(), 30);
  EXPECT_EQ(answer.let_through_worst(), 30u);
  EXPECT_EQ(answer.reasons_size(), 30);
  EXPECT_EQ(answer.let_through_more(), 30u);
}

TEST(HoldBrakeTest, StandsBehindTheFailuresThatAreLetThrough) {
  JudgedHost judged = WithoutItsConf();
  judged.by_itself.back().set_holds_alone(true);
  judged.by_itself.push_back(Reason("link", FAIL, "DOWN"));
  for (const bool opens : {true, false}) {
    HookAnswer answer = Decide(judged, {});
    ASSERT_EQ(answer.decision(), HookAnswer::REFUSE_AND_DRAIN);
    HoldBrake(ToFindingValue("12 of 100 hosts fail"), opens, &answer);
    EXPECT_EQ(answer.let_through_words_size(), answer.let_through_size());
    EXPECT_EQ(answer.decision(),
              opens ? HookAnswer::ALLOW : HookAnswer::REFUSE);
    // The failure that refuses a job is in `reason`.
    const int failures = opens ? 3 : 1;
    ASSERT_GT(answer.let_through_size(), failures + 1);
    for (int i = 0; i < failures; ++i) {
      EXPECT_THAT(answer.let_through(i), HasSubstr("fail: clusterd: "));
    }
    EXPECT_EQ(answer.let_through(failures), "12 of 100 hosts fail");
    EXPECT_THAT(answer.let_through(failures + 1),
                HasSubstr("unknown: clusterd: host-"));
    EXPECT_EQ(answer.let_through_worst(), failures + 1u);
  }
}

}  // namespace
}  // namespace clusterd
