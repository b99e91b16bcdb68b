#include "daemon/controller/watch/cluster_watch.h"

#include <atomic>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

// Sources that only report hosts.
WatchSources HostsAlone(std::function<void(ClusterNow* now)> hosts) {
  return {
      std::move(hosts), [] { return std::vector<ClusterNow::ScheduleNow>(); },
      [] { return std::nullopt; }, [] { return std::vector<FindingValue>(); },
      [] { return std::vector<ConfirmResponse>(); }};
}

class ClusterWatchTest : public testing::Test {
 protected:
  ClusterWatchTest()
      : watch_("demo", HostsAlone([this](ClusterNow* now) {
                 ++rounds_;
                 now->set_hosts_attached(attached_);
               }),
               &scheduler_, &pool_) {}

  // A watcher that records the states that it gets.
  struct Reader {
    ~Reader() { watch->Leave(id); }

    ClusterWatch* watch = nullptr;
    ClusterWatch::WatcherId id = 0;
    std::vector<uint32_t> seen;
    std::vector<absl::Status> stopped;
  };
  void Join(Reader* reader) {
    reader->watch = &watch_;
    reader->id = watch_.NewWatcher();
    watch_.Join(reader->id,
                {[this, reader] {
                   reader->seen.push_back(watch_.now()->hosts_attached());
                 },
                 [reader](const absl::Status& why) {
                   reader->stopped.push_back(why);
                 }});
    pool_.Drain();
  }
  void Pass(absl::Duration time) {
    scheduler_.Advance(time);
    pool_.Drain();
  }

  ManualScheduler scheduler_;
  WorkerPool pool_{1, 8};
  std::atomic<uint32_t> attached_{1};
  std::atomic<int> rounds_{0};
  ClusterWatch watch_;
};

TEST_F(ClusterWatchTest, TellsAtOnceAndThenOnlyWhatHasChanged) {
  Reader ann;
  Join(&ann);
  EXPECT_THAT(ann.seen, ElementsAre(1));
  Pass(absl::Seconds(1));
  Pass(absl::Seconds(1));
  EXPECT_EQ(rounds_, 3);
  EXPECT_THAT(ann.seen, ElementsAre(1));
  attached_ = 2;
  Pass(absl::Seconds(1));
  EXPECT_THAT(ann.seen, ElementsAre(1, 2));
  EXPECT_EQ(watch_.now()->cluster(), "demo");
  EXPECT_EQ(watch_.now()->at_ms(), absl::ToUnixMillis(scheduler_.Now()));
}

TEST_F(ClusterWatchTest, ReadsOnceASecondForAnyNumberOfChangesAndWatchers) {
  Reader readers[20];
  for (Reader& reader : readers) Join(&reader);
  EXPECT_EQ(rounds_, 1);
  for (int i = 0; i < 10; ++i) {
    attached_ = 10 + i;
    Pass(absl::Milliseconds(99));
  }
  EXPECT_EQ(rounds_, 1);
  Pass(absl::Milliseconds(10));
  EXPECT_EQ(rounds_, 2);
  for (const Reader& reader : readers) {
    EXPECT_THAT(reader.seen, ElementsAre(1, 19));
  }
}

TEST_F(ClusterWatchTest, DoesNotReadWithoutWatchers) {
  Reader ann;
  Join(&ann);
  watch_.Leave(ann.id);
  Pass(absl::Hours(1));
  EXPECT_EQ(rounds_, 1);
  EXPECT_EQ(scheduler_.pending(), 0);
  attached_ = 7;
  // A new watcher does not get the old state.
  Reader bob;
  Join(&bob);
  EXPECT_THAT(bob.seen, ElementsAre(7));
  EXPECT_THAT(ann.seen, ElementsAre(1));
}

TEST_F(ClusterWatchTest, ReadsAtOnceAndOnceASecondForANewWatcher) {
  Reader ann, bob;
  Join(&ann);
  watch_.Leave(ann.id);
  attached_ = 2;
  Join(&bob);  // Within a second of the first read.
  EXPECT_THAT(bob.seen, ElementsAre(2));
  EXPECT_EQ(rounds_, 2);
  for (int i = 0; i < 5; ++i) Pass(absl::Seconds(1));
  EXPECT_EQ(rounds_, 7);
}

TEST_F(ClusterWatchTest, EndsWithTheControllerForAllWhoWatchOrCome) {
  Reader ann, bob;
  Join(&ann);
  watch_.Stop();
  Join(&bob);
  Pass(absl::Hours(1));
  EXPECT_EQ(rounds_, 1);
  const absl::Status why = UnavailableWords("msg-hub-stopping");
  EXPECT_THAT(ann.stopped, ElementsAre(why));
  EXPECT_THAT(bob.stopped, ElementsAre(why));
  EXPECT_TRUE(bob.seen.empty());
}

TEST(ClusterWatchSourcesTest, GivesEachFieldFromItsSource) {
  ManualScheduler scheduler;
  WorkerPool pool(1, 8);
  WatchSources sources =
      HostsAlone([](ClusterNow* now) { now->set_hosts_expected(3); });
  using Schedule = ClusterNow::ScheduleNow;
  sources.schedules = [] {
    return std::vector<Schedule>{FromText<Schedule>("name: 'nightly'"),
                                 FromText<Schedule>("name: 'links'")};
  };
  sources.asked = [] { return FromText<Schedule>("newest { run_id: '02' }"); };
  sources.running = [] {
    return std::vector<FindingValue>{ToFindingValue("apply 01")};
  };
  sources.pending = [] {
    return std::vector<ConfirmResponse>{
        FromText<ConfirmResponse>("run_id: '01'")};
  };
  ClusterWatch watch("demo", sources, &scheduler, &pool);
  watch.Join(watch.NewWatcher(), {[] {}, [](const absl::Status&) {}});
  pool.Drain();
  const ClusterNow now = *watch.now();
  EXPECT_THAT(now, HasFields(R"(
      schema_version: 1 hosts_expected: 3
      schedules {} schedules { name: 'links' }
      pending { run_id: "01" } asked { newest { run_id: "02" } })"));
  EXPECT_THAT(Rendered(now).running(), ElementsAre("apply 01"));
}

}  // namespace
}  // namespace clusterd
