// A user changes an applied value later, with the real programs: clusterctl
// shows both values, and the controller restores it only if the spec says so.
#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/change_cluster.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSomaxconn[] = "/proc/sys/net/core/somaxconn";

std::string Somaxconn(const ChangeCluster& cluster, const std::string& host) {
  return TextOfFile(cluster.Root(host) + kSomaxconn);
}

// Applies on two servers, and changes a value of server1 while its clusterd is
// stopped; from then on it allows only `allows`, if given. Returns the apply's
// id.
std::string ApplyAndMove(ChangeCluster& cluster,
                         const std::string& allows = "") {
  cluster.Break("server0", {"host:somaxconn=4096"});
  cluster.Break("server1", {"host:somaxconn=4096"});
  cluster.StartAllAndPlan();
  const ChangeOutcome applied = cluster.Apply();
  EXPECT_EQ(applied.process.exit_status, 0) << applied.process.standard_error;
  EXPECT_EQ(cluster.host("server1").EndBy(SIGTERM).exit_status, 0);
  cluster.Break("server1", {"host:somaxconn=1024"});
  if (!allows.empty()) cluster.Allow("server1", allows);
  cluster.StartHost("server1");
  return applied.report.apply_id();
}

TEST(DriftTest, IsShownByHostsAndCheckWithBothValues) {
  ChangeCluster cluster(2);
  const std::string id = ApplyAndMove(cluster);
  ASSERT_TRUE(WaitUntil([&] {
    return cluster.Entry("server1").drift().value().drifts_size() == 1;
  }));
  const AppliedDrift drift = cluster.Entry("server1").drift().value().drifts(0);
  EXPECT_EQ(drift.why(),
            Say("plan-say-drifted", "net.core.somaxconn", 1024, 65535));
  EXPECT_EQ(drift.apply_id(), id);
  EXPECT_EQ(drift.applied_by(), "spiffe://demo/user/admin/role/admin");
  EXPECT_EQ(cluster.Entry("server0").drift().value().drifts_size(), 0);
  const ProcessResult hosts = cluster.RunClusterctl({"hosts"});
  EXPECT_THAT(hosts.standard_output, HasSubstr("1 drifted"));

  const CheckOutcome check = cluster.Check();
  EXPECT_EQ(check.process.exit_status, 1);
  EXPECT_EQ(StateOf(check.report, "drift"), WARN);
  const std::vector<Finding> findings = FindingsOf(check.report, "drift");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].subjects(0).host(), "server1");
  EXPECT_EQ(findings[0].observed(), drift.why());
  EXPECT_THAT(findings[0].expected(), AllOf(HasSubstr("65535"), HasSubstr(id)));
  EXPECT_THAT(findings[0].fix(),
              HasSubstr(absl::StrCat("clusterctl rollback ", id)));
  // Nothing is restored unless the spec says so.
  EXPECT_EQ(Somaxconn(cluster, "server1"), "1024\n");

  // A rollback would also undo that user's change.
  const ChangeOutcome back = cluster.RollBack(id);
  EXPECT_EQ(back.process.exit_status, 1);
  EXPECT_EQ(back.Host("server0").outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(back.Host("server1").outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(back.Host("server1").error(),
              AllOf(HasSubstr("net.core.somaxconn"), HasSubstr("65535"),
                    HasSubstr("1024")));
  EXPECT_EQ(Somaxconn(cluster, "server0"), "4096\n");
  EXPECT_EQ(Somaxconn(cluster, "server1"), "1024\n");
}

TEST(DriftTest, IsPutBackByItselfWhereTheSpecSaysSo) {
  ChangeCluster cluster(2, ChangeSpec(2) + "enforce: {sysctl: true}\n");
  const std::string id = ApplyAndMove(cluster);
  std::string enforced;
  ASSERT_TRUE(WaitUntil([&] {
    for (const HistoryEntry& entry : cluster.History()) {
      if (entry.actor() == "spiffe://demo/controller" &&
          entry.kind() == HISTORY_APPLY && entry.outcome() == "succeeded") {
        enforced = entry.id();
      }
    }
    return !enforced.empty();
  }));
  EXPECT_EQ(Somaxconn(cluster, "server1"), "65535\n");
  EXPECT_TRUE(cluster.Show(enforced).enforced());
  EXPECT_THAT(
      cluster.ShowText(enforced),
      AllOf(HasSubstr("by clusterd-controller"), HasSubstr("(enforce")));
  EXPECT_TRUE(WaitUntil([&] {
    const DriftFact drift = cluster.Entry("server1").drift();
    return drift.has_value() && drift.value().drifts().empty();
  }));
  EXPECT_EQ(StateOf(cluster.Check().report, "drift"), PASS);

  // An enforced change ends when its apply is rolled back.
  EXPECT_EQ(cluster.RollBack(id).process.exit_status, 0);
  EXPECT_EQ(Somaxconn(cluster, "server1"), "4096\n");
  EXPECT_EQ(StateOf(cluster.Check().report, "drift"), PASS);
}

// A change that the host would refuse is not tried.
TEST(DriftTest, IsLeftAloneWhereTheHostDoesNotAllowTheKind) {
  ChangeCluster cluster(2, ChangeSpec(2) + "enforce: {sysctl: true}\n");
  ApplyAndMove(cluster, "observe");
  cluster.controller().ExpectError("does not allow sysctl");
  EXPECT_EQ(Somaxconn(cluster, "server1"), "1024\n");
  for (const HistoryEntry& entry : cluster.History()) {
    EXPECT_NE(entry.actor(), "spiffe://demo/controller") << entry.summary();
  }
}

}  // namespace
}  // namespace clusterd
