#include "daemon/agent/run_daemon.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(ReadMachineIdsTest, ReadsBothWithoutTheirNewline) {
  const std::string root = testing::TempDir() + "/machine";
  std::filesystem::create_directories(root + "/etc");
  std::filesystem::create_directories(root + "/proc/sys/kernel/random");
  std::ofstream(root + "/etc/machine-id")
      << "0123456789abcdef0123456789abcdef\n";
  std::ofstream(root + "/proc/sys/kernel/random/boot_id")
      << "6c6b3c1e-0000-4000-8000-000000000001\n";
  const MachineIds ids = ReadMachineIds(root);
  EXPECT_EQ(ids.machine_id, "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(ids.boot_id, "6c6b3c1e-0000-4000-8000-000000000001");
}

TEST(ReadMachineIdsTest, TakesNothingFromFilesThatHoldSomethingElse) {
  const std::string root = testing::TempDir() + "/odd";
  std::filesystem::create_directories(root + "/etc");
  std::ofstream(root + "/etc/machine-id") << "not an id\x1b[2J";
  EXPECT_EQ(ReadMachineIds(root).machine_id, "");
  EXPECT_EQ(ReadMachineIds(root).boot_id, "");
}

}  // namespace
}  // namespace clusterd
