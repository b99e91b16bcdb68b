#include <string>

#include "daemon/host/npu_smi/device_ids.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string ReadTestData(const std::string& name) {
  return TestData("tests/testdata/host/npu_smi/" + name);
}

constexpr char kHeader[] =
    "\tNPU ID      Chip ID      Chip Logic ID     Chip Name\n";

TEST(ParseNpuSmiMappingTest, TakesLogicIdsWhereThereIsNoOther) {
  const auto map = ParseNpuSmiMapping(ReadTestData("a2.txt"));
  EXPECT_THAT(map->chips,
              ElementsAre(Pair(0, FieldsAre(1, 0)), Pair(1, FieldsAre(4, 0))));
  EXPECT_FALSE(map->physical);
}

TEST(ParseNpuSmiMappingTest, TakesPhysicalIdsOfA3) {
  const auto map = ParseNpuSmiMapping(
      "\tNPU ID   Chip ID   Chip Logic ID   Chip Phy-ID   Chip "
      "Name\n\t3   0   0   6   Ascend910\n"
      "\t3   1   1   7   Ascend910\n");
  EXPECT_TRUE(map->physical);
  EXPECT_THAT(map->chips,
              ElementsAre(Pair(6, FieldsAre(3, 0)), Pair(7, FieldsAre(3, 1))));
}

// The output for 310P3 cards in every 32nd slot, with blanks after each row.
TEST(ParseNpuSmiMappingTest, ReadsSparseNpuIdsWithTrailingBlanks) {
  const auto map = ParseNpuSmiMapping(
      "\tNPU ID      Chip ID      Chip Logic ID     Chip Name      \n"
      "\t0           0            0                 Ascend 310P3   \n"
      "\t0           1            -                 Mcu            \n"
      "\t32768       0            1                 Ascend 310P3   \r\n"
      "\t32896       0            2                 Ascend 310P3   \n");
  EXPECT_THAT(map->chips, ElementsAre(Pair(0, FieldsAre(0, 0)),
                                      Pair(1, FieldsAre(32768, 0)),
                                      Pair(2, FieldsAre(32896, 0))));
}

TEST(ParseNpuSmiMappingTest, ReadsAHeaderAloneAsNoDevice) {
  EXPECT_THAT(ParseNpuSmiMapping(kHeader)->chips, IsEmpty());
}

TEST(ParseNpuSmiMappingTest, SkipsAWarningBeforeTheHeader) {
  EXPECT_TRUE(ParseNpuSmiMapping(std::string("[WARNING]The driver package may "
                                             "not be completely installed\n") +
                                 kHeader)
                  .ok());
}

TEST(ParseNpuSmiMappingTest, QuotesWhatItDoesNotKnow) {
  for (const std::string& text :
       {std::string(""), std::string("There is no NPU card on this server.\n"),
        std::string(kHeader) + "\t0  0\n",
        std::string(kHeader) + "\t0  0  zero  Ascend\n",
        std::string(kHeader) + "\t0  0  100  Ascend\n"}) {
    EXPECT_EQ(ParseNpuSmiMapping(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_THAT(
      std::string(ParseNpuSmiMapping("There is no NPU card on this server.\n")
                      .status()
                      .message()),
      HasSubstr("There is no NPU card"));
}

}  // namespace
}  // namespace clusterd
