#include "daemon/agent/apply/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/make_plan.h"
#include "config/words/words.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/agent/apply/journal.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

bool Says(const absl::Status& status, absl::string_view text) {
  return absl::StrContains(status.message(), text);
}

// One container on the scenario's host, with parameters of its own.
class FakeNamespaces final : public NamespaceAccess {
 public:
  static constexpr char kFile[] = "/proc/sys/net/core/somaxconn";

  FakeNamespaces() { Start(4026532000); }

  // The container starts: a new namespace with the kernel's default.
  void Start(uint64_t inode) {
    inode_ = inode;
    lives_ = true;
    ++cookie_;
    status_ = absl::OkStatus();
    value_ = "4096";
  }
  // The kernel counts cookies from the same number again, and containers start
  // in the same order.
  void Reboot() {
    boot_ += "'";
    value_ = "4096";
  }
  // Another namespace with the same inode, after a boot or without one.
  void BeAnother(bool rebooted) {
    if (rebooted) return Reboot();
    Start(4026532000);
  }
  // A kernel before 5.14 has no cookie; older clusterds reported neither.
  void Tells(bool cookie, bool boot) {
    tells_cookie_ = cookie;
    tells_boot_ = boot;
  }
  // The container and its namespace end.
  void Fail(absl::Status status) {
    lives_ = status.ok();
    status_ = std::move(status);
  }
  // The container ends; its namespace lives on, as the host's own or with other
  // processes in it.
  void FailName(absl::Status status) { status_ = std::move(status); }
  void FailSearch(absl::Status status) { search_ = std::move(status); }
  void BeOfTheHost() { of_the_host_ = true; }
  void IgnoreWrites() { ignores_ = true; }
  const std::string& value() const { return value_; }
  void set_value(const std::string& value) { value_ = value; }

  absl::StatusOr<EnteredNamespace> Enter(
      const NetworkNamespace& target) override {
    EXPECT_EQ(target.container(), "train-1");
    if (!status_.ok()) return status_;
    return Entered();
  }

  absl::StatusOr<EnteredNamespace> EnterInode(const NetworkNamespace& target,
                                              uint64_t inode) override {
    EXPECT_EQ(target.container(), "train-1");
    if (!search_.ok()) return search_;
    if (!lives_ || inode != inode_) {
      return absl::NotFoundError("nothing holds it");
    }
    return Entered();
  }

  std::string BootId() override { return tells_boot_ ? boot_ : ""; }

  HostFacts Read() const {
    HostFacts facts;
    facts.set_host(kScenarioHost);
    facts.set_network_namespace("container:train-1");
    KernelFacts* kernel = facts.mutable_kernel();
    uint64_t number = 0;
    EXPECT_TRUE(absl::SimpleAtoi(value_, &number));
    kernel->mutable_somaxconn()->set_value(number);
    kernel->mutable_tcp_max_syn_backlog()->set_value(65535);
    kernel->mutable_reserved_ports()->set_value("60000-60031");
    kernel->mutable_network_namespace()->set_value(inode_);
    kernel->mutable_initial_namespace()->set_value(of_the_host_);
    if (tells_cookie_) {
      kernel->mutable_network_namespace_cookie()->set_value(cookie_);
    }
    if (tells_boot_) {
      facts.mutable_identity()->mutable_boot_id()->set_value(boot_);
    }
    return facts;
  }

 private:
  EnteredNamespace Entered() {
    FakeFileSystem::Special special;
    special.read = [this] { return value_ + "\n"; };
    special.write = [this](uint64_t,
                           absl::string_view bytes) -> absl::StatusOr<size_t> {
      if (!ignores_) value_ = std::string(absl::StripAsciiWhitespace(bytes));
      return bytes.size();
    };
    const auto files = std::make_shared<FakeFileSystem>();
    files->PutSpecial(kFile, special);
    return {[files](const std::string& path, OpenMode mode) {
              return files->Open(path, mode);
            },
            [this] { return Read(); }};
  }

  uint64_t inode_ = 0;
  uint64_t cookie_ = 0;
  std::string boot_ = "b0";
  bool tells_cookie_ = true;
  bool tells_boot_ = true;
  std::string value_;
  absl::Status status_;
  absl::Status search_;
  bool lives_ = true;
  bool of_the_host_ = false;
  bool ignores_ = false;
};

struct ContainerHost {
  std::unique_ptr<Scenario> scenario = OpenUfwScenario();
  FakeNamespaces namespaces;
  ClusterSpec spec;
  bool has_access = true;

  ContainerHost() {
    spec.set_name("demo");
    spec.add_servers()->set_host(kScenarioHost);
    spec.mutable_kernel()->set_somaxconn(65535);
  }
  FakeMachine& machine() { return scenario->machine; }
  std::unique_ptr<Applier> MakeApplier() {
    MachineAccess access = scenario->Access();
    access.namespaces = has_access ? &namespaces : nullptr;
    return std::make_unique<Applier>(
        ScenarioOptions(), access,
        [] {
          return AllowsOnly({CHANGE_OBSERVE, CHANGE_SYSCTL});
        },
        [] { return std::vector<DeviceUser>(); });
  }
  HostPlan Plan() {
    const HostFacts facts = namespaces.Read();
    NetworkNamespace target;
    target.set_container("train-1");
    return MakePlan(spec, {&facts}, target).hosts(0);
  }
  absl::StatusOr<ApplyResult> Apply(const HostPlan& plan) {
    return MakeApplier()->Apply(RequestFor(plan, "a1"));
  }
  absl::StatusOr<ApplyResult> Rollback() {
    return MakeApplier()->Rollback(RollbackOf("a1"));
  }
  ApplyResult RolledBack() {
    const ApplyResult back = Got(Rollback());
    EXPECT_EQ(back.outcome(), ApplyResult::ROLLED_BACK);
    return back;
  }
  ApplyResult Recovered() { return OnlyOne(MakeApplier()->Recover()); }
};

struct AppliedContainer : ContainerHost {
  AppliedContainer() {
    EXPECT_EQ(Got(Apply(Plan())).outcome(), ApplyResult::APPLIED);
  }
};

TEST(PlanNamespaceTest, ChangesTheContainerAndNotTheHost) {
  ContainerHost container;
  const std::string before = container.machine().sysctl()[kSomaxconnKey];
  EXPECT_EQ(Got(container.Apply(container.Plan())).outcome(),
            ApplyResult::APPLIED);
  EXPECT_EQ(container.namespaces.value(), "65535");
  EXPECT_EQ(container.machine().sysctl()[kSomaxconnKey], before);
  EXPECT_TRUE(container.Plan().steps().empty());
  container.RolledBack();
  EXPECT_EQ(container.namespaces.value(), "4096");
}

TEST(PlanNamespaceTest, RefusesAContainerThatWasStartedAnew) {
  ContainerHost container;
  const HostPlan plan = container.Plan();
  container.namespaces.Start(4026532001);
  EXPECT_THAT(container.Apply(plan),
              Fails(absl::StatusCode::kAborted,
                    HasText(Say("plan-say-was-now", "network namespace",
                                "4026532000, cookie 1, boot b0",
                                "4026532001, cookie 2, boot b0"))));
  container.namespaces.Fail(absl::NotFoundError("no such container"));
  const auto gone = container.Apply(plan);
  EXPECT_EQ(gone.status().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(Says(gone.status(), "no such container; plan again"));
  EXPECT_EQ(container.namespaces.value(), "4096");
}

TEST(PlanNamespaceTest, RefusesWhatItCannotEnter) {
  ContainerHost container;
  const HostPlan plan = container.Plan();
  container.namespaces.Fail(absl::UnavailableError("docker does not answer"));
  EXPECT_TRUE(absl::IsUnavailable(container.Apply(plan).status()));
  container.has_access = false;
  EXPECT_TRUE(absl::IsUnimplemented(container.Apply(plan).status()));
}

TEST(PlanNamespaceTest, UndoesAStepThatDidNotTake) {
  ContainerHost container;
  const HostPlan plan = container.Plan();
  container.namespaces.IgnoreWrites();
  EXPECT_EQ(Got(container.Apply(plan)).outcome(), ApplyResult::UNDONE);
}

TEST(PlanNamespaceTest, LeavesNothingInANamespaceThatIsGone) {
  for (const bool started_anew : {false, true}) {
    AppliedContainer container;
    if (started_anew) {
      container.namespaces.Start(4026532001);
      container.namespaces.set_value("777");
    } else {
      container.namespaces.Fail(absl::NotFoundError("no such container"));
    }
    const ApplyResult back = container.RolledBack();
    EXPECT_TRUE(back.residues().empty());
    EXPECT_THAT(back.steps(0).detail(),
                testing::StartsWith(Say("plan-say-namespace-gone", "")));
    // The new container's values are its own.
    if (started_anew) {
      EXPECT_EQ(container.namespaces.value(), "777");
    }
  }
}

TEST(PlanNamespaceTest, KnowsAnotherNamespaceThatGotTheSameInode) {
  for (const bool rebooted : {false, true}) {
    ContainerHost container;
    const HostPlan plan = container.Plan();
    container.namespaces.BeAnother(rebooted);
    EXPECT_TRUE(absl::IsAborted(container.Apply(plan).status()));
    EXPECT_EQ(container.namespaces.value(), "4096");
    ASSERT_EQ(container.Apply(container.Plan())->outcome(),
              ApplyResult::APPLIED);
    container.namespaces.BeAnother(rebooted);
    container.namespaces.set_value("65535");
    EXPECT_THAT(container.RolledBack().steps(0).detail(),
                testing::StartsWith(Say("plan-say-namespace-gone", "")));
    EXPECT_EQ(container.namespaces.value(), "65535");
  }
}

TEST(PlanNamespaceTest, ComparesWhatAnOlderJournalHas) {
  for (const bool knew_boot : {false, true}) {
    for (const bool anew : {false, true}) {
      ContainerHost container;
      container.namespaces.Tells(/*cookie=*/false, knew_boot);
      ASSERT_EQ(container.Apply(container.Plan())->outcome(),
                ApplyResult::APPLIED);
      container.namespaces.Tells(/*cookie=*/true, /*boot=*/true);
      if (anew) container.namespaces.Start(4026532001);
      EXPECT_EQ(container.RolledBack().steps(0).detail().empty(), !anew);
      EXPECT_EQ(container.namespaces.value(), "4096");
    }
  }
}

TEST(PlanNamespaceTest, TellsRebootsApartWithoutACookie) {
  ContainerHost container;
  container.namespaces.Tells(/*cookie=*/false, /*boot=*/true);
  ASSERT_EQ(container.Apply(container.Plan())->outcome(), ApplyResult::APPLIED);
  container.namespaces.Reboot();
  container.namespaces.set_value("65535");
  EXPECT_EQ(container.Rollback()->outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(container.namespaces.value(), "65535");
}

TEST(PlanNamespaceTest, CanBeAskedAgainWhenTheEngineDidNotAnswer) {
  AppliedContainer container;
  container.namespaces.Fail(absl::UnavailableError("docker does not answer"));
  EXPECT_TRUE(absl::IsUnavailable(container.Rollback().status()));
  container.namespaces.Fail(absl::OkStatus());
  EXPECT_EQ(container.Rollback()->outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(container.namespaces.value(), "4096");
}

// A journal as a killed apply leaves it: begun, and the step not done.
void PutInterruptedJournal(ContainerHost* container) {
  FileSystem* files = &container->machine().files();
  ASSERT_TRUE(files->MakeDirectory(kScenarioStateFolder, 0700).ok());
  const auto journal =
      Journal::Create(files, absl::StrCat(kScenarioStateFolder, "/a1.journal"))
          .value();
  JournalEntry begin;
  begin.mutable_begin()->set_apply_id("a1");
  *begin.mutable_begin()->mutable_plan() = container->Plan();
  ASSERT_TRUE(journal->Append(begin).ok());
  JournalEntry intent;
  intent.mutable_intent()->set_step(1);
  SavedSysctl* saved = intent.mutable_intent()->add_saved()->mutable_sysctl();
  saved->set_key(kSomaxconnKey);
  saved->set_value("4096");
  ASSERT_TRUE(journal->Append(intent).ok());
}

TEST(PlanNamespaceTest, RecoveryWritesInNoOtherNamespaceWithTheSameInode) {
  for (const bool rebooted : {false, true}) {
    ContainerHost container;
    PutInterruptedJournal(&container);
    container.namespaces.BeAnother(rebooted);
    container.namespaces.set_value("65535");
    EXPECT_EQ(container.Recovered().outcome(), ApplyResult::UNDONE);
    EXPECT_EQ(container.namespaces.value(), "65535");
  }
}

TEST(PlanNamespaceTest, FollowsTheNamespaceWhenItsNameLeadsThereNoMore) {
  for (const absl::Status& named :
       {absl::NotFoundError("does not run"),
        absl::UnavailableError("docker does not answer")}) {
    AppliedContainer container;
    container.namespaces.FailName(named);
    EXPECT_EQ(container.RolledBack().steps(0).detail(), "");
    EXPECT_EQ(container.namespaces.value(), "4096");
    ContainerHost interrupted;
    PutInterruptedJournal(&interrupted);
    interrupted.namespaces.set_value("65535");
    interrupted.namespaces.FailName(named);
    EXPECT_EQ(interrupted.Recovered().outcome(), ApplyResult::UNDONE);
    EXPECT_EQ(interrupted.namespaces.value(), "4096");
  }
}

TEST(PlanNamespaceTest, IsNotCleanWhileItsEndIsUnknown) {
  const absl::Status unseen = absl::UnavailableError("/proc/7/ns/net: no");
  AppliedContainer container;
  container.namespaces.FailName(absl::NotFoundError("does not run"));
  container.namespaces.FailSearch(unseen);
  const absl::Status refused = container.Rollback().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Says(refused, "does not run; /proc/7/ns/net: no")) << refused;
  container.namespaces.FailSearch(absl::OkStatus());
  EXPECT_EQ(container.Rollback()->outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(container.namespaces.value(), "4096");
  ContainerHost interrupted;
  PutInterruptedJournal(&interrupted);
  interrupted.namespaces.FailName(absl::NotFoundError("does not run"));
  interrupted.namespaces.FailSearch(unseen);
  const ApplyResult recovered = interrupted.Recovered();
  EXPECT_EQ(recovered.outcome(), ApplyResult::UNDONE_WITH_RESIDUES);
  ASSERT_EQ(recovered.residues_size(), 1);
  EXPECT_TRUE(absl::StrContains(recovered.residues(0), "/proc/7/ns/net: no"));
}

TEST(PlanNamespaceTest, IsGoneForSureAfterAReboot) {
  for (const absl::Status& named :
       {absl::NotFoundError("does not run"),
        absl::UnavailableError("docker does not answer yet")}) {
    AppliedContainer container;
    container.namespaces.Reboot();
    container.namespaces.FailName(named);
    container.namespaces.FailSearch(absl::UnavailableError("no processes"));
    EXPECT_THAT(container.RolledBack().steps(0).detail(),
                testing::EndsWith(Say("msg-step-rebooted-since", "")));
  }
}

TEST(PlanNamespaceTest, IsGoneWhenItsNumberIsAnothersNow) {
  AppliedContainer container;
  container.namespaces.Start(4026532000);
  container.namespaces.set_value("65535");
  container.namespaces.FailName(absl::NotFoundError("does not run"));
  EXPECT_THAT(
      container.RolledBack().steps(0).detail(),
      testing::EndsWith(Say("msg-step-number-of-another", "", "4026532000")));
  EXPECT_EQ(container.namespaces.value(), "65535");
}

TEST(PlanNamespaceTest, DoesNotGuessWithoutACookieWhoseNumberItIs) {
  const struct {
    bool of_the_host;
    bool knew_boot;
    const char* value;
    bool surely;
    bool knew_cookie = false;
    bool tells_cookie = false;
  } cases[] = {
      // The host's own namespace is never another.
      {true, true, "777", true},
      // The value is as applied, which a new namespace would not have.
      {false, true, "65535", true},
      {false, true, "777", false},
      // Only one side has a cookie, so there is nothing to compare.
      {false, true, "777", false, true, false},
      {false, true, "777", false, false, true},
      {false, true, "777", true, true, true},
      // An older journal, maybe of another boot.
      {true, false, "65535", false},
  };
  for (const auto& [of_the_host, knew_boot, value, surely, knew_cookie,
                    tells_cookie] : cases) {
    SCOPED_TRACE(
        absl::StrCat(of_the_host, knew_boot, value, knew_cookie, tells_cookie));
    ContainerHost container;
    if (of_the_host) container.namespaces.BeOfTheHost();
    container.namespaces.Tells(knew_cookie, knew_boot);
    PutInterruptedJournal(&container);
    container.namespaces.Tells(tells_cookie, /*boot=*/true);
    container.namespaces.set_value(value);
    container.namespaces.FailName(absl::NotFoundError("does not run"));
    EXPECT_EQ(container.Recovered().outcome(),
              surely ? ApplyResult::UNDONE : ApplyResult::UNDONE_WITH_RESIDUES);
    EXPECT_EQ(container.namespaces.value(), surely ? "4096" : value);
  }
}

TEST(PlanNamespaceTest, IsNeverKeptFromRecovering) {
  const struct {
    absl::Status entered;
    ApplyResult::Outcome outcome;
  } cases[] = {
      {absl::OkStatus(), ApplyResult::UNDONE},
      {absl::NotFoundError("no such container"), ApplyResult::UNDONE},
      {absl::UnavailableError("docker does not answer"),
       ApplyResult::UNDONE_WITH_RESIDUES},
  };
  for (const auto& [entered, outcome] : cases) {
    ContainerHost container;
    PutInterruptedJournal(&container);
    container.namespaces.set_value("65535");
    container.namespaces.Fail(entered);
    EXPECT_EQ(container.Recovered().outcome(), outcome);
    if (entered.ok()) {
      EXPECT_EQ(container.namespaces.value(), "4096");
    }
    EXPECT_TRUE(container.MakeApplier()->Recover()->empty());
  }
}

TEST(FindMachinePathsTest, FindsProgramsBelowTheRoot) {
  ScratchRoot root;
  root.Write("/etc/ascend_install.info",
             "Driver_Install_Path_Param=/opt/Ascend\n");
  root.WriteProgram("/opt/Ascend/driver/tools/hccn_tool", "");
  root.WriteProgram("/sbin/ufw", "");
  root.WriteProgram("/usr/bin/systemctl", "");
  const MachinePaths paths = FindMachinePaths(root.paths());
  EXPECT_EQ(paths.hccn_tool,
            root.path() + "/opt/Ascend/driver/tools/hccn_tool");
  EXPECT_EQ(paths.firewalls.ufw, root.path() + "/sbin/ufw");
  EXPECT_EQ(paths.firewalls.systemctl, root.path() + "/usr/bin/systemctl");
}

TEST(FindMachinePathsTest, NeverLeadsOutsideOrToWhatAnybodyCouldHaveChanged) {
  ScratchRoot root;
  const MachinePaths paths = FindMachinePaths(root.paths());
  EXPECT_EQ(paths.hccn_tool,
            root.path() + "/usr/local/Ascend/driver/tools/hccn_tool");
  EXPECT_EQ(paths.firewalls.ufw, root.path() + "/usr/sbin/ufw");
  EXPECT_EQ(paths.firewalls.firewall_cmd,
            root.path() + "/usr/bin/firewall-cmd");
  EXPECT_EQ(paths.firewalls.systemctl, root.path() + "/usr/bin/systemctl");
  root.WriteProgram("/usr/sbin/ufw", "");
  root.SetMode("/usr/sbin/ufw", 0777);
  EXPECT_EQ(FindMachinePaths(root.paths()).firewalls.ufw, "");
}

}  // namespace
}  // namespace clusterd
