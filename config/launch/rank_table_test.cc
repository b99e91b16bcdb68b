#include "config/launch/rank_table.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

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

std::string MessageOf(absl::string_view text) {
  const absl::StatusOr<RankTable> table = ParseRankTable(text);
  return table.ok() ? "ok" : std::string(table.status().message());
}

// The table with another text in place of `from`.
std::string With(const std::string& from, const std::string& to,
                 const char* table = kTwoServers) {
  return absl::StrReplaceAll(table, {{from, to}});
}

TEST(RankTableTest, ReadsVersionOne) {
  const auto table = ParseRankTable(kTwoServers).value();
  EXPECT_EQ(table.status, "completed");
  ASSERT_EQ(table.servers.size(), 2u);
  EXPECT_EQ(table.servers[1].server_id, "192.168.7.23");
  EXPECT_EQ(table.servers[1].devices[1].rank_id, 3u);
  EXPECT_THAT(table.servers[1].devices[0].device_ips,
              ElementsAre("192.168.100.111"));
}

TEST(RankTableTest, ReadsASuperPodWithoutDeviceAddresses) {
  const auto table = ParseRankTable(kSuperPod).value();
  ASSERT_EQ(table.super_pods.size(), 1u);
  EXPECT_THAT(table.super_pods[0].server_ids, ElementsAre("node_0", "node_1"));
  EXPECT_EQ(table.servers[1].devices[0].super_device_id, 65536u);
}

// As the vendor's operator for Kubernetes writes them.
TEST(RankTableTest, TakesFurtherKeys) {
  const std::string text = With(R"("server_id":"node_0","device")",
                                R"("server_id":"node_0","host_ip":"10.0.3.2",)"
                                R"("container_ip":"192.168.149.17",)"
                                R"("hardware_type":"800I-A3-64G","device")",
                                kSuperPod);
  ASSERT_NE(text, kSuperPod);
  EXPECT_EQ(ParseRankTable(text).value().servers[0].host_ip, "10.0.3.2");
}

TEST(RankTableTest, KeepsATableThatIsStillBeingWritten) {
  const auto table = ParseRankTable(With("completed", "initializing")).value();
  EXPECT_EQ(table.status, "initializing");
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
  // Says its mistakes in the user's language.
  const absl::Status refused = ParseRankTable(With("\"3\"", "3")).status();
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
    const std::string text = With("\"1.0\"", absl::StrCat("\"", version, "\""));
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
    const std::string bad = With(from, to);
    EXPECT_THAT(MessageOf(bad), HasSubstr(mistake)) << bad;
    EXPECT_THAT(MessageOf(bad), HasSubstr("EI0004"));
  }
  EXPECT_EQ(MessageOf("\xef\xbb\xbf" + good), "ok");
  EXPECT_EQ(MessageOf(absl::StrReplaceAll(
                good, {{"\"completed\"", R"("c\u006fmpleted")"},
                       {"{\n", R"({"a":"\"\\\/\b\f\n\r\t",)"}})),
            "ok");
  EXPECT_EQ(MessageOf(With("\n", "\r\n")), "ok");
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
        std::pair(With("\"2\",", "\"2\""),
                  "line 3: a comma or colon is missing before it")}) {
    EXPECT_THAT(MessageOf(text), HasSubstr(mistake)) << text;
  }
  EXPECT_EQ(MessageOf(With("{\n", "{\"a\":[-1.5e-3,2,{},[],true],\n")), "ok");
}

TEST(RankTableTest, NamesBothPlacesOfBracketsThatDoNotMatch) {
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
    const std::string bad = With(from, to);
    EXPECT_THAT(MessageOf(bad), HasSubstr(mistake)) << bad;
    EXPECT_THAT(MessageOf(absl::StrReplaceAll(bad, {{"\n", "\r\n"}})),
                HasSubstr(mistake));
  }
  EXPECT_THAT(MessageOf("\xef\xbb\xbf{]"), HasSubstr("column 2 has ]"));
  // A bracket within a text does not count.
  EXPECT_EQ(MessageOf(With("{\n", "{\"a\":\"]}\",\n")), "ok");
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
  const std::string message =
      MessageOf(With("\"server_count\":\"2\",", "\"version\":\"1.0\"}"));
  EXPECT_THAT(message, HasSubstr("server_list: is missing"));
  EXPECT_THAT(message, HasSubstr(Say("msg-job-table-text-behind", 3, "}")));
  // Takes a comma after the last address.
  const auto with = [](const char* ips) {
    return MessageOf(With("192.168.100.111", ips));
  };
  EXPECT_EQ(with("192.168.100.111,"), "ok");
  for (const char* wrong : {",", ",192.168.100.111", "192.168.100.111,,"}) {
    EXPECT_THAT(with(wrong), HasSubstr("device_ip: \"\"")) << wrong;
  }
  const auto table = ParseRankTable(
      With("\"rank_id\":\"3\"",
           "\"rank_id\":\"3\",\"backup_device_ip\":\"10.0.0.1,10.0.0.2,\"",
           kSuperPod));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->servers[1].devices[1].backup_device_ips,
              ElementsAre("10.0.0.1", "10.0.0.2"));
}

// HCCL counts an address that is left out, and reads no further than the first
// device with another number.
TEST(RankTableTest, AnAddressMayBeLeftOutWithinOneSuperPod) {
  const auto with = [](const char* ips) {
    return MessageOf(
        With("\"rank_id\":\"0\"",
             absl::StrCat("\"rank_id\":\"0\",\"device_ip\":\"", ips, "\""),
             kSuperPod));
  };
  EXPECT_EQ(with("10.0.0.1"), "ok");
  EXPECT_EQ(with("10.0.0.1,10.0.0.2"),
            Say("msg-job-table-address-count",
                "server_list[0].device[1].device_ip", 1, 2));
}

TEST(RankTableTest, ReadsAVnicPortBesideADevicePortAlone) {
  const auto with = [](const char* ports) {
    return MessageOf(
        With("\"rank_id\":\"3\"", absl::StrCat("\"rank_id\":\"3\",", ports)));
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
  // Names the first byte that is not UTF-8.
  for (const auto& [text, mistake] :
       {std::pair("{\n\"a\":\"\xb9\xfa\"}", "f: line 2: byte 6 is not UTF-8"),
        std::pair("\xff\xfe{",
                  "f: line 1: byte 1 is not UTF-8, the text is UTF-16")}) {
    EXPECT_EQ(CheckUtf8("f", text).message(), mistake);
  }
  EXPECT_TRUE(CheckUtf8("f", "\xef\xbb\xbf{\n\u4e2d}").ok());
}

TEST(RankTableTest, CountsNoDeviceWhoseIdIsNoNumber) {
  const std::string message =
      MessageOf(With("\"device_id\":\"1\"", "\"device_id\":\"0x1\""));
  EXPECT_THAT(message, HasSubstr("device_id: \"0x1\", expected a decimal"));
  EXPECT_THAT(message, testing::Not(HasSubstr("already at")));
  // Names files of other programs.
  for (const auto& [key, name] : {std::pair("server_group_list", "MindIE"),
                                  std::pair("prefill_device_list", "vLLM"),
                                  std::pair("decode_device_list", "vLLM"),
                                  std::pair("cluster_list", "MindSpore")}) {
    const std::string message = MessageOf(absl::StrCat(
        R"({"version":"1.2","status":"completed",")", key, R"(":[]})"));
    EXPECT_THAT(message, HasSubstr(name));
    EXPECT_THAT(message, HasSubstr("expected HCCL's own"));
  }
  // Names placeholders.
  for (const char* text : {"-.-.-.-", "192.1.*.6", "x.x.x.x", "192.168.100.x",
                           "<ip>", "0.0.0.0", "DEVICE_IP", "${IP}"}) {
    EXPECT_THAT(MessageOf(With("192.168.101.111", text)),
                HasSubstr("is a placeholder"))
        << text;
  }
  // A rank table of several super pods needs addresses.
  const std::string two =
      With(R"({"server_id":"node_0"},{"server_id":"node_1"}]}])",
           R"({"server_id":"node_0"}]},{"super_pod_id":"1","server_list":[
           {"server_id":"node_1"}]}])",
           kSuperPod);
  EXPECT_THAT(MessageOf(two),
              HasSubstr(Say("msg-job-table-address-missing",
                            "server_list[0].device[0].device_ip",
                            Worded("job-say-super-pod"))));
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
              HasSubstr(Say("msg-job-table-sdid-missing",
                            "server_list[0].device[0].super_device_id")));
  EXPECT_THAT(message,
              HasSubstr(Say("msg-job-table-docker-bridge",
                            "server_list[1].server_id", "\"172.17.0.7\"")));
  // Refuses input that is not a JSON object.
  for (const char* text : {"", "[]", "{", "\"1.0\"", "rank_id=0"}) {
    EXPECT_THAT(MessageOf(text), HasSubstr("EI0004")) << text;
  }
}

TEST(RankTableTest, NamesEachMistakeWithItsPlace) {
  const struct {
    const char* good;
    const char* from;
    const char* to;
    Telling error;
  } kMistakes[] = {
      {kTwoServers, R"(server_count":"2)", R"(server_count":"3)",
       Tells("msg-job-table-server-count", "\"3\"", 2)},
      {kTwoServers, "192.168.7.23", "192.168.7.22",
       Tells("msg-job-table-twice", "server_list[1].server_id",
             "\"192.168.7.22\"", "server_list[0].server_id")},
      {kTwoServers, R"(rank_id":"3)", R"(rank_id":"2)",
       Tells("msg-job-table-rank-twice", 2, 3)},
      {kTwoServers, R"(rank_id":"3)", R"(rank_id":"4)",
       Tells("msg-job-table-rank-gap", 4, 3)},
      {kTwoServers, R"(rank_id":"3)", R"(rank_id":"-3)",
       Tells("msg-job-table-not-number", "\"-3\"")},
      {kTwoServers, "192.168.100.111", "192.168.100.101",
       Tells("server_list[0].device[0].device_ip")},
      {kTwoServers, R"("device_ip":"192.168.100.111",)", "",
       Tells("msg-job-table-address-missing")},
      {kTwoServers, "192.168.100.111", "192.168.100.111,10.0.0.1",
       Tells("msg-job-table-address-count", 2, 1)},
      {kTwoServers, R"("1","device_ip":"192.168.101.111)",
       R"("0","device_ip":"192.168.101.111)",
       Tells("msg-job-table-device-twice", "server_list[1].device[1].device_id",
             "\"0\"")},
      {kTwoServers, R"("3"})", R"("3","device_port":"65536"})",
       Tells("msg-job-table-port", "\"65536\"")},
      {kTwoServers, R"("3"})", R"("3","device_port":"0"})",
       Tells("msg-job-table-port", "\"0\"")},
      {kTwoServers, R"("1","device_ip":"192.168.101.111")",
       R"("0","device_ip":"192.168.100.111","device_port":"26667")",
       Tells("msg-job-table-device-twice")},
      {kTwoServers, ",\n  \"version\":\"1.0\"", "",
       Tells("msg-job-table-key-missing", "version")},
      {kTwoServers, R"("status":"completed",)", "",
       Tells("msg-job-table-key-missing", "status")},
      {kTwoServers, "server_list", "servers",
       Tells("msg-job-table-key-missing", "server_list")},
      {kSuperPod, R"("node_1"}]}])", R"("node_7"}]}])",
       Tells("msg-job-table-server-not-listed", "\"node_7\"")},
      {kSuperPod, R"(,{"server_id":"node_1"}]}])", "]}]",
       Tells("msg-job-table-server-without-pod", "\"node_1\"")},
      {kSuperPod, "65537", "65536",
       Tells("msg-job-table-twice", "\"0/65536\"",
             "server_list[1].device[0].super_device_id")},
      {kSuperPod, R"("rank_id":"3")", R"("rank_id":"3","backup_device_ip":"x")",
       Tells("server_list[1].device[1].backup_device_ip", "\"x\"")},
      {kSuperPod, R"("65537")", R"("")",
       Tells("msg-job-table-not-number",
             "server_list[1].device[1].super_device_id", "\"\"")}};
  for (const auto& mistake : kMistakes) {
    const std::string bad =
        absl::StrReplaceAll(mistake.good, {{mistake.from, mistake.to}});
    ASSERT_NE(bad, mistake.good);
    EXPECT_THAT(ParseRankTable(bad).status(), mistake.error) << bad;
  }
}

TEST(RankTableTest, ReportsServersOfDifferentSize) {
  const std::string text = With(
      ",\n       {\"device_id\":\"1\",\"device_ip\":\"192.168.101.111\","
      "\"rank_id\":\"3\"}",
      "");
  EXPECT_THAT(ParseRankTable(text).status(),
              Tells("msg-job-table-device-count", "server_list[1].device",
                    "1 device", 2));
}

}  // namespace
}  // namespace clusterd
