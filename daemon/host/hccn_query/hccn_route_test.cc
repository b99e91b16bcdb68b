#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/query_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::string_view kHeadings =
    "Routing table:\n"
    "Destination     Gateway         Genmask         Flags Metric Ref    Use "
    "Iface\n";

void ExpectRejected(absl::string_view output, const std::string& said) {
  const absl::Status status = ParseHccnRoutes(output).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << output;
  EXPECT_THAT(std::string(status.message()), HasSubstr(said)) << output;
}

TEST(ParseHccnRoutesTest, ReadsTheDefaultRouteAndSubnets) {
  const auto routes = ParseHccnRoutes(absl::StrCat(
      kHeadings,
      "default         29.1.0.1        0.0.0.0         UG    3      0        0 "
      "eth3\n"
      "192.168.1.0     *               255.255.255.0   U     0      0        0 "
      "end3v0\n\n"));
  ASSERT_TRUE(routes.ok()) << routes.status();
  ASSERT_THAT(*routes, SizeIs(2));
  const HccnRoute& first = routes->front();
  EXPECT_EQ(first.destination.ToString(), "0.0.0.0/0");
  ASSERT_TRUE(first.gateway.has_value());
  EXPECT_EQ(first.gateway->ToString(), "29.1.0.1");
  const HccnRoute& second = routes->back();
  EXPECT_EQ(second.destination.ToString(), "192.168.1.0/24");
  EXPECT_FALSE(second.gateway.has_value());
}

TEST(ParseHccnRoutesTest, ReadsATableWithoutRoutes) {
  const auto routes = ParseHccnRoutes(kHeadings);
  ASSERT_TRUE(routes.ok()) << routes.status();
  EXPECT_THAT(*routes, IsEmpty());
}

TEST(ParseHccnRoutesTest, RejectsATableWithoutItsHeadings) {
  ExpectRejected("", "unexpected \"\", expected \"Routing table:\"");
  ExpectRejected("Routing table:\n\n", "names of the columns");
  ExpectRejected("Routing table:\nDestination Gateway\n",
                 "unexpected \"Destination Gateway\"");
}

TEST(ParseHccnRoutesTest, RejectsRowsThatItCannotTrust) {
  for (const char* row : {
           "default 29.1.0.1 0.0.0.0 UG 0 0 eth3",
           "default 29.1.0.1 0.0.0.0 UG 0 0 0 eth3 x",
           "default 29.1.0.1 255.0.0.0 UG 0 0 0 eth3",
           "10.0.0.1 * 255.255.255.0 U 0 0 0 eth0",
           "10.0.0.0 * 255.0.255.0 U 0 0 0 eth0",
           "localnet * 255.0.0.0 U 0 0 0 eth0",
           "10.0.0.0 gw.example 255.0.0.0 UG 0 0 0 eth0",
           "10.0.0.0 * 255.0.0.0 U x 0 0 eth0",
           "10.0.0.0 * 255.0.0.0 U 0 -1 0 eth0",
       }) {
    ExpectRejected(absl::StrCat(kHeadings, row, "\n"),
                   absl::StrCat("unexpected \"", row, "\""));
  }
}

}  // namespace
}  // namespace clusterd
