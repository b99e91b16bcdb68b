#include "daemon/host/npu_smi/chip_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Golden(const std::string& name) {
  return GoldenText("tests/testdata/npu_smi/" + name);
}

void ExpectRefused(const absl::Status& status, const std::string& message) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
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
  ExpectRefused(ParseNpuSmiHealth("\tHealth Status : ok\n").status(),
                "an unknown health \"ok\"");
  ExpectRefused(ParseNpuSmiHealth("\tHealth Status :\n").status(),
                "an unknown health \"\"");
  ExpectRefused(ParseNpuSmiHealth("\tError Code : NA\n").status(),
                "no \"Health Status\"");
  ExpectRefused(ParseNpuSmiHealth("no NPU\n").status(),
                "no colon in \"no NPU\"");
  ExpectRefused(
      ParseNpuSmiHealth("\tHealth Status : OK\n\tHealth Status : Alarm\n")
          .status(),
      "\"Health Status\" more than once");
  ExpectRefused(
      ParseNpuSmiHealth("\tHealth Status : OK\n\tError Code : what?\n")
          .status(),
      "no error code: \"what?\"");
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

TEST(ParseNpuSmiHealthTest, ReadsAnAlarmWhateverItsCodesLookLike) {
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
      const auto health = ParseNpuSmiHealth(
          absl::StrCat("\tHealth Status : ", word,
                       "\r\n\tError Code : ", test_case.codes, "\r\n"));
      ASSERT_TRUE(health.ok()) << health.status();
      EXPECT_GE(health->health(), ChipHealth::ALARM) << word;
      EXPECT_THAT(health->error_codes(),
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
    const auto health = of(word);
    ASSERT_TRUE(health.ok()) << health.status();
    EXPECT_THAT(health->error_codes(), ElementsAre("80E18401", "80E01801"));
    EXPECT_EQ(health->information(), "rows bits");
  }
  ExpectRefused(of("OK").status(), "no colon in \"see the manual\"");
  ExpectRefused(of("fine").status(), "an unknown health \"fine\"");
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
  ExpectRefused(ParseNpuSmiMemory("").status(), "no chip with its memory");
  ExpectRefused(ParseNpuSmiMemory(table.substr(0, 300)).status(),
                "no chip with its memory");
}

constexpr char kEccOfA1[] =
    "\tHBM Double Bit Error Count               : 0\n"
    "\tHBM Single Bit Isolated Pages Count      : 1\n"
    "\tHBM Double Bit Isolated Pages Count      : 2\n";

TEST(ParseNpuSmiEccTest, ReadsChipsThatTellNoPagesToCome) {
  const MemoryErrors errors = ParseNpuSmiEcc(kEccOfA1).value();
  EXPECT_EQ(errors.double_bit(), 0u);
  EXPECT_EQ(errors.isolated_pages(), 3u);
  EXPECT_EQ(errors.next_isolated_pages(), 0u);
}

TEST(ParseNpuSmiEccTest, TakesNoNegativeDifferenceForPagesToCome) {
  const std::string text =
      std::string(kEccOfA1) +
      "\tHBM Single Bit Next-Isolated Pages Count : 0\n"
      "\tHBM Double Bit Next-Isolated Pages Count : 4294967294\n";
  EXPECT_EQ(ParseNpuSmiEcc(text)->next_isolated_pages(), 0u);
}

TEST(ParseNpuSmiEccTest, QuotesWhatItDoesNotKnow) {
  ExpectRefused(ParseNpuSmiEcc("").status(), "no \"HBM Double Bit Error Count");
  ExpectRefused(ParseNpuSmiEcc("\tHBM Double Bit Error Count : -1\n").status(),
                "no number");
  ExpectRefused(ParseNpuSmiEcc(std::string(kEccOfA1) + kEccOfA1).status(),
                "more than once");
}

TEST(ParseNpuSmiEccTest, SumsThePagesOfBothKinds) {
  const MemoryErrors errors = ParseNpuSmiEcc(Golden("ecc_a2.txt")).value();
  EXPECT_EQ(errors.double_bit(), 1u);
  EXPECT_EQ(errors.isolated_pages(), 3u);
  EXPECT_EQ(errors.next_isolated_pages(), 4u);
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
  ExpectRefused(ParseNpuSmiCompatibility("Compatibility : fine\n").status(),
                "an unknown compatibility \"fine\"");
}

TEST(ParseNpuSmiHccsTest, QuotesWhatItDoesNotKnow) {
  ExpectRefused(ParseNpuSmiHccs("hccs lane mode : [4]\n").status(),
                "no \"hccs health status\"");
  ExpectRefused(ParseNpuSmiHccs("hccs health status : good\n").status(),
                "an unknown status \"good\"");
  ExpectRefused(ParseNpuSmiHccs("hccs health status : OK\n"
                                "hccs lane mode : [4 x]\n")
                    .status(),
                "no lane mode");
}

TEST(ParseNpuSmiSuperPodTest, ReadsThePlaceOfAChip) {
  const SuperPodPlace place =
      ParseNpuSmiSuperPod(Golden("spod_info_a3.txt")).value();
  EXPECT_EQ(place.sdid(), 16777216u);
  EXPECT_EQ(place.size(), 384u);
  EXPECT_EQ(place.super_pod_id(), 0u);
  EXPECT_EQ(place.server_index(), 4u);
}

TEST(ParseNpuSmiSuperPodTest, QuotesWhatItDoesNotKnow) {
  const std::string text = Golden("spod_info_a3.txt");
  // An Ascend 950 prints it this way.
  ExpectRefused(
      ParseNpuSmiSuperPod(text.substr(text.find("\tSuper Pod Size"))).status(),
      "no \"SDID\"");
  ExpectRefused(ParseNpuSmiSuperPod(
                    absl::StrReplaceAll(text, {{"16777216", "4294967296"}}))
                    .status(),
                "no number for \"SDID\": \"4294967296\"");
  ExpectRefused(ParseNpuSmiSuperPod(text + text).status(), "more than once");
}

}  // namespace
}  // namespace clusterd
