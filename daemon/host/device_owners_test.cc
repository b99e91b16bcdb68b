#include <string>

#include "daemon/host/device_users.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTable[] = "/proc/uda/namespace_node";

std::string Entry(int space, const std::string& identity, int pid,
                  const std::string& rest, const std::string& devices) {
  return "ns_id " + std::to_string(space) + " identify " + identity +
         " root_tgid " + std::to_string(pid) + " " + rest +
         ", udev list:\nlogic_devid udevid\n" + devices + "\n\n";
}

const std::string kHost =
    Entry(128, "0", 1, "dev_num 2 namespace 00000000a1b2c3d4(#)",
          "       0        0\n       1        1\n");
const std::string kIdle =
    Entry(0, "5b0c7e21d9f4", 731804, "dev_num 2 namespace 00000000d4c3b2a1",
          "       0        6\n       1        3\n");

TEST(ParseNamespaceNodeTest, ReadsContainersAndLeavesTheHostOut) {
  const auto owners = ParseNamespaceNode(kIdle + kHost).value();
  ASSERT_EQ(owners.owners_size(), 1);
  EXPECT_EQ(owners.owners(0).pid(), 731804u);
  EXPECT_EQ(owners.owners(0).identity(), "5b0c7e21d9f4");
  EXPECT_THAT(owners.owners(0).devices(), ElementsAre(3, 6));
  EXPECT_THAT(ParseNamespaceNode(kHost)->owners(), IsEmpty());
  EXPECT_THAT(ParseNamespaceNode("")->owners(), IsEmpty());
}

TEST(ParseNamespaceNodeTest, ReadsTwoContainersAHiddenPointerAndNoDevices) {
  const std::string hidden =
      Entry(1, "0", 77, "dev_num 1 namespace (____ptrval____)",
            "       0        5\r\n");
  const std::string none = Entry(2, "ab", 78, "dev_num 0 namespace (null)", "");
  const auto owners = ParseNamespaceNode(none + kIdle + hidden).value();
  ASSERT_EQ(owners.owners_size(), 2);
  EXPECT_EQ(owners.owners(1).identity(), "");
  EXPECT_THAT(owners.owners(1).devices(), ElementsAre(5));
}

TEST(ParseNamespaceNodeTest, QuotesWhatItDoesNotKnowOrWasCut) {
  for (const std::string& text :
       {std::string("rubbish\n"), kIdle.substr(0, kIdle.size() - 22),
        kIdle + "       0        9\n", "ns_id 1 identify\n" + kIdle}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseNamespaceNode(text).status()))
        << text;
  }
}

class DeviceOwnersTest : public ::testing::Test {
 protected:
  DeviceOwnersTest() {
    root_.Write(kTable, kIdle);
    root_.Write("/proc/731804/comm", "bash\n");
    // At 100 ticks a second it began 36000 s after the boot.
    root_.Write("/proc/731804/stat",
                "731804 (a) b) S 1 1 1 0 -1 4194560 1 1 0 0 0 0 0 0 20 0 1 0 "
                "3600000 9 9\n");
    root_.Write("/proc/uptime", "122400.50 9.0\n");
    root_.Write("/proc/731804/status",
                "Name:\tbash\nCapEff:\t00000000a80425fb\n");
    root_.Write("/proc/1/status", "Name:\tinit\nCapEff:\t000001ffffffffff\n");
    root_.Link("/proc/731804/ns/mnt", "mnt:[4026532001]");
    root_.Link("/proc/4711/ns/mnt", "mnt:[4026532002]");
    users_.mutable_value()->add_processes()->set_pid(4711);
  }

  DeviceOwner Owner() {
    return ReadDeviceOwners(FileReader(root_.path()), users_).value().owners(0);
  }

  ScratchRoot root_;
  NpuProcessesFact users_;
};

TEST_F(DeviceOwnersTest, TellsWhatTheOwnerIsAndThatItUsesNothing) {
  const DeviceOwner owner = Owner();
  EXPECT_EQ(owner.command(), "bash");
  EXPECT_EQ(owner.age_s(), 86400u);
  EXPECT_FALSE(owner.privileged());
  EXPECT_FALSE(owner.uses_device());
}

TEST_F(DeviceOwnersTest, KnowsAContainerThatComputes) {
  root_.Remove("/proc/4711/ns/mnt");
  root_.Link("/proc/4711/ns/mnt", "mnt:[4026532001]");
  EXPECT_TRUE(Owner().uses_device());
}

TEST_F(DeviceOwnersTest, KnowsAContainerWithEveryCapability) {
  root_.Write("/proc/731804/status",
              "Name:\tbash\nCapEff:\t000001ffffffffff\n");
  EXPECT_TRUE(Owner().privileged());
}

TEST_F(DeviceOwnersTest, SaysWhyItDoesNotKnow) {
  root_.Write(kTable, "rubbish\n");
  EXPECT_EQ(
      ReadDeviceOwners(FileReader(root_.path()), users_).missing().reason(),
      Missing::UNREADABLE);
  root_.Remove(kTable);
  const auto fact = ReadDeviceOwners(FileReader(root_.path()), users_);
  EXPECT_EQ(fact.missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_THAT(fact.missing().detail(), HasSubstr(kTable));
}

}  // namespace
}  // namespace clusterd
