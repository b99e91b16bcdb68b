#include "daemon/controller/fact_run.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// How a run goes on is in check_run_test.cc and plan_run_test.cc.

TEST(NewRunIdTest, GivesSixteenHexDigitsThatDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    const std::string id = NewRunId();
    EXPECT_EQ(id.size(), 16u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
}

TEST(SelectHostsTest, KeepsOrderOfTheSpecAndDropsRepeats) {
  const ClusterSpec spec = MakeSpec("atlas-training", "", 3);
  CheckRequest request;
  request.add_hosts("server2");
  request.add_hosts("server0");
  request.add_hosts("server2");
  EXPECT_THAT(*SelectHosts(spec, request.hosts()),
              ElementsAre("server0", "server2"));
  EXPECT_EQ(SelectHosts(spec, {})->size(), 3u);
}

TEST(SelectHostsTest, NamesHostsThatAreNotThere) {
  CheckRequest request;
  for (int i = 0; i < 25; ++i) request.add_hosts("x" + std::to_string(100 + i));
  const absl::Status status =
      SelectHosts(MakeSpec("atlas-training", "", 1), request.hosts()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("x118, x119 and 5 more"));
  EXPECT_EQ(SelectHosts(ClusterSpec(), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace clusterd
