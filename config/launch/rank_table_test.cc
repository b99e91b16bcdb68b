#include "config/launch/rank_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The shape of the second seed document, two devices a server.
constexpr char kTwoServers[] = R"({
  "server_count":"2",
  "server_list":[
    {"device":[
       {"device_id":"0","device_ip":"192.168.100.101","rank_id":"0"},
       {"device_id":"1","device_ip":"192.168.101.101","rank_id":"1"}],
     "server_id":"192.168.7.22"},
    {"device":[
       {"device_id":"0","device_ip":"192.168.100.111","rank_id":"2"},
       {"device_id":"1","device_ip":"192.168.101.111","rank_id":"3"}],
     "server_id":"192.168.7.23"}],
  "status":"completed",
  "version":"1.0"})";

constexpr char kSuperPod[] = R"({
  "status":"completed","version":"1.2","server_count":"2",
  "server_list":[
    {"server_id":"node_0","device":[
      {"device_id":"0","rank_id":"0","super_device_id":"0"},
      {"device_id":"1","rank_id":"1","super_device_id":"1"}]},
    {"server_id":"node_1","device":[
      {"device_id":"0","rank_id":"2","super_device_id":"65536"},
      {"device_id":"1","rank_id":"3","super_device_id":"65537"}]}],
  "super_pod_list":[{"super_pod_id":"0","server_list":[
      {"server_id":"node_0"},{"server_id":"node_1"}]}]})";

struct Mistake {
  const char* name;
  const char* from;
  const char* to;
  const char* expected;
};

class RankTableMistakeTest : public testing::TestWithParam<Mistake> {};

std::string MessageOf(absl::string_view text) {
  const absl::StatusOr<RankTable> table = ParseRankTable(text);
  return table.ok() ? "ok" : std::string(table.status().message());
}

TEST(RankTableTest, ReadsVersionOne) {
  const absl::StatusOr<RankTable> table = ParseRankTable(kTwoServers);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->completed);
  ASSERT_EQ(table->servers.size(), 2u);
  EXPECT_EQ(table->servers[1].server_id, "192.168.7.23");
  EXPECT_EQ(table->servers[1].devices[1].rank_id, 3u);
  EXPECT_THAT(table->servers[1].devices[0].device_ips,
              ElementsAre("192.168.100.111"));
}

TEST(RankTableTest, ReadsASuperPodWithoutDeviceAddresses) {
  const absl::StatusOr<RankTable> table = ParseRankTable(kSuperPod);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->super_pods.size(), 1u);
  EXPECT_THAT(table->super_pods[0].server_ids, ElementsAre("node_0", "node_1"));
  EXPECT_EQ(table->servers[1].devices[0].super_device_id, "65536");
}

TEST(RankTableTest, KeepsATableThatIsStillBeingWritten) {
  const std::string text =
      absl::StrReplaceAll(kTwoServers, {{"completed", "initializing"}});
  const absl::StatusOr<RankTable> table = ParseRankTable(text);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FALSE(table->completed);
}

TEST(RankTableTest, NamesEveryMistakeAtOnce) {
  const std::string text = absl::StrReplaceAll(
      kTwoServers, {{"\"rank_id\":\"0\"", "\"rank_id\":0"},
                    {"192.168.101.111", "192.168.101.300"},
                    {"\"server_id\":\"192.168.7.23\"", "\"server_id\":\"\""}});
  const std::string message = MessageOf(text);
  EXPECT_THAT(message, HasSubstr("server_list[0].device[0].rank_id: number 0, "
                                 "expected a JSON string (EI0017)"));
  EXPECT_THAT(message, HasSubstr("server_list[1].device[1].device_ip: "
                                 "\"192.168.101.300\", expected an IP"));
  EXPECT_THAT(message, HasSubstr("server_list[1].server_id: \"\""));
}

TEST(RankTableTest, LeavesOtherVersionsAlone) {
  for (const char* version : {"1.1", "2.0", "7"}) {
    const std::string text = absl::StrReplaceAll(
        kTwoServers, {{"\"1.0\"", absl::StrCat("\"", version, "\"")}});
    EXPECT_TRUE(absl::IsUnimplemented(ParseRankTable(text).status()));
    EXPECT_THAT(MessageOf(text), HasSubstr(version));
  }
  EXPECT_TRUE(absl::IsUnimplemented(ParseRankTable("{}").status()));
}

TEST(RankTableTest, RefusesWhatIsNoJsonObject) {
  for (const char* text : {"", "[]", "{", "\"1.0\"", "rank_id=0"}) {
    EXPECT_THAT(MessageOf(text), HasSubstr("EI0004")) << text;
  }
}

TEST_P(RankTableMistakeTest, IsNamedWithItsPlace) {
  const Mistake& mistake = GetParam();
  const bool pod = absl::string_view(mistake.name).substr(0, 3) == "Pod";
  const std::string good = pod ? kSuperPod : kTwoServers;
  const std::string bad =
      absl::StrReplaceAll(good, {{mistake.from, mistake.to}});
  ASSERT_NE(good, bad);
  EXPECT_THAT(MessageOf(bad), HasSubstr(mistake.expected));
}

INSTANTIATE_TEST_SUITE_P(
    Every, RankTableMistakeTest,
    testing::Values(
        Mistake{"ServerCount", "\"server_count\":\"2\"",
                "\"server_count\":\"3\"",
                "server_count: \"3\", expected \"2\""},
        Mistake{"ServerIdTwice", "192.168.7.23", "192.168.7.22",
                "server_list[1].server_id: \"192.168.7.22\" stands at "
                "server_list[0].server_id"},
        Mistake{"RankTwice", "\"rank_id\":\"3\"", "\"rank_id\":\"2\"",
                "rank_id: twice 2, expected 0 to 3"},
        Mistake{"RankMissing", "\"rank_id\":\"3\"", "\"rank_id\":\"4\"",
                "rank_id: out of turn 4"},
        Mistake{"RankNegative", "\"rank_id\":\"3\"", "\"rank_id\":\"-3\"",
                "rank_id: \"-3\", expected a decimal number"},
        Mistake{"AddressTwice", "192.168.100.111", "192.168.100.101",
                "stands at server_list[0].device[0].device_ip already"},
        Mistake{"NoAddress", "\"device_ip\":\"192.168.100.111\",", "",
                "device_ip: is not set"},
        Mistake{"AddressCounts", "\"192.168.100.111\"",
                "\"192.168.100.111,10.0.0.1\"", "2 addresses, expected 1"},
        Mistake{"DeviceTwice",
                "\"device_id\":\"1\",\"device_ip\":\"192.168.101.111\"",
                "\"device_id\":\"0\",\"device_ip\":\"192.168.101.111\"",
                "server_list[1].device[1].device_id: \"0\" stands at"},
        Mistake{"NoStatus", "\"status\":\"completed\",", "",
                "status: is missing"},
        Mistake{"NoServers", "\"server_list\"", "\"servers\"",
                "server_list: is missing"},
        Mistake{"PodUnknownServer", "{\"server_id\":\"node_1\"}]}]",
                "{\"server_id\":\"node_7\"}]}]",
                "\"node_7\" is not in server_list"},
        Mistake{"PodServerLeftOut", ",{\"server_id\":\"node_1\"}]}]", "]}]",
                "\"node_1\" is in no super pod"},
        Mistake{"PodDeviceTwice", "65537", "65536",
                "\"0/65536\" stands at server_list[1].device[0]"},
        Mistake{"PodDeviceIdEmpty", "\"65537\"", "\"\"",
                "super_device_id: \"\", expected a decimal number"}),
    [](const testing::TestParamInfo<Mistake>& info) {
      return info.param.name;
    });

TEST(RankTableTest, ReportsServersOfDifferentSize) {
  const std::string text = absl::StrReplaceAll(
      kTwoServers,
      {{",\n       {\"device_id\":\"1\",\"device_ip\":\"192.168.101.111\","
        "\"rank_id\":\"3\"}",
        ""}});
  EXPECT_THAT(MessageOf(text),
              HasSubstr("server_list[1].device: 1 devices, expected 2"));
}

}  // namespace
}  // namespace clusterd
