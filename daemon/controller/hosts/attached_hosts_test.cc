#include "daemon/controller/hosts/attached_hosts.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/controller/attached_machines.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

using AttachedHostsTest = LoggedHostsTest;

TEST_F(AttachedHostsTest, ListsHostsOfTheSpecFirstAndStrangersAfter) {
  ASSERT_TRUE(hosts_.Attach(Machine("b", "m", "1")).ok());
  ASSERT_TRUE(hosts_.Attach(Machine("stranger", "n", "1")).ok());
  const std::vector<HostEntry> entries = hosts_.Entries(SpecOf({"b", "a"}));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_THAT(entries[0], HasFields(R"(
      host: "b" attached: true in_spec: true clusterd_version: "9.9")"));
  EXPECT_EQ(entries[0].attached_since_ms(),
            absl::ToUnixMillis(scheduler_.Now()));
  EXPECT_THAT(entries[1],
              HasFields("host: 'a' attached: false last_seen_ms: 0"));
  EXPECT_EQ(entries[2].host(), "stranger");
  EXPECT_FALSE(entries[2].in_spec());
}

TEST_F(AttachedHostsTest, ListsAStrangerThatHasLeftUntilItIsForgotten) {
  const auto session = hosts_.Attach(Machine("gone", "m", "1"));
  EXPECT_TRUE(absl::IsFailedPrecondition(hosts_.Forget("gone")));
  EXPECT_THAT(hosts_.Forget("gone").message(),
              Tells("msg-hub-host-attached", "gone"));
  hosts_.Detach(*session, ToFindingValue("closed"));
  ASSERT_EQ(hosts_.Entries(SpecOf({"a"})).size(), 2u);
  EXPECT_FALSE(hosts_.Entries(SpecOf({"a"}))[1].attached());
  EXPECT_TRUE(hosts_.Forget("gone").ok());
  EXPECT_EQ(hosts_.Entries(SpecOf({"a"})).size(), 1u);
  EXPECT_EQ(hosts_.Forget("gone").code(), absl::StatusCode::kNotFound);
}

TEST_F(AttachedHostsTest, ForgetsWhenAHostOfTheSpecWasLastSeen) {
  const auto session = hosts_.Attach(Machine("a", "m", "1"));
  hosts_.Detach(*session, ToFindingValue("closed"));
  ASSERT_GT(hosts_.Entries(SpecOf({"a"}))[0].last_seen_ms(), 0);
  EXPECT_TRUE(hosts_.Forget("a").ok());
  const HostEntry entry = hosts_.Entries(SpecOf({"a"}))[0];
  EXPECT_EQ(entry.last_seen_ms(), 0);
  EXPECT_TRUE(entry.in_spec());
}

TEST_F(AttachedHostsTest, AsksHostAndHandsItsFactsOverUnderItsCertifiedName) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = hosts_.Attach(Machine("a", "m", "1", link));
  Answer answer;
  const uint64_t task = hosts_.Observe(Ask("a"), answer.Expect());
  ASSERT_EQ(link->sent.size(), 1u);
  EXPECT_EQ(link->sent[0].task().task_id(), task);
  // Less than the controller waits, so that a partial answer arrives.
  EXPECT_EQ(link->sent[0].task().deadline_ms(), 9500u);
  EXPECT_EQ(link->sent[0].task().observe().host_ms(), 9000u);
  TaskResult result = FactsFor(task);
  result.mutable_facts()->set_host("b");
  ASSERT_TRUE(hosts_.OnResult(*session, result).ok());
  ASSERT_TRUE(answer.arrived());
  EXPECT_EQ(answer.facts().host(), "a");
  EXPECT_EQ(answer.facts().elapsed_ms(), 42u);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(AttachedHostsTest, SaysWhyThereAreNoFacts) {
  Answer never;
  hosts_.Observe(Ask("a"), never.Expect());
  EXPECT_EQ(never.facts().missing().reason(), Missing::NO_ANSWER);
  EXPECT_THAT(never.facts().missing().detail(), HasSubstr("never attached"));
  EXPECT_EQ(never.facts().missing().detail_words().words(),
            "msg-hub-never-attached");
  const auto session = hosts_.Attach(Machine("a", "m", "1"));
  hosts_.Detach(*session, ToFindingValue("the connection broke"));
  Answer gone;
  hosts_.Observe(Ask("a"), gone.Expect());
  EXPECT_THAT(gone.facts().missing().detail(),
              HasSubstr("detached at 2024-01-01T00:00:00+00:00: the "
                        "connection broke"));
}

TEST_F(AttachedHostsTest, NamesTheDeadlineAndStopsTheHost) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = hosts_.Attach(Machine("a", "m", "1", link));
  Answer answer;
  const uint64_t task = hosts_.Observe(Ask("a"), answer.Expect());
  scheduler_.Advance(absl::Seconds(10));
  ASSERT_TRUE(answer.arrived());
  EXPECT_EQ(answer.facts().missing().reason(), Missing::TIMED_OUT);
  EXPECT_EQ(answer.facts().missing().detail(),
            "no answer in 10s (deadlines.host)");
  ASSERT_EQ(link->sent.size(), 2u);
  EXPECT_EQ(link->sent[1].cancel().task_id(), task);
  // The late answer changes nothing.
  EXPECT_TRUE(hosts_.OnResult(*session, FactsFor(task)).ok());
}

TEST_F(AttachedHostsTest, EndsPendingTasksWithTheStream) {
  const auto session = hosts_.Attach(Machine("a", "m", "1"));
  Answer answer;
  hosts_.Observe(Ask("a"), answer.Expect());
  hosts_.Detach(*session, ToFindingValue("the connection broke"));
  ASSERT_TRUE(answer.arrived());
  EXPECT_EQ(answer.facts().missing().reason(), Missing::NO_ANSWER);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(AttachedHostsTest, NeverLetsHostAnswerForAnother) {
  const auto a = hosts_.Attach(Machine("a", "m", "1"));
  const auto b = hosts_.Attach(Machine("b", "n", "1"));
  Answer answer;
  const uint64_t task = hosts_.Observe(Ask("a"), answer.Expect());
  ASSERT_TRUE(hosts_.OnResult(*b, FactsFor(task)).ok());
  EXPECT_FALSE(answer.arrived());
  ASSERT_TRUE(hosts_.OnResult(*a, FactsFor(task)).ok());
  EXPECT_TRUE(answer.arrived());
}

TEST_F(AttachedHostsTest, CancelledTaskIsNeverAnswered) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = hosts_.Attach(Machine("a", "m", "1", link));
  Answer answer;
  const uint64_t task = hosts_.Observe(Ask("a"), answer.Expect());
  hosts_.Cancel(task);
  hosts_.Cancel(task);
  EXPECT_EQ(link->sent.back().cancel().task_id(), task);
  ASSERT_TRUE(hosts_.OnResult(*session, FactsFor(task)).ok());
  scheduler_.Advance(absl::Hours(1));
  EXPECT_FALSE(answer.arrived());
}

TEST_F(AttachedHostsTest, TellsOfACertificateThatNobodyRenewsForAMonth) {
  struct Case {
    int days;
    bool renews;
    const char* notice;
  };
  // The clock is at 2024-01-01.
  for (const Case& certificate : {Case{29, false, "2024-01-30 00:00 UTC"},
                                  Case{31, false, ""}, Case{29, true, ""}}) {
    ManualScheduler scheduler;
    CapturedLog log;
    AttachedHosts hosts(&scheduler, &log);
    Attachment attachment = Machine("a", "m1", "boot1");
    attachment.certificate_ends_ms = absl::ToUnixMillis(
        scheduler.Now() + absl::Hours(24) * certificate.days);
    attachment.certificate_renews = certificate.renews;
    const auto session = hosts.Attach(attachment);
    Answer answer;
    const uint64_t task = hosts.Observe(Ask("a"), answer.Expect());
    ASSERT_TRUE(hosts.OnResult(*session, FactsFor(task)).ok());
    EXPECT_EQ(answer.facts().certificate_notice(), certificate.notice);
  }
}

TEST_F(AttachedHostsTest, EndsTheStreamOfOneHost) {
  const auto a = std::make_shared<FakeLink>();
  const auto b = std::make_shared<FakeLink>();
  ASSERT_TRUE(hosts_.Attach(Machine("a", "m1", "boot1", a)).ok());
  ASSERT_TRUE(hosts_.Attach(Machine("b", "m2", "boot1", b)).ok());
  EXPECT_EQ(hosts_.HelloOf("b")->machine_id(), "m2");
  EXPECT_FALSE(hosts_.HelloOf("c").has_value());
  hosts_.CloseHost("b", absl::PermissionDeniedError("taken back"));
  hosts_.CloseHost("c", absl::PermissionDeniedError("taken back"));
  EXPECT_FALSE(a->closed.has_value());
  ASSERT_TRUE(b->closed.has_value());
  EXPECT_TRUE(absl::IsPermissionDenied(*b->closed));
}

TEST_F(AttachedHostsTest, TakesNoMoreHostsThanItsLimit) {
  HostLimits limits;
  limits.max_attached = 1;
  AttachedHosts hosts(&scheduler_, &log_, limits);
  EXPECT_TRUE(hosts.Attach(Machine("a", "m", "1")).ok());
  EXPECT_TRUE(
      absl::IsResourceExhausted(hosts.Attach(Machine("b", "n", "1")).status()));
}

TEST_F(AttachedHostsTest, OwesNoHostMoreTasksThanItsLimit) {
  HostLimits limits;
  limits.max_pending = 1;
  AttachedHosts hosts(&scheduler_, &log_, limits);
  ASSERT_TRUE(hosts.Attach(Machine("a", "m", "1")).ok());
  Answer first;
  Answer second;
  hosts.Observe(Ask("a"), first.Expect());
  hosts.Observe(Ask("a"), second.Expect());
  ASSERT_TRUE(second.arrived());
  EXPECT_EQ(second.facts().missing().reason(), Missing::BUSY);
}

TEST_F(AttachedHostsTest, ClosesHostThatFloodsItWithAnswersToNothing) {
  HostLimits limits;
  limits.max_unsolicited = 3;
  AttachedHosts hosts(&scheduler_, &log_, limits);
  const auto session = hosts.Attach(Machine("a", "m", "1"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(hosts.OnResult(*session, FactsFor(99)).ok());
  }
  EXPECT_TRUE(absl::IsInvalidArgument(hosts.OnResult(*session, FactsFor(99))));
}

TEST_F(AttachedHostsTest, TurnsEveryOtherOutcomeIntoReason) {
  const auto session = hosts_.Attach(Machine("a", "m", "1"));
  const auto ask = [&](TaskResult result) {
    Answer answer;
    result.set_task_id(hosts_.Observe(Ask("a"), answer.Expect()));
    EXPECT_TRUE(hosts_.OnResult(*session, result).ok());
    EXPECT_TRUE(answer.arrived());
    return answer.facts().missing();
  };
  TaskResult unsupported;
  unsupported.set_unsupported("what?");
  EXPECT_EQ(ask(unsupported).reason(), Missing::NOT_SUPPORTED);
  EXPECT_THAT(
      DetailOf(ask(unsupported)),
      Tells("msg-hub-clusterd-too-old", "9.9", Worded("hub-the-asked-task")));
  TaskResult error;
  error.mutable_error()->set_code(
      static_cast<int>(absl::StatusCode::kResourceExhausted));
  error.mutable_error()->set_message("16 tasks run already");
  EXPECT_EQ(ask(error).reason(), Missing::BUSY);
  EXPECT_THAT(ask(error).detail(), HasSubstr("16 tasks run already"));
  EXPECT_EQ(ask(TaskResult()).reason(), Missing::UNREADABLE);
  TaskResult absurd;
  for (uint32_t id = 0; id < 1000; ++id) {
    absurd.mutable_facts()->add_devices()->set_id(id);
  }
  EXPECT_EQ(ask(absurd).reason(), Missing::UNREADABLE);
  EXPECT_THAT(ask(absurd).detail(), HasSubstr("1000 devices"));
}

TEST_F(AttachedHostsTest, MarksFactsOfSimulatedHost) {
  Attachment attachment = Machine("a", "m", "1");
  attachment.hello.set_simulation("in memory");
  const auto session = hosts_.Attach(std::move(attachment));
  Answer answer;
  const uint64_t task = hosts_.Observe(Ask("a"), answer.Expect());
  ASSERT_TRUE(hosts_.OnResult(*session, FactsFor(task)).ok());
  EXPECT_EQ(answer.facts().simulation(), "in memory");
}

// Records how a task ended.
class Ending {
 public:
  AttachedHosts::TaskDone Expect() {
    return [this](absl::StatusOr<TaskResult> result) {
      EXPECT_FALSE(result_.has_value()) << "a second end";
      result_ = std::move(result);
    };
  }
  bool arrived() const { return result_.has_value(); }
  absl::Status status() const { return result_->status(); }
  const TaskResult& result() const { return **result_; }

 private:
  std::optional<absl::StatusOr<TaskResult>> result_;
};

Attachment Applying(const std::string& host, std::shared_ptr<HostLink> link) {
  Attachment attachment = Machine(host, "m", "1", std::move(link));
  attachment.hello.add_tasks("apply");
  return attachment;
}

HostTask Apply(const std::string& host) {
  HostTask task;
  task.host = host;
  task.task.mutable_apply()->set_apply_id("run");
  task.deadline = absl::Minutes(2);
  return task;
}

TaskResult AppliedFor(uint64_t task_id, const std::string& host) {
  TaskResult result;
  result.set_task_id(task_id);
  result.mutable_apply()->set_apply_id("run");
  result.mutable_apply()->set_host(host);
  result.mutable_apply()->set_outcome(ApplyResult::APPLIED);
  return result;
}

TEST_F(AttachedHostsTest, HandsTaskItsProgressAndItsResult) {
  const auto link = std::make_shared<FakeLink>();
  const auto session = hosts_.Attach(Applying("a", link));
  Ending ending;
  std::vector<StepOutcome> steps;
  HostTask task = Apply("a");
  task.progress = [&](StepOutcome step) { steps.push_back(std::move(step)); };
  const uint64_t id = hosts_.RunTask(std::move(task), ending.Expect());
  ASSERT_EQ(link->sent.size(), 1u);
  EXPECT_EQ(link->sent[0].task().task_id(), id);
  EXPECT_EQ(link->sent[0].task().deadline_ms(), 120000u);
  EXPECT_EQ(link->sent[0].task().apply().apply_id(), "run");
  TaskProgress progress;
  progress.set_task_id(id);
  progress.mutable_step()->set_step(7);
  progress.mutable_step()->set_detail("\x1b[2J");
  ASSERT_TRUE(hosts_.OnProgress(*session, progress).ok());
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].step(), 7u);
  EXPECT_EQ(steps[0].detail(), "\\x1b[2J");
  ASSERT_TRUE(hosts_.OnResult(*session, AppliedFor(id, "a")).ok());
  ASSERT_TRUE(ending.arrived());
  EXPECT_EQ(ending.result().apply().outcome(), ApplyResult::APPLIED);
  // The task has ended.
  ASSERT_TRUE(hosts_.OnProgress(*session, progress).ok());
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(AttachedHostsTest, SaysWhetherTaskWasSentThatHasNoResult) {
  Ending absent;
  hosts_.RunTask(Apply("a"), absent.Expect());
  EXPECT_EQ(absent.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(hosts_.IsAttached("a"));
  const auto link = std::make_shared<FakeLink>();
  const auto session = hosts_.Attach(Machine("a", "m", "1", link));
  Ending unknown;
  hosts_.RunTask(Apply("a"), unknown.Expect());
  EXPECT_THAT(unknown.status(), Fails(absl::StatusCode::kUnimplemented,
                                      Tells("msg-hub-clusterd-too-old", "9.9",
                                            "hub-task-named", "apply")));
  EXPECT_TRUE(link->sent.empty());
  EXPECT_TRUE(hosts_.IsAttached("a"));
  hosts_.Detach(*session, ToFindingValue("restarted"));
  const auto again = hosts_.Attach(Applying("a", link));
  Ending lost;
  hosts_.RunTask(Apply("a"), lost.Expect());
  hosts_.Detach(*again, ToFindingValue("the connection broke"));
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(lost.status().message(), HasSubstr("the connection broke"));
  ASSERT_TRUE(hosts_.Attach(Applying("a", link)).ok());
  Ending late;
  hosts_.RunTask(Apply("a"), late.Expect());
  scheduler_.Advance(absl::Minutes(2));
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(AttachedHostsTest, PassesOnWhatHostsSayUnasked) {
  std::vector<std::string> heard;
  HostHooks hooks;
  hooks.drift = [&](const std::string& host, DriftReport report) {
    heard.push_back(host + " looked at " +
                    std::to_string(report.observed_at_ms()));
  };
  hooks.past_applies = [&](const std::string& host, PastApplies past) {
    for (const ApplyResult& result : past.results()) {
      heard.push_back(host + " is " + result.host() + " in " +
                      result.apply_id());
    }
  };
  AttachedHosts hosts(&scheduler_, &log_, {}, hooks);
  const auto session =
      hosts.Attach(Applying("a", std::make_shared<FakeLink>()));
  DriftReport drift;
  drift.set_observed_at_ms(5);
  ASSERT_TRUE(hosts.OnDrift(*session, drift).ok());
  PastApplies past;
  past.add_results()->set_apply_id("old");
  past.mutable_results(0)->set_host("b");
  ASSERT_TRUE(hosts.OnPastApplies(*session, past).ok());
  // A result after its deadline is not lost.
  Ending ending;
  const uint64_t id = hosts.RunTask(Apply("a"), ending.Expect());
  scheduler_.Advance(absl::Minutes(2));
  ASSERT_TRUE(hosts.OnResult(*session, AppliedFor(id, "a")).ok());
  EXPECT_EQ(heard, (std::vector<std::string>{"a looked at 5", "a is a in old",
                                             "a is a in run"}));
  for (int i = 0; i < 16; ++i) past.add_results();
  EXPECT_TRUE(absl::IsInvalidArgument(hosts.OnPastApplies(*session, past)));
  hosts.Detach(*session, ToFindingValue("gone"));
  EXPECT_TRUE(hosts.OnDrift(*session, drift).ok());
  EXPECT_EQ(heard.size(), 3u);
}

TEST_F(AttachedHostsTest, RemembersAHostsLastWordOnItsDrift) {
  ClusterSpec spec;
  spec.add_servers()->set_host("a");
  const auto session =
      hosts_.Attach(Applying("a", std::make_shared<FakeLink>()));
  EXPECT_FALSE(hosts_.Entry(spec, "a").has_drift());
  DriftReport report;
  report.set_observed_at_ms(5);
  AppliedDrift* drift = report.mutable_drift()->mutable_value()->add_drifts();
  drift->set_why("x is 1, applied was 2\x1b[2J");
  ASSERT_TRUE(hosts_.OnDrift(*session, report).ok());
  HostEntry entry = hosts_.Entry(spec, "a");
  EXPECT_EQ(entry.drift_observed_at_ms(), 5);
  ASSERT_EQ(entry.drift().value().drifts_size(), 1);
  EXPECT_EQ(entry.drift().value().drifts(0).why(),
            "x is 1, applied was 2\\x1b[2J");
  hosts_.Detach(*session, ToFindingValue("gone"));
  EXPECT_EQ(hosts_.Entries(spec)[0].drift().value().drifts_size(), 1);
  // A later report replaces it.
  const auto again = hosts_.Attach(Applying("a", std::make_shared<FakeLink>()));
  report.mutable_drift()->mutable_value()->clear_drifts();
  ASSERT_TRUE(hosts_.OnDrift(*again, report).ok());
  EXPECT_EQ(hosts_.Entry(spec, "a").drift().value().drifts_size(), 0);
  hosts_.Detach(*again, ToFindingValue("gone"));
}

TEST_F(AttachedHostsTest, WhatChangesAHostWaitsForNoReading) {
  HostLimits limits;
  limits.max_pending = 2;
  AttachedHosts hosts(&scheduler_, &log_, limits);
  const auto link = std::make_shared<FakeLink>();
  Attachment machine = Machine("a", "m", "1", link);
  machine.hello.add_tasks("rollback");
  ASSERT_TRUE(hosts.Attach(machine).ok());
  Answer answers[3];
  for (Answer& answer : answers) hosts.Observe(Ask("a"), answer.Expect());
  EXPECT_TRUE(answers[2].arrived()) << "refused";
  HostTask change;
  change.host = "a";
  change.task.mutable_rollback();
  change.deadline = absl::Minutes(2);
  hosts.RunTask(change, [](const auto&) { FAIL() << "refused"; });
  ASSERT_EQ(link->sent.size(), 3u);
  EXPECT_TRUE(link->sent[2].task().has_rollback());
}

TEST_F(AttachedHostsTest, TaskThatIsExtendedHasItsTimeFromThen) {
  ASSERT_TRUE(hosts_.Attach(Machine("a", "m", "1")).ok());
  Answer answer;
  const AttachedHosts::TaskId task = hosts_.Observe(Ask("a"), answer.Expect());
  scheduler_.Advance(absl::Seconds(9));
  hosts_.Extend(task, absl::Seconds(5));
  scheduler_.Advance(absl::Seconds(4));
  EXPECT_FALSE(answer.arrived());
  scheduler_.Advance(absl::Seconds(1));
  ASSERT_TRUE(answer.arrived());
  EXPECT_THAT(answer.facts().missing().detail(),
              Tells("msg-hub-no-step", "5s"));
  hosts_.Extend(task, absl::Seconds(5));
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(AttachedHostsTest, ListsManyHostsInTheOrderOfTheSpec) {
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i) names.push_back(absl::StrCat("n", 199 - i));
  ASSERT_TRUE(hosts_.Attach(Machine("z", "m", "1")).ok());
  const std::vector<HostEntry> entries = hosts_.Entries(SpecOf(names));
  ASSERT_EQ(entries.size(), 201u);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(entries[i].host(), names[i]);
    EXPECT_TRUE(entries[i].in_spec());
  }
  EXPECT_EQ(entries[200].host(), "z");
  EXPECT_FALSE(entries[200].in_spec());
}

TEST_F(AttachedHostsTest, CountsManyHostsAndNamesThoseAwayInTheOrderOfTheSpec) {
  const auto link = std::make_shared<FakeLink>();
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i) names.push_back(absl::StrCat("n", 199 - i));
  // One host of the spec never attached, and one has left.
  for (int i = 2; i < 200; ++i) {
    ASSERT_TRUE(hosts_.Attach(Machine(names[i], names[i], "1", link)).ok());
  }
  const auto leaves = hosts_.Attach(Machine(names[0], "x", "1", link));
  hosts_.Detach(*leaves, ToFindingValue("gone"));
  ASSERT_TRUE(hosts_.Attach(Machine("stranger", "s", "1", link)).ok());
  DriftReport report;
  report.mutable_drift()->mutable_value()->add_drifts();
  const auto session = hosts_.Attach(Machine("drifted", "d", "1", link));
  ASSERT_TRUE(hosts_.OnDrift(*session, report).ok());
  names.push_back("drifted");
  ClusterNow now;
  ClusterSpec spec = SpecOf(names);
  Waiver* const waiver = spec.add_waivers();
  waiver->set_rule("maintenance");
  waiver->add_hosts("n7");
  waiver->set_until_ms(absl::ToUnixMillis(scheduler_.Now() + absl::Hours(1)));
  hosts_.CountHosts(spec, &now);
  EXPECT_EQ(now.hosts_in_maintenance(), 1u);
  for (const HostEntry& entry : hosts_.Entries(spec)) {
    EXPECT_EQ(entry.maintenance(), entry.host() == "n7") << entry.host();
  }
  EXPECT_THAT(now, HasFields("hosts_expected: 201 hosts_attached: 199 "
                             "hosts_unexpected: 1 hosts_drifted: 1"));
  EXPECT_THAT(now.away(), testing::ElementsAre("n199", "n198"));
  ClusterNow none;
  names.assign(500, "");
  for (int i = 0; i < 500; ++i) names[i] = absl::StrCat("other", i);
  hosts_.CountHosts(SpecOf(names), &none);
  EXPECT_EQ(none.hosts_attached(), 0u);
  EXPECT_EQ(none.hosts_unexpected(), 200u);
  EXPECT_EQ(none.away_size(), 20);
}

}  // namespace
}  // namespace clusterd
