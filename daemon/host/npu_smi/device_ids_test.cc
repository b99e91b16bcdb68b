#include "daemon/host/npu_smi/device_ids.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kMapping[] = "npu-smi info -m";
constexpr char kNpuSmi[] = "/usr/local/sbin/npu-smi";

class DeviceIdsTest : public ::testing::Test {
 protected:
  DeviceIdsFact Read() {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    return ReadDeviceIds({root_.paths(), &runner_, &budget});
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
};

TEST_F(DeviceIdsTest, ReadsNodesInOrderOfTheirNumbersWithoutNpuSmi) {
  root_.WriteProgram(kNpuSmi, "#!/bin/sh\n");
  for (const char* node :
       {"davinci10", "davinci2", "davinci0", "davinci_manager", "davinci",
        "davinci100", "davinci1x", "devmm_svm", "hisi_hdc"}) {
    root_.Write(std::string("/dev/") + node, "");
  }
  const DeviceIdsFact fact = Read();
  EXPECT_THAT(fact.value().ids(), ElementsAre(0, 2, 10));
  EXPECT_EQ(fact.value().source(), "/dev/davinci*");
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(DeviceIdsTest, AsksNpuSmiWhereThereAreNoNodes) {
  root_.WriteProgram(kNpuSmi, "#!/bin/sh\n");
  runner_.Answers(kMapping,
                  "\tNPU ID   Chip ID   Chip Logic ID   Chip Name\n"
                  "\t1   0   0   Ascend 910B\n\t4   0   1   Ascend 910B\n");
  const DeviceIdsFact fact = Read();
  EXPECT_THAT(fact.value().ids(), ElementsAre(0, 1));
  EXPECT_EQ(fact.value().source(), "npu-smi info -m");
}

TEST_F(DeviceIdsTest, SaysThatThereIsNoDevice) {
  const DeviceIdsFact fact = Read();
  EXPECT_EQ(fact.missing().reason(), Missing::ABSENT);
  EXPECT_THAT(fact.missing().detail(), HasSubstr("/dev/davinci"));
}

TEST_F(DeviceIdsTest, GivesAReasonWhenNpuSmiDoesNotTell) {
  root_.WriteProgram(kNpuSmi, "#!/bin/sh\n");
  const auto why = [this] { return Read().missing().reason(); };
  runner_.Answers(kMapping, "\tNPU ID   Chip ID   Chip Logic ID   Chip Name\n");
  EXPECT_EQ(why(), Missing::ABSENT);
  runner_.NowFails(kMapping, 1, "There is no NPU card on this server.\n");
  EXPECT_EQ(why(), Missing::TOOL_FAILED);
  runner_.NowAnswers(kMapping, "rubbish\n");
  EXPECT_EQ(why(), Missing::UNREADABLE);
  runner_.NowHangs(kMapping);
  EXPECT_EQ(why(), Missing::TIMED_OUT);
  runner_.Forget(kMapping);
  runner_.CannotStart(kMapping, absl::PermissionDeniedError("no"));
  EXPECT_EQ(why(), Missing::NOT_PERMITTED);
}

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
  EXPECT_TRUE(ParseNpuSmiMapping(std::string("[WARNING]The driver package may "
                                             "not be completely installed\n") +
                                 kHeader)
                  .ok());
  const std::string header = kHeader;
  for (const std::string& text :
       {std::string(), std::string("There is no NPU card on this server.\n"),
        header + "\t0  0\n", header + "\t0  0  zero  Ascend\n",
        header + "\t0  0  100  Ascend\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseNpuSmiMapping(text).status()))
        << text;
  }
  EXPECT_THAT(
      ParseNpuSmiMapping("There is no NPU card on this server.\n").status(),
      HasText("There is no NPU card"));
}

constexpr char kHealthy[] =
    "\tHealth Status                  : OK\n"
    "\tError Code                     : NA\n"
    "\tError Information              : NA\n";
constexpr char kEcc[] =
    "\tHBM Single Bit Error Count               : 2\n"
    "\tHBM Double Bit Error Count               : 1\n"
    "\tHBM Single Bit Isolated Pages Count      : 0\n"
    "\tHBM Double Bit Isolated Pages Count      : 3\n"
    "\tHBM Single Bit Next-Isolated Pages Count : 0\n"
    "\tHBM Double Bit Next-Isolated Pages Count : 4\n";
constexpr char kHccs[] =
    "\thccs health status             : OK\n"
    "\thccs lane mode                 : [4      4      2     ]\n";

// Cards 1 and 4 have one chip each: devices 0 and 1.
class ChipObserverTest : public ::testing::Test {
 protected:
  ChipObserverTest() {
    root_.WriteProgram("/usr/local/sbin/npu-smi", "#!/bin/sh\n");
    runner_.Answers("npu-smi info -m",
                    "\tNPU ID   Chip ID   Chip Logic ID   Chip Name\n"
                    "\t1   0   0   Ascend 910B\n\t4   0   1   Ascend 910B\n");
    for (const char* card : {"1", "4"}) {
      runner_.Answers(Query("health", card), kHealthy);
      runner_.Answers(Query("ecc", card), kEcc);
      runner_.Answers(absl::StrCat("npu-smi info -t board -i ", card),
                      "\tCompatibility                  : OK\n"
                      "\tPCIe Bus Info                  : 0000:61:00.0\n");
      runner_.Answers(Query("hccs", card), kHccs);
    }
    ids_.set_source("/dev/davinci*");
    ids_.add_ids(0);
    ids_.add_ids(1);
  }

  static std::string Query(const std::string& query, const std::string& card) {
    return absl::StrCat("npu-smi info -t ", query, " -i ", card, " -c 0");
  }

  std::vector<DeviceFacts> Read() {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    return ReadChips({root_.paths(), &runner_, &budget}, request_, ids_,
                     &locks_);
  }

  // The four facts' reasons must be the same.
  static void ExpectAll(const DeviceFacts& facts, Missing::Reason reason,
                        const std::string& detail) {
    for (const Missing& missing :
         {facts.health().missing(), facts.memory_errors().missing(),
          facts.compatibility().missing(), facts.hccs().missing()}) {
      EXPECT_EQ(missing.reason(), reason) << missing.ShortDebugString();
      EXPECT_THAT(missing.detail(), HasSubstr(detail));
    }
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  DeviceLocks locks_;
  DeviceIdsFact::Ids ids_;
  ObserveRequest request_;
};

TEST_F(ChipObserverTest, AsksEveryChipByItsCard) {
  const std::vector<DeviceFacts> facts = Read();
  ASSERT_EQ(facts.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(facts[i].id(), i);
    EXPECT_EQ(facts[i].health().value().health(), ChipHealth::OK);
    EXPECT_EQ(facts[i].memory_errors().value().double_bit(), 1u);
    EXPECT_EQ(facts[i].memory_errors().value().isolated_pages(), 3u);
    EXPECT_EQ(facts[i].memory_errors().value().next_isolated_pages(), 4u);
    EXPECT_EQ(facts[i].compatibility().value(), "OK");
    EXPECT_TRUE(facts[i].hccs().value().ok());
    EXPECT_THAT(facts[i].hccs().value().lanes(), ElementsAre(4, 4, 2));
  }
}

TEST_F(ChipObserverTest, TellsNpuIdsThatAreNoNumbersOfDevices) {
  const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
  std::vector<uint32_t> npu_ids;
  ReadChips({root_.paths(), &runner_, &budget}, request_, ids_, &locks_,
            &npu_ids);
  EXPECT_THAT(npu_ids, ElementsAre(1, 4));
  runner_.NowAnswers("npu-smi info -m",
                     "\tNPU ID   Chip ID   Chip Logic ID   Chip Name\n"
                     "\t0   0   0   Ascend 910B\n\t1   0   1   Ascend 910B\n");
  npu_ids.clear();
  ReadChips({root_.paths(), &runner_, &budget}, request_, ids_, &locks_,
            &npu_ids);
  EXPECT_THAT(npu_ids, IsEmpty());
}

TEST_F(ChipObserverTest, TellsThatThereIsNoNpuSmi) {
  root_.Remove("/usr/local/sbin/npu-smi");
  ExpectAll(Read()[1], Missing::ABSENT, "npu-smi");
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(ChipObserverTest, DoesNotAskAnAscend950) {
  request_.set_generation(NpuToolFacts::ASCEND_950);
  ExpectAll(Read()[0], Missing::NOT_QUERIED, "950");
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

// A container's logic ids begin at 0, and move up when a device is gone.
TEST_F(ChipObserverTest, TakesNoChipForAnotherOne) {
  ids_.set_ids(1, 4);
  ExpectAll(Read()[0], Missing::NOT_SUPPORTED, "which is which");
  ids_.clear_ids();
  ids_.add_ids(0);
  ExpectAll(Read()[0], Missing::NOT_SUPPORTED, "which is which");
}

// Logic ids do not show which of the three is gone.
TEST_F(ChipObserverTest, HidesNoChipThatLogicIdsLeaveOut) {
  ids_.add_ids(2);
  for (const DeviceFacts& facts : Read()) {
    ExpectAll(facts, Missing::TOOL_FAILED, "lists 2 devices");
  }
}

TEST_F(ChipObserverTest, AsksTheChipsThatAreListedByPhysicalIds) {
  runner_.NowAnswers("npu-smi info -m",
                     "\tNPU ID   Chip ID   Chip Logic ID   Chip Phy-ID   Chip "
                     "Name\n\t1   0   0   0   Ascend910\n"
                     "\t4   0   1   2   Ascend910\n");
  ids_.add_ids(2);
  const std::vector<DeviceFacts> facts = Read();
  EXPECT_EQ(facts[0].health().value().health(), ChipHealth::OK);
  ExpectAll(facts[1], Missing::TOOL_FAILED, "does not list");
  EXPECT_EQ(facts[2].health().value().health(), ChipHealth::OK);
  // A container with some of the devices may see all in the list.
  ids_.clear_ids();
  ids_.add_ids(2);
  EXPECT_EQ(Read()[0].health().value().health(), ChipHealth::OK);
  // Each side lists a device that the other lacks: the tool counts otherwise.
  ids_.add_ids(1);
  ExpectAll(Read()[0], Missing::NOT_SUPPORTED, "which is which");
}

TEST_F(ChipObserverTest, AsksForXlinkWhereHccsIsNotKnown) {
  runner_.NowFails(Query("hccs", "1"), 1, "", "Error parameter of -t\n");
  runner_.Answers(Query("xlink", "1"),
                  "\txlink health status            : NOK\n");
  const DeviceFacts facts = Read()[0];
  EXPECT_TRUE(facts.hccs().has_value());
  EXPECT_FALSE(facts.hccs().value().ok());
  EXPECT_THAT(facts.hccs().value().lanes(), IsEmpty());
}

TEST_F(ChipObserverTest, TellsWhatAChipDoesNotSupport) {
  runner_.NowAnswers(Query("hccs", "1"),
                     "This device does not support querying hccs.\n");
  runner_.Fails(Query("xlink", "1"), 1, "", "Error parameter of -t\n");
  const DeviceFacts facts = Read()[0];
  EXPECT_EQ(facts.hccs().missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_THAT(facts.hccs().missing().detail(),
              AllOf(HasSubstr("`npu-smi info -t hccs`"),
                    HasSubstr("does not support")));
  EXPECT_TRUE(facts.health().has_value());
}

TEST_F(ChipObserverTest, AsksChipsOfASuperPodWhereTheyAre) {
  EXPECT_EQ(Read()[0].super_pod().state_case(), SuperPodFact::STATE_NOT_SET);
  EXPECT_EQ(runner_.CountOf(Query("spod-info", "1")), 0);
  request_.set_ask_vnic(true);
  runner_.Answers(Query("spod-info", "1"),
                  "\tSDID                           : 16777216\n"
                  "\tSuper Pod Size                 : 384\n"
                  "\tSuper Pod ID                   : 0\n"
                  "\tServer Index                   : 4\n");
  runner_.Answers(Query("spod-info", "4"),
                  "This device does not support querying spod-info.\n");
  std::vector<DeviceFacts> facts = Read();
  EXPECT_EQ(facts[0].super_pod().value().sdid(), 16777216u);
  EXPECT_EQ(facts[1].super_pod().missing().reason(), Missing::NOT_SUPPORTED);
  root_.Remove("/usr/local/sbin/npu-smi");
  EXPECT_EQ(Read()[0].super_pod().missing().reason(), Missing::ABSENT);
}

TEST_F(ChipObserverTest, NeverTakesAFailureForAnAnswer) {
  runner_.NowAnswers(Query("ecc", "1"), "Failed to query \"ecc\" result.\n");
  runner_.NowFails(Query("health", "1"), 1, "", "Invalid card id.\n");
  const DeviceFacts facts = Read()[0];
  EXPECT_EQ(facts.memory_errors().missing().reason(), Missing::TOOL_FAILED);
  EXPECT_EQ(facts.health().missing().reason(), Missing::TOOL_FAILED);
}

TEST_F(ChipObserverTest, AsksAChipNothingMoreThatHangs) {
  runner_.NowHangs(Query("health", "1"));
  const std::vector<DeviceFacts> facts = Read();
  ExpectAll(facts[0], Missing::TIMED_OUT, "`npu-smi info -t health -i 1 -c 0`");
  EXPECT_EQ(runner_.CountOf(Query("ecc", "1")), 0);
}

TEST_F(ChipObserverTest, AddsNoProcessToOneThatCannotBeKilled) {
  runner_.Forget(Query("health", "1"));
  // This process exists as long as the test runs.
  runner_.HangsForEver(Query("health", "1"), getpid());
  Read();
  const int asked = runner_.CountOf(Query("health", "1"));
  ExpectAll(Read()[0], Missing::UNREADABLE, absl::StrCat(getpid()));
  EXPECT_EQ(runner_.CountOf(Query("health", "1")), asked);
}

}  // namespace
}  // namespace clusterd
