#include "daemon/controller/history/newest_report.h"

#include <string>

#include "daemon/controller/history/history_entry.h"
#include "gtest/gtest.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

const absl::Time kNow = absl::FromUnixMillis(1000);

ClusterSpec SpecOfTwo() {
  ClusterSpec spec;
  spec.add_servers()->set_host("server0");
  spec.add_servers()->set_host("server1");
  return spec;
}

Report WholeReport(int64_t started_at_ms, const std::string& run_id = "0001") {
  auto report = FromText<Report>(R"(
      verdict: PASS hosts {host: 'server1'} hosts {host: 'server0'}
      rules {rule: 'gateway'}
      rules {rule: 'job-hosts' category: 'job' not_run: true})");
  report.set_run_id(run_id);
  report.set_started_at_ms(started_at_ms);
  return report;
}

TEST(NewestReportTest, KeepsTheNewestOfTheWholeCluster) {
  NewestReport newest;
  EXPECT_EQ(newest.Get(), nullptr);
  newest.Offer(WholeReport(20, "new"), SpecOfTwo(), kNow);
  newest.Offer(WholeReport(10, "old"), SpecOfTwo(), kNow);
  ASSERT_NE(newest.Get(), nullptr);
  EXPECT_EQ(newest.Get()->run_id(), "new");
  EXPECT_EQ(newest.Get(), newest.Get());
}

TEST(NewestReportTest, KnowsTheOneBeforeTheNewest) {
  NewestReport newest;
  newest.Offer(WholeReport(10, "old"), SpecOfTwo(), kNow);
  const auto old = newest.Get();
  EXPECT_EQ(newest.Before(*old), nullptr);
  newest.Offer(WholeReport(20, "new"), SpecOfTwo(), kNow);
  EXPECT_EQ(newest.Before(*newest.Get()), old);
  EXPECT_EQ(newest.Before(*old), nullptr);
}

TEST(NewestReportTest, TakesNoPartForTheWhole) {
  struct Case {
    const char* what;
    void (*spoil)(Report* report);
  };
  const Case cases[] = {
      {"a host is not in it",
       [](Report* r) { r->mutable_hosts()->RemoveLast(); }},
      {"a rule was not asked for",
       [](Report* r) { r->mutable_rules(0)->set_not_run(true); }},
      {"no rule at all", [](Report* r) { r->clear_rules(); }},
      {"broken off", [](Report* r) { r->set_partial(true); }},
      {"of a namespace",
       [](Report* r) { r->set_network_namespace("container:a"); }},
      {"of a job", [](Report* r) { r->set_job_servers(2); }},
      {"of a job by its id", [](Report* r) { r->set_job_id("slurm:1"); }},
      {"no verdict", [](Report* r) { r->set_error("no spec"); }},
      {"with a failure that was downgraded",
       [](Report* r) {
         r->mutable_rules(0)->add_findings()->set_downgraded(true);
       }},
  };
  for (const Case& each : cases) {
    Report report = WholeReport(10);
    each.spoil(&report);
    EXPECT_FALSE(IsOfWholeCluster(report, SpecOfTwo())) << each.what;
    NewestReport newest;
    newest.Offer(report, SpecOfTwo(), kNow);
    EXPECT_EQ(newest.Get(), nullptr) << each.what;
  }
  EXPECT_TRUE(IsOfWholeCluster(WholeReport(10), SpecOfTwo()));
}

TEST(NewestReportTest, TakesWhatClusterYamlDowngrades) {
  Report report = WholeReport(10);
  report.mutable_rules(0)->add_findings()->set_downgraded(true);
  report.set_schedule("all");
  EXPECT_TRUE(IsOfWholeCluster(report, SpecOfTwo()));
}

TEST(NewestReportTest, FindsTheNewestOfAHistoryBehindChecksOfSingleHosts) {
  const auto store = OpenStore(NewStateFolder());
  ASSERT_TRUE(store->Add(RecordOfCheck(WholeReport(10, TestId(1)), "a")).ok());
  ASSERT_TRUE(store->Add(RecordOfCheck(WholeReport(20, TestId(2)), "a")).ok());
  Report one_host = WholeReport(30, TestId(3));
  one_host.mutable_hosts()->RemoveLast();
  ASSERT_TRUE(store->Add(RecordOfCheck(one_host, "a")).ok());
  ASSERT_TRUE(store->Add(TestApply(TestId(4))).ok());
  NewestReport newest;
  newest.Restore(*store, SpecOfTwo(), kNow);
  ASSERT_NE(newest.Get(), nullptr);
  EXPECT_EQ(newest.Get()->run_id(), TestId(2));
}

TEST(NewestReportTest, FindsTheNewestBehindSchedulesOfAPart) {
  const auto store = OpenStore(NewStateFolder());
  ASSERT_TRUE(store->Add(RecordOfCheck(WholeReport(1, TestId(1)), "a")).ok());
  for (uint64_t i = 2; i < 50; ++i) {
    Report part = WholeReport(static_cast<int64_t>(i), TestId(i));
    part.mutable_rules(0)->set_not_run(true);
    HistoryRecord record = RecordOfCheck(part, "a");
    record.mutable_entry()->set_schedule(i % 2 == 0 ? "links" : "racks");
    *record.mutable_entry()->mutable_changes_words() =
        ToFindingValue("1 worse");
    ASSERT_TRUE(store->Add(record).ok());
  }
  NewestReport newest;
  newest.Restore(*store, SpecOfTwo(), kNow);
  ASSERT_NE(newest.Get(), nullptr);
  EXPECT_EQ(newest.Get()->run_id(), TestId(1));
}

TEST(NewestReportTest, AClockThatWasAheadHidesNoLaterCheck) {
  const auto store = OpenStore(NewStateFolder());
  ASSERT_TRUE(store->Add(RecordOfCheck(WholeReport(10, TestId(1)), "a")).ok());
  const Report ahead = WholeReport(5000, TestId(2));
  ASSERT_TRUE(store->Add(RecordOfCheck(ahead, "a")).ok());
  NewestReport newest;
  newest.Restore(*store, SpecOfTwo(), kNow);
  ASSERT_NE(newest.Get(), nullptr);
  EXPECT_EQ(newest.Get()->run_id(), TestId(1));
  newest.Offer(ahead, SpecOfTwo(), absl::FromUnixMillis(6000));
  EXPECT_EQ(newest.Get()->run_id(), TestId(2));
  newest.Offer(WholeReport(900, TestId(3)), SpecOfTwo(), kNow);
  EXPECT_EQ(newest.Get()->run_id(), TestId(3));
}

TEST(NewestReportTest, AHistoryThatIsClosedHasNone) {
  const auto store = HistoryStore::Closed(absl::DataLossError("damaged"));
  NewestReport newest;
  newest.Restore(*store, SpecOfTwo(), kNow);
  EXPECT_EQ(newest.Get(), nullptr);
}

}  // namespace
}  // namespace clusterd
