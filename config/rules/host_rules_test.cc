#include "config/rules/host_rules.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CheckNeighbourTableTest, WarnsWhereThePeersDoNotFit) {
  TestCluster cluster("atlas-a2", "", 1152);
  KernelFacts& kernel = *cluster.facts[7].mutable_kernel();
  kernel.mutable_neighbours_most()->set_value(1024);
  kernel.mutable_neighbours_kept()->set_value(512);
  EXPECT_THAT(Lines(cluster.Check("neighbour-table")),
              HasSubstr("WARN server7 holds-too-few now=1024, peers=1152, "
                        "kept=4608, most=9216"));
  kernel.mutable_neighbours_most()->set_value(4096);
  EXPECT_THAT(
      Lines(cluster.Check("neighbour-table")),
      HasSubstr("drops-early now=512, peers=1152, kept=4608, most=9216"));
  kernel.mutable_neighbours_kept()->set_value(2048);
  EXPECT_EQ(cluster.Check("neighbour-table").state(), PASS);
}

TEST(CheckNeighbourTableTest, SkipsAKernelThatDoesNotShowIt) {
  TestCluster cluster;
  for (HostFacts& host : cluster.facts) {
    SetMissing(Missing::ABSENT, "",
               host.mutable_kernel()->mutable_neighbours_most());
  }
  EXPECT_EQ(cluster.Check("neighbour-table").state(), SKIPPED);
}

TEST(CheckHostMemoryTest, WarnsOfTightSlicesAndOfKillsWithinADay) {
  TestCluster cluster;
  HostMemoryFact::Memory& memory =
      *cluster.facts[0].mutable_memory()->mutable_value();
  memory.set_total_bytes(512ull << 30);
  MemoryLimit* const limit = memory.add_limits();
  limit->set_slice("system.slice");
  limit->set_bytes(500ull << 30);
  OutOfMemory* const kill = memory.add_kills();
  kill->set_pid(4711);
  kill->set_command("python3");
  kill->set_seconds_ago(90000);
  EXPECT_EQ(cluster.Check("host-memory").state(), PASS);
  limit->set_bytes(256ull << 30);
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
  HostMemoryFact::Memory& memory =
      *cluster.facts[0].mutable_memory()->mutable_value();
  memory.set_total_bytes(512ull << 30);
  for (const auto& [slice, gib] :
       {std::pair("system.slice/docker-5b0c.scope", 256),
        std::pair("docker/6c1d", 1), std::pair("slurm/uid_1000/job_12", 64),
        std::pair("system.slice/slurmstepd.scope/job_123", 64)}) {
    MemoryLimit* const limit = memory.add_limits();
    limit->set_slice(slice);
    limit->set_bytes(static_cast<uint64_t>(gib) << 30);
  }
  EXPECT_EQ(cluster.Check("host-memory").findings_size(), 1);
  EXPECT_THAT(
      Lines(cluster.Check("host-memory")),
      HasSubstr("WARN server0 limited slice=system.slice/docker-5b0c.scope, "
                "limit=256 GiB, total=512 GiB"));
  cluster.StartJob().set_id("slurm:123.0");
  EXPECT_EQ(cluster.Check("host-memory").findings_size(), 2);
  EXPECT_THAT(Lines(cluster.Check("host-memory")),
              HasSubstr("limited slice=system.slice/slurmstepd.scope/job_123, "
                        "limit=64 GiB, total=512 GiB"));
}

TEST(CheckPortsReservedTest, PassesWithOtherReservationsAndSpellings) {
  TestCluster cluster;
  cluster.facts[0].mutable_kernel()->mutable_reserved_ports()->set_value(
      "8080,60000-60007,60008-60040\n");
  const RuleResult result = cluster.Check("ports-reserved");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_EQ(result.summary(), "2 hosts");
}

TEST(CheckPortsReservedTest, FailsWithTheListThatKeepsOtherReservations) {
  TestCluster cluster;
  cluster.facts[1].mutable_kernel()->mutable_reserved_ports()->set_value(
      "8080,60000-60015");
  EXPECT_EQ(Lines(cluster.Check("ports-reserved")),
            "FAIL server1 not-reserved reserved=8080,60000-60015, "
            "missing=60016-60031, needed=60000-60031, fix=sysctl -w "
            "net.ipv4.ip_local_reserved_ports=8080,60000-60031\n");
}

TEST(CheckPortsReservedTest, FoldsHostsThatLackTheSame) {
  TestCluster cluster;
  for (HostFacts& host : cluster.facts) {
    host.mutable_kernel()->mutable_reserved_ports()->set_value("\n");
  }
  const RuleResult result = cluster.Check("ports-reserved");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(Who(result.findings(0)), "server0 server1");
  EXPECT_THAT(Brief(result.findings(0)),
              HasSubstr("not-reserved reserved=none, missing=60000-60031, "
                        "needed=60000-60031, fix=sysctl -w "
                        "net.ipv4.ip_local_reserved_ports=60000-60031"));
}

TEST(CheckPortsReservedTest, NamesANetworkNamespaceOfItsOwn) {
  TestCluster cluster;
  KernelFacts* kernel = cluster.facts[0].mutable_kernel();
  kernel->mutable_reserved_ports()->set_value("");
  kernel->mutable_initial_namespace()->set_value(false);
  kernel->mutable_network_namespace()->set_value(4026532000);
  EXPECT_THAT(Lines(cluster.Check("ports-reserved")),
              HasSubstr("(in network namespace 4026532000, not that of "
                        "process 1)"));
}

TEST(CheckPortsReservedTest, DoesNotUnderstandAMalformedList) {
  TestCluster cluster;
  cluster.facts[0].mutable_kernel()->mutable_reserved_ports()->set_value("all");
  const RuleResult result = cluster.Check("ports-reserved");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_THAT(Lines(result), HasSubstr("\"all\""));
  EXPECT_EQ(result.summary(), "1 of 2 hosts");
}

TEST(CheckPortsReservedTest, TellsAMissingKeyFromAMissingAnswer) {
  TestCluster cluster;
  SetMissing(Missing::ABSENT, "no such file",
             cluster.facts[0].mutable_kernel()->mutable_reserved_ports());
  SetMissing(Missing::NOT_PERMITTED, "open: permission denied",
             cluster.facts[1].mutable_kernel()->mutable_reserved_ports());
  const std::string lines = Lines(cluster.Check("ports-reserved"));
  EXPECT_THAT(lines, HasSubstr("UNKNOWN server0 not-where-clusterd-runs "
                               "parameter=net.ipv4.ip_local_reserved_ports, "
                               "since= (for each namespace since Linux 3.16)"));
  EXPECT_THAT(
      lines,
      HasSubstr(
          "not-where-clusterd-runs parameter=net.ipv4.ip_local_reserved_ports, "
          "since= (for each namespace since Linux 3.16)"));
  EXPECT_THAT(lines, HasSubstr("not permitted: open: permission denied"));
}

// cluster.yaml names no number.
TestCluster SilentCluster(int servers = 2) {
  TestCluster cluster("atlas-training", "", servers);
  cluster.spec.mutable_hccl()->set_base_port_auto(true);
  cluster.spec.mutable_hccl()->set_port_count_auto(true);
  cluster.spec.mutable_kernel()->set_somaxconn_auto(true);
  cluster.spec.mutable_kernel()->set_tcp_max_syn_backlog_auto(true);
  for (HostFacts& host : cluster.facts) {
    host.mutable_versions()->mutable_cann()->mutable_missing()->set_reason(
        Missing::NOT_QUERIED);
  }
  return cluster;
}

RuleResult ReservedWith(const std::string& ports, const std::string& cann,
                        const std::string& cann_of_host = "",
                        const std::string& base_of_logins = "") {
  TestCluster cluster = SilentCluster();
  cluster.spec.mutable_hccl()->set_cann(cann);
  for (HostFacts& host : cluster.facts) {
    host.mutable_kernel()->mutable_reserved_ports()->set_value(ports);
    if (!cann_of_host.empty()) {
      host.mutable_versions()->mutable_cann()->set_value(cann_of_host);
    }
    if (base_of_logins.empty()) continue;
    EnvironmentVariable* const variable =
        host.mutable_environment()->mutable_value()->add_variables();
    variable->set_name("HCCL_IF_BASE_PORT");
    variable->set_value(base_of_logins);
    variable->set_file("/etc/environment");
    variable->set_line(1);
  }
  return cluster.Check("ports-reserved");
}

// Row 6.
TEST(CheckPortsReservedTest, OnlyWarnsOfTheSecondSixteenWhereCannIsNotKnown) {
  EXPECT_EQ(Lines(ReservedWith("60000-60015", "")),
            "WARN server0 server1 perhaps-needed reserved=60000-60015, "
            "missing=60016-60031, needed=60000-60031, fix=sysctl -w "
            "net.ipv4.ip_local_reserved_ports=60000-60031\n");
  EXPECT_EQ(ReservedWith("60000-60015", "8.1.RC1").state(), WARN);
  EXPECT_EQ(ReservedWith("60000-60014", "").state(), FAIL);
}

// The document's own 16 ports: without HCCL_IF_BASE_PORT the rest is spare.
TEST(CheckPortsReservedTest, FirstSixteenAreEnoughUnlessABaseIsPinned) {
  EXPECT_EQ(ReservedWith("60000-60015", "8.2.RC1").state(), WARN);
  EXPECT_EQ(ReservedWith("60000-60015", "", "8.3.RC1").state(), WARN);
  EXPECT_EQ(ReservedWith("60000-60014", "8.2.RC1").state(), FAIL);
  EXPECT_EQ(ReservedWith("60000-60031", "8.2.RC1").state(), PASS);
  EXPECT_EQ(ReservedWith("60000-60015", "8.2.RC1", "", "60000").state(), FAIL);
  EXPECT_EQ(ReservedWith("60000-60015", "8.0.0", "", "60000").state(), PASS);
}

// The base port of every login counts, not the spec's.
TEST(CheckPortsReservedTest, ReservesWhatJobsWillHave) {
  const RuleResult result = ReservedWith("60000-60031", "8.2.RC1", "", "53000");
  EXPECT_EQ(result.state(), FAIL);
  EXPECT_THAT(
      Lines(result),
      HasSubstr("not-reserved reserved=60000-60031, missing=53000-53031, "
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
  KernelFacts* kernel = cluster.facts[0].mutable_kernel();
  SetMissing(Missing::NOT_PERMITTED, "", kernel->mutable_local_port_range());
  EXPECT_EQ(cluster.Check("ports-reserved").state(), PASS);
  kernel->mutable_reserved_ports()->set_value("");
  EXPECT_EQ(cluster.Check("ports-reserved").state(), UNKNOWN);
  EnvironmentVariable* const variable =
      cluster.facts[1].mutable_environment()->mutable_value()->add_variables();
  variable->set_name("HCCL_IF_BASE_PORT");
  variable->set_file("/etc/profile.d/a.sh");
  variable->set_line(2);
  variable->set_computed(true);
  EXPECT_THAT(Lines(cluster.Check("ports-reserved")),
              HasSubstr("UNKNOWN server1 unclear variable=HCCL_IF_BASE_PORT, "
                        "where=/etc/profile.d/a.sh:2"));
}

TEST(CheckPortsReservedTest, NeedsOnlySixteenUpToCann80) {
  EXPECT_EQ(ReservedWith("60000-60015", "8.0.0").state(), PASS);
  // A container of the host may have a newer one.
  EXPECT_EQ(ReservedWith("60000-60015", "", "8.0.RC3").state(), WARN);
  // The spec overrides the host's version.
  EXPECT_EQ(ReservedWith("60000-60015", "8.5.0", "8.0.0").state(), WARN);
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
}

TEST(BacklogNeedTest, NeverAsksForMoreThanHcclAdvises) {
  ClusterSpec spec;
  ServerSpec* server = spec.add_servers();
  for (int i = 0; i < 70000; ++i) server->add_devices();
  EXPECT_EQ(Text(SomaxconnNeed(spec)), "65535 65535 65535");
}

TEST(BacklogNeedTest, OnlyWarnsWhereNobodySaysHowManyDialTheRoot) {
  EXPECT_EQ(Text(SomaxconnNeed(ClusterSpec())), "0 65535 65535");
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

TEST(CheckListenBacklogTest, FailsUnderWhatDialsTheRootAndWarnsUnderTwiceThat) {
  // 64 servers of 8 devices: 512 ranks and 64 agents.
  TestCluster cluster = SilentCluster(64);
  const auto with = [&cluster](uint64_t somaxconn) {
    cluster.facts[3].mutable_kernel()->mutable_somaxconn()->set_value(
        somaxconn);
    return Lines(cluster.Check("listen-backlog"));
  };
  EXPECT_EQ(with(575),
            "FAIL server3 too-small parameter=net.core.somaxconn, number=575, "
            "needed=576, fix=sysctl -w net.core.somaxconn=65535, then=; then "
            "restart the programs that already listen\n");
  EXPECT_THAT(
      with(576),
      HasSubstr("WARN server3 tight parameter=net.core.somaxconn, number=576, "
                "needed=1152, fix=sysctl -w net.core.somaxconn=65535, then=; "
                "then restart the programs that already listen"));
  EXPECT_THAT(with(1151), HasSubstr("WARN server3"));
  EXPECT_EQ(with(1152), "");
}

TEST(CheckListenBacklogTest, FailsBelowTheSpec) {
  TestCluster cluster;
  cluster.facts[0].mutable_kernel()->mutable_somaxconn()->set_value(4096);
  EXPECT_EQ(Lines(cluster.Check("listen-backlog")),
            "FAIL server0 too-small parameter=net.core.somaxconn, number=4096, "
            "needed=65535, fix=sysctl -w net.core.somaxconn=65535, then=; then "
            "restart the programs that already listen\n");
}

TEST(CheckListenBacklogTest, FailsBelowTheNumberOfRanks) {
  TestCluster cluster("atlas-a2", "", 64);
  cluster.spec.mutable_kernel()->set_somaxconn(128);
  cluster.facts[3].mutable_kernel()->mutable_somaxconn()->set_value(128);
  const RuleResult result = cluster.Check("listen-backlog");
  EXPECT_EQ(result.state(), FAIL);
  EXPECT_THAT(
      Lines(result),
      HasSubstr("too-small parameter=net.core.somaxconn, number=128, "
                "needed=576, fix=sysctl -w net.core.somaxconn=576, then=; then "
                "restart the programs that already listen"));
}

TEST(CheckListenBacklogTest, PassesAboveTheSpec) {
  TestCluster cluster;
  cluster.facts[0].mutable_kernel()->mutable_somaxconn()->set_value(100000);
  EXPECT_EQ(cluster.Check("listen-backlog").state(), PASS);
}

TEST(CheckListenBacklogTest, TellsAMissingKeyFromALowValue) {
  TestCluster cluster;
  SetMissing(Missing::ABSENT, "",
             cluster.facts[0].mutable_kernel()->mutable_somaxconn());
  const RuleResult result = cluster.Check("listen-backlog");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_THAT(
      Lines(result),
      HasSubstr("not-where-clusterd-runs parameter=net.core.somaxconn"));
  EXPECT_THAT(
      Lines(result),
      HasSubstr("not-where-clusterd-runs parameter=net.core.somaxconn"));
}

TEST(CheckSynBacklogTest, FailsBelowTheSpec) {
  TestCluster cluster;
  cluster.facts[1].mutable_kernel()->mutable_tcp_max_syn_backlog()->set_value(
      2048);
  EXPECT_EQ(Lines(cluster.Check("syn-backlog")),
            "FAIL server1 too-small parameter=net.ipv4.tcp_max_syn_backlog, "
            "number=2048, needed=65535, fix=sysctl -w "
            "net.ipv4.tcp_max_syn_backlog=65535\n");
}

TEST(CheckSynBacklogTest, IsUnknownWithoutTheValue) {
  TestCluster cluster;
  cluster.facts[0].mutable_kernel()->clear_tcp_max_syn_backlog();
  const RuleResult result = cluster.Check("syn-backlog");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_THAT(Lines(result), HasSubstr("not asked for"));
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

TEST(CheckSysctlPersistentTest, FailsWhenNoFileSetsTheValue) {
  TestCluster cluster;
  SetBoot({}, cluster.facts[0].mutable_kernel()->mutable_somaxconn_at_boot());
  EXPECT_EQ(Lines(cluster.Check("sysctl-persistent")),
            "FAIL server0 none parameter=net.core.somaxconn, wanted=at least "
            "65535, fix=echo 'net.core.somaxconn = 65535' >> "
            "/etc/sysctl.d/90-clusterd.conf\n");
}

// A plan knows cluster.yaml alone.
TEST(NeedOfTheJobTest, IsMendedByTheLinesOfItsFindingsAndByNoPlan) {
  TestCluster cluster;
  cluster.facts[0].mutable_kernel()->mutable_reserved_ports()->set_value(
      "60000-60031");
  const auto repairs = [&cluster](const char* rule) {
    const RuleResult result = cluster.Check(rule);
    EXPECT_GT(result.findings_size(), 0) << rule;
    for (const Finding& finding : result.findings()) {
      EXPECT_FALSE(finding.fixed_by_plan()) << rule;
    }
    return Lines(result);
  };
  EnvironmentVariable* const own = cluster.StartJob().add_environment();
  own->set_name("HCCL_IF_BASE_PORT");
  own->set_value("50000");
  for (const char* rule : {"ports-reserved", "sysctl-persistent"}) {
    EXPECT_THAT(repairs(rule), HasSubstr("50000-50031,60000-60031")) << rule;
  }
  // A plan fixes all that the spec itself needs.
  cluster.job->clear_environment();
  cluster.facts[0].mutable_kernel()->mutable_reserved_ports()->set_value("");
  const RuleResult ports = cluster.Check("ports-reserved");
  ASSERT_EQ(ports.findings_size(), 1);
  EXPECT_TRUE(ports.findings(0).fixed_by_plan());
  // A number of the spec that is too small for more processes per device.
  cluster.spec.mutable_kernel()->set_somaxconn(100);
  cluster.spec.mutable_kernel()->set_tcp_max_syn_backlog(100);
  for (HostFacts& host : cluster.facts) {
    host.mutable_kernel()->mutable_somaxconn()->set_value(100);
    host.mutable_kernel()->mutable_tcp_max_syn_backlog()->set_value(100);
  }
  EXPECT_EQ(cluster.Check("listen-backlog").state(), PASS);
  cluster.job->set_processes_per_device(100);
  for (const char* rule : {"listen-backlog", "syn-backlog"}) {
    EXPECT_THAT(repairs(rule), HasSubstr("sysctl -w net.")) << rule;
  }
}

// The kernel's initial value: 128, or 4096 from Linux 5.4 on.
TEST(CheckSysctlPersistentTest, ComparesWithTheKernelsOwnWhereNoFileSetsIt) {
  TestCluster cluster = SilentCluster(16);  // 144 dial the root.
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
          cluster.facts[0].mutable_kernel()->mutable_reserved_ports_at_boot());
  EXPECT_THAT(
      Lines(cluster.Check("sysctl-persistent")),
      HasSubstr(
          "WARN server0 another parameter=net.ipv4.ip_local_reserved_ports, "
          "wanted=with 60000-60031, fix=sed -i --follow-symlinks "
          "'1{/ip_local_reserved_ports/s/.*/net.ipv4.ip_local_reserved_ports = "
          "60000-60031/}' '/etc/sysctl.d/99-sysctl.conf', "
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
    EnvironmentVariable* const base =
        host.mutable_environment()->mutable_value()->add_variables();
    base->set_name("HCCL_IF_BASE_PORT");
    base->set_file("/etc/environment");
    base->set_line(1);
  }
  const auto with = [&cluster](const char* port) {
    for (HostFacts& host : cluster.facts) {
      host.mutable_environment()
          ->mutable_value()
          ->mutable_variables()
          ->rbegin()
          ->set_value(port);
    }
    return cluster.Check("sysctl-persistent").state();
  };
  EXPECT_EQ(with("53000"), FAIL);
  EXPECT_EQ(with("27544"), PASS);
  EXPECT_EQ(with("64021"), PASS);
}

TEST(CheckSysctlPersistentTest, OnlyWarnsUnlessTheSpecWantsPersistence) {
  TestCluster cluster;
  cluster.spec.mutable_kernel()->set_persistent(false);
  SetBoot({}, cluster.facts[0].mutable_kernel()->mutable_somaxconn_at_boot());
  EXPECT_EQ(cluster.Check("sysctl-persistent").state(), WARN);
}

TEST(CheckSysctlPersistentTest, NamesTheLineThatWinsAndTheOneThatLoses) {
  TestCluster cluster;
  SetBoot({{"/etc/sysctl.d/60-hccl.conf", 3, "65535"},
           {"/etc/sysctl.d/99-zz.conf", 7, "1024"}},
          cluster.facts[0].mutable_kernel()->mutable_somaxconn_at_boot());
  EXPECT_EQ(Lines(cluster.Check("sysctl-persistent")),
            "FAIL server0 another parameter=net.core.somaxconn, wanted=at "
            "least 65535, fix=sed -i --follow-symlinks "
            "'7{/somaxconn/s/.*/net.core.somaxconn = 65535/}' "
            "'/etc/sysctl.d/99-zz.conf', in-file=/etc/sysctl.d/99-zz.conf:7 "
            "sets \"1024\" and overrides a correct line: "
            "/etc/sysctl.d/60-hccl.conf:3 sets \"65535\"\n");
}

TEST(CheckSysctlPersistentTest, LeavesFilesOfPackagesAlone) {
  TestCluster cluster;
  SetBoot({{"/usr/lib/sysctl.d/50-pkg.conf", 1, "128"}},
          cluster.facts[0].mutable_kernel()->mutable_somaxconn_at_boot());
  EXPECT_THAT(Lines(cluster.Check("sysctl-persistent")),
              HasSubstr(">> /etc/sysctl.d/90-clusterd.conf"));
}

TEST(CheckSysctlPersistentTest, ReplacesAPackagesFileThatSortsAfterOurs) {
  TestCluster cluster;
  SetBoot({{"/usr/lib/sysctl.d/99-pkg.conf", 4, "128"}},
          cluster.facts[0].mutable_kernel()->mutable_somaxconn_at_boot());
  EXPECT_THAT(
      Lines(cluster.Check("sysctl-persistent")),
      HasSubstr("cp '/usr/lib/sysctl.d/99-pkg.conf' /etc/sysctl.d/ && sed -i "
                "--follow-symlinks '4{/somaxconn/s/.*/net.core.somaxconn = "
                "65535/}' '/etc/sysctl.d/99-pkg.conf'"));
}

TEST(CheckSysctlPersistentTest, PassesWhenTheLastLineIsRight) {
  TestCluster cluster;
  SetBoot({{"/etc/sysctl.d/10-low.conf", 1, "128"},
           {"/etc/sysctl.d/60-hccl.conf", 1, "70000"}},
          cluster.facts[0].mutable_kernel()->mutable_somaxconn_at_boot());
  EXPECT_EQ(cluster.Check("sysctl-persistent").state(), PASS);
}

TEST(CheckSysctlPersistentTest, KeepsOtherReservationsOfFileAndRunningKernel) {
  TestCluster cluster;
  KernelFacts* kernel = cluster.facts[0].mutable_kernel();
  kernel->mutable_reserved_ports()->set_value("9090,60000-60031");
  SetBoot({{"/etc/sysctl.conf", 2, "8080,60000-60015"}},
          kernel->mutable_reserved_ports_at_boot());
  EXPECT_THAT(Lines(cluster.Check("sysctl-persistent")),
              HasSubstr("net.ipv4.ip_local_reserved_ports = "
                        "8080,9090,60000-60031"));
}

TEST(CheckSysctlPersistentTest, QuotesAHostileFileName) {
  TestCluster cluster;
  SetBoot({{"/etc/sysctl.d/x';reboot;'.conf", 1, "1"}},
          cluster.facts[0].mutable_kernel()->mutable_somaxconn_at_boot());
  EXPECT_THAT(Lines(cluster.Check("sysctl-persistent")),
              HasSubstr("'/etc/sysctl.d/x'\\'';reboot;'\\''.conf'"));
}

TEST(CheckSysctlPersistentTest, DoesNotAcceptAValueThatTheKernelRefuses) {
  TestCluster cluster;
  SetBoot({{"/etc/sysctl.d/60-hccl.conf", 1, "lots"}},
          cluster.facts[0].mutable_kernel()->mutable_somaxconn_at_boot());
  EXPECT_EQ(cluster.Check("sysctl-persistent").state(), FAIL);
}

TEST(CheckSysctlPersistentTest, IsUnknownWithoutTheFiles) {
  TestCluster cluster;
  SetMissing(
      Missing::NOT_PERMITTED, "/etc/sysctl.d",
      cluster.facts[0].mutable_kernel()->mutable_tcp_max_syn_backlog_at_boot());
  const RuleResult result = cluster.Check("sysctl-persistent");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_THAT(
      Lines(result),
      HasSubstr(
          "not-known what=net.ipv4.tcp_max_syn_backlog at boot, reason=not "
          "permitted: /etc/sysctl.d, how-to-learn=run clusterd as root on the "
          "host, and in a privileged container if it runs in one"));
  EXPECT_EQ(result.summary(), "1 of 2 hosts");
}

HostFacts& InContainer(TestCluster& cluster) {
  HostFacts& facts = cluster.facts[0];
  facts.set_network_namespace("container:train-1");
  facts.mutable_kernel()->mutable_network_namespace()->set_value(4026532000);
  facts.mutable_kernel()->mutable_initial_namespace()->set_value(false);
  facts.mutable_kernel()->mutable_proc_sys_writable()->set_value(true);
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  return facts;
}

std::string ListenBacklogIn(const TestCluster& cluster) {
  JudgeOptions options;
  options.network_namespace = "container:train-1";
  const Report report = BuildReport(cluster.spec, {&cluster.facts[0]}, options);
  for (const RuleResult& result : report.rules()) {
    if (result.rule() == "listen-backlog") return Lines(result);
  }
  return "no rule";
}

TEST(CheckListenBacklogTest, SetsALowValueInsideTheContainer) {
  TestCluster cluster;
  InContainer(cluster);
  EXPECT_THAT(
      ListenBacklogIn(cluster),
      AllOf(HasSubstr("FAIL server0 too-small parameter=net.core.somaxconn, "
                      "number=128, where= in container:train-1, needed=65535, "
                      "fix=clusterctl plan --netns container:train-1; "),
            HasSubstr("nsenter --target $(docker inspect --format "
                      "'{{.State.Pid}}' train-1) --net sysctl -w "
                      "net.core.somaxconn=65535, then")));
}

TEST(CheckListenBacklogTest, MakesTheContainerAnewWhereProcSysIsReadOnly) {
  TestCluster cluster;
  InContainer(cluster).mutable_kernel()->mutable_proc_sys_writable()->set_value(
      false);
  const std::string lines = ListenBacklogIn(cluster);
  EXPECT_THAT(lines, HasSubstr("FAIL server0 too-small "));
  EXPECT_THAT(lines, HasSubstr("/proc/sys is read-only"));
  EXPECT_THAT(lines, HasSubstr("docker run --sysctl net.core.somaxconn=65535"));
  EXPECT_THAT(lines, Not(HasSubstr("nsenter")));
}

TEST(CheckListenBacklogTest, SetsAKeyOfTheHostAloneOnTheHost) {
  TestCluster cluster;
  SetMissing(Missing::ABSENT, "",
             InContainer(cluster).mutable_kernel()->mutable_somaxconn());
  EXPECT_EQ(ListenBacklogIn(cluster),
            "UNKNOWN server0 not-in-namespace parameter=net.core.somaxconn, "
            "where= in container:train-1\n");
}

TEST(CheckListenBacklogTest, SetsTheHostsValueWhereBothAreOne) {
  TestCluster cluster;
  InContainer(cluster).mutable_kernel()->mutable_initial_namespace()->set_value(
      true);
  EXPECT_THAT(ListenBacklogIn(cluster),
              HasSubstr("fix=sysctl -w net.core.somaxconn=65535, then"));
}

TEST(CheckListenBacklogTest, SaysThatTheHostsOwnProcSysIsReadOnly) {
  TestCluster cluster;
  KernelFacts* kernel = cluster.facts[0].mutable_kernel();
  kernel->mutable_somaxconn()->set_value(128);
  kernel->mutable_proc_sys_writable()->set_value(false);
  EXPECT_THAT(Lines(cluster.Check("listen-backlog")),
              HasSubstr("on the host itself, not where clusterd runs: sysctl "
                        "-w net.core.somaxconn=65535"));
}

TEST(SetParameterFixTest, EntersEveryKindOfTarget) {
  HostFacts facts;
  HostView host;
  host.facts = &facts;
  facts.set_network_namespace("pid:4711");
  EXPECT_EQ(ValueText(SetParameterFix(host, "k", "1")),
            "clusterctl plan --netns pid:4711; or on the host: nsenter "
            "--target 4711 --net sysctl -w k=1");
  facts.set_network_namespace("path:/run/netns/a b");
  EXPECT_EQ(ValueText(SetParameterFix(host, "k", "1")),
            "clusterctl plan --netns 'path:/run/netns/a b'; or on the host: "
            "nsenter --net='/run/netns/a b' sysctl -w k=1");
}

}  // namespace
}  // namespace clusterd
