// The replay test covers the records of the vendor's tool as a whole. This test
// covers parts without a record, and those that must not be lost when records
// change.
#include "tests/sim/tool/run_tool.h"

#include <algorithm>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/tool/test_server.h"

namespace clusterd::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kAddressed[] = "ip.0=10.0.0.1;mask.0=255.255.255.0";

TEST(FindToolRootTest, TakesTheFolderAboveTheToolsPlace) {
  const std::string tool = "/usr/local/Ascend/driver/tools/hccn_tool";
  EXPECT_EQ(FindToolRoot("/tmp/a" + tool, "/b", "/c" + tool), "/tmp/a");
  EXPECT_EQ(FindToolRoot(tool, "/b", ""), "/");
  EXPECT_EQ(FindToolRoot("hccn_tool", "/b", "/c" + tool), "/b");
  EXPECT_EQ(FindToolRoot("hccn_tool", "", "/c" + tool), "/c");
  EXPECT_EQ(FindToolRoot("./hccn_tool", "", "/c/hccn_tool"), "");
}

TEST(RunToolTest, ChecksTheLineBeforeTheDevice) {
  const TestServer server(kAddressed);
  EXPECT_EQ(server.Run("").status, 2);
  EXPECT_EQ(server.Run("-g -ip -i 0").status, 1);
  EXPECT_EQ(server.Run("-i").status, 3);
  EXPECT_EQ(server.Run("-i 0").status, 3);
  EXPECT_EQ(server.Run("-i 99 -nonsense").status, 3);
  EXPECT_EQ(server.Run("-i 99 -ip -g").status, 4);
  EXPECT_EQ(server.Run("-i 0 -ip").status, 4);
  EXPECT_EQ(server.Run("-i 0 -ip -x").status, 3);
}

TEST(RunToolTest, UsageGoesToStandardOutputAndTheErrorToTheOther) {
  const TestServer server(kAddressed);
  const ToolRun run = server.Run("-i 0 -ip -g x");
  EXPECT_THAT(run.out,
              StartsWith("[ hccn_tool -i devid -ip ] needs the following "
                         "parameters:\n"));
  EXPECT_EQ(run.err, "The total count of input parameters is wrong!\n");
}

TEST(RunToolTest, UserWithoutANameGetsASilentFailure) {
  const TestServer server(kAddressed);
  const ToolRun run = server.Run("-i 0 -ip -g", "", /*uid=*/54321);
  EXPECT_EQ(run.status, 234);
  EXPECT_EQ(run.out + run.err, "");
}

TEST(RunToolTest, AddressTooLongForTheBufferFailsWithoutAReason) {
  const TestServer server(kAddressed);
  EXPECT_EQ(server
                .Run("-i 0 -ip -s address 10.0.0.1aaaaaaaaaaaa netmask "
                     "255.255.255.0")
                .err,
            "Cmd execute failed!\n");
}

TEST(RunToolTest, GatewayNeedsTheAddressThatTheDriverKnows) {
  const std::string set = "-i 0 -gateway -s gateway 10.0.0.254";
  const std::string known = kAddressed;
  EXPECT_EQ(TestServer(known + ";rc.get_ip.0=1").Run(set).status, 26);
  const ToolRun broken = TestServer(known + ";rc.get_ip.0=4").Run(set);
  EXPECT_EQ(broken.err, "Command execute failed!\n");
  EXPECT_EQ(broken.status, 1);
}

TEST(RunToolTest, MacAddressOfAnotherLengthIsAWrongAddress) {
  const TestServer server(kAddressed);
  const ToolRun run = server.Run("-i 0 -mac -s mac 6c:b1:58:00:00:aa:bb");
  EXPECT_EQ(run.status, 5);
  EXPECT_THAT(run.err, StartsWith("The mac address you configured"));
}

TEST(RunToolTest, WordOfManyThousandCharactersIsAWrongLength) {
  const TestServer server(kAddressed);
  const ToolRun run = server.Run("-i 0 -ip " + std::string(5000, 'y'));
  EXPECT_EQ(run.status, 5);
  EXPECT_EQ(run.err, "Get invalid input param len.\n");
}

TEST(RunToolTest, RecoveryTakesNoBroadcastAddressToDetect) {
  const TestServer server(
      kAddressed, "tls_ca_recovered_0=1\nnetdetect_0=255.255.255.255\n");
  EXPECT_EQ(server.Run("-i 0 -cfg recovery").status, 1);
}

TEST(RunToolTest, SetAddressKeepsAGatewayOfTheNewSubnet) {
  const TestServer server(kAddressed, "gateway_0=10.0.0.254\n");
  EXPECT_EQ(
      server.Run("-i 0 -ip -s address 10.0.0.7 netmask 255.255.255.0").status,
      0);
  EXPECT_EQ(server.conf(),
            "gateway_0=10.0.0.254\naddress_0=10.0.0.7\n"
            "netmask_0=255.255.255.0\n");
  EXPECT_EQ(server.state().Find("gateway.0"), "10.0.0.254");
}

TEST(RunToolTest, FailedGatewayLeavesTheNewAddressLiveAndTheFileOld) {
  const TestServer server(std::string(kAddressed) + ";res.0x3.0=-67",
                          "address_0=10.0.0.1\ngateway_0=10.0.0.254\n");
  EXPECT_EQ(
      server.Run("-i 0 -ip -s address 10.0.0.7 netmask 255.255.255.0").status,
      22);
  EXPECT_EQ(server.state().Find("ip.0"), "10.0.0.7");
  EXPECT_EQ(server.conf(), "address_0=10.0.0.1\ngateway_0=10.0.0.254\n");
}

TEST(RunToolTest, MalformedStoredRouteEndsIn244) {
  const TestServer server(
      kAddressed,
      "route_address_172.16.0.0_netmask_255.255.0.0_0=10.0.0.253\n");
  const ToolRun run =
      server.Run("-i 0 -ip -s address 10.0.0.7 netmask 255.255.255.0");
  EXPECT_EQ(run.status, 244);
  EXPECT_EQ(server.state().Find("ip.0"), "10.0.0.1");
}

TEST(RunToolTest, MissingConfLeavesTheDetectAddressOnTheDevice) {
  const TestServer server(kAddressed);
  std::filesystem::remove(server.root() + "/etc/hccn.conf");
  EXPECT_EQ(server.Run("-i 0 -netdetect -s address 10.0.0.254").status, 29);
  EXPECT_EQ(server.state().Find("netdetect.0"), "10.0.0.254");
}

TEST(RunToolTest, GatewayNeedsAnAddressAndItsSubnet) {
  const TestServer server(kAddressed);
  EXPECT_EQ(server.Run("-i 1 -gateway -s gateway 10.0.0.254").status, 26);
  EXPECT_EQ(server.Run("-i 0 -gateway -s gateway 10.0.1.254").status, 8);
  EXPECT_EQ(server.conf(), "");
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

TEST(RunToolTest, LldpWithoutANeighbourIsOneNewline) {
  EXPECT_EQ(TestServer("").Run("-i 0 -lldp -g").out, "\n");
}

TEST(RunToolTest, LongLldpAnswerIsCutAt1999Bytes) {
  const TestServer server("lldp.0=" + std::string(3000, 'x'));
  EXPECT_EQ(server.Run("-i 0 -lldp -g").out, std::string(1999, 'x') + "\n");
}

TEST(RunToolTest, OneLostProbeFailsAndALossWithoutMarkerDoesNot) {
  const TestServer server(
      "ping.0=recv time out seq=1\\n3 packets transmitted, 2 received;"
      "ping.1=3 packets transmitted, 0 received, 100.00% packet loss");
  EXPECT_EQ(server.Run("-i 0 -ping -g address 10.0.0.9").status, 1);
  EXPECT_EQ(server.Run("-i 1 -ping -g address 10.0.0.9").status, 0);
}

TEST(RunToolTest, TlsQueryWritesTheKeyThatIsNotThere) {
  const TestServer server("tls.0=1", "mtu_0=1500\n");
  EXPECT_THAT(server.Run("-i 0 -tls -g").out,
              StartsWith("dev_id:0, tls switch[1]"));
  EXPECT_EQ(server.conf(), "mtu_0=1500\ntls_enable_0=1\n");
}

TEST(RunToolTest, TlsQueryWritesTheKeyAlsoWithoutAnyCertificate) {
  const TestServer server("tls.0=1;tls_ncert=0", "mtu_0=1500\n");
  EXPECT_EQ(server.Run("-i 0 -tls -g").status, 0);
  EXPECT_EQ(server.conf(), "mtu_0=1500\ntls_enable_0=1\n");
}

// So the query is safe there, also if the line is above others.
TEST(RunToolTest, TlsQueryWritesNothingWhereTheKeyIs) {
  constexpr char kConf[] = "tls_enable_0=0\nmtu_0=1500";
  const TestServer server("tls.0=1", kConf);
  EXPECT_THAT(server.Run("-i 0 -tls -g").out,
              StartsWith("dev_id:0, tls switch[1]"));
  EXPECT_EQ(server.conf(), kConf);
}

TEST(RunToolTest, ExpiredCertificateIsReportedOnStandardError) {
  const TestServer server("tls_ncert=1;tls_end=Wed Feb 19 03:19:21 2020");
  const ToolRun run = server.Run("-i 0 -tls -g");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err,
            "\t tls expiration status[2](0:normal, 1:near expiration, 2:has "
            "expired)\n");
  EXPECT_THAT(run.out, Not(HasSubstr("expiration status")));
}

TEST(RunToolTest, PromptTakesOneLetterAndANewline) {
  const TestServer server("link.0=1");
  for (const char* answer : {"", "y", "yes\n", "n\n", " y\n"}) {
    EXPECT_EQ(server.Run("-i 0 -link -s down", answer).status, 22) << answer;
  }
  EXPECT_EQ(server.state().Find("link.0"), "1");
  EXPECT_EQ(server.Run("-i 0 -link -s down", "Y\n").status, 0);
  EXPECT_EQ(server.state().Find("link.0"), "0");
}

TEST(RunToolTest, RecoveryOfAllFailsWithoutAWordOfADeadDevice) {
  const TestServer server("devices=0,1;health.1=0xffffffff",
                          "tls_ca_recovered_0=1\n");
  const ToolRun run = server.Run("-a -cfg recovery");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, StartsWith("dev:0 recovery success\nRecovery failed."));
  EXPECT_EQ(run.err, "Command execute failed!\n");
}

TEST(RunToolTest, RecoveryLeavesGatewaysToDhcp) {
  const TestServer server("",
                          "tls_ca_recovered_0=1\nudhcpc_enable_0=1\n"
                          "gateway_0=10.0.0.254\n");
  EXPECT_EQ(server.Run("-i 0 -cfg recovery").status, 0);
  EXPECT_EQ(server.state().Find("gateway.0"), std::nullopt);
}

TEST(RunToolTest, RecoveryNotesFailuresInTheLog) {
  const TestServer server(
      "", "tls_ca_recovered_0=1\naddress_0=x\nnetmask_0=255.0.0.0\n");
  EXPECT_EQ(server.Run("-i 0 -cfg recovery").status, 1);
  EXPECT_THAT(server.Read("/var/log/hccn_tool/hccn_config.log"),
              HasSubstr("device 0: recovery of address: The ip address you "
                        "configured is invalid!"));
}

TEST(RunToolTest, LogFolderThatIsAFileIsAWarningBeforeTheData) {
  const TestServer server(kAddressed);
  server.Write("/var/log/hccn_tool", "");
  EXPECT_THAT(server.Run("-i 0 -ip -g").out,
              StartsWith("[WARNING] \"/var/log/hccn_tool\" is not a "
                         "directory, hccn_tool logs may be lost.\nipaddr:"));
}

TEST(RunToolTest, LogIsNotWrittenThroughALink) {
  const TestServer server(kAddressed);
  std::filesystem::create_directory(server.root() + "/var/log/hccn_tool");
  std::filesystem::create_symlink(
      server.root() + "/etc/passwd",
      server.root() + "/var/log/hccn_tool/hccn_config.log");
  const std::string before = server.Read("/etc/passwd");
  EXPECT_EQ(server.Run("-i 0 -mtu -s size 1500").status, 0);
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

TEST(RunToolTest, ScriptedAnswerReplacesEveryOther) {
  const TestServer server("say.2=segmentation");
  EXPECT_EQ(server.Run("-i 2 -ip -g").out, "segmentation");
}

TEST(RunToolTest, LyingDeviceSaysDoneAndChangesNothing) {
  const TestServer server(std::string(kAddressed) + ";lies.0=1",
                          "address_0=10.0.0.1\n");
  const ToolRun run =
      server.Run("-i 0 -ip -s address 10.0.0.7 netmask 255.255.255.0");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "Cmd executed successfully!\n");
  EXPECT_THAT(server.Run("-i 0 -ip -g").out, HasSubstr("ipaddr:10.0.0.1\n"));
  EXPECT_EQ(server.conf(), "address_0=10.0.0.1\n");
}

TEST(RunToolTest, OtherSpellingOfTheDetectAddressCanBeHad) {
  const TestServer server("spelling.netdetect=netdetect address: ");
  EXPECT_EQ(server.Run("-i 0 -netdetect -g").out,
            "netdetect address: 0.0.0.0\n");
}

TEST(RunToolTest, NamedUserMayStandInForRoot) {
  const TestServer server(std::string(kAddressed) + ";root_uid=65534");
  EXPECT_EQ(server.Run("-i 0 -mtu -s size 1500", "", 65534).status, 0);
  EXPECT_EQ(
      TestServer(kAddressed).Run("-i 0 -mtu -s size 1500", "", 65534).status,
      12);
}

TEST(RunToolTest, HelpListsTheCommands) {
  const ToolRun run = TestServer("").Run("-h");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, HasSubstr("-gateway"));
}

}  // namespace
}  // namespace clusterd::sim
