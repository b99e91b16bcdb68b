#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/firewall/firewall_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string UfwData(const std::string& name) {
  return TestData("tests/testdata/host/ufw/" + name);
}

// Returns the status of an active ufw with these rows.
std::string Active(absl::string_view rows,
                   absl::string_view policy = "deny (incoming)") {
  return absl::StrCat(
      "Status: active\nLogging: on (low)\nDefault: ", policy,
      ", allow (outgoing), disabled (routed)\nNew profiles: skip\n\n"
      "To                         Action      From\n"
      "--                         ------      ----\n",
      rows, "\n");
}

// Returns "60000-60031/tcp from 10.77.0.0/16" for each entry.
std::vector<std::string> AllowedByUfw(absl::string_view text) {
  const auto allowed = ParseUfwAllowed(text);
  if (!allowed.ok()) return {std::string(allowed.status().message())};
  std::vector<std::string> texts;
  for (const AllowedPort& port : allowed->ports()) {
    texts.push_back(absl::StrCat(port.first_port(), "-", port.last_port(), "/",
                                 port.protocol(), " from ", port.source()));
  }
  return texts;
}

void ExpectUfwRejected(absl::string_view text, const std::string& quoted) {
  const absl::Status status = ParseUfwAllowed(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(status, HasText(quoted)) << text;
}

TEST(ParseUfwActiveTest, ReadsTheFirstLineAndNothingElse) {
  EXPECT_TRUE(*ParseUfwActive(UfwData("active.txt")));
  EXPECT_FALSE(*ParseUfwActive(UfwData("inactive.txt")));
  for (const char* text :
       {"", "Status: aktiv\n", "\nStatus: active\n", "Firewall not loaded\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseUfwActive(text).status())) << text;
  }
}

TEST(ParseUfwAllowedTest, ReadsARecordedTable) {
  EXPECT_THAT(AllowedByUfw(UfwData("active.txt")),
              ElementsAre("60000-60031/tcp from ", "0-65535/ from 10.77.0.0/16",
                          "4791-4791/udp from 10.1.0.0/16", "80-80/tcp from ",
                          "443-443/tcp from ", "1000-2000/tcp from ",
                          "0-21/tcp from 10.9.0.0/16",
                          "24-65535/tcp from 10.9.0.0/16", "77-77/udp from "));
}

TEST(ParseUfwAllowedTest, TakesEarlierRulesOffALaterAllow) {
  const std::pair<std::string, std::vector<std::string>> kCases[] = {
      {"Status: active\nLogging: on (low)\nDefault: deny (incoming), allow "
       "(outgoing), disabled (routed)\nNew profiles: skip\n",
       {}},
      {Active("", "allow (incoming)"), {"0-65535/ from "}},
      {Active("80,443/tcp (Nginx Full)    ALLOW IN    Anywhere\n"),
       {"80-80/tcp from ", "443-443/tcp from "}},
      // Limited ports do not count, and comments say nothing.
      {Active("22/tcp      LIMIT IN    Anywhere\n"), {}},
      {Active("22/tcp   ALLOW IN   Anywhere    # DENY IN x\n"),
       {"22-22/tcp from "}},
      // A deny that touches no allow, or comes after it.
      {Active("23      DENY IN   Anywhere\n24/udp  REJECT IN Anywhere\n24/tcp  "
              "ALLOW IN  Anywhere\n"),
       {"24-24/tcp from "}},
      {Active("24/tcp  ALLOW IN  10.0.0.0/8\n24/tcp  DENY IN   Anywhere\n"),
       {"24-24/tcp from 10.0.0.0/8"}},
      {Active("60010/tcp        DENY IN   Anywhere\n22/tcp           LIMIT IN  "
              "Anywhere\n60000:60031/tcp  ALLOW IN  10.0.0.0/8\n22/tcp         "
              "  ALLOW IN  10.0.0.0/8\n"),
       {"60000-60009/tcp from 10.0.0.0/8", "60011-60031/tcp from 10.0.0.0/8"}},
      {Active("23  DENY IN  Anywhere\n", "allow (incoming)"),
       {"0-22/ from ", "24-65535/ from "}}};
  for (const auto& [text, allowed] : kCases)
    EXPECT_EQ(AllowedByUfw(text), allowed) << text;
}

TEST(ParseUfwAllowedTest, RejectsRulesThatItCannotSay) {
  for (const char* row : {
           "9 on eth0            ALLOW IN    Anywhere\n",
           "10.0.0.5 99          ALLOW IN    Anywhere\n",
           "10.0.0.5             ALLOW IN    Anywhere\n",
           "22/tcp               ALLOW IN    10.0.0.1 1024/tcp\n",
           "22/tcp               ALLOW IN    Anywhere on eth0\n",
           "OpenSSH              ALLOW IN    Anywhere\n",
           "22/tcp               ALLOW IN    10.0.0.0/99\n",
           "99999/tcp            ALLOW IN    Anywhere\n",
       }) {
    ExpectUfwRejected(Active(row), "cannot say");
  }
}

TEST(ParseUfwAllowedTest, RejectsWhatItDoesNotKnow) {
  ExpectUfwRejected(Active("something new\n"), "something new");
  ExpectUfwRejected(Active("22/tcp  ALLOW  Anywhere\n"), "unexpected row");
  ExpectUfwRejected(Active("", "ask (incoming)"), "ask");
  ExpectUfwRejected("Status: active\n", "Default");
  // A deny for some sources of a later allow.
  ExpectUfwRejected(Active("60010/tcp        DENY IN   10.0.0.7\n"
                           "60000:60031/tcp  ALLOW IN  10.0.0.0/8\n"),
                    "60010/tcp        DENY IN   10.0.0.7");
}

TEST(ParseUfwConfTest, ReadsTheSpellingsOfItsStartScript) {
  EXPECT_TRUE(*ParseUfwConf("# ENABLED=no\nENABLED=yes\nLOGLEVEL=low\n"));
  EXPECT_TRUE(*ParseUfwConf("ENABLED=\"YES\"\n"));
  EXPECT_FALSE(*ParseUfwConf("ENABLED=no\n"));
  // The last line counts.
  EXPECT_FALSE(*ParseUfwConf("ENABLED=yes\nENABLED=no\n"));
  for (const char* text : {"", "ENABLED=\n", "ENABLED=maybe\n",
                           "LOGLEVEL=low\n", "enabled=yes\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseUfwConf(text).status())) << text;
  }
}

std::string FirewalldData(const std::string& name) {
  return TestData("tests/testdata/host/firewalld/" + name);
}

CommandResult Result(int exit_status, const std::string& standard_output,
                     const std::string& standard_error) {
  CommandResult result;
  result.exit_status = exit_status;
  result.standard_output = standard_output;
  result.standard_error = standard_error;
  return result;
}

// Returns one zone with its lists, "  ports: 22/tcp\n".
std::string Zone(absl::string_view name, absl::string_view lists) {
  return absl::StrCat(name, "\n  target: default\n", lists, "\n");
}

const std::map<std::string, std::vector<AllowedPort>>& Services() {
  static const auto& services =
      *new std::map<std::string, std::vector<AllowedPort>>{
          {"ssh", {MakeAllowedPort(22, 22, "tcp", "")}}, {"dhcpv6-client", {}}};
  return services;
}

// Returns "22-22/tcp from " for each entry that `public` and the others allow.
std::vector<std::string> AllowedByFirewalld(absl::string_view text) {
  const auto zones = ParseFirewalldZones(text);
  if (!zones.ok()) return {std::string(zones.status().message())};
  const auto base = FindFirewalldZone(*zones, "public");
  if (!base.ok()) return {std::string(base.status().message())};
  const auto allowed = FirewalldAllowed(*zones, **base, Services());
  if (!allowed.ok()) return {std::string(allowed.status().message())};
  std::vector<std::string> texts;
  for (const AllowedPort& port : allowed->ports()) {
    texts.push_back(absl::StrCat(port.first_port(), "-", port.last_port(), "/",
                                 port.protocol(), " from ", port.source()));
  }
  return texts;
}

TEST(ParseFirewalldStateTest, BelievesNoStatusWithoutItsWord) {
  EXPECT_TRUE(*ParseFirewalldState(Result(0, "running\n", "")));
  EXPECT_FALSE(*ParseFirewalldState(Result(252, "", "not running\n")));
  EXPECT_FALSE(ParseFirewalldState(Result(0, "", "")).ok());
  EXPECT_FALSE(ParseFirewalldState(Result(0, "starting\n", "")).ok());
  EXPECT_FALSE(ParseFirewalldState(Result(1, "running\n", "")).ok());
  const CommandResult no_bus =
      Result(36, "",
             "Error: DBUS_ERROR: Failed to connect to socket "
             "/run/dbus/system_bus_socket: No such file or directory\n");
  const absl::Status status = ParseFirewalldState(no_bus).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status, HasText("DBUS_ERROR"));
}

TEST(FirewalldAllowedTest, ReadsPortsServicesRichRulesAndSourceZones) {
  EXPECT_THAT(AllowedByFirewalld(FirewalldData("zones.txt")),
              ElementsAre("60000-60031/tcp from ", "4791-4791/udp from ",
                          "22-22/tcp from ", "0-65535/ from 10.77.0.0/16",
                          "29500-29500/tcp from 10.78.0.1",
                          "0-65535/ from 192.168.7.0/24"));
}

TEST(FirewalldAllowedTest, AllowsByTargetPortsAndRules) {
  const std::pair<std::string, std::vector<std::string>> kCases[] = {
      {"public (active)\n  target: ACCEPT\n", {"0-65535/ from "}},
      {"public\n  target: DROP\n", {}},
      {"public\n  target: %%REJECT%%\n", {}},
      {"public\n  target: default\n", {}},
      {Zone("public", "  protocols: icmp tcp\n"), {"0-65535/tcp from "}},
      // Not IPv6, nor protocols that no job uses.
      {Zone("public",
            "  ports: 9/sctp\n  rich rules: \n\trule family=\"ipv6\" "
            "reject\n\trule source address=\"2001:db8::/32\" accept\n"),
       {}},
      {Zone("public",
            "  rich rules: \n\trule priority=\"-1\" family=\"ipv4\" accept\n"),
       {"0-65535/ from "}},
      // docker0 in its own zone once made what is allowed unknown.
      {Zone("public", "  interfaces: eth0\n  ports: 7/tcp\n") +
           Zone("docker", "  interfaces: docker0\n"),
       {"7-7/tcp from "}}};
  for (const auto& [text, allowed] : kCases) {
    EXPECT_EQ(AllowedByFirewalld(text), allowed) << text;
  }
}

TEST(FirewalldAllowedTest, RejectsRichRulesThatItCannotSay) {
  for (const char* rule : {
           "rule family=\"ipv4\" source address=\"10.0.0.1\" drop",
           "rule family=\"ipv4\" source address=\"10.0.0.1\" reject",
           "rule family=\"ipv4\" source NOT address=\"10.0.0.1\" accept",
           "rule family=\"ipv4\" source ipset=\"x\" accept",
           "rule family=\"ipv4\" destination address=\"10.0.0.1\" accept",
           "rule service name=\"ssh\" accept",
           "rule family=\"ipv4\" port port=\"1-2\" protocol=\"tcp\" log accept",
           "rule family=\"ipv4\" accept limit value=\"1/m\"",
           "nonsense",
       }) {
    EXPECT_THAT(AllowedByFirewalld(Zone(
                    "public", absl::StrCat("  rich rules: \n\t", rule, "\n"))),
                ElementsAre(HasSubstr("cannot say")))
        << rule;
  }
}

TEST(FirewalldAllowedTest, RejectsWhatItCannotTell) {
  const std::pair<std::string, const char*> kCases[] = {
      {Zone("public",
            "  forward-ports: \n\tport=80:proto=tcp:toport=81:toaddr=\n"),
       "forward-ports"},
      {Zone("public", "  source-ports: 53/udp\n"), "source-ports"},
      {Zone("public", "  services: hccl\n"), "service hccl"},
      {Zone("work", ""), "public"}};
  for (const auto& [text, said] : kCases) {
    EXPECT_THAT(AllowedByFirewalld(text), ElementsAre(HasSubstr(said)));
  }
}

// Such sources once made all that the host's own zone allows unknown.
TEST(FirewalldAllowedTest, TellsOfSourcesThatDoNotGetEverything) {
  const auto zones =
      ParseFirewalldZones(
          Zone("public", "  ports: 7/tcp\n") +
          "drop (active)\n  target: DROP\n  sources: 203.0.113.0/24 fd00::/8\n"
          "trusted (active)\n  target: ACCEPT\n  sources: ipset:peers\n")
          .value();
  const auto allowed = FirewalldAllowed(zones, zones[0], Services()).value();
  EXPECT_EQ(allowed.ports_size(), 1);
  EXPECT_THAT(allowed.other_sources(),
              ElementsAre("203.0.113.0/24", "ipset:peers"));
}

TEST(ParseFirewalldZonesTest, RejectsLinesOutsideAZoneAndAZoneWithoutTarget) {
  for (const char* text :
       {"  ports: 22/tcp\n", "public\n  no colon\n", "public\n\tindented\n",
        "FirewallD is not running\n"}) {
    EXPECT_FALSE(ParseFirewalldZones(text).ok()) << text;
  }
}

TEST(ParseFirewalldServiceTest, ReadsPorts) {
  std::vector<std::string> included;
  const auto ports =
      ParseFirewalldService(FirewalldData("service.txt"), &included).value();
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].first_port(), 22u);
  EXPECT_EQ(ports[0].protocol(), "tcp");
}

TEST(ParseFirewalldServiceTest, AllowsNothingByADestinationThatIsNoHost) {
  std::vector<std::string> included;
  for (const char* destination :
       {"ipv6:fe80::/64", "ipv4:224.0.0.251 ipv6:ff02::fb",
        "ipv6:ff02::fb ipv4:239.255.255.250"}) {
    const auto ports =
        ParseFirewalldService(
            absl::StrCat(
                "mdns\n  ports: 5353/udp\n  destination: ", destination, "\n"),
            &included)
            .value();
    EXPECT_THAT(ports, IsEmpty());
  }
}

TEST(ParseFirewalldServiceTest, RejectsMoreThanPorts) {
  std::vector<std::string> included;
  for (const char* text : {"x\n  ports: 7/tcp\n  destination: ipv4:10.0.0.1\n",
                           "x\n  ports: \n  source-ports: 1/tcp\n",
                           "Error: INVALID_SERVICE: x\n"}) {
    EXPECT_FALSE(ParseFirewalldService(text, &included).ok()) << text;
  }
}

// Tests whether firewalld starts at boot, by the files of its unit.
constexpr char kFile[] = "/usr/lib/systemd/system/firewalld.service";
constexpr char kWants[] =
    "/etc/systemd/system/multi-user.target.wants/firewalld.service";

class UnitFilesTest : public ::testing::Test {
 protected:
  UnitFilesTest() {
    root_.WriteProgram("/usr/bin/firewall-cmd", "#!/bin/sh\n");
    runner_.Answers("firewall-cmd --state", "not running\n");
  }

  BoolFact Enabled() {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    return ReadFirewalld({root_.paths(), &runner_, &budget}).enabled_at_boot();
  }

  bool IsDisabled() {
    return Enabled().state_case() == BoolFact::kValue && !Enabled().value();
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
};

TEST_F(UnitFilesTest, SeesAnEnabledAndAMaskedUnit) {
  root_.Link(kWants, kFile);
  // The unit is gone.
  EXPECT_TRUE(IsDisabled());
  root_.Write(kFile, "[Unit]\n");
  EXPECT_TRUE(Enabled().value());
  root_.Link("/etc/systemd/system/firewalld.service", "/dev/null");
  EXPECT_TRUE(IsDisabled());
}

TEST_F(UnitFilesTest, SeesADisabledUnit) {
  root_.Write(kFile, "[Unit]\n");
  root_.MakeFolder("/etc/systemd/system/multi-user.target.wants");
  EXPECT_TRUE(IsDisabled());
  root_.Link(kWants, "/dev/null");
  EXPECT_TRUE(IsDisabled());
}

TEST_F(UnitFilesTest, SeesRequirementsOfAnyTarget) {
  root_.Write(kFile, "[Unit]\n");
  root_.Link(
      "/usr/lib/systemd/system/network.target.requires/firewalld.service",
      "../firewalld.service");
  EXPECT_TRUE(Enabled().value());
}

TEST_F(UnitFilesTest, CannotTellWithoutSystemd) {
  EXPECT_EQ(Enabled().missing().reason(), Missing::ABSENT);
}

}  // namespace
}  // namespace clusterd
