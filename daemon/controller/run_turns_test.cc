#include "daemon/controller/run_turns.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

RunTurns::RunPtr Join(RunTurns* turns, const std::string& key,
                      const std::string& who) {
  return turns->Join(key, who, std::make_shared<RunTurns::Run>());
}

TEST(RunTurnsTest, NobodyHasMoreThanHalfOfTheTurns) {
  RunTurns turns({/*at_once=*/4, /*waiting=*/64, /*callers=*/64});
  for (const char* key : {"1", "2", "3", "4"}) Join(&turns, key, "ann");
  EXPECT_EQ(turns.TakeNext()->key, "1");
  EXPECT_EQ(turns.TakeNext()->key, "2");
  EXPECT_EQ(turns.TakeNext(), nullptr);
  const RunTurns::RunPtr bob = Join(&turns, "5", "bob");
  EXPECT_EQ(turns.PlaceOf(*bob), 3u);
  EXPECT_EQ(turns.TakeNext(), bob);
  EXPECT_EQ(turns.PlaceOf(*bob), 0u);
}

TEST(RunTurnsTest, NextIsWhoeverHasTheFewestUnderWay) {
  RunTurns turns({/*at_once=*/8, /*waiting=*/64, /*callers=*/64});
  Join(&turns, "1", "ann");
  turns.TakeNext();
  Join(&turns, "2", "ann");
  Join(&turns, "3", "bob");
  EXPECT_EQ(turns.TakeNext()->payer, "bob");
  EXPECT_EQ(turns.TakeNext()->payer, "ann");
}

TEST(RunTurnsTest, NobodyHasMoreThanAQuarterOfWhatWaits) {
  RunTurns turns({/*at_once=*/1, /*waiting=*/8, /*callers=*/64});
  for (const char* key : {"1", "2"}) EXPECT_TRUE(Join(&turns, key, "ann"));
  EXPECT_EQ(Join(&turns, "3", "ann"), nullptr);
  EXPECT_THAT(turns.WhyFull("ann").message(),
              Tells("msg-hub-queue-full", kAny, kAny, "ann"));
  // Calls may still join an equal run, and others have room.
  EXPECT_TRUE(Join(&turns, "1", "ann"));
  EXPECT_TRUE(Join(&turns, "3", "bob"));
}

TEST(RunTurnsTest, NobodyHasMoreThanAQuarterOfTheCalls) {
  RunTurns turns({/*at_once=*/1, /*waiting=*/8, /*callers=*/8});
  EXPECT_TRUE(Join(&turns, "1", "ann"));
  EXPECT_TRUE(Join(&turns, "1", "ann"));
  EXPECT_EQ(Join(&turns, "1", "ann"), nullptr);
  EXPECT_TRUE(Join(&turns, "1", "bob"));
}

TEST(RunTurnsTest, WhoJoinsTheRunOfAUserWithoutTurnsBringsItsOwn) {
  RunTurns turns({/*at_once=*/4, /*waiting=*/64, /*callers=*/64});
  for (const char* key : {"1", "2", "3"}) Join(&turns, key, "ann");
  turns.TakeNext();
  turns.TakeNext();
  ASSERT_EQ(turns.TakeNext(), nullptr);
  const RunTurns::RunPtr shared = Join(&turns, "3", "bob");
  EXPECT_EQ(shared->maker, "ann");
  EXPECT_EQ(turns.TakeNext(), shared);
  EXPECT_EQ(shared->payer, "bob");
}

TEST(RunTurnsTest, EqualRunsGoOneAfterTheOther) {
  RunTurns turns({/*at_once=*/8, /*waiting=*/64, /*callers=*/64});
  const RunTurns::RunPtr first = Join(&turns, "same", "ann");
  EXPECT_EQ(turns.TakeNext(), first);
  const RunTurns::RunPtr second = Join(&turns, "same", "bob");
  EXPECT_NE(second, first);
  EXPECT_EQ(turns.TakeNext(), nullptr);
  first->asks = false;
  EXPECT_EQ(turns.TakeNext(), second);
  // Its answer is on its way until its callers have left.
  EXPECT_TRUE(turns.Leave(first, "ann"));
  EXPECT_EQ(turns.All().size(), 1u);
}

}  // namespace
}  // namespace clusterd
