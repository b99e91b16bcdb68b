#include "config/plan/sysctl_file.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

SysctlFileChange Change(const std::string& key, const std::string& to) {
  SysctlFileChange change;
  change.add_settings()->set_key(key);
  change.mutable_settings(0)->set_to(to);
  return change;
}

TEST(CanonicalSysctlValueTest, WritesPortsSortedAndMerged) {
  EXPECT_EQ(
      *CanonicalSysctlValue(kReservedPortsKey, "60008-60015,8080,60000-60007"),
      "8080,60000-60015");
  EXPECT_EQ(*CanonicalSysctlValue(kReservedPortsKey, ""), "");
}

TEST(CanonicalSysctlValueTest, RefusesWhatTheKernelReadsAsOctal) {
  EXPECT_FALSE(CanonicalSysctlValue(kReservedPortsKey, "060000").ok());
  EXPECT_FALSE(CanonicalSysctlValue(kSomaxconnKey, "065535").ok());
}

TEST(CanonicalSysctlValueTest, RefusesNumbersOutOfRangeAndForeignKeys) {
  for (const char* const value : {"0", "-1", "2147483648", "abc", ""}) {
    EXPECT_FALSE(CanonicalSysctlValue(kSomaxconnKey, value).ok()) << value;
  }
  EXPECT_FALSE(CanonicalSysctlValue("kernel.core_pattern", "1").ok());
}

TEST(EditSysctlFileTest, StartsANewFileWithAHeading) {
  EXPECT_EQ(
      EditSysctlFile("", Change(kSomaxconnKey, "65535")),
      "# Written by clusterd. Lines that clusterd does not set are kept.\n"
      "net.core.somaxconn = 65535\n");
}

TEST(EditSysctlFileTest, ReplacesInPlaceAndKeepsEverythingElse) {
  EXPECT_EQ(
      EditSysctlFile("# a\n\nkernel.panic=10\n-net/core/somaxconn=1\n; b\n"
                     "net.core.somaxconn = 2\n",
                     Change(kSomaxconnKey, "65535")),
      "# a\n\nkernel.panic=10\nnet.core.somaxconn = 65535\n; b\n");
}

TEST(EditSysctlFileTest, AppendsAfterALineWithoutNewline) {
  EXPECT_EQ(EditSysctlFile("kernel.panic=10", Change(kSomaxconnKey, "9")),
            "kernel.panic=10\nnet.core.somaxconn = 9\n");
}

TEST(EditSysctlFileTest, DoesNothingTheSecondTime) {
  const SysctlFileChange change = Change(kReservedPortsKey, "60000-60015");
  const std::string once = EditSysctlFile("", change);
  EXPECT_EQ(EditSysctlFile(once, change), once);
}

}  // namespace
}  // namespace clusterd
