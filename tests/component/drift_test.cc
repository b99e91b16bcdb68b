// Drift from end to end: clusterd as a service, on a machine in memory, and the
// real controller. The machine changes while its clusterd is stopped.
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "config/plan/kernel_parameters.h"
#include "config/spec/spec_loader.h"
#include "config/words/words.h"
#include "daemon/agent/run_daemon.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/signals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_daemon.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Created before any thread of the process, gRPC's included.
BlockedSignals process_signals;

// Observes the machine of a scenario in rounds; the time of a round is its
// number.
class MachineObserver final : public HostObserver {
 public:
  explicit MachineObserver(Scenario* scenario) : scenario_(scenario) {}

  HostFacts ObserveFor(const std::string& host, const ObserveRequest&,
                       const Asker&) override {
    absl::MutexLock lock(&mutex_);
    HostFacts facts = scenario_->machine.ReadHost();
    facts.set_host(host);
    facts.set_observed_at_ms(++rounds_);
    return facts;
  }
  int64_t rounds() {
    absl::MutexLock lock(&mutex_);
    return rounds_;
  }

 private:
  absl::Mutex mutex_;
  Scenario* const scenario_ ABSL_PT_GUARDED_BY(mutex_);
  int64_t rounds_ ABSL_GUARDED_BY(mutex_) = 0;
};

// clusterd with drift reports, in a thread, until it is destroyed.
class Daemon {
 public:
  Daemon(const AgentFlags& flags, Scenario* scenario, HostObserver* observer) {
    DaemonParts parts = PartsFor(scenario, observer, &process_signals, &log_);
    parts.read_host = [observer] { return observer->Observe("", {}); };
    thread_ = std::thread(
        [this, flags, parts] { status_ = RunDaemon(flags, "", parts); });
  }
  ~Daemon() {
    kill(getpid(), SIGTERM);
    thread_.join();
    EXPECT_TRUE(status_.ok()) << status_;
  }

 private:
  CapturedLog log_;
  absl::Status status_;
  std::thread thread_;  // Last: uses everything above.
};

class DriftTest : public testing::Test {
 protected:
  DriftTest() : controller_(&certificates_, 1, &scheduler_) {
    spec_ = MakeSpec("atlas-training", "", 1);
    spec_.mutable_servers(0)->set_host(kScenarioHost);
    AddDevices();
    WriteSpec();
    controller_.Start();
    flags_ = FlagsFor(&certificates_, kScenarioHost, controller_.address());
    flags_.config = certificates_.folder() + "/agent.yaml";
    flags_.drift_interval = absl::ZeroDuration();
    std::ofstream(flags_.config) << "allow: [observe, sysctl]\n";
  }
  ~DriftTest() override { daemon_.reset(); }

  // Adds devices that the spec already describes.
  void AddDevices() {
    for (const DeviceSpec& device : spec_.servers(0).devices()) {
      FakeMachine::Device made;
      made.address = device.address();
      made.netmask = device.netmask();
      made.gateway = device.gateway();
      made.detect =
          device.detect_address().empty() ? "0.0.0.0" : device.detect_address();
      made.tls = spec_.tls();
      scenario_.machine.AddDevice(device.id(), made);
    }
  }
  void WriteSpec() {
    std::ofstream(controller_.spec_path()) << SpecToYaml(spec_);
    ASSERT_TRUE(controller_.spec().Reload().ok())
        << controller_.spec().Reload();
  }
  void Start() {
    since_ = observer_.rounds();
    daemon_ = std::make_unique<Daemon>(flags_, &scenario_, &observer_);
  }
  // From now on only the test changes the machine.
  void Stop() { daemon_.reset(); }

  // Waits until `wanted` is true of the host's entry.
  template <typename Wanted>
  HostEntry WaitForEntry(const Wanted& wanted) {
    HostEntry entry;
    EXPECT_TRUE(WaitUntil([&] {
      entry = controller_.Entry(kScenarioHost);
      return wanted(entry);
    })) << entry.ShortDebugString();
    return entry;
  }
  // Waits until the host has reported this many drifts since its start or last
  // change: then no check of its own is under way.
  HostEntry WaitForDrifts(int count) {
    return WaitForEntry([this, count](const HostEntry& entry) {
      return entry.attached() && entry.drift().has_value() &&
             entry.drift().value().drifts_size() == count &&
             entry.drift_observed_at_ms() > since_;
    });
  }

  std::unique_ptr<Controller::Stub> Operator() {
    return controller_.ClientAs(certificates_.Issue(
        "alice", {"spiffe://test/user/alice/role/operator"}));
  }
  // Plans and applies; returns the apply's id.
  std::string Apply() {
    since_ = observer_.rounds();
    const auto client = Operator();
    const ApplyReport report =
        ApplyOver(*client, PlanOver(*client).value()).value();
    EXPECT_EQ(report.outcome(), ApplyReport::SUCCEEDED)
        << report.ShortDebugString();
    return report.apply_id();
  }
  // The number of applies that the controller has begun itself.
  int EnforcedApplies() {
    ListHistoryRequest request;
    request.add_kinds(HISTORY_APPLY);
    ListHistoryResponse response;
    EXPECT_TRUE(
        Operator()->ListHistory(NewContext().get(), request, &response).ok());
    int count = 0;
    for (const HistoryEntry& entry : response.entries()) {
      if (entry.actor() == "spiffe://test/controller") ++count;
    }
    return count;
  }
  std::string& somaxconn() { return scenario_.machine.sysctl()[kSomaxconnKey]; }

  ManualScheduler scheduler_;
  TestCertificates certificates_;
  TestController controller_;
  ClusterSpec spec_;
  Scenario scenario_;
  MachineObserver observer_{&scenario_};
  AgentFlags flags_;
  int64_t since_ = 0;
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(DriftTest, IsShownWithBothValuesAndLeftAlone) {
  Start();
  WaitForDrifts(0);
  const std::string apply = Apply();
  WaitForDrifts(0);
  Stop();
  ASSERT_EQ(somaxconn(), "65535");
  somaxconn() = "128";
  Start();
  const HostEntry entry = WaitForDrifts(1);
  const AppliedDrift& drift = entry.drift().value().drifts(0);
  EXPECT_EQ(drift.why(),
            Say("plan-say-drifted", "net.core.somaxconn", 128, 65535));
  EXPECT_EQ(drift.apply_id(), apply);
  EXPECT_EQ(drift.applied_by(), "spiffe://test/user/alice/role/operator");

  Report report;
  ASSERT_TRUE(controller_.Check({}, &report).ok());
  const RuleResult result = RuleOf(report, "drift");
  EXPECT_EQ(result.state(), WARN);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).observed(), drift.why());
  EXPECT_THAT(result.findings(0).expected(), HasSubstr(apply));
  EXPECT_THAT(result.findings(0).fix(),
              HasSubstr(absl::StrCat("clusterctl rollback ", apply)));
  EXPECT_EQ(RuleOf(report, "listen-backlog").state(), FAIL);
  Stop();
  EXPECT_EQ(somaxconn(), "128");
  EXPECT_EQ(EnforcedApplies(), 0);
}

TEST_F(DriftTest, IsPutBackWhereTheSpecSaysSoAndNotInAStorm) {
  spec_.add_enforce("sysctl");
  WriteSpec();
  Start();
  WaitForDrifts(0);
  Apply();
  WaitForDrifts(0);
  Stop();
  somaxconn() = "128";
  Start();
  ASSERT_TRUE(controller_.log().WaitFor("put back\n"));
  WaitForDrifts(0);
  EXPECT_EQ(EnforcedApplies(), 1);
  Stop();
  EXPECT_EQ(somaxconn(), "65535");

  // Changed again at once: the drift is shown, and left for ten minutes.
  somaxconn() = "256";
  Start();
  WaitForDrifts(1);
  ASSERT_TRUE(controller_.log().WaitFor("the next try is not before"));
  Stop();
  EXPECT_EQ(somaxconn(), "256");
  EXPECT_EQ(EnforcedApplies(), 1);
  // Most of that time passes while no message is sent to the host: otherwise
  // the controller would disconnect it for not reading.
  constexpr absl::Duration kLeft = absl::Seconds(20);
  static_assert(kLeft < kWriteStall);
  scheduler_.Advance(absl::Minutes(10) - kLeft);
  Start();
  WaitForDrifts(1);
  EXPECT_EQ(EnforcedApplies(), 1);
  scheduler_.Advance(kLeft);
  WaitForDrifts(0);
  EXPECT_EQ(EnforcedApplies(), 2);
  Stop();
  EXPECT_EQ(somaxconn(), "65535");
}

TEST_F(DriftTest, IsLeftAloneWhereTheHostDoesNotAllowTheKind) {
  spec_.add_enforce("sysctl");
  WriteSpec();
  Start();
  WaitForDrifts(0);
  Apply();
  WaitForDrifts(0);
  Stop();
  somaxconn() = "128";
  std::ofstream(flags_.config) << "allow: [observe]\n";
  Start();
  ASSERT_TRUE(controller_.log().WaitFor("does not allow sysctl"));
  WaitForDrifts(1);
  // A change that the host would refuse is not tried.
  EXPECT_EQ(EnforcedApplies(), 0);
  Stop();
  EXPECT_EQ(somaxconn(), "128");
}

}  // namespace
}  // namespace clusterd
