#include "daemon/host/ascend950/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace ascend950 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kInterfaceHeader[] =
    "| Interface Name | IP Address | Netmask | Bond Mode | Slaves |\n";
constexpr char kPortHeader[] =
    "| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | "
    "Media Type |\n";

// A tool with one device.
class ScriptedTool {
 public:
  ScriptedTool() {
    Says(
        "-g -dev_info -i 0",
        absl::StrCat(kPortHeader,
                     "| 0 | 4 | 400 | ETH | UP | Optical |\n"
                     "| 1 | 5 | 400 | ETH | UP | Optical |\n"
                     "| 0 | 6 | 400 | UB | DOWN | Electrical |\n",
                     kInterfaceHeader,
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
    Says("-g -net_health -i 0", "net health status: Success\n");
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

class ReadDeviceTest : public testing::Test {
 protected:
  ScriptedTool tool_;
};

TEST_F(ReadDeviceTest, ReadsEveryFactOfAHealthyDevice) {
  const DeviceFacts facts = tool_.Read();
  EXPECT_EQ(facts.id(), 0u);
  ASSERT_EQ(facts.address().value().settings_size(), 1);
  EXPECT_EQ(facts.address().value().settings(0).address(), "10.20.0.17");
  EXPECT_EQ(facts.address().value().settings(0).netmask(), "255.255.255.0");
  EXPECT_EQ(facts.gateway().value(), "10.20.0.1");
  EXPECT_EQ(facts.mtu().value(), 4200u);
  EXPECT_FALSE(facts.lldp().value().heard());
  EXPECT_EQ(facts.link().value(), LinkFact::UP);
  EXPECT_EQ(facts.detect_address().value(), "10.20.0.1");
  EXPECT_EQ(facts.net_health().value(), NET_HEALTH_SUCCESS);
  EXPECT_FALSE(facts.has_tls());
}

TEST_F(ReadDeviceTest, TakesNoAddressAndNoGatewayAsAnswers) {
  tool_.Fails("-g -ip -i 0 -d bond0", 6,
              "Get ip failed, because no ip was preset there!\n");
  tool_.Fails("-g -gateway -i 0 -d bond0", 5,
              "Get gateway failed, because no gateway was preset there!\n");
  const DeviceFacts facts = tool_.Read();
  EXPECT_TRUE(facts.address().has_value());
  EXPECT_EQ(facts.address().value().settings_size(), 0);
  EXPECT_TRUE(facts.gateway().has_value());
  EXPECT_EQ(facts.gateway().value(), "");
}

TEST_F(ReadDeviceTest, NamesTheBondItselfWhereTheTableHasNone) {
  tool_.Says("-g -dev_info -i 0",
             absl::StrCat(kPortHeader, "| 0 | 4 | 400 | ETH | UP | Optical |\n",
                          kInterfaceHeader));
  EXPECT_EQ(tool_.Read().gateway().value(), "10.20.0.1");
}

TEST_F(ReadDeviceTest, TakesTheSlotFromTheBondsName) {
  EXPECT_EQ(tool_.ReadAll().slot, 0u);
  tool_.Says("-g -dev_info -i 0",
             absl::StrCat(kPortHeader, "| 0 | 4 | 400 | ETH | UP | Optical |\n",
                          kInterfaceHeader,
                          "| bond14 | 10.0.0.1 | 255.0.0.0 | 8023.ad | a |\n"));
  tool_.Says("-g -ip -i 0 -d bond14", "ipaddr:10.0.0.1\nnetmask:255.0.0.0\n");
  for (const char* query : {"gateway", "mtu", "lldp"}) {
    tool_.Says(absl::StrCat("-g -", query, " -i 0 -d bond14"), "");
  }
  const DeviceReading reading = tool_.ReadAll();
  EXPECT_EQ(reading.slot, 14u);
  EXPECT_EQ(reading.facts.address().value().settings(0).address(), "10.0.0.1");
}

TEST_F(ReadDeviceTest, DoesNotLookForAnAddressOnUbPorts) {
  tool_.Says(
      "-g -dev_info -i 0",
      absl::StrCat(kPortHeader, "| 0 | 4 | 400 | UB | UP | Electrical |\n",
                   kInterfaceHeader));
  const DeviceFacts facts = tool_.Read();
  EXPECT_THAT(
      tool_.runner_.commands(),
      ElementsAre("hccn_tool -g -dev_info -i 0", "hccn_tool -g -netdetect -i 0",
                  "hccn_tool -g -net_health -i 0"));
  EXPECT_EQ(facts.address().missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_THAT(facts.address().missing().detail(), HasSubstr("no ETH port"));
  EXPECT_THAT(facts.lldp().missing().detail(), Tells("fact-query-950"));
  EXPECT_EQ(facts.link().missing().reason(), Missing::NOT_SUPPORTED);
}

TEST_F(ReadDeviceTest, DoesNotChooseBetweenTwoBonds) {
  tool_.Says("-g -dev_info -i 0",
             absl::StrCat(kPortHeader, "| 0 | 4 | 400 | ETH | UP | Optical |\n",
                          kInterfaceHeader,
                          "| bond0 | 10.0.0.1 | 255.0.0.0 | 8023.ad | a |\n"
                          "| bond1 | 10.0.0.2 | 255.0.0.0 | 8023.ad | b |\n"));
  EXPECT_THAT(tool_.Read().address().missing().detail(),
              HasSubstr("2 bond devices"));
}

TEST_F(ReadDeviceTest, DoesNotJudgeLinksThatDiffer) {
  tool_.Says("-g -link -i 0 -u 1 -p 5", "link status: DOWN\n");
  const DeviceFacts facts = tool_.Read();
  EXPECT_EQ(facts.link().missing().reason(), Missing::UNREADABLE);
  EXPECT_THAT(facts.link().missing().detail(), HasSubstr("ETH ports differ"));
}

TEST_F(ReadDeviceTest, ReportsDownIfAllEthPortsAre) {
  tool_.Says("-g -link -i 0 -u 0 -p 4", "link status: DOWN\n");
  tool_.Says("-g -link -i 0 -u 1 -p 5", "link status: DOWN\n");
  EXPECT_EQ(tool_.Read().link().value(), LinkFact::DOWN);
}

TEST_F(ReadDeviceTest, AsksAgainWhileADetectAddressIsPending) {
  tool_.Says("-g -net_health -i 0", "net health status: Detect ip set\n");
  EXPECT_EQ(tool_.Read().net_health().value(), NET_HEALTH_DETECT_IP_SET);
  EXPECT_EQ(tool_.runner_.CountOf("hccn_tool -g -net_health -i 0"), 4);
  EXPECT_EQ(tool_.clock_.Monotonic(), absl::Seconds(3));
}

TEST_F(ReadDeviceTest, StopsAskingWhenThereIsNoTime) {
  tool_.clock_.Advance(absl::Seconds(29));
  tool_.Says("-g -net_health -i 0", "net health status: Detect ip set\n");
  EXPECT_EQ(tool_.Read().net_health().value(), NET_HEALTH_DETECT_IP_SET);
  EXPECT_EQ(tool_.runner_.CountOf("hccn_tool -g -net_health -i 0"), 1);
}

TEST_F(ReadDeviceTest, QuotesAnAnswerThatIsNotPublished) {
  tool_.Says("-g -gateway -i 0 -d bond0", "| Gateway | 10.20.0.1 |\n");
  const Missing missing = tool_.Read().gateway().missing();
  EXPECT_EQ(missing.reason(), Missing::UNREADABLE);
  EXPECT_THAT(missing.detail(),
              HasSubstr("`hccn_tool -g -gateway -i 0 -d bond0`: "));
  EXPECT_THAT(missing.detail(), HasSubstr("| Gateway | 10.20.0.1 |"));
  EXPECT_THAT(missing.detail(), Tells("fact-not-known-950"));
}

TEST_F(ReadDeviceTest, GivesEveryFactThatNeedsTheTableItsReason) {
  tool_.Fails("-g -dev_info -i 0", 15, "Get device info failed.\n");
  const DeviceFacts facts = tool_.Read();
  for (const Missing& missing :
       {facts.address().missing(), facts.gateway().missing(),
        facts.mtu().missing(), facts.lldp().missing(),
        facts.link().missing()}) {
    EXPECT_EQ(missing.detail(),
              "`hccn_tool -g -dev_info -i 0`: Get device info failed.");
  }
  EXPECT_EQ(facts.net_health().value(), NET_HEALTH_SUCCESS);
}

TEST(ReadTlsTest, ReadsTheSwitch) {
  ScriptedTool tool;
  const TlsFact fact = tool.Tls();
  EXPECT_TRUE(fact.value().enabled());
  EXPECT_EQ(fact.value().source(), "hccn_tool -g -tls");
}

TEST(ReadTlsTest, GivesTheReasonOfAFailure) {
  ScriptedTool tool;
  tool.Fails("-g -tls -i 0", 1, "Cmd execute failed!\n");
  EXPECT_EQ(tool.Tls().missing().detail(),
            "`hccn_tool -g -tls -i 0`: Cmd execute failed!");
}

}  // namespace
}  // namespace ascend950
}  // namespace clusterd
