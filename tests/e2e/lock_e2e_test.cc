// clusterctl lock and unlock against real programs, and over a restart.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LockTest, HoldsForUsersAndHostsUntilItIsTakenBack) {
  DemoCluster cluster(DemoSpec(1), {"server0"});
  cluster.AddUser("vera", "viewer");
  cluster.StartAll();
  EXPECT_EQ(cluster.RunClusterctl({"hosts"}, "vera").exit_status, 0);
  EXPECT_EQ(cluster.RunClusterctl({"lock", "server0"}, "vera").exit_status, 2);
  EXPECT_EQ(cluster.RunClusterctl({"lock", "user/admin"}).exit_status, 3);

  const ProcessResult user = cluster.RunClusterctl({"lock", "user/vera"});
  EXPECT_EQ(user.exit_status, 0) << user.standard_error;
  const ProcessResult host =
      cluster.RunClusterctl({"lock", "server0", "--reason", "stolen"});
  EXPECT_EQ(host.exit_status, 0) << host.standard_error;
  EXPECT_THAT(host.standard_output, HasSubstr("stolen (1 stream ended)"));
  cluster.host("server0").ExpectError("is locked since");

  // A restarted controller still has its locks.
  cluster.controller().EndBy(SIGTERM);
  cluster.StartController();
  const ProcessResult refused = cluster.RunClusterctl({"hosts"}, "vera");
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.standard_error,
              AllOf(HasSubstr("spiffe://demo/user/vera"),
                    HasSubstr("is locked since")));
  EXPECT_THAT(cluster.RunClusterctl({"locks"}).standard_output,
              AllOf(HasSubstr("host/server0: locked since"),
                    HasSubstr("user/vera: locked since")));
  EXPECT_EQ(cluster.RunClusterctl({"unlock", "host/server0"}).exit_status, 0);
  cluster.controller().ExpectError("host server0: attached from");
}

// Only the history shows that the folder is not new.
TEST(LockTest, ControllerWithAHistoryDoesNotStartWithoutItsLocks) {
  DemoCluster cluster(DemoSpec(1), {"server0"});
  cluster.StartController();
  EXPECT_EQ(cluster.RunClusterctl({"lock", "user/vera"}).exit_status, 0);
  // Its only host is detached.
  EXPECT_NE(cluster.RunClusterctl({"check"}).exit_status, 0);
  cluster.controller().EndBy(SIGTERM);
  for (const char* gone : {"locks.db", "locks.sum", "audit.jsonl"}) {
    EXPECT_TRUE(std::filesystem::remove(cluster.folder() + "/state/" + gone));
  }
  const ProcessResult refused = RunProgram(cluster.ControllerCommand());
  EXPECT_NE(refused.exit_status, 0);
  EXPECT_THAT(refused.standard_error,
              Tells("msg-hub-locks-not-opened", kAny, "locks.db", "locks.sum"));
  std::ofstream(cluster.folder() + "/state/locks.sum") << "accept";
  cluster.StartController();
}

}  // namespace
}  // namespace clusterd
