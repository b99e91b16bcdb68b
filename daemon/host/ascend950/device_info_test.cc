#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "daemon/host/ascend950/dialect.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace ascend950 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns the golden input without the lines that name its source.
std::string Golden() {
  return GoldenText("tests/testdata/ascend950/dev_info.txt");
}

constexpr char kInterfaces[] =
    "| Interface Name | IP Address | Netmask | Bond Mode | Slaves |\n";

TEST(ParseDeviceInfoTest, ReadsPortsAndBonds) {
  const DeviceInfo info = ParseDeviceInfo(Golden()).value();
  ASSERT_EQ(info.ports.size(), 2u);
  EXPECT_EQ(info.ports[0].udie, 0u);
  EXPECT_EQ(info.ports[0].port, 4u);
  EXPECT_EQ(info.ports[0].type, "UB");
  EXPECT_EQ(info.ports[1].udie, 1u);
  EXPECT_EQ(info.ports[1].port, 8u);
  EXPECT_EQ(info.ports[1].type, "ETH");
  EXPECT_THAT(info.bonds, ElementsAre("bond0"));
}

TEST(ParseDeviceInfoTest, AcceptsACardWithoutPorts) {
  const DeviceInfo info =
      ParseDeviceInfo(std::string(kInterfaces) +
                      "| end0v0 | 192.168.2.199 | 255.255.255.0 | NA | NA |\n")
          .value();
  EXPECT_THAT(info.ports, IsEmpty());
  EXPECT_THAT(info.bonds, IsEmpty());
}

TEST(ParseDeviceInfoTest, TakesOnlyBondNamesThatTheToolTakes) {
  const DeviceInfo info =
      ParseDeviceInfo(std::string(kInterfaces) +
                      "| bond | 10.0.0.1 | 255.0.0.0 | NA | NA |\n"
                      "| bond0 -x | 10.0.0.1 | 255.0.0.0 | NA | NA |\n"
                      "| bond1234567890 | 10.0.0.1 | 255.0.0.0 | NA | NA |\n"
                      "| bond12 | 10.0.0.1 | 255.0.0.0 | NA | NA |\n")
          .value();
  EXPECT_THAT(info.bonds, ElementsAre("bond12"));
}

TEST(ParseDeviceInfoTest, QuotesWhatItDoesNotKnow) {
  const struct {
    std::string output;
    const char* message;
  } kCases[] = {
      {"", "no table of interfaces"},
      {"link status: UP\n", "no table row in \"link status: UP\""},
      {"| 0 | 4 | 400 | UB | UP | Electrical |\n", "does not fit its header"},
      {absl::StrReplaceAll(Golden(), {{"| ETH ", "| IB  "}}),
       "an unknown port type"},
      {absl::StrReplaceAll(Golden(), {{"| 1       | 8 ", "| 1       | x "}}),
       "no port id"},
      {absl::StrReplaceAll(Golden(), {{"Port Type", "Type"}}),
       "an unknown port table"},
      {absl::StrReplaceAll(Golden(), {{"| Bond Mode ", ""}}),
       "does not fit its header"},
  };
  for (const auto& test_case : kCases) {
    const absl::Status status = ParseDeviceInfo(test_case.output).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << test_case.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test_case.message));
  }
}

}  // namespace
}  // namespace ascend950
}  // namespace clusterd
