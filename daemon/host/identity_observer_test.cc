#include "daemon/host/identity_observer.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

class IdentityObserverTest : public ::testing::Test {
 protected:
  FileReader files() { return FileReader(root_.path()); }

  void AddPciDevice(const std::string& slot, const std::string& vendor,
                    const std::string& device) {
    root_.Write("/sys/bus/pci/devices/" + slot + "/vendor", vendor + "\n");
    root_.Write("/sys/bus/pci/devices/" + slot + "/device", device + "\n");
  }

  ScratchRoot root_;
  FakeClock clock_;
};

TEST_F(IdentityObserverTest, KnowsEverySeriesByItsPciId) {
  const struct {
    const char* vendor;
    const char* device;
    const char* series;  // Empty: not an NPU.
  } kCases[] = {
      {"0x19e5", "0xd100", "Atlas-300 x 1"},
      {"0x19e5", "0xd500", "300I-Duo x 1"},
      {"0x19e5", "0xd801", "A1 x 1"},
      {"0x19e5", "0xd802", "A2 x 1"},
      {"0x19E5", "0xD803", "A3 x 1"},
      {"0x19e5", "0xa250", ""},
      {"0x8086", "0xd802", ""},
      {"", "", ""},
  };
  for (const auto& test_case : kCases) {
    AddPciDevice("0000:3d:00.0", test_case.vendor, test_case.device);
    const TextFact series = ReadIdentity(files()).npu_series();
    EXPECT_EQ(series.value(), test_case.series) << test_case.device;
    EXPECT_EQ(series.has_missing(), series.value().empty());
  }
}

TEST_F(IdentityObserverTest, PutsTheMostFrequentSeriesFirst) {
  AddPciDevice("0000:3d:00.0", "0x19e5", "0xd801");
  AddPciDevice("0000:3e:00.0", "0x19e5", "0xd803");
  AddPciDevice("0000:3f:00.0", "0x19e5", "0xd803");
  EXPECT_EQ(ReadIdentity(files()).npu_series().value(), "A3 x 2, A1 x 1");
}

TEST_F(IdentityObserverTest, ReadsWhoTheMachineIs) {
  root_.Write("/proc/sys/kernel/hostname", "server0\n");
  root_.Write("/proc/sys/kernel/osrelease", "5.10.0-60.18.0.50\n");
  root_.Write("/proc/sys/kernel/random/boot_id", "7d3b5b0c-1\n");
  root_.Write("/etc/machine-id", "0123456789abcdef\n");
  root_.Write("/etc/os-release", "PRETTY_NAME=\"openEuler 22.03\"\n");
  AddPciDevice("0000:3d:00.0", "0x19e5", "0xd802");
  AddPciDevice("0000:3e:00.0", "0x19e5", "0xd802");
  AddPciDevice("0000:3f:00.0", "0x19e5", "0xa250");
  const IdentityFacts facts = ReadIdentity(files());
  EXPECT_EQ(facts.hostname().value(), "server0");
  EXPECT_EQ(facts.kernel_release().value(), "5.10.0-60.18.0.50");
  EXPECT_EQ(facts.boot_id().value(), "7d3b5b0c-1");
  EXPECT_EQ(facts.machine_id().value(), "0123456789abcdef");
  EXPECT_EQ(facts.os_release().value(), "openEuler 22.03");
  EXPECT_EQ(facts.npu_series().value(), "A2 x 2");
  EXPECT_FALSE(facts.architecture().value().empty());
}

TEST_F(IdentityObserverTest, GivesReasonsOnAnEmptyMachine) {
  const IdentityFacts facts = ReadIdentity(files());
  EXPECT_EQ(facts.hostname().missing().reason(), Missing::ABSENT);
  EXPECT_EQ(facts.os_release().missing().reason(), Missing::ABSENT);
  EXPECT_EQ(facts.npu_series().missing().reason(), Missing::ABSENT);
}

TEST_F(IdentityObserverTest, DoesNotTakeAnEmptyFileForAValue) {
  root_.Write("/etc/machine-id", "\n");
  root_.Write("/etc/os-release", "NAME=x\n");
  const IdentityFacts facts = ReadIdentity(files());
  EXPECT_EQ(facts.machine_id().missing().reason(), Missing::UNREADABLE);
  EXPECT_EQ(facts.os_release().missing().reason(), Missing::UNREADABLE);
}

TEST_F(IdentityObserverTest, FindsNoNpuAmongOtherDevices) {
  AddPciDevice("0000:00:00.0", "0x8086", "0x1237");
  const IdentityFacts facts = ReadIdentity(files());
  EXPECT_EQ(facts.npu_series().missing().reason(), Missing::ABSENT);
  EXPECT_THAT(facts.npu_series().missing().detail(),
              HasSubstr("no PCI id of a known"));
}

TEST_F(IdentityObserverTest, ReadsVersionsBelowTheInstallPath) {
  root_.Write("/etc/ascend_install.info", "Driver_Install_Path_Param=/opt/a\n");
  root_.Write("/opt/a/driver/version.info", "Version=23.0.7\n");
  root_.Write("/opt/a/firmware/version.info", "Version=7.1.0.11.220\n");
  const VersionFacts facts = ReadVersions(files());
  EXPECT_EQ(facts.driver().value(), "23.0.7");
  EXPECT_EQ(facts.firmware().value(), "7.1.0.11.220");
  EXPECT_EQ(facts.cann().missing().reason(), Missing::ABSENT);
  EXPECT_THAT(facts.cann().missing().detail(), HasSubstr("below /opt/a"));
}

TEST_F(IdentityObserverTest, ReadsCannBeforeAndSince85) {
  constexpr char kInfo[] =
      "package_name=Ascend-cann-toolkit\nversion=%s\n"
      "innerversion=V100R001C22SPC001B231\narch=aarch64\nos=linux\n";
  const auto write = [&](const std::string& folder, const char* version) {
    root_.Write("/usr/local/Ascend/" + folder + "/" +
                    ReadIdentity(files()).architecture().value() +
                    "-linux/ascend_toolkit_install.info",
                absl::StrReplaceAll(kInfo, {{"%s", version}}));
  };
  write("ascend-toolkit/latest", "8.2.RC1");
  EXPECT_EQ(ReadVersions(files()).cann().value(), "8.2.RC1");
  write("cann", "8.5.0");
  EXPECT_EQ(ReadVersions(files()).cann().value(), "8.5.0");
}

TEST_F(IdentityObserverTest, DoesNotTakeACannFileOfAnotherFormForNone) {
  root_.Write("/usr/local/Ascend/cann/" +
                  ReadIdentity(files()).architecture().value() +
                  "-linux/ascend_toolkit_install.info",
              "rubbish\n");
  EXPECT_EQ(ReadVersions(files()).cann().missing().reason(),
            Missing::UNREADABLE);
}

TEST_F(IdentityObserverTest, ReadsTheFirmwareThatTheDriverGoesWith) {
  root_.Write("/usr/local/Ascend/driver/version.info",
              "Version=25.3.rc1\ncompatible_version=[V100R001C19]\n"
              "compatible_version_fw=[6.4.0,6.4.99],[7.0.0,8.9.9]\n");
  EXPECT_EQ(ReadVersions(files()).firmware_of_driver().value(),
            "[6.4.0,6.4.99],[7.0.0,8.9.9]");
  root_.Write("/usr/local/Ascend/driver/version.info", "Version=23.0.7\n");
  EXPECT_EQ(ReadVersions(files()).firmware_of_driver().missing().reason(),
            Missing::ABSENT);
}

TEST_F(IdentityObserverTest, GivesReasonsForVersions) {
  root_.Write("/usr/local/Ascend/driver/version.info", "rubbish\n");
  const VersionFacts facts = ReadVersions(files());
  EXPECT_EQ(facts.driver().missing().reason(), Missing::UNREADABLE);
  EXPECT_EQ(facts.firmware().missing().reason(), Missing::ABSENT);
}

TEST_F(IdentityObserverTest, ReadsHccnConfWithItsMode) {
  root_.Write("/etc/hccn.conf", "address_0=10.0.0.1\n", 0640);
  const HccnConfFact fact = ReadHccnConf(files(), &clock_);
  EXPECT_EQ(fact.value().entries_size(), 1);
  EXPECT_EQ(fact.value().mode(), 0640u);
}

TEST_F(IdentityObserverTest, TellsWhyHccnConfCannotBeRead) {
  EXPECT_EQ(ReadHccnConf(files(), &clock_).missing().reason(), Missing::ABSENT);
  root_.MakeFolder("/etc/hccn.conf");
  EXPECT_EQ(ReadHccnConf(files(), &clock_).missing().reason(),
            Missing::UNREADABLE);
  EXPECT_THAT(ReadHccnConf(files(), &clock_).missing().detail(),
              HasSubstr("is a directory"));
}

TEST_F(IdentityObserverTest, TakesTheFirstLineOfTheSimulationMark) {
  EXPECT_EQ(ReadSimulation(files()), "");
  root_.Write("/etc/clusterd/simulation", "side by side on loopback\nmore\n");
  EXPECT_EQ(ReadSimulation(files()), "side by side on loopback");
}

}  // namespace
}  // namespace clusterd
