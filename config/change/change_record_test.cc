#include "config/change/change_record.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kId[] = "0123456789abcdef";
constexpr uint32_t kWithinMs = 300000;

const absl::Time kNow = absl::FromUnixSeconds(1000);

// A run over a, b, c, ...: all are asked.
ChangeRecord Asked(int hosts, bool rollback = false, bool confirm = false) {
  ApplyReport report;
  report.set_run_id(rollback ? "feedfeedfeedfeed" : kId);
  report.set_apply_id(kId);
  report.set_plan_id("aaaabbbbccccdddd");
  report.set_rollback(rollback);
  report.set_outcome(ApplyReport::RUNNING);
  if (confirm) report.mutable_confirmation()->set_within_ms(kWithinMs);
  for (int i = 0; i < hosts; ++i) {
    ApplyResult* const host = report.add_hosts();
    host->set_host(std::string(1, static_cast<char>('a' + i)));
    host->set_state(HOST_WAITING);
    host->set_outcome(ApplyResult::NOT_STARTED);
  }
  ChangeRecord record(std::move(report));
  record.MoveAll(HostEvent::kAsked);
  return record;
}

ApplyResult ResultOf(ApplyResult::Outcome outcome,
                     const std::string& error = "") {
  ApplyResult result;
  result.set_apply_id(kId);
  result.set_outcome(outcome);
  result.set_error(error);
  return result;
}

PastApplies PastOf(ApplyResult result) {
  PastApplies past;
  *past.add_results() = std::move(result);
  return past;
}

void Close(ChangeRecord* record) {
  record->Close(
      record->failed() > 0 || record->AnyIn({HOST_RUNNING})
          ? ApplyReport::STOPPED
          : ApplyReport::SUCCEEDED,
      0, Waves(static_cast<size_t>(record->report().hosts_size()), 0, 0), kNow);
}

std::vector<std::string> NotesOf(const ChangeRecord& record) {
  const ApplyReport rendered = Rendered(record.report());
  return {rendered.notes().begin(), rendered.notes().end()};
}

TEST(ChangeRecordTest, CountsHostsByHowTheyEnded) {
  ChangeRecord record = Asked(4);
  EXPECT_EQ(record.done() + record.failed(), 0u);
  EXPECT_TRUE(record.Take(0, ResultOf(ApplyResult::APPLIED)));
  EXPECT_TRUE(record.Take(1, ResultOf(ApplyResult::NOTHING_TO_DO)));
  EXPECT_TRUE(record.Take(2, ResultOf(ApplyResult::UNDONE)));
  record.End(3, ResultOf(ApplyResult::LOST));
  EXPECT_EQ(record.done(), 2u);
  EXPECT_EQ(record.failed(), 2u);
  EXPECT_EQ(record.host(3).outcome(), ApplyResult::LOST);
  EXPECT_TRUE(record.Take(3, ResultOf(ApplyResult::APPLIED)));
  EXPECT_EQ(record.failed(), 1u);
  EXPECT_EQ(ChangeRecord(record.report()).done(), 3u);
}

TEST(ChangeRecordTest, HostThatWasNotAskedWaitsAgain) {
  ChangeRecord record = Asked(1);
  EXPECT_TRUE(record.Move(0, HostEvent::kNotAsked));
  EXPECT_EQ(record.host(0).outcome(), ApplyResult::NOT_STARTED);
  EXPECT_FALSE(record.host(0).has_error_words());
  Close(&record);
  EXPECT_TRUE(record.host(0).has_error_words());
}

TEST(ChangeRecordTest, ControllerThatDiesLosesItsRunningHosts) {
  ChangeRecord record = Asked(2);
  record.Take(0, ResultOf(ApplyResult::APPLIED));
  record.Interrupt(kNow);
  EXPECT_EQ(record.report().outcome(), ApplyReport::INTERRUPTED);
  EXPECT_THAT(record.HostsIn({HOST_LOST}), ElementsAre("b"));
  EXPECT_TRUE(record.Merge("b", PastOf(ResultOf(ApplyResult::APPLIED))));
  EXPECT_EQ(record.report().outcome(), ApplyReport::SUCCEEDED);
  EXPECT_THAT(NotesOf(record), Contains(Say("hub-came-back", "b")));
}

TEST(ChangeRecordTest, RollbackTakesBackWhatIsKept) {
  ChangeRecord record = Asked(2);
  ApplyResult applied = ResultOf(ApplyResult::APPLIED);
  applied.add_steps()->set_step(7);
  record.Take(0, applied);
  record.Take(1, ResultOf(ApplyResult::UNDONE_WITH_RESIDUES, "step 1 failed"));
  Close(&record);
  EXPECT_THAT(NotesOf(record), Contains(Tells("hub-hosts-kept-it")));
  ChangeRecord rollback = Asked(2, /*rollback=*/true);
  EXPECT_FALSE(record.TakeBack(rollback.report()));
  ApplyResult back = ResultOf(ApplyResult::ROLLED_BACK);
  back.add_steps()->set_step(8);
  rollback.Take(0, back);
  EXPECT_TRUE(record.TakeBack(rollback.report()));
  EXPECT_EQ(record.host(0).outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(record.host(0).steps(0).step(), 7u);
  EXPECT_THAT(NotesOf(record), Not(Contains(Tells("hub-hosts-kept-it"))));
  ApplyResult residues = ResultOf(ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  for (const char* each : {"x", "y"}) {
    residues.add_residues(each);
    rollback = Asked(2, /*rollback=*/true);
    rollback.Take(1, residues);
    EXPECT_TRUE(record.TakeBack(rollback.report()));
    EXPECT_EQ(record.host(1).residues_size(), residues.residues_size());
  }
  rollback.Take(1, ResultOf(ApplyResult::ROLLED_BACK));
  EXPECT_TRUE(record.TakeBack(rollback.report()));
  EXPECT_EQ(record.host(1).outcome(), ApplyResult::ROLLED_BACK);
}

TEST(ChangeRecordTest, IsOpenWhileItWaitsToBeConfirmed) {
  ApplyReport report;
  report.add_hosts()->set_state(HOST_REFUSED);
  EXPECT_FALSE(IsOpen(report));
  report.mutable_confirmation()->set_state(Confirmation::PENDING);
  EXPECT_TRUE(IsOpen(report));
}

TEST(ChangeRecordTest, HostThatHasNoJournalOfItIsNotPending) {
  ChangeRecord record = Asked(2, /*rollback=*/false, /*confirm=*/true);
  Close(&record);
  EXPECT_EQ(record.report().confirmation().state(), Confirmation::PENDING);
  record.mutable_report()->mutable_confirmation()->set_state(
      Confirmation::CONFIRMED);
  EXPECT_TRUE(record.UpdatePending());
  EXPECT_FALSE(record.UpdatePending());
  EXPECT_THAT(record.report().confirmation().pending(), ElementsAre("a", "b"));
  PastApplies past;
  EXPECT_FALSE(record.Merge("a", past));
  past.set_knows_all(true);
  past.set_at_work(kId);
  EXPECT_FALSE(record.Merge("a", past));
  past.clear_at_work();
  EXPECT_TRUE(record.Merge("a", past));
  EXPECT_THAT(record.report().confirmation().pending(), ElementsAre("b"));
  EXPECT_EQ(record.host(0).outcome(), ApplyResult::LOST);
}

// The reports of one apply that a host may send as time passes: each report is
// the newest at its time.
std::vector<std::vector<PastApplies>> Histories(bool rollback) {
  const auto back = [](bool not_confirmed, bool residues) {
    ApplyResult result =
        ResultOf(residues ? ApplyResult::ROLLED_BACK_WITH_RESIDUES
                          : ApplyResult::ROLLED_BACK,
                 not_confirmed ? "it was not confirmed in time" : "");
    result.set_not_confirmed(not_confirmed);
    if (residues) result.add_residues("a route is left");
    result.add_steps()->set_step(9);
    return PastOf(result);
  };
  PastApplies applied = PastOf(ResultOf(ApplyResult::APPLIED));
  applied.mutable_results(0)->add_steps()->set_step(1);
  PastApplies waits = applied;
  waits.mutable_results(0)->set_reverts_in_ms(200000);
  PastApplies none;
  none.set_knows_all(true);
  PastApplies at_work;
  at_work.set_at_work(kId);
  ApplyResult refused = ResultOf(ApplyResult::REFUSED, "a device is in use");
  refused.set_of_rollback(rollback);
  ApplyResult nothing = ResultOf(ApplyResult::NOTHING_TO_DO);
  nothing.set_of_rollback(rollback);
  if (rollback) {
    return {{applied, at_work, back(false, false), PastOf(nothing)},
            {applied, PastOf(refused), back(false, true), back(false, false)},
            {waits, back(true, false), PastOf(nothing)},
            {applied, PastOf(refused)}};
  }
  return {{none, at_work, applied, back(false, false)},
          {at_work, waits, applied},
          {at_work, waits, back(true, false)},
          {waits, back(true, true), back(false, false)},
          {PastOf(refused)},
          {PastOf(nothing)},
          {PastOf(ResultOf(ApplyResult::UNDONE, "step 1 failed"))},
          {PastOf(ResultOf(ApplyResult::UNDONE_WITH_RESIDUES, "step 1")),
           back(false, true), back(false, false)}};
}

// Hosts come back after the run or the controller has ended.
class MergeTest : public testing::TestWithParam<int> {
 protected:
  struct Report {
    std::string host;
    PastApplies past;
  };

  bool rollback() const { return GetParam() % 2 == 1; }

  ChangeRecord Lost(int hosts) const {
    ChangeRecord record = Asked(hosts, rollback(), /*confirm=*/!rollback());
    if (GetParam() % 3 == 0) {
      record.Interrupt(kNow);
    } else {
      Close(&record);
    }
    if (GetParam() % 5 > 2 && !rollback()) {
      record.mutable_report()->mutable_confirmation()->set_state(
          GetParam() % 5 == 3 ? Confirmation::CONFIRMED
                              : Confirmation::REVERTING);
      record.UpdatePending();
    }
    return record;
  }

  static std::string MergeAll(ChangeRecord record,
                              const std::vector<Report>& reports) {
    for (const Report& each : reports) record.Merge(each.host, each.past);
    return record.report().DebugString();
  }
};

TEST_P(MergeTest, IsTheSameInAnyOrderAndHoweverOften) {
  std::mt19937 random(static_cast<uint32_t>(GetParam()));
  const auto below = [&random](size_t n) { return random() % n; };
  const auto histories = Histories(rollback());
  constexpr int kHosts = 4;
  std::vector<Report> reports;
  for (int i = 0; i < kHosts; ++i) {
    const auto& history = histories[below(histories.size())];
    // The history up to some point of time.
    const size_t until = below(history.size() + 1);
    for (size_t at = 0; at < until; ++at) {
      reports.push_back(
          {std::string(1, static_cast<char>('a' + i)), history[at]});
    }
  }
  const std::string expected = MergeAll(Lost(kHosts), reports);
  for (int round = 0; round < 20; ++round) {
    std::vector<Report> shuffled = reports;
    for (size_t again = below(5); again > 0 && !reports.empty(); --again) {
      shuffled.push_back(reports[below(reports.size())]);
    }
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    ASSERT_EQ(MergeAll(Lost(kHosts), shuffled), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MergeTest, testing::Range(0, 200));

}  // namespace
}  // namespace clusterd
