#include "daemon/controller/jobs/job_checks.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/spec/spec_loader.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/process/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/controller/task_link.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr size_t kJobs = static_cast<size_t>(CallClass::kJob);

// Without attached hosts, every run ends as soon as it begins.
class JobChecksTest : public testing::Test {
 protected:
  void Start(const JobChecksLimits& limits = {},
             const CallLimits& row = kCallLimits[kJobs]) {
    history_ = OpenStore(NewStateFolder(), {});
    const std::string path = absl::StrCat(testing::TempDir(), "/checks.yaml");
    std::ofstream(path) << SpecToYaml(MakeSpec("atlas-training", "", 4));
    auto spec = SpecHolder::Open(path, "test", &scheduler_);
    ASSERT_TRUE(spec.ok()) << spec.status();
    spec_ = *std::move(spec);
    ControllerParts parts{spec_.get(), history_.get(), &scheduler_,
                          &pool_,      &log_,          &hosts_};
    CallLimitTable table = kCallLimits;
    table[kJobs] = row;
    queue_ = std::make_unique<FactQueue>(parts, table);
    parts.queue = queue_.get();
    checks_ = std::make_unique<JobChecks>(
        parts,
        [this] {
          ++signed_;
          return [](std::string verdict) {
            SignedVerdict made;
            made.set_verdict(std::move(verdict));
            return made;
          };
        },
        limits);
  }
  ~JobChecksTest() override {
    if (queue_ != nullptr) queue_->Stop();
    pool_.Drain();
  }

  static JobSpec Job(const std::string& id) {
    JobSpec job;
    job.set_id(id);
    job.add_servers()->set_host("server0");
    return job;
  }
  // Collects the answers in `answers`, in the order of arrival.
  void Ask(const JobSpec& job, const std::string& host = "server0",
           uint32_t max_age_ms = 0) {
    JobQuestion question;
    *question.mutable_job() = job.SerializeAsString();
    question.set_max_age_ms(max_age_ms);
    Ask(std::move(question), host);
  }
  void Ask(JobQuestion question, const std::string& host) {
    checks_->AskAs(host, std::move(question),
                   [this](JobAnswer answer) { answers_.push_back(answer); });
  }
  int CodeOf(size_t answer) { return answers_.at(answer).error().code(); }

  // server0, server1, …
  void AttachHosts(int count) {
    for (int i = 0; i < count; ++i) {
      Attachment host;
      host.host = absl::StrCat("server", i);
      host.hello.set_machine_id(host.host);
      links_.push_back(std::make_shared<TaskLink>());
      host.link = links_.back();
      sessions_.push_back(*hosts_.Attach(host));
    }
  }
  static JobSpec JobOf(const std::string& id, int count) {
    JobSpec job;
    job.set_id(id);
    for (int i = 0; i < count; ++i) {
      job.add_servers()->set_host(absl::StrCat("server", i));
    }
    return job;
  }
  // The number of questions that each host got.
  std::vector<size_t> Asked() {
    pool_.Drain();
    std::vector<size_t> asked;
    for (const auto& link : links_) asked.push_back(link->tasks().size());
    return asked;
  }
  void AnswerFacts(size_t host, const HostFacts& facts = {}) {
    // The pool asks the hosts.
    pool_.Drain();
    const std::vector<Task> tasks = links_[host]->tasks();
    ASSERT_FALSE(tasks.empty()) << "server" << host << " was not asked";
    TaskResult result;
    result.set_task_id(tasks.back().task_id());
    *result.mutable_facts() = facts;
    EXPECT_TRUE(hosts_.OnResult(sessions_[host], result).ok());
    pool_.Drain();
  }
  // "HOST: REASON" of each host without facts in its newest check.
  std::vector<std::string> Unasked(const std::string& job) {
    std::vector<std::string> reasons;
    const auto list = history_->List({});
    for (const HistoryEntry& entry : list->entries()) {
      const auto record = history_->Get(entry.id());
      if (record->report().job_id() != job) continue;
      for (const HostStatus& host : record->report().hosts()) {
        if (host.no_facts_reason().empty()) continue;
        EXPECT_EQ(host.state(), UNKNOWN);
        reasons.push_back(
            absl::StrCat(host.host(), ": ", host.no_facts_reason()));
      }
      break;
    }
    return reasons;
  }

  ManualScheduler scheduler_;
  CapturedLog log_;
  WorkerPool pool_{1, 64};
  AttachedHosts hosts_{&scheduler_, &log_};
  std::unique_ptr<FactQueue> queue_;
  std::unique_ptr<HistoryStore> history_;
  std::unique_ptr<SpecHolder> spec_;
  int signed_ = 0;
  std::vector<JobAnswer> answers_;
  std::vector<std::shared_ptr<TaskLink>> links_;
  std::vector<AttachedHosts::SessionId> sessions_;
  std::unique_ptr<JobChecks> checks_;
};

TEST_F(JobChecksTest, ReusesWhatIsYoungEnoughAndNothingOlder) {
  Start();
  Ask(Job("a"));
  pool_.Drain();
  scheduler_.Advance(absl::Seconds(60));
  Ask(Job("a"), "server0", 60'000);
  ASSERT_THAT(answers_, SizeIs(2)) << "at once";
  EXPECT_EQ(signed_, 1);
  EXPECT_EQ(answers_[0].verdict().verdict(), answers_[1].verdict().verdict());
  Ask(Job("a"), "server0", 59'999);
  pool_.Drain();
  EXPECT_EQ(signed_, 2);
  // Other devices make another job.
  JobSpec other = Job("a");
  other.mutable_servers(0)->add_devices(1);
  Ask(other, "server0", 60'000);
  pool_.Drain();
  EXPECT_EQ(signed_, 3);
}

TEST_F(JobChecksTest, SaysWhereALoginFileSetsTheBasePort) {
  Start();
  AttachHosts(2);
  Ask(JobOf("a", 2));
  Ask(JobOf("a", 2), "server1");
  HostFacts facts;
  facts.set_host("server0");
  EnvironmentVariable* const base =
      facts.mutable_environment()->mutable_value()->add_variables();
  base->set_name("HCCL_IF_BASE_PORT");
  base->set_value("53000");
  AnswerFacts(0, facts);
  facts.set_host("server1");
  facts.mutable_environment()->mutable_value()->clear_variables();
  AnswerFacts(1, facts);
  ASSERT_THAT(answers_, SizeIs(2));
  JobVerdict verdict;
  ASSERT_TRUE(verdict.ParseFromString(answers_[0].verdict().verdict()));
  ASSERT_GE(verdict.hosts_size(), 1) << verdict.DebugString();
  EXPECT_TRUE(verdict.hosts(0).sets_base_port());
  for (int i = 1; i < verdict.hosts_size(); ++i) {
    EXPECT_FALSE(verdict.hosts(i).sets_base_port());
  }
}

TEST_F(JobChecksTest, KeepsNoMoreThanItMay) {
  JobChecksLimits limits;
  limits.kept = 2;
  Start(limits);
  for (const char* id : {"a", "b", "c"}) {
    Ask(Job(id));
    pool_.Drain();
  }
  Ask(Job("c"), "server0", 60'000);
  EXPECT_EQ(signed_, 3);
  Ask(Job("a"), "server0", 60'000);
  pool_.Drain();
  EXPECT_EQ(signed_, 4);
  // Results are not kept longer, even if the caller allows it.
  scheduler_.Advance(limits.kept_for + absl::Seconds(1));
  Ask(Job("a"), "server0", 4'000'000'000u);
  pool_.Drain();
  EXPECT_EQ(signed_, 5);
}

TEST_F(JobChecksTest, HostThatWaitsTooLongGetsAnAnswer) {
  CallLimits row = kCallLimits[kJobs];
  row.at_once = 0;
  Start({}, row);
  Ask(Job("a"));
  scheduler_.Advance(JobChecksLimits().longest_wait + absl::Seconds(1));
  EXPECT_THAT(answers_, SizeIs(0));
  Ask(Job("b"));
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(CodeOf(0), static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  queue_->Stop();
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_EQ(CodeOf(1), static_cast<int>(absl::StatusCode::kUnavailable));
  Ask(Job("c"));
  ASSERT_THAT(answers_, SizeIs(3));
  EXPECT_EQ(CodeOf(2), static_cast<int>(absl::StatusCode::kUnavailable));
}

TEST_F(JobChecksTest, RefusesWhatItHasNoRoomFor) {
  CallLimits row = kCallLimits[kJobs];
  row.at_once = 0;
  row.waiting = 2;
  row.callers = 3;
  Start({}, row);
  for (const char* id : {"a", "b", "c", "a", "a"}) Ask(Job(id));
  // The queue is full for "c"; the last "a" exceeds the bound on callers.
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_EQ(CodeOf(0), static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(CodeOf(1), static_cast<int>(absl::StatusCode::kResourceExhausted));
}

TEST_F(JobChecksTest, RefusesQuestionsThatTogetherAreTooLong) {
  CallLimits row = kCallLimits[kJobs];
  row.at_once = 0;
  row.bytes_of_one = 20'000;
  row.bytes = 30'000;
  Start({}, row);
  JobSpec job = Job("a");
  job.set_rank_table(std::string(10'000, ' '));
  for (const char* id : {"a", "b"}) {
    job.set_id(id);
    Ask(job);
  }
  ASSERT_THAT(answers_, SizeIs(1)) << "of one host";
  job.mutable_servers(0)->set_host("server1");
  for (const char* id : {"c", "d"}) {
    job.set_id(id);
    Ask(job, "server1");
  }
  ASSERT_THAT(answers_, SizeIs(2));
  job.mutable_servers(0)->set_host("server2");
  Ask(job, "server2");
  ASSERT_THAT(answers_, SizeIs(3)) << "of all";
  EXPECT_EQ(CodeOf(2), static_cast<int>(absl::StatusCode::kResourceExhausted));
}

TEST_F(JobChecksTest, QuestionsOfOneHostDoNotFillThePlacesOfOthers) {
  JobChecksLimits limits;
  limits.shared_by_host = 1;
  CallLimits row = kCallLimits[kJobs];
  row.of_host = 2;
  Start(limits, row);
  for (const char* host : {"server0", "server1"}) {
    Attachment silent;
    silent.host = host;
    silent.hello.set_machine_id(host);
    silent.link = std::make_shared<TaskLink>();
    ASSERT_TRUE(hosts_.Attach(silent).ok());
  }
  for (const char* id : {"a", "b", "c"}) {
    JobSpec job = Job(id);
    job.add_servers()->set_host("server1");
    Ask(job);
  }
  const FactQueue::Ticket call = queue_->NewTicket();
  JobAsk ask;
  ask.job.add_servers()->set_host("server1");
  checks_->Ask(call, ask, {[] {}, [](const auto&) {}});
  EXPECT_EQ(queue_->ProgressOf(call).place(), 0u) << "has begun";
  queue_->Leave(call);
}

TEST_F(JobChecksTest, QuestionsOfOneUserDoNotFillThePlacesOfOthers) {
  CallLimits row = kCallLimits[kJobs];
  row.of_host = 2;
  row.of_host_of_one = 1;
  row.callers_of_one = 3;
  Start({}, row);
  Attachment silent;
  silent.host = "server0";
  silent.link = std::make_shared<TaskLink>();
  ASSERT_TRUE(hosts_.Attach(silent).ok());
  std::vector<FactQueue::Ticket> calls;
  absl::Status refused;
  const auto ask_as = [&](const std::string& actor, const std::string& id) {
    JobAsk ask;
    ask.job = Job(id);
    ask.actor = actor;
    calls.push_back(queue_->NewTicket());
    checks_->Ask(calls.back(), ask,
                 {[] {}, [&](const auto& end) { refused = end.status(); }});
    return queue_->ProgressOf(calls.back()).place();
  };
  EXPECT_EQ(ask_as("ann", "a"), 0u);
  EXPECT_EQ(ask_as("ann", "b"), 1u) << "the second of hers waits";
  EXPECT_EQ(ask_as("ann", "c"), 2u);
  EXPECT_TRUE(refused.ok()) << refused;
  ask_as("ann", "d");
  EXPECT_THAT(refused.message(),
              Tells("msg-hub-queue-full", kAny, kAny, "ann"));
  EXPECT_EQ(ask_as("bob", "e"), 0u) << "what waits of hers holds up nobody";
  for (const FactQueue::Ticket call : calls) queue_->Leave(call);
}

TEST_F(JobChecksTest, RunOfAUserWhoLeavesEnds) {
  CallLimits row = kCallLimits[kJobs];
  row.at_once = 0;
  Start({}, row);
  const FactQueue::Ticket call = queue_->NewTicket();
  JobAsk ask;
  ask.job = Job("a");
  ask.actor = "ann";
  bool ended = false;
  JobChecks::Caller caller;
  caller.on_end = [&ended](const auto&) { ended = true; };
  checks_->Ask(call, ask, caller);
  EXPECT_EQ(queue_->ProgressOf(call).place(), 1u);
  EXPECT_EQ(queue_->ProgressOf(call).pending(), 1u);
  queue_->Leave(call);
  EXPECT_EQ(queue_->ProgressOf(call).place(), 0u);
  queue_->Stop();
  EXPECT_FALSE(ended);
}

TEST_F(JobChecksTest, TakesNothingThatIsNoJob) {
  Start();
  JobQuestion question;
  *question.mutable_job() = "\x12\xff";
  Ask(question, "server0");
  Ask(JobQuestion(), "server0");
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_EQ(CodeOf(0), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(CodeOf(1), static_cast<int>(absl::StatusCode::kInvalidArgument));
}

TEST_F(JobChecksTest, TellsEveryMistakeAndTakesNoNamesThatForgeLogs) {
  Start();
  JobSpec job = Job("a\nb");
  Ask(job);
  job = Job("a");
  job.add_servers()->set_host("nobody");
  job.set_product("toaster");
  Ask(job);
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_THAT(answers_[0].error().message(), HasSubstr("job id: \"a\\nb\""));
  EXPECT_THAT(answers_[1].error().message(), HasSubstr("nobody"));
  EXPECT_THAT(answers_[1].error().message(), HasSubstr("toaster"));
}

// A compromised host claims a job on all other hosts.
TEST_F(JobChecksTest, HostsQuestionMakesOnlyHostsWorkThatAskedThemselves) {
  Start();
  AttachHosts(4);
  const JobSpec job = JobOf("a", 4);
  Ask(job, "server0");
  EXPECT_THAT(Asked(), ElementsAre(1, 0, 0, 0));
  Ask(job, "server1");
  EXPECT_THAT(Asked(), ElementsAre(1, 1, 0, 0));
  // Another job, or another question, does not count for this one.
  Ask(JobOf("b", 3), "server2");
  EXPECT_THAT(Asked(), ElementsAre(1, 1, 1, 0));
  AnswerFacts(0);
  AnswerFacts(1);
  AnswerFacts(2);
  EXPECT_THAT(answers_, SizeIs(0));
  scheduler_.Advance(JobChecksLimits().known_wait);
  EXPECT_THAT(Asked(), ElementsAre(1, 1, 1, 0));
  ASSERT_THAT(answers_, SizeIs(3));
  for (const JobAnswer& answer : answers_) EXPECT_TRUE(answer.has_verdict());
  const auto why = HasSubstr("has not asked about this job itself within 2");
  EXPECT_THAT(Unasked("a"), ElementsAre(AllOf(HasSubstr("server2: "), why),
                                        AllOf(HasSubstr("server3: "), why)));
}

// A scheduler calls the hook on the first host before the others.
TEST_F(JobChecksTest, HostThatAsksLateHasARunWithAllThatAskedBefore) {
  Start();
  AttachHosts(3);
  const JobSpec job = JobOf("a", 3);
  Ask(job, "server0");
  Ask(job, "server1");
  AnswerFacts(0);
  AnswerFacts(1);
  scheduler_.Advance(JobChecksLimits().known_wait);
  pool_.Drain();
  ASSERT_THAT(answers_, SizeIs(2));
  // A kept result answers the hosts that were asked, but not the others.
  Ask(job, "server1", 60'000);
  ASSERT_THAT(answers_, SizeIs(3));
  Ask(job, "server2", 60'000);
  EXPECT_THAT(Asked(), ElementsAre(2, 2, 1));
  for (const size_t host : {0, 1, 2}) AnswerFacts(host);
  ASSERT_THAT(answers_, SizeIs(4));
  EXPECT_THAT(Unasked("a"), SizeIs(0));
  // Questions do not count forever: then the job has to start again.
  scheduler_.Advance(JobChecksLimits().known_for + absl::Seconds(1));
  Ask(job, "server0");
  EXPECT_THAT(Asked(), ElementsAre(3, 2, 1));
}

// A question counts from when it was asked, not from the run that it was in.
TEST_F(JobChecksTest, HostIsNotAskedForeverBecauseAnotherAsksAgain) {
  Start();
  AttachHosts(2);
  const JobSpec job = JobOf("a", 2);
  Ask(job, "server1");
  for (const size_t of_server1 : {1, 2, 2}) {
    Ask(job, "server0");
    EXPECT_EQ(Asked()[1], of_server1);
    AnswerFacts(0);
    AnswerFacts(1);
    scheduler_.Advance(JobChecksLimits().known_for * 3 / 4);
    pool_.Drain();
  }
}

TEST_F(JobChecksTest, UserWhoJoinsHasAllHostsAskedAndNoPartOfAVerdict) {
  Start();
  AttachHosts(3);
  const JobSpec job = JobOf("a", 3);
  JobAsk ask;
  ask.job = job;
  ask.actor = "slurm";
  ask.max_age = absl::Minutes(1);
  Ask(job, "server0");
  EXPECT_THAT(Asked(), ElementsAre(1, 0, 0));
  const FactQueue::Ticket first = queue_->NewTicket();
  checks_->Ask(first, ask, {[] {}, [](const auto&) {}});
  EXPECT_THAT(Asked(), ElementsAre(1, 1, 1));
  for (const size_t host : {0, 1, 2}) AnswerFacts(host);
  ASSERT_THAT(answers_, SizeIs(1));
  queue_->Leave(first);
  // A complete result answers every host of the job.
  Ask(job, "server2", 60'000);
  ASSERT_THAT(answers_, SizeIs(2));
  Ask(JobOf("b", 3), "server0");
  EXPECT_THAT(Asked(), ElementsAre(2, 1, 1));
  AnswerFacts(0);
  scheduler_.Advance(JobChecksLimits().known_wait);
  pool_.Drain();
  ASSERT_THAT(answers_, SizeIs(3));
  ask.job.set_id("b");
  const FactQueue::Ticket second = queue_->NewTicket();
  checks_->Ask(second, ask, {[] {}, [](const auto&) {}});
  EXPECT_THAT(Asked(), ElementsAre(3, 2, 2));
  queue_->Leave(second);
}

TEST_F(JobChecksTest, HostBeginsSoManyChecksOfOthersAndAllOfItself) {
  Start();
  const auto refused = [this](int job, const std::string& host = "server0") {
    answers_.clear();
    Ask(JobOf(absl::StrCat("job", job), 2), host);
    pool_.Drain();
    EXPECT_THAT(answers_, SizeIs(1));
    return CodeOf(0) == static_cast<int>(absl::StatusCode::kResourceExhausted);
  };
  int job = 0;
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(refused(++job)) << i;
  EXPECT_TRUE(refused(++job));
  EXPECT_THAT(answers_[0].error().message(),
              Tells("msg-hub-job-checks-of-host", kAny, 6, 60));
  EXPECT_FALSE(refused(job, "server1")) << "of another host";
  answers_.clear();
  for (int i = 0; i < 20; ++i) Ask(Job(absl::StrCat("own", i)));
  pool_.Drain();
  for (size_t i = 0; i < answers_.size(); ++i) EXPECT_EQ(CodeOf(i), 0);
  int begun = 6;
  for (int minute = 0; minute < 20; ++minute) {
    scheduler_.Advance(absl::Minutes(1));
    while (!refused(++job) && begun < 100) ++begun;
  }
  EXPECT_EQ(begun, 60);
}

}  // namespace
}  // namespace clusterd
