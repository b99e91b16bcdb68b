// Changes with automatic rollback, with the real programs. A change that waits
// blocks all others. A person confirms it after its host was killed, or it is
// rolled back.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/change_cluster.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ConfirmedChangeTest, WaitsOverAKillAndStaysOnceItIsConfirmed) {
  ChangeCluster cluster(2);
  cluster.Break("server0", {"3:address=192.168.9.9"});
  cluster.StartAllAndPlan();
  const ServerState before = cluster.Server("server0");
  const ChangeOutcome applied = cluster.Apply({"--confirm-within", "30m"});
  ASSERT_EQ(applied.process.exit_status, 0) << applied.process.standard_error;
  const std::string id = applied.report.apply_id();
  EXPECT_EQ(applied.report.confirmation().state(), Confirmation::PENDING);
  EXPECT_THAT(
      cluster.ShowText(id),
      HasSubstr(absl::StrCat("to keep it, run: clusterctl confirm ", id)));

  cluster.KillHost("server0");
  cluster.StartHost("server0");
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")),
              Not(IsEmpty()));
  const ChangeOutcome second = cluster.Apply();
  EXPECT_EQ(second.process.exit_status, 2);
  EXPECT_THAT(second.process.standard_error,
              Tells("msg-change-waits-for-confirmation"));
  const ProcessResult extended = cluster.RunClusterctl({"extend", id, "10m"});
  EXPECT_EQ(extended.exit_status, 0) << extended.standard_error;

  cluster.RunClusterctl({"confirm", id});
  EXPECT_TRUE(WaitUntil([&] {
    const Confirmation now = cluster.Show(id).confirmation();
    return now.state() == Confirmation::CONFIRMED && now.pending().empty();
  })) << cluster.ShowText(id);
  EXPECT_THAT(cluster.ShowText(id),
              AllOf(HasSubstr("CONFIRMED: 1 applied of 1 host"),
                    HasSubstr("confirmed by admin")));
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")),
              Not(IsEmpty()));
  EXPECT_EQ(cluster.RollBack(id).process.exit_status, 0);
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")), IsEmpty());
}

// Searches the history, which also has checks of the applied changes.
std::string SummaryOf(const ChangeCluster& cluster, const std::string& id) {
  for (const HistoryEntry& entry : cluster.History()) {
    if (entry.id() == id) return entry.summary();
  }
  return "";
}

// Waits for the shortest possible deadline.
TEST(ConfirmedChangeTest, RevertsWithoutConfirmationThoughClusterdWasKilled) {
  ChangeCluster cluster(1);
  cluster.Break("server0", {"host:somaxconn=128", "host:persistent=none",
                            "3:address=192.168.9.9"});
  cluster.StartAllAndPlan();
  const ServerState before = cluster.Server("server0");
  const absl::Duration within = absl::Seconds(60);
  const absl::Time start = absl::Now();
  // Also on a machine so slow that the deadline has passed by now.
  const auto expect_not_yet_back = [&] {
    const ServerState now = cluster.Server("server0");
    if (absl::Now() - start >= within) return;
    EXPECT_THAT(DifferencesFrom(before, now), Not(IsEmpty()));
  };
  const ChangeOutcome applied = cluster.Apply({"--confirm-within", "60s"});
  ASSERT_EQ(applied.process.exit_status, 0) << applied.process.standard_error;
  const std::string id = applied.report.apply_id();
  cluster.KillHost("server0");
  expect_not_yet_back();
  cluster.StartHost("server0");
  expect_not_yet_back();

  cluster.host("server0").ExpectError(
      absl::StrCat("apply ", id, " was not confirmed: ROLLED_BACK"),
      within + kPatience);
  EXPECT_GE(absl::Now() - start, within);
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")), IsEmpty());
  EXPECT_TRUE(WaitUntil([&] {
    return SummaryOf(cluster, id) == "1 host; 1 rolled back; not confirmed";
  })) << SummaryOf(cluster, id);
  const ApplyReport shown = cluster.Show(id);
  EXPECT_EQ(shown.confirmation().state(), Confirmation::REVERTING);
  EXPECT_EQ(shown.hosts(0).outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_TRUE(shown.hosts(0).not_confirmed());
  EXPECT_THAT(cluster.ShowText(id),
              AllOf(HasSubstr("ROLLED BACK: 1 rolled back of 1 host"),
                    HasSubstr("rolled back automatically: not confirmed by")));
  EXPECT_THAT(cluster.RunClusterctl({"confirm", id}).standard_error,
              HasSubstr("its deadline has passed"));
}

}  // namespace
}  // namespace clusterd
