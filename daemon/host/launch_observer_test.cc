#include "daemon/host/launch_observer.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

// Output of iproute2 6.1 on Debian 12, with Docker and a VLAN.
constexpr char kAddresses[] =
    "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever "
    "preferred_lft forever\n"
    "2: eth0    inet 10.77.0.4/16 brd 10.77.255.255 scope global eth0\\       "
    "valid_lft forever preferred_lft forever\n"
    "2: eth0    inet 10.77.9.4/32 scope global eth0\\       valid_lft forever "
    "preferred_lft forever\n"
    "3: docker0    inet 172.17.0.1/16 brd 172.17.255.255 scope global "
    "docker0\\       valid_lft forever preferred_lft forever\n"
    "5: eth0.7@eth0    inet 10.78.0.4 peer 10.78.0.5/32 scope global eth0.7\\  "
    "     valid_lft forever preferred_lft forever\n";
constexpr char kIp[] = "ip -o -4 address show";
constexpr char kGetent[] = "getent ahostsv4 node07";

TEST(ParseInterfacesTest, ReadsNamesAndAllTheirAddresses) {
  const auto parsed = ParseInterfaces(kAddresses).value();
  ASSERT_EQ(parsed.interfaces_size(), 4);
  EXPECT_THAT(parsed.interfaces(1).addresses(),
              ElementsAre("10.77.0.4", "10.77.9.4"));
  EXPECT_EQ(parsed.interfaces(3).name(), "eth0.7");
  EXPECT_THAT(parsed.interfaces(3).addresses(), ElementsAre("10.78.0.4"));
  EXPECT_EQ(ParseInterfaces("")->interfaces_size(), 0);
}

TEST(ParseInterfacesTest, RefusesOtherTexts) {
  for (const char* text : {"what?\n", "2: eth0    inet 10.77.0.400/16 x\n",
                           "2: eth0    inet6 fe80::1/64 scope link\n"}) {
    EXPECT_FALSE(ParseInterfaces(text).ok()) << text;
  }
}

TEST(ParseResolvedTest, ReadsEachAddressOnce) {
  const auto parsed =
      ParseResolved(
          "10.77.0.4       STREAM node07\n10.77.0.4       DGRAM  \n"
          "10.77.0.4       RAW    \n127.0.1.1       STREAM \n")
          .value();
  EXPECT_THAT(parsed.addresses(), ElementsAre("10.77.0.4", "127.0.1.1"));
  EXPECT_FALSE(ParseResolved("fe80::1 STREAM node07\n").ok());
}

class LaunchObserverTest : public ::testing::Test {
 protected:
  LaunchObserverTest() {
    root_.WriteProgram("/usr/sbin/ip", "#!/bin/sh\n");
    root_.WriteProgram("/usr/bin/getent", "#!/bin/sh\n");
    root_.Write("/proc/sys/kernel/hostname", "node07\n");
    runner_.Answers(kIp, kAddresses);
    runner_.Answers(kGetent, "10.77.0.4       STREAM node07\n");
  }

  HostFacts Observe() {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    HostFacts facts;
    ObserveLaunch({root_.paths(), &runner_, &budget}, request_, &facts);
    return facts;
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  ObserveRequest request_;
};

// A server without a name is an answer; after a silent one no more are asked.
TEST_F(LaunchObserverTest, AsksForTheNamesOfPeersWithATimeLimit) {
  for (const char* peer : {"10.0.3.1", "10.0.3.2", "10.0.3.3", "10.0.3.4"}) {
    request_.add_peers(peer);
  }
  runner_.Answers("getent hosts 10.0.3.1", "10.0.3.1   server1\n");
  runner_.Fails("getent hosts 10.0.3.2", 2, "");
  runner_.Hangs("getent hosts 10.0.3.3");
  const PeerNamesFact::Names names = Observe().peer_names().value();
  ASSERT_THAT(names,
              HasFields("names { answered: true } names { answered: true } "
                        "names { answered: false elapsed_ms: 2000 }"));
}

TEST_F(LaunchObserverTest, PutsNoPeerButAnAddressOnACommandLine) {
  request_.add_peers("-s files");
  EXPECT_EQ(Observe().peer_names().missing().reason(), Missing::UNREADABLE);
}

TEST_F(LaunchObserverTest, NamesDirectoriesWhereFilesBelong) {
  root_.MakeFolder("/etc/hccl_rootinfo.json");
  root_.MakeFolder("/usr/local/bin/npu-smi");
  root_.Write("/etc/ascend_install.info", "x\n");
  EXPECT_THAT(Observe().directories().value().paths(),
              ElementsAre("/etc/hccl_rootinfo.json", "/usr/local/bin/npu-smi"));
}

TEST_F(LaunchObserverTest, TellsWhichLinksCarryPackets) {
  root_.Write("/sys/class/net/lo/operstate", "unknown\n");
  root_.Write("/sys/class/net/eth0/operstate", "up\n");
  root_.Write("/sys/class/net/docker0/operstate", "down\n");
  root_.Write("/sys/class/net/eth0.7/operstate", "lowerlayerdown\n");
  const HostFacts facts = Observe();
  std::vector<bool> up;
  for (const HostInterface& each : facts.interfaces().value().interfaces()) {
    up.push_back(each.up());
  }
  EXPECT_THAT(up, ElementsAre(true, true, false, false));
}

TEST_F(LaunchObserverTest, HostWithNothingSpecialHasNoVariablesOrDocker) {
  const HostFacts facts = Observe();
  EXPECT_TRUE(facts.environment().has_value());
  EXPECT_EQ(facts.environment().value().variables_size(), 0);
  EXPECT_FALSE(facts.docker_running().value());
  EXPECT_FALSE(facts.in_container().value());
  EXPECT_THAT(facts.own_name().value().addresses(), ElementsAre("10.77.0.4"));
  EXPECT_TRUE(facts.open_files().has_value());
  EXPECT_EQ(facts.open_files().value().limits_size(), 0);
  root_.Write("/.dockerenv", "");
  EXPECT_TRUE(Observe().in_container().value());
}

TEST_F(LaunchObserverTest, OwnNameMayResolveToNothingOrHaveNoAnswer) {
  runner_.NowFails(kGetent, 2, "");
  EXPECT_TRUE(Observe().own_name().has_value());
  EXPECT_EQ(Observe().own_name().value().addresses_size(), 0);
  runner_.NowHangs(kGetent);
  HostFacts facts = Observe();
  EXPECT_EQ(facts.own_name().missing().reason(), Missing::TIMED_OUT);
  EXPECT_TRUE(facts.interfaces().has_value());
  root_.Remove("/usr/sbin/ip");
  EXPECT_EQ(Observe().interfaces().missing().reason(), Missing::ABSENT);
}

TEST_F(LaunchObserverTest, NameThatIsAnOptionIsNeverLookedUp) {
  root_.Write("/proc/sys/kernel/hostname", "--help\n");
  EXPECT_EQ(Observe().own_name().missing().reason(), Missing::UNREADABLE);
  EXPECT_THAT(runner_.commands(), ElementsAre(kIp));
}

TEST_F(LaunchObserverTest, DockerRunsOnlyIfItsProcessDoes) {
  root_.Write("/run/docker.pid", "4711\n");
  EXPECT_FALSE(Observe().docker_running().value());
  root_.Write("/proc/4711/comm", "dockerd\n");
  EXPECT_TRUE(Observe().docker_running().value());
  root_.Write("/proc/4711/comm", "sleep\n");
  EXPECT_FALSE(Observe().docker_running().value());
}

TEST_F(LaunchObserverTest, ReadsVariablesInTheOrderOfALogin) {
  root_.Write("/etc/environment", "HCCL_IF_BASE_PORT=1\n");
  root_.Write("/etc/profile.d/b.sh", "export HCCL_IF_BASE_PORT=3\n");
  root_.Write("/etc/profile.d/a.sh", "export HCCL_IF_BASE_PORT=2\n");
  root_.Write("/etc/profile.d/c.csh", "export HCCL_IF_BASE_PORT=4\n");
  const HostFacts facts = Observe();
  std::string values;
  for (const EnvironmentVariable& each :
       facts.environment().value().variables()) {
    values += each.value();
  }
  EXPECT_EQ(values, "123");
}

// containerd leaves no file itself.
TEST_F(LaunchObserverTest, KnowsAPodByItsServiceAccount) {
  for (const char* folder : {"/run/secrets", "/var/run/secrets"}) {
    const std::string secrets = folder;
    root_.Write(secrets + "/kubernetes.io/serviceaccount/token", "x");
    EXPECT_TRUE(Observe().in_container().value()) << folder;
    root_.Remove(folder);
    EXPECT_FALSE(Observe().in_container().value()) << folder;
  }
}

TEST(ParseOpenFilesLimitTest, ReadsBothLimitsOfItsLine) {
  const auto limit =
      ParseOpenFilesLimit(
          "Limit                     Soft Limit           Hard Limit           "
          "Units     \n"
          "Max processes             63432                63432                "
          "processes \n"
          "Max open files            1024                 unlimited            "
          "files     \n"
          "Max locked memory         8388608              8388608              "
          "bytes     \n")
          .value();
  EXPECT_EQ(limit.soft(), 1024u);
  EXPECT_EQ(limit.hard(), std::numeric_limits<uint64_t>::max());
  for (const char* text :
       {"", "Max open files 1 files\n", "Max open files -1 2 files\n",
        "No Max open files 1 2 files\n"}) {
    EXPECT_FALSE(ParseOpenFilesLimit(text).ok()) << text;
  }
}

TEST_F(LaunchObserverTest, ReadsLimitsOfTheProgramsThatStartJobs) {
  const auto run = [&](int pid, const std::string& name, int parent, int uid) {
    const std::string process = "/proc/" + std::to_string(pid);
    const std::string id = std::to_string(uid);
    root_.Write(process + "/status",
                "Name:\t" + name + "\nUmask:\t0022\nPPid:\t" +
                    std::to_string(parent) + "\nTracerPid:\t0\nUid:\t" + id +
                    "\t" + id + "\t" + id + "\t" + id + "\nGid:\t0\n");
    root_.Write(process + "/limits",
                "Max open files            1024                 524288         "
                "      files     \n");
  };
  run(10, "sshd", 1, 0);
  run(11, "sshd", 10, 0);      // A login.
  run(12, "sshd", 77, 0);      // Of a container.
  run(13, "slurmd", 1, 1000);  // A user's own.
  run(14, "containerd", 1, 0);
  run(15, "cron", 1, 0);
  const auto names = [&] {
    std::vector<std::string> names;
    const HostFacts facts = Observe();
    for (const OpenFilesLimit& each : facts.open_files().value().limits()) {
      names.push_back(each.program() + " " + std::to_string(each.pid()) + " " +
                      std::to_string(each.soft()));
    }
    return names;
  };
  EXPECT_THAT(names(), ElementsAre("sshd 10 1024", "containerd 14 1024"));
  root_.Write("/etc/security/limits.conf", "# * soft nofile 9\n");
  EXPECT_THAT(names(), ElementsAre("sshd 10 1024", "containerd 14 1024"));
  root_.Write("/etc/security/limits.d/a.conf", "* - nproc 9\n* - nofile 9\n");
  EXPECT_THAT(names(), ElementsAre("containerd 14 1024"));
}

}  // namespace
}  // namespace clusterd
