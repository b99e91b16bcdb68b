// clusterctl lock and unlock against real programs, and over a restart.
#include <csignal>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"

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
  EXPECT_TRUE(cluster.host("server0").WaitForError("is locked since").ok());

  // After SIGTERM it starts again with its locks.
  cluster.controller().Signal(SIGTERM);
  cluster.controller().Wait();
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
  EXPECT_TRUE(
      cluster.controller().WaitForError("host server0: attached from").ok());
}

}  // namespace
}  // namespace clusterd
