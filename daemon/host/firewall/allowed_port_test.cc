#include "daemon/host/firewall/allowed_port.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParseAllowedPortsTest, ReadsRangesWithEitherSign) {
  const auto colon =
      ParseAllowedPorts("60000:60031/tcp", ':', "10.0.0.1").value();
  EXPECT_EQ(colon[0].first_port(), 60000u);
  EXPECT_EQ(colon[0].last_port(), 60031u);
  EXPECT_EQ(colon[0].protocol(), "tcp");
  EXPECT_EQ(colon[0].source(), "10.0.0.1");
  EXPECT_TRUE(ParseAllowedPorts("60000-60031/udp", '-', "").ok());
}

TEST(ParseAllowedPortsTest, ReadsLists) {
  const auto ports = ParseAllowedPorts("22,80:90", ':', "").value();
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[1].last_port(), 90u);
  EXPECT_EQ(ports[1].protocol(), "");
}

TEST(ParseAllowedPortsTest, RejectsWhatIsNoPort) {
  for (const char* text : {"", "ssh", "22/sctp", "22/", "65536", "90:80",
                           "1:", ":1", "1,,2", "-1", "000022"}) {
    EXPECT_EQ(ParseAllowedPorts(text, ':', "").status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(ParseAllowedSourceTest, ReadsAddressesAndSubnets) {
  EXPECT_EQ(*ParseAllowedSource("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(*ParseAllowedSource("10.0.0.1/32"), "10.0.0.1");
  EXPECT_EQ(*ParseAllowedSource("10.77.3.4/16"), "10.77.0.0/16");
  EXPECT_EQ(*ParseAllowedSource("10.77.0.0/255.255.0.0"), "10.77.0.0/16");
  EXPECT_EQ(*ParseAllowedSource("0.0.0.0/0"), "");
}

TEST(ParseAllowedSourceTest, RejectsWhatIsNoIpv4) {
  for (const char* text : {"", "2001:db8::/32", "10.0.0.0/33", "10.0.0.0/",
                           "10.0.0/8", "host", "10.0.0.0/255.0.255.0"}) {
    EXPECT_EQ(ParseAllowedSource(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

// Returns "100-149/tcp" for each remaining part.
std::vector<std::string> Left(const AllowedPort& allowed,
                              const AllowedPort& taken) {
  const std::optional<std::vector<AllowedPort>> left =
      MinusAllowedPort(allowed, taken);
  if (!left.has_value()) return {"cannot say"};
  std::vector<std::string> texts;
  for (const AllowedPort& port : *left) {
    EXPECT_EQ(port.source(), allowed.source());
    texts.push_back(absl::StrCat(port.first_port(), "-", port.last_port(), "/",
                                 port.protocol()));
  }
  return texts;
}

const AllowedPort& Base() {
  static const auto& base =
      *new AllowedPort(MakeAllowedPort(100, 200, "tcp", "10.0.0.0/8"));
  return base;
}

TEST(MinusAllowedPortTest, LeavesWhatTheRuleDoesNotTouch) {
  for (const AllowedPort& taken : {
           MakeAllowedPort(201, 300, "tcp", ""),
           MakeAllowedPort(0, 99, "", ""),
           MakeAllowedPort(100, 200, "udp", ""),
           MakeAllowedPort(100, 200, "tcp", "11.0.0.1"),
       }) {
    EXPECT_THAT(Left(Base(), taken), ElementsAre("100-200/tcp"));
  }
}

TEST(MinusAllowedPortTest, TakesPortsOut) {
  EXPECT_THAT(Left(Base(), MakeAllowedPort(150, 160, "tcp", "")),
              ElementsAre("100-149/tcp", "161-200/tcp"));
  EXPECT_THAT(Left(Base(), MakeAllowedPort(0, 100, "", "10.0.0.0/8")),
              ElementsAre("101-200/tcp"));
  EXPECT_THAT(Left(Base(), MakeAllowedPort(0, 65535, "", "")), IsEmpty());
}

TEST(MinusAllowedPortTest, LeavesTheOtherProtocolWhole) {
  EXPECT_THAT(Left(MakeAllowedPort(0, 65535, "", ""),
                   MakeAllowedPort(22, 22, "tcp", "")),
              ElementsAre("0-65535/udp", "0-21/tcp", "23-65535/tcp"));
}

TEST(MinusAllowedPortTest, CannotSayWhatIsLeftOfSomeSources) {
  EXPECT_THAT(Left(Base(), MakeAllowedPort(150, 150, "tcp", "10.1.0.0/16")),
              ElementsAre("cannot say"));
  EXPECT_THAT(Left(MakeAllowedPort(150, 150, "", ""),
                   MakeAllowedPort(150, 150, "tcp", "10.1.0.0/16")),
              ElementsAre("cannot say"));
}

}  // namespace
}  // namespace clusterd
