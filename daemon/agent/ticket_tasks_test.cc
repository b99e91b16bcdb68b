
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "daemon/agent/apply/veto.h"
#include "daemon/agent/task_runner.h"
#include "daemon/process/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TicketTasksTest : public testing::Test {
 protected:
  TicketTasks Tasks(const std::set<ChangeKind>& allowed) {
    return TicketTasks({root_.path(), &runner_, &clock_, nullptr,
                        [allowed] { return AllowsOnly(allowed); },
                        audit_->log()});
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  std::unique_ptr<TestAudit> audit_ = std::make_unique<TestAudit>();
};

TEST_F(TicketTasksTest, AuditsWhatIsReadWithWhoAskedAndWhoIsRefused) {
  LogsTask logs;
  logs.set_actor("ada");
  logs.mutable_query()->set_user("ann");
  logs.mutable_query()->set_job_id("4711");
  Tasks({CHANGE_OBSERVE})
      .ReadLogs(logs, absl::Seconds(10))
      .status()
      .IgnoreError();
  RecordTask record;
  record.set_actor("bob");
  Tasks({CHANGE_LOGS})
      .Record("node07", record, absl::Seconds(10))
      .status()
      .IgnoreError();
  Tasks({CHANGE_LOGS}).ReadLogs(logs, absl::Seconds(10)).status().IgnoreError();
  const std::string read = "ada read-logs of user \"ann\", job \"4711\": ";
  std::vector<std::string> lines = audit_->Lines();
  // A refusal is written later, among other lines.
  const auto refused = absl::c_find_if(lines, [](const std::string& line) {
    return absl::StrContains(line, "refused: ");
  });
  ASSERT_NE(refused, lines.end());
  EXPECT_THAT(*refused,
              HasSubstr(read + "refused: PERMISSION_DENIED: this host"));
  lines.erase(refused);
  EXPECT_THAT(lines, testing::ElementsAre("bob record : begins",
                                          HasSubstr("bob record : read: "),
                                          read + "begins", HasSubstr(read)));
}

// Runs a function when its time is first read.
class InterruptedClock final : public Clock {
 public:
  explicit InterruptedClock(FakeClock* clock) : clock_(clock) {}
  void OnceAsked(std::function<void()> run) { run_ = std::move(run); }

  absl::Time Now() override { return clock_->Now(); }
  absl::Duration Monotonic() override {
    if (const auto run = std::exchange(run_, nullptr)) run();
    return clock_->Monotonic();
  }
  void SleepFor(absl::Duration duration) override {
    clock_->SleepFor(duration);
  }

 private:
  FakeClock* const clock_;
  std::function<void()> run_;
};

TEST_F(TicketTasksTest, AuditsWhoIsRefusedWhileAnotherReads) {
  InterruptedClock clock(&clock_);
  TicketTasks tasks({root_.path(), &runner_, &clock, nullptr,
                     [] { return AllowsOnly({CHANGE_LOGS}); }, audit_->log()});
  absl::Status second;
  clock.OnceAsked([&] {
    RecordTask record;
    record.set_actor("bob");
    second = tasks.Record("node07", record, absl::Seconds(10)).status();
  });
  ASSERT_TRUE(tasks.ReadLogs({}, absl::Seconds(10)).ok());
  EXPECT_EQ(second.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(audit_->Lines(), testing::Contains(absl::StrCat(
                                   "bob record : refused: RESOURCE_EXHAUSTED: ",
                                   second.message())));
}

TEST_F(TicketTasksTest, ReadsNothingWhileTheAuditFileCannotBeWritten) {
  audit_ = std::make_unique<TestAudit>(/*writable=*/false);
  EXPECT_THAT(Tasks({CHANGE_LOGS}).Record("node07", {}, absl::Seconds(10)),
              Fails(absl::StatusCode::kUnavailable));
  const auto logs = Tasks({CHANGE_LOGS}).ReadLogs({}, absl::Seconds(10));
  EXPECT_EQ(logs.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(runner_.commands().empty());
}

TEST_F(TicketTasksTest, NamesTheWordThatAgentYamlLacksAndRunsNothing) {
  TicketTasks tasks = Tasks({CHANGE_OBSERVE, CHANGE_SYSCTL});
  const auto logs = tasks.ReadLogs({}, absl::Seconds(10)).value();
  EXPECT_EQ(logs.missing().reason(), Missing::NOT_PERMITTED);
  EXPECT_THAT(logs.missing().detail(),
              AllOf(HasSubstr("does not allow logs"),
                    HasSubstr("[observe, sysctl, logs]")));
  EXPECT_THAT(tasks.Record("node07", {}, absl::Seconds(10)),
              Fails(absl::StatusCode::kPermissionDenied,
                    HasText("does not allow logs")));
  EXPECT_TRUE(runner_.commands().empty());
}

TEST_F(TicketTasksTest, RecordsWhatTheHostTells) {
  TicketTasks tasks = Tasks({CHANGE_OBSERVE, CHANGE_LOGS});
  const auto recording = tasks.Record("node07", {}, absl::Seconds(10)).value();
  EXPECT_EQ(recording.facts().host(), "node07");
  EXPECT_TRUE(recording.complete());
}

TEST_F(TicketTasksTest, RecordsWhatAVendorAsksForBesides) {
  root_.Write("/etc/ascend_install.info", "Driver_Install_Path_Param=/opt/x\n");
  for (const char* program :
       {"/opt/x/driver/tools/hccn_tool", "/opt/x/driver/tools/msnpureport",
        "/usr/local/sbin/npu-smi", "/usr/bin/dmesg"}) {
    root_.WriteProgram(program, "");
  }
  runner_.Answers("npu-smi info", "| npu-smi 24.1.rc1 |\n");
  std::string log = "[1.0] first\n";
  while (log.size() < 200'000) log += "[2.0] hns3 0000:7d:00.0: link up\n";
  log += "[3.0] Out of memory: Killed process 5 (python3) total-vm:1kB\n";
  runner_.Answers("dmesg --kernel", log);
  TicketTasks tasks = Tasks({CHANGE_OBSERVE, CHANGE_LOGS});
  const auto recording = tasks.Record("node07", {}, absl::Seconds(100)).value();
  EXPECT_TRUE(absl::c_any_of(recording.runs(), [](const auto& run) {
    return run.argv_size() == 2 &&
           absl::StrContains(run.standard_output(), "24.1.rc1");
  })) << recording.DebugString();
  EXPECT_THAT(recording.kernel_log(),
              AllOf(HasSubstr("(python3)"), testing::Not(HasSubstr("first"))));
  EXPECT_EQ(recording.kernel_log().size(), 128u << 10);
  EXPECT_EQ(recording.msnpureport(), "/opt/x/driver/tools/msnpureport");
  EXPECT_THAT(recording.gaps(), testing::IsEmpty());
}

TEST_F(TicketTasksTest, SaysWhatOfItCouldNotBeHad) {
  root_.WriteProgram("/usr/bin/dmesg", "");
  runner_.Fails("dmesg --kernel", 1, "dmesg: Operation not permitted\n");
  TicketTasks tasks = Tasks({CHANGE_OBSERVE, CHANGE_LOGS});
  const auto recording = tasks.Record("node07", {}, absl::Seconds(100)).value();
  EXPECT_FALSE(recording.has_kernel_log());
  EXPECT_THAT(recording.gaps(),
              testing::ElementsAre(AllOf(HasSubstr("kernel log: `dmesg`"),
                                         HasSubstr("not permitted"))));
  EXPECT_EQ(recording.msnpureport(), "");
}

HostRecording::Run RunOver(const std::string& before, const std::string& after,
                           const std::string& output) {
  HostRecording::Run run;
  run.add_argv("hccn_tool");
  run.set_hccn_conf_before(before);
  run.set_hccn_conf_after(after);
  run.set_standard_output(output);
  return run;
}

TEST(BoundRecordingTest, KeepsAFileOnceUntilARunChangesIt) {
  HostRecording recording;
  *recording.add_runs() = RunOver("a", "a", "1");
  *recording.add_runs() = RunOver("a", "a", "2");
  *recording.add_runs() = RunOver("a", "b", "3");
  *recording.add_runs() = RunOver("b", "b", "4");
  recording.set_complete(true);
  BoundRecording(1 << 20, &recording);
  EXPECT_EQ(recording.runs(0).hccn_conf_before(), "a");
  EXPECT_FALSE(recording.runs(0).has_hccn_conf_after());
  EXPECT_FALSE(recording.runs(1).has_hccn_conf_before());
  EXPECT_EQ(recording.runs(2).hccn_conf_after(), "b");
  EXPECT_FALSE(recording.runs(3).has_hccn_conf_before());
  EXPECT_TRUE(recording.complete());
}

TEST(BoundRecordingTest, CutsOutputsThatAreTooMuchAndSaysSo) {
  HostRecording recording;
  for (int i = 0; i < 100; ++i) {
    *recording.add_runs() = RunOver("a", "a", std::string(1000, 'x'));
  }
  recording.set_complete(true);
  BoundRecording(20'000, &recording);
  EXPECT_LE(recording.ByteSizeLong(), 20'000u);
  EXPECT_FALSE(recording.complete());
  EXPECT_FALSE(recording.runs(0).output_cut());
  const HostRecording::Run& last = *recording.runs().rbegin();
  EXPECT_TRUE(last.output_cut());
  EXPECT_EQ(last.argv(0), "hccn_tool");
  // The kernel's log counts, too.
  HostRecording logged;
  *logged.add_runs() = RunOver("a", "a", std::string(1000, 'x'));
  logged.set_kernel_log(std::string(19'500, 'k'));
  logged.set_complete(true);
  BoundRecording(20'000, &logged);
  EXPECT_LE(logged.ByteSizeLong(), 20'000u);
  EXPECT_FALSE(logged.complete());
}

// Observes nothing.
class NoObserver final : public HostObserver {
 public:
  HostFacts ObserveFor(const std::string&, const ObserveRequest&,
                       const Asker&) override {
    return {};
  }
};

TEST(TaskRunnerLogsTest, AnswersLogsAndErrorsAndWhatItCannotDo) {
  NoObserver observer;
  ManualScheduler scheduler;
  OtherTasks others;
  others.read_logs = [](const LogsTask& task, absl::Duration deadline) {
    HostLogs logs;
    logs.add_notes(task.query().user() + " " + absl::FormatDuration(deadline));
    return absl::StatusOr<HostLogs>(logs);
  };
  std::vector<TaskResult> results;
  {
    WorkerPool pool(1, 4);
    const auto runner = std::make_shared<TaskRunner>("server0", &observer,
                                                     &pool, &scheduler, others);
    absl::Notification answered;
    const auto done = [&](TaskResult result) {
      results.push_back(std::move(result));
      if (results.size() == 2) answered.Notify();
    };
    Task task;
    task.set_deadline_ms(5000);
    task.mutable_record();
    runner->Run(task, done);
    task.mutable_logs()->mutable_query()->set_user("ann");
    runner->Run(task, done);
    answered.WaitForNotification();
  }
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(results[0].unsupported(), Tells("agent-task-unknown"));
  EXPECT_EQ(results[1].logs().notes(0), "ann 5s");
}

}  // namespace
}  // namespace clusterd
