// A change that would go back by itself, with the real programs: kept by a
// person after its host was killed, and nothing else while it waits.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/change_cluster.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ConfirmedChangeTest, WaitsOverAKillAndStaysOnceItIsConfirmed) {
  ChangeCluster cluster(2);
  cluster.Break("server0", {"3:address=192.168.9.9"});
  cluster.StartAll();
  cluster.Plan();
  const ServerState before = cluster.Server("server0");
  const ChangeOutcome applied = cluster.Apply({"--confirm-within", "30m"});
  ASSERT_EQ(applied.process.exit_status, 0) << applied.process.standard_error;
  const std::string id = applied.report.apply_id();
  EXPECT_EQ(applied.report.confirmation().state(), Confirmation::PENDING);
  EXPECT_THAT(cluster.ShowText(id),
              HasSubstr(absl::StrCat("unless: clusterctl confirm ", id)));

  cluster.KillHost("server0");
  cluster.StartHost("server0");
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")),
              Not(IsEmpty()));
  const ChangeOutcome second = cluster.Apply();
  EXPECT_EQ(second.process.exit_status, 2);
  EXPECT_THAT(second.process.standard_error,
              HasSubstr("waits to be confirmed until"));
  const ProcessResult extended = cluster.RunClusterctl({"extend", id, "10m"});
  EXPECT_EQ(extended.exit_status, 0) << extended.standard_error;

  cluster.RunClusterctl({"confirm", id});
  EXPECT_TRUE(WaitUntil([&] {
    const Confirmation now = cluster.Show(id).confirmation();
    return now.state() == Confirmation::CONFIRMED && now.untold().empty();
  })) << cluster.ShowText(id);
  EXPECT_THAT(cluster.ShowText(id), HasSubstr("confirmed by admin"));
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")),
              Not(IsEmpty()));
  EXPECT_EQ(cluster.RollBack(id).process.exit_status, 0);
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")), IsEmpty());
}

TEST(ConfirmedChangeTest, NeedsNobodyWithAutoConfirmAndItsRollbackEndsIt) {
  ChangeCluster cluster(2);
  cluster.Break("server0", {"3:address=192.168.9.9"});
  cluster.StartAll();
  cluster.Plan();
  const ServerState before = cluster.Server("server0");
  const ChangeOutcome waits = cluster.Apply({"--confirm-within", "30m"});
  ASSERT_EQ(waits.process.exit_status, 0) << waits.process.standard_error;
  EXPECT_EQ(cluster.RollBack(waits.report.apply_id()).process.exit_status, 0);
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")), IsEmpty());

  cluster.Plan();
  const ChangeOutcome again =
      cluster.Apply({"--confirm-within", "30m", "--auto-confirm"});
  ASSERT_EQ(again.process.exit_status, 0) << again.process.standard_error;
  EXPECT_TRUE(WaitUntil([&] {
    return cluster.Show(again.report.apply_id()).confirmation().state() ==
           Confirmation::CONFIRMED;
  })) << cluster.ShowText(again.report.apply_id());
}

}  // namespace
}  // namespace clusterd
