#include "daemon/host/npu_smi/device_ids.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST_F(DeviceIdsTest, ReadsNodesInOrderOfTheirNumbers) {
  for (const char* node :
       {"davinci10", "davinci2", "davinci0", "davinci_manager", "davinci",
        "davinci100", "davinci1x", "devmm_svm", "hisi_hdc"}) {
    root_.Write(std::string("/dev/") + node, "");
  }
  const DeviceIdsFact fact = Read();
  EXPECT_THAT(fact.value().ids(), ElementsAre(0, 2, 10));
  EXPECT_EQ(fact.value().source(), "/dev/davinci*");
}

TEST_F(DeviceIdsTest, KeepsGaps) {
  root_.Write("/dev/davinci1", "");
  root_.Write("/dev/davinci4", "");
  EXPECT_THAT(Read().value().ids(), ElementsAre(1, 4));
}

TEST_F(DeviceIdsTest, DoesNotRunNpuSmiWhereThereAreNodes) {
  root_.Write("/dev/davinci1", "");
  root_.WriteProgram(kNpuSmi, "#!/bin/sh\n");
  Read();
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

TEST_F(DeviceIdsTest, DoesNotTakeAnEmptyMappingForAValue) {
  root_.WriteProgram(kNpuSmi, "#!/bin/sh\n");
  runner_.Answers(kMapping, "\tNPU ID   Chip ID   Chip Logic ID   Chip Name\n");
  EXPECT_EQ(Read().missing().reason(), Missing::ABSENT);
}

TEST_F(DeviceIdsTest, GivesAReasonWhenNpuSmiDoesNotTell) {
  root_.WriteProgram(kNpuSmi, "#!/bin/sh\n");
  runner_.Fails(kMapping, 1, "There is no NPU card on this server.\n");
  EXPECT_EQ(Read().missing().reason(), Missing::TOOL_FAILED);
  runner_.NowAnswers(kMapping, "rubbish\n");
  EXPECT_EQ(Read().missing().reason(), Missing::UNREADABLE);
  runner_.NowHangs(kMapping);
  EXPECT_EQ(Read().missing().reason(), Missing::TIMED_OUT);
  runner_.Forget(kMapping);
  runner_.CannotStart(kMapping, absl::PermissionDeniedError("no"));
  EXPECT_EQ(Read().missing().reason(), Missing::NOT_PERMITTED);
}

}  // namespace
}  // namespace clusterd
