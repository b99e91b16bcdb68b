#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

void AddSocket(uint32_t port, uint32_t pid, const std::string& command,
               const std::string& state, HostFacts* host) {
  BoundSocket* socket = host->mutable_sockets()->mutable_value()->add_sockets();
  socket->set_port(port);
  socket->set_protocol("tcp");
  socket->set_address("0.0.0.0");
  socket->set_state(state);
  socket->set_pid(pid);
  socket->set_command(command);
}

// The values of a finding about one socket of the needed ports.
std::string Socket(const std::string& port, const std::string& ports) {
  return absl::StrCat("sockets=tcp 0.0.0.0 port ", port, ", ports=", ports);
}

TEST(CheckPortsFreeTest, NamesPortProcessAndCommand) {
  TestCluster cluster;
  AddSocket(60003, 4711, "python3", "LISTEN", &cluster.facts[1]);
  AddSocket(60004, 4711, "python3", "LISTEN", &cluster.facts[1]);
  EXPECT_EQ(Lines(cluster.Check("ports-free")),
            "FAIL server1 held sockets=tcp 0.0.0.0 port 60003 LISTEN, tcp "
            "0.0.0.0 port 60004 LISTEN, ports=60000-60031, who=pid 4711 "
            "(python3), pid=4711\n");
}

// Row 5.
TEST(CheckPortsFreeTest, JudgesTheRendezvousPortOnTheFirstServerAlone) {
  TestCluster cluster;
  cluster.spec.set_rendezvous_port(29500);
  AddSocket(29500, 4711, "torchrun", "LISTEN", &cluster.facts[1]);
  EXPECT_EQ(cluster.Check("ports-free").state(), PASS);
  AddSocket(29500, 4711, "torchrun", "LISTEN", &cluster.facts[0]);
  EXPECT_THAT(
      cluster.Check("ports-free"),
      Finds("FAIL server0 held " + Socket("29500 LISTEN", "29500,60000-60031") +
            ", who=pid 4711 (torchrun), pid=4711"));
}

// Row 5: as the MPI launch needs it; and a minute's worth of logins that have
// ended.
TEST(CheckPortsFreeTest, PassesAnSshdThatListensOnTheSshPort) {
  TestCluster cluster;
  cluster.spec.set_ssh_port(2222);
  AddSocket(2222, 900, "sshd", "LISTEN", &cluster.facts[0]);
  AddSocket(2222, 901, "sshd-session", "ESTABLISHED", &cluster.facts[0]);
  for (const char* state : {"TIME_WAIT", "FIN_WAIT2", "LAST_ACK"}) {
    AddSocket(2222, 0, "", state, &cluster.facts[0]);
  }
  AddSocket(2222, 1, "systemd", "LISTEN", &cluster.facts[1]);
  EXPECT_EQ(cluster.Check("ports-free").state(), PASS);
  AddSocket(2222, 77, "nginx", "LISTEN", &cluster.facts[1]);
  EXPECT_THAT(
      cluster.Check("ports-free"),
      Finds("FAIL server1 held " + Socket("2222 LISTEN", "2222,60000-60031") +
            ", who=pid 77 (nginx), pid=77"));
  AddSocket(60003, 900, "sshd", "LISTEN", &cluster.facts[0]);
  EXPECT_THAT(cluster.Check("ports-free"), Finds("FAIL server0 "));
}

// The ports of jobs, not those of the spec.
TEST(CheckPortsFreeTest, ChecksTheBasePortOfLogins) {
  TestCluster cluster;
  cluster.spec.mutable_hccl()->set_base_port_auto(true);
  AddSocket(53003, 900, "sshd", "LISTEN", &cluster.facts[0]);
  EXPECT_EQ(cluster.Check("ports-free").state(), PASS);
  EnvironmentVariable& base =
      cluster.SetInLogins(0, "HCCL_IF_BASE_PORT", "53000");
  EXPECT_EQ(cluster.Check("ports-free").state(), FAIL);
  base.set_computed(true);
  EXPECT_EQ(cluster.Check("ports-free").state(), UNKNOWN);
}

BoundSocket* LastSocket(HostFacts* host) {
  auto* sockets = host->mutable_sockets()->mutable_value()->mutable_sockets();
  return sockets->Mutable(sockets->size() - 1);
}

// Row 4.
TEST(CheckPortsFreeTest, CountsOnlyWhatCanStopAListenOnTheHostsAddress) {
  struct Case {
    const char* protocol;
    std::string address;
    const char* state;
    State expected;
  };
  const std::string own = TestCluster().spec.servers(0).address();
  for (const Case& each : {
           Case{"udp", "0.0.0.0", "", PASS},
           Case{"udp6", "::", "", PASS},
           Case{"tcp", "127.0.0.1", "LISTEN", PASS},
           Case{"tcp", "127.0.0.53", "ESTABLISHED", PASS},
           Case{"tcp6", "::1", "LISTEN", PASS},
           Case{"tcp6", "::ffff:127.0.0.1", "ESTABLISHED", PASS},
           Case{"tcp", "172.17.0.1", "LISTEN", PASS},
           Case{"tcp6", "fe80::1", "ESTABLISHED", PASS},
           Case{"tcp", own, "LISTEN", FAIL},
           Case{"tcp", own, "ESTABLISHED", FAIL},
           Case{"tcp6", "::ffff:" + own, "ESTABLISHED", FAIL},
           Case{"tcp", "0.0.0.0", "LISTEN", FAIL},
           Case{"tcp6", "::", "LISTEN", FAIL},
       }) {
    TestCluster cluster;
    AddSocket(60003, 4711, "python3", each.state, &cluster.facts[0]);
    LastSocket(&cluster.facts[0])->set_protocol(each.protocol);
    LastSocket(&cluster.facts[0])->set_address(each.address);
    EXPECT_EQ(cluster.Check("ports-free").state(), each.expected)
        << each.protocol << " " << each.address << " " << each.state;
  }
}

TEST(CheckPortsFreeTest, CountsAnyAddressOfAContainersOwnNetwork) {
  TestCluster cluster;
  HostFacts& host = cluster.facts[0];
  host.set_network_namespace("container:train-1");
  host.mutable_kernel()->mutable_initial_namespace()->set_value(false);
  AddSocket(60003, 4711, "python3", "LISTEN", &host);
  LastSocket(&host)->set_address("172.17.0.2");
  JudgeOptions options;
  options.network_namespace = "container:train-1";
  const Report report = BuildReport(cluster.spec, {&host}, options);
  EXPECT_EQ(ResultOf(report, "ports-free").state(), FAIL);
}

// Both of a root with 9,216 ranks: while the job runs, and just after it.
TEST(CheckPortsFreeTest, JudgesConnectionsOfALargeRootByTheirNumber) {
  TestCluster cluster;
  cluster.spec.set_rendezvous_port(29500);
  HostFacts& root = cluster.facts[0];
  AddSocket(29500, 0, "", "TIME_WAIT", &root);
  LastSocket(&root)->set_count(9216);
  EXPECT_THAT(
      cluster.Check("ports-free"),
      Finds("WARN server0 closing " +
            Socket("29500 TIME_WAIT (9216 sockets)", "29500,60000-60031")));
  AddSocket(29500, 4700, "torchrun", "LISTEN", &root);
  AddSocket(29500, 4700, "torchrun", "ESTABLISHED", &root);
  LastSocket(&root)->set_count(9216);
  EXPECT_EQ(cluster.Check("ports-free").state(), FAIL);
}

TEST(CheckPortsFreeTest, JudgesPortsOfOtherServicesOnEveryHost) {
  TestCluster cluster;
  AddSocket(6379, 4711, "gcs_server", "LISTEN", &cluster.facts[1]);
  EXPECT_EQ(cluster.Check("ports-free").state(), PASS);
  cluster.SetSpec("ports {first: 6379 last: 6380}");
  EXPECT_THAT(cluster.Check("ports-free"),
              Finds("FAIL server1 held " +
                    Socket("6379 LISTEN", "6379-6380,60000-60031") +
                    ", who=pid 4711 (gcs_server), pid=4711"));
}

// Row 4: with no base port HCCL takes another port.
TEST(CheckPortsFreeTest, OnlyWarnsWhereHcclTakesAnotherPort) {
  TestCluster cluster;
  cluster.spec.mutable_hccl()->set_base_port_auto(true);
  AddSocket(60003, 4711, "node_exporter", "LISTEN", &cluster.facts[0]);
  AddSocket(60004, 0, "", "LISTEN", &cluster.facts[1]);
  EXPECT_THAT(cluster.Check("ports-free"),
              Warns("WARN server0 held-others-free " +
                        Socket("60003 LISTEN", "60000-60031") +
                        ", who=pid 4711 (node_exporter)",
                    "WARN server1 held-others-free " +
                        Socket("60004 LISTEN", "60000-60031") +
                        ", who=" + Say("process-not-visible")));
  // No other port is left.
  for (int i = 0; i < 32; ++i) {
    AddSocket(60000 + i, 7, "python3", "LISTEN", &cluster.facts[0]);
  }
  EXPECT_THAT(cluster.Check("ports-free"),
              Finds("FAIL server0 none-free ports=60000-60031"));
}

void AddNpuProcess(uint32_t pid, uint32_t parent, std::vector<uint32_t> devices,
                   HostFacts* host) {
  NpuProcess* process =
      host->mutable_npu_processes()->mutable_value()->add_processes();
  process->set_pid(pid);
  process->set_parent(parent);
  process->set_command("python3");
  for (const uint32_t id : devices) process->add_devices(id);
}

// Row 3: torchrun 4700 with a rank on each of eight devices.
void RunJob(HostFacts* host) {
  for (uint32_t id = 0; id < 8; ++id) {
    AddNpuProcess(4711 + id, 4700, {id}, host);
    AddSocket(60000 + id, 4711 + id, "python3", "LISTEN", host);
  }
  AddSocket(29500, 4700, "torchrun", "LISTEN", host);
}

DeviceOwner& AddOwner(std::vector<uint32_t> devices, HostFacts* host) {
  DeviceOwner* const owner =
      host->mutable_device_owners()->mutable_value()->add_owners();
  owner->set_pid(731804);
  owner->set_command("bash");
  owner->set_identity("5b0c7e21d9f4");
  owner->set_age_s(12 * 24 * 60 * 60);
  for (const uint32_t id : devices) owner->add_devices(id);
  return *owner;
}

// The values of the finding about it.
std::string Owned() {
  return "owner=container 5b0c7e21d9f4, who=pid 731804 bash, 12 days, find=" +
         Say("find-cgroup", 731804);
}

TEST(CheckDeviceNamespaceTest, NamesAnIdleContainerThatOwnsDevices) {
  TestCluster cluster;
  AddOwner({0, 1, 2, 3, 4, 5, 6, 7}, &cluster.facts[1]);
  EXPECT_EQ(Lines(cluster.Check("device-namespace")),
            "WARN server1:0-7 owned " + Owned() + "\n");
  cluster.StartJob();
  EXPECT_EQ(Lines(cluster.Check("device-namespace")),
            "FAIL server1:0-7 in-the-way " + Owned() + "\n");
}

// The driver refuses no process of the host's own mount namespace.
TEST(CheckDeviceNamespaceTest, WarnsForJobsThatMayRunOnTheHostItself) {
  TestCluster cluster;
  AddOwner({3}, &cluster.facts[0]);
  JobSpec& job = cluster.StartJob();
  for (const char* id : {"slurm:1234.0", "pbs:7[3].head", "lsf:8[2]"}) {
    job.set_id(id);
    EXPECT_EQ(Lines(cluster.Check("device-namespace")),
              "WARN server0:3 owned " + Owned() + "\n")
        << id;
  }
  for (const char* id : {"", "mine:1", "myslurm:1"}) {
    job.set_id(id);
    EXPECT_EQ(cluster.Check("device-namespace").state(), FAIL) << id;
  }
  // Its containers will start later.
  job.set_id("slurm:1234.0");
  job.mutable_ssh()->set_container_port(12345);
  job.mutable_ssh()->set_before(true);
  EXPECT_EQ(cluster.Check("device-namespace").state(), FAIL);
}

TEST(CheckDeviceNamespaceTest, AJobTakesDevicesInShareMode) {
  TestCluster cluster;
  AddOwner({0, 3}, &cluster.facts[0]);
  AddOwner({3}, &cluster.facts[0]).set_pid(731805);
  EXPECT_EQ(cluster.Check("device-namespace").findings_size(), 2);
  cluster.StartJob();
  EXPECT_EQ(Lines(cluster.Check("device-namespace")),
            "FAIL server0:0 in-the-way " + Owned() + "\n");
  // One with every capability lists the others' devices, too.
  AddOwner({0}, &cluster.facts[0]).set_privileged(true);
  EXPECT_THAT(cluster.Check("device-namespace"),
              Finds("FAIL server0:0 in-the-way " + Owned()));
}

TEST(CheckDeviceNamespaceTest, FindsTheContainerOfAProcessThatHasEnded) {
  TestCluster cluster;
  DeviceOwner& owner = AddOwner({3}, &cluster.facts[0]);
  const auto lines = [&] { return Lines(cluster.Check("device-namespace")); };
  EXPECT_THAT(lines(), HasSubstr("owned " + Owned()));
  owner.clear_command();
  EXPECT_THAT(lines(), HasSubstr("owned owner=container 5b0c7e21d9f4, who=" +
                                 Say("owner-ended", 731804) + ", find=" +
                                 Say("find-container", "'5b0c7e21d9f4'")));
  owner.clear_identity();
  EXPECT_THAT(lines(),
              HasSubstr("owned owner=a mount namespace of the host, who=" +
                        Say("owner-ended", 731804) +
                        ", find=find the container with docker ps"));
  // The driver gives its devices to the next container.
  cluster.StartJob();
  EXPECT_THAT(lines(), HasSubstr("WARN server0:3 owned owner="));
}

TEST(CheckDeviceNamespaceTest, FailsOnlyForWhatIsSurelyInTheWay) {
  for (const bool privileged : {true, false}) {
    TestCluster cluster;
    JobSpec& job = cluster.StartJob();
    AddOwner({3}, &cluster.facts[0]).set_privileged(privileged);
    if (!privileged) job.mutable_ssh()->set_container_port(12345);
    EXPECT_EQ(cluster.Check("device-namespace").state(), WARN);
  }
}

// The owner may be the process that computes: not a failure.
TEST(CheckDeviceNamespaceTest, IsUnknownWhereNoProcessIsVisible) {
  TestCluster cluster;
  cluster.StartJob();
  for (const auto why : {Missing::TIMED_OUT, Missing::NOT_SUPPORTED}) {
    SetMissing(why, "10s", cluster.facts[0].mutable_npu_processes());
    EXPECT_EQ(cluster.Check("device-namespace").state(), PASS);
  }
  AddOwner({3}, &cluster.facts[0]);
  EXPECT_EQ(cluster.Check("device-namespace").state(), UNKNOWN);
}

TEST(CheckDeviceNamespaceTest, LeavesContainersThatComputeToDeviceIdle) {
  TestCluster cluster;
  cluster.StartJob();
  AddOwner({3}, &cluster.facts[0]).set_uses_device(true);
  AddOwner({40}, &cluster.facts[0]);  // Not planned.
  EXPECT_EQ(cluster.Check("device-namespace").state(), PASS);
  // An older driver does not report it.
  cluster.SetHosts("device_owners {missing {reason: NOT_SUPPORTED}}");
  EXPECT_EQ(cluster.Check("device-namespace").state(), SKIPPED);
  cluster.Set(0, "device_owners {missing {reason: UNREADABLE detail: 'cut'}}");
  EXPECT_EQ(cluster.Check("device-namespace").state(), UNKNOWN);
}

TEST(CheckPortsFreeTest, LeavesWhatARunningJobHoldsToDeviceIdle) {
  TestCluster cluster;
  cluster.spec.set_rendezvous_port(29500);
  for (HostFacts& host : cluster.facts) RunJob(&host);
  const Report report = cluster.MakeReport();
  std::set<std::string> warned;
  for (const RuleResult& result : report.rules()) {
    EXPECT_TRUE(result.state() <= WARN || result.state() == SKIPPED)
        << result.rule() << "\n"
        << Lines(result);
    if (result.state() == WARN) warned.insert(result.rule());
    for (const Finding& finding : result.findings()) {
      EXPECT_THAT(finding.fix(), Not(HasSubstr("kill")));
    }
  }
  EXPECT_EQ(warned, std::set<std::string>{"device-idle"});
  EXPECT_THAT(cluster.Check("ports-free"),
              Finds("SKIPPED server0 [device-idle] in-use sockets=" +
                    Say("held-by", "tcp 0.0.0.0 port 29500 LISTEN",
                        "pid 4700 (torchrun)")));
}

// Rule device-idle has no finding about a device that is not planned.
TEST(CheckPortsFreeTest, NamesNoCauseForAJobOnOtherDevices) {
  TestCluster cluster;
  cluster.spec.set_rendezvous_port(8118);
  cluster.spec.mutable_servers(0)->mutable_devices()->RemoveLast();
  HostFacts* const host = &cluster.facts[0];
  AddNpuProcess(4711, 4700, {7}, host);
  AddSocket(8118, 4711, "python3", "LISTEN", host);
  EXPECT_EQ(cluster.Check("device-idle").state(), PASS);
  EXPECT_THAT(cluster.Check("ports-free"), Finds("SKIPPED server0 in-use "));
}

// MindSpore's scheduler listens on the master port, opens no NPU, and msrun
// started it as it did the workers.
TEST(CheckPortsFreeTest, CountsTheSchedulerOfARunningJobToIt) {
  TestCluster cluster;
  cluster.spec.set_rendezvous_port(8118);
  HostFacts* const host = &cluster.facts[0];
  for (uint32_t id = 0; id < 8; ++id)
    AddNpuProcess(4711 + id, 4700, {id}, host);
  AddSocket(8118, 4710, "python3", "LISTEN", host);
  LastSocket(host)->set_parent(4700);
  EXPECT_THAT(cluster.Check("ports-free"),
              Finds("SKIPPED server0 [device-idle] in-use sockets=tcp 0.0.0.0 "
                    "port 8118 LISTEN, held by pid 4710 (python3)"));
  LastSocket(host)->set_parent(4699);
  EXPECT_EQ(cluster.Check("ports-free").state(), FAIL);
  // Process 1 adopts all orphans.
  TestCluster orphans;
  AddNpuProcess(4711, 1, {0}, &orphans.facts[0]);
  AddSocket(60003, 4710, "python3", "LISTEN", &orphans.facts[0]);
  LastSocket(&orphans.facts[0])->set_parent(1);
  EXPECT_EQ(orphans.Check("ports-free").state(), FAIL);
}

// However many ranks the job has.
TEST(CheckPortsFreeTest, FailsOverAnotherHolderBesideARunningJob) {
  TestCluster cluster;
  HostFacts* host = &cluster.facts[0];
  for (uint32_t i = 0; i < 20; ++i) {
    AddNpuProcess(100 + i, 1, {i % 8}, host);
    AddSocket(60000 + i, 100 + i, "python3", "LISTEN", host);
  }
  AddSocket(60031, 4711, "other", "LISTEN", host);
  EXPECT_THAT(
      cluster.Check("ports-free"),
      Finds("FAIL server0 held " + Socket("60031 LISTEN", "60000-60031") +
            ", who=pid 4711 (other), pid=4711"));
}

TEST(CheckPortsFreeTest, TellsAHolderFromAJobOnlyByItsNpus) {
  TestCluster cluster;
  AddSocket(60003, 4711, "python3", "LISTEN", &cluster.facts[0]);
  SetMissing(Missing::NOT_SUPPORTED, "only this container's",
             cluster.facts[0].mutable_npu_processes());
  EXPECT_THAT(cluster.Check("ports-free"),
              Finds("UNKNOWN server0 held-perhaps-by-job " +
                    Socket("60003 LISTEN", "60000-60031") +
                    ", who=pid 4711 (python3), pid=4711, port=60003, why=not "
                    "supported: only this container's"));
}

TEST(CheckPortsFreeTest, OnlyWarnsOfWhatAnEndedProcessLeft) {
  TestCluster cluster;
  // No job needs these.
  AddSocket(22, 1, "sshd", "LISTEN", &cluster.facts[0]);
  AddSocket(59999, 1, "other", "LISTEN", &cluster.facts[0]);
  EXPECT_EQ(cluster.Check("ports-free").state(), PASS);
  AddSocket(60003, 0, "", "TIME_WAIT", &cluster.facts[0]);
  EXPECT_THAT(cluster.Check("ports-free"),
              Finds("closing " + Socket("60003 TIME_WAIT", "60000-60031")));
  for (const char* state : {"FIN_WAIT1", "FIN_WAIT2", "LAST_ACK", "CLOSING"}) {
    AddSocket(60003, 0, "", state, &cluster.facts[0]);
  }
  EXPECT_EQ(cluster.Check("ports-free").state(), WARN);
}

TEST(CheckPortsFreeTest, SaysHowToFindAnOwnerThatIsNotVisible) {
  TestCluster cluster;
  AddSocket(60003, 0, "", "LISTEN", &cluster.facts[0]);
  EXPECT_THAT(
      cluster.Check("ports-free"),
      Finds("owner-not-visible " + Socket("60003 LISTEN", "60000-60031") +
            ", who=" + Say("process-not-visible") + ", pid=0, port=60003"));
  AddSocket(60004, 7, "x\x1b]0;owned\x07", "LISTEN", &cluster.facts[0]);
  EXPECT_THAT(cluster.Check("ports-free"), Finds(Not(HasSubstr("\x1b"))));
}

TEST(CheckPortsFreeTest, CutsLongListsOfSocketsAndOwners) {
  TestCluster cluster;
  for (int i = 0; i < 32; ++i) {
    AddSocket(60000 + i, 7, "python3", "LISTEN", &cluster.facts[0]);
  }
  EXPECT_THAT(cluster.Check("ports-free"), Finds("and 24 more"));
  TestCluster owners;
  for (int i = 1; i <= 1000; ++i) {
    AddSocket(60000, i, "python3", "LISTEN", &owners.facts[0]);
  }
  const RuleResult result = owners.Check("ports-free");
  ASSERT_EQ(result.findings_size(), 17);
  EXPECT_EQ(result.findings(16).state(), FAIL);
  EXPECT_THAT(Brief(result.findings(16)),
              HasSubstr("more-owners owners=984, ports=60000-60031"));
}

TEST(CheckPortsFreeTest, IsUnknownWithoutTheSockets) {
  TestCluster cluster;
  SetMissing(Missing::UNREADABLE, "/proc/net/tcp: line 3",
             cluster.facts[0].mutable_sockets());
  EXPECT_THAT(cluster.Check("ports-free"), IsUnknown("/proc/net/tcp: line 3"));
}

TEST(CheckDeviceIdleTest, NamesTheProcessesOnceForTheirHost) {
  TestCluster cluster;
  RunJob(&cluster.facts[0]);
  EXPECT_EQ(Lines(cluster.Check("device-idle")),
            "WARN server0:0-7 in-use processes=4711 (python3), 4712 (python3), "
            "4713 (python3), 4714 (python3) and 4 more\n");
}

TEST(CheckDeviceIdleTest, ChecksOnlyPlannedDevices) {
  TestCluster cluster;
  ServerSpec* server = cluster.spec.mutable_servers(0);
  server->mutable_devices()->DeleteSubrange(4, 4);
  AddNpuProcess(4711, 1, {5}, &cluster.facts[0]);
  EXPECT_EQ(cluster.Check("device-idle").state(), PASS);
  AddNpuProcess(4712, 1, {3, 5}, &cluster.facts[0]);
  EXPECT_THAT(cluster.Check("device-idle"),
              Finds("WARN server0:3 in-use processes=4712 (python3)"));
}

TEST(CheckDeviceIdleTest, IsSkippedWhereOtherProcessesCannotBeSeen) {
  TestCluster cluster;
  for (HostFacts& host : cluster.facts) {
    SetMissing(Missing::NOT_SUPPORTED, "only this container",
               host.mutable_npu_processes());
  }
  for (const char* rule : {"device-idle", "device-process-limit"}) {
    EXPECT_THAT(cluster.Check(rule), GivesSkip("only this container"));
  }
  SetMissing(Missing::NOT_PERMITTED, "/proc/1/fd",
             cluster.facts[0].mutable_npu_processes());
  EXPECT_EQ(cluster.Check("device-idle").state(), UNKNOWN);
}

TestCluster Shared(const char* product, const char* driver) {
  TestCluster cluster(product);
  AddNpuProcess(4711, 4700, {3}, &cluster.facts[0]);
  AddNpuProcess(4712, 4700, {3}, &cluster.facts[0]);
  for (HostFacts& host : cluster.facts) {
    host.mutable_versions()->mutable_driver()->set_value(driver);
  }
  return cluster;
}

State LimitOf(const char* product, const char* driver) {
  return Shared(product, driver).Check("device-process-limit").state();
}

TEST(CheckDeviceProcessLimitTest, TakesOneProcessForEachDeviceOfAtlasTraining) {
  EXPECT_EQ(LimitOf("atlas-training", "25.0.rc1"), WARN);
  EXPECT_EQ(LimitOf("atlas-300t", "25.0.rc1"), PASS);  // It lacks device 3.
  EXPECT_THAT(
      Shared("atlas-training", "24.1.rc1").Check("device-process-limit"),
      Finds("WARN server0:3 several processes=4711 (python3), 4712 (python3), "
            "product=Atlas training series (SMP)"));
}

TEST(CheckDeviceProcessLimitTest, TakesSeveralOfA2AndA3FromDriver25On) {
  for (const char* product : {"atlas-a2", "atlas-a2-box16", "atlas-a3"}) {
    EXPECT_EQ(LimitOf(product, "24.1.rc3"), WARN) << product;
    EXPECT_EQ(LimitOf(product, "25.0.rc1.1"), PASS) << product;
    EXPECT_EQ(LimitOf(product, "26.0.0"), PASS) << product;
    EXPECT_EQ(LimitOf(product, "newest"), UNKNOWN) << product;
  }
}

TEST(CheckDeviceProcessLimitTest, CountsNoWorkersOfATrainingProcess) {
  TestCluster cluster;
  AddNpuProcess(4711, 4700, {3}, &cluster.facts[0]);
  AddNpuProcess(4801, 4711, {3}, &cluster.facts[0]);
  AddNpuProcess(4802, 4801, {3}, &cluster.facts[0]);
  EXPECT_EQ(cluster.Check("device-process-limit").state(), PASS);
  // Nothing is shared, so the driver does not matter.
  TestCluster a2("atlas-a2");
  RunJob(&a2.facts[0]);
  SetMissing(Missing::ABSENT, "no version.info",
             a2.facts[0].mutable_versions()->mutable_driver());
  EXPECT_EQ(a2.Check("device-process-limit").state(), PASS);
}

TEST(CheckDeviceProcessLimitTest, IsSkippedWhereTheNumberIsNotPublished) {
  const RuleResult result =
      Shared("ascend-950", "25.0.rc1").Check("device-process-limit");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_words().words(), "process-limit-unpublished");
}

}  // namespace
}  // namespace clusterd
