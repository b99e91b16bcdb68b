#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "daemon/host/npu_smi/device_ids.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Golden(const std::string& name) {
  return GoldenText("tests/testdata/npu_smi/" + name);
}

TEST(ParseNpuSmiHealthTest, ReadsStatusCodesAndInformation) {
  const ChipHealth alarm =
      ParseNpuSmiHealth(Golden("health_alarm.txt")).value();
  EXPECT_EQ(alarm.health(), ChipHealth::ALARM);
  EXPECT_THAT(alarm.error_codes(), ElementsAre("A4025021", "8C03A000"));
  EXPECT_EQ(alarm.information(), "node type=SOC: sensor type=Temperature");
}

TEST(ParseNpuSmiHealthTest, ReadsEveryStatusOfChipsAndCards) {
  const struct {
    const char* word;
    ChipHealth::Health health;
  } kCases[] = {{"OK", ChipHealth::OK},
                {"Warning", ChipHealth::WARNING},
                {"Alarm", ChipHealth::ALARM},
                {"Critical", ChipHealth::CRITICAL},
                {"UNKNOWN", ChipHealth::NOT_STARTED}};
  for (const auto& test_case : kCases) {
    for (const char* key : {"\tHealth Status : ", "\tHealth : "}) {
      const ChipHealth health =
          ParseNpuSmiHealth(std::string(key) + test_case.word +
                            "\n\tError Code : NA\n\tError Information : NA\n")
              .value();
      EXPECT_EQ(health.health(), test_case.health) << key << test_case.word;
      EXPECT_THAT(health.error_codes(), IsEmpty());
      EXPECT_EQ(health.information(), "");
    }
  }
}

TEST(ParseNpuSmiHealthTest, NeverTakesAnUnknownWordForHealthy) {
  const std::pair<const char*, const char*> kRefused[] = {
      {"\tHealth Status : ok\n", "an unknown health \"ok\""},
      {"\tHealth Status :\n", "an unknown health \"\""},
      {"\tError Code : NA\n", "no \"Health Status\""},
      {"no NPU\n", "no colon in \"no NPU\""},
      {"\tHealth Status : OK\n\tHealth Status : Alarm\n",
       "\"Health Status\" more than once"},
      {"\tHealth Status : OK\n\tError Code : what?\n",
       "no error code: \"what?\""}};
  for (const auto& [text, message] : kRefused) {
    ExpectRejected(ParseNpuSmiHealth(text), message);
  }
}

// Each further code has a line of text without a key.
TEST(ParseNpuSmiHealthTest, ReadsAChipWithSeveralFaults) {
  const ChipHealth health =
      ParseNpuSmiHealth(
          "\tHealth Status                  : Critical\n"
          "\tError Code                     : 80E18402 80e01801\n"
          "\tError Information              : rows full\n"
          "\n\t                               : multi bit\n"
          "Failed to get error information for error code : 0x1\n"
          "Failed to get error information for error code : 0x2\n")
          .value();
  EXPECT_THAT(health.error_codes(), ElementsAre("80E18402", "80E01801"));
  EXPECT_EQ(health.information(), "rows full");
}

TEST(ParseNpuSmiHealthTest, ReadsAnAlarmWithAnyCodes) {
  const struct {
    const char* codes;
    std::vector<std::string> read;
  } kCases[] = {{"80E18401", {"80E18401"}},
                {"0x80E18401", {"80E18401"}},
                {"0X80e18401,80e01801", {"80E18401", "80E01801"}},
                {"0x80E18401; 0x1", {"80E18401", "1"}},
                {"NA", {}},
                {"", {}},
                {"see the log", {"see", "the", "log"}},
                {"0x", {"0x"}}};
  for (const auto& test_case : kCases) {
    for (const char* word : {"Alarm", "ALARM", "Critical", "critical"}) {
      const auto health =
          ParseNpuSmiHealth(absl::StrCat("\tHealth Status : ", word,
                                         "\r\n\tError Code : ", test_case.codes,
                                         "\r\n"))
              .value();
      EXPECT_GE(health.health(), ChipHealth::ALARM) << word;
      EXPECT_THAT(health.error_codes(),
                  testing::ElementsAreArray(test_case.read));
    }
  }
}

TEST(ParseNpuSmiHealthTest, ReadsAnAlarmWhateverStandsBesideIt) {
  const auto of = [](const char* word) {
    return ParseNpuSmiHealth(absl::StrCat(
        "log: cannot open\nsee the manual\n\tHealth Status : ", word,
        "\n\tError Code : 0x80E18401\n\tError Code : 80E01801\n"
        "\tError Code : NA\n\tError Information : rows\n"
        "full\n\tError Information : bits\n"));
  };
  for (const char* word : {"Warning", "Alarm", "Critical", "UNKNOWN"}) {
    const auto health = of(word).value();
    EXPECT_THAT(health.error_codes(), ElementsAre("80E18401", "80E01801"));
    EXPECT_EQ(health.information(), "rows bits");
  }
  ExpectRejected(of("OK"), "no colon in \"see the manual\"");
  ExpectRejected(of("fine"), "an unknown health \"fine\"");
}

TEST(ParseNpuSmiMemoryTest, ReadsTablesOfEveryWidth) {
  using Key = std::pair<uint32_t, uint32_t>;
  const auto wide = ParseNpuSmiMemory(Golden("info_a3_wide.txt")).value();
  ASSERT_EQ(wide.size(), 2u);
  EXPECT_EQ(wide.at(Key(0, 0)).used_mb(), 63274u);
  EXPECT_EQ(wide.at(Key(0, 1)).total_mb(), 65536u);
  EXPECT_THAT(wide.at(Key(0, 1)).pids(), IsEmpty());
  const auto container =
      ParseNpuSmiMemory(Golden("info_a2_container.txt")).value();
  EXPECT_EQ(container.at(Key(0, 0)).used_mb(), 59784u);
  EXPECT_THAT(container.at(Key(0, 0)).pids(), ElementsAre(6277));
  const auto busy = ParseNpuSmiMemory(Golden("info_a2_busy.txt")).value();
  EXPECT_EQ(busy.at(Key(1, 0)).used_mb(), 30710u);
  EXPECT_THAT(busy.at(Key(1, 0)).pids(), ElementsAre(139667));
  const auto idle = ParseNpuSmiMemory(Golden("info_a2_idle.txt")).value();
  EXPECT_EQ(idle.at(Key(7, 0)).total_mb(), 32768u);
  EXPECT_THAT(idle.at(Key(7, 0)).pids(), IsEmpty());
}

// A name may hold anything, also bars.
TEST(ParseNpuSmiMemoryTest, FindsTheProcessWhateverItsName) {
  const auto dies = ParseNpuSmiMemory(Golden("info_a3.txt")).value();
  ASSERT_EQ(dies.size(), 3u);
  EXPECT_EQ(dies.at({0, 1}).used_mb(), 3189u);
  size_t processes = 0;
  for (const auto& [chip, memory] : dies) processes += memory.pids_size();
  EXPECT_EQ(processes, 1u);
}

// There is no HBM column, and ids have five digits.
TEST(ParseNpuSmiMemoryTest, ReadsCardsWithoutHbm) {
  const auto cards =
      ParseNpuSmiMemory(Golden("info_310p3_six_cards.txt")).value();
  ASSERT_EQ(cards.size(), 6u);
  EXPECT_EQ(cards.at({32896, 0}).used_mb(), 1853u);
  EXPECT_EQ(cards.at({32896, 0}).total_mb(), 21527u);
}

TEST(ParseNpuSmiMemoryTest, LeavesOutWhatHasNoNumbers) {
  const std::string table = Golden("info_a3.txt");
  const size_t all = ParseNpuSmiMemory(table).value().size();
  ASSERT_GT(all, 1u);
  // A row with an invalid health does not count for its neighbour.
  const std::string broken = absl::StrReplaceAll(
      table,
      {{"| 0     Ascend910           | OK ", "| 0     Ascend910  | 7 "}});
  ASSERT_NE(broken, table);
  EXPECT_LT(ParseNpuSmiMemory(broken).value().size(), all);
  ExpectRejected(ParseNpuSmiMemory(""), "no chip with its memory");
  ExpectRejected(ParseNpuSmiMemory(table.substr(0, 300)),
                 "no chip with its memory");
}

constexpr char kEccOfA1[] =
    "\tHBM Double Bit Error Count               : 0\n"
    "\tHBM Single Bit Isolated Pages Count      : 1\n"
    "\tHBM Double Bit Isolated Pages Count      : 2\n";

TEST(ParseNpuSmiEccTest, ReadsChipsThatTellNoPagesToCome) {
  const MemoryErrors errors = ParseNpuSmiEcc(kEccOfA1).value();
  EXPECT_THAT(errors, HasFields(R"(
      double_bit: 0 isolated_pages: 3 next_isolated_pages: 0)"));
}

TEST(ParseNpuSmiEccTest, TakesNoNegativeDifferenceForPagesToCome) {
  const std::string text =
      std::string(kEccOfA1) +
      "\tHBM Single Bit Next-Isolated Pages Count : 0\n"
      "\tHBM Double Bit Next-Isolated Pages Count : 4294967294\n";
  EXPECT_EQ(ParseNpuSmiEcc(text)->next_isolated_pages(), 0u);
}

TEST(ParseNpuSmiEccTest, QuotesWhatItDoesNotKnow) {
  ExpectRejected(ParseNpuSmiEcc(""), "no \"HBM Double Bit Error Count");
  ExpectRejected(ParseNpuSmiEcc("\tHBM Double Bit Error Count : -1\n"),
                 "no number");
  ExpectRejected(ParseNpuSmiEcc(std::string(kEccOfA1) + kEccOfA1),
                 "more than once");
}

TEST(ParseNpuSmiEccTest, SumsThePagesOfBothKinds) {
  const MemoryErrors errors = ParseNpuSmiEcc(Golden("ecc_a2.txt")).value();
  EXPECT_THAT(errors, HasFields(R"(
      double_bit: 1 isolated_pages: 3 next_isolated_pages: 4)"));
}

TEST(ParseNpuSmiCompatibilityTest, FindsItsLineAmongTheBoardsOthers) {
  EXPECT_EQ(*ParseNpuSmiCompatibility(Golden("board_a1.txt")), "OK");
}

TEST(ParseNpuSmiHccsTest, ReadsTheLanesOfEveryPort) {
  const HccsLinks links = ParseNpuSmiHccs(Golden("hccs_a2.txt")).value();
  EXPECT_TRUE(links.ok());
  EXPECT_THAT(links.lanes(), ElementsAre(4, 4, 4, 4));
}

TEST(ParseNpuSmiCompatibilityTest, ReadsEveryWord) {
  for (const char* word : {"OK", "NOK", "UNKNOWN", "NOT SUPPORT"}) {
    EXPECT_EQ(*ParseNpuSmiCompatibility(std::string("\tSlot ID : 0\n"
                                                    "\tCompatibility : ") +
                                        word + "\n"),
              word);
  }
  EXPECT_TRUE(absl::IsUnimplemented(
      ParseNpuSmiCompatibility("\tSlot ID : 0\n").status()));
  ExpectRejected(ParseNpuSmiCompatibility("Compatibility : fine\n"),
                 "an unknown compatibility \"fine\"");
}

TEST(ParseNpuSmiHccsTest, QuotesWhatItDoesNotKnow) {
  ExpectRejected(ParseNpuSmiHccs("hccs lane mode : [4]\n"),
                 "no \"hccs health status\"");
  ExpectRejected(ParseNpuSmiHccs("hccs health status : good\n"),
                 "an unknown status \"good\"");
  ExpectRejected(ParseNpuSmiHccs("hccs health status : OK\n"
                                 "hccs lane mode : [4 x]\n"),
                 "no lane mode");
}

TEST(ParseNpuSmiSuperPodTest, ReadsThePlaceOfAChip) {
  const SuperPodPlace place =
      ParseNpuSmiSuperPod(Golden("spod_info_a3.txt")).value();
  EXPECT_THAT(place, HasFields(R"(
      sdid: 16777216 size: 384 super_pod_id: 0 server_index: 4)"));
}

TEST(ParseNpuSmiSuperPodTest, QuotesWhatItDoesNotKnow) {
  const std::string text = Golden("spod_info_a3.txt");
  // An Ascend 950 prints it this way.
  ExpectRejected(
      ParseNpuSmiSuperPod(text.substr(text.find("\tSuper Pod Size"))),
      "no \"SDID\"");
  ExpectRejected(ParseNpuSmiSuperPod(
                     absl::StrReplaceAll(text, {{"16777216", "4294967296"}})),
                 "no number for \"SDID\": \"4294967296\"");
  ExpectRejected(ParseNpuSmiSuperPod(text + text), "more than once");
}

constexpr char kWarning[] =
    "[WARNING]The driver package may not be completely installed, which may "
    "cause function abnormal. Please reinstall it.\n";

CommandResult Result(int status, const std::string& standard_output,
                     const std::string& standard_error = "") {
  CommandResult result;
  result.exit_status = status;
  result.standard_output = standard_output;
  result.standard_error = standard_error;
  return result;
}

TEST(NpuSmiFailureTest, KnowsEveryPublishedTextOnEitherStream) {
  const struct {
    const char* text;
    absl::StatusCode code;
  } kCases[] = {
      {"There is no NPU card on this server.", absl::StatusCode::kNotFound},
      {"Invalid card id.", absl::StatusCode::kNotFound},
      {"This device does not support querying hccs.",
       absl::StatusCode::kUnimplemented},
      {"Error parameter of -i", absl::StatusCode::kInvalidArgument},
      {"dcmi model initialized failed, because the device is used. ret is "
       "-8020",
       absl::StatusCode::kUnavailable},
      {"npu get board type failed. ret is -9005",
       absl::StatusCode::kUnavailable},
      {"DrvMngGetConsoleLogLevel failed. (ret=4)",
       absl::StatusCode::kUnavailable},
      {"DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)",
       absl::StatusCode::kUnavailable},
      {"Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]",
       absl::StatusCode::kInvalidArgument},
  };
  for (const auto& test_case : kCases) {
    const std::string line = std::string(test_case.text) + "\n";
    for (const CommandResult& result :
         {Result(1, line), Result(1, "", line), Result(0, line),
          Result(1, kWarning + line)}) {
      const absl::Status status = NpuSmiFailure(result);
      EXPECT_EQ(status.code(), test_case.code) << test_case.text;
      EXPECT_THAT(status, HasText(test_case.text));
    }
  }
}

TEST(NpuSmiFailureTest, ExplainsTheCodesWhateverStandsBeforeThem) {
  for (const char* text :
       {"dcmi module initialize failed. ret is -8005",
        "dcmi module initialize failed. ret is -8020.\r",
        "dcmi model initialized failed, because the device is used. ret is "
        "-8020",
        "dcmi model initialized failed",
        "  npu get board type failed. ret is -9005",
        "[ERROR] halGetDeviceInfo drvErr=87",
        "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)"}) {
    for (const int status : {0, 1, 255}) {
      const absl::Status failure =
          NpuSmiFailure(Result(status, "", std::string(text) + "\n"));
      EXPECT_TRUE(absl::IsUnavailable(failure)) << text;
      EXPECT_THAT(failure, HasText("/usr/local/dcmi")) << text;
    }
  }
  // A device that is used has both causes.
  EXPECT_THAT(NpuSmiFailure(Result(1,
                                   "dcmi model initialized failed, because "
                                   "the device is used. ret is -8020\n")),
              HasText("device-namespace"));
  // Another code has another cause.
  EXPECT_THAT(
      std::string(NpuSmiFailure(Result(1, "", "ret is -80200\nret is -8011\n"))
                      .message()),
      Not(HasSubstr("/usr/local/dcmi")));
}

TEST(NpuSmiFailureTest, QuotesAFailureItDoesNotKnow) {
  const absl::Status status = NpuSmiFailure(Result(254, "", "dcmi init\n"));
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status, HasText("status 254 and \"dcmi init\\n\""));
  CommandResult killed;
  killed.signal = 11;
  EXPECT_THAT(NpuSmiFailure(killed), HasText("ended by signal 11"));
}

TEST(NpuSmiFailureTest, PassesDataWithOrWithoutTheWarning) {
  EXPECT_TRUE(NpuSmiFailure(Result(0, "\tTotal Count : 8\n")).ok());
  EXPECT_TRUE(
      NpuSmiFailure(Result(0, std::string(kWarning) + "\tTotal Count : 8\n"))
          .ok());
}

TEST(NpuSmiDataLinesTest, LeavesTheWarningAndEmptyLinesOut) {
  const std::string output = std::string(kWarning) + "\n\tA : b \r\n \nC\n";
  EXPECT_THAT(NpuSmiDataLines(output), ElementsAre("\tA : b", "C"));
}

}  // namespace
}  // namespace clusterd
