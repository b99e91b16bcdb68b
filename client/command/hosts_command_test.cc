#include "absl/strings/match.h"
#include "config/words/words.h"
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

TEST(HostsCommandTest, TellsWhyAHostLeftInTheUsersLanguageAndJsonInEnglish) {
  ProgramWorld world = WorldOfHosts();
  HostEntry& down = *world.script.hosts.mutable_hosts(1);
  down.set_last_seen_ms(1735689600000 - 300'000);
  *down.mutable_detached_reason_words() = Worded("msg-hub-connection-broke");
  EXPECT_TRUE(absl::StrContains(RunProgram({"hosts"}, world).out,
                                "the connection broke"));
  const std::string english = RunProgram({"hosts", "-o", "json"}, world).out;
  EXPECT_TRUE(absl::StrContains(
      english, "\"detached_reason\": \"the connection broke\""));
  EXPECT_FALSE(absl::StrContains(english, "_words"));
  world.environment["CLUSTERD_LANG"] = "zh";
  EXPECT_TRUE(absl::StrContains(RunProgram({"hosts"}, world).out, "连接中断"));
  EXPECT_EQ(RunProgram({"hosts", "-o", "json"}, world).out, english);
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

// server0 attached, server1 away, server2 has left.
ProgramWorld WorldWithALeaver() {
  ProgramWorld world = WorldOfHosts();
  world.script.hosts.add_hosts()->set_host("server2");
  return world;
}

TEST(HostsStateTest, ListsTheHostsInOneStateOnly) {
  const ProgramWorld world = WorldWithALeaver();
  const ProgramOutput away = RunProgram({"hosts", "--state", "away"}, world);
  EXPECT_EQ(away.out,
            "STATE         HOSTS    SINCE  VERSION\n"
            "not attached  server1  never\n"
            "\n"
            "demo: 1 not attached\n");
  EXPECT_EQ(away.status, 2);
  for (const auto& [state, line] :
       {std::pair<const char*, const char*>{"away",
                                            "demo: 1 not attached: server1\n"},
        {"attached", "demo: 1 attached: server0\n"},
        {"left", "demo: 1 left: server2\n"},
        {"not-in-spec", "demo: 0 not in spec\n"},
        {"conflict", "demo: 0 conflict\n"}}) {
    EXPECT_EQ(RunProgram({"hosts", "-o", "short", "--state", state}, world).out,
              line);
  }
  const std::string json =
      RunProgram({"hosts", "-o", "json", "--state", "left"}, world).out;
  EXPECT_TRUE(absl::StrContains(json, "server2"));
  EXPECT_FALSE(absl::StrContains(json, "server1"));
}

TEST(HostsStateTest, NamesTheStatesThatThereAre) {
  const ProgramOutput output =
      RunProgram({"hosts", "--state", "awya"}, WorldOfHosts());
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(
      output.err,
      "--state: \"awya\" is not known, expected attached, not-in-spec, left, "
      "away, conflict, did you mean \"away\"?"))
      << output.err;
}

TEST(HostsForgetTest, AsksTheControllerAndListsWhoIsLeft) {
  ProgramWorld world = WorldOfHosts();
  world.script.forgotten.set_host("server2");
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"hosts", "--forget", "10.0.0.2"}, world);
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(controller.forgotten_host(), "10.0.0.2");
  EXPECT_EQ(output.err,
            "clusterctl hosts: server2: forgotten; it is listed again if its "
            "clusterd attaches once more\n");
  EXPECT_TRUE(absl::StrContains(output.out, "demo: 1 attached"));
}

TEST(HostsForgetTest, SaysThatAHostOfTheSpecStaysExpected) {
  ProgramWorld world = WorldOfHosts();
  world.script.forgotten.set_host("server1");
  world.script.forgotten.set_in_spec(true);
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"hosts", "--forget", "server1"}, world).err,
      "server1: forgotten; it stays expected, since cluster.yaml names it: "
      "take it out there, too"));
}

TEST(HostsForgetTest, PassesTheRefusalOn) {
  ProgramWorld world = WorldOfHosts();
  world.script.forget_status = grpc::Status(
      grpc::StatusCode::FAILED_PRECONDITION, "host \"server0\" is attached");
  const ProgramOutput output =
      RunProgram({"hosts", "--forget", "server0"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(output.out, "");
  EXPECT_TRUE(absl::StrContains(output.err, "host \"server0\" is attached"));
  EXPECT_EQ(RunProgram({"hosts", "--forget", "server[0-1]"}, world).status, 3);
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

TEST(HostsCommandTest, NamesHostsWhoseCertificateEndsSoon) {
  ProgramWorld world = WorldOfHosts();
  HostEntry& host = *world.script.hosts.mutable_hosts(0);
  // The world's clock and 47 h, then 49 h.
  host.set_certificate_ends_ms(1735689600000 + 47 * 3600'000LL);
  const ProgramOutput soon = RunProgram({"hosts"}, world);
  EXPECT_TRUE(absl::StrContains(
      soon.out,
      "certificate expires 2025-01-02 23:00 UTC; create a new one with "
      "deploy/certificates.sh and restart clusterd, or run clusterd join\n"))
      << soon.out;
  host.set_certificate_renews(true);
  EXPECT_TRUE(absl::StrContains(RunProgram({"hosts"}, world).out,
                                "and was not renewed"));
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
