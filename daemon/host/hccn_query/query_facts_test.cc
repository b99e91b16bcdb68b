#include "daemon/host/hccn_query/query_facts.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// A module's thresholds, published by Ascend/mind-cluster.
constexpr char kThresholds[] =
    "TxPower High Thres   : 3.5481 mW\nTxPower Low Thres    : 0.2818 mW\n"
    "RxPower High Thres   : 3.4673 mW\nRxPower Low Thres    : 0.1445 mW\n";

std::vector<std::string> AlarmsOf(const std::string& rows) {
  const auto optical = ParseHccnOptical(
      absl::StrCat("optical info:\npresent              : present\n", rows));
  EXPECT_TRUE(optical.ok()) << optical.status();
  std::vector<std::string> texts;
  const OpticalFact::Module module = MakeOpticalModule(*optical);
  for (const OpticalAlarm& alarm : module.alarms()) {
    texts.push_back(absl::StrCat(alarm.name(), " ", alarm.value(), " [",
                                 alarm.limits(), "]"));
  }
  return texts;
}

TEST(MakeOpticalModuleTest, TakesPowerAgainstTheModulesOwnThresholds) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(AlarmsOf(absl::StrCat("Tx Power0            : 1.2000 mW\n"
                                  "Rx Power0            : 1.0189 mW\n"
                                  "Rx Power1            : 0.1018 mW\n",
                                  kThresholds)),
            (Texts{"Rx Power1 0.1018 mW [0.1445 ~ 3.4673 mW]"}));
  EXPECT_EQ(AlarmsOf("temperature          : 80 C\n"
                     "Temp High Thres      : 75 C\n"
                     "Temp Low Thres       : -5 C\n"),
            (Texts{"temperature 80 C [-5 ~ 75 C]"}));
}

TEST(MakeOpticalModuleTest, ModuleWithoutThresholdsHasNoAlarm) {
  EXPECT_TRUE(AlarmsOf("Rx Power0            : 0.0001 mW\n"
                       "RxPower High Thres   : 0.0000 mW\n"
                       "RxPower Low Thres    : 0.0000 mW\n")
                  .empty());
  EXPECT_TRUE(AlarmsOf("Rx Power             : NA\n"
                       "RxPower High Thres   : NA\n")
                  .empty());
}

TEST(MakeOpticalModuleTest, FlagThatIsSetIsAnAlarm) {
  EXPECT_EQ(AlarmsOf("Tx Los Flag          : 0x0\n"
                     "Rx Los Flag          : 0xff\n"
                     "Rx LoL Flag          : NA\n"),
            (std::vector<std::string>{"Rx Los Flag 0xff []"}));
}

class QueryFactsTest : public ::testing::Test {
 protected:
  DeviceFacts Ask(NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC) {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    HccnSession session(std::string("/x/hccn_tool"), generation, 3, &runner_,
                        &clock_, &budget, &turns_);
    DeviceFacts facts;
    AskLosslessSettings(&session, &facts);
    AskTraffic(3, &session, &facts);
    return facts;
  }

  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  DeviceLocks turns_;
};

TEST_F(QueryFactsTest, PutsSettingsInTheFormsOfHccnConf) {
  runner_.Answers("hccn_tool -i 3 -pfc -g",
                  "PFC configuration:\npriority   0 1 2 3 4 5 6 7\n"
                  "enabled    0 0 0 0 1 0 0 0\n");
  runner_.Answers("hccn_tool -i 3 -prio_tc -g",
                  "Priority mapping:\npriority   0 1 2 3 4 5 6 7\n"
                  "TC         0 0 0 0 1 0 0 3\n");
  runner_.Answers("hccn_tool -i 3 -dscp_to_tc -g",
                  "dscp      tc\n   0       0\n  33       1\n  46       2\n");
  runner_.Answers("hccn_tool -i 3 -udp -g",
                  "udp_port:4791\nstatus:custom\nUDP port list(based on IP "
                  "pair):\nno entry has been configured.\n");
  const DeviceFacts facts = Ask();
  EXPECT_EQ(facts.pfc().value(), "0,0,0,0,1,0,0,0");
  EXPECT_EQ(facts.priority_to_tc().value(), "0,0,0,0,1,0,0,3");
  EXPECT_EQ(facts.dscp_to_tc().value(), "33:1,46:2");
  EXPECT_EQ(facts.roce_port().value(), "4791");
  EXPECT_EQ(facts.optical().missing().reason(), Missing::TOOL_FAILED);
}

TEST_F(QueryFactsTest, QueryThatAnOlderToolDoesNotKnowIsNotSupported) {
  for (const char* query :
       {"-pfc", "-udp", "-dscp_to_tc", "-prio_tc", "-optical", "-link_stat"}) {
    runner_.Fails(absl::StrCat("hccn_tool -i 3 ", query, " -g"), 3,
                  "Get invalid major cmd.\nEnter [ hccn_tool -h ] for more "
                  "details.\n");
  }
  const DeviceFacts facts = Ask();
  for (const Missing& missing :
       {facts.pfc().missing(), facts.roce_port().missing(),
        facts.dscp_to_tc().missing(), facts.priority_to_tc().missing(),
        facts.optical().missing(), facts.link_history().missing()}) {
    EXPECT_EQ(missing.reason(), Missing::NOT_SUPPORTED);
  }
  EXPECT_THAT(facts.pfc().missing().detail(),
              HasSubstr("Get invalid major cmd."));
}

TEST_F(QueryFactsTest, Ascend950IsNotAskedInWordsThatNobodyPublished) {
  const DeviceFacts facts = Ask(NpuToolFacts::ASCEND_950);
  EXPECT_EQ(facts.pfc().missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_EQ(facts.link_history().missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_TRUE(runner_.commands().empty());
}

std::string RisesAt(CounterMemory* memory, int minute, uint64_t retries) {
  const CounterRisesFact::Rises rises =
      memory->Compare(3, absl::Minutes(minute),
                      {{"roce_new_pkt_rty_num", retries},
                       {"mac_rx_bad_pkt_num", 7},
                       {"roce_rx_all_pkt_num", 1000 * retries}});
  if (!rises.has_seconds()) return rises.not_compared();
  std::string text = absl::StrCat(rises.seconds(), "s");
  for (const CounterRise& each : rises.rises()) {
    absl::StrAppend(&text, " ", each.name(), "+", each.rise());
  }
  return text;
}

TEST(CounterMemoryTest, FirstReadComparesNothingAndTheNextTellsRiseAndSpan) {
  CounterMemory memory;
  EXPECT_THAT(RisesAt(&memory, 0, 100), HasSubstr("for the first time"));
  EXPECT_EQ(RisesAt(&memory, 1, 100), "60s");
  EXPECT_EQ(RisesAt(&memory, 5, 112), "300s roce_new_pkt_rty_num+12");
  // Each device has its own memory.
  EXPECT_FALSE(memory.Compare(4, absl::Minutes(6), {}).has_seconds());
}

TEST(CounterMemoryTest, SteadyRiseDoesNotVanishBetweenChecksInQuickFollow) {
  CounterMemory memory;
  RisesAt(&memory, 0, 0);
  EXPECT_EQ(RisesAt(&memory, 6, 6), "360s roce_new_pkt_rty_num+6");
  EXPECT_EQ(RisesAt(&memory, 7, 6), "420s roce_new_pkt_rty_num+6");
  EXPECT_EQ(RisesAt(&memory, 11, 7), "300s roce_new_pkt_rty_num+1");
  // A rise is reported for a limited time.
  EXPECT_EQ(RisesAt(&memory, 1000, 7), "59340s");
}

TEST(CounterMemoryTest, CounterThatFellBeginsAnew) {
  CounterMemory memory;
  RisesAt(&memory, 0, 10);
  RisesAt(&memory, 6, 100);
  EXPECT_EQ(RisesAt(&memory, 7, 50),
            "roce_new_pkt_rty_num fell, so it was reset");
  EXPECT_EQ(RisesAt(&memory, 8, 51), "60s roce_new_pkt_rty_num+1");
}

class AskCountersTest : public ::testing::Test {
 protected:
  CounterRisesFact Ask(
      NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC) {
    HccnSession session("/usr/bin/hccn_tool", generation, 3, &runner_, &clock_,
                        &budget_, &locks_);
    return AskCounters(3, &session, &clock_, &memory_);
  }

  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  TimeBudget budget_{&clock_, absl::Seconds(10), absl::Minutes(30)};
  DeviceLocks locks_;
  CounterMemory memory_;
};

TEST_F(AskCountersTest, TellsWhatRoseSinceTheLastAnswer) {
  constexpr char kStat[] = "hccn_tool -i 3 -stat -g";
  runner_.Answers(kStat, "packet statistics:\nroce_rx_err_pkt_num:1\n");
  EXPECT_FALSE(Ask().value().has_seconds());
  clock_.Advance(absl::Minutes(5));
  runner_.NowAnswers(kStat, "packet statistics:\nroce_rx_err_pkt_num:13\n");
  const CounterRisesFact fact = Ask();
  ASSERT_THAT(fact.value(), HasFields("rises { rise: 12 } seconds: 300"));
}

TEST_F(AskCountersTest, ToolWithoutTheQueryIsNotSupported) {
  runner_.Fails("hccn_tool -i 3 -stat -g", 3,
                "Get invalid major cmd.\nEnter [ hccn_tool -h ] for more "
                "details.\n");
  EXPECT_EQ(Ask().missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_EQ(Ask(NpuToolFacts::ASCEND_950).missing().reason(),
            Missing::NOT_SUPPORTED);
}

}  // namespace
}  // namespace clusterd
