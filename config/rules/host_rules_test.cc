#include "config/rules/host_rules.h"

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;

TEST(CheckNeighbourTableTest, WarnsWhereThePeersDoNotFit) {
  TestCluster cluster("atlas-a2", "", 1152);
  KernelFacts& kernel = *cluster.facts[7].mutable_kernel();
  kernel.mutable_neighbours_most()->set_value(1024);
  kernel.mutable_neighbours_kept()->set_value(512);
  EXPECT_THAT(cluster.Check("neighbour-table"),
              Finds("WARN server7 holds-too-few now=1024, peers=1152, "
                    "kept=4608, most=9216"));
  kernel.mutable_neighbours_most()->set_value(4096);
  EXPECT_THAT(cluster.Check("neighbour-table"),
              Finds("drops-early now=512, peers=1152, kept=4608, most=9216"));
  kernel.mutable_neighbours_kept()->set_value(2048);
  EXPECT_EQ(cluster.Check("neighbour-table").state(), PASS);
  // No kernel shows it.
  cluster.SetHosts("kernel {neighbours_most {missing {reason: ABSENT}}}");
  EXPECT_EQ(cluster.Check("neighbour-table").state(), SKIPPED);
}

// The kernel facts of server0.
KernelFacts& KernelOf(TestCluster& cluster) {
  return *cluster.facts[0].mutable_kernel();
}

MemoryLimit& AddLimit(TestCluster& cluster, const char* slice, uint64_t gib) {
  HostMemoryFact::Memory& memory =
      *cluster.facts[0].mutable_memory()->mutable_value();
  memory.set_total_bytes(512ull << 30);
  MemoryLimit& limit = *memory.add_limits();
  limit.set_slice(slice);
  limit.set_bytes(gib << 30);
  return limit;
}

TEST(CheckHostMemoryTest, WarnsOfTightSlicesAndOfKillsWithinADay) {
  TestCluster cluster;
  MemoryLimit& limit = AddLimit(cluster, "system.slice", 500);
  OutOfMemory* const kill =
      cluster.facts[0].mutable_memory()->mutable_value()->add_kills();
  MergeText("pid: 4711 command: 'python3' seconds_ago: 90000", kill);
  EXPECT_EQ(cluster.Check("host-memory").state(), PASS);
  limit.set_bytes(256ull << 30);
  kill->set_seconds_ago(2 * 3600);
  kill->set_of_cgroup(true);
  const std::string lines = Lines(cluster.Check("host-memory"));
  EXPECT_THAT(lines, HasSubstr("WARN server0 limited slice=system.slice, "
                               "limit=256 GiB, total=512 GiB"));
  EXPECT_THAT(lines, HasSubstr("killed pid=4711, command=python3, ago=2 h, "
                               "bound=a limit of its cgroup"));
}

TEST(CheckHostMemoryTest, NamesLimitsOfContainersAndOfTheJobAlone) {
  TestCluster cluster;
  AddLimit(cluster, "system.slice/docker-5b0c.scope", 256);
  AddLimit(cluster, "docker/6c1d", 1);
  AddLimit(cluster, "slurm/uid_1000/job_12", 64);
  AddLimit(cluster, "system.slice/slurmstepd.scope/job_123", 64);
  EXPECT_EQ(Lines(cluster.Check("host-memory")),
            "WARN server0 limited slice=system.slice/docker-5b0c.scope, "
            "limit=256 GiB, total=512 GiB\n");
  cluster.StartJob().set_id("slurm:123.0");
  EXPECT_EQ(cluster.Check("host-memory").findings_size(), 2);
  EXPECT_THAT(cluster.Check("host-memory"),
              Finds("limited slice=system.slice/slurmstepd.scope/job_123, "
                    "limit=64 GiB, total=512 GiB"));
}

TEST(CheckPortsReservedTest, KeepsOtherReservationsAndFoldsEqualHosts) {
  const struct {
    std::vector<int> hosts;
    const char* reserved;
    const char* lines;
  } kCases[] = {{{0}, "8080,60000-60007,60008-60040\n", ""},
                {{1},
                 "8080,60000-60015",
                 "FAIL server1 not-reserved reserved=8080,60000-60015, "
                 "missing=60016-60031, needed=60000-60031, fix=sysctl -w "
                 "net.ipv4.ip_local_reserved_ports=8080,60000-60031\n"},
                {{0, 1},
                 "\n",
                 "FAIL server0 server1 not-reserved reserved=none, "
                 "missing=60000-60031, needed=60000-60031, fix=sysctl -w "
                 "net.ipv4.ip_local_reserved_ports=60000-60031\n"}};
  for (const auto& each : kCases) {
    TestCluster cluster;
    for (const int host : each.hosts) {
      KernelFacts& kernel = *cluster.facts[host].mutable_kernel();
      kernel.mutable_reserved_ports()->set_value(each.reserved);
    }
    const RuleResult result = cluster.Check("ports-reserved");
    EXPECT_EQ(Lines(result), each.lines);
    if (*each.lines != '\0') continue;
    EXPECT_EQ(result.state(), PASS);
    EXPECT_EQ(result.summary(), "2 hosts");
  }
}

TEST(CheckPortsReservedTest, NamesANetworkNamespaceOfItsOwn) {
  TestCluster cluster;
  cluster.Set(0, R"(kernel {reserved_ports {value: ''}
                            initial_namespace {value: false}
                            network_namespace {value: 4026532000}})");
  EXPECT_THAT(cluster.Check("ports-reserved"),
              Finds(Say("in-numbered-namespace", 4026532000)));
}

TEST(CheckPortsReservedTest, IsUnknownForAMalformedListAndForNone) {
  TestCluster cluster;
  KernelOf(cluster).mutable_reserved_ports()->set_value("all");
  const RuleResult result = cluster.Check("ports-reserved");
  EXPECT_THAT(result, IsUnknown("\"all\""));
  EXPECT_EQ(JudgedCount(result), 1);
  SetMissing(Missing::ABSENT, "no such file",
             KernelOf(cluster).mutable_reserved_ports());
  SetMissing(Missing::NOT_PERMITTED, "open: permission denied",
             cluster.facts[1].mutable_kernel()->mutable_reserved_ports());
  EXPECT_THAT(cluster.Check("ports-reserved"),
              Finds("UNKNOWN server0 not-where-clusterd-runs "
                    "parameter=net.ipv4.ip_local_reserved_ports, since=" +
                        Say("kept-since", "3.16"),
                    Say("why-with-detail", Say("why-not-permitted"),
                        "open: permission denied")));
}

// cluster.yaml names no number.
TestCluster SilentCluster(int servers = 2) {
  TestCluster cluster("atlas-training", "", servers);
  cluster.SetSpec(R"(
      hccl {base_port_auto: true port_count_auto: true}
      kernel {somaxconn_auto: true tcp_max_syn_backlog_auto: true})");
  cluster.SetHosts("versions {cann {missing {reason: NOT_QUERIED}}}");
  return cluster;
}

RuleResult ReservedWith(const std::string& ports, const std::string& cann,
                        const std::string& cann_of_host = "",
                        const std::string& base_of_logins = "") {
  TestCluster cluster = SilentCluster();
  cluster.spec.mutable_hccl()->set_cann(cann);
  for (const int i : {0, 1}) {
    HostFacts& host = cluster.facts[i];
    host.mutable_kernel()->mutable_reserved_ports()->set_value(ports);
    if (!cann_of_host.empty()) {
      host.mutable_versions()->mutable_cann()->set_value(cann_of_host);
    }
    if (base_of_logins.empty()) continue;
    cluster.SetInLogins(i, "HCCL_IF_BASE_PORT", base_of_logins);
  }
  return cluster.Check("ports-reserved");
}

// Row 6. Without HCCL_IF_BASE_PORT all but the document's own 16 ports are
// spare.
TEST(CheckPortsReservedTest, SecondSixteenAreNeededByCannAndAPinnedBase) {
  EXPECT_EQ(Lines(ReservedWith("60000-60015", "")),
            "WARN server0 server1 perhaps-needed reserved=60000-60015, "
            "missing=60016-60031, needed=60000-60031, fix=sysctl -w "
            "net.ipv4.ip_local_reserved_ports=60000-60031\n");
  const struct {
    const char* ports;
    const char* cann;
    const char* of_host;
    const char* base;
    State state;
  } kCases[] = {
      {"60000-60015", "8.1.RC1", "", "", WARN},
      {"60000-60014", "", "", "", FAIL},
      {"60000-60015", "8.2.RC1", "", "", WARN},
      {"60000-60015", "", "8.3.RC1", "", WARN},
      {"60000-60014", "8.2.RC1", "", "", FAIL},
      {"60000-60031", "8.2.RC1", "", "", PASS},
      {"60000-60015", "8.2.RC1", "", "60000", FAIL},
      {"60000-60015", "8.0.0", "", "60000", PASS},
      {"60000-60015", "8.0.0", "", "", PASS},
      // A container of the host may have a newer one.
      {"60000-60015", "", "8.0.RC3", "", WARN},
      // The spec overrides the host's version.
      {"60000-60015", "8.5.0", "8.0.0", "", WARN},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(ReservedWith(c.ports, c.cann, c.of_host, c.base).state(), c.state)
        << c.ports << " " << c.cann << " " << c.of_host << " " << c.base;
  }
}

// The base port of every login counts, not the spec's.
TEST(CheckPortsReservedTest, ReservesWhatJobsWillHave) {
  EXPECT_THAT(
      ReservedWith("60000-60031", "8.2.RC1", "", "53000"),
      Fails("not-reserved reserved=60000-60031, missing=53000-53031, "
            "needed=53000-53031, source= (HCCL_IF_BASE_PORT is 53000 in "
            "/etc/environment:1), fix=sysctl -w "
            "net.ipv4.ip_local_reserved_ports=53000-53031,60000-60031"));
  EXPECT_EQ(ReservedWith("53000-53031", "8.2.RC1", "", "53000").state(), PASS);
}

TEST(CheckPortsReservedTest, PortsThatTheKernelNeverHandsOutNeedNone) {
  for (const char* base : {"27544", "64021", "29635"}) {
    const RuleResult result = ReservedWith("", "8.2.RC1", "", base);
    EXPECT_EQ(result.state(), PASS) << base;
    EXPECT_THAT(
        result.summary(),
        AllOf(HasSubstr("need no reservation"), HasSubstr("32768-60999"),
              HasSubstr(absl::StrCat("HCCL_IF_BASE_PORT is ", base, " in "))));
  }
  // Ten of them are reserved.
  EXPECT_THAT(Lines(ReservedWith("", "8.2.RC1", "", "60990")),
              HasSubstr("not-reserved reserved=none, missing=60990-60999, "
                        "needed=60990-60999, source= (HCCL_IF_BASE_PORT is "
                        "60990 in /etc/environment:1), fix=sysctl -w "
                        "net.ipv4.ip_local_reserved_ports=60990-60999"));
}

TEST(CheckPortsReservedTest, DoesNotGuessWhatIsHandedOutOrSet) {
  TestCluster cluster;
  KernelFacts& kernel = KernelOf(cluster);
  SetMissing(Missing::NOT_PERMITTED, "", kernel.mutable_local_port_range());
  EXPECT_EQ(cluster.Check("ports-reserved").state(), PASS);
  kernel.mutable_reserved_ports()->set_value("");
  EXPECT_EQ(cluster.Check("ports-reserved").state(), UNKNOWN);
  cluster.SetInLogins(1, "HCCL_IF_BASE_PORT", "", "/etc/profile.d/a.sh", 2)
      .set_computed(true);
  EXPECT_THAT(cluster.Check("ports-reserved"),
              Finds("UNKNOWN server1 unclear variable=HCCL_IF_BASE_PORT, "
                    "where=/etc/profile.d/a.sh:2"));
}

std::string Text(const BacklogNeed& need) {
  return absl::StrCat(need.least, " ", need.enough, " ", need.advised);
}

// Row 2.
TEST(BacklogNeedTest, CountsARankForEachDeviceAndAnAgentForEachServer) {
  ClusterSpec spec = MakeSpec("atlas-a3", "", 1152);
  spec.mutable_kernel()->set_somaxconn_auto(true);
  EXPECT_EQ(Text(SomaxconnNeed(spec)), "19584 39168 65535");
  // A spec without the message means none, too.
  spec.clear_kernel();
  EXPECT_EQ(Text(SynBacklogNeed(spec)), "19584 39168 65535");
}

TEST(BacklogNeedTest, IsTheSpecsOwnNumberUnlessMoreDialTheRoot) {
  ClusterSpec spec = MakeSpec("atlas-a3", "", 1152);
  EXPECT_EQ(Text(SomaxconnNeed(spec)), "65535 65535 65535");
  spec.mutable_kernel()->set_somaxconn(1024);
  EXPECT_EQ(Text(SomaxconnNeed(spec)), "19584 19584 19584");
  spec.mutable_kernel()->set_somaxconn(70000);
  EXPECT_EQ(Text(SomaxconnNeed(spec)), "70000 70000 70000");
  // If the number of connecting hosts is unknown, HCCL's own advice is enough.
  ClusterSpec none;
  EXPECT_EQ(Text(SomaxconnNeed(none)), "0 65535 65535");
  ServerSpec* server = none.add_servers();
  for (int i = 0; i < 70000; ++i) server->add_devices();
  EXPECT_EQ(Text(SomaxconnNeed(none)), "65535 65535 65535");
}

// Row 2: two servers at the kernel's own 4096 are healthy.
TEST(CheckListenBacklogTest, PassesTwoServersOnTheKernelsDefaults) {
  TestCluster cluster = SilentCluster();
  for (HostFacts& host : cluster.facts) {
    KernelFacts* kernel = host.mutable_kernel();
    kernel->mutable_somaxconn()->set_value(4096);
    kernel->mutable_tcp_max_syn_backlog()->set_value(4096);
    kernel->mutable_somaxconn_at_boot()->mutable_value()->Clear();
    kernel->mutable_tcp_max_syn_backlog_at_boot()->mutable_value()->Clear();
  }
  for (const char* rule : {"listen-backlog", "syn-backlog", "backlog-uniform",
                           "sysctl-persistent"}) {
    EXPECT_EQ(cluster.Check(rule).state(), PASS) << rule;
  }
}

std::string SomaxconnIs(uint64_t value, TestCluster& cluster, int host = 0) {
  cluster.facts[host].mutable_kernel()->mutable_somaxconn()->set_value(value);
  return Lines(cluster.Check("listen-backlog"));
}

// The values of that finding.
std::string TooSmall(int number, int needed, int advised) {
  return absl::StrCat("parameter=net.core.somaxconn, number=", number,
                      ", needed=", needed,
                      ", fix=sysctl -w net.core.somaxconn=", advised,
                      ", then=", Say("then-restart-listeners"), "\n");
}

TEST(CheckListenBacklogTest, FailsUnderWhatDialsTheRootAndWarnsUnderTwiceThat) {
  // 64 servers of 8 devices: 512 ranks and 64 agents.
  TestCluster cluster = SilentCluster(64);
  EXPECT_EQ(SomaxconnIs(575, cluster, 3),
            "FAIL server3 too-small " + TooSmall(575, 576, 65535));
  EXPECT_EQ(SomaxconnIs(576, cluster, 3),
            "WARN server3 tight " + TooSmall(576, 1152, 65535));
  EXPECT_THAT(SomaxconnIs(1151, cluster, 3), HasSubstr("WARN server3"));
  EXPECT_EQ(SomaxconnIs(1152, cluster, 3), "");
}

TEST(CheckListenBacklogTest, FailsBelowTheSpecAndBelowTheNumberOfRanks) {
  TestCluster cluster;
  EXPECT_EQ(SomaxconnIs(4096, cluster),
            "FAIL server0 too-small " + TooSmall(4096, 65535, 65535));
  EXPECT_EQ(SomaxconnIs(100000, cluster), "");
  SetMissing(Missing::ABSENT, "", KernelOf(cluster).mutable_somaxconn());
  EXPECT_THAT(cluster.Check("listen-backlog"),
              Finds("UNKNOWN server0 not-where-clusterd-runs "
                    "parameter=net.core.somaxconn"));
  TestCluster large("atlas-a2", "", 64);
  large.spec.mutable_kernel()->set_somaxconn(128);
  EXPECT_EQ(SomaxconnIs(128, large, 3),
            "FAIL server3 too-small " + TooSmall(128, 576, 576));
}

TEST(CheckSynBacklogTest, FailsBelowTheSpecAndIsUnknownWithoutTheValue) {
  TestCluster cluster;
  KernelOf(cluster).mutable_tcp_max_syn_backlog()->set_value(2048);
  EXPECT_EQ(Lines(cluster.Check("syn-backlog")),
            "FAIL server0 too-small parameter=net.ipv4.tcp_max_syn_backlog, "
            "number=2048, needed=65535, fix=sysctl -w "
            "net.ipv4.tcp_max_syn_backlog=65535\n");
  KernelOf(cluster).clear_tcp_max_syn_backlog();
  EXPECT_THAT(cluster.Check("syn-backlog"), IsUnknown("not asked for"));
}

// Assignments "file:line value" in the order in which they are applied.
void SetBoot(const std::vector<std::tuple<std::string, int, std::string>>& all,
             PersistentValueFact* fact) {
  PersistentValue* value = fact->mutable_value();
  value->clear_assignments();
  for (const auto& [file, line, text] : all) {
    PersistentValue::Assignment* assignment = value->add_assignments();
    assignment->set_file(file);
    assignment->set_line(line);
    assignment->set_value(text);
  }
}

// Sets those of server0's somaxconn.
void SetBoot(const std::vector<std::tuple<std::string, int, std::string>>& all,
             TestCluster& cluster) {
  SetBoot(all, KernelOf(cluster).mutable_somaxconn_at_boot());
}

// A plan knows only cluster.yaml.
TEST(NeedOfTheJobTest, IsFixedByTheLinesOfItsFindingsAndByNoPlan) {
  TestCluster cluster;
  KernelOf(cluster).mutable_reserved_ports()->set_value("60000-60031");
  const auto repairs = [&cluster](const char* rule) {
    const RuleResult result = cluster.Check(rule);
    EXPECT_GT(result.findings_size(), 0) << rule;
    for (const Finding& finding : result.findings()) {
      EXPECT_FALSE(finding.fixed_by_plan()) << rule;
    }
    return Lines(result);
  };
  cluster.SetInJob("HCCL_IF_BASE_PORT", "50000");
  for (const char* rule : {"ports-reserved", "sysctl-persistent"}) {
    EXPECT_THAT(repairs(rule), HasSubstr("50000-50031,60000-60031")) << rule;
  }
  // A plan fixes all that the spec itself needs.
  cluster.job->clear_environment();
  KernelOf(cluster).mutable_reserved_ports()->set_value("");
  const RuleResult ports = cluster.Check("ports-reserved");
  ASSERT_EQ(ports.findings_size(), 1);
  EXPECT_TRUE(ports.findings(0).fixed_by_plan());
  // A number of the spec that is too small for more processes per device.
  cluster.SetSpec("kernel {somaxconn: 100 tcp_max_syn_backlog: 100}");
  for (const int host : {0, 1}) {
    cluster.Set(host,
                "kernel {somaxconn {value: 100} "
                "tcp_max_syn_backlog {value: 100}}");
  }
  EXPECT_EQ(cluster.Check("listen-backlog").state(), PASS);
  cluster.job->set_processes_per_device(100);
  for (const char* rule : {"listen-backlog", "syn-backlog"}) {
    EXPECT_THAT(repairs(rule), HasSubstr("sysctl -w net.")) << rule;
  }
}

// The kernel's initial value: 128, or 4096 from Linux 5.4 on.
TEST(CheckSysctlPersistentTest, ComparesWithTheKernelsOwnWhereNoFileSetsIt) {
  TestCluster cluster = SilentCluster(16);  // 144 connect to the root.
  const auto on = [&cluster](const char* release) {
    HostFacts& host = cluster.facts[0];
    host.mutable_identity()->mutable_kernel_release()->set_value(release);
    SetBoot({}, host.mutable_kernel()->mutable_somaxconn_at_boot());
    return cluster.Check("sysctl-persistent").state();
  };
  EXPECT_EQ(on("5.10.0-136.12.0.86.oe2203sp1.aarch64"), PASS);
  EXPECT_EQ(on("4.19.90-2107.6.0.0100.oe1.bclinux.aarch64"), FAIL);
  EXPECT_EQ(on(""), FAIL);
  cluster.spec.mutable_kernel()->set_persistent(false);
  EXPECT_EQ(on("4.19.90"), WARN);
}

TEST(CheckSysctlPersistentTest, OnlyWarnsOfPortsThatMayNotBeNeeded) {
  TestCluster cluster = SilentCluster();
  ASSERT_TRUE(cluster.spec.kernel().persistent());
  SetBoot({{"/etc/sysctl.d/99-sysctl.conf", 1, "60000-60015"}},
          KernelOf(cluster).mutable_reserved_ports_at_boot());
  EXPECT_THAT(
      cluster.Check("sysctl-persistent"),
      Finds("WARN server0 another parameter=net.ipv4.ip_local_reserved_ports, "
            "wanted=with 60000-60031, fix=sed -i --follow-symlinks "
            "'1{/ip_local_reserved_ports/s/.*/net.ipv4.ip_local_reserved_ports "
            "= 60000-60031/}' '/etc/sysctl.d/99-sysctl.conf', "
            "in-file=/etc/sysctl.d/99-sysctl.conf:1 sets \"60000-60015\""));
  cluster.spec.mutable_hccl()->set_cann("8.2.RC1");
  EXPECT_EQ(cluster.Check("sysctl-persistent").state(), WARN);
  cluster.spec.mutable_hccl()->set_base_port_auto(false);
  EXPECT_EQ(cluster.Check("sysctl-persistent").state(), FAIL);
}

TEST(CheckSysctlPersistentTest, PortsThatTheKernelNeverHandsOutNeedNone) {
  TestCluster cluster = SilentCluster();
  for (HostFacts& host : cluster.facts) {
    SetBoot({}, host.mutable_kernel()->mutable_reserved_ports_at_boot());
  }
  const auto with = [&cluster](const char* port) {
    for (const int host : {0, 1}) {
      cluster.SetInLogins(host, "HCCL_IF_BASE_PORT", port);
    }
    return cluster.Check("sysctl-persistent").state();
  };
  EXPECT_EQ(with("53000"), FAIL);
  EXPECT_EQ(with("27544"), PASS);
  EXPECT_EQ(with("64021"), PASS);
}

TEST(CheckSysctlPersistentTest, FixesTheLineThatWins) {
  const struct {
    std::vector<std::tuple<std::string, int, std::string>> lines;
    const char* name;
    const char* fix;
  } kCases[] = {
      {{},
       "none",
       "echo 'net.core.somaxconn = 65535' >> /etc/sysctl.d/90-clusterd.conf\n"},
      {{{"/etc/sysctl.d/60-hccl.conf", 3, "65535"},
        {"/etc/sysctl.d/99-zz.conf", 7, "1024"}},
       "another",
       "sed -i --follow-symlinks '7{/somaxconn/s/.*/net.core.somaxconn = "
       "65535/}' '/etc/sysctl.d/99-zz.conf', "
       "in-file=/etc/sysctl.d/99-zz.conf:7 sets \"1024\" and overrides "},
      // Files of packages are left alone,
      {{{"/usr/lib/sysctl.d/50-pkg.conf", 1, "128"}},
       "another",
       "echo 'net.core.somaxconn = 65535' >> /etc/sysctl.d/90-clusterd.conf, "},
      // and replaced where they sort after ours.
      {{{"/usr/lib/sysctl.d/99-pkg.conf", 4, "128"}},
       "another",
       "cp '/usr/lib/sysctl.d/99-pkg.conf' /etc/sysctl.d/ && sed -i "
       "--follow-symlinks '4{/somaxconn/s/.*/net.core.somaxconn = 65535/}' "
       "'/etc/sysctl.d/99-pkg.conf', "},
      {{{"/etc/sysctl.d/x';reboot;'.conf", 1, "1"}},
       "another",
       "sed -i --follow-symlinks '1{/somaxconn/s/.*/net.core.somaxconn = "
       "65535/}' '/etc/sysctl.d/x'\\'';reboot;'\\''.conf', "},
      // The kernel refuses this value.
      {{{"/etc/sysctl.d/60-hccl.conf", 1, "lots"}}, "another", "sed -i "},
  };
  for (const auto& c : kCases) {
    TestCluster cluster;
    SetBoot(c.lines, cluster);
    EXPECT_THAT(
        cluster.Check("sysctl-persistent"),
        Finds(testing::StartsWith(absl::StrCat(
            "FAIL server0 ", c.name, " parameter=net.core.somaxconn, wanted=",
            Say("at-least", 65535), ", fix=", c.fix))));
    cluster.spec.mutable_kernel()->set_persistent(false);
    EXPECT_EQ(cluster.Check("sysctl-persistent").state(), WARN);
  }
  TestCluster cluster;
  SetBoot({{"/etc/sysctl.d/10-low.conf", 1, "128"},
           {"/etc/sysctl.d/60-hccl.conf", 1, "70000"}},
          cluster);
  EXPECT_EQ(cluster.Check("sysctl-persistent").state(), PASS);
}

TEST(CheckSysctlPersistentTest, KeepsOtherReservationsOfFileAndRunningKernel) {
  TestCluster cluster;
  KernelFacts& kernel = KernelOf(cluster);
  kernel.mutable_reserved_ports()->set_value("9090,60000-60031");
  SetBoot({{"/etc/sysctl.conf", 2, "8080,60000-60015"}},
          kernel.mutable_reserved_ports_at_boot());
  EXPECT_THAT(
      cluster.Check("sysctl-persistent"),
      Finds("net.ipv4.ip_local_reserved_ports = 8080,9090,60000-60031"));
}

TEST(CheckSysctlPersistentTest, IsUnknownWithoutTheFiles) {
  TestCluster cluster;
  SetMissing(Missing::NOT_PERMITTED, "/etc/sysctl.d",
             KernelOf(cluster).mutable_tcp_max_syn_backlog_at_boot());
  const RuleResult result = cluster.Check("sysctl-persistent");
  EXPECT_THAT(
      result,
      Finds("UNKNOWN server0 not-known what=net.ipv4.tcp_max_syn_backlog at "
            "boot, reason=not permitted: /etc/sysctl.d, how-to-learn=" +
            Say("learn-not-permitted")));
  EXPECT_EQ(JudgedCount(result), 1);
}

KernelFacts& InContainer(TestCluster& cluster) {
  cluster.Set(0, R"(network_namespace: 'container:train-1'
                    kernel {network_namespace {value: 4026532000}
                            initial_namespace {value: false}
                            proc_sys_writable {value: true}
                            somaxconn {value: 128}})");
  return KernelOf(cluster);
}

std::string ListenBacklogIn(const TestCluster& cluster) {
  JudgeOptions options;
  options.network_namespace = "container:train-1";
  const Report report = BuildReport(cluster.spec, {&cluster.facts[0]}, options);
  return Lines(ResultOf(report, "listen-backlog"));
}

TEST(CheckListenBacklogTest, SetsALowValueInsideTheContainer) {
  TestCluster cluster;
  KernelFacts& kernel = InContainer(cluster);
  EXPECT_THAT(
      ListenBacklogIn(cluster),
      AllOf(HasSubstr("FAIL server0 too-small parameter=net.core.somaxconn, "
                      "number=128, where= in container:train-1, needed=65535, "
                      "fix=clusterctl plan --netns container:train-1; "),
            HasSubstr(
                "nsenter --target $(docker inspect --format '{{.State.Pid}}' "
                "train-1) --net sysctl -w net.core.somaxconn=65535, then")));
  // On the host itself, where both are one.
  kernel.mutable_initial_namespace()->set_value(true);
  EXPECT_THAT(ListenBacklogIn(cluster),
              HasSubstr("fix=sysctl -w net.core.somaxconn=65535, then"));
  // A key that exists only on the host is set there.
  SetMissing(Missing::ABSENT, "", InContainer(cluster).mutable_somaxconn());
  EXPECT_EQ(ListenBacklogIn(cluster),
            "UNKNOWN server0 not-in-namespace parameter=net.core.somaxconn, "
            "where= in container:train-1\n");
}

TEST(CheckListenBacklogTest, MakesTheContainerAnewWhereProcSysIsReadOnly) {
  TestCluster cluster;
  InContainer(cluster).mutable_proc_sys_writable()->set_value(false);
  EXPECT_THAT(ListenBacklogIn(cluster),
              AllOf(HasSubstr("FAIL server0 too-small "),
                    HasSubstr("/proc/sys is read-only"),
                    HasSubstr("docker run --sysctl net.core.somaxconn=65535"),
                    Not(HasSubstr("nsenter"))));
}

TEST(CheckListenBacklogTest, SaysThatTheHostsOwnProcSysIsReadOnly) {
  TestCluster cluster;
  KernelOf(cluster).mutable_proc_sys_writable()->set_value(false);
  EXPECT_THAT(
      SomaxconnIs(128, cluster),
      HasSubstr(Say("set-on-host", "sysctl -w net.core.somaxconn=65535")));
}

TEST(SetParameterFixTest, EntersEveryKindOfTarget) {
  HostFacts facts;
  HostView host;
  host.facts = &facts;
  for (const auto& [target, quoted, arguments] :
       {std::tuple("pid:4711", "pid:4711", "--target 4711 --net"),
        std::tuple("path:/run/netns/a b", "'path:/run/netns/a b'",
                   "--net='/run/netns/a b'")}) {
    facts.set_network_namespace(target);
    EXPECT_EQ(ValueText(SetParameterFix(host, "k", "1")),
              Say("set-in-namespace", quoted,
                  absl::StrCat("nsenter ", arguments, " sysctl -w k=1")));
  }
}

}  // namespace
}  // namespace clusterd
