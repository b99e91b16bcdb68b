#include "daemon/host/identity_observer.h"

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class IdentityObserverTest : public ::testing::Test {
 protected:
  IdentityFacts Identity() { return ReadIdentity(files_); }
  VersionFacts Versions() { return ReadVersions(files_); }
  HccnConfFact Conf() { return ReadHccnConf(files_, &clock_); }

  void AddPciDevice(const std::string& slot, const std::string& vendor,
                    const std::string& device) {
    const std::string folder = "/sys/bus/pci/devices/0000:" + slot + ":00.0";
    root_.Write(folder + "/vendor", vendor + "\n");
    root_.Write(folder + "/device", device + "\n");
  }
  void WriteCann(const std::string& folder, const std::string& text) {
    root_.Write("/usr/local/Ascend/" + folder + "/" +
                    Identity().architecture().value() +
                    "-linux/ascend_toolkit_install.info",
                text);
  }

  ScratchRoot root_;
  const FileReader files_{root_.path()};
  FakeClock clock_;
};

TEST_F(IdentityObserverTest, KnowsEverySeriesByItsPciId) {
  const char* const kCases[][3] = {// Without a series: not an NPU.
                                   {"0x19e5", "0xd100", "Atlas-300 x 1"},
                                   {"0x19e5", "0xd500", "300I-Duo x 1"},
                                   {"0x19e5", "0xd801", "A1 x 1"},
                                   {"0x19e5", "0xd802", "A2 x 1"},
                                   {"0x19E5", "0xD803", "A3 x 1"},
                                   {"0x19e5", "0xa250", ""},
                                   {"0x8086", "0xd802", ""},
                                   {"", "", ""}};
  for (const auto& [vendor, device, series] : kCases) {
    AddPciDevice("3d", vendor, device);
    const TextFact fact = Identity().npu_series();
    EXPECT_EQ(fact.value(), series) << device;
    EXPECT_EQ(fact.has_missing(), fact.value().empty());
  }
}

TEST_F(IdentityObserverTest, PutsTheMostFrequentSeriesFirst) {
  AddPciDevice("3d", "0x19e5", "0xd801");
  AddPciDevice("3e", "0x19e5", "0xd803");
  AddPciDevice("3f", "0x19e5", "0xd803");
  EXPECT_EQ(Identity().npu_series().value(), "A3 x 2, A1 x 1");
}

TEST_F(IdentityObserverTest, ReadsWhoTheMachineIs) {
  root_.Write("/proc/sys/kernel/hostname", "server0\n");
  root_.Write("/proc/sys/kernel/osrelease", "5.10.0-60.18.0.50\n");
  root_.Write("/proc/sys/kernel/random/boot_id", "7d3b5b0c-1\n");
  root_.Write("/etc/machine-id", "0123456789abcdef\n");
  root_.Write("/etc/os-release", "PRETTY_NAME=\"openEuler 22.03\"\n");
  AddPciDevice("3d", "0x19e5", "0xd802");
  AddPciDevice("3e", "0x19e5", "0xd802");
  AddPciDevice("3f", "0x19e5", "0xa250");
  const IdentityFacts facts = Identity();
  EXPECT_THAT(facts, HasFields(R"(
      hostname { value: "server0" } kernel_release {
      value: "5.10.0-60.18.0.50" } boot_id { value: "7d3b5b0c-1" }
      machine_id { value: "0123456789abcdef" } os_release {
      value: "openEuler 22.03" } npu_series { value: "A2 x 2" })"));
  EXPECT_FALSE(facts.architecture().value().empty());
}

TEST_F(IdentityObserverTest, GivesReasonsForWhatIsAbsentOrEmpty) {
  const IdentityFacts none = Identity();
  EXPECT_EQ(none.hostname().missing().reason(), Missing::ABSENT);
  EXPECT_EQ(none.os_release().missing().reason(), Missing::ABSENT);
  EXPECT_EQ(none.npu_series().missing().reason(), Missing::ABSENT);
  root_.Write("/etc/machine-id", "\n");
  root_.Write("/etc/os-release", "NAME=x\n");
  AddPciDevice("00", "0x8086", "0x1237");
  const IdentityFacts empty = Identity();
  EXPECT_EQ(empty.machine_id().missing().reason(), Missing::UNREADABLE);
  EXPECT_EQ(empty.os_release().missing().reason(), Missing::UNREADABLE);
  EXPECT_EQ(empty.npu_series().missing().reason(), Missing::ABSENT);
  EXPECT_THAT(empty.npu_series().missing().detail(),
              HasSubstr("no PCI id of a known"));
}

TEST_F(IdentityObserverTest, ReadsVersionsBelowTheInstallPath) {
  root_.Write("/etc/ascend_install.info", "Driver_Install_Path_Param=/opt/a\n");
  root_.Write("/opt/a/driver/version.info", "Version=23.0.7\n");
  root_.Write("/opt/a/firmware/version.info", "Version=7.1.0.11.220\n");
  const VersionFacts facts = Versions();
  EXPECT_EQ(facts.driver().value(), "23.0.7");
  EXPECT_EQ(facts.firmware().value(), "7.1.0.11.220");
  EXPECT_EQ(facts.cann().missing().reason(), Missing::ABSENT);
  EXPECT_THAT(facts.cann().missing().detail(), HasSubstr("below /opt/a"));
}

TEST_F(IdentityObserverTest, ReadsCannBeforeAndSince85) {
  const std::string kInfo =
      "package_name=Ascend-cann-toolkit\nversion=%s\n"
      "innerversion=V100R001C22SPC001B231\narch=aarch64\nos=linux\n";
  WriteCann("ascend-toolkit/latest",
            absl::StrReplaceAll(kInfo, {{"%s", "8.2.RC1"}}));
  EXPECT_EQ(Versions().cann().value(), "8.2.RC1");
  WriteCann("cann", absl::StrReplaceAll(kInfo, {{"%s", "8.5.0"}}));
  EXPECT_EQ(Versions().cann().value(), "8.5.0");
  WriteCann("cann", "rubbish\n");
  EXPECT_EQ(Versions().cann().missing().reason(), Missing::UNREADABLE);
}

TEST_F(IdentityObserverTest, ReadsTheFirmwareThatTheDriverGoesWith) {
  constexpr char kDriver[] = "/usr/local/Ascend/driver/version.info";
  root_.Write(kDriver,
              "Version=25.3.rc1\ncompatible_version=[V100R001C19]\n"
              "compatible_version_fw=[6.4.0,6.4.99],[7.0.0,8.9.9]\n");
  EXPECT_EQ(Versions().firmware_of_driver().value(),
            "[6.4.0,6.4.99],[7.0.0,8.9.9]");
  root_.Write(kDriver, "Version=23.0.7\n");
  EXPECT_EQ(Versions().firmware_of_driver().missing().reason(),
            Missing::ABSENT);
  root_.Write(kDriver, "rubbish\n");
  EXPECT_EQ(Versions().driver().missing().reason(), Missing::UNREADABLE);
  EXPECT_EQ(Versions().firmware().missing().reason(), Missing::ABSENT);
}

TEST_F(IdentityObserverTest, ReadsHccnConfWithItsModeOrTellsWhyNot) {
  EXPECT_EQ(Conf().missing().reason(), Missing::ABSENT);
  root_.Write("/etc/hccn.conf", "address_0=10.0.0.1\n", 0640);
  EXPECT_EQ(Conf().value().entries_size(), 1);
  EXPECT_EQ(Conf().value().mode(), 0640u);
  root_.Remove("/etc/hccn.conf");
  root_.MakeFolder("/etc/hccn.conf");
  EXPECT_EQ(Conf().missing().reason(), Missing::UNREADABLE);
  EXPECT_THAT(Conf().missing().detail(), HasSubstr("is a directory"));
}

TEST_F(IdentityObserverTest, TakesTheFirstLineOfTheSimulationMark) {
  EXPECT_EQ(ReadSimulation(files_), "");
  root_.Write("/etc/clusterd/simulation", "side by side on loopback\nmore\n");
  EXPECT_EQ(ReadSimulation(files_), "side by side on loopback");
}

TEST(ParseKillsTest, ReadsBothBoundsAndTheOlderForm) {
  auto kills = ParseKills(
      "[   12.345678] usb 1-1: failed\n"
      "[86300.000001] Out of memory: Kill process 7 (a) score 9 or sacrifice\n"
      "[86400.123456] Out of memory: Killed process 4711 (python3) "
      "total-vm:1kB\n"
      "<3>[86401.1] Memory cgroup out of memory: Killed process 8 (b (c)), "
      "UID 1\r\n"
      "[86402.2] node07.site kernel: Out of memory: Killed process 9 (c) x\n",
      86500);
  ASSERT_THAT(kills, SizeIs(4));
  EXPECT_EQ(kills[0].pid(), 9u);
  kills.erase(kills.begin());
  EXPECT_THAT(kills[0],
              HasFields("command: 'b (c)' of_cgroup: true seconds_ago: 99"));
  EXPECT_EQ(kills[1].pid(), 4711u);
  EXPECT_FALSE(kills[1].of_cgroup());
  EXPECT_EQ(kills[2].pid(), 7u);
}

TEST(ParseKillsTest, ReadsEveryFormOfTheKernel) {
  for (const char* line :
       {"[1.5] Out of memory: Killed process 9 (x) total-vm:1kB, anon-rss:1kB",
        "[1.5] Out of memory: Kill process 9 (x) score 1 or sacrifice child",
        "[1.5] Out of memory (oom_kill_allocating_task): Killed process 9 (x) "
        "total-vm:1kB",
        "[    1.500000] [ T4711] Out of memory: Killed process 9 (x)",
        "<3>[    1.500000][  C12] Out of memory: Killed process 9 (x) a",
        "[1.5] Memory cgroup out of memory: Kill process 9 (x) score 0 or "
        "sacrifice child",
        "[1.5] Memory cgroup out of memory: Killed process 9 (x) total-vm:1kB, "
        "UID:0 pgtables:1kB oom_score_adj:0"}) {
    const auto kills = ParseKills(line, 10);
    ASSERT_THAT(kills, SizeIs(1)) << line;
    EXPECT_EQ(kills[0].pid(), 9u) << line;
    EXPECT_EQ(kills[0].command(), "x") << line;
    EXPECT_EQ(kills[0].seconds_ago(), 9u) << line;
  }
}

// Users choose the names of processes.
TEST(ParseKillsTest, MakesNamesPrintableAndTakesNoneForALine) {
  const auto kills = ParseKills(
      "[1.1] Out of memory: Killed process 5 (\x1b[2J\xff) total-vm\n"
      "[2.2] audit: comm=Out of memory: Killed process 6 (x)\n"
      "[3.3] [4.4] Out of memory: Killed process 7 (x)\n",
      10);
  ASSERT_THAT(kills, SizeIs(1));
  EXPECT_EQ(kills[0].command(), "\\x1b[2J\\xff");
  std::string many;
  for (int i = 0; i < 100; ++i) {
    many += "[1.1] Out of memory: Killed process 5 (a) x\n";
  }
  EXPECT_THAT(ParseKills(many, 10), SizeIs(16));
}

class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest() {
    root_.Write("/proc/meminfo",
                "MemTotal:       536870912 kB\nMemFree:        1 kB\n"
                "MemAvailable:   268435456 kB\nBuffers: 1 kB\n");
    root_.Write("/proc/uptime", "100.0 1\n");
    root_.WriteProgram("/usr/bin/dmesg", "");
    runner_.Answers("dmesg --kernel --level=emerg,alert,crit,err",
                    "[90.0] Out of memory: Killed process 5 (python3) x\n");
  }

  HostMemoryFact Read() {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    return ReadHostMemory({root_.paths(), &runner_, &budget});
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
};

TEST_F(HostMemoryTest, ReadsTotalsLimitsAndKills) {
  root_.Write("/sys/fs/cgroup/system.slice/memory.max", "274877906944\n");
  root_.Write("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  root_.Write("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
              "9223372036854771712\n");
  const HostMemoryFact::Memory memory = Read().value();
  EXPECT_EQ(memory.total_bytes(), 512ull << 30);
  EXPECT_EQ(memory.available_bytes(), 256ull << 30);
  ASSERT_EQ(memory.limits_size(), 1);
  EXPECT_EQ(memory.limits(0).slice(), "system.slice");
  EXPECT_EQ(memory.limits(0).bytes(), 256ull << 30);
  ASSERT_EQ(memory.kills_size(), 1);
  EXPECT_EQ(memory.kills(0).seconds_ago(), 10u);
}

TEST_F(HostMemoryTest, AsksTheJournalWhereTheUnitKeepsDmesgFromReading) {
  const std::string dmesg = "dmesg --kernel --level=emerg,alert,crit,err";
  runner_.NowFails(dmesg, 1, "dmesg: read kernel buffer failed\n");
  root_.WriteProgram("/usr/bin/journalctl", "");
  const std::string question =
      "journalctl --dmesg --no-pager --output=short-monotonic --lines=20000 "
      "--priority=err";
  runner_.Answers(question,
                  "[90.0] a kernel: Out of memory: Killed process 5 (b) x\n");
  EXPECT_THAT(Read().value().kills(), SizeIs(1));
  // A journal without kernel lines proves nothing.
  runner_.NowAnswers(question, "-- No entries --\n");
  EXPECT_TRUE(Read().value().has_kills_missing());
}

// With both cgroup v2 and v1.
TEST_F(HostMemoryTest, ReadsTheLimitsOfUsersWhoAreLoggedIn) {
  root_.Write("/sys/fs/cgroup/user.slice/user-1000.slice/memory.max",
              "1073741824\n");
  root_.Write("/sys/fs/cgroup/user.slice/user-1001.slice/memory.max", "max\n");
  root_.Write(
      "/sys/fs/cgroup/memory/user.slice/user-7.slice/memory.limit_in_bytes",
      "2147483648\n");
  const HostMemoryFact::Memory memory = Read().value();
  ASSERT_EQ(memory.limits_size(), 2);
  EXPECT_EQ(memory.limits(0).slice(), "user.slice/user-1000.slice");
  EXPECT_EQ(memory.limits(1).slice(), "user.slice/user-7.slice");
  EXPECT_EQ(memory.limits(1).bytes(), 2ull << 30);
}

// Container names of systemd and cgroupfs, and Slurm's jobs with v2 and v1.
TEST_F(HostMemoryTest, ReadsTheLimitsOfContainersAndOfJobsOfSlurm) {
  const std::string v2 = "/sys/fs/cgroup/";
  const std::string v1 = "/sys/fs/cgroup/memory/";
  root_.Write(v2 + "system.slice/docker-5b0c7e21d9f4.scope/memory.max",
              "274877906944\n");
  root_.Write(v2 + "system.slice/slurmstepd.scope/job_7/memory.max",
              "1073741824\n");
  root_.Write(v1 + "docker/5b0c/memory.limit_in_bytes", "1073741824\n");
  root_.Write(v1 + "slurm/uid_1000/job_8/memory.limit_in_bytes",
              "1073741824\n");
  // None of these is a container or job.
  root_.Write(v2 + "system.slice/cron.service/memory.max", "1\n");
  root_.Write(v2 + "docker/cgroup.procs", "1\n");
  root_.Write(v1 + "slurm/uid_1000/job_8/step_0/memory.limit_in_bytes", "1\n");
  const HostMemoryFact::Memory memory = Read().value();
  std::vector<std::string> slices;
  for (const MemoryLimit& limit : memory.limits()) {
    slices.push_back(limit.slice());
  }
  EXPECT_THAT(slices,
              UnorderedElementsAre("system.slice/docker-5b0c7e21d9f4.scope",
                                   "system.slice/slurmstepd.scope/job_7",
                                   "docker/5b0c", "slurm/uid_1000/job_8"));
}

TEST_F(HostMemoryTest, SaysWhyTheKernelsLogIsNotRead) {
  root_.Remove("/usr/bin/dmesg");
  EXPECT_EQ(Read().value().kills_missing().reason(), Missing::ABSENT);
  EXPECT_THAT(Read().value().kills(), IsEmpty());
  root_.Write("/proc/meminfo", "rubbish\n");
  EXPECT_EQ(Read().missing().reason(), Missing::UNREADABLE);
}

}  // namespace
}  // namespace clusterd
