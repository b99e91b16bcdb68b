#include "daemon/host/ascend950/command_line.h"

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace clusterd {
namespace ascend950 {
namespace {

TEST(QueryArgumentsTest, PutsModeFirstAndTheDeviceByName) {
  const struct {
    Query query;
    const char* line;
  } kCases[] = {
      {Query::kDeviceInfo, "-g -dev_info -i 3"},
      {Query::kNetHealth, "-g -net_health -i 3"},
      {Query::kDetectAddress, "-g -netdetect -i 3"},
      {Query::kTls, "-g -tls -i 3"},
      {Query::kRecoveryStatus, "-g -cfg_recovery -i 3"},
      {Query::kAddress, "-g -ip -i 3 -d bond3"},
      {Query::kGateway, "-g -gateway -i 3 -d bond3"},
      {Query::kMtu, "-g -mtu -i 3 -d bond3"},
      {Query::kLldp, "-g -lldp -i 3 -d bond3"},
  };
  for (const auto& test_case : kCases) {
    EXPECT_EQ(absl::StrJoin(QueryArguments(test_case.query, 3, "bond3"), " "),
              test_case.line);
  }
}

TEST(LinkArgumentsTest, NamesOnePortOfOneDie) {
  EXPECT_EQ(absl::StrJoin(LinkArguments(0, 1, 4), " "),
            "-g -link -i 0 -u 1 -p 4");
}

TEST(RecoveryArgumentsTest, AreThoseOfTheDriversBootScript) {
  EXPECT_EQ(absl::StrJoin(RecoveryArguments(7), " "), "-s -cfg_recovery -i 7");
}

}  // namespace
}  // namespace ascend950
}  // namespace clusterd
