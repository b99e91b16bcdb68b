// The replay test covers the records of the vendor's tool as a whole. This test
// covers parts without a record, and those that must not be lost when records
// change.
#include "tests/sim/tool/run_tool.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/tool/test_server.h"

namespace clusterd::sim {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Matcher;
using ::testing::Not;
using ::testing::StartsWith;
using Text = Matcher<const std::string&>;

constexpr char kAddressed[] = "ip.0=10.0.0.1;mask.0=255.255.255.0";
constexpr char kSetIp[] = "-i 0 -ip -s address 10.0.0.7 netmask 255.255.255.0";
constexpr char kSetMtu[] = "-i 0 -mtu -s size 1500";
constexpr char kTlsOn[] = "dev_id:0, tls switch[1]";

TEST(FindToolRootTest, TakesTheFolderAboveTheToolsPlace) {
  const std::string tool = "/usr/local/Ascend/driver/tools/hccn_tool";
  EXPECT_EQ(FindToolRoot("/tmp/a" + tool, "/b", "/c" + tool), "/tmp/a");
  EXPECT_EQ(FindToolRoot(tool, "/b", ""), "/");
  EXPECT_EQ(FindToolRoot("hccn_tool", "/b", "/c" + tool), "/b");
  EXPECT_EQ(FindToolRoot("hccn_tool", "", "/c" + tool), "/c");
  EXPECT_EQ(FindToolRoot("./hccn_tool", "", "/c/hccn_tool"), "");
}

// One run on a server, and what came of it.
struct RunCase {
  const char* name;
  std::string state;
  std::string conf;
  std::string words;
  Matcher<int> status;
  Text out = _;
  Text err = _;
  Text conf_after = _;
  // Keys of the state.
  std::vector<std::pair<const char*, std::optional<std::string>>> held = {};
};

void ExpectRuns(const std::vector<RunCase>& cases) {
  for (const RunCase& each : cases) {
    SCOPED_TRACE(each.name);
    const TestServer server(each.state, each.conf);
    const ToolRun run = server.Run(each.words);
    EXPECT_THAT(run.status, each.status);
    EXPECT_THAT(run.out, each.out);
    EXPECT_THAT(run.err, each.err);
    EXPECT_THAT(server.conf(), each.conf_after);
    for (const auto& [key, value] : each.held) {
      EXPECT_EQ(server.state().Find(key), value) << key;
    }
  }
}

TEST(RunToolTest, AnswersByWords) {
  ExpectRuns(
      {{"UsageGoesToStandardOutputAndTheErrorToTheOther", kAddressed, "",
        "-i 0 -ip -g x", _,
        StartsWith("[ hccn_tool -i devid -ip ] needs the following parameters:"
                   "\n"),
        "The total count of input parameters is wrong!\n"},
       {"AddressTooLongForTheBufferFailsWithoutAReason", kAddressed, "",
        "-i 0 -ip -s address 10.0.0.1aaaaaaaaaaaa netmask 255.255.255.0", _, _,
        "Cmd execute failed!\n"},
       {"MacAddressOfAnotherLengthIsAWrongAddress", kAddressed, "",
        "-i 0 -mac -s mac 6c:b1:58:00:00:aa:bb", 5, _,
        StartsWith("The mac address you configured")},
       {"WordOfManyThousandCharactersIsAWrongLength", kAddressed, "",
        "-i 0 -ip " + std::string(5000, 'y'), 5, _,
        "Get invalid input param len.\n"},
       {"ScriptedAnswerReplacesEveryOther", "say.2=segmentation", "",
        "-i 2 -ip -g", _, "segmentation"},
       {"OtherSpellingOfTheDetectAddressCanBeHad",
        "spelling.netdetect=netdetect address: ", "", "-i 0 -netdetect -g", _,
        "netdetect address: 0.0.0.0\n"},
       {"HelpListsTheCommands", "", "", "-h", 0, HasSubstr("-gateway")}});
}

TEST(RunToolTest, SetsAddressesAndGateways) {
  const std::string addressed = kAddressed;
  ExpectRuns(
      {{"GatewayNeedsTheAddressThatTheDriverKnows",
        addressed + ";rc.get_ip.0=1", "", "-i 0 -gateway -s gateway 10.0.0.254",
        26},
       {"GatewayFailsWhereTheDriverDoes", addressed + ";rc.get_ip.0=4", "",
        "-i 0 -gateway -s gateway 10.0.0.254", 1, _,
        "Command execute failed!\n"},
       {"GatewayNeedsAnAddress", kAddressed, "",
        "-i 1 -gateway -s gateway 10.0.0.254", 26, _, _, ""},
       {"GatewayNeedsItsSubnet", kAddressed, "",
        "-i 0 -gateway -s gateway 10.0.1.254", 8, _, _, ""},
       {"RecoveryTakesNoBroadcastAddressToDetect", kAddressed,
        "tls_ca_recovered_0=1\nnetdetect_0=255.255.255.255\n",
        "-i 0 -cfg recovery", 1},
       {"SetAddressKeepsAGatewayOfTheNewSubnet",
        kAddressed,
        "gateway_0=10.0.0.254\n",
        kSetIp,
        0,
        _,
        _,
        "gateway_0=10.0.0.254\naddress_0=10.0.0.7\nnetmask_0=255.255.255.0\n",
        {{"gateway.0", "10.0.0.254"}}},
       {"FailedGatewayLeavesTheNewAddressLiveAndTheFileOld",
        addressed + ";res.0x3.0=-67",
        "address_0=10.0.0.1\ngateway_0=10.0.0.254\n",
        kSetIp,
        22,
        _,
        _,
        "address_0=10.0.0.1\ngateway_0=10.0.0.254\n",
        {{"ip.0", "10.0.0.7"}}},
       {"MalformedStoredRouteEndsIn244",
        kAddressed,
        "route_address_172.16.0.0_netmask_255.255.0.0_0=10.0.0.253\n",
        kSetIp,
        244,
        _,
        _,
        _,
        {{"ip.0", "10.0.0.1"}}},
       {"RecoveryOfAllFailsWithoutAWordOfADeadDevice",
        "devices=0,1;health.1=0xffffffff", "tls_ca_recovered_0=1\n",
        "-a -cfg recovery", 1,
        StartsWith("dev:0 recovery success\nRecovery failed."),
        "Command execute failed!\n"},
       {"RecoveryLeavesGatewaysToDhcp",
        "",
        "tls_ca_recovered_0=1\nudhcpc_enable_0=1\ngateway_0=10.0.0.254\n",
        "-i 0 -cfg recovery",
        0,
        _,
        _,
        _,
        {{"gateway.0", std::nullopt}}}});
}

TEST(RunToolTest, AnswersQueries) {
  ExpectRuns(
      {{"LldpWithoutANeighbourIsOneNewline", "", "", "-i 0 -lldp -g", _, "\n"},
       {"LongLldpAnswerIsCutAt1999Bytes", "lldp.0=" + std::string(3000, 'x'),
        "", "-i 0 -lldp -g", _, std::string(1999, 'x') + "\n"},
       {"OneLostProbeFails",
        "ping.0=recv time out seq=1\\n3 packets transmitted, 2 received", "",
        "-i 0 -ping -g address 10.0.0.9", 1},
       {"ALossWithoutMarkerDoesNotFail",
        "ping.1=3 packets transmitted, 0 received, 100.00% packet loss", "",
        "-i 1 -ping -g address 10.0.0.9", 0},
       {"TlsQueryWritesTheKeyThatIsNotThere", "tls.0=1", "mtu_0=1500\n",
        "-i 0 -tls -g", _, StartsWith(kTlsOn), _,
        "mtu_0=1500\ntls_enable_0=1\n"},
       {"TlsQueryWritesTheKeyAlsoWithoutAnyCertificate", "tls.0=1;tls_ncert=0",
        "mtu_0=1500\n", "-i 0 -tls -g", 0, _, _,
        "mtu_0=1500\ntls_enable_0=1\n"},
       // So the query is safe there, also if the line is above others.
       {"TlsQueryWritesNothingWhereTheKeyIs", "tls.0=1",
        "tls_enable_0=0\nmtu_0=1500", "-i 0 -tls -g", _, StartsWith(kTlsOn), _,
        "tls_enable_0=0\nmtu_0=1500"},
       {"ExpiredCertificateIsReportedOnStandardError",
        "tls_ncert=1;tls_end=Wed Feb 19 03:19:21 2020", "", "-i 0 -tls -g", 0,
        Not(HasSubstr("expiration status")),
        "\t tls expiration status[2](0:normal, 1:near expiration, 2:has "
        "expired)\n"}});
}

TEST(RunToolTest, NetHealthFollowsTheDetectAddressUnlessTheStateSaysIt) {
  const TestServer server(kAddressed);
  EXPECT_EQ(server.Run("-i 0 -net_health -g").out, "net health status: Init\n");
  server.Run("-i 0 -netdetect -s address 10.0.0.254");
  EXPECT_EQ(server.Run("-i 0 -net_health -g").out,
            "net health status: Detect ip set\n");
  EXPECT_EQ(server.Run("-i 0 -net_health -g").out,
            "net health status: Success\n");
}

TEST(RunToolTest, RecoveryNotesFailuresInTheLog) {
  const TestServer server(
      "", "tls_ca_recovered_0=1\naddress_0=x\nnetmask_0=255.0.0.0\n");
  EXPECT_EQ(server.Run("-i 0 -cfg recovery").status, 1);
  EXPECT_THAT(server.Read("/var/log/hccn_tool/hccn_config.log"),
              HasSubstr("device 0: recovery of address: The ip address you "
                        "configured is invalid!"));
}

TEST(RunToolTest, LogIsNotWrittenThroughALink) {
  const TestServer server(kAddressed);
  std::filesystem::create_directory(server.root() + "/var/log/hccn_tool");
  std::filesystem::create_symlink(
      server.root() + "/etc/passwd",
      server.root() + "/var/log/hccn_tool/hccn_config.log");
  const std::string before = server.Read("/etc/passwd");
  EXPECT_EQ(server.Run(kSetMtu).status, 0);
  EXPECT_EQ(server.Read("/etc/passwd"), before);
}

TEST(RunToolTest, EveryCallLeavesSevenLinesInALogThatRotates) {
  constexpr char kCalls[] = "/var/log/hccn_tool/hccn.log";
  constexpr size_t kMaxBytes = 5 << 20;
  const TestServer server(kAddressed);
  const auto lines = [&] {
    const std::string text = server.Read(kCalls);
    return std::count(text.begin(), text.end(), '\n');
  };
  server.Run("-i 0 -ip -g");
  EXPECT_EQ(lines(), 7);
  server.Run("-i 99 -ip -g");
  server.Run("-i 0 -ip " + std::string(3000, 'y') + "\n\n");
  EXPECT_EQ(lines(), 21);
  EXPECT_LT(server.Read(kCalls).size(), 8000u);
  const std::string full(kMaxBytes - 100, 'x');
  server.Write(kCalls, full);
  server.Run("-i 0 -ip -g");
  EXPECT_EQ(lines(), 7);
  EXPECT_EQ(server.Read(std::string(kCalls) + ".old"), full);
  // The next one takes its place.
  const std::string second(kMaxBytes, 'y');
  server.Write(kCalls, second);
  server.Run("-i 0 -ip -g");
  EXPECT_EQ(server.Read(std::string(kCalls) + ".old"), second);
}

TEST(RunToolTest, LyingDeviceSaysDoneAndChangesNothing) {
  const TestServer server(std::string(kAddressed) + ";lies.0=1",
                          "address_0=10.0.0.1\n");
  const ToolRun run = server.Run(kSetIp);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "Cmd executed successfully!\n");
  EXPECT_THAT(server.Run("-i 0 -ip -g").out, HasSubstr("ipaddr:10.0.0.1\n"));
  EXPECT_EQ(server.conf(), "address_0=10.0.0.1\n");
}

TEST(RunToolTest, NamedUserMayStandInForRoot) {
  const TestServer server(std::string(kAddressed) + ";root_uid=65534");
  EXPECT_EQ(server.Run(kSetMtu, "", 65534).status, 0);
  EXPECT_EQ(TestServer(kAddressed).Run(kSetMtu, "", 65534).status, 12);
}

}  // namespace
}  // namespace clusterd::sim
