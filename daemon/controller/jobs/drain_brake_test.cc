#include "daemon/controller/jobs/drain_brake.h"

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "config/spec/spec_loader.h"
#include "config/words/words.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/process/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DrainBrakeTest : public testing::Test {
 protected:
  // Queued work uses the history.
  ~DrainBrakeTest() override { pool_.Drain(); }

  void Start(int hosts, const DrainLimits& limits = {}) {
    const std::string folder = NewStateFolder();
    history_ = OpenStore(folder, {});
    const std::string path = absl::StrCat(testing::TempDir(), "/brake.yaml");
    std::ofstream(path) << SpecToYaml(MakeSpec("atlas-training", "", hosts));
    auto spec = SpecHolder::Open(path, "test", &scheduler_);
    ASSERT_TRUE(spec.ok()) << spec.status();
    spec_ = *std::move(spec);
    ControllerParts parts;
    parts.spec = spec_.get();
    parts.history = history_.get();
    parts.scheduler = &scheduler_;
    parts.pool = &pool_;
    parts.log = &log_;
    brake_ = std::make_unique<DrainBrake>(parts, limits);
  }

  bool May(int host) {
    DrainQuestion question;
    question.set_reason("clusterd: link: device 3: DOWN");
    return brake_->Ask(absl::StrCat("server", host), question).may();
  }
  int Kept() {
    pool_.Drain();
    return history_->List({})->entries_size();
  }

  ManualScheduler scheduler_;
  CapturedLog log_;
  WorkerPool pool_{1, 16};
  std::unique_ptr<HistoryStore> history_;
  std::unique_ptr<SpecHolder> spec_;
  std::unique_ptr<DrainBrake> brake_;
};

TEST_F(DrainBrakeTest, LetsTheShareOfHostsBeFailedInAWindow) {
  Start(50);
  for (int host = 0; host < 5; ++host) EXPECT_TRUE(May(host)) << host;
  EXPECT_FALSE(May(5));
  scheduler_.Advance(absl::Minutes(9));
  EXPECT_FALSE(May(5));
  scheduler_.Advance(absl::Minutes(1));
  EXPECT_TRUE(May(5));
}

TEST_F(DrainBrakeTest, LetsTwoHostsOfASmallClusterBeFailed) {
  Start(4);
  EXPECT_TRUE(May(0));
  EXPECT_TRUE(May(1));
  EXPECT_FALSE(May(2));
}

TEST_F(DrainBrakeTest, CountsAHostOnceHoweverOftenItAsks) {
  Start(4);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(May(0));
  EXPECT_TRUE(May(1));
  EXPECT_TRUE(May(0)) << "it is among the two";
  // The host's last time counts.
  scheduler_.Advance(absl::Minutes(5));
  EXPECT_TRUE(May(0));
  scheduler_.Advance(absl::Minutes(6));
  EXPECT_TRUE(May(2));
  EXPECT_FALSE(May(3));
}

TEST_F(DrainBrakeTest, LetsNoneBeFailedAtAShareOfNothing) {
  Start(4, {0, absl::Minutes(10)});
  EXPECT_FALSE(May(0));
}

TEST_F(DrainBrakeTest, TellsOfARefusalOnceForAHostAndKeepsTheFirst) {
  Start(4);
  May(0);
  May(1);
  for (int i = 0; i < 5; ++i) May(2);
  May(3);
  EXPECT_EQ(Kept(), 1);
  const HistoryEntry entry = history_->List({})->entries(0);
  EXPECT_EQ(entry.outcome(), "unknown");
  EXPECT_THAT(ValueText(entry.summary_words()),
              Tells("msg-hub-drain-brake", Counted(2, "host")));
  EXPECT_THAT(ValueText(entry.summary_words()),
              HasSubstr("a person must look"));
  const std::string lines = log_.Lines();
  const size_t first = lines.find("host server2: brake");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(lines.find("host server2: brake", first + 1), std::string::npos);
  EXPECT_THAT(lines, HasSubstr("host server3: brake"));
  // A new window gets a new entry.
  scheduler_.Advance(absl::Minutes(11));
  for (int host = 0; host < 3; ++host) May(host);
  EXPECT_EQ(Kept(), 2);
}

TEST_F(DrainBrakeTest, LogsHostileReasonsOnOneLine) {
  Start(4);
  DrainQuestion question;
  question.set_question_id(7);
  question.set_reason("a\n<3>forged\x1b[2J");
  EXPECT_EQ(brake_->Ask("server0", question).question_id(), 7u);
  EXPECT_THAT(log_.Lines(), Not(HasSubstr("\n<3>forged")));
}

}  // namespace
}  // namespace clusterd
