#include "daemon/controller/schedule/check_schedule.h"

#include <unistd.h>

#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "config/spec/spec_loader.h"
#include "config/values/version.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/process/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/controller/task_link.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kLinks[] =
    "schedule:\n  - {name: links, every: 10m, only: [link, listen-backlog]}\n";

// One attached host, and time that passes under the test's control.
class CheckScheduleTest : public testing::Test {
 protected:
  CheckScheduleTest() {
    WriteSpec(kLinks);
    auto spec = SpecHolder::Open(path_, "test", &scheduler_);
    EXPECT_TRUE(spec.ok()) << spec.status();
    spec_ = *std::move(spec);
    facts_ = MakeHealthyHost(*spec_->spec(), spec_->spec()->servers(0));
    Attachment attachment;
    attachment.host = "server0";
    attachment.hello.set_protocol_version(kProtocolVersion);
    attachment.link = link_;
    session_ = *hosts_.Attach(std::move(attachment));
    Restart();
  }
  ~CheckScheduleTest() override {
    schedule_.reset();
    pool_.Drain();
  }

  // Long deadlines: no host is late.
  void WriteSpec(absl::string_view more) {
    ClusterSpec spec = MakeSpec("atlas-training", "", 1);
    spec.mutable_deadlines()->set_host_ms(1'800'000);
    spec.mutable_deadlines()->set_run_ms(7'200'000);
    std::ofstream(path_) << SpecToYaml(spec) << more;
  }
  void ReadSpec(absl::string_view more) {
    WriteSpec(more);
    ASSERT_TRUE(spec_->Reload().ok()) << spec_->Reload();
    schedule_->ReadSpec();
    pool_.Drain();
  }
  // Another controller with the same history.
  void Restart(HistoryStore* history = nullptr) {
    schedule_.reset();
    ControllerParts parts{
        spec_.get(), history == nullptr ? history_.get() : history,
        &scheduler_, &pool_,
        &log_,       &hosts_};
    parts.queue = &queue_;
    schedule_ = std::make_unique<CheckSchedule>(
        parts, [] { return std::vector<std::string>{"a note"}; },
        [this](VerdictNews news) {
          news_.push_back(absl::StrCat(State_Name(news.before), " ",
                                       State_Name(news.report.verdict())));
          if (news.before != news.report.verdict()) return;
          for (const auto& [rule, hosts] : news.started) {
            absl::StrAppend(&news_.back(), " ", rule, " ",
                            absl::StrJoin(hosts, ","));
          }
        });
    schedule_->ReadSpec();
    pool_.Drain();
  }

  // Advances the clock, and lets checks that began ask their hosts.
  void Pass(absl::Duration by) {
    scheduler_.Advance(by);
    pool_.Drain();
  }
  // Answers all questions; returns how many.
  size_t Answer() {
    const std::vector<Task> tasks = link_->Take();
    for (const Task& task : tasks) {
      TaskResult result;
      result.set_task_id(task.task_id());
      *result.mutable_facts() = facts_;
      result.mutable_facts()->set_observed_at_ms(
          absl::ToUnixMillis(scheduler_.Now()));
      EXPECT_TRUE(hosts_.OnResult(session_, std::move(result)).ok());
    }
    pool_.Drain();
    return tasks.size();
  }
  size_t PassAndAnswer(absl::Duration by) {
    Pass(by);
    return Answer();
  }
  void BreakLink(bool broken = true) {
    facts_.mutable_devices(0)->mutable_link()->set_value(broken ? LinkFact::DOWN
                                                                : LinkFact::UP);
  }
  void BreakBacklog() {
    facts_.mutable_kernel()->mutable_somaxconn()->set_value(4);
  }
  // Newest first.
  std::vector<HistoryEntry> Entries() {
    const auto list = history_->List({});
    EXPECT_TRUE(list.ok()) << list.status();
    return {list->entries().begin(), list->entries().end()};
  }

  const std::string path_ =
      absl::StrCat(testing::TempDir(), "/schedule.", getpid(), ".yaml");
  ManualScheduler scheduler_;
  CapturedLog log_;
  WorkerPool pool_{1, 8};
  AttachedHosts hosts_{&scheduler_, &log_};
  FactQueue queue_{
      ControllerParts{nullptr, nullptr, &scheduler_, &pool_, &log_, &hosts_}};
  std::unique_ptr<HistoryStore> history_ = OpenStore(NewStateFolder());
  std::unique_ptr<SpecHolder> spec_;
  const std::shared_ptr<TaskLink> link_ = std::make_shared<TaskLink>();
  uint64_t session_ = 0;
  HostFacts facts_;
  std::vector<std::string> news_;
  std::unique_ptr<CheckSchedule> schedule_;
};

TEST_F(CheckScheduleTest, BeginsWithinAMinuteAndThenAtItsInterval) {
  EXPECT_EQ(PassAndAnswer(kMostJitter), 1u);
  const std::vector<HistoryEntry> entries = Entries();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_THAT(entries[0], HasFields(R"(
      schedule: "links" actor: "spiffe://test/controller" outcome: "pass")"));
  const auto record = history_->Get(entries[0].id());
  EXPECT_EQ(record->report().schedule(), "links");
  EXPECT_THAT(record->report().notes(), testing::Contains("a note"));
  EXPECT_EQ(PassAndAnswer(absl::Minutes(9) - absl::Seconds(1)), 0u);
  EXPECT_EQ(PassAndAnswer(absl::Minutes(1) + absl::Seconds(1)), 1u);
  EXPECT_THAT(Entries(), SizeIs(2));
  EXPECT_THAT(news_, IsEmpty()) << "it passes";
}

TEST_F(CheckScheduleTest, KeepsWhatHasChangedSinceTheOneBefore) {
  PassAndAnswer(kMostJitter);
  BreakBacklog();
  PassAndAnswer(absl::Minutes(10));
  PassAndAnswer(absl::Minutes(10));
  const std::vector<HistoryEntry> entries = Entries();
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_EQ(entries[2].previous_id(), "");
  EXPECT_EQ(entries[1].previous_id(), entries[2].id());
  EXPECT_EQ(ValueText(entries[1].changes_words()), "1 worse");
  EXPECT_EQ(entries[0].previous_id(), entries[1].id());
  EXPECT_EQ(ValueText(entries[0].changes_words()), "");
  EXPECT_THAT(news_, ElementsAre("PASS FAIL"));
}

TEST_F(CheckScheduleTest, NewsOfTheNetworkBeginsASecondRound) {
  PassAndAnswer(kMostJitter);
  BreakLink();
  EXPECT_EQ(PassAndAnswer(absl::Minutes(10)), 1u);
  EXPECT_THAT(news_, IsEmpty());
  EXPECT_EQ(PassAndAnswer(kSecondRound - absl::Seconds(1)), 0u);
  EXPECT_EQ(PassAndAnswer(absl::Seconds(1)), 1u);
  EXPECT_THAT(news_, ElementsAre("PASS FAIL"));
  // One that was fixed by then is not news, and needs no third round.
  news_.clear();
  BreakLink(false);
  EXPECT_EQ(PassAndAnswer(absl::Minutes(8)), 1u);
  BreakLink();
  EXPECT_EQ(PassAndAnswer(kSecondRound), 1u);
  EXPECT_EQ(PassAndAnswer(kSecondRound), 0u);
  EXPECT_THAT(news_, IsEmpty());
}

TEST_F(CheckScheduleTest, ARedScheduleTellsEachRuleThatStartsToFail) {
  PassAndAnswer(kMostJitter);
  BreakLink();
  PassAndAnswer(absl::Minutes(10));
  PassAndAnswer(kSecondRound);
  EXPECT_THAT(news_, ElementsAre("PASS FAIL"));
  news_.clear();
  BreakBacklog();
  PassAndAnswer(absl::Minutes(10));
  EXPECT_THAT(news_, ElementsAre("FAIL FAIL listen-backlog server0"));
  PassAndAnswer(absl::Minutes(10));
  EXPECT_THAT(news_, SizeIs(1)) << "it was sent";
  // A restart keeps all of that.
  scheduler_.Advance(absl::Hours(1));
  link_->Take();
  Restart();
  for (int i = 0; i < 3; ++i) PassAndAnswer(kSecondRound);
  EXPECT_THAT(news_, SizeIs(1));
}

TEST_F(CheckScheduleTest, WhatComesDueWhileItRunsIsLeftOut) {
  ReadSpec("schedule: [{name: links, every: 1m, only: link}]\n");
  Pass(kMostJitter);
  Pass(absl::Minutes(1));
  Pass(absl::Minutes(1));
  EXPECT_EQ(Answer(), 1u);
  EXPECT_THAT(log_.Lines(), HasSubstr("this one is left out"));
  EXPECT_EQ(PassAndAnswer(absl::Minutes(1)), 1u);
  EXPECT_THAT(Entries(), SizeIs(2));
}

TEST_F(CheckScheduleTest, FullQueueIsALaterTry) {
  absl::Notification may_go;
  absl::Notification holds;
  pool_.TryRun([&] {
    holds.Notify();
    may_go.WaitForNotification();
  });
  holds.WaitForNotification();
  while (pool_.TryRun([] {})) {
  }
  scheduler_.Advance(kMostJitter);
  EXPECT_THAT(log_.Lines(), HasSubstr("schedule links: begins later: "));
  may_go.Notify();
  pool_.Drain();
  EXPECT_EQ(Answer(), 0u);
  EXPECT_EQ(PassAndAnswer(kScheduleRetry), 1u);
  EXPECT_THAT(Entries(), SizeIs(1));
}

TEST_F(CheckScheduleTest, RereadingTheSpecTakesEffect) {
  PassAndAnswer(kMostJitter);
  // The schedule is unchanged: it goes on.
  ReadSpec(kLinks);
  EXPECT_EQ(PassAndAnswer(absl::Minutes(5)), 0u);
  ReadSpec("schedule: [{name: all, every: 1h}]\n");
  EXPECT_EQ(PassAndAnswer(kMostJitter), 1u);
  EXPECT_EQ(Entries()[0].schedule(), "all");
  EXPECT_EQ(PassAndAnswer(absl::Minutes(50)), 0u);
  ASSERT_THAT(schedule_->Now(), SizeIs(1));
  ReadSpec("");
  EXPECT_THAT(schedule_->Now(), IsEmpty());
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(CheckScheduleTest, AScheduleThatGoesTakesItsRunAlong) {
  Pass(kMostJitter);
  ReadSpec("schedule: [{name: a, every: 1h}, {name: b, every: 1h}]\n");
  link_->Take();
  EXPECT_THAT(Entries(), IsEmpty());
  // Both get its place.
  EXPECT_EQ(PassAndAnswer(kMostJitter), 2u);
  EXPECT_THAT(Entries(), SizeIs(2));
}

TEST_F(CheckScheduleTest, TwoRunAtOnceAndTheOthersWait) {
  ReadSpec(
      "schedule: [{name: a, every: 1h}, {name: b, every: 1h}, {name: c, every: "
      "1h}]\n");
  EXPECT_EQ(PassAndAnswer(kMostJitter), 2u);
  EXPECT_EQ(Answer(), 1u);
  EXPECT_THAT(Entries(), SizeIs(3));
}

TEST_F(CheckScheduleTest, WhoWaitsLongestIsNext) {
  std::string yaml = "schedule:\n";
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    absl::StrAppend(&yaml, "  - {name: ", name, ", every: 1m, only: link}\n");
  }
  ReadSpec(yaml);
  Pass(kMostJitter);
  // Those that have run are due again before the last one has begun.
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Answer(), 2u);
    Pass(absl::Minutes(1));
  }
  std::set<std::string> ran;
  for (const HistoryEntry& entry : Entries()) ran.insert(entry.schedule());
  EXPECT_THAT(ran, SizeIs(7));
  EXPECT_THAT(log_.Lines(),
              HasSubstr(": has waited 1m for a place: 2 run at once"));
}

TEST_F(CheckScheduleTest, KnowsAfterARestartWhatWasBefore) {
  BreakBacklog();
  PassAndAnswer(kMostJitter);
  EXPECT_THAT(news_, ElementsAre("PASS FAIL"));
  const std::string before = Entries()[0].id();
  scheduler_.Advance(absl::Hours(1));
  link_->Take();
  Restart();
  const auto now = schedule_->Now();
  ASSERT_THAT(now, SizeIs(1));
  EXPECT_EQ(now[0].newest().verdict(), FAIL);
  news_.clear();
  PassAndAnswer(kMostJitter);
  EXPECT_EQ(ValueText(Entries()[0].changes_words()), "");
  EXPECT_THAT(news_, IsEmpty()) << "it was sent";
}

TEST_F(CheckScheduleTest, SentJustBeforeARestartIsSentAgain) {
  PassAndAnswer(kMostJitter);
  BreakBacklog();
  PassAndAnswer(absl::Minutes(10));
  Restart();
  PassAndAnswer(kMostJitter);
  EXPECT_THAT(news_, ElementsAre("PASS FAIL", "UNKNOWN FAIL"));
}

TEST_F(CheckScheduleTest, NamesTheSentVerdictAfterARestart) {
  PassAndAnswer(kMostJitter);
  Restart();
  BreakBacklog();
  PassAndAnswer(kMostJitter);
  EXPECT_THAT(news_, ElementsAre("PASS FAIL"));
}

TEST_F(CheckScheduleTest, SecondRoundIsSentAfterARestart) {
  for (const bool has_before : {true, false}) {
    history_ = OpenStore(NewStateFolder());
    BreakLink(false);
    Restart();
    if (has_before) PassAndAnswer(kMostJitter);
    BreakLink();
    PassAndAnswer(absl::Minutes(10));
    EXPECT_THAT(news_, IsEmpty());
    schedule_.reset();
    Pass(absl::Hours(1));
    link_->Take();
    Restart();
    PassAndAnswer(kMostJitter);
    PassAndAnswer(kSecondRound);
    EXPECT_THAT(news_, ElementsAre("PASS FAIL")) << has_before;
    // News from an hour ago is not sent again, whatever the rounds were.
    news_.clear();
    scheduler_.Advance(absl::Hours(1));
    link_->Take();
    Restart();
    for (int i = 0; i < 4; ++i) PassAndAnswer(kSecondRound);
    EXPECT_THAT(news_, IsEmpty()) << has_before;
  }
}

TEST_F(CheckScheduleTest, SecondRoundJustBeforeARestartIsSentAgain) {
  PassAndAnswer(kMostJitter);
  BreakLink();
  PassAndAnswer(absl::Minutes(10));
  PassAndAnswer(kSecondRound);
  EXPECT_THAT(news_, ElementsAre("PASS FAIL"));
  Restart();
  PassAndAnswer(kMostJitter);
  PassAndAnswer(kSecondRound);
  EXPECT_THAT(news_, ElementsAre("PASS FAIL", "UNKNOWN FAIL"));
}

TEST_F(CheckScheduleTest, OldNewsOfAQuietScheduleIsNotSentAgain) {
  ReadSpec("schedule: [{name: links, every: 1m, only: link}]\n");
  PassAndAnswer(kMostJitter);
  BreakLink();
  // The history drops most of these.
  for (int i = 0; i < 30; ++i) PassAndAnswer(absl::Minutes(1));
  EXPECT_THAT(news_, ElementsAre("PASS FAIL"));
  Restart();
  for (int i = 0; i < 4; ++i) PassAndAnswer(absl::Minutes(1));
  EXPECT_THAT(news_, ElementsAre("PASS FAIL"));
}

TEST_F(CheckScheduleTest, GoesOnWithoutAHistory) {
  const auto closed =
      HistoryStore::Closed(absl::DataLossError("history.db: is damaged"));
  Restart(closed.get());
  PassAndAnswer(kMostJitter);
  BreakBacklog();
  PassAndAnswer(absl::Minutes(10));
  EXPECT_THAT(news_, ElementsAre("PASS FAIL"));
  const auto now = schedule_->Now();
  ASSERT_THAT(now, SizeIs(1));
  EXPECT_EQ(now[0].changes().changes_size(), 1);
}

TEST_F(CheckScheduleTest, ReportsWhatIsWrongNowAndTheNextRound) {
  auto now = schedule_->Now();
  ASSERT_THAT(now, SizeIs(1));
  EXPECT_FALSE(now[0].has_newest());
  // The jitter may be less than a millisecond.
  EXPECT_GE(now[0].next_at_ms(), absl::ToUnixMillis(scheduler_.Now()));
  PassAndAnswer(kMostJitter);
  BreakLink();
  BreakBacklog();
  PassAndAnswer(absl::Minutes(10));
  now = schedule_->Now();
  ASSERT_THAT(now, SizeIs(1));
  EXPECT_EQ(now[0].name(), "links");
  EXPECT_EQ(now[0].newest().verdict(), FAIL);
  EXPECT_THAT(now[0].newest().rules(), IsEmpty());
  EXPECT_THAT(now[0].newest().hosts(), IsEmpty());
  ASSERT_THAT(now[0], HasFields("wrong { state: FAIL } wrong {} more_wrong: 0 "
                                "changes { after_verdict: FAIL }"));
}

}  // namespace
}  // namespace clusterd
