#include "daemon/host/ascend950/dialect.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd::ascend950 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kDeviceInfo[] = "-g -dev_info -i 0";
constexpr char kNetHealth[] = "-g -net_health -i 0";
constexpr char kInterfaceHeader[] =
    "| Interface Name | IP Address | Netmask | Bond Mode | Slaves |\n";
constexpr char kPortHeader[] =
    "| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | "
    "Media Type |\n";

std::string TablesOf(const std::string& ports, const std::string& bonds = "") {
  return absl::StrCat(kPortHeader, ports, kInterfaceHeader, bonds);
}

// A tool with one device.
class ReadDeviceTest : public testing::Test {
 protected:
  ReadDeviceTest() {
    Says(kDeviceInfo,
         TablesOf("| 0 | 4 | 400 | ETH | UP | Optical |\n"
                  "| 1 | 5 | 400 | ETH | UP | Optical |\n"
                  "| 0 | 6 | 400 | UB | DOWN | Electrical |\n",
                  "| bond0 | 10.20.0.17 | 255.255.255.0 | 8023.ad | a |\n"
                  "|       |            |               |         | b |\n"));
    Says("-g -ip -i 0 -d bond0", "ipaddr:10.20.0.17\nnetmask:255.255.255.0\n");
    Says("-g -gateway -i 0 -d bond0", "default gateway:10.20.0.1\n");
    Says("-g -mtu -i 0 -d bond0", "mtu:4200\n");
    Says("-g -lldp -i 0 -d bond0",
         "[dev_name:a] LLDP neighbor info:\n\n"
         "[dev_name:b] LLDP neighbor info:\n\n");
    Says("-g -link -i 0 -u 0 -p 4", "link status: UP\n");
    Says("-g -link -i 0 -u 1 -p 5", "link status: UP\n");
    Says("-g -netdetect -i 0", "netdetect addr: 10.20.0.1\n");
    Says(kNetHealth, "net health status: Success\n");
    Says("-g -tls -i 0", "device 0, tls switch[1](0:disable, 1:enable)\n");
  }

  void Says(const std::string& line, const std::string& output) {
    Fails(line, 0, "", output);
  }
  void Fails(const std::string& line, int status, const std::string& error,
             const std::string& output = "") {
    runner_.NowFails("hccn_tool " + line, status, error, output);
  }

  DeviceReading ReadAll() {
    HccnSession session = Session();
    return ReadDevice(0, &session);
  }
  DeviceFacts Read() { return ReadAll().facts; }
  TlsFact Tls() {
    HccnSession session = Session();
    return ReadTls(0, session.Ask("-tls"));
  }

  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};

 private:
  HccnSession Session() {
    return HccnSession(std::string("/x/hccn_tool"), NpuToolFacts::ASCEND_950, 0,
                       &runner_, &clock_, &budget_, &turns_);
  }

  DeviceLocks turns_;
  TimeBudget budget_{&clock_, absl::Seconds(10), absl::Seconds(30)};
};

TEST_F(ReadDeviceTest, ReadsEveryFactOfAHealthyDevice) {
  const DeviceFacts facts = Read();
  EXPECT_THAT(facts, HasFields(R"(
      id: 0
      address { value { settings { address: "10.20.0.17"
                                   netmask: "255.255.255.0" } } }
      gateway { value: "10.20.0.1" } detect_address { value: "10.20.0.1" }
      mtu { value: 4200 } lldp { value { heard: false } } link { value: UP }
      net_health { value: NET_HEALTH_SUCCESS })"));
  EXPECT_FALSE(facts.has_tls());
}

TEST_F(ReadDeviceTest, TakesNoAddressAndNoGatewayAsAnswers) {
  Fails("-g -ip -i 0 -d bond0", 6,
        "Get ip failed, because no ip was preset there!\n");
  Fails("-g -gateway -i 0 -d bond0", 5,
        "Get gateway failed, because no gateway was preset there!\n");
  const DeviceFacts facts = Read();
  EXPECT_EQ(facts.address().value().settings_size(), 0);
  EXPECT_THAT(facts, HasFields("address { value {} } gateway { value: '' }"));
}

TEST_F(ReadDeviceTest, NamesTheBondItselfWhereTheTableHasNone) {
  Says(kDeviceInfo, TablesOf("| 0 | 4 | 400 | ETH | UP | Optical |\n"));
  EXPECT_EQ(Read().gateway().value(), "10.20.0.1");
}

TEST_F(ReadDeviceTest, TakesTheSlotFromTheBondsName) {
  EXPECT_EQ(ReadAll().slot, 0u);
  Says(kDeviceInfo,
       TablesOf("| 0 | 4 | 400 | ETH | UP | Optical |\n",
                "| bond14 | 10.0.0.1 | 255.0.0.0 | 8023.ad | a |\n"));
  Says("-g -ip -i 0 -d bond14", "ipaddr:10.0.0.1\nnetmask:255.0.0.0\n");
  for (const char* query : {"gateway", "mtu", "lldp"}) {
    Says(absl::StrCat("-g -", query, " -i 0 -d bond14"), "");
  }
  const DeviceReading reading = ReadAll();
  EXPECT_EQ(reading.slot, 14u);
  EXPECT_EQ(reading.facts.address().value().settings(0).address(), "10.0.0.1");
}

TEST_F(ReadDeviceTest, DoesNotLookForAnAddressOnUbPorts) {
  Says(kDeviceInfo, TablesOf("| 0 | 4 | 400 | UB | UP | Electrical |\n"));
  const DeviceFacts facts = Read();
  EXPECT_THAT(runner_.commands(), ElementsAre("hccn_tool -g -dev_info -i 0",
                                              "hccn_tool -g -netdetect -i 0",
                                              "hccn_tool -g -net_health -i 0"));
  EXPECT_THAT(facts.address(),
              IsMissing(Missing::NOT_SUPPORTED, HasSubstr("no ETH port")));
  EXPECT_THAT(facts.lldp().missing().detail(), HasSubstr("not known for the"));
  EXPECT_THAT(facts.link(), IsMissing(Missing::NOT_SUPPORTED));
}

TEST_F(ReadDeviceTest, DoesNotChooseBetweenTwoBonds) {
  Says(kDeviceInfo,
       TablesOf("| 0 | 4 | 400 | ETH | UP | Optical |\n",
                "| bond0 | 10.0.0.1 | 255.0.0.0 | 8023.ad | a |\n"
                "| bond1 | 10.0.0.2 | 255.0.0.0 | 8023.ad | b |\n"));
  EXPECT_THAT(Read().address().missing().detail(), HasSubstr("2 bond devices"));
}

TEST_F(ReadDeviceTest, DoesNotJudgeLinksThatDiffer) {
  Says("-g -link -i 0 -u 1 -p 5", "link status: DOWN\n");
  EXPECT_THAT(Read().link(),
              IsMissing(Missing::UNREADABLE, HasSubstr("ETH ports differ")));
  Says("-g -link -i 0 -u 0 -p 4", "link status: DOWN\n");
  EXPECT_EQ(Read().link().value(), LinkFact::DOWN);
}

TEST_F(ReadDeviceTest, AsksAgainWhileADetectAddressIsPendingAndThereIsTime) {
  Says(kNetHealth, "net health status: Detect ip set\n");
  EXPECT_EQ(Read().net_health().value(), NET_HEALTH_DETECT_IP_SET);
  EXPECT_EQ(runner_.CountOf("hccn_tool -g -net_health -i 0"), 4);
  EXPECT_EQ(clock_.Monotonic(), absl::Seconds(3));
  clock_.Advance(absl::Seconds(26));
  EXPECT_EQ(Read().net_health().value(), NET_HEALTH_DETECT_IP_SET);
  EXPECT_EQ(runner_.CountOf("hccn_tool -g -net_health -i 0"), 4 + 1);
}

TEST_F(ReadDeviceTest, QuotesAnAnswerThatIsNotPublished) {
  Says("-g -gateway -i 0 -d bond0", "| Gateway | 10.20.0.1 |\n");
  const Missing missing = Read().gateway().missing();
  EXPECT_EQ(missing.reason(), Missing::UNREADABLE);
  EXPECT_THAT(missing.detail(),
              HasSubstr("`hccn_tool -g -gateway -i 0 -d bond0`: "));
  EXPECT_THAT(missing.detail(), HasSubstr("| Gateway | 10.20.0.1 |"));
  EXPECT_THAT(missing.detail(), Tells("fact-not-known-950"));
}

TEST_F(ReadDeviceTest, GivesEveryFactThatNeedsTheTableItsReason) {
  Fails(kDeviceInfo, 15, "Get device info failed.\n");
  const DeviceFacts facts = Read();
  for (const Missing& missing :
       {facts.address().missing(), facts.gateway().missing(),
        facts.mtu().missing(), facts.lldp().missing(),
        facts.link().missing()}) {
    EXPECT_EQ(missing.detail(),
              "`hccn_tool -g -dev_info -i 0`: Get device info failed.");
  }
  EXPECT_EQ(facts.net_health().value(), NET_HEALTH_SUCCESS);
}

TEST_F(ReadDeviceTest, ReadsTheSwitchOrGivesTheReasonOfAFailure) {
  EXPECT_TRUE(Tls().value().enabled());
  EXPECT_EQ(Tls().value().source(), "hccn_tool -g -tls");
  Fails("-g -tls -i 0", 1, "Cmd execute failed!\n");
  EXPECT_EQ(Tls().missing().detail(),
            "`hccn_tool -g -tls -i 0`: Cmd execute failed!");
}

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
  ExpectRejected(
      ParseTls(absl::StrReplaceAll(output, {{"switch[1]", "switch[2]"}}), 0),
      "tls switch[2]");
}

TEST(ParseLldpTest, TakesTheFirstSlavesNeighbour) {
  const LldpNeighbour neighbour = ParseLldp(ReadFile("lldp.txt")).value();
  EXPECT_THAT(neighbour, HasFields(R"(
      heard: true system_name: "leaf-01" port_id: "400GE1/1/20:2")"));
}

TEST(ParseLldpTest, SaysThatNobodyWasHeardOnlyIfNeitherSlaveDid) {
  const std::string first = "[dev_name:ethc0d0e0] LLDP neighbor info:\n\n";
  const std::string second = "[dev_name:ethc0d0e1] LLDP neighbor info:\n";
  EXPECT_FALSE(ParseLldp(first + second + "\n").value().heard());
  ExpectRejected(
      ParseLldp(first + second +
                "Chassis ID TLV\n\tMAC: 00:11:22:33:44:55\n"
                "Port ID TLV\n\tIfname: eth1\nEnd of LLDPDU TLV\n\n"),
      "\"ethc0d0e0\" hears none and \"ethc0d0e1\" hears one");
  const std::string output = ReadFile("lldp.txt");
  EXPECT_THAT(
      ParseLldp(output.substr(0, output.find("[dev_name:ethc0d0e1"))).status(),
      HasText("answers of 1 slaves of the bond, expected 2"));
}

TEST(ParseLldpTest, RefusesTextWithoutHeaderOrOfAnotherForm) {
  for (const char* text :
       {"", "\n", "Chassis ID TLV\n\tMAC: 00:11:22:33:44:55\n",
        "[dev_name:a] LLDP neighbor info:\nport x of switch y\n"
        "[dev_name:b] LLDP neighbor info:\n\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseLldp(text).status())) << text;
  }
}

// Returns the golden input without the lines that name its source.
std::string Golden() {
  return GoldenText("tests/testdata/ascend950/dev_info.txt");
}

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

TEST(ParseDeviceInfoTest, TakesOnlyBondNamesThatTheToolTakes) {
  const std::pair<const char*, std::vector<std::string>> kCases[] = {
      {"| end0v0 | 192.168.2.199 | 255.255.255.0 | NA | NA |\n", {}},
      {"| bond | 10.0.0.1 | 255.0.0.0 | NA | NA |\n"
       "| bond0 -x | 10.0.0.1 | 255.0.0.0 | NA | NA |\n"
       "| bond1234567890 | 10.0.0.1 | 255.0.0.0 | NA | NA |\n"
       "| bond12 | 10.0.0.1 | 255.0.0.0 | NA | NA |\n",
       {"bond12"}}};
  for (const auto& [rows, bonds] : kCases) {
    const DeviceInfo info =
        ParseDeviceInfo(absl::StrCat(kInterfaceHeader, rows)).value();
    EXPECT_THAT(info.ports, IsEmpty());
    EXPECT_EQ(info.bonds, bonds);
  }
}

TEST(ParseDeviceInfoTest, QuotesWhatItDoesNotKnow) {
  const std::pair<std::string, const char*> kCases[] = {
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
  for (const auto& [output, message] : kCases) {
    ExpectRejected(ParseDeviceInfo(output), message);
  }
}

}  // namespace
}  // namespace clusterd::ascend950
