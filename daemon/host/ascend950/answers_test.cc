#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "daemon/host/ascend950/dialect.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace ascend950 {
namespace {

std::string ReadFile(const std::string& name) {
  return TestData("tests/testdata/ascend950/" + name);
}

TEST(ParseTlsTest, ReadsBothPublishedForms) {
  EXPECT_EQ(ParseTls(ReadFile("tls.txt"), 0).value(), true);
  EXPECT_EQ(ParseTls("dev_id:3, tls switch[0](0:disable, 1:enable), tls "
                     "preconfigured[0](0:non-preset, 1:preset), tls alarm time "
                     "threshold[60]days\n",
                     3)
                .value(),
            false);
}

TEST(ParseTlsTest, RefusesAnotherDeviceOrValue) {
  const std::string output = ReadFile("tls.txt");
  EXPECT_TRUE(absl::IsInvalidArgument(ParseTls(output, 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseTls("", 0).status()));
  const absl::Status status =
      ParseTls(absl::StrReplaceAll(output, {{"switch[1]", "switch[2]"}}), 0)
          .status();
  EXPECT_THAT(status, HasText("tls switch[2]"));
}

TEST(ParseLldpTest, TakesTheFirstSlavesNeighbour) {
  const LldpNeighbour neighbour = ParseLldp(ReadFile("lldp.txt")).value();
  EXPECT_TRUE(neighbour.heard());
  EXPECT_EQ(neighbour.system_name(), "leaf-01");
  EXPECT_EQ(neighbour.port_id(), "400GE1/1/20:2");
}

TEST(ParseLldpTest, SaysThatNobodyWasHeardOnlyIfNeitherSlaveDid) {
  const std::string silent =
      "[dev_name:ethc0d0e0] LLDP neighbor info:\n\n"
      "[dev_name:ethc0d0e1] LLDP neighbor info:\n\n";
  EXPECT_FALSE(ParseLldp(silent).value().heard());
}

TEST(ParseLldpTest, DoesNotJudgeABondWhoseSlavesDiffer) {
  const std::string output =
      "[dev_name:ethc0d0e0] LLDP neighbor info:\n\n"
      "[dev_name:ethc0d0e1] LLDP neighbor info:\n"
      "Chassis ID TLV\n\tMAC: 00:11:22:33:44:55\n"
      "Port ID TLV\n\tIfname: eth1\nEnd of LLDPDU TLV\n\n";
  const absl::Status status = ParseLldp(output).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(status,
              HasText("\"ethc0d0e0\" hears none and \"ethc0d0e1\" hears one"));
}

TEST(ParseLldpTest, MissesASlaveThatDidNotAnswer) {
  const std::string output = ReadFile("lldp.txt");
  const std::string first =
      output.substr(0, output.find("[dev_name:ethc0d0e1"));
  const absl::Status status = ParseLldp(first).status();
  EXPECT_THAT(status, HasText("answers of 1 slaves of the bond, expected 2"));
}

TEST(ParseLldpTest, RefusesTextWithoutHeaderOrOfAnotherForm) {
  EXPECT_TRUE(absl::IsInvalidArgument(ParseLldp("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseLldp("\n").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      ParseLldp("Chassis ID TLV\n\tMAC: 00:11:22:33:44:55\n").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      ParseLldp("[dev_name:a] LLDP neighbor info:\nport x of switch y\n"
                "[dev_name:b] LLDP neighbor info:\n\n")
          .status()));
}

}  // namespace
}  // namespace ascend950
}  // namespace clusterd
