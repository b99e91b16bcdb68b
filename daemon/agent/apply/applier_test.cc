#include "daemon/agent/apply/applier.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/applied_drift.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/make_plan.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using Fault = FakeMachine::Fault;

// An applier whose veto and device users a test sets.
struct Host {
  std::unique_ptr<Scenario> scenario = OpenUfwScenario();
  HostAllows veto = AllowsAll();
  absl::StatusOr<std::vector<DeviceUser>> users = std::vector<DeviceUser>();
  KeptJournals kept;

  std::unique_ptr<Applier> MakeApplier() {
    ApplierOptions options = ScenarioOptions();
    options.kept = kept;
    return std::make_unique<Applier>(
        options, scenario->Access(), [this] { return veto; },
        [this] { return users; });
  }
  absl::StatusOr<ApplyResult> Apply(const std::string& id = "a1") {
    return MakeApplier()->Apply(RequestFor(scenario->Plan(), id));
  }
  absl::StatusOr<ApplyResult> Rollback(bool force = false) {
    return MakeApplier()->Rollback(RollbackOf("a1", force));
  }
  FakeMachine& machine() { return scenario->machine; }
};

bool Says(const absl::Status& status, absl::string_view text) {
  return absl::StrContains(status.message(), text);
}

TEST(ApplierTest, BringsEveryScenarioToItsSpecAndASecondPlanIsEmpty) {
  for (const NamedScenario& named : AllScenarios()) {
    auto scenario = named.make();
    std::vector<StepOutcome> progress;
    ApplyRequest request = RequestFor(scenario->Plan(), "a1");
    request.progress = [&](const StepOutcome& outcome) {
      progress.push_back(outcome);
    };
    const ApplyResult result = Got(scenario->MakeApplier()->Apply(request));
    EXPECT_EQ(result.outcome(), ApplyResult::APPLIED) << result.error();
    EXPECT_EQ(progress.size(), static_cast<size_t>(request.plan.steps_size()));
    EXPECT_FALSE(result.facts_after().empty());
    const HostPlan second = scenario->Plan();
    EXPECT_TRUE(second.steps().empty()) << second.ShortDebugString();
    const auto nothing =
        scenario->MakeApplier()->Apply(RequestFor(second, "a2"));
    EXPECT_EQ(nothing->outcome(), ApplyResult::NOTHING_TO_DO);
  }
}

TEST(ApplierTest, RollsEveryScenarioBackByteForByte) {
  for (const NamedScenario& named : AllScenarios()) {
    auto scenario = named.make();
    const auto before = scenario->State();
    ASSERT_TRUE(scenario->Apply().ok());
    EXPECT_NE(scenario->State(), before);
    EXPECT_EQ(Got(scenario->Rollback()).outcome(), ApplyResult::ROLLED_BACK);
    EXPECT_EQ(scenario->State(), before) << named.name;
  }
}

TEST(ApplierTest, UndoesAllWheneverADeviceMisbehavesAtAnyStep) {
  for (const Fault fault :
       {Fault::kDeviceRefuses, Fault::kActsAndFails,
        Fault::kSuccessChangesNothing, Fault::kSuccessLosesKey, Fault::kHangs,
        Fault::kHangsHalfWay}) {
    for (const uint32_t device : {0u, 1u, 2u}) {
      Host host;
      const auto before = host.scenario->State();
      host.machine().device(device).fault = fault;
      host.machine().device(device).faults_left = 1;
      const ApplyResult result = Got(host.Apply());
      EXPECT_EQ(result.outcome(), ApplyResult::UNDONE)
          << static_cast<int>(fault) << " on " << device << ": "
          << result.ShortDebugString();
      EXPECT_TRUE(absl::StartsWith(result.error(), "step "));
      EXPECT_EQ(host.scenario->State(), before)
          << static_cast<int>(fault) << " on " << device;
    }
  }
}

TEST(ApplierTest, SaysOfEachStepWhatBecameOfIt) {
  Host host;
  host.machine().firewall(UFW).ignores_commands = true;
  const auto result = host.Apply().value();
  const HostPlan plan = host.scenario->Plan();
  ASSERT_EQ(result.steps_size(), plan.steps_size());
  // The firewall's rules come last, and the first of them does not take.
  StepOutcome::State expected = StepOutcome::UNDONE;
  for (int i = 0; i < plan.steps_size(); ++i) {
    const bool has_rule = plan.steps(i).target().has_rule();
    if (has_rule) {
      expected = expected == StepOutcome::UNDONE ? StepOutcome::FAILED
                                                 : StepOutcome::NOT_RUN;
    }
    // A gateway that an address step may drop is put back; here it stayed.
    const bool stayed = plan.steps(i).from() == plan.steps(i).to();
    EXPECT_EQ(result.steps(i).state(),
              stayed ? StepOutcome::ALREADY_SO : expected)
        << plan.steps(i).ShortDebugString();
    EXPECT_EQ(absl::StrContains(result.steps(i).detail(), "does not allow"),
              expected == StepOutcome::FAILED);
  }
  EXPECT_EQ(expected, StepOutcome::NOT_RUN);
}

TEST(ApplierTest, ReportsWhatHasNoWayBackAndRestoresTheRest) {
  Host host;
  host.machine().device(1).address.clear();
  host.machine().device(1).netmask.clear();
  host.machine().device(1).gateway.clear();
  const auto before = host.scenario->State();
  ASSERT_EQ(host.Apply()->outcome(), ApplyResult::APPLIED);
  const ApplyResult result = Got(host.Rollback());
  EXPECT_EQ(result.outcome(), ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  ASSERT_EQ(result.residues_size(), 2);
  EXPECT_TRUE(absl::StrContains(
      result.residues(0),
      Say("plan-say-is-was-none", "device 1: address", "10.20.0.2/24")))
      << result.residues(0);
  auto expected = before;
  auto now = host.scenario->State();
  expected.erase("device 1");
  now.erase("device 1");
  EXPECT_EQ(now, expected);
}

TEST(ApplierTest, RefusesWhatTheHostDoesNotAllowBeforeAnything) {
  Host applied;
  ASSERT_TRUE(applied.Apply().ok());
  applied.veto = AllowsOnly({CHANGE_OBSERVE});
  EXPECT_TRUE(absl::IsPermissionDenied(applied.Rollback().status()));
  Host host;
  host.veto = AllowsOnly({CHANGE_OBSERVE, CHANGE_SYSCTL});
  const auto before = host.machine().State("");
  EXPECT_THAT(host.Apply(), Fails(absl::StatusCode::kPermissionDenied,
                                  HasText("device-address")));
  EXPECT_EQ(host.machine().State(""), before);
}

TEST(ApplierTest, RefusesWhenFactsMovedAndSaysWhich) {
  Host host;
  const HostPlan plan = host.scenario->Plan();
  host.machine().sysctl()[kSomaxconnKey] = "1024";
  const auto before = host.scenario->State();
  EXPECT_THAT(
      host.MakeApplier()->Apply(RequestFor(plan, "a1")),
      Fails(absl::StatusCode::kAborted,
            HasText(Say("plan-say-was-now", kSomaxconnKey, "4096", "1024"))));
  EXPECT_EQ(host.scenario->State(), before);
}

// Nothing is written, so a job on the devices does not block it.
TEST(ApplierTest, SaysThatAFinishedPlanRunAgainIsAlreadySo) {
  for (const NamedScenario& named : AllScenarios()) {
    Host host;
    host.scenario = named.make();
    const HostPlan plan = host.scenario->Plan();
    ASSERT_EQ(host.MakeApplier()->Apply(RequestFor(plan, "a1"))->outcome(),
              ApplyResult::APPLIED);
    const auto applied = host.machine().State("");
    host.users = std::vector<DeviceUser>{{1, 4711, "python3"}};
    const auto again =
        host.MakeApplier()->Apply(RequestFor(plan, "a2")).value();
    EXPECT_EQ(again.outcome(), ApplyResult::NOTHING_TO_DO);
    ASSERT_EQ(again.steps_size(), plan.steps_size());
    for (const StepOutcome& step : again.steps()) {
      EXPECT_EQ(step.state(), StepOutcome::ALREADY_SO) << step.step();
    }
    EXPECT_EQ(host.machine().State(""), applied) << named.name;
    // One that stands is never called nothing to do.
    EXPECT_TRUE(Says(host.MakeApplier()->Apply(RequestFor(plan, "a1")).status(),
                     Say("msg-step-id-used", "a1")));
  }
}

TEST(ApplierTest, RefusesAHostThatIsAlreadySoInPartOnly) {
  Host host;
  const HostPlan plan = host.scenario->Plan();
  ASSERT_EQ(host.Apply()->outcome(), ApplyResult::APPLIED);
  host.machine().sysctl()[kSomaxconnKey] = "1024";
  const auto before = host.machine().State("");
  const auto result = host.MakeApplier()->Apply(RequestFor(plan, "a2"));
  EXPECT_TRUE(absl::IsAborted(result.status())) << result.status();
  EXPECT_EQ(host.machine().State(""), before);
}

TEST(ApplierTest, RefusesADeviceInUseUnlessForcedAndKeepsThatOnRecord) {
  Host host;
  host.users = std::vector<DeviceUser>{{1, 4711, "python3"}};
  EXPECT_THAT(host.Apply(),
              Fails(absl::StatusCode::kFailedPrecondition,
                    HasText(Say("plan-say-in-use", 1, 4711, "python3"))));
  ApplyRequest request = RequestFor(host.scenario->Plan(), "a2");
  request.force = true;
  EXPECT_EQ(Got(host.MakeApplier()->Apply(request)).forced_size(), 1);
  const auto states = host.MakeApplier()->ListApplies();
  ASSERT_EQ(states->size(), 1u);
  EXPECT_EQ((*states)[0].begin.forced_size(), 1);
  EXPECT_EQ((*states)[0].begin.actor(), "spiffe://demo/user/ada");
  host.users = absl::UnavailableError("no /dev");
  host.machine().sysctl()[kSomaxconnKey] = "128";
  EXPECT_EQ(host.Apply("a3")->outcome(), ApplyResult::APPLIED)
      << "it asks about devices that the plan leaves alone";
  Host unknown;
  unknown.users = absl::UnavailableError("no /dev");
  EXPECT_TRUE(Says(unknown.Apply().status(), "is not known: no /dev"));
}

TEST(ApplierTest, LetsOneApplyRunAtATime) {
  Host host;
  std::unique_ptr<Applier> other = host.MakeApplier();
  ApplyRequest request = RequestFor(host.scenario->Plan(), "a1");
  absl::Status second;
  absl::Status rollback;
  request.progress = [&](const StepOutcome&) {
    second = other->Apply(RequestFor(request.plan, "a2")).status();
    rollback = other->Rollback(RollbackRequest{"a1", "", true}).status();
  };
  EXPECT_EQ(host.MakeApplier()->Apply(request)->outcome(),
            ApplyResult::APPLIED);
  EXPECT_TRUE(absl::IsUnavailable(second)) << second;
  EXPECT_TRUE(absl::IsUnavailable(rollback)) << rollback;
}

TEST(ApplierTest, RefusesPlansAndIdsThatAreNotOnes) {
  Host host;
  ApplyRequest bad_id = RequestFor(host.scenario->Plan(), "../../etc/x");
  EXPECT_TRUE(
      absl::IsInvalidArgument(host.MakeApplier()->Apply(bad_id).status()));
  ApplyRequest other_host = RequestFor(host.scenario->Plan(), "a1");
  other_host.plan.set_host("node-99");
  EXPECT_TRUE(
      absl::IsInvalidArgument(host.MakeApplier()->Apply(other_host).status()));
  ApplyRequest bad_step = RequestFor(host.scenario->Plan(), "a1");
  bad_step.plan.mutable_steps(0)->set_kind(CHANGE_OBSERVE);
  EXPECT_TRUE(
      absl::IsInvalidArgument(host.MakeApplier()->Apply(bad_step).status()));
  // Its journal could not be read back.
  ApplyRequest newer = RequestFor(host.scenario->Plan(), "a1");
  newer.plan.GetReflection()
      ->MutableUnknownFields(&newer.plan)
      ->AddVarint(4711, 1);
  EXPECT_TRUE(Says(host.MakeApplier()->Apply(newer).status(),
                   Say("msg-step-plan-newer", "begin.plan: field 4711")));
  ASSERT_TRUE(host.Apply("a1").ok());
  ASSERT_TRUE(host.Rollback().ok());
  EXPECT_TRUE(Says(host.Apply("a1").status(), "was used before"));
}

TEST(ApplierTest, ChangesNothingWhenTheJournalCannotBeWritten) {
  for (const absl::Status& fault :
       {absl::ResourceExhaustedError("No space left on device"),
        absl::FailedPreconditionError("Read-only file system")}) {
    Host host;
    (void)host.MakeApplier()->Recover();
    const auto before = host.scenario->State();
    host.machine().files().FailChanges(kScenarioStateFolder, fault);
    EXPECT_FALSE(host.Apply().ok());
    EXPECT_EQ(host.scenario->State(), before);
  }
}

TEST(ApplierTest, UndoesWhenTheDiskFillsUpOnTheWay) {
  for (uint64_t bytes = 200; bytes < 40000; bytes += 700) {
    Host host;
    (void)host.MakeApplier()->Recover();
    const auto before = host.scenario->State();
    host.machine().files().SetFreeBytes(bytes);
    const auto result = host.Apply();
    host.machine().files().SetFreeBytes(std::nullopt);
    const auto recovered = host.MakeApplier()->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    if (result.ok() && result->outcome() == ApplyResult::APPLIED) return;
    EXPECT_EQ(host.scenario->State(), before) << bytes << " bytes";
  }
  FAIL() << "it never had enough room";
}

TEST(ApplierTest, UndoesWhenSysctlDIsReadOnly) {
  Host host;
  const auto before = host.scenario->State();
  host.machine().files().FailChanges(
      "/etc/sysctl.d", absl::FailedPreconditionError("Read-only file system"));
  const auto result = host.Apply();
  EXPECT_EQ(result->outcome(), ApplyResult::UNDONE)
      << result->ShortDebugString();
  EXPECT_NE(result->error().find("Read-only file system"), std::string::npos);
  EXPECT_EQ(host.scenario->State(), before);
}

// The lines that a boot's recovery leaves in the file.
constexpr char kRecoveryLines[] =
    "xsfp_reset_max_times_1=0\nxsfp_reset_wait_times_1=7\n"
    "tls_ca_recovered_1=1\n";

TEST(ApplierTest, RollsBackAfterARebootWroteTheToolsOwnLines) {
  Host host;
  FakeFileSystem& files = host.machine().files();
  const std::string before = *files.Content("/etc/hccn.conf");
  ASSERT_TRUE(host.Apply().ok());
  files.Put("/etc/hccn.conf", *files.Content("/etc/hccn.conf") + kRecoveryLines,
            0640, 0, 12);
  const ApplyResult result = Got(host.Rollback());
  EXPECT_EQ(result.outcome(), ApplyResult::ROLLED_BACK)
      << result.ShortDebugString();
  EXPECT_EQ(result.forced_size(), 0);
  // The tool's notes since then still hold.
  EXPECT_EQ(WithToolsOwnLines(before, kRecoveryLines),
            *files.Content("/etc/hccn.conf"));
}

TEST(ApplierTest, RefusesToRollBackWhatSomebodyChangedSince) {
  Host host;
  ASSERT_TRUE(host.Apply().ok());
  FakeFileSystem& files = host.machine().files();
  // Beside lines of the tool's own.
  files.Put("/etc/hccn.conf",
            absl::StrCat(*files.Content("/etc/hccn.conf"), kRecoveryLines,
                         "mtu_1=9000\n"),
            0640, 0, 12);
  EXPECT_THAT(host.Rollback(), Fails(absl::StatusCode::kAborted,
                                     HasText("/etc/hccn.conf: SHA-256")));
  const ApplyResult forced = Got(host.Rollback(true));
  EXPECT_EQ(forced.outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(forced.forced_size(), 1);
}

// The newest of these applies is the wanted one.
TEST(ApplierTest, RollsBackTheNewestFirst) {
  Host host;
  host.scenario->clock.SleepFor(absl::Seconds(1));
  ASSERT_TRUE(host.Apply("a1").ok());
  host.machine().sysctl()[kSomaxconnKey] = "2000";
  host.scenario->clock.SleepFor(absl::Seconds(1));
  ASSERT_EQ(Got(host.Apply("a2")).outcome(), ApplyResult::APPLIED);
  const auto refused = host.Rollback();
  EXPECT_TRUE(absl::IsAborted(refused.status()));
  EXPECT_TRUE(Says(refused.status(), "apply a2 of "));
  EXPECT_TRUE(Says(refused.status(), kSomaxconnKey)) << refused.status();
  EXPECT_EQ(host.machine().sysctl()[kSomaxconnKey], "65535");
  EXPECT_EQ(host.Rollback(true).value().forced_size(), 1);
}

// Automatic repairs of the controller do not count as later applies.
TEST(ApplierTest, RollsBackWhatWasEnforcedMeanwhile) {
  Host host;
  const std::string before = host.machine().sysctl()[kSomaxconnKey];
  host.scenario->clock.SleepFor(absl::Seconds(1));
  ASSERT_TRUE(host.Apply("a1").ok());
  host.machine().sysctl()[kSomaxconnKey] = "2000";
  host.scenario->clock.SleepFor(absl::Seconds(1));
  ApplyRequest enforced = RequestFor(host.scenario->Plan(), "a2");
  enforced.actor = ControllerActor("demo");
  ASSERT_TRUE(host.MakeApplier()->Apply(enforced).ok());
  EXPECT_EQ(Got(host.Rollback()).outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(host.machine().sysctl()[kSomaxconnKey], before);
}

TEST(ApplierTest, RollsBackOnceAndOnlyWhatItKnows) {
  Host host;
  EXPECT_TRUE(absl::IsNotFound(host.Rollback().status()));
  ASSERT_TRUE(host.Apply().ok());
  ASSERT_TRUE(host.Rollback().ok());
  const ApplyResult again = Got(host.Rollback());
  EXPECT_EQ(again.outcome(), ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(again.error(), Say("plan-say-undone-before"));
  // An emptied journal is not an undone one.
  host.machine().files().Put(absl::StrCat(kScenarioStateFolder, "/a1.journal"),
                             "");
  EXPECT_TRUE(absl::IsNotFound(host.Rollback().status()));
}

TEST(ApplierTest, RollbackWithAResidueMayBeTriedAgain) {
  Host host;
  const auto before = host.scenario->State();
  ASSERT_TRUE(host.Apply().ok());
  host.machine().device(1).fault = Fault::kHangs;
  EXPECT_EQ(Got(host.Rollback()).outcome(),
            ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  host.machine().device(1).fault = Fault::kNone;
  EXPECT_EQ(host.Rollback().value().outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(host.scenario->State(), before);
}

TEST(ApplierTest, RefusesToApplyUntilACrashIsUndone) {
  Host host;
  EffectLog log;
  log.CrashAt(20, CrashPoint::kAfter);
  (void)host.scenario->MakeApplier(&log)->Apply(
      RequestFor(host.scenario->Plan(), "a1"));
  ASSERT_TRUE(log.dead());
  EXPECT_TRUE(Says(host.Apply("a2").status(), "apply a1 was cut off"));
  const ApplyResult recovered = OnlyOne(host.MakeApplier()->Recover());
  EXPECT_EQ(recovered.apply_id(), "a1");
  EXPECT_EQ(recovered.error(), Say("msg-step-interrupted"));
  EXPECT_EQ(host.Apply("a2")->outcome(), ApplyResult::APPLIED);
  EXPECT_TRUE(host.MakeApplier()->Recover()->empty());
}

TEST(ApplierTest, RefusesToApplyBesideADamagedJournal) {
  Host host;
  host.machine().files().Put("/var/lib/clusterd/apply/a0.journal", "rubbish");
  EXPECT_TRUE(absl::IsDataLoss(host.MakeApplier()->Recover().status()));
  EXPECT_TRUE(absl::IsDataLoss(host.Apply().status()));
  EXPECT_TRUE(host.MakeApplier()->ListApplies()->empty());
}

TEST(ApplierTest, KeepsTheNewestJournals) {
  Host host;
  host.kept.in_effect = 2;
  for (int i = 1; i <= 4; ++i) {
    host.machine().sysctl()[kSomaxconnKey] = "128";
    const auto result = host.Apply(absl::StrCat("a", i));
    ASSERT_EQ(result->outcome(), ApplyResult::APPLIED) << result->error();
    host.scenario->clock.Advance(absl::Seconds(1));
  }
  const auto states = host.MakeApplier()->ListApplies();
  ASSERT_EQ(states->size(), 2u);
  EXPECT_EQ((*states)[0].begin.apply_id(), "a3");
  EXPECT_EQ((*states)[1].begin.apply_id(), "a4");
  // A dropped journal is not reported as an apply that never was.
  EXPECT_THAT(host.Rollback(), Fails(absl::StatusCode::kNotFound,
                                     HasText(Say("msg-step-no-journal", "a1",
                                                 kScenarioStateFolder, 2))));
}

TEST(ApplierTest, WritesNoJournalThatCannotBeReadWhateverAProgramSays) {
  Host host;
  const HostPlan plan = host.scenario->Plan();
  host.machine().device(1).fault = Fault::kSpeaksNoUtf8;
  ApplyRequest request = RequestFor(plan, "a1");
  request.progress = [&](const StepOutcome& outcome) {
    StepOutcome read;
    EXPECT_TRUE(read.ParseFromString(outcome.SerializeAsString()));
  };
  const auto result = host.MakeApplier()->Apply(request);
  ASSERT_EQ(result->outcome(), ApplyResult::UNDONE) << result->error();
  EXPECT_TRUE(absl::StrContains(result->error(), "\\xca\\xa7"))
      << result->error();
  const auto states = host.MakeApplier()->ListApplies();
  ASSERT_EQ(states->size(), 1u);
  EXPECT_FALSE((*states)[0].unfinished());
  EXPECT_TRUE(host.MakeApplier()->Recover()->empty());
}

}  // namespace
}  // namespace clusterd
