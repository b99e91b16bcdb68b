// The kernel parameters of a container's network namespace, with the real
// programs and a real namespace of this machine's kernel. Needs root, otherwise
// skipped with a note.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/change_cluster.h"
#include "tests/support/host/test_namespace.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSomaxconn[] = "net.core.somaxconn";
constexpr char kReservedPorts[] = "net.ipv4.ip_local_reserved_ports";

class NamespaceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    container_ = TestNamespace::Make(&why);
    if (container_ == nullptr) GTEST_SKIP() << why;
    container_->Set(kSomaxconn, "4096");
    cluster_ = std::make_unique<ChangeCluster>(1);
    // Only clusterd sees this machine's kernel in the simulated server.
    cluster_->LaunchWith("server0",
                         {"/usr/bin/unshare", "--mount", "/bin/sh", "-ec",
                          "mount --rbind /proc \"$0/proc\"\nexec \"$@\"",
                          cluster_->Root("server0")});
    netns_ = {"--netns", absl::StrCat("pid:", container_->pid())};
    cluster_->StartAll();
  }

  std::unique_ptr<TestNamespace> container_;
  std::unique_ptr<ChangeCluster> cluster_;
  std::vector<std::string> netns_;
};

TEST_F(NamespaceTest, IsCheckedPlannedAppliedAndRolledBackByItself) {
  const ServerState server = cluster_->Server("server0");
  const std::string here = GetHere(kSomaxconn);
  const std::string ports = container_->Get(kReservedPorts);
  const CheckOutcome low = cluster_->Check(netns_);
  EXPECT_EQ(low.process.exit_status, 1) << low.process.standard_output;
  EXPECT_EQ(StateOf(low.report, "listen-backlog"), FAIL);
  const std::vector<Finding> findings =
      FindingsOf(low.report, "listen-backlog");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].observed(), HasSubstr("4096"));
  EXPECT_THAT(findings[0].fix(),
              HasSubstr(absl::StrCat("clusterctl plan --netns ", netns_[1])));

  const ClusterPlan plan = cluster_->Plan(netns_);
  EXPECT_EQ(plan.hosts(0).network_namespace().pid(), container_->pid());
  const ChangeOutcome applied = cluster_->Apply();
  EXPECT_EQ(applied.process.exit_status, 0) << applied.process.standard_output;
  EXPECT_EQ(container_->Get(kSomaxconn), "65535");
  EXPECT_NE(container_->Get(kReservedPorts), ports);
  EXPECT_THAT(DifferencesFrom(server, cluster_->Server("server0")), IsEmpty());
  EXPECT_EQ(GetHere(kSomaxconn), here);
  const CheckOutcome good = cluster_->Check(netns_);
  EXPECT_EQ(good.process.exit_status, 0) << good.process.standard_output;
  const HistoryEntry entry = cluster_->History()[1];
  EXPECT_EQ(entry.kind(), HISTORY_APPLY);
  EXPECT_EQ(entry.network_namespace(), netns_[1]);

  const ChangeOutcome back = cluster_->RollBack(applied.report.apply_id());
  EXPECT_EQ(back.process.exit_status, 0) << back.process.standard_output;
  EXPECT_EQ(container_->Get(kSomaxconn), "4096");
  EXPECT_EQ(container_->Get(kReservedPorts), ports);
  EXPECT_THAT(DifferencesFrom(server, cluster_->Server("server0")), IsEmpty());
}

// A container in the namespace of the host or a pod stops; its settings stay.
TEST_F(NamespaceTest, IsRolledBackThoughItsNameLeadsThereNoMore) {
  const std::string ports = container_->Get(kReservedPorts);
  cluster_->Plan(netns_);
  const ChangeOutcome applied = cluster_->Apply();
  ASSERT_EQ(applied.process.exit_status, 0) << applied.process.standard_output;
  const NamespaceGuest guest(*container_);
  container_->End();
  ASSERT_EQ(guest.Get(kSomaxconn), "65535");
  const ChangeOutcome back = cluster_->RollBack(applied.report.apply_id());
  EXPECT_EQ(back.process.exit_status, 0) << back.process.standard_output;
  EXPECT_EQ(guest.Get(kSomaxconn), "4096");
  EXPECT_EQ(guest.Get(kReservedPorts), ports);
}

}  // namespace
}  // namespace clusterd
