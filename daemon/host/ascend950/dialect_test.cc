#include "daemon/host/ascend950/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "daemon/host/hccn/hccn_error.h"

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

// A tool with one device: answers by command line, and what was asked.
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
    answers_[line] = {output, "", 0};
  }
  void Fails(const std::string& line, int status, const std::string& error) {
    answers_[line] = {"", error, status};
  }

  AskTool ask() {
    return [this](const std::vector<std::string>& arguments) {
      return Answer(absl::StrJoin(arguments, " "));
    };
  }
  PauseTool pause() {
    return [this](absl::Duration) { return ++pauses_ <= allowed_pauses_; };
  }
  DeviceFacts Read() { return ReadDevice(0, ask(), pause()).facts; }

  std::vector<std::string> asked_;
  int pauses_ = 0;
  int allowed_pauses_ = 100;

 private:
  struct Scripted {
    std::string output;
    std::string error;
    int status;
  };

  HccnAnswer Answer(const std::string& line) {
    asked_.push_back(line);
    HccnAnswer answer;
    answer.generation = NpuToolFacts::ASCEND_950;
    answer.command = absl::StrCat("`hccn_tool ", line, "`");
    const auto scripted = answers_.find(line);
    if (scripted == answers_.end()) {
      ADD_FAILURE() << "nobody expected " << answer.command;
      return answer;
    }
    CommandResult result;
    result.standard_output = scripted->second.output;
    result.standard_error = scripted->second.error;
    result.exit_status = scripted->second.status;
    const HccnVerdict verdict =
        ClassifyHccnRun(result, NpuToolFacts::ASCEND_950);
    answer.failure = verdict.failure;
    answer.output = result.standard_output;
    if (verdict.failure != HccnFailure::kNone &&
        verdict.failure != HccnFailure::kNoAddress &&
        verdict.failure != HccnFailure::kNoGateway) {
      answer.missing.emplace();
      answer.missing->set_reason(Missing::TOOL_FAILED);
      answer.missing->set_detail(verdict.text);
    }
    return answer;
  }

  std::map<std::string, Scripted> answers_;
};

TEST(ReadDeviceTest, ReadsEveryFactOfAHealthyDevice) {
  ScriptedTool tool;
  const DeviceFacts facts = tool.Read();
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

TEST(ReadDeviceTest, TakesNoAddressAndNoGatewayAsAnswers) {
  ScriptedTool tool;
  tool.Fails("-g -ip -i 0 -d bond0", 6,
             "Get ip failed, because no ip was preset there!\n");
  tool.Fails("-g -gateway -i 0 -d bond0", 5,
             "Get gateway failed, because no gateway was preset there!\n");
  const DeviceFacts facts = tool.Read();
  EXPECT_TRUE(facts.address().has_value());
  EXPECT_EQ(facts.address().value().settings_size(), 0);
  EXPECT_TRUE(facts.gateway().has_value());
  EXPECT_EQ(facts.gateway().value(), "");
}

TEST(ReadDeviceTest, NamesTheBondItselfWhereTheTableHasNone) {
  ScriptedTool tool;
  tool.Says("-g -dev_info -i 0",
            absl::StrCat(kPortHeader, "| 0 | 4 | 400 | ETH | UP | Optical |\n",
                         kInterfaceHeader));
  EXPECT_EQ(tool.Read().gateway().value(), "10.20.0.1");
}

TEST(ReadDeviceTest, TakesTheSlotFromTheBondsName) {
  ScriptedTool tool;
  EXPECT_EQ(ReadDevice(0, tool.ask(), tool.pause()).slot, 0u);
  tool.Says("-g -dev_info -i 0",
            absl::StrCat(kPortHeader, "| 0 | 4 | 400 | ETH | UP | Optical |\n",
                         kInterfaceHeader,
                         "| bond14 | 10.0.0.1 | 255.0.0.0 | 8023.ad | a |\n"));
  tool.Says("-g -ip -i 0 -d bond14", "ipaddr:10.0.0.1\nnetmask:255.0.0.0\n");
  for (const char* query : {"gateway", "mtu", "lldp"}) {
    tool.Says(absl::StrCat("-g -", query, " -i 0 -d bond14"), "");
  }
  const DeviceReading reading = ReadDevice(0, tool.ask(), tool.pause());
  EXPECT_EQ(reading.slot, 14u);
  EXPECT_EQ(reading.facts.address().value().settings(0).address(), "10.0.0.1");
}

TEST(ReadDeviceTest, DoesNotLookForAnAddressOnUbPorts) {
  ScriptedTool tool;
  tool.Says(
      "-g -dev_info -i 0",
      absl::StrCat(kPortHeader, "| 0 | 4 | 400 | UB | UP | Electrical |\n",
                   kInterfaceHeader));
  const DeviceFacts facts = tool.Read();
  EXPECT_THAT(tool.asked_,
              ElementsAre("-g -dev_info -i 0", "-g -netdetect -i 0",
                          "-g -net_health -i 0"));
  EXPECT_EQ(facts.address().missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_THAT(facts.address().missing().detail(), HasSubstr("no ETH port"));
  EXPECT_THAT(facts.lldp().missing().detail(),
              HasSubstr("not known for the Ascend 950 tool"));
  EXPECT_EQ(facts.link().missing().reason(), Missing::NOT_SUPPORTED);
}

TEST(ReadDeviceTest, DoesNotChooseBetweenTwoBonds) {
  ScriptedTool tool;
  tool.Says("-g -dev_info -i 0",
            absl::StrCat(kPortHeader, "| 0 | 4 | 400 | ETH | UP | Optical |\n",
                         kInterfaceHeader,
                         "| bond0 | 10.0.0.1 | 255.0.0.0 | 8023.ad | a |\n"
                         "| bond1 | 10.0.0.2 | 255.0.0.0 | 8023.ad | b |\n"));
  EXPECT_THAT(tool.Read().address().missing().detail(),
              HasSubstr("2 bond devices"));
}

TEST(ReadDeviceTest, DoesNotJudgeLinksThatDiffer) {
  ScriptedTool tool;
  tool.Says("-g -link -i 0 -u 1 -p 5", "link status: DOWN\n");
  const DeviceFacts facts = tool.Read();
  EXPECT_EQ(facts.link().missing().reason(), Missing::UNREADABLE);
  EXPECT_THAT(facts.link().missing().detail(), HasSubstr("ETH ports differ"));
}

TEST(ReadDeviceTest, ReportsDownIfAllEthPortsAre) {
  ScriptedTool tool;
  tool.Says("-g -link -i 0 -u 0 -p 4", "link status: DOWN\n");
  tool.Says("-g -link -i 0 -u 1 -p 5", "link status: DOWN\n");
  EXPECT_EQ(tool.Read().link().value(), LinkFact::DOWN);
}

TEST(ReadDeviceTest, AsksAgainWhileADetectAddressIsPending) {
  ScriptedTool tool;
  tool.Says("-g -net_health -i 0", "net health status: Detect ip set\n");
  EXPECT_EQ(tool.Read().net_health().value(), NET_HEALTH_DETECT_IP_SET);
  EXPECT_EQ(tool.pauses_, 3);
}

TEST(ReadDeviceTest, StopsAskingWhenThereIsNoTime) {
  ScriptedTool tool;
  tool.allowed_pauses_ = 0;
  tool.Says("-g -net_health -i 0", "net health status: Detect ip set\n");
  EXPECT_EQ(tool.Read().net_health().value(), NET_HEALTH_DETECT_IP_SET);
  EXPECT_EQ(tool.pauses_, 1);
}

TEST(ReadDeviceTest, QuotesAnAnswerThatIsNotPublished) {
  ScriptedTool tool;
  tool.Says("-g -gateway -i 0 -d bond0", "| Gateway | 10.20.0.1 |\n");
  const Missing missing = tool.Read().gateway().missing();
  EXPECT_EQ(missing.reason(), Missing::UNREADABLE);
  EXPECT_THAT(missing.detail(),
              HasSubstr("`hccn_tool -g -gateway -i 0 -d bond0`: "));
  EXPECT_THAT(missing.detail(), HasSubstr("| Gateway | 10.20.0.1 |"));
  EXPECT_THAT(missing.detail(), HasSubstr("not known for the Ascend 950 tool"));
}

TEST(ReadDeviceTest, GivesEveryFactThatNeedsTheTableItsReason) {
  ScriptedTool tool;
  tool.Fails("-g -dev_info -i 0", 15, "Get device info failed.\n");
  const DeviceFacts facts = tool.Read();
  for (const Missing& missing :
       {facts.address().missing(), facts.gateway().missing(),
        facts.mtu().missing(), facts.lldp().missing(),
        facts.link().missing()}) {
    EXPECT_EQ(missing.detail(), "Get device info failed.");
  }
  EXPECT_EQ(facts.net_health().value(), NET_HEALTH_SUCCESS);
}

TEST(ReadTlsTest, ReadsTheSwitch) {
  ScriptedTool tool;
  const TlsFact fact = ReadTls(0, tool.ask());
  EXPECT_TRUE(fact.value().enabled());
  EXPECT_EQ(fact.value().source(), "hccn_tool -g -tls");
}

TEST(ReadTlsTest, GivesTheReasonOfAFailure) {
  ScriptedTool tool;
  tool.Fails("-g -tls -i 0", 1, "Cmd execute failed!\n");
  EXPECT_EQ(ReadTls(0, tool.ask()).missing().detail(), "Cmd execute failed!");
}

}  // namespace
}  // namespace ascend950
}  // namespace clusterd
