#include "daemon/agent/applies_record.h"

#include <string>

#include "config/plan/good_cluster.h"
#include "config/plan/sysctl_file.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

JournalState Applied(const std::string& id) {
  JournalState state;
  state.phase = JournalState::Phase::kApplied;
  state.begin.set_apply_id(id);
  PlanStep* step = state.begin.mutable_plan()->add_steps();
  step->set_id(1);
  step->mutable_sysctl()->set_key(kSomaxconnKey);
  step->mutable_sysctl()->set_to("65535");
  state.end.set_outcome(ApplyResult::APPLIED);
  state.end.add_steps()->set_step(1);
  state.end.mutable_steps(0)->set_state(StepOutcome::DONE);
  return state;
}

HostFacts Drifted() {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  return facts;
}

TEST(AppliesRecordTest, TellsDriftOfTheNewestJournals) {
  AppliesRecord record;
  record.BeginChange();
  record.EndChange(std::vector<JournalState>{Applied("aa")});
  DriftFact fact = record.DriftOf(Drifted(), record.change_count());
  ASSERT_EQ(fact.value().drifts_size(), 1);
  EXPECT_EQ(fact.value().drifts(0).apply_id(), "aa");

  JournalState rolled_back = Applied("aa");
  rolled_back.phase = JournalState::Phase::kUndone;
  record.BeginChange();
  record.EndChange(std::vector<JournalState>{rolled_back});
  fact = record.DriftOf(Drifted(), record.change_count());
  ASSERT_TRUE(fact.has_value());
  EXPECT_EQ(fact.value().drifts_size(), 0);
}

TEST(AppliesRecordTest, IsMissingBeforeAnybodyHasReadAJournal) {
  AppliesRecord record;
  const DriftFact fact = record.DriftOf(Drifted(), record.change_count());
  EXPECT_EQ(fact.missing().reason(), Missing::UNREADABLE);
  EXPECT_NE(fact.missing().detail().find("not been read"), std::string::npos);
}

TEST(AppliesRecordTest, DoesNotTakeAnApplyUnderWayForDrift) {
  AppliesRecord record;
  record.EndChange(std::vector<JournalState>{Applied("aa")});
  const uint64_t before = record.change_count();
  record.BeginChange();
  EXPECT_EQ(record.DriftOf(Drifted(), before).missing().reason(),
            Missing::NOT_QUERIED);
  EXPECT_EQ(record.DriftOf(Drifted(), record.change_count()).missing().reason(),
            Missing::NOT_QUERIED);
  record.EndChange(std::vector<JournalState>{Applied("aa")});
  // What was observed before it may be of another time.
  EXPECT_TRUE(record.DriftOf(Drifted(), before).has_missing());
  EXPECT_TRUE(record.DriftOf(Drifted(), record.change_count()).has_value());
}

TEST(AppliesRecordTest, SaysWhyTheJournalsCannotBeRead) {
  AppliesRecord record;
  record.EndChange(absl::PermissionDeniedError("/var/lib/clusterd/apply"));
  DriftFact fact = record.DriftOf(Drifted(), record.change_count());
  EXPECT_EQ(fact.missing().reason(), Missing::NOT_PERMITTED);
  EXPECT_EQ(fact.missing().detail(), "/var/lib/clusterd/apply");
  record.EndChange(absl::DataLossError("aa.journal: damaged"));
  fact = record.DriftOf(Drifted(), record.change_count());
  EXPECT_EQ(fact.missing().reason(), Missing::UNREADABLE);
}

}  // namespace
}  // namespace clusterd
