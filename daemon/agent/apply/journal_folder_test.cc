#include "daemon/agent/apply/journal_folder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Phase = JournalState::Phase;

JournalState State(const std::string& id, Phase phase,
                   ApplyResult::Outcome outcome) {
  JournalState state;
  state.begin.set_apply_id(id);
  state.phase = phase;
  state.end.set_outcome(outcome);
  return state;
}

JournalState Applied(const std::string& id) {
  return State(id, Phase::kApplied, ApplyResult::APPLIED);
}

JournalState Undone(const std::string& id) {
  return State(id, Phase::kUndone, ApplyResult::UNDONE);
}

TEST(JournalsToDropTest, DropsTheOldestOfEachKindByItself) {
  const KeptJournals kept{2, 1};
  EXPECT_THAT(
      JournalsToDrop({Applied("a1"), Undone("u1"), Applied("a2")}, kept),
      IsEmpty());
  EXPECT_THAT(
      JournalsToDrop({Applied("a1"), Undone("u1"), Applied("a2"), Undone("u2"),
                      Undone("u3"), Applied("a3"), Undone("u4")},
                     kept),
      ElementsAre("a1", "u1", "u2", "u3"));
}

TEST(JournalsToDropTest, TakesWhatHasResiduesForInEffect) {
  EXPECT_THAT(
      JournalsToDrop(
          {State("r1", Phase::kUndone, ApplyResult::UNDONE_WITH_RESIDUES),
           State("r2", Phase::kUndone, ApplyResult::ROLLED_BACK_WITH_RESIDUES),
           State("b1", Phase::kUndone, ApplyResult::ROLLED_BACK)},
          {2, 0}),
      ElementsAre("b1"));
}

TEST(JournalsToDropTest, NeverDropsWhatIsNotFinished) {
  EXPECT_THAT(
      JournalsToDrop(
          {State("p1", Phase::kApplying, ApplyResult::OUTCOME_UNSPECIFIED),
           State("p2", Phase::kUndoing, ApplyResult::OUTCOME_UNSPECIFIED),
           State("p3", Phase::kRollingBack, ApplyResult::APPLIED)},
          {0, 0}),
      IsEmpty());
}

}  // namespace
}  // namespace clusterd
