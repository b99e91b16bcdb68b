#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/firewall/firewall_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

TEST(ParseAllowedPortsTest, ReadsRangesWithEitherSignAndLists) {
  const auto colon =
      ParseAllowedPorts("60000:60031/tcp", ':', "10.0.0.1").value();
  EXPECT_THAT(colon[0], HasFields(R"(
      first_port: 60000 last_port: 60031 protocol: "tcp" source: "10.0.0.1")"));
  EXPECT_TRUE(ParseAllowedPorts("60000-60031/udp", '-', "").ok());
  const auto list = ParseAllowedPorts("22,80:90", ':', "").value();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].last_port(), 90u);
  EXPECT_EQ(list[1].protocol(), "");
}

TEST(ParseAllowedPortsTest, RejectsWhatIsNoPort) {
  for (const char* text : {"", "ssh", "22/sctp", "22/", "65536", "90:80",
                           "1:", ":1", "1,,2", "-1", "000022"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(ParseAllowedPorts(text, ':', "").status()))
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
    EXPECT_TRUE(absl::IsInvalidArgument(ParseAllowedSource(text).status()))
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

TEST(MinusAllowedPortTest, LeavesWhatTheRuleDoesNotTouch) {
  const AllowedPort base = MakeAllowedPort(100, 200, "tcp", "10.0.0.0/8");
  const struct {
    AllowedPort allowed;
    AllowedPort taken;
    std::vector<std::string> left;
  } kCases[] = {
      {base, MakeAllowedPort(201, 300, "tcp", ""), {"100-200/tcp"}},
      {base, MakeAllowedPort(0, 99, "", ""), {"100-200/tcp"}},
      {base, MakeAllowedPort(100, 200, "udp", ""), {"100-200/tcp"}},
      {base, MakeAllowedPort(100, 200, "tcp", "11.0.0.1"), {"100-200/tcp"}},
      {base,
       MakeAllowedPort(150, 160, "tcp", ""),
       {"100-149/tcp", "161-200/tcp"}},
      {base, MakeAllowedPort(0, 100, "", "10.0.0.0/8"), {"101-200/tcp"}},
      {base, MakeAllowedPort(0, 65535, "", ""), {}},
      // The other protocol stays whole.
      {MakeAllowedPort(0, 65535, "", ""),
       MakeAllowedPort(22, 22, "tcp", ""),
       {"0-65535/udp", "0-21/tcp", "23-65535/tcp"}},
      // Unknown for some sources.
      {base, MakeAllowedPort(150, 150, "tcp", "10.1.0.0/16"), {"cannot say"}},
      {MakeAllowedPort(150, 150, "", ""),
       MakeAllowedPort(150, 150, "tcp", "10.1.0.0/16"),
       {"cannot say"}}};
  for (const auto& [allowed, taken, left] : kCases) {
    EXPECT_EQ(Left(allowed, taken), left)
        << allowed.ShortDebugString() << " - " << taken.ShortDebugString();
  }
}

}  // namespace
}  // namespace clusterd
