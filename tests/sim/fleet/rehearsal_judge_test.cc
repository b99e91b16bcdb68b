#include "tests/sim/fleet/rehearsal_judge.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void AddFinding(const std::string& rule, const std::string& host,
                const std::string& observed, Report* report) {
  RuleResult* const result = report->add_rules();
  result->set_rule(rule);
  result->set_state(FAIL);
  Finding* const finding = result->add_findings();
  finding->set_rule(rule);
  finding->set_state(FAIL);
  finding->set_observed(observed);
  Subject* const subject = finding->add_subjects();
  subject->set_host(host);
  subject->add_devices(3);
  report->set_verdict(FAIL);
}

ApplyResult* AddHost(const std::string& host, ApplyResult::Outcome outcome,
                     ApplyReport* report) {
  ApplyResult* const result = report->add_hosts();
  result->set_host(host);
  result->set_outcome(outcome);
  return result;
}

Report Passed() {
  Report report;
  report.set_verdict(PASS);
  report.add_rules()->set_state(PASS);
  for (const char* host : {"a", "b", "c"}) report.add_hosts()->set_host(host);
  return report;
}

// Three servers one after the other, without any failure.
Rehearsal Good() {
  Rehearsal of;
  of.fresh = Passed();
  for (const char* host : {"a", "b", "c"}) {
    AddFinding("device-ip-set", host, "no address", &of.fresh);
    AddHost(host, ApplyResult::APPLIED, &of.apply);
    AddHost(host, ApplyResult::ROLLED_BACK, &of.rollback);
  }
  of.apply.set_wave_size(1);
  of.faulty = of.fresh;
  of.back = of.fresh;
  of.after = Passed();
  return of;
}

TEST(RehearsalTest, ThatLeadsToPassAndBackIsRight) {
  const RehearsalVerdict verdict = JudgeRehearsal(Good());
  EXPECT_THAT(verdict.wrong, IsEmpty());
  EXPECT_THAT(verdict.notes, IsEmpty());
}

TEST(RehearsalTest, ThatHasASlowLookUpOnThisMachineIsRight) {
  Rehearsal of = Good();
  AddFinding("host-name", "b", "slow", &of.back);
  EXPECT_THAT(JudgeRehearsal(of).wrong, SizeIs(1));
  of.back.mutable_rules()->rbegin()->mutable_findings(0)->set_finding(
      "peer-not-answered");
  EXPECT_THAT(JudgeRehearsal(of).wrong, IsEmpty());
}

TEST(RehearsalTest, ThatDoesNotLeadToPassIsWrong) {
  Rehearsal of = Good();
  AddFinding("subnet", "b", "two in one subnet", &of.after);
  EXPECT_THAT(JudgeRehearsal(of).wrong,
              ElementsAre(HasSubstr("after the apply: fail subnet: two in")));
}

TEST(RehearsalTest, ThatChangesAnInnocentServerOrForgetsItsOldStateIsWrong) {
  Rehearsal of = Good();
  of.rollback.mutable_hosts(1)->set_outcome(
      ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  AddFinding("link", "c", "down", &of.back);
  HostPlan* const plan = of.plan.add_hosts();
  plan->set_host("a");
  plan->add_blocked()->set_what("gateway 10.0.0.254");
  const RehearsalVerdict verdict = JudgeRehearsal(of);
  EXPECT_THAT(
      verdict.wrong,
      ElementsAre(HasSubstr("b: rollback: rolled back with residues"),
                  HasSubstr("c: new after the rollback: fail link, device 3")));
  EXPECT_THAT(verdict.notes,
              ElementsAre(HasSubstr("a: plan: gateway 10.0.0.254 is blocked")));
}

TEST(RehearsalTest, ThatCameToNothingIsWrongAtEachStep) {
  Rehearsal of = Good();
  of.rollback.clear_hosts();
  of.after.Clear();
  of.back.Clear();
  EXPECT_THAT(JudgeRehearsal(of).wrong,
              ElementsAre(HasSubstr("the check after the apply: no report"),
                          HasSubstr("rollback: no report"),
                          HasSubstr("the last check: no report")));
}

TEST(RehearsedFaultTest, IsNamedByTheCheckThatAlsoRemainsAfterTheApply) {
  Rehearsal of = Good();
  of.faulted = {"b"};
  AddFinding("link", "b", "down", &of.faulty);
  AddFinding("link", "b", "down", &of.after);
  of.back = of.faulty;
  const RehearsalVerdict verdict = JudgeRehearsal(of);
  EXPECT_THAT(verdict.wrong, IsEmpty());
  EXPECT_THAT(verdict.notes,
              Contains("b: the check says: fail link, device 3: down"));
}

TEST(RehearsedFaultTest, IsFixedByTheApplyOrFoundByNothing) {
  Rehearsal of = Good();
  of.faulted = {"b"};
  EXPECT_THAT(JudgeRehearsal(of).wrong,
              ElementsAre("b: nothing noticed its faults"));
  AddFinding("device-ip-planned", "b", "192.168.9.9", &of.faulty);
  const RehearsalVerdict verdict = JudgeRehearsal(of);
  EXPECT_THAT(verdict.wrong, IsEmpty());
  EXPECT_THAT(verdict.notes, Contains("b: fixed by the apply"));
}

TEST(RehearsedFaultTest, StopsTheApplyIsUndoneAndNoLaterWaveBegins) {
  Rehearsal of = Good();
  of.faulted = {"b"};
  of.apply.mutable_hosts(1)->set_outcome(ApplyResult::UNDONE);
  of.apply.mutable_hosts(1)->set_error("step 2: it lies");
  of.apply.mutable_hosts(2)->set_outcome(ApplyResult::NOT_STARTED);
  AddFinding("device-ip-set", "b", "no address", &of.after);
  AddFinding("device-ip-set", "c", "no address", &of.after);
  const RehearsalVerdict verdict = JudgeRehearsal(of);
  EXPECT_THAT(verdict.wrong, IsEmpty());
  EXPECT_THAT(verdict.notes, ElementsAre("b: apply: undone: step 2: it lies"));

  of.apply.mutable_hosts(2)->set_outcome(ApplyResult::APPLIED);
  EXPECT_THAT(JudgeRehearsal(of).wrong,
              Contains(HasSubstr("c: apply: applied, behind a wave")));
  of.apply.mutable_hosts(2)->set_outcome(ApplyResult::NOT_STARTED);
  of.apply.mutable_hosts(1)->add_residues("device 3");
  EXPECT_THAT(JudgeRehearsal(of).wrong,
              Contains(HasSubstr("b: apply: undone: step 2: it lies; left")));
}

// A rule about one host names a healthy one for its own sake.
TEST(RehearsedFaultTest, DoesNotExcuseOtherServers) {
  Rehearsal of = Good();
  of.faulted = {"b"};
  AddFinding("link", "b", "down", &of.faulty);
  of.after = of.faulty;
  of.after.clear_rules();
  AddFinding("link", "b", "down", &of.after);
  of.after.mutable_rules(0)->mutable_findings(0)->add_subjects()->set_host("c");
  EXPECT_THAT(JudgeRehearsal(of).wrong, Contains(HasSubstr("fail link: down")));
  // One across hosts names those that it compares.
  of.after.mutable_rules(0)->mutable_findings(0)->set_rule("ip-unique");
  EXPECT_THAT(JudgeRehearsal(of).wrong, IsEmpty());
}

TEST(StepTextTest, CountsWhatCameOfAStep) {
  Rehearsal of = Good();
  EXPECT_EQ(StepText(of.apply), "3 of 3 hosts succeeded in 3 waves");
  of.apply.mutable_hosts(2)->set_outcome(ApplyResult::NOT_STARTED);
  EXPECT_EQ(StepText(of.apply),
            "2 of 3 hosts succeeded in 3 waves, 1 not started");
  EXPECT_EQ(StepText(of.fresh),
            "fail: 3 fail, 1 pass of its rules, on 3 hosts");
}

}  // namespace
}  // namespace clusterd
