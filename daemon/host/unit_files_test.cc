#include "daemon/host/unit_files.h"

#include "daemon/host/scratch_root.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

constexpr char kUnit[] = "firewalld.service";
constexpr char kFile[] = "/usr/lib/systemd/system/firewalld.service";
constexpr char kWants[] =
    "/etc/systemd/system/multi-user.target.wants/firewalld.service";

class UnitFilesTest : public ::testing::Test {
 protected:
  absl::StatusOr<bool> Enabled() {
    return ReadUnitEnabled(FileReader(root_.path()), kUnit);
  }

  ScratchRoot root_;
};

TEST_F(UnitFilesTest, SeesAnEnabledUnit) {
  root_.Write(kFile, "[Unit]\n");
  root_.Link(kWants, kFile);
  EXPECT_TRUE(*Enabled());
}

TEST_F(UnitFilesTest, SeesADisabledUnit) {
  root_.Write(kFile, "[Unit]\n");
  root_.MakeFolder("/etc/systemd/system/multi-user.target.wants");
  EXPECT_FALSE(*Enabled());
}

TEST_F(UnitFilesTest, SeesAMaskedUnit) {
  root_.Write(kFile, "[Unit]\n");
  root_.Link(kWants, kFile);
  root_.Link("/etc/systemd/system/firewalld.service", "/dev/null");
  EXPECT_FALSE(*Enabled());
}

TEST_F(UnitFilesTest, DoesNotCountALinkToAUnitThatIsGone) {
  root_.Link(kWants, kFile);
  EXPECT_FALSE(*Enabled());
}

TEST_F(UnitFilesTest, DoesNotCountALinkToNull) {
  root_.Write(kFile, "[Unit]\n");
  root_.Link(kWants, "/dev/null");
  EXPECT_FALSE(*Enabled());
}

TEST_F(UnitFilesTest, SeesRequirementsOfAnyTarget) {
  root_.Write(kFile, "[Unit]\n");
  root_.Link(
      "/usr/lib/systemd/system/network.target.requires/firewalld.service",
      "../firewalld.service");
  EXPECT_TRUE(*Enabled());
}

TEST_F(UnitFilesTest, CannotTellWithoutSystemd) {
  EXPECT_EQ(Enabled().status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace clusterd
