// A user changes an applied value afterwards, with the real programs: it is
// shown with both values, and restored only if the spec says so.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/change_cluster.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSomaxconn[] = "/proc/sys/net/core/somaxconn";

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DriftTest : public testing::Test {
 protected:
  // Two servers, applied; then a value of server1 moves while its clusterd is
  // away. Leaves the id of the apply in apply_id_.
  void ApplyAndMove(const std::string& spec) {
    cluster_ = std::make_unique<ChangeCluster>(2, spec);
    cluster_->Break("server0", {"host:somaxconn=4096"});
    cluster_->Break("server1", {"host:somaxconn=4096"});
    cluster_->StartAll();
    cluster_->Plan();
    const ChangeOutcome applied = cluster_->Apply();
    ASSERT_EQ(applied.process.exit_status, 0) << applied.process.standard_error;
    apply_id_ = applied.report.apply_id();
    cluster_->host("server1").Signal(SIGTERM);
    ASSERT_EQ(cluster_->host("server1").Wait().exit_status, 0);
    cluster_->Break("server1", {"host:somaxconn=1024"});
    cluster_->StartHost("server1");
  }
  std::string Somaxconn(const std::string& host) const {
    return ReadText(cluster_->Root(host) + kSomaxconn);
  }

  std::unique_ptr<ChangeCluster> cluster_;
  std::string apply_id_;
};

TEST_F(DriftTest, IsShownByHostsAndCheckWithBothValues) {
  ASSERT_NO_FATAL_FAILURE(ApplyAndMove(""));
  ASSERT_TRUE(WaitUntil([this] {
    return cluster_->Entry("server1").drift().value().drifts_size() == 1;
  }));
  const AppliedDrift drift =
      cluster_->Entry("server1").drift().value().drifts(0);
  EXPECT_EQ(drift.why(),
            Say("plan-say-drifted", "net.core.somaxconn", 1024, 65535));
  EXPECT_EQ(drift.apply_id(), apply_id_);
  EXPECT_EQ(drift.applied_by(), "spiffe://demo/user/admin/role/admin");
  EXPECT_EQ(cluster_->Entry("server0").drift().value().drifts_size(), 0);
  const ProcessResult hosts = cluster_->RunClusterctl({"hosts"});
  EXPECT_THAT(hosts.standard_output, HasSubstr("1 drifted"));

  const CheckOutcome check = cluster_->Check();
  EXPECT_EQ(check.process.exit_status, 1);
  EXPECT_EQ(StateOf(check.report, "drift"), WARN);
  const std::vector<Finding> findings = FindingsOf(check.report, "drift");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].subjects(0).host(), "server1");
  EXPECT_EQ(findings[0].observed(), drift.why());
  EXPECT_THAT(findings[0].expected(),
              AllOf(HasSubstr("65535"), HasSubstr(apply_id_)));
  EXPECT_THAT(findings[0].fix(),
              HasSubstr(absl::StrCat("clusterctl rollback ", apply_id_)));
  // Never automatically, unless the spec says so.
  EXPECT_EQ(Somaxconn("server1"), "1024\n");

  // A rollback would also undo that user's change.
  const ChangeOutcome back = cluster_->RollBack(apply_id_);
  EXPECT_EQ(back.process.exit_status, 1);
  EXPECT_EQ(back.Host("server0").outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(back.Host("server1").outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(back.Host("server1").error(),
              AllOf(HasSubstr("net.core.somaxconn"), HasSubstr("65535"),
                    HasSubstr("1024")));
  EXPECT_EQ(Somaxconn("server0"), "4096\n");
  EXPECT_EQ(Somaxconn("server1"), "1024\n");
}

TEST_F(DriftTest, IsPutBackByItselfWhereTheSpecSaysSo) {
  ASSERT_NO_FATAL_FAILURE(
      ApplyAndMove(ChangeSpec(2) + "enforce: {sysctl: true}\n"));
  EXPECT_TRUE(WaitUntil([this] { return Somaxconn("server1") == "65535\n"; }));
  HistoryEntry entry;
  EXPECT_TRUE(WaitUntil([&] {
    const std::vector<HistoryEntry> history = cluster_->History();
    const auto enforced = std::find_if(
        history.begin(), history.end(), [](const HistoryEntry& each) {
          return each.actor() == "spiffe://demo/controller" &&
                 each.kind() == HISTORY_APPLY && each.outcome() == "succeeded";
        });
    if (enforced != history.end()) entry = *enforced;
    return enforced != history.end();
  }));
  const ApplyReport report = cluster_->Show(entry.id());
  EXPECT_TRUE(report.enforced());
  ASSERT_EQ(report.hosts_size(), 1);
  EXPECT_EQ(report.hosts(0).host(), "server1");
  EXPECT_THAT(cluster_->ShowText(entry.id()),
              AllOf(HasSubstr("by clusterd-controller"), HasSubstr("enforce")));
  EXPECT_TRUE(WaitUntil([this] {
    const DriftFact drift = cluster_->Entry("server1").drift();
    return drift.has_value() && drift.value().drifts().empty();
  }));
  EXPECT_EQ(StateOf(cluster_->Check().report, "drift"), PASS);

  // An enforced change ends with the apply that it held up.
  EXPECT_EQ(cluster_->RollBack(apply_id_).process.exit_status, 0);
  EXPECT_EQ(Somaxconn("server1"), "4096\n");
  EXPECT_EQ(StateOf(cluster_->Check().report, "drift"), PASS);
}

}  // namespace
}  // namespace clusterd
