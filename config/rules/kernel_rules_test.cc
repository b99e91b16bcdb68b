#include "config/rules/kernel_rules.h"

#include "config/rules/judge_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(NeededBacklogTest, IsTheSpecsValueOrAPlaceForEveryRank) {
  ClusterSpec spec = MakeSpec("atlas-a3", "", 1152);
  EXPECT_EQ(NeededBacklog(spec, 65535), 65535u);
  EXPECT_EQ(NeededBacklog(spec, 1024), 18432u);
  EXPECT_EQ(NeededBacklog(spec, 70000), 70000u);
  EXPECT_EQ(NeededBacklog(ClusterSpec(), 0), 65535u);
}

TEST(NeededBacklogTest, NeverAsksForMoreThanHcclAdvises) {
  ClusterSpec spec;
  ServerSpec* server = spec.add_servers();
  for (int i = 0; i < 70000; ++i) server->add_devices();
  EXPECT_EQ(NeededBacklog(spec, 1024), 65535u);
}

TEST(CheckListenBacklogTest, FailsBelowTheSpec) {
  TestCluster cluster;
  cluster.facts[0].mutable_kernel()->mutable_somaxconn()->set_value(4096);
  EXPECT_EQ(Lines(cluster.Check("listen-backlog")),
            "FAIL server0 net.core.somaxconn is 4096 | at least 65535 | sysctl "
            "-w net.core.somaxconn=65535; then restart what listens already\n");
}

TEST(CheckListenBacklogTest, FailsBelowTheNumberOfRanks) {
  TestCluster cluster("atlas-a2", "", 64);
  cluster.spec.mutable_kernel()->set_somaxconn(128);
  cluster.facts[3].mutable_kernel()->mutable_somaxconn()->set_value(128);
  const RuleResult result = cluster.Check("listen-backlog");
  EXPECT_EQ(result.state(), FAIL);
  EXPECT_THAT(Lines(result), HasSubstr("at least 512"));
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
  EXPECT_THAT(Lines(result), HasSubstr("net.core.somaxconn does not exist"));
  EXPECT_THAT(Lines(result), HasSubstr("set it on the host itself"));
}

TEST(CheckSynBacklogTest, FailsBelowTheSpec) {
  TestCluster cluster;
  cluster.facts[1].mutable_kernel()->mutable_tcp_max_syn_backlog()->set_value(
      2048);
  EXPECT_EQ(
      Lines(cluster.Check("syn-backlog")),
      "FAIL server1 net.ipv4.tcp_max_syn_backlog is 2048 | at least 65535 | "
      "sysctl -w net.ipv4.tcp_max_syn_backlog=65535\n");
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
            "FAIL server0 no file sets net.core.somaxconn at boot | "
            "net.core.somaxconn at least 65535 at boot | echo "
            "'net.core.somaxconn = 65535' >> "
            "/etc/sysctl.d/zzz-clusterd.conf\n");
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
  EXPECT_EQ(
      Lines(cluster.Check("sysctl-persistent")),
      "FAIL server0 net.core.somaxconn: /etc/sysctl.d/99-zz.conf:7 sets "
      "\"1024\" and wins over /etc/sysctl.d/60-hccl.conf:3 sets "
      "\"65535\" | net.core.somaxconn at least 65535 at boot | sed -i "
      "--follow-symlinks '7{/somaxconn/s/.*/net.core.somaxconn = 65535/}' "
      "'/etc/sysctl.d/99-zz.conf'\n");
}

TEST(CheckSysctlPersistentTest, LeavesFilesOfPackagesAlone) {
  TestCluster cluster;
  SetBoot({{"/usr/lib/sysctl.d/50-pkg.conf", 1, "128"}},
          cluster.facts[0].mutable_kernel()->mutable_somaxconn_at_boot());
  EXPECT_THAT(Lines(cluster.Check("sysctl-persistent")),
              HasSubstr(">> /etc/sysctl.d/zzz-clusterd.conf"));
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
  EXPECT_THAT(Lines(result),
              HasSubstr("net.ipv4.tcp_max_syn_backlog at boot not known: not "
                        "permitted: /etc/sysctl.d"));
  EXPECT_EQ(result.summary(), "1 of 2 hosts");
}

}  // namespace
}  // namespace clusterd
