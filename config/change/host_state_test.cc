#include "config/change/host_state.h"

#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

// "-": the event changes nothing.
constexpr char kTable[] = R"(
                  asked  not_asked  given_up  none  refused  undone    applied  holds            kept       due        back
WAITING           RUNNING  -        -         -     -        -         -        -                -          -          -
RUNNING           -        WAITING  LOST      -     REFUSED  REVERTED  APPLIED  CONFIRM_PENDING  -          -          REVERTED
LOST              -        -        -      REFUSED  REFUSED  REVERTED  APPLIED  CONFIRM_PENDING  -          -          REVERTED
REFUSED           -        -        -         -     -        REVERTED  APPLIED  CONFIRM_PENDING  -          -          REVERTED
APPLIED           -        -        -         -     -        -         -        CONFIRM_PENDING  -          -          REVERTED
CONFIRM_PENDING   -        -        -         -     -        -         -        -                CONFIRMED  REVERTING  REVERTED
REVERTING         -        -        -         -     -        -         -        -                CONFIRMED  -          REVERTED
CONFIRMED         -        -        -         -     -        -         -        -                -          -          REVERTED
REVERTED          -        -        -         -     -        REVERTED  -        -                -          -          REVERTED
)";

constexpr HostEvent kEvents[] = {
    HostEvent::kAsked,     HostEvent::kNotAsked, HostEvent::kGivenUp,
    HostEvent::kNoneThere, HostEvent::kRefused,  HostEvent::kUndone,
    HostEvent::kApplied,   HostEvent::kHolds,    HostEvent::kKept,
    HostEvent::kDue,       HostEvent::kTakenBack};

HostState StateNamed(const std::string& name) {
  HostState state = HOST_STATE_UNSPECIFIED;
  EXPECT_TRUE(name == "-" || HostState_Parse("HOST_" + name, &state)) << name;
  return state;
}

TEST(NextStateTest, IsAsTheTableSays) {
  const std::vector<std::string> lines =
      absl::StrSplit(kTable, '\n', absl::SkipEmpty());
  ASSERT_EQ(static_cast<int>(lines.size()),
            HostState_descriptor()->value_count());
  for (size_t line = 1; line < lines.size(); ++line) {
    const std::vector<std::string> cells =
        absl::StrSplit(lines[line], ' ', absl::SkipEmpty());
    ASSERT_EQ(cells.size(), 1 + std::size(kEvents)) << lines[line];
    const HostState from = StateNamed(cells[0]);
    EXPECT_EQ(static_cast<size_t>(from), line);
    for (size_t i = 0; i < std::size(kEvents); ++i) {
      EXPECT_EQ(NextState(from, kEvents[i]), StateNamed(cells[i + 1]))
          << cells[0] << ", event " << i;
    }
  }
}

TEST(NextStateTest, NeverGoesBackOnceAHostWasAsked) {
  for (const HostTransition& each : kHostTransitions) {
    if (each.event == HostEvent::kNotAsked) continue;
    for (const HostState from : each.from) EXPECT_GE(each.to, from);
  }
}

TEST(OutcomeWordsTest, EveryOutcomeHasARow) {
  const auto* const type = ApplyResult::Outcome_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    EXPECT_NE(OutcomeWordsName(
                  static_cast<ApplyResult::Outcome>(type->value(i)->number())),
              nullptr)
        << type->value(i)->name();
  }
  EXPECT_EQ(OutcomeWords(ApplyResult::OUTCOME_UNSPECIFIED).words(),
            OutcomeWords(static_cast<ApplyResult::Outcome>(17)).words());
}

TEST(EventOfTest, WhatWasAskedForDecidesWhatARefusalSettles) {
  for (const auto outcome :
       {ApplyResult::REFUSED, ApplyResult::NOTHING_TO_DO}) {
    ApplyResult reported;
    reported.set_outcome(outcome);
    EXPECT_TRUE(EventOf(/*rollback=*/false, reported).has_value());
    reported.set_of_rollback(true);
    EXPECT_FALSE(EventOf(/*rollback=*/false, reported).has_value());
    EXPECT_TRUE(EventOf(/*rollback=*/true, reported).has_value());
  }
}

TEST(EventOfTest, AnApplyThatStillStandsSaysNothingOfItsRollback) {
  ApplyResult reported;
  for (const auto outcome : {ApplyResult::APPLIED, ApplyResult::UNDONE,
                             ApplyResult::LOST, ApplyResult::NOT_STARTED}) {
    reported.set_outcome(outcome);
    EXPECT_FALSE(EventOf(/*rollback=*/true, reported).has_value()) << outcome;
  }
}

}  // namespace
}  // namespace clusterd
