#include "config/launch/rank_table.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/words/message.h"
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
  EXPECT_EQ(table->status, "completed");
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
  EXPECT_EQ(table->servers[1].devices[0].super_device_id, 65536u);
}

// As the vendor's operator for Kubernetes writes them.
TEST(RankTableTest, TakesFurtherKeys) {
  const std::string text = absl::StrReplaceAll(
      kSuperPod, {{R"("server_id":"node_0","device")",
                   R"("server_id":"node_0","host_ip":"10.0.3.2",)"
                   R"("container_ip":"192.168.149.17",)"
                   R"("hardware_type":"800I-A3-64G","device")"}});
  ASSERT_NE(text, kSuperPod);
  const absl::StatusOr<RankTable> table = ParseRankTable(text);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->servers[0].host_ip, "10.0.3.2");
}

TEST(RankTableTest, KeepsATableThatIsStillBeingWritten) {
  const std::string text =
      absl::StrReplaceAll(kTwoServers, {{"completed", "initializing"}});
  const absl::StatusOr<RankTable> table = ParseRankTable(text);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->status, "initializing");
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

TEST(RankTableTest, SaysItsMistakesInTheUsersLanguage) {
  const absl::Status refused =
      ParseRankTable(absl::StrReplaceAll(kTwoServers, {{"\"3\"", "3"}}))
          .status();
  ASSERT_EQ(MessageLines(refused).size(), 1u);
  EXPECT_EQ(MessageLines(refused)[0].words(), "msg-job-table-not-text");
  const InLanguage chinese(Language::kChinese);
  EXPECT_THAT(ValueText(MessageWords(refused)),
              HasSubstr("rank_id：数字 3，应为 JSON 字符串"));
  EXPECT_EQ(
      ValueText(MessageWords(ParseRankTable("{]").status())),
      "ranktable：不是 JSON 对象（EI0004）：第 1 行：第 2 列是 ]，应为 }，"
      "与第 1 行第 1 列的 { 对应");
}

TEST(RankTableTest, LeavesOtherVersionsAlone) {
  for (const char* version : {"1.1", "2.0", "7"}) {
    const std::string text = absl::StrReplaceAll(
        kTwoServers, {{"\"1.0\"", absl::StrCat("\"", version, "\"")}});
    EXPECT_TRUE(absl::IsUnimplemented(ParseRankTable(text).status()));
    EXPECT_THAT(MessageOf(text), HasSubstr(version));
  }
  for (const char* text : {R"({"group_list":[],"status":"completed"})",
                           R"({"status":"initializing"})"}) {
    EXPECT_TRUE(absl::IsUnimplemented(ParseRankTable(text).status())) << text;
  }
}

// HCCL's parser takes RFC 8259 and a byte order mark.
TEST(RankTableTest, IsStrictJson) {
  const std::string good = kTwoServers;
  for (const auto& [from, to, mistake] :
       {std::tuple("\"", "'", "line 2: a single quote"),
        std::tuple("\"status\"", "status",
                   "line 12: status, expected it in "
                   "double quotes"),
        std::tuple("\"version\":\"1.0\"", "\"version\":\"1.0\",",
                   "line 13: a comma after the last entry"),
        std::tuple("\"server_list\":[", "\"server_list\":[ # two",
                   "line 3: JSON has no comments"),
        std::tuple("\"server_list\":[", "\"server_list\":[ // two",
                   "line 3: JSON has no comments"),
        std::tuple("\"rank_id\":\"3\"}]", "\"rank_id\":\"3\"},\n]",
                   "a comma after the last entry"),
        std::tuple("\"completed\"", "True", "True, expected it in double"),
        std::tuple("\"1.0\"", "\"1.0\n\"", "closing double quote"),
        std::tuple("\"1.0\"", "\"1.0\\\"", "closing double quote"),
        std::tuple("\"1.0\"", "\"1\\.0\"",
                   "line 13: a backslash that does not begin an escape"),
        std::tuple("\"1.0\"", "\"1.0\\'\"", "a backslash that"),
        std::tuple("\"1.0\"", "\"1.0\\\n\"", "a backslash that"),
        std::tuple("\"1.0\"", "\f\"1.0\"", "line 13: a form feed"),
        std::tuple("\"1.0\"", "\v\"1.0\"", "line 13: a form feed")}) {
    const std::string bad = absl::StrReplaceAll(good, {{from, to}});
    EXPECT_THAT(MessageOf(bad), HasSubstr(mistake)) << bad;
    EXPECT_THAT(MessageOf(bad), HasSubstr("EI0004"));
  }
  EXPECT_EQ(MessageOf("\xef\xbb\xbf" + good), "ok");
  EXPECT_EQ(MessageOf(absl::StrReplaceAll(
                good, {{"\"completed\"", R"("c\u006fmpleted")"},
                       {"{\n", R"({"a":"\"\\\/\b\f\n\r\t",)"}})),
            "ok");
  EXPECT_EQ(MessageOf(absl::StrReplaceAll(good, {{"\n", "\r\n"}})), "ok");
  EXPECT_THAT(MessageOf(" \n"), HasSubstr("the text is empty"));
  EXPECT_THAT(MessageOf(good.substr(0, good.size() - 1)), HasSubstr("EI0004"));
}

TEST(RankTableTest, NamesTheLineWhereTheObjectIsCut) {
  const std::string good = kTwoServers;
  for (const auto& [text, mistake] :
       {std::pair(good.substr(0, good.find("{\"device_id\":\"1\"")),
                  "(EI0004): line 6: the text ends, expected ]"),
        std::pair("\n[" + good + "]", "line 2: expected { first"),
        std::pair(std::string("null"), "line 1: expected { first"),
        std::pair(absl::StrReplaceAll(good, {{"\"2\",", "\"2\""}}),
                  "line 3: a comma or colon is missing before it")}) {
    EXPECT_THAT(MessageOf(text), HasSubstr(mistake)) << text;
  }
  EXPECT_EQ(MessageOf(absl::StrReplaceAll(
                good, {{"{\n", "{\"a\":[-1.5e-3,2,{},[],true],\n"}})),
            "ok");
}

TEST(RankTableTest, NamesBothPlacesOfBracketsThatDoNotMatch) {
  const std::string good = kTwoServers;
  for (const auto& [from, to, mistake] :
       {// The list of a server's devices is closed as an object.
        std::tuple("\"rank_id\":\"1\"}],", "\"rank_id\":\"1\"}},",
                   "(EI0004): line 6: column 69 has }, expected ] for the [ at "
                   "line 4: column 15"),
        std::tuple("\"rank_id\":\"1\"}],", "\"rank_id\":\"1\"]],",
                   "line 6: column 68 has ], expected } for the { at line 6: "
                   "column 8"),
        // One bracket too few.
        std::tuple("7.23\"}],", "7.23\"],",
                   "line 11: column 32 has ], expected } for the { at line 8: "
                   "column 5"),
        std::tuple("\"1.0\"}", "\"1.0\"]",
                   "line 13: column 18 has ], expected } for the { at line 1: "
                   "column 1"),
        // One bracket too many.
        std::tuple("7.23\"}],", "7.23\"}]],",
                   "line 11: column 34 has ], expected } for the { at line 1: "
                   "column 1"),
        std::tuple("\"1.0\"}", "\"1.0\"",
                   "line 13: the text ends, expected } for the { at line 1: "
                   "column 1")}) {
    const std::string bad = absl::StrReplaceAll(good, {{from, to}});
    EXPECT_THAT(MessageOf(bad), HasSubstr(mistake)) << bad;
    EXPECT_THAT(MessageOf(absl::StrReplaceAll(bad, {{"\n", "\r\n"}})),
                HasSubstr(mistake));
  }
  EXPECT_THAT(MessageOf("\xef\xbb\xbf{]"), HasSubstr("column 2 has ]"));
  // A bracket within a text does not count.
  EXPECT_EQ(MessageOf(absl::StrReplaceAll(good, {{"{\n", "{\"a\":\"]}\",\n"}})),
            "ok");
}

// HCCL reads with operator>> of nlohmann's parser.
TEST(RankTableTest, SaysWhatStandsBehindTheTable) {
  for (const auto& [text, behind] :
       {std::pair("", 0u), std::pair("\r\n \n", 0u), std::pair("]", 13u),
        std::pair("\n{}", 14u), std::pair("\n\n# made by hand", 15u)}) {
    const auto table = ParseRankTable(absl::StrCat(kTwoServers, text));
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->behind_line, behind);
  }
  // A table that ends too early lacks the fields behind its end.
  const std::string message = MessageOf(absl::StrReplaceAll(
      kTwoServers, {{"\"server_count\":\"2\",", "\"version\":\"1.0\"}"}}));
  EXPECT_THAT(message, HasSubstr("server_list: is missing"));
  EXPECT_THAT(message, HasSubstr("line 3: text behind the last }"));
}

TEST(RankTableTest, TakesACommaBehindTheLastAddress) {
  const auto with = [](const char* ips) {
    return MessageOf(
        absl::StrReplaceAll(kTwoServers, {{"192.168.100.111", ips}}));
  };
  EXPECT_EQ(with("192.168.100.111,"), "ok");
  for (const char* wrong : {",", ",192.168.100.111", "192.168.100.111,,"}) {
    EXPECT_THAT(with(wrong), HasSubstr("device_ip: \"\"")) << wrong;
  }
  const auto table = ParseRankTable(absl::StrReplaceAll(
      kSuperPod,
      {{"\"rank_id\":\"3\"",
        "\"rank_id\":\"3\",\"backup_device_ip\":\"10.0.0.1,10.0.0.2,\""}}));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->servers[1].devices[1].backup_device_ips,
              ElementsAre("10.0.0.1", "10.0.0.2"));
}

// HCCL counts an address that is left out, and reads no further than the first
// device with another number.
TEST(RankTableTest, AnAddressMayBeLeftOutWithinOneSuperPod) {
  const auto with = [](const char* ips) {
    return MessageOf(absl::StrReplaceAll(
        kSuperPod,
        {{"\"rank_id\":\"0\"",
          absl::StrCat("\"rank_id\":\"0\",\"device_ip\":\"", ips, "\"")}}));
  };
  EXPECT_EQ(with("10.0.0.1"), "ok");
  EXPECT_EQ(with("10.0.0.1,10.0.0.2"),
            "server_list[0].device[1].device_ip: 1 addresses, expected 2 as on "
            "the first device (EI0014)");
}

TEST(RankTableTest, ReadsAVnicPortBesideADevicePortAlone) {
  const auto with = [](const char* ports) {
    return MessageOf(absl::StrReplaceAll(
        kTwoServers,
        {{"\"rank_id\":\"3\"", absl::StrCat("\"rank_id\":\"3\",", ports)}}));
  };
  EXPECT_EQ(with("\"device_vnic_port\":\"0\""), "ok");
  EXPECT_EQ(with("\"device_port\":\"16666\",\"device_vnic_port\":\"16667\""),
            "ok");
  for (const char* port : {"0", "65536", "-1", "auto"}) {
    EXPECT_THAT(with(absl::StrCat("\"device_port\":\"16666\","
                                  "\"device_vnic_port\":\"",
                                  port, "\"")
                         .c_str()),
                HasSubstr(absl::StrCat("device_vnic_port: \"", port, "\"")));
  }
}

TEST(RankTableTest, NamesTheFirstByteThatIsNotUtf8) {
  for (const auto& [text, mistake] :
       {std::pair("{\n\"a\":\"\xb9\xfa\"}", "f: line 2: byte 6 is not UTF-8"),
        std::pair("\xff\xfe{",
                  "f: line 1: byte 1 is not UTF-8, the text is UTF-16")}) {
    EXPECT_EQ(CheckUtf8("f", text).message(), mistake);
  }
  EXPECT_TRUE(CheckUtf8("f", "\xef\xbb\xbf{\n\u4e2d}").ok());
}

TEST(RankTableTest, CountsNoDeviceWhoseIdIsNoNumber) {
  const std::string message = MessageOf(absl::StrReplaceAll(
      kTwoServers, {{"\"device_id\":\"1\"", "\"device_id\":\"0x1\""}}));
  EXPECT_THAT(message, HasSubstr("device_id: \"0x1\", expected a decimal"));
  EXPECT_THAT(message, testing::Not(HasSubstr("already at")));
}

TEST(RankTableTest, NamesFilesOfOtherPrograms) {
  for (const auto& [key, name] : {std::pair("server_group_list", "MindIE"),
                                  std::pair("prefill_device_list", "vLLM"),
                                  std::pair("decode_device_list", "vLLM"),
                                  std::pair("cluster_list", "MindSpore")}) {
    const std::string message = MessageOf(absl::StrCat(
        R"({"version":"1.2","status":"completed",")", key, R"(":[]})"));
    EXPECT_THAT(message, HasSubstr(name));
    EXPECT_THAT(message, HasSubstr("expected HCCL's own"));
  }
}

TEST(RankTableTest, NamesPlaceholders) {
  for (const char* text : {"-.-.-.-", "192.1.*.6", "x.x.x.x", "192.168.100.x",
                           "<ip>", "0.0.0.0", "DEVICE_IP", "${IP}"}) {
    EXPECT_THAT(MessageOf(absl::StrReplaceAll(kTwoServers,
                                              {{"192.168.101.111", text}})),
                HasSubstr("is a placeholder"))
        << text;
  }
}

TEST(RankTableTest, OfSeveralSuperPodsNeedsAddresses) {
  const std::string two = absl::StrReplaceAll(
      kSuperPod,
      {{R"({"server_id":"node_0"},{"server_id":"node_1"}]}])",
        R"({"server_id":"node_0"}]},{"super_pod_id":"1","server_list":[
           {"server_id":"node_1"}]}])"}});
  EXPECT_THAT(MessageOf(two), HasSubstr("more than one super pod (EI0014)"));
}

// https://github.com/vllm-project/vllm-ascend/issues/2498, addresses changed.
TEST(RankTableTest, NamesContainersOnABridgeOfDocker) {
  const std::string message = MessageOf(R"({"version":"1.2","server_count":"2",
    "status":"completed","server_list":[
    {"device":[{"device_id":"0","device_ip":"172.22.100.100","rank_id":"0"}],
     "server_id":"172.17.0.6"},
    {"device":[{"device_id":"1","device_ip":"172.22.100.101","rank_id":"1"}],
     "server_id":"172.17.0.7"}]})");
  EXPECT_THAT(message,
              HasSubstr("super_device_id: is missing in the rank table "
                        "(EI0017); version 1.2 needs the SDID"));
  EXPECT_THAT(message, HasSubstr("\"172.17.0.7\" is an address of Docker's "
                                 "bridge"));
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
                "server_list[1].server_id: \"192.168.7.22\" is already at "
                "server_list[0].server_id"},
        Mistake{"RankTwice", "\"rank_id\":\"3\"", "\"rank_id\":\"2\"",
                "rank_id: 2 appears twice, expected 0 to 3"},
        Mistake{"RankMissing", "\"rank_id\":\"3\"", "\"rank_id\":\"4\"",
                "rank_id: 4 is out of sequence"},
        Mistake{"RankNegative", "\"rank_id\":\"3\"", "\"rank_id\":\"-3\"",
                "rank_id: \"-3\", expected a decimal number"},
        Mistake{"AddressTwice", "192.168.100.111", "192.168.100.101",
                "is already at server_list[0].device[0].device_ip"},
        Mistake{"NoAddress", "\"device_ip\":\"192.168.100.111\",", "",
                "device_ip: is not set"},
        Mistake{"AddressCounts", "\"192.168.100.111\"",
                "\"192.168.100.111,10.0.0.1\"", "2 addresses, expected 1"},
        Mistake{"DeviceTwice",
                "\"device_id\":\"1\",\"device_ip\":\"192.168.101.111\"",
                "\"device_id\":\"0\",\"device_ip\":\"192.168.101.111\"",
                "server_list[1].device[1].device_id: \"0\" is already at"},
        Mistake{"PortTooHigh", "\"rank_id\":\"3\"",
                "\"rank_id\":\"3\",\"device_port\":\"65536\"",
                "device_port: \"65536\", expected a port from 1 to 65535"},
        Mistake{"PortZero", "\"rank_id\":\"3\"",
                "\"rank_id\":\"3\",\"device_port\":\"0\"",
                "device_port: \"0\""},
        Mistake{"NpuTwice",
                "\"device_id\":\"1\",\"device_ip\":\"192.168.101.111\"",
                "\"device_id\":\"0\",\"device_ip\":\"192.168.100.111\","
                "\"device_port\":\"26667\"",
                "whatever device_port they have"},
        Mistake{"NoVersion", ",\n  \"version\":\"1.0\"", "",
                "version: is missing"},
        Mistake{"NoStatus", "\"status\":\"completed\",", "",
                "status: is missing"},
        Mistake{"NoServers", "\"server_list\"", "\"servers\"",
                "server_list: is missing"},
        Mistake{"PodUnknownServer", "{\"server_id\":\"node_1\"}]}]",
                "{\"server_id\":\"node_7\"}]}]",
                "\"node_7\" is not in server_list"},
        Mistake{"PodServerLeftOut", ",{\"server_id\":\"node_1\"}]}]", "]}]",
                "\"node_1\" is not in a super pod"},
        Mistake{"PodDeviceTwice", "65537", "65536",
                "\"0/65536\" is already at server_list[1].device[0]"},
        Mistake{"PodBackupIsNoAddress", "\"rank_id\":\"3\"",
                "\"rank_id\":\"3\",\"backup_device_ip\":\"x\"",
                "device[1].backup_device_ip: \"x\""},
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
              HasSubstr("server_list[1].device: 1 device, expected 2"));
}

}  // namespace
}  // namespace clusterd
