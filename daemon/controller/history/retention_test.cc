#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/controller/history/history_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

KeptEntry Entry(int64_t position, HistoryKind kind, int64_t bytes = 1) {
  KeptEntry entry;
  entry.position = position;
  entry.kind = kind;
  entry.bytes = bytes;
  return entry;
}

KeptEntry Check(int64_t position, int64_t bytes = 1) {
  return Entry(position, HISTORY_CHECK, bytes);
}
KeptEntry Plan(int64_t position, int64_t bytes = 1) {
  return Entry(position, HISTORY_PLAN, bytes);
}
KeptEntry Apply(int64_t position, int64_t bytes = 1) {
  return Entry(position, HISTORY_APPLY, bytes);
}

KeptEntry Running(int64_t position, int64_t bytes = 1) {
  KeptEntry entry = Entry(position, HISTORY_APPLY, bytes);
  entry.running = true;
  return entry;
}

KeptEntry Scheduled(int64_t position, bool changed = false) {
  KeptEntry entry = Entry(position, HISTORY_CHECK);
  entry.schedule = "links";
  entry.changed = changed;
  return entry;
}

HistoryLimits Limits(int64_t entries, int64_t bytes) {
  HistoryLimits limits;
  limits.max_entries = entries;
  limits.max_bytes = bytes;
  return limits;
}

TEST(ChooseForRemovalTest, DropsByAgeWhatExceedsItsShareAndNeverWhatRuns) {
  const auto expect = [](const char* name, const std::vector<KeptEntry>& kept,
                         const KeptEntry& coming, const HistoryLimits& limits,
                         const std::vector<int64_t>& gone) {
    EXPECT_EQ(ChooseForRemoval(kept, coming, limits), gone) << name;
  };
  expect("all fits", {Check(1, 40)}, Check(2, 60), Limits(2, 100), {});
  expect("one byte over", {Check(1, 40)}, Check(2, 61), Limits(2, 100), {1});
  expect("count", {Check(1), Plan(2), Check(3)}, Check(4), Limits(2, 100),
         {1, 2});
  expect("bytes", {Check(1, 10), Check(2, 50), Check(3, 30)}, Check(4, 60),
         Limits(10, 100), {1, 2});
  expect("one runs", {Running(1), Check(2)}, Check(3), Limits(2, 100), {2});
  expect("all run", {Running(1, 99), Running(2, 99)}, Check(3), Limits(1, 10),
         {});
  expect("half are applies",
         {Apply(1), Entry(2, HISTORY_ROLLBACK), Check(3), Plan(4)}, Check(5),
         Limits(4, 100), {3});
  expect("a quarter are plans", {Plan(1), Check(2), Check(3), Check(4)},
         Check(5), Limits(4, 100), {2});
  expect("and of the bytes", {Plan(1, 25), Check(2, 70)}, Check(3, 30),
         Limits(40, 100), {2});
  expect("half are plans", {Plan(1), Check(2), Plan(3), Check(4)}, Check(5),
         Limits(4, 100), {1});
  expect("and of the bytes", {Plan(1, 26), Check(2, 70)}, Check(3, 30),
         Limits(40, 100), {1});
  expect("plans alone", {Plan(1, 10)}, Plan(2, 95), Limits(40, 100), {1});
  expect("more are applies", {Apply(1), Apply(2), Apply(3), Check(4)}, Check(5),
         Limits(4, 100), {1});
  expect("and of the bytes", {Apply(1, 60), Check(2, 40)}, Check(3, 10),
         Limits(10, 100), {1});
  expect("applies alone", {Apply(1, 10), Apply(2, 10)}, Check(3, 90),
         Limits(10, 100), {1});
}

TEST(ChooseForRemovalTest, ScheduledChecksGoBeforeThoseThatPeopleAskedFor) {
  std::vector<KeptEntry> kept = {Entry(1, HISTORY_CHECK)};
  for (int64_t i = 2; i <= 8; ++i) kept.push_back(Scheduled(i, true));
  EXPECT_THAT(ChooseForRemoval(kept, Scheduled(9, true), Limits(8, 100)),
              ElementsAre(2));
  // Unless users' checks hold more than an eighth.
  kept[1] = Entry(2, HISTORY_CHECK);
  EXPECT_THAT(ChooseForRemoval(kept, Scheduled(9, true), Limits(8, 100)),
              ElementsAre(1));
}

KeptEntry CheckOf(int64_t position, const std::string& actor) {
  KeptEntry entry = Entry(position, HISTORY_CHECK);
  entry.actor = actor;
  return entry;
}

// One host asks endlessly, and the history has checks of all others.
TEST(ChooseForRemovalTest, ChecksOfOneHostPushOutNobodyElses) {
  const HistoryLimits limits = Limits(320, 1 << 20);
  std::vector<KeptEntry> kept;
  int64_t position = 0;
  for (int i = 0; i < 10; ++i) {
    kept.push_back(CheckOf(++position, "spiffe://demo/user/ann"));
    kept.push_back(CheckOf(++position, "spiffe://demo/host/node1"));
    kept.push_back(Scheduled(++position, true));
  }
  const size_t others = kept.size();
  for (int i = 0; i < 3000; ++i) {
    const KeptEntry coming = CheckOf(++position, "spiffe://demo/host/node9");
    for (const int64_t gone : ChooseForRemoval(kept, coming, limits)) {
      kept.erase(std::find_if(
          kept.begin(), kept.end(),
          [gone](const KeptEntry& entry) { return entry.position == gone; }));
    }
    kept.push_back(coming);
  }
  ASSERT_EQ(kept.size(), 320u);
  for (size_t i = 0; i < others; ++i) {
    EXPECT_EQ(kept[i].position, static_cast<int64_t>(i + 1));
  }
}

// So many hosts check that none holds more than its share.
TEST(ChooseForRemovalTest, ChecksOfAllHostsPushOutNoPersons) {
  const HistoryLimits limits = Limits(320, 1 << 20);
  std::vector<KeptEntry> kept = {CheckOf(1, "spiffe://demo/user/ann")};
  for (int64_t i = 2; i <= 320; ++i) {
    kept.push_back(CheckOf(i, absl::StrCat("spiffe://demo/host/node", i % 64)));
  }
  EXPECT_THAT(
      ChooseForRemoval(kept, CheckOf(321, "spiffe://demo/host/node1"), limits),
      ElementsAre(2));
}

TEST(ChooseForRemovalTest, PersonWhoAsksWithoutEndDropsOnlyItsOwn) {
  std::vector<KeptEntry> kept = {CheckOf(1, "ann"), CheckOf(2, "bob"),
                                 CheckOf(3, "bob"), CheckOf(4, "bob"),
                                 Entry(5, HISTORY_PLAN)};
  kept.resize(16, Entry(6, HISTORY_APPLY));
  EXPECT_THAT(ChooseForRemoval(kept, CheckOf(20, "bob"), Limits(16, 1000)),
              ElementsAre(2));
}

TEST(ChooseForRemovalTest, OfQuietScheduledChecksAFewOfEachAreKept) {
  std::vector<KeptEntry> kept;
  for (int64_t i = 1; i <= kKeptUnchanged; ++i) kept.push_back(Scheduled(i));
  KeptEntry other = Scheduled(kKeptUnchanged + 1);
  other.schedule = "all";
  kept.push_back(other);
  EXPECT_THAT(ChooseForRemoval(kept, other, Limits(1000, 1000)), IsEmpty());
  EXPECT_THAT(ChooseForRemoval(kept, Scheduled(20), Limits(1000, 1000)),
              ElementsAre(1));
}

TEST(ChooseForRemovalTest, AChangeKeepsWhatItIsComparedWith) {
  std::vector<KeptEntry> kept = {Scheduled(1), Scheduled(2),
                                 Scheduled(3, /*changed=*/true)};
  for (int64_t i = 4; i < 4 + kKeptUnchanged; ++i) kept.push_back(Scheduled(i));
  EXPECT_THAT(ChooseForRemoval(kept, Scheduled(20), Limits(1000, 1000)),
              ElementsAre(1, 4));
}

}  // namespace
}  // namespace clusterd
