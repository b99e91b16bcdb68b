#include <string>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Gives server0 these interfaces, all up.
void SetInterfaces(
    TestCluster& cluster,
    const std::vector<std::pair<std::string, std::string>>& interfaces) {
  auto* const value = cluster.facts[0].mutable_interfaces()->mutable_value();
  value->clear_interfaces();
  for (const auto& [name, address] : interfaces) {
    HostInterface* const interface = value->add_interfaces();
    interface->set_name(name);
    interface->add_addresses(address);
    interface->set_up(true);
  }
}

EnvironmentVariable& SetVariable(TestCluster& cluster, const std::string& name,
                                 const std::string& value) {
  return cluster.SetInLogins(0, name, value, "/etc/profile.d/hccl.sh", 3);
}

// The interface of server0 at this index.
HostInterface& Interface(TestCluster& cluster, int index) {
  return *cluster.facts[0]
              .mutable_interfaces()
              ->mutable_value()
              ->mutable_interfaces(index);
}

TEST(CheckHostInterfaceTest, DockerAndTunnelsAfterTheHostsOwnAreNoMatter) {
  TestCluster cluster;
  SetInterfaces(cluster, {{"docker0", "172.17.0.1"},
                          {"eth0", "172.16.0.1"},
                          {"lo", "127.0.0.1"},
                          {"virbr0", "192.168.122.1"}});
  EXPECT_EQ(cluster.Check("host-interface").state(), PASS);
}

TEST(CheckHostInterfaceTest, AHostWithoutIpv4IsCalledThat) {
  TestCluster cluster;
  SetInterfaces(cluster, {{"docker0", "172.17.0.1"}, {"lo", "127.0.0.1"}});
  EXPECT_THAT(cluster.Check("host-interface"),
              Finds("FAIL server0 ipv6-only address=172.16.0.1"));
  SetInterfaces(cluster, {{"br-5b0c7e21d9f4", "172.18.0.1"},
                          {"cni-podman0", "10.88.0.1"},
                          {"cni0", "10.244.0.1"},
                          {"podman1", "10.89.0.1"},
                          {"virbr0", "192.168.122.1"}});
  EXPECT_THAT(cluster.Check("host-interface"),
              Finds("ipv6-only address=172.16.0.1"));
}

TEST(CheckHostInterfaceTest, AddressOnNoInterfaceFails) {
  TestCluster cluster;
  for (const char* name : {"eth0", "br-ex"}) {
    SetInterfaces(cluster, {{name, "10.9.9.9"}});
    EXPECT_THAT(cluster.Check("host-interface"),
                Finds(absl::StrCat(
                    "FAIL server0 not-there address=172.16.0.1, interfaces=",
                    name, " (10.9.9.9)")));
  }
  SetInterfaces(cluster, {{"eth0", "172.16.0.1"}});
  Interface(cluster, 0).set_up(false);
  EXPECT_THAT(cluster.Check("host-interface"),
              Finds("FAIL server0 link-down interface=eth0 (172.16.0.1)"));
  // Names that begin with "lo" come last by default.
  SetInterfaces(cluster, {{"local0", "10.9.9.9"}, {"mgmt0", "172.16.0.1"}});
  EXPECT_EQ(cluster.Check("host-interface").state(), PASS);
}

// The job may name its interface itself, so this does not break it yet.
TEST(CheckHostInterfaceTest, DefaultOrderThatTakesAnotherIsAWarning) {
  TestCluster cluster;
  SetInterfaces(cluster, {{"eth1", "172.16.0.1"}, {"cni0", "10.244.0.1"}});
  EXPECT_THAT(
      cluster.Check("host-interface"),
      Warns("another-first taken=10.244.0.1 of cni0, address=172.16.0.1, "
            "name=eth1, variable=HCCL_SOCKET_IFNAME='=eth1'"));
  SetVariable(cluster, "HCCL_SOCKET_IFNAME", "=eth1");
  EXPECT_EQ(cluster.Check("host-interface").state(), PASS);
}

TEST(CheckHostInterfaceTest, VariablesOfEveryLoginDecide) {
  using Interfaces = std::vector<std::pair<std::string, std::string>>;
  const Interfaces two = {{"eth0", "10.9.9.9"}, {"ib0", "172.16.0.1"}};
  // If a variable names several, the kernel's order decides.
  const Interfaces four = {{"lo", "127.0.0.1"},
                           {"enp189s0f0", "172.16.0.1"},
                           {"docker0", "172.17.0.1"},
                           {"enp125s0f0", "10.9.9.9"}};
  const Interfaces three = {
      {"eth0", "172.16.0.1"}, {"eth1", "10.9.9.9"}, {"lo", "127.0.0.1"}};
  const struct {
    const Interfaces& interfaces;
    const char* name;
    const char* value;
    State state;
  } kCases[] = {{two, "HCCL_IF_IP", "172.16.0.1", PASS},
                {two, "HCCL_IF_IP", "172.16.0.1%ib0", PASS},
                {two, "HCCL_IF_IP", "10.9.9.9", FAIL},
                {two, "HCCL_SOCKET_IFNAME", "ib", PASS},
                {two, "HCCL_SOCKET_IFNAME", "^eth", PASS},
                {two, "HCCL_SOCKET_IFNAME", "eth", FAIL},
                {two, "HCCL_SOCKET_IFNAME", "^=ib0", FAIL},
                // Both match, and eth0 comes first.
                {two, "HCCL_SOCKET_IFNAME", "ib,eth", WARN},
                {four, "OTHER", "", WARN},
                {four, "HCCL_SOCKET_IFNAME", "enp", PASS},
                {four, "HCCL_SOCKET_IFNAME", "enp125,enp189", PASS},
                {four, "HCCL_SOCKET_IFNAME", "^lo", PASS},
                // lo is not one of docker's, and comes first.
                {four, "HCCL_SOCKET_IFNAME", "^docker", WARN},
                {four, "HCCL_SOCKET_IFNAME", "^lo,enp189", FAIL},
                // Launchers must reach their peers.
                {three, "GLOO_SOCKET_IFNAME", "eth0", PASS},
                {three, "GLOO_SOCKET_IFNAME", "lo", FAIL},
                {three, "GLOO_SOCKET_IFNAME", "eth7", FAIL},
                {three, "TP_SOCKET_IFNAME", "eth1", WARN},
                {three, "VLLM_HOST_IP", "172.16.0.1", PASS},
                {three, "VLLM_HOST_IP", "10.9.9.9", WARN},
                {three, "VLLM_HOST_IP", "203.0.113.23", FAIL}};
  for (const auto& c : kCases) {
    TestCluster cluster;
    SetInterfaces(cluster, c.interfaces);
    SetVariable(cluster, c.name, c.value);
    EXPECT_EQ(cluster.Check("host-interface").state(), c.state)
        << c.name << "=" << c.value;
  }
}

TEST(CheckHostInterfaceTest, VariableOfAJobFileIsCorrectedThere) {
  for (const char* name :
       {"HCCL_IF_IP", "HCCL_SOCKET_IFNAME", "VLLM_HOST_IP"}) {
    for (const bool of_job : {false, true}) {
      TestCluster cluster;
      SetInterfaces(cluster, {{"eth0", "10.9.9.9"}, {"ib0", "172.16.0.1"}});
      MergeText("file: 'job file' line: 4",
                &cluster.SetInJob(of_job ? name : "OTHER", "10.9.9.9"));
      if (!of_job) SetVariable(cluster, name, "10.9.9.9");
      EXPECT_THAT(cluster.Check("host-interface"),
                  Finds(absl::StrCat("names-another", of_job ? "-of-job" : "",
                                     " variable=", name, "=10.9.9.9")))
          << name;
    }
  }
}

// A second address of the right interface, as a job with its own subnet or a
// virtual address of keepalived has it.
TEST(CheckHostInterfaceTest, HcclTakesTheFirstAddressOfAnInterfaceAlone) {
  TestCluster cluster;
  SetInterfaces(cluster, {{"eth0", "10.9.9.9"}, {"lo", "127.0.0.1"}});
  HostInterface* const eth0 = &Interface(cluster, 0);
  eth0->add_addresses("172.16.0.1");
  for (const bool names_it : {false, true}) {
    if (names_it) SetVariable(cluster, "HCCL_SOCKET_IFNAME", "=eth0");
    EXPECT_THAT(cluster.Check("host-interface"),
                Warns(absl::StrCat("another-first taken=10.9.9.9 of eth0",
                                   names_it ? " by HCCL_SOCKET_IFNAME=" : ","),
                      "variable=HCCL_IF_IP=172.16.0.1"));
  }
  eth0->set_addresses(0, "172.16.0.1");
  eth0->set_addresses(1, "10.9.9.9");
  EXPECT_EQ(cluster.Check("host-interface").state(), PASS);
}

TEST(CheckHostInterfaceTest, NamesTheLineThatLetsHcclTakeLo) {
  TestCluster cluster;
  SetInterfaces(cluster, {{"lo", "127.0.0.1"}, {"eth0", "172.16.0.1"}});
  SetVariable(cluster, "HCCL_SOCKET_IFNAME", "lo,eth0");
  EXPECT_THAT(
      cluster.Check("host-interface"),
      Finds("another-first taken=127.0.0.1 of lo by HCCL_SOCKET_IFNAME=lo,eth0 "
            "(/etc/profile.d/hccl.sh:3), address=172.16.0.1, name=eth0, "
            "variable=HCCL_SOCKET_IFNAME='=eth0'"));
  for (const char* name : {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"}) {
    SetVariable(cluster, name, "lo");
    EXPECT_THAT(cluster.Check("host-interface"),
                Finds(absl::StrCat("launcher-unreachable variable=", name,
                                   "=lo (/etc/profile.d/hccl.sh:3)")));
  }
}

// Ports of devices are not interfaces of the host.
TEST(CheckHostInterfaceTest, NamesTheDeviceWhoseAddressWasGiven) {
  TestCluster cluster("atlas-a3-superpod");
  const std::string roce =
      cluster.device(1, 3).address().value().settings(0).address();
  const std::string vnic =
      cluster.device(0, 2).vnic().value().setting().address();
  SetVariable(cluster, "HCCL_IF_IP", roce + "%eth0");
  SetVariable(cluster, "VLLM_HOST_IP", vnic);
  const auto of_device = [](const std::string& value, int device, int host) {
    return HasSubstr(Say("variable-of-device", "=" + value,
                         "/etc/profile.d/hccl.sh:3", device,
                         absl::StrCat("server", host)));
  };
  EXPECT_THAT(cluster.Check("host-interface"),
              Finds("variable-names-another variable=HCCL_IF_IP=",
                    of_device(roce + "%eth0", 3, 1),
                    "launcher-unreachable variable=VLLM_HOST_IP=",
                    of_device(vnic, 2, 0)));
  // cluster.yaml knows it where the device does not answer.
  for (DeviceFacts& device : *cluster.facts[1].mutable_devices()) {
    SetMissing(Missing::TIMED_OUT, "", device.mutable_address());
  }
  EXPECT_THAT(cluster.Check("host-interface"),
              Finds(of_device(roce + "%eth0", 3, 1)));
}

// HCCL compares "=bond0.7" with bond0 as far as that goes.
TEST(CheckHostInterfaceTest, VlanNeedsItsAddressNamedWhereItsPortHasOne) {
  TestCluster cluster;
  SetInterfaces(cluster, {{"bond0", "10.9.9.9"}, {"bond0.7", "172.16.0.1"}});
  SetVariable(cluster, "HCCL_SOCKET_IFNAME", "=bond0.7");
  EXPECT_THAT(
      cluster.Check("host-interface"),
      Warns(
          "another-first taken=10.9.9.9 of bond0 by "
          "HCCL_SOCKET_IFNAME==bond0.7 (/etc/profile.d/hccl.sh:3), "
          "address=172.16.0.1, name=bond0.7, variable=HCCL_IF_IP=172.16.0.1"));
}

// A host may send any name.
TEST(CheckHostInterfaceTest, NameThatNoVariableCanMeanGetsItsAddressAdvised) {
  for (const char* name : {"x,y", ""}) {
    TestCluster cluster;
    SetInterfaces(cluster, {{"a", "10.9.9.9"}, {name, "172.16.0.1"}});
    SetVariable(cluster, "HCCL_SOCKET_IFNAME", "^lo");
    EXPECT_THAT(Brief(cluster.Check("host-interface").findings(0)),
                HasSubstr("variable=HCCL_IF_IP=172.16.0.1"));
  }
}

TEST(CheckHostInterfaceTest, HcclIfIpComesBeforeTheName) {
  TestCluster cluster;
  SetVariable(cluster, "HCCL_SOCKET_IFNAME", "wrong");
  SetVariable(cluster, "HCCL_IF_IP", "10.9.9.9");
  SetVariable(cluster, "HCCL_IF_IP", "172.16.0.1");
  EXPECT_EQ(cluster.Check("host-interface").state(), PASS);
}

// "export HCCL_IF_IP=$(hostname -I | cut -d ' ' -f 1)" after an older line.
TEST(CheckHostInterfaceTest, NoOlderLineIsJudgedWhereAShellWorksAVariableOut) {
  for (const char* name : {"HCCL_SOCKET_IFNAME", "HCCL_IF_IP"}) {
    TestCluster cluster;
    SetVariable(cluster, name, "10.9.9.9");
    EXPECT_EQ(cluster.Check("host-interface").state(), FAIL);
    SetVariable(cluster, name, "").set_computed(true);
    EXPECT_THAT(cluster.Check("host-interface"),
                Passes(absl::StrCat("SKIPPED server0 computed variable=", name,
                                    ", where=/etc/profile.d/hccl.sh:3")));
    SetVariable(cluster, name, "10.9.9.9");
    EXPECT_EQ(cluster.Check("host-interface").state(), FAIL);
  }
}

// A proxy's tunnel, a bridge: the address is there on every host.
TEST(CheckHostInterfaceTest, OneAddressOfTwoHostsFails) {
  TestCluster cluster;
  for (int host : {0, 1}) {
    cluster.Set(host, R"(
        interfaces {value {interfaces {name: "Meta" addresses: "198.18.0.1"
        up: true}}})");
  }
  EXPECT_THAT(cluster.Check("host-interface"),
              Finds("FAIL server0 server1 one-for-several taken=198.18.0.1 of "
                    "Meta (a range that proxy tunnels use), hosts=server[0-1], "
                    "variable=HCCL_SOCKET_IFNAME='=eth0', name=eth0"));
  // The job may still override a variable of one host.
  cluster.facts[1]
      .mutable_interfaces()
      ->mutable_value()
      ->mutable_interfaces()
      ->RemoveLast();
  EXPECT_EQ(cluster.Check("host-interface").state(), WARN);
  cluster.SetInJob("HCCL_SOCKET_IFNAME", "=eth0");
  EXPECT_EQ(cluster.Check("host-interface").state(), PASS);
}

// Debian's installer writes it.
TEST(CheckHostNameTest, NameThatResolvesToALoopbackAddressIsAWarning) {
  TestCluster cluster;
  AddressesFact* const name = cluster.facts[0].mutable_own_name();
  name->mutable_value()->set_addresses(0, "127.0.1.1");
  EXPECT_THAT(cluster.Check("host-name"),
              Finds("WARN server0 resolves found=127.0.1.1, "
                    "address=172.16.0.1, name=server0"));
  name->mutable_value()->clear_addresses();
  EXPECT_THAT(
      cluster.Check("host-name"),
      Finds("resolves found=no address, address=172.16.0.1, name=server0"));
  name->mutable_value()->add_addresses("127.0.1.1");
  name->mutable_value()->add_addresses("172.16.0.1");
  EXPECT_EQ(cluster.Check("host-name").state(), PASS);
  // Nor has a reverse look-up an answer.
  NameOfPeer* const peer =
      cluster.facts[0].mutable_peer_names()->mutable_value()->add_names();
  peer->set_address("10.0.3.3");
  peer->set_elapsed_ms(2000);
  EXPECT_EQ(Lines(cluster.Check("host-name")),
            "WARN server0 peer-not-answered address=10.0.3.3, elapsed=2.0 s\n");
  SetMissing(Missing::TIMED_OUT, "`getent ahostsv4 server0`: no answer", name);
  EXPECT_EQ(cluster.Check("host-name").state(), UNKNOWN);
}

void SetLimit(TestCluster& cluster, const char* program, uint64_t soft,
              uint64_t hard) {
  OpenFilesLimit& limit =
      *cluster.facts[0].mutable_open_files()->mutable_value()->mutable_limits(
          0);
  limit.set_program(program);
  limit.set_soft(soft);
  limit.set_hard(hard);
}

// Ranks and agents of the test's two servers: 18.
TEST(CheckOpenFilesTest, LimitUnderWhoDialsTheRootIsAWarning) {
  const struct {
    const char* program;
    int soft;
    int hard;
    const char* finding;
  } kCases[] = {
      {"sshd", 18, 524288,
       "soft program=sshd, limit=18, dialers=18, hard=524288"},
      {"sshd", 8, 16, "hard program=sshd, limit=8, dialers=18, hard=16"},
      {"sshd", 19, 19, ""},
      // Its jobs inherit theirs from the submitting host, but for the hard one.
      {"slurmd", 8, 524288, ""},
      {"slurmd", 8, 18, "program=slurmd, "}};
  for (const auto& c : kCases) {
    TestCluster cluster;
    SetLimit(cluster, c.program, c.soft, c.hard);
    EXPECT_THAT(cluster.Check("open-files"),
                Gives(*c.finding == 0 ? PASS : WARN, c.finding))
        << c.soft;
  }
}

// systemd's usual 1024 is enough for 900 ranks and not for more.
TEST(CheckOpenFilesTest, UsualLimitWarnsOnlyInAClusterThatIsLargeEnough) {
  TestCluster cluster("atlas-training", "", 120);
  SetLimit(cluster, "dockerd", 1024, 524288);
  EXPECT_EQ(cluster.Check("open-files").state(), WARN);
  TestCluster smaller("atlas-training", "", 100);
  SetLimit(smaller, "dockerd", 1024, 524288);
  EXPECT_EQ(smaller.Check("open-files").state(), PASS);
}

TEST(CheckOpenFilesTest, HostWithoutSuchAProgramIsSkippedWithThatReason) {
  TestCluster cluster;
  for (HostFacts& facts : cluster.facts) {
    facts.mutable_open_files()->mutable_value()->clear_limits();
  }
  EXPECT_THAT(cluster.Check("open-files"), GivesSkip("none-runs"));
  SetMissing(Missing::UNREADABLE, "limits: no line",
             cluster.facts[0].mutable_open_files());
  EXPECT_EQ(cluster.Check("open-files").state(), UNKNOWN);
}

TEST(CheckContainerMountsTest, NamesWhatTheContainerLacks) {
  TestCluster cluster;
  SetMissing(Missing::ABSENT, "", cluster.facts[0].mutable_hccn_conf());
  cluster.Set(0, "hccn_tool {path {missing {reason: ABSENT}}}");
  // On a host itself other rules report it.
  EXPECT_EQ(cluster.Check("container-mounts").state(), PASS);
  cluster.facts[0].mutable_in_container()->set_value(true);
  EXPECT_THAT(cluster.Check("container-mounts"),
              Finds("lacks lacking=/etc/hccn.conf, hccn_tool"));
}

TEST(CheckContainerMountsTest, NamesADirectoryOnAHostToo) {
  TestCluster cluster;
  cluster.Set(0, "directories {value {paths: '/etc/hccl_rootinfo.json'}}");
  EXPECT_THAT(cluster.Check("container-mounts"),
              Finds("FAIL server0 directory path=/etc/hccl_rootinfo.json"));
}

TEST(CheckContainerMountsTest, ContainerWithWhatIsPlannedPasses) {
  TestCluster cluster("atlas-a3-superpod");
  cluster.facts[0].mutable_in_container()->set_value(true);
  EXPECT_EQ(cluster.Check("container-mounts").state(), PASS);
  auto* const ids = cluster.facts[0].mutable_device_ids()->mutable_value();
  ids->mutable_ids()->RemoveLast();
  EXPECT_THAT(cluster.Check("container-mounts"),
              Finds("lacks lacking=/dev/davinci15"));
  cluster.spec.mutable_servers(0)->mutable_devices()->RemoveLast();
  EXPECT_EQ(cluster.Check("container-mounts").state(), PASS);
  // It needs no hccn.conf where RoCE is unused.
  SetMissing(Missing::ABSENT, "", cluster.facts[0].mutable_hccn_conf());
  EXPECT_EQ(cluster.Check("container-mounts").state(), FAIL);
  cluster.spec.set_roce_unused(true);
  EXPECT_EQ(cluster.Check("container-mounts").state(), PASS);
}

void SetClock(TestCluster& cluster, int host, int64_t least, int64_t most) {
  ClockFact::Clock* const clock =
      cluster.facts[host].mutable_clock()->mutable_value();
  clock->set_ahead_at_least_ms(least);
  clock->set_ahead_at_most_ms(most);
}

TEST(CheckClockSkewTest, OnlyWhatTheRoundTripLeavesNoDoubtAboutCounts) {
  TestCluster cluster("atlas-a2", "", 3);
  // An answer after a minute is too imprecise to judge, and passes.
  SetClock(cluster, 2, -30000, 30000);
  EXPECT_EQ(cluster.Check("clock-skew").state(), PASS);
  SetClock(cluster, 2, 5000, 9000);
  EXPECT_EQ(cluster.Check("clock-skew").state(), PASS);
  SetClock(cluster, 2, 5005, 9000);
  EXPECT_THAT(
      cluster.Check("clock-skew"),
      Finds("WARN server2 ahead skew=5.001s, reference=server1, bound=5.000s"));
  SetClock(cluster, 2, -9000, -5004);
  EXPECT_THAT(cluster.Check("clock-skew"),
              Finds("behind skew=5.001s, reference=server0, bound=5.000s"));
  EXPECT_EQ(cluster.SetSpec("clock_skew_ms: 6000").StateOf("clock-skew"), PASS);
}

TEST(CheckClockSkewTest, AsManyAgainstAsManyNameBoth) {
  for (const int servers : {2, 4}) {
    TestCluster cluster("atlas-a2", "", servers);
    for (int i = 0; i < servers / 2; ++i) SetClock(cluster, i, -9000, -8990);
    EXPECT_THAT(
        cluster.Check("clock-skew"),
        Finds("WARN server0 ", " behind skew=8.987s",
              absl::StrCat("server", servers - 1, " ahead skew=8.987s")));
  }
  // Three against one have a clock in the middle.
  TestCluster cluster("atlas-a2", "", 4);
  SetClock(cluster, 2, -9000, -8990);
  EXPECT_EQ(
      Lines(cluster.Check("clock-skew")),
      "WARN server2 behind skew=8.987s, reference=server0, bound=5.000s\n");
}

TEST(CheckClockSkewTest, ControllerThatIsWrongItselfIsNoFindingOfHosts) {
  TestCluster cluster("atlas-a2", "", 3);
  for (int i = 0; i < 3; ++i) SetClock(cluster, i, 3600000, 3600010);
  EXPECT_EQ(cluster.Check("clock-skew").state(), PASS);
  // No controller has compared.
  for (HostFacts& host : cluster.facts) host.clear_clock();
  EXPECT_EQ(cluster.Check("clock-skew").state(), SKIPPED);
}

}  // namespace
}  // namespace clusterd
