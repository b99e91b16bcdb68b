#include "daemon/agent/hooks/hook_service.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "config/identity/signature.h"
#include "config/launch/job_spec.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::Contains, ::testing::ElementsAre,
    ::testing::HasSubstr, ::testing::IsEmpty, ::testing::Not;

// A controller that has one answer for every job, or is not reachable.
class FakeController final : public ControllerLine {
 public:
  FakeController(const TlsPem& identity, Clock* clock)
      : identity_(identity), clock_(clock) {}

  absl::StatusOr<SignedVerdict> AskJob(JobQuestion question,
                                       absl::Duration wait) override {
    ++asked;
    max_age_ms = question.max_age_ms();
    if (hold != nullptr) hold->WaitForNotificationWithTimeout(kPatience);
    if (!away.ok()) {
      clock_->SleepFor(absl::IsDeadlineExceeded(away) ? wait
                                                      : absl::ZeroDuration());
      return away;
    }
    JobVerdict made = verdict;
    made.set_cluster("test");
    made.set_run_id("ab12");
    made.set_judged_at_ms(absl::ToUnixMillis(clock_->Now()));
    JobSpec job;
    EXPECT_TRUE(job.ParseFromString(question.job()));
    made.set_job_digest(digest.empty() ? JobDigest(job) : digest);
    SignedVerdict answer;
    answer.set_verdict(made.SerializeAsString());
    answer.set_signature(
        SignText(identity_.key, answer.verdict()).value_or(""));
    answer.set_certificate(identity_.certificate);
    return answer;
  }
  absl::StatusOr<DrainAnswer> AskDrain(DrainQuestion question,
                                       absl::Duration) override {
    drains.push_back(question);
    if (!silent.ok()) return silent;
    if (!away.ok()) return absl::UnavailableError("away");
    DrainAnswer answer;
    answer.set_may(may_drain);
    if (!may_drain) answer.set_why_not("12 of 100 hosts failed in 10 min");
    if (why_not.has_value()) *answer.mutable_why_not_words() = *why_not;
    return answer;
  }

  JobVerdict verdict;
  std::string digest;
  absl::Status away;
  absl::Status silent;  // About drains.
  bool may_drain = true;
  std::optional<FindingValue> why_not;
  absl::Notification* hold = nullptr;
  std::atomic<int> asked{0};
  std::atomic<uint32_t> max_age_ms{0};
  std::vector<DrainQuestion> drains;

 private:
  const TlsPem identity_;
  Clock* const clock_;
};

constexpr char kShow[] = "scontrol show node node1 -o";
constexpr char kIdle[] = "NodeName=node1 Arch=x86_64 State=IDLE Weight=1\n";
constexpr char kDrained[] =
    "NodeName=node1 Arch=x86_64 State=IDLE+DRAIN Weight=1 "
    "Reason=clusterd: $0: x (until fixed) [root@2026-11-23T22:43:49]\n";

constexpr char kAlone[] = "this host alone";

std::string VerdictOld(int seconds) {
  return absl::StrCat("verdict of run ab12, ", seconds, " s old");
}

class HookServiceTest : public testing::Test {
 protected:
  HookServiceTest() {
    root_.WriteProgram("/bin/scontrol", "#!/bin/sh\n");
    settings_.scontrol = root_.path() + "/bin/scontrol";
    files_.PutFolder("/state");
    MergeText(
        "verdict: PASS hosts {host: 'node1' state: PASS address: '10.0.0.1'}",
        &controller_.verdict);
    runner_.Answers(kShow, kIdle);
    facts_.set_host("node1");
    for (uint32_t id = 0; id < 8; ++id) {
      MergeText(absl::Substitute("device_ids {value {ids: $0}} devices {id: $0 "
                                 "address {value {settings {}}}}",
                                 id),
                &facts_);
    }
  }

  static JobSpec OneServer(const std::string& id) {
    JobSpec job;
    job.set_id(id);
    job.add_servers()->set_host("node1");
    return job;
  }
  static HookRequest Request(HookKind kind) {
    HookRequest request;
    request.set_kind(kind);
    request.set_node_name("node1");
    return request;
  }
  // Answers for job_.
  HookAnswer Answer(HookRequest request) {
    *request.mutable_job() = job_.SerializeAsString();
    const auto answer = service_.Answer(request, [this] { return gone_; });
    EXPECT_TRUE(answer.ok()) << answer.status();
    drainer_.Settle();
    return answer.value_or(HookAnswer());
  }
  HookAnswer Answer(HookKind kind) { return Answer(Request(kind)); }
  // Adds a finding about only this host.
  void Finds(const std::string& rule, State state,
             std::vector<uint32_t> devices) {
    RuleResult* const result = report_.add_rules();
    result->set_rule(rule);
    result->set_state(state);
    if (state == PASS) return;
    Finding* const finding = result->add_findings();
    MergeText("observed: 'wrong' subjects {host: 'node1'}", finding);
    finding->set_rule(rule);
    finding->set_state(state);
    finding->mutable_subjects(0)->mutable_devices()->Add(devices.begin(),
                                                         devices.end());
  }
  // Sets the waivers that the controller sent last.
  void Waive(const std::vector<std::string>& rules) {
    HostWaivers sent;
    for (const std::string& rule : rules) {
      Waiver* const waiver = sent.add_waivers();
      waiver->set_rule(rule);
      waiver->set_reason("known");
      waiver->set_until_ms(absl::ToUnixMillis(clock_.Now() + absl::Hours(1)));
    }
    waivers_ = std::make_shared<const HostWaivers>(std::move(sent));
  }
  // We drained the node for this rule.
  void IsDrainedFor(const std::string& rule) {
    runner_.Forget(kShow);
    runner_.Answers(kShow, absl::Substitute(kDrained, rule));
    runner_.Answers("scontrol update NodeName=node1 State=UNDRAIN", "");
  }
  void VerdictFails(const std::string& rule) {
    JobVerdict::Host* const host = controller_.verdict.mutable_hosts(0);
    MergeText("state: FAIL reasons {state: FAIL text: 'DOWN'}", host);
    host->mutable_reasons(0)->set_rule(rule);
    controller_.verdict.set_verdict(FAIL);
  }

  FakeClock clock_{absl::Now()};
  const std::unique_ptr<TestAuthority> authority_ = TestAuthority::Create();
  const TlsPem identity_ = authority_->Issue({"spiffe://test/controller"});
  FakeController controller_{identity_, &clock_};
  FakeFileSystem files_;
  FakeCommandRunner runner_{&clock_};
  CapturedLog log_;
  VerdictStore verdicts_{{"/state/verdicts", "test",
                          [this]() -> absl::StatusOr<std::string> {
                            return authority_->certificate_pem();
                          }},
                         &files_,
                         &clock_};
  Drainer drainer_{&runner_, &log_};
  ScratchRoot root_;
  HookSettings settings_;
  HostFacts facts_;
  Report report_;
  JobSpec job_ = OneServer("slurm:7.0");
  std::function<void()> on_observe_ = [] {};
  std::shared_ptr<const HostWaivers> waivers_ =
      std::make_shared<const HostWaivers>();
  std::atomic<int> observations_{0};
  JobSpec judged_job_;
  bool judged_with_job_ = false;
  bool gone_ = false;
  HookService service_{{"node1",
                        [this](absl::Duration) {
                          ++observations_;
                          on_observe_();
                          return facts_;
                        },
                        [this](const HostFacts&, const JobSpec* job) {
                          judged_with_job_ = job != nullptr;
                          if (job != nullptr) judged_job_ = *job;
                          return report_;
                        },
                        [this] { return settings_; }, &controller_, &verdicts_,
                        &drainer_, &clock_, &log_,
                        [this] { return waivers_; }}};
};

TEST_F(HookServiceTest, AllowsByTheControllersVerdictWithoutReadingTheHost) {
  const HookAnswer answer = Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  EXPECT_EQ(answer.basis(), VerdictOld(0));
  EXPECT_THAT(answer.let_through(), IsEmpty());
  EXPECT_THAT(answer.environment(), Contains("HCCL_IF_IP=10.0.0.1"));
  EXPECT_EQ(observations_, 0);
  EXPECT_EQ(controller_.max_age_ms, 10000u);
  EXPECT_THAT(log_.Lines(),
              HasSubstr("job \"slurm:7.0\": allow; " + VerdictOld(0)));
  // There is no earlier verdict about a job without an id.
  job_.clear_id();
  Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(controller_.max_age_ms, 0u);
}

TEST_F(HookServiceTest, ReadsTheHostIfTheControllerDoesNotKnow) {
  controller_.verdict.mutable_hosts(0)->set_state(UNKNOWN);
  Finds("link", FAIL, {3});
  const HookAnswer answer = Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(answer.decision(), HookAnswer::REFUSE_AND_DRAIN);
  EXPECT_EQ(observations_, 1);
  EXPECT_THAT(answer.basis(), HasSubstr("and the kept verdict"));
}

TEST_F(HookServiceTest, JudgesOfALargerJobOnlyWhatThisServerShows) {
  controller_.away = absl::UnavailableError("away");
  job_.add_servers()->set_host("node2");
  JobServer& own = *job_.mutable_servers(0);
  own.set_world_size(16);
  own.set_node_rank(1);
  own.set_master_port(29500);
  Answer(HOOK_SLURM_PROLOG);
  ASSERT_THAT(judged_job_,
              HasFields("servers { host: 'node1' world_size: 0 }"));
  EXPECT_FALSE(judged_job_.servers(0).has_node_rank());
  EXPECT_EQ(judged_job_.servers(0).master_port(), 29500u);
  // Only the job's first server has the rendezvous port.
  job_.mutable_servers()->SwapElements(0, 1);
  Answer(HOOK_PLAIN);
  ASSERT_THAT(judged_job_,
              HasFields("servers { host: 'node1' master_port: 0 }"));
}

TEST_F(HookServiceTest, RefusesABrokenHostAndDrainsItWithTheRulesName) {
  VerdictFails("link");
  const HookAnswer answer = Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(answer.decision(), HookAnswer::REFUSE_AND_DRAIN);
  EXPECT_EQ(answer.reason(), "clusterd: link: DOWN");
  EXPECT_THAT(answer.environment(), IsEmpty());
  EXPECT_THAT(runner_.commands(),
              Contains("scontrol update NodeName=node1 State=DRAIN "
                       "Reason=clusterd: link: DOWN (until fixed)"));
  ASSERT_EQ(controller_.drains.size(), 1u);
  EXPECT_EQ(controller_.drains[0].reason(), "clusterd: link: DOWN");
}

TEST_F(HookServiceTest, RunsNoSchedulersCommandForOtherSchedulers) {
  VerdictFails("link");
  for (const HookKind kind : {HOOK_PBS, HOOK_LSF, HOOK_PLAIN}) {
    EXPECT_EQ(Answer(kind).decision(), HookAnswer::REFUSE_AND_DRAIN);
  }
  HookRequest request = Request(HOOK_SLURM_PROLOG);
  request.clear_node_name();
  EXPECT_EQ(Answer(request).decision(), HookAnswer::REFUSE_AND_DRAIN);
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(HookServiceTest, NeitherDrainsNorTakesBackANodeOfAnotherName) {
  HookRequest request = Request(HOOK_SLURM_HEALTH);
  request.set_node_name("node2");
  EXPECT_THAT(
      Answer(request).let_through(),
      ElementsAre(AllOf(HasSubstr("\"node2\""), HasSubstr("expected node1"))));
  Finds("link", FAIL, {3});
  EXPECT_EQ(Answer(request).decision(), HookAnswer::REFUSE_AND_DRAIN);
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(HookServiceTest, DrainsNobodyForAHookThatWasKilled) {
  VerdictFails("link");
  gone_ = true;
  Answer(HOOK_SLURM_PROLOG);
  EXPECT_THAT(runner_.commands(), IsEmpty());
  EXPECT_THAT(log_.Lines(), HasSubstr("the hook is gone"));
}

TEST_F(HookServiceTest, LetsThroughWhatTheBrakeKeepsFromBeingDrained) {
  VerdictFails("link");
  controller_.may_drain = false;
  const HookAnswer answer = Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  EXPECT_THAT(answer.let_through(),
              Contains(AllOf(HasSubstr("an operator must decide"),
                             HasSubstr("12 of 100 hosts"),
                             HasSubstr("clusterd: link: DOWN"))));
  EXPECT_EQ(Answer(HOOK_PLAIN).decision(), HookAnswer::REFUSE);
  // The controller's words reach the caller as words.
  controller_.why_not = Worded("count-device", 12);
  EXPECT_THAT(Answer(HOOK_SLURM_PROLOG).let_through_words(),
              Contains(Tells("msg-hook-not-drained", "count-device")));
  // A controller that does not say whether it may is a brake, too.
  controller_.silent = absl::DeadlineExceededError("no answer in 2s");
  const HookAnswer silent = Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(silent.decision(), HookAnswer::ALLOW);
  EXPECT_THAT(silent.let_through(), Contains(HasSubstr("no answer in 2s")));
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(HookServiceTest, WorksByItsOwnFactsWhileTheControllerIsAway) {
  controller_.away = absl::UnavailableError("the controller is away");
  Finds("firewall", FAIL, {});
  HookAnswer answer = Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  EXPECT_EQ(answer.basis(), kAlone);
  EXPECT_THAT(answer.let_through(),
              AllOf(Contains(HasSubstr("the controller is away")),
                    Contains(HasSubstr("clusterd: firewall"))));
  Finds("link", FAIL, {3});
  answer = Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(answer.decision(), HookAnswer::REFUSE_AND_DRAIN);
  EXPECT_THAT(answer.reason(), HasSubstr("clusterd: link: device 3"));
}

TEST_F(HookServiceTest, AddsTheKeptVerdictWhileTheControllerIsAway) {
  VerdictFails("device-ip-planned");
  const HookRequest request = Request(HOOK_SLURM_PROLOG);
  Answer(request);
  controller_.away = absl::DeadlineExceededError("no answer");
  HookAnswer answer = Answer(request);
  EXPECT_EQ(answer.decision(), HookAnswer::REFUSE_AND_DRAIN);
  EXPECT_THAT(answer.basis(), HasSubstr("kept verdict of run ab12"));
  clock_.Advance(settings_.max_age);
  answer = Answer(request);
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  EXPECT_EQ(answer.basis(), kAlone);
}

TEST_F(HookServiceTest, JudgesTheKeptVerdictByTheWaiversThatItKnowsNow) {
  VerdictFails("listen-backlog");
  const HookRequest request = Request(HOOK_SLURM_PROLOG);
  const auto decision = [&] { return Answer(request).decision(); };
  EXPECT_EQ(decision(), HookAnswer::REFUSE_AND_DRAIN);
  controller_.away = absl::UnavailableError("away");
  EXPECT_EQ(decision(), HookAnswer::REFUSE_AND_DRAIN);
  for (const std::string rule : {"listen-backlog", "maintenance"}) {
    Waive({rule});
    const HookAnswer answer = Answer(request);
    EXPECT_EQ(answer.decision(), HookAnswer::ALLOW) << rule;
    EXPECT_THAT(answer.let_through(),
                Contains(AllOf(HasSubstr("warn: clusterd: listen-"),
                               HasSubstr("; waived until"))));
    EXPECT_THAT(answer.let_through(),
                Not(Contains(HasSubstr("gives no reason"))));
  }
  Waive({"link"});
  EXPECT_EQ(decision(), HookAnswer::REFUSE_AND_DRAIN);
  Waive({"listen-backlog"});
  clock_.Advance(absl::Minutes(9));
  settings_.max_age = absl::Hours(2);
  EXPECT_EQ(decision(), HookAnswer::ALLOW);
  clock_.Advance(absl::Minutes(52));
  EXPECT_EQ(decision(), HookAnswer::REFUSE_AND_DRAIN);
}

TEST_F(HookServiceTest, AWaiverThatWasEndedNoLongerCoversAKeptVerdict) {
  VerdictFails("link");
  JobVerdict::Host* const host = controller_.verdict.mutable_hosts(0);
  host->set_state(WARN);
  controller_.verdict.set_verdict(WARN);
  MergeText("state: WARN waived: true waived_from: FAIL devices: [3, 4]",
            host->mutable_reasons(0));
  Waive({"link"});
  HookRequest request = Request(HOOK_PLAIN);
  EXPECT_EQ(Answer(request).decision(), HookAnswer::ALLOW);
  controller_.away = absl::UnavailableError("away");
  EXPECT_EQ(Answer(request).decision(), HookAnswer::ALLOW);
  Waive({});
  for (const uint32_t max_age_ms : {0u, 60000u}) {
    request.set_max_age_ms(max_age_ms);
    const HookAnswer answer = Answer(request);
    EXPECT_EQ(answer.decision(), HookAnswer::REFUSE_AND_DRAIN);
    EXPECT_EQ(answer.reason(),
              absl::StrCat("clusterd: link: devices 3-4: ",
                           Say("hook-no-longer-waived", "DOWN")));
  }
  // Without waivers from the controller the verdict counts.
  waivers_ = nullptr;
  EXPECT_EQ(Answer(request).decision(), HookAnswer::ALLOW);
}

TEST_F(HookServiceTest, KeptVerdictDoesNotSayWhetherMaintenanceIsInForce) {
  HookRequest request = Request(HOOK_PLAIN);
  request.set_max_age_ms(60000);
  EXPECT_EQ(Answer(request).decision(), HookAnswer::ALLOW);
  Waive({"maintenance"});
  VerdictFails("maintenance");
  EXPECT_EQ(Answer(request).decision(), HookAnswer::REFUSE);
  EXPECT_EQ(controller_.asked, 2);
  controller_.away = absl::UnavailableError("away");
  Waive({});
  EXPECT_EQ(Answer(request).decision(), HookAnswer::ALLOW);
}

TEST_F(HookServiceTest, ReusesAVerdictAsOldAsTheHookAllows) {
  HookRequest request = Request(HOOK_PLAIN);
  Answer(request);
  request.set_max_age_ms(60000);
  clock_.Advance(absl::Seconds(30));
  EXPECT_EQ(Answer(request).basis(), VerdictOld(30));
  EXPECT_EQ(controller_.asked, 1);
  clock_.Advance(absl::Seconds(31));
  EXPECT_EQ(Answer(request).basis(), VerdictOld(0));
  EXPECT_EQ(controller_.asked, 2);
}

TEST_F(HookServiceTest, BelievesNoVerdictAboutAnotherJob) {
  controller_.digest = std::string(64, 'a');
  const HookAnswer answer = Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(answer.basis(), kAlone);
  EXPECT_THAT(answer.let_through(), Contains(HasSubstr("of another job")));
  EXPECT_EQ(observations_, 1);
}

TEST_F(HookServiceTest, SparesAJobThatOptsOutAndSaysWho) {
  VerdictFails("link");
  HookRequest request = Request(HOOK_SLURM_PROLOG);
  request.set_opt_out("comment \"clusterd=off\"\x1b[2J");
  job_.set_user("ann");
  EXPECT_EQ(Answer(request).decision(), HookAnswer::ALLOW);
  EXPECT_EQ(controller_.asked, 0);
  EXPECT_THAT(log_.Lines(),
              AllOf(HasSubstr("<5>"), HasSubstr("opted out by"),
                    HasSubstr("of \"ann\""), Not(HasSubstr("\x1b"))));
}

TEST_F(HookServiceTest, JudgesOnlyTheJobsDevicesByItself) {
  controller_.away = absl::UnavailableError("away");
  Finds("link", FAIL, {6});
  HookRequest request = Request(HOOK_PLAIN);
  job_.mutable_servers(0)->set_device_count(4);
  EXPECT_EQ(Answer(request).decision(), HookAnswer::ALLOW);
  job_.mutable_servers(0)->add_devices(6);
  EXPECT_EQ(Answer(request).decision(), HookAnswer::REFUSE_AND_DRAIN);
  // A port without an address may be meant to be unused.
  facts_.mutable_devices(6)->clear_address();
  EXPECT_EQ(Answer(request).decision(), HookAnswer::ALLOW);
}

TEST_F(HookServiceTest, AsksNobodyAboutNoJobOrOneOfOtherHosts) {
  job_.mutable_servers(0)->set_host("node9");
  const HookAnswer other = Answer(HOOK_PLAIN);
  EXPECT_EQ(other.decision(), HookAnswer::ALLOW);
  EXPECT_THAT(other.let_through(), Contains(HasSubstr("expected node1")));
  EXPECT_EQ(controller_.asked, 0);
  job_.Clear();
  const HookAnswer none = Answer(HOOK_PLAIN);
  EXPECT_EQ(none.basis(), kAlone);
  EXPECT_THAT(none.let_through(), IsEmpty());
  EXPECT_FALSE(judged_with_job_);
}

TEST_F(HookServiceTest, HealthAsksNoControllerAndDrainsABrokenHost) {
  Finds("device-idle", WARN, {0});
  EXPECT_EQ(Answer(HOOK_SLURM_HEALTH).decision(), HookAnswer::ALLOW);
  EXPECT_EQ(controller_.asked, 0);
  EXPECT_FALSE(judged_with_job_);
  Finds("net-health", FAIL, {2});
  EXPECT_EQ(Answer(HOOK_SLURM_HEALTH).decision(), HookAnswer::REFUSE_AND_DRAIN);
  EXPECT_THAT(runner_.commands(), Contains(HasSubstr("State=DRAIN")));
}

TEST_F(HookServiceTest, HealthClearsOurDrainOnceTheRulePasses) {
  IsDrainedFor("link");
  Finds("link", UNKNOWN, {3});
  Answer(HOOK_SLURM_HEALTH);
  EXPECT_THAT(runner_.commands(), Not(Contains(HasSubstr("UNDRAIN"))));
  report_.clear_rules();
  Finds("link", PASS, {});
  Answer(HOOK_SLURM_HEALTH);
  EXPECT_THAT(runner_.commands(), Contains(HasSubstr("UNDRAIN")));
}

TEST_F(HookServiceTest, AsksTheControllerWhetherARuleHoldsThatNeedsTheSpec) {
  IsDrainedFor("device-ip-planned");
  Finds("device-ip-planned", PASS, {});
  VerdictFails("device-ip-planned");
  Answer(HOOK_SLURM_HEALTH);
  EXPECT_EQ(controller_.asked, 1);
  EXPECT_THAT(runner_.commands(), Not(Contains(HasSubstr("UNDRAIN"))));
  controller_.verdict.mutable_hosts(0)->set_state(PASS);
  controller_.verdict.mutable_hosts(0)->clear_reasons();
  controller_.verdict.set_verdict(PASS);
  Answer(HOOK_SLURM_HEALTH);
  EXPECT_THAT(runner_.commands(), Contains(HasSubstr("UNDRAIN")));
}

TEST_F(HookServiceTest, LeavesADrainToAPersonWhichOneHostCannotJudge) {
  IsDrainedFor("ip-unique");
  Answer(HOOK_SLURM_HEALTH);
  EXPECT_EQ(controller_.asked, 0);
  EXPECT_THAT(runner_.commands(), ElementsAre(kShow));
}

TEST_F(HookServiceTest, EpilogGivesTheLastProcessesAMoment) {
  Finds("device-idle", FAIL, {0});
  on_observe_ = [this] {
    if (observations_ == 3) report_.clear_rules();
  };
  EXPECT_EQ(Answer(HOOK_SLURM_EPILOG).decision(), HookAnswer::ALLOW);
  EXPECT_EQ(observations_, 3);
  // Devices that stay busy.
  Finds("device-idle", FAIL, {0});
  on_observe_ = [] {};
  const absl::Time begin = clock_.Now();
  const HookAnswer busy = Answer(HOOK_SLURM_EPILOG);
  EXPECT_EQ(busy.decision(), HookAnswer::REFUSE_AND_DRAIN);
  EXPECT_THAT(busy.reason(), HasSubstr("device-idle"));
  EXPECT_EQ(clock_.Now() - begin, settings_.grace);
  // A job that names no devices is judged with all that are there.
  ASSERT_EQ(judged_job_.servers_size(), 1);
  EXPECT_EQ(judged_job_.servers(0).devices_size(), 8);
}

TEST_F(HookServiceTest, TaskPrologTellsTheVariablesOfTheKeptVerdict) {
  Answer(HOOK_SLURM_PROLOG);
  clock_.Advance(absl::Hours(30));
  const HookAnswer answer = Answer(HOOK_SLURM_TASK_PROLOG);
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  EXPECT_THAT(answer.environment(),
              ElementsAre("HCCL_WHITELIST_DISABLE=1", "HCCL_IF_IP=10.0.0.1",
                          "MASTER_ADDR=10.0.0.1", "NNODES=1", "NODE_RANK=0"));
  EXPECT_EQ(controller_.asked, 1);
  EXPECT_EQ(observations_, 0);
}

TEST_F(HookServiceTest, SixtyFourPrologsAtOnceAskOnce) {
  absl::Notification go_on;
  controller_.hold = &go_on;
  const auto prolog_of = [](int i, absl::Duration wait) {
    HookRequest request = Request(HOOK_SLURM_PROLOG);
    request.set_wait_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(wait)));
    *request.mutable_job() =
        OneServer(absl::StrCat("slurm:9_", i, ".0")).SerializeAsString();
    return request;
  };
  std::vector<std::thread> prologs;
  std::atomic<int> allowed{0};
  std::atomic<int> begun{0};
  for (int i = 0; i < 64; ++i) {
    // None times out while the controller is held: the real clock counts.
    prologs.emplace_back([this, i, prolog_of, &allowed, &begun] {
      const HookRequest request = prolog_of(i, kMaxHookWait);
      ++begun;
      const auto answer = service_.Answer(request, [] { return false; });
      if (answer.ok() && answer->decision() == HookAnswer::ALLOW) ++allowed;
    });
  }
  EXPECT_TRUE(WaitUntil([&] { return begun == 64 && controller_.asked > 0; }));
  // This one comes while the question is open: it waits for the others' answer,
  // times out, and asks nothing itself.
  const auto impatient = service_.Answer(prolog_of(64, absl::Milliseconds(1)),
                                         [] { return false; });
  EXPECT_TRUE(impatient.ok()) << impatient.status();
  EXPECT_THAT(impatient.value_or(HookAnswer()).let_through(),
              Contains(HasSubstr("no answer in")));
  EXPECT_EQ(controller_.asked, 1);
  go_on.Notify();
  for (std::thread& prolog : prologs) prolog.join();
  // A prolog that comes after the answer asks again.
  EXPECT_EQ(allowed, 64);
}

TEST_F(HookServiceTest, RefusesARequestThatIsNoneWithEveryMistake) {
  HookRequest request = Request(static_cast<HookKind>(99));
  request.set_node_name("n[1-9]");
  JobSpec job = OneServer(std::string(9999, 'x'));
  job.mutable_servers(0)->set_host("../etc");
  job.mutable_servers(0)->set_device_count(4'000'000'000);
  *request.mutable_job() = job.SerializeAsString();
  const absl::Status status =
      service_.Answer(request, [] { return false; }).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status, AllOf(HasText("kind 99"), HasText("job id of 9999 bytes"),
                            HasText("4000000000 devices, expected "),
                            HasText("\"../etc\""), HasText("\"n[1-9]\"")));
  // The kind of the hook that asks the controller is not valid here.
  EXPECT_FALSE(
      service_.Answer(Request(HOOK_KIND_UNSPECIFIED), [] { return false; })
          .ok());
  *request.mutable_job() = "\x12\xff";
  EXPECT_EQ(service_.Answer(request, [] { return false; }).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(HookServiceTest, PrologOfSlurmTellsAJobOfMaintenanceWhichOthersRefuse) {
  VerdictFails("maintenance");
  const HookAnswer slurm = Answer(HOOK_SLURM_PROLOG);
  EXPECT_EQ(slurm.decision(), HookAnswer::ALLOW);
  EXPECT_THAT(slurm.let_through(),
              ElementsAre(HasSubstr("fail: clusterd: maintenance: DOWN")));
  EXPECT_EQ(Answer(HOOK_PBS).decision(), HookAnswer::REFUSE);
  EXPECT_THAT(controller_.drains, IsEmpty());
}

TEST_F(HookServiceTest, HostAloneInMaintenanceIsRefusedAlsoWithoutAJob) {
  Finds("maintenance", WARN, {});
  job_.Clear();
  for (const HookKind kind : {HOOK_PBS, HOOK_LSF, HOOK_PLAIN}) {
    const HookAnswer answer = Answer(kind);
    EXPECT_EQ(answer.decision(), HookAnswer::REFUSE);
    EXPECT_EQ(answer.reason(), "clusterd: maintenance: wrong");
  }
  for (const HookKind kind : {HOOK_SLURM_PROLOG, HOOK_SLURM_HEALTH}) {
    EXPECT_EQ(Answer(kind).decision(), HookAnswer::ALLOW);
  }
  EXPECT_THAT(controller_.drains, IsEmpty());
}

TEST_F(HookServiceTest,
       TakesADrainBackOnceItsRuleIsWaivedAndNotForMaintenance) {
  IsDrainedFor("link");
  Finds("link", WARN, {3});
  Waiver* const waiver =
      report_.mutable_rules(0)->mutable_findings(0)->mutable_waiver();
  waiver->set_rule("maintenance");
  Answer(HOOK_SLURM_HEALTH);
  EXPECT_THAT(runner_.commands(), Not(Contains(HasSubstr("UNDRAIN"))));
  waiver->set_rule("link");
  Answer(HOOK_SLURM_HEALTH);
  EXPECT_THAT(runner_.commands(), Contains(HasSubstr("UNDRAIN")));
}

TEST_F(HookServiceTest, SaysThatItDoesNotKnowWhatIsWaived) {
  HookService service(
      {"node1", [this](absl::Duration) { return facts_; },
       [this](const HostFacts&, const JobSpec*) { return report_; },
       [this] { return settings_; }, &controller_, &verdicts_, &drainer_,
       &clock_, &log_, [] { return nullptr; }});
  controller_.away = absl::UnavailableError("away");
  Finds("link", FAIL, {3});
  HookRequest request = Request(HOOK_PBS);
  *request.mutable_job() = job_.SerializeAsString();
  const auto answer = service.Answer(request, [] { return false; }).value();
  EXPECT_THAT(answer.let_through(),
              Contains(HasSubstr("waivers are not known")));
}

}  // namespace
}  // namespace clusterd
