#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

ProgramWorld WorldOfHosts() {
  ProgramWorld world;
  world.script.hosts.set_cluster("demo");
  HostEntry& up = *world.script.hosts.add_hosts();
  up.set_host("server0");
  up.set_attached(true);
  up.set_in_spec(true);
  up.set_attached_since_ms(1735689600000 -
                           300'000);  // The world's clock less 5 min.
  up.set_clusterd_version("0.1.0");
  HostEntry& down = *world.script.hosts.add_hosts();
  down.set_host("server1");
  down.set_in_spec(true);
  return world;
}

TEST(HostsCommandTest, PrintsWhoIsAttachedAndSinceWhen) {
  const ProgramOutput output = RunProgram({"hosts"}, WorldOfHosts());
  EXPECT_EQ(output.err, "");
  EXPECT_EQ(output.out,
            "STATE         HOSTS    SINCE  VERSION\n"
            "attached      server0  5 min  0.1.0\n"
            "not attached  server1  never\n"
            "\n"
            "demo: 1 attached, 1 not attached\n");
}

TEST(HostsCommandTest, PrintsOneLineOrJsonOnRequest) {
  EXPECT_EQ(RunProgram({"hosts", "-o", "short"}, WorldOfHosts()).out,
            "demo: 1 of 2 hosts attached; not attached: server1\n");
  EXPECT_TRUE(
      absl::StrContains(RunProgram({"hosts", "-o", "json"}, WorldOfHosts()).out,
                        "\"attached_since_ms\": \"1735689300000\""));
}

TEST(HostsCommandTest, ExitsWithTwoWhenAHostOfTheSpecIsAway) {
  ProgramWorld world = WorldOfHosts();
  for (const char* format : {"table", "short", "json"}) {
    EXPECT_EQ(RunProgram({"hosts", "-o", format}, world).status, 2) << format;
  }
  HostEntry& away = *world.script.hosts.mutable_hosts(1);
  away.set_in_spec(false);
  EXPECT_EQ(RunProgram({"hosts"}, world).status, 0);
  away.set_attached(true);
  EXPECT_EQ(RunProgram({"hosts"}, world).status, 0);
  away.set_in_spec(true);
  EXPECT_EQ(RunProgram({"hosts"}, world).status, 0);
}

TEST(HostsCommandTest, SaysThatTheControllerRefusedANewerSpec) {
  ProgramWorld world = WorldOfHosts();
  world.script.hosts.set_spec_refused(
      "cluster.yaml:3:1: wrong\ncluster.yaml:4:1: too\n");
  EXPECT_EQ(RunProgram({"hosts"}, world).err,
            "clusterctl hosts: the controller refused a newer cluster.yaml and "
            "goes by the one before: cluster.yaml:3:1: wrong; clusterctl "
            "config show has every mistake\n");
}

TEST(HostsCommandTest, ExitsWithTwoWhenTheControllerIsAway) {
  ProgramWorld world;
  world.script.hosts_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  const ProgramOutput output = RunProgram({"hosts"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(output.err, "clusterctl hosts: controller head:7443: away\n");
}

TEST(HostsCommandTest, ExitsWithThreeForWrongUsage) {
  EXPECT_EQ(RunProgram({"hosts", "-o", "xml"}, WorldOfHosts()).status, 3);
  ProgramWorld world = WorldOfHosts();
  world.environment.clear();
  EXPECT_EQ(RunProgram({"hosts"}, world).status, 3);
}

TEST(HostsCommandTest, NamesHostsWhoseCertificateEndsWithinTwoDays) {
  ProgramWorld world = WorldOfHosts();
  HostEntry& host = *world.script.hosts.mutable_hosts(0);
  // The world's clock and 47 h, then 49 h.
  host.set_certificate_ends_ms(1735689600000 + 47 * 3600'000LL);
  const ProgramOutput soon = RunProgram({"hosts"}, world);
  EXPECT_TRUE(absl::StrContains(
      soon.out,
      "certificate ends 2025-01-02 23:00 UTC, make a new one with "
      "deploy/certificates.sh and restart clusterd\n"))
      << soon.out;
  host.set_certificate_ends_ms(1735689600000 + 49 * 3600'000LL);
  EXPECT_FALSE(
      absl::StrContains(RunProgram({"hosts"}, world).out, "certificate"));
}

TEST(HostsCommandTest, NamesNoClusterWhereNoneIsSet) {
  ProgramWorld world = WorldOfHosts();
  world.script.hosts.clear_cluster();
  EXPECT_EQ(RunProgram({"hosts", "-o", "short"}, world).out,
            "1 of 2 hosts attached; not attached: server1\n");
}

}  // namespace
}  // namespace clusterd
