// Kills an apply, an undo, a rollback and a recovery at every single effect:
// before it, in the middle of it, and right after it. After the next start the
// host is exactly as before or exactly as planned.
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/settings.h"
#include "daemon/agent/apply/applier.h"
#include "tests/support/apply/apply_scenarios.h"

namespace clusterd {
namespace {

// Crashes at every effect, the last included; with AddressSanitizer, where that
// takes twenty minutes of CPU time, at a seventh of them.
#if defined(__clang__)
constexpr size_t kEvery = __has_feature(address_sanitizer) ? 7 : 1;
#else
constexpr size_t kEvery = 1;
#endif

using State = std::map<std::string, std::string>;

// Crashes at each of these effects, before it, in it and after it.
void ForEachCrash(const std::vector<std::string>& effects,
                  const std::string& of,
                  const std::function<void(size_t, CrashPoint)>& crash,
                  size_t every = kEvery) {
  for (size_t i = (effects.size() - 1) % every; i < effects.size();
       i += every) {
    for (const CrashPoint point :
         {CrashPoint::kBefore, CrashPoint::kDuring, CrashPoint::kAfter}) {
      SCOPED_TRACE(absl::StrCat(of, ", effect ", i, " (", effects[i],
                                "), point ", static_cast<int>(point)));
      crash(i, point);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// The keys in which two states differ, for a readable failure.
std::string Difference(const State& now, const State& expected) {
  std::string text;
  for (const auto& [key, value] : expected) {
    const auto found = now.find(key);
    if (found == now.end()) {
      absl::StrAppend(&text, key, ": gone\n");
    } else if (found->second != value) {
      absl::StrAppend(&text, key, ": is\n", found->second, "\nexpected\n",
                      value, "\n");
    }
  }
  for (const auto& [key, value] : now) {
    if (expected.count(key) == 0) absl::StrAppend(&text, key, ": left over\n");
  }
  return text;
}

struct Expected {
  State before;
  State planned;
  std::vector<std::string> effects;
};

// The effects and states of a run without a crash.
Expected RunToTheEnd(const NamedScenario& named) {
  Expected expected;
  auto scenario = named.make();
  expected.before = scenario->State();
  EffectLog log;
  const HostPlan plan = scenario->Plan();
  const auto result =
      scenario->MakeApplier(&log)->Apply(RequestFor(plan, "a1"));
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome(), ApplyResult::APPLIED) << result->error();
  expected.planned = scenario->State();
  expected.effects = log.effects();
  return expected;
}

// Applies until the effect, crashes, and starts again.
void CrashApplyAndRecover(const NamedScenario& named, const Expected& expected,
                          size_t effect, CrashPoint point, bool power_fails) {
  auto scenario = named.make();
  EffectLog log;
  log.CrashAt(effect, point);
  (void)scenario->MakeApplier(&log)->Apply(RequestFor(scenario->Plan(), "a1"));
  ASSERT_TRUE(log.dead());
  if (power_fails) scenario->machine.PowerCycle();

  auto applier = scenario->MakeApplier();
  const auto recovered = applier->Recover().value();
  for (const ApplyResult& result : recovered) {
    ASSERT_EQ(result.outcome(), ApplyResult::UNDONE)
        << result.ShortDebugString();
  }
  const State now = scenario->State();
  // The plan's state is right only if the journal had it before the end.
  if (recovered.empty() && now == expected.planned) return;
  ASSERT_EQ(Difference(now, expected.before), "");
}

TEST(ApplierCrashTest, PlansOfTheScenariosSetAndRewriteEverySetting) {
  std::set<SettingId> set;
  std::set<SettingId> rewritten;
  std::string repaired;
  for (const NamedScenario& named : AllScenarios()) {
    auto scenario = named.make();
    const HostPlan plan = scenario->Plan();
    EXPECT_TRUE(plan.blocked().empty())
        << named.name << ": " << plan.ShortDebugString();
    for (const PlanStep& step : plan.steps()) {
      (IsRewrite(step) ? rewritten : set).insert(step.setting());
      if (step.setting() == SETTING_FORM) repaired += SettingText(step.from());
    }
  }
  std::set<SettingId> of_devices(std::begin(kDeviceSettingIds),
                                 std::end(kDeviceSettingIds));
  EXPECT_EQ(rewritten, of_devices);
  of_devices.insert(std::begin(kHostSettingIds), std::end(kHostSettingIds));
  EXPECT_EQ(set, of_devices);
  // Every problem that a plan repairs.
  for (const char* const repair :
       {"add the final newline", "remove carriage returns",
        "write the route as gateway_ADDRESS", "remove the repeated key"}) {
    EXPECT_TRUE(absl::StrContains(repaired, repair)) << repaired;
  }
}

TEST(ApplierCrashTest, HostIsAsBeforeOrAsPlannedWhereverApplyIsKilled) {
  for (const NamedScenario& named : AllScenarios()) {
    const Expected expected = RunToTheEnd(named);
    ASSERT_NE(expected.before, expected.planned);
    ForEachCrash(expected.effects, named.name, [&](size_t i, CrashPoint point) {
      CrashApplyAndRecover(named, expected, i, point, false);
    });
    if (HasFailure()) return;
  }
}

TEST(ApplierCrashTest, HostIsAsBeforeOrAsPlannedWhereverThePowerFails) {
  // Live settings and files agree here, so a reboot alone changes nothing.
  const NamedScenario named = {"open ufw", &OpenUfwScenario};
  const Expected expected = RunToTheEnd(named);
  ForEachCrash(expected.effects, named.name, [&](size_t i, CrashPoint point) {
    CrashApplyAndRecover(named, expected, i, point, true);
  });
}

enum class PowerFails { kNever, kWithTheSecondCrash, kAfterwards };

// Kills the recovery of an apply that was killed at its end, and restarts.
void CrashRecoveryAndRecover(const NamedScenario& named,
                             PowerFails power_fails) {
  const Expected expected = RunToTheEnd(named);
  // The journal's last record says that the apply is over: a crash before it
  // leaves everything to undo.
  size_t last = expected.effects.size() - 1;
  const std::string record =
      absl::StrCat("write ", kScenarioStateFolder, "/a1.journal");
  while (expected.effects[last] != record) --last;
  const auto crash_apply = [&](Scenario* scenario) {
    EffectLog log;
    log.CrashAt(last, CrashPoint::kBefore);
    (void)scenario->MakeApplier(&log)->Apply(
        RequestFor(scenario->Plan(), "a1"));
  };
  EffectLog whole;
  auto first = named.make();
  crash_apply(first.get());
  ASSERT_TRUE(first->MakeApplier(&whole)->Recover().ok());
  ASSERT_GT(whole.effects().size(), 10u);
  ForEachCrash(whole.effects(), named.name + ", recovery",
               [&](size_t i, CrashPoint point) {
                 auto scenario = named.make();
                 crash_apply(scenario.get());
                 EffectLog log;
                 log.CrashAt(i, point);
                 (void)scenario->MakeApplier(&log)->Recover();
                 if (power_fails == PowerFails::kWithTheSecondCrash) {
                   scenario->machine.PowerCycle();
                 }
                 const auto recovered = scenario->MakeApplier()->Recover();
                 ASSERT_TRUE(recovered.ok()) << recovered.status();
                 if (power_fails == PowerFails::kAfterwards) {
                   scenario->machine.PowerCycle();
                 }
                 ASSERT_EQ(Difference(scenario->State(), expected.before), "");
               });
}

TEST(ApplierCrashTest, RecoveryMayBeKilledAnywhereAndIsFinishedByTheNext) {
  for (const NamedScenario& named : AllScenarios()) {
    CrashRecoveryAndRecover(named, PowerFails::kNever);
  }
}

TEST(ApplierCrashTest, ThePowerMayFailAnywhereInARecovery) {
  const NamedScenario named = {"open ufw", &OpenUfwScenario};
  CrashRecoveryAndRecover(named, PowerFails::kWithTheSecondCrash);
  CrashRecoveryAndRecover(named, PowerFails::kAfterwards);
}

TEST(ApplierCrashTest, WhatWasAppliedSurvivesAPowerCut) {
  auto scenario = OpenUfwScenario();
  const HostPlan plan = scenario->Plan();
  ASSERT_TRUE(scenario->MakeApplier()->Apply(RequestFor(plan, "a1")).ok());
  const State planned = scenario->State();
  scenario->machine.PowerCycle();
  EXPECT_EQ(Difference(scenario->State(), planned), "");
  EXPECT_TRUE(scenario->MakeApplier()->Recover()->empty());
}

TEST(ApplierCrashTest, RollbackMayBeKilledAnywhereAndIsFinishedByTheNext) {
  for (const NamedScenario& named : AllScenarios()) {
    const Expected expected = RunToTheEnd(named);
    const RollbackRequest rollback = RollbackOf("a1");
    const auto apply = [](Scenario* scenario) {
      ASSERT_EQ(scenario->Apply()->outcome(), ApplyResult::APPLIED);
    };
    EffectLog whole;
    auto first = named.make();
    apply(first.get());
    EXPECT_EQ(Got(first->MakeApplier(&whole)->Rollback(rollback)).outcome(),
              ApplyResult::ROLLED_BACK);
    EXPECT_EQ(Difference(first->State(), expected.before), "");
    ForEachCrash(whole.effects(), named.name + ", rollback",
                 [&](size_t i, CrashPoint point) {
                   auto scenario = named.make();
                   apply(scenario.get());
                   EffectLog log;
                   log.CrashAt(i, point);
                   (void)scenario->MakeApplier(&log)->Rollback(rollback);
                   const auto recovered =
                       scenario->MakeApplier()->Recover().value();
                   const State now = scenario->State();
                   // A rollback has begun only once the journal says so.
                   if (now == expected.planned && recovered.empty()) return;
                   ASSERT_EQ(Difference(now, expected.before), "");
                 });
  }
}

TEST(ApplierCrashTest, UndoOfAFailedStepMayBeKilledAnywhere) {
  const NamedScenario named = {"open ufw", &OpenUfwScenario};
  const Expected expected = RunToTheEnd(named);
  // The last step is the firewall's, which ignores commands.
  const auto apply = [](Scenario* scenario, EffectLog* log) {
    scenario->machine.firewall(UFW).ignores_commands = true;
    return scenario->MakeApplier(log)->Apply(
        RequestFor(scenario->Plan(), "a1"));
  };
  EffectLog whole;
  auto first = named.make();
  const auto failed = apply(first.get(), &whole).value();
  ASSERT_EQ(failed.outcome(), ApplyResult::UNDONE) << failed.error();
  ForEachCrash(whole.effects(), "undo", [&](size_t i, CrashPoint point) {
    auto scenario = named.make();
    EffectLog log;
    log.CrashAt(i, point);
    (void)apply(scenario.get(), &log);
    ASSERT_TRUE(scenario->MakeApplier()->Recover().ok());
    ASSERT_EQ(Difference(scenario->State(), expected.before), "");
  });
}

constexpr absl::Duration kWithin = absl::Minutes(5);

ApplyRequest Waiting(Scenario* scenario) {
  ApplyRequest request = RequestFor(scenario->Plan(), "a1");
  request.confirm_within = kWithin;
  return request;
}

void ApplyWaiting(Scenario* scenario) {
  const ApplyResult result =
      Got(scenario->MakeApplier()->Apply(Waiting(scenario)));
  ASSERT_EQ(result.outcome(), ApplyResult::APPLIED) << result.error();
}

TEST(ApplierCrashTest, PendingApplyRevertsAtItsDeadlineWhereverItIsKilled) {
  for (const bool power_fails : {false, true}) {
    const Expected expected = RunToTheEnd({"open ufw", &OpenUfwScenario});
    EffectLog whole;
    auto first = OpenUfwScenario();
    ASSERT_TRUE(first->MakeApplier(&whole)->Apply(Waiting(first.get())).ok());
    int waited = 0;
    ForEachCrash(whole.effects(), "wait", [&](size_t i, CrashPoint point) {
      auto scenario = OpenUfwScenario();
      EffectLog log;
      log.CrashAt(i, point);
      (void)scenario->MakeApplier(&log)->Apply(Waiting(scenario.get()));
      if (power_fails) scenario->machine.PowerCycle();
      ASSERT_TRUE(scenario->MakeApplier()->Recover().ok());
      if (scenario->State() == expected.planned) {
        ++waited;
      } else {
        ASSERT_EQ(Difference(scenario->State(), expected.before), "");
      }
      scenario->clock.Advance(kWithin);
      ASSERT_TRUE(scenario->MakeApplier()->Recover().ok());
      ASSERT_EQ(Difference(scenario->State(), expected.before), "");
    });
    EXPECT_GT(waited, 0);
  }
}

TEST(ApplierCrashTest, KilledRevertIsFinishedByTheNext) {
  for (const NamedScenario& named : AllScenarios()) {
    const Expected expected = RunToTheEnd(named);
    EffectLog whole;
    auto first = named.make();
    ApplyWaiting(first.get());
    first->clock.Advance(kWithin);
    EXPECT_EQ(OnlyOne(first->MakeApplier(&whole)->Recover()).outcome(),
              ApplyResult::ROLLED_BACK);
    EXPECT_EQ(Difference(first->State(), expected.before), "");
    ForEachCrash(
        whole.effects(), named.name + ", going back",
        [&](size_t i, CrashPoint point) {
          auto scenario = named.make();
          ApplyWaiting(scenario.get());
          scenario->clock.Advance(kWithin);
          EffectLog log;
          log.CrashAt(i, point);
          (void)scenario->MakeApplier(&log)->Recover();
          const auto recovered = scenario->MakeApplier()->Recover().value();
          for (const ApplyResult& result : recovered) {
            EXPECT_TRUE(result.not_confirmed()) << result.ShortDebugString();
          }
          ASSERT_EQ(Difference(scenario->State(), expected.before), "");
        });
  }
}

TEST(ApplierCrashTest, AConfirmationThatIsKilledHoldsOrDoesNot) {
  const Expected expected = RunToTheEnd({"open ufw", &OpenUfwScenario});
  EffectLog whole;
  auto first = OpenUfwScenario();
  ApplyWaiting(first.get());
  KeepRequest confirm;
  confirm.apply_id = "a1";
  ASSERT_TRUE(first->MakeApplier(&whole)->Confirm(confirm).ok());
  std::set<bool> held;
  ForEachCrash(
      whole.effects(), "confirm",
      [&](size_t i, CrashPoint point) {
        auto scenario = OpenUfwScenario();
        ApplyWaiting(scenario.get());
        EffectLog log;
        log.CrashAt(i, point);
        EXPECT_FALSE(scenario->MakeApplier(&log)->Confirm(confirm).ok());
        scenario->machine.PowerCycle();
        scenario->clock.Advance(kWithin);
        ASSERT_TRUE(scenario->MakeApplier()->Recover().ok());
        held.insert(scenario->State() == expected.planned);
        if (scenario->State() == expected.planned) return;
        ASSERT_EQ(Difference(scenario->State(), expected.before), "");
      },
      /*every=*/1);
  EXPECT_EQ(held.size(), 2u);
}

}  // namespace
}  // namespace clusterd
