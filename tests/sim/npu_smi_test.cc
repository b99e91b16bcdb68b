// The simulated npu-smi, as the daemon's own reader sees it.
#include "tests/sim/npu_smi.h"

#include <filesystem>

#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/npu_smi/device_ids.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/fault.h"
#include "tests/sim/test_folder.h"
#include "tests/support/wait/patience.h"

namespace clusterd::sim {
namespace {

using ::testing::Each;

class NpuSmiTest : public ::testing::Test {
 protected:
  std::vector<DeviceFacts> Read(const std::vector<int>& devices) {
    DeviceIdsFact::Ids ids;
    for (const int id : devices) ids.add_ids(id);
    const TimeBudget budget(&clock_, kPatience, 5 * kPatience);
    ObserveRequest request;
    request.set_ask_vnic(true);
    return ReadChips({{folder_.path()}, &runner_, &budget}, request, ids,
                     &locks_);
  }
  void Write(const std::string& product, const std::vector<int>& devices) {
    const absl::Status status = WriteNpuSmi(host_, product, devices);
    ASSERT_TRUE(status.ok()) << status;
  }
  void Apply(const std::string& text) {
    const auto faults = ParseFaults({text}, {{0, 1, 2}, "A3-superpod"});
    ASSERT_TRUE(faults.ok()) << faults.status();
    ASSERT_EQ(ApplyFault(faults->front(), host_), absl::OkStatus());
  }

  TestFolder folder_;
  HostFolder host_{folder_.path()};
  SystemClock clock_;
  PosixCommandRunner runner_;
  DeviceLocks locks_;
};

TEST_F(NpuSmiTest, AnswersAsAHealthyOneDoes) {
  for (const char* product : {"A1-SMP", "A2", "A3-no-pod"}) {
    Write(product, {0, 1, 2});
    for (const DeviceFacts& facts : Read({0, 1, 2})) {
      EXPECT_EQ(facts.health().value().health(), ChipHealth::OK)
          << product << facts.ShortDebugString();
      EXPECT_TRUE(facts.memory_errors().has_value());
      EXPECT_EQ(facts.memory_errors().value().double_bit(), 0u);
      EXPECT_EQ(facts.compatibility().value(), "OK");
      if (std::string(product) == "A1-SMP") {
        EXPECT_EQ(facts.hccs().missing().reason(), Missing::NOT_SUPPORTED);
      } else {
        EXPECT_THAT(facts.hccs().value().lanes(), Each(4));
      }
    }
    std::filesystem::remove_all(folder_.path() + "/var");
  }
}

// Cards 1 and 4 of a server with gaps are the tool's logic ids 0 and 1.
TEST_F(NpuSmiTest, CountsDevicesWithGapsOtherwise) {
  Write("A2-PCIe-card", {1, 4});
  EXPECT_EQ(Read({1, 4})[0].health().missing().reason(),
            Missing::NOT_SUPPORTED);
}

TEST_F(NpuSmiTest, TellsThePlaceInASuperPodAlone) {
  Write("A3-superpod", {0, 1, 2});
  Apply("1:sdid=16777216");
  Apply("2:server_index=7");
  const std::vector<DeviceFacts> facts = Read({0, 1, 2});
  EXPECT_EQ(facts[0].super_pod().value().SerializeAsString(),
            MakeSuperPodPlace(0, 0).SerializeAsString());
  EXPECT_EQ(facts[1].super_pod().value().sdid(), 16777216u);
  EXPECT_EQ(facts[1].super_pod().value().server_index(), 0u);
  EXPECT_EQ(facts[2].super_pod().value().server_index(), 7u);
  EXPECT_EQ(facts[2].super_pod().value().sdid(),
            MakeSuperPodPlace(0, 2).sdid());

  std::filesystem::remove_all(folder_.path() + "/var");
  Write("A2", {0, 1, 2});
  EXPECT_EQ(Read({0, 1, 2})[0].super_pod().missing().reason(),
            Missing::NOT_SUPPORTED);
}

}  // namespace
}  // namespace clusterd::sim
