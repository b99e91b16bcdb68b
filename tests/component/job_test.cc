// Checks of jobs. Hosts ask over their streams about a job that starts on them:
// all at once, late, or wrongly. Users ask, too. Also the brake.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "config/identity/grpc_status.h"
#include "config/identity/signature.h"
#include "config/launch/job_spec.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/moved_clock.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A healthy host that asks like a hook.
class JobHost {
 public:
  JobHost(TestCertificates* certificates, TestController* controller,
          int server)
      : facts_(MakeHealthyHost(*controller->spec().spec(),
                               controller->spec().spec()->servers(server))),
        host_(controller->address(), certificates->Host(facts_.host())) {
    EXPECT_TRUE(host_.Attach());
    thread_ = std::thread([this] { Run(); });
  }
  ~JobHost() {
    host_.Kill();
    thread_.join();
  }

  const std::string& name() const { return facts_.host(); }

  // The number of requests for facts.
  int observed() {
    absl::MutexLock lock(&mutex_);
    return observed_;
  }
  uint64_t Ask(const JobSpec& job, uint32_t max_age_ms = 0) {
    AgentMessage message;
    JobQuestion* const question = message.mutable_job_question();
    question->set_question_id(++last_id_);
    *question->mutable_job() = job.SerializeAsString();
    question->set_max_age_ms(max_age_ms);
    Send(message);
    return last_id_;
  }
  JobAnswer Answer(uint64_t id) {
    Wait([this, id]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return answers_.count(id) > 0;
    });
    absl::MutexLock lock(&mutex_);
    return answers_[id];
  }
  JobAnswer AskAndWait(const JobSpec& job, uint32_t max_age_ms = 0) {
    return Answer(Ask(job, max_age_ms));
  }

  DrainAnswer MayFail(const std::string& reason) {
    AgentMessage message;
    DrainQuestion* const question = message.mutable_drain_question();
    const uint64_t id = ++last_id_;
    question->set_question_id(id);
    question->set_reason(reason);
    Send(message);
    Wait([this, id]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return drains_.count(id) > 0;
    });
    absl::MutexLock lock(&mutex_);
    return drains_[id];
  }

 private:
  template <typename Reached>
  void Wait(const Reached& reached) {
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&reached), kPatience));
  }

  void Send(const AgentMessage& message) {
    absl::MutexLock lock(&send_mutex_);
    host_.Send(message);
  }

  void AnswerTask(uint64_t task) {
    AgentMessage message;
    message.mutable_result()->set_task_id(task);
    *message.mutable_result()->mutable_facts() = facts_;
    Send(message);
  }

  void Run() {
    HubMessage message;
    while (host_.Receive(&message)) {
      {
        absl::MutexLock lock(&mutex_);
        if (message.has_task()) ++observed_;
        if (message.has_job_answer()) {
          answers_[message.job_answer().question_id()] = message.job_answer();
        }
        if (message.has_drain_answer()) {
          drains_[message.drain_answer().question_id()] =
              message.drain_answer();
        }
      }
      if (message.has_task()) AnswerTask(message.task().task_id());
      message.Clear();
    }
  }

  const HostFacts facts_;
  RawHost host_;
  uint64_t last_id_ = 0;
  absl::Mutex send_mutex_;
  absl::Mutex mutex_;
  int observed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, JobAnswer> answers_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, DrainAnswer> drains_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // Last: uses everything above.
};

class JobTest : public testing::Test {
 protected:
  void Start(int hosts) {
    controller_ =
        std::make_unique<TestController>(&certificates_, hosts, &clock_);
    controller_->Start();
    for (int i = 0; i < hosts; ++i) {
      hosts_.push_back(
          std::make_unique<JobHost>(&certificates_, controller_.get(), i));
    }
  }

  // A job on the hosts from `first` to before `end`.
  JobSpec Job(const std::string& id, size_t first, size_t end) {
    JobSpec job;
    job.set_id(id);
    for (size_t i = first; i < end; ++i) {
      job.add_servers()->set_host(hosts_[i]->name());
    }
    return job;
  }

  // The verdict in the answer; fails the test unless the controller signed it.
  JobVerdict Verdict(const JobAnswer& answer) {
    EXPECT_TRUE(answer.has_verdict()) << answer.ShortDebugString();
    const SignedVerdict& given = answer.verdict();
    const absl::Status genuine = SignatureVerifier().Verify(
        given.verdict(), given.signature(), given.certificate(),
        certificates_.authority().certificate_pem(), "test", absl::Now());
    EXPECT_TRUE(genuine.ok()) << genuine;
    JobVerdict verdict;
    EXPECT_TRUE(verdict.ParseFromString(given.verdict()));
    return verdict;
  }

  ListHistoryResponse History() {
    const auto list = controller_->history().List({});
    EXPECT_TRUE(list.ok()) << list.status();
    return Rendered(*list);
  }

  absl::Status Check(const JobSpec& job, Report* report,
                     uint32_t max_age_ms = 0) {
    CheckRequest request;
    *request.mutable_job() = job;
    request.set_max_age_ms(max_age_ms);
    return controller_->Check(request, report);
  }

  TestCertificates certificates_;
  MovedClock clock_;
  std::unique_ptr<TestController> controller_;
  std::vector<std::unique_ptr<JobHost>> hosts_;
};

// Longer than any test takes.
constexpr uint32_t kHourMs = 3600'000;

TEST_F(JobTest, SixtyFourHostsThatAskAtOnceCostOneRun) {
  clock_.SetPatient(true);  // The run waits for each to ask.
  Start(64);
  const JobSpec job = Job("slurm:1.0", 0, 64);
  std::vector<uint64_t> questions;
  for (const auto& host : hosts_) questions.push_back(host->Ask(job, kHourMs));
  std::set<std::string> runs;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const JobVerdict verdict = Verdict(hosts_[i]->Answer(questions[i]));
    runs.insert(verdict.run_id());
    EXPECT_EQ(hosts_[i]->observed(), 1);
    // Each host receives its own address and the master's.
    std::map<std::string, std::string> addresses;
    for (const JobVerdict::Host& host : verdict.hosts()) {
      addresses[host.host()] = host.address();
    }
    const auto spec = controller_->spec().spec();
    for (const size_t named : {size_t{0}, i}) {
      const int at = static_cast<int>(named);
      EXPECT_EQ(addresses[hosts_[named]->name()], spec->servers(at).address());
    }
    if (i > 0) continue;
    EXPECT_EQ(verdict.cluster(), "test");
    EXPECT_EQ(verdict.job_id(), "slurm:1.0");
    EXPECT_EQ(verdict.job_digest(), JobDigest(job));
    EXPECT_GT(verdict.judged_at_ms(), 0);
  }
  EXPECT_THAT(runs, SizeIs(1));
  const ListHistoryResponse list = History();
  ASSERT_EQ(list.entries_size(), 1);
  EXPECT_THAT(list.entries(0).summary(),
              HasSubstr("job slurm:1.0: 64 hosts; "));
  EXPECT_THAT(list.entries(0).actor(), HasSubstr("spiffe://test/host/server"));
}

// A scheduler's identity may name any hosts as a job.
TEST_F(JobTest, RoleHookGetsTheFailuresAndNoMore) {
  Start(2);
  CheckRequest request;
  JobSpec* const job = request.mutable_job();
  *job = Job("slurm:8.0", 0, 2);
  job->set_rank_table("no JSON");
  hosts_.pop_back();
  request.set_max_age_ms(kHourMs);
  const auto client =
      controller_->ClientAs(certificates_.User("slurm", Role::kHook));
  const auto context = NewContext();
  const auto stream = client->Check(context.get(), request);
  CheckEvent event;
  Report received;
  while (stream->Read(&event)) {
    if (event.has_report()) received = event.report();
  }
  const grpc::Status status = stream->Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  Report whole;
  ASSERT_TRUE(controller_->Check(request, &whole).ok());
  // The same report, shortened: a prolog refuses the job for it, too.
  EXPECT_EQ(received.run_id(), whole.run_id());
  EXPECT_EQ(received.verdict(), FAIL);
  EXPECT_EQ(received.job_servers(), 2u);
  EXPECT_NE(HostOf(whole, "server1").no_facts_reason(), "");
  EXPECT_EQ(HostOf(received, "server1").no_facts_reason(), "");
  int failing = 0;
  int silent = 0;
  for (const RuleResult& rule : whole.rules()) {
    for (const Finding& finding : rule.findings()) {
      ++(finding.state() == FAIL ? failing : silent);
    }
  }
  EXPECT_GT(silent, 0);
  for (const RuleResult& rule : received.rules()) {
    EXPECT_EQ(rule.summary(), "");
    for (const Finding& finding : rule.findings()) {
      EXPECT_EQ(finding.state(), FAIL);
      EXPECT_NE(finding.observed(), "");
      --failing;
    }
  }
  EXPECT_EQ(failing, 0);
}

TEST_F(JobTest, HostLearnsNothingOfAJobThatItTakesNoPartIn) {
  Start(3);
  const JobSpec job = Job("slurm:1.0", 0, 2);
  const JobAnswer refused = hosts_[2]->AskAndWait(job);
  EXPECT_EQ(refused.error().code(),
            static_cast<int>(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(hosts_[0]->observed(), 0) << "nor does it begin a run";
  EXPECT_TRUE(hosts_[0]->AskAndWait(job).has_verdict());
  EXPECT_FALSE(hosts_[2]->AskAndWait(job, kHourMs).has_verdict());
  controller_->Stop();
  EXPECT_THAT(
      TestCertificates::Text(controller_->audit_path()),
      AllOf(HasSubstr("spiffe://test/host/server2"), HasSubstr("JobQuestion"),
            HasSubstr("refused: PERMISSION_DENIED: host \\\"server2\\\"")));
}

// A compromised host asks again and again.
TEST_F(JobTest, HostThatNamesOthersAsItsJobMakesNoneOfThemWork) {
  clock_.Stop();  // All within a minute.
  Start(4);
  for (int i = 0; i < 6; ++i) {
    const JobVerdict verdict =
        Verdict(hosts_[0]->AskAndWait(Job(absl::StrCat("fake:", i), 0, 4)));
    for (const JobVerdict::Host& host : verdict.hosts()) {
      if (host.host() == hosts_[0]->name()) continue;
      EXPECT_EQ(host.state(), UNKNOWN);
    }
  }
  EXPECT_EQ(hosts_[0]->AskAndWait(Job("fake:6", 0, 4)).error().code(),
            static_cast<int>(absl::StatusCode::kResourceExhausted));
  for (const size_t other : {1, 2, 3}) {
    EXPECT_EQ(hosts_[other]->observed(), 0);
  }
  // The other hosts still get verdicts about a job that starts on them.
  clock_.SetPatient(true);
  const JobSpec job = Job("slurm:1.0", 1, 3);
  const uint64_t first = hosts_[1]->Ask(job);
  const JobVerdict whole = Verdict(hosts_[2]->AskAndWait(job, kHourMs));
  EXPECT_EQ(Verdict(hosts_[1]->Answer(first)).run_id(), whole.run_id());
  EXPECT_EQ(hosts_[1]->observed(), 1);
  EXPECT_EQ(hosts_[2]->observed(), 1);
}

TEST_F(JobTest, InvalidQuestionsAreAnsweredAndFinallyEndTheStream) {
  Start(2);
  JobSpec garbage;
  garbage.set_id("slurm:1\n\x1b[2J");
  const JobAnswer answer = hosts_[0]->AskAndWait(garbage);
  EXPECT_EQ(answer.error().code(),
            static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(answer.error().message(), HasSubstr("job id: "));
  EXPECT_FALSE(hosts_[0]->AskAndWait(JobSpec()).has_verdict());
  const JobSpec job = Job("slurm:1.0", 0, 2);
  EXPECT_TRUE(hosts_[0]->AskAndWait(job).has_verdict());
  for (int i = 0; i <= 129; ++i) hosts_[0]->Ask(garbage);
  ASSERT_TRUE(
      controller_->log().WaitFor(RowPattern("msg-hub-questions-refused")));
  EXPECT_TRUE(hosts_[1]->AskAndWait(Job("a", 1, 2)).has_verdict());
}

TEST_F(JobTest, ManyJobsAtOnceAreAllServed) {
  clock_.Stop();  // Waits would never end.
  Start(16);
  struct Open {
    JobHost* host;
    uint64_t question;
    std::string id;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < 64; ++i) {
    const size_t first = i % 15;
    const std::string id = absl::StrCat("slurm:", i, ".0");
    const JobSpec job = Job(id, first, first + 2);
    open.push_back({hosts_[first].get(), hosts_[first]->Ask(job), id});
  }
  // A job array with one server per job.
  for (size_t i = 0; i < 200; ++i) {
    const size_t server = i % 16;
    const std::string id = absl::StrCat("slurm:99_", i, ".0");
    const JobSpec job = Job(id, server, server + 1);
    open.push_back({hosts_[server].get(), hosts_[server]->Ask(job), id});
  }
  for (const Open& each : open) {
    EXPECT_EQ(Verdict(each.host->Answer(each.question)).job_id(), each.id);
  }
}

TEST_F(JobTest, AnotherSpecDropsWhatIsKept) {
  Start(2);
  const JobSpec job = Job("slurm:1.0", 0, 2);
  const std::string run = Verdict(hosts_[0]->AskAndWait(job, kHourMs)).run_id();
  ASSERT_TRUE(controller_->spec().Reload().ok());
  EXPECT_NE(Verdict(hosts_[0]->AskAndWait(job, kHourMs)).run_id(), run);
}

TEST_F(JobTest, VerdictThatCannotBeSignedIsNotGivenAway) {
  Start(1);
  const TlsFiles files = certificates_.Controller();
  ASSERT_EQ(std::remove(files.key.c_str()), 0);
  const JobSpec job = Job("slurm:1.0", 0, 1);
  const JobAnswer answer = hosts_[0]->AskAndWait(job);
  EXPECT_FALSE(answer.has_verdict());
  EXPECT_NE(answer.error().code(), 0);
  ASSERT_TRUE(controller_->log().WaitFor("the verdict cannot be signed"));
}

TEST_F(JobTest, LaunchGetsReportSpecAndFactsInTheOrderOfTheJob) {
  Start(3);
  LaunchRequest request;
  *request.mutable_job() = Job("", 2, 3);
  request.mutable_job()->add_servers()->set_host(hosts_[0]->name());
  request.mutable_job()->mutable_servers(0)->add_devices(3);
  const auto context = NewContext();
  const auto client = controller_->Client();
  const auto stream = client->PrepareLaunch(context.get(), request);
  LaunchEvent event;
  LaunchFacts facts;
  while (stream->Read(&event)) {
    if (event.has_facts()) facts = event.facts();
  }
  const absl::Status status = ToAbslStatus(stream->Finish());
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(facts.spec().servers_size(), 2);
  EXPECT_EQ(facts.spec().servers(0).host(), "server2");
  EXPECT_EQ(facts.spec().servers(0).devices_size(), 1);
  ASSERT_EQ(facts.facts_size(), 2);
  EXPECT_EQ(facts.facts(0).host(), "server2");
  EXPECT_EQ(facts.facts(1).host(), "server0");
  EXPECT_EQ(facts.report().hosts_size(), 2);
  EXPECT_EQ(History().entries(0).id(), facts.report().run_id());
}

TEST_F(JobTest, BrakeLetsAFewHostsBeFailedAndThenAsksForAPerson) {
  Start(4);
  EXPECT_TRUE(hosts_[0]->MayFail("link: device 3: DOWN").may());
  EXPECT_TRUE(hosts_[0]->MayFail("link: device 4: DOWN").may());
  EXPECT_TRUE(hosts_[1]->MayFail("link").may());
  const DrainAnswer answer = hosts_[2]->MayFail("syn-backlog\n\x1b[2J");
  EXPECT_FALSE(answer.may());
  EXPECT_THAT(answer.why_not(),
              Tells("msg-hub-drain-brake", Counted(2, "host"), "10 min"));
  EXPECT_THAT(answer.why_not(), HasSubstr("a person must look"));
  ASSERT_TRUE(
      controller_->log().WaitFor("it was to be failed for: syn-backlog"));
  ASSERT_TRUE(WaitUntil([this] { return History().entries_size() > 0; }));
  EXPECT_THAT(History().entries(0).summary(), HasSubstr("brake: 2 hosts"));
}

}  // namespace
}  // namespace clusterd
