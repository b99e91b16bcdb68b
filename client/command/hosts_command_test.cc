#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::Not, ::testing::StartsWith;

// server0 attached 5 minutes ago by the world's clock.
ProgramWorld WorldOfHosts() {
  ProgramWorld world;
  MergeText(R"(
      cluster: "demo"
      hosts {host: "server0" attached: true in_spec: true
             attached_since_ms: 1735689300000 clusterd_version: "0.1.0"}
      hosts {host: "server1" in_spec: true})",
            &world.script.hosts);
  return world;
}

TEST(HostsCommandTest, PrintsWhoIsAttachedAndSinceWhen) {
  EXPECT_THAT(RunProgram({"hosts"}, WorldOfHosts()),
              Ends(2, Err(""),
                   Out(HasSubstr("\nattached      server0  5 min  0.1.0\n"
                                 "not attached  server1  never\n"))));
}

TEST(HostsCommandTest, PrintsOneLineOrJsonOnRequest) {
  ProgramWorld world = WorldOfHosts();
  const std::string attached =
      Say("hosts-short-attached", 1, Counted(2, "host"));
  EXPECT_THAT(RunProgram({"hosts", "-o", "short"}, world).out,
              AllOf(StartsWith(absl::StrCat("demo: ", attached)),
                    EndsWith(": server1\n")));
  world.script.hosts.clear_cluster();
  EXPECT_THAT(RunProgram({"hosts", "-o", "short"}, world).out,
              StartsWith(attached));
  EXPECT_THAT(RunProgram({"hosts", "-o", "json"}, WorldOfHosts()).out,
              HasSubstr("\"attached_since_ms\": \"1735689300000\""));
}

TEST(HostsCommandTest, TellsWhyAHostLeftInTheUsersLanguageAndJsonInEnglish) {
  ProgramWorld world = WorldOfHosts();
  HostEntry& down = *world.script.hosts.mutable_hosts(1);
  down.set_last_seen_ms(1735689600000 - 300'000);
  *down.mutable_detached_reason_words() = Worded("msg-hub-connection-broke");
  EXPECT_THAT(RunProgram({"hosts"}, world).out,
              HasSubstr("the connection broke"));
  const std::string english = RunProgram({"hosts", "-o", "json"}, world).out;
  EXPECT_THAT(english,
              HasSubstr("\"detached_reason\": \"the connection broke\""));
  EXPECT_THAT(english, Not(HasSubstr("_words")));
  world.environment["CLUSTERD_LANG"] = "zh";
  EXPECT_THAT(RunProgram({"hosts"}, world).out, HasSubstr("连接中断"));
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
  EXPECT_THAT(RunProgram({"hosts", "--state", "away"}, world),
              Ends(2, Out("STATE         HOSTS    SINCE  VERSION\n"
                          "not attached  server1  never\n"
                          "\n"
                          "demo: 1 not attached\n")));
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
  EXPECT_THAT(json, HasSubstr("server2"));
  EXPECT_THAT(json, Not(HasSubstr("server1")));
}

TEST(HostsStateTest, NamesTheStatesThatThereAre) {
  EXPECT_THAT(RunProgram({"hosts", "--state", "awya"}, WorldOfHosts()),
              Ends(3, Err(Tells("msg-choice-not-known", "--state", "awya",
                                "attached, not-in-spec, left, away, conflict",
                                Worded("did-you-mean", "away")))));
}

TEST(HostsForgetTest, AsksTheControllerAndListsWhoIsLeft) {
  ProgramWorld world = WorldOfHosts();
  world.script.forgotten.set_host("server2");
  WatchedController controller(world);
  EXPECT_THAT(
      RunProgram({"hosts", "--forget", "10.0.0.2"}, world),
      Ends(0, Err(Line("hosts", Worded("ctl-host-forgotten", "server2"))),
           Out(HasSubstr("demo: 1 attached"))));
  EXPECT_EQ(controller.forgotten_host(), "10.0.0.2");
}

TEST(HostsForgetTest, SaysThatAHostOfTheSpecStaysExpected) {
  ProgramWorld world = WorldOfHosts();
  world.script.forgotten.set_host("server1");
  world.script.forgotten.set_in_spec(true);
  EXPECT_THAT(RunProgram({"hosts", "--forget", "server1"}, world).err,
              Tells("ctl-host-forgotten-expected", "server1"));
}

TEST(HostsForgetTest, TakesOneHost) {
  EXPECT_EQ(
      RunProgram({"hosts", "--forget", "server[0-1]"}, WorldOfHosts()).status,
      3);
}

TEST(HostsCommandTest, SaysThatTheControllerRefusedANewerSpec) {
  ProgramWorld world = WorldOfHosts();
  world.script.hosts.set_spec_refused(
      "cluster.yaml:3:1: wrong\ncluster.yaml:4:1: too\n");
  EXPECT_EQ(RunProgram({"hosts"}, world).err,
            Line("hosts", Worded("msg-older-spec", Worded("ctl-goes"),
                                 "cluster.yaml:3:1: wrong")));
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
  EXPECT_THAT(RunProgram({"hosts"}, world).out,
              Tells("hosts-renew-by-hand", "2025-01-02 23:00 UTC"));
  host.set_certificate_renews(true);
  EXPECT_THAT(RunProgram({"hosts"}, world).out,
              Tells("hosts-not-renewed", "2025-01-02 23:00 UTC"));
  host.set_certificate_ends_ms(1735689600000 + 49 * 3600'000LL);
  EXPECT_THAT(RunProgram({"hosts"}, world).out, Not(HasSubstr("certificate")));
}

}  // namespace
}  // namespace clusterd
