#include "daemon/host/change/hccn_setter.h"

#include <gtest/gtest.h>

#include <functional>

#include "absl/strings/str_join.h"
#include "config/words/words.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

class ScriptedRunner final : public CommandRunner {
 public:
  absl::StatusOr<CommandResult> Run(const Command& command) override {
    commands.push_back(absl::StrJoin(command.argv, " "));
    deadline = command.deadline;
    return answer(commands.size());
  }

  std::function<CommandResult(size_t)> answer = [](size_t) {
    return CommandResult();
  };
  std::vector<std::string> commands;
  absl::Duration deadline;
};

struct Setter {
  ScriptedRunner runner;
  FakeClock clock;
  DeviceLocks locks;
  MutationTokenIssuer issuer;
  HccnSetter tool{&runner, &clock, &locks, "/opt/hccn_tool", absl::Seconds(7)};

  std::string SetTls(bool on) {
    return ValueText(
        tool.Set(issuer.token(), 3, {"-tls", "-s", "enable", on ? "1" : "0"}));
  }
};

CommandResult Prints(const std::string& text) {
  CommandResult run;
  run.standard_output = text;
  return run;
}

CommandResult Fails(int status, const std::string& output,
                    const std::string& error) {
  CommandResult run = Prints(output);
  run.exit_status = status;
  run.standard_error = error;
  return run;
}

HccnConf::Entry Entry(const std::string& key, const std::string& value) {
  HccnConf::Entry entry;
  entry.set_key(key);
  entry.set_device(3);
  entry.set_value(value);
  return entry;
}

TEST(HccnSetterTest, SpeaksTheClassicCommandLine) {
  Setter setter;
  setter.SetTls(false);
  EXPECT_EQ(setter.runner.commands,
            std::vector<std::string>{"/opt/hccn_tool -i 3 -tls -s enable 0"});
  EXPECT_EQ(setter.runner.deadline, absl::Seconds(7));
}

TEST(HccnSetterTest, AsksABusyToolAgainAndNotForEver) {
  constexpr char kBusy[] = "hccn_tool is busy, please try again.\n";
  CommandResult killed = Prints(kBusy);
  killed.timed_out = true;
  killed.signal = 9;
  const struct {
    const char* name;
    CommandResult answer;
    size_t as_often;  // Then it succeeds.
    size_t runs;
  } kCases[] = {{"busy twice", Fails(11, kBusy, ""), 2, 3},
                {"busy for ever", Prints(kBusy), 99, 6},
                {"the lock of hccn.conf was not to be had",
                 Fails(25, "", "Get lock failed. Please try again.\n"), 1, 2},
                {"was killed after it said busy", killed, 99, 1}};
  for (const auto& each : kCases) {
    Setter setter;
    setter.runner.answer = [&each](size_t run) {
      return run <= each.as_often ? each.answer : CommandResult();
    };
    setter.SetTls(true);
    EXPECT_EQ(setter.runner.commands.size(), each.runs) << each.name;
  }
}

TEST(HccnSetterTest, SaysWhenATeardownFailedAndTheToolMayStillAct) {
  Setter setter;
  setter.runner.answer = [](size_t) {
    CommandResult result;
    result.timed_out = result.left_running = true;
    result.pid = 9;
    return result;
  };
  const std::string said = setter.SetTls(true);
  EXPECT_THAT(said, Tells("plan-say-no-answer-left", kAny, kAny, 9));
}

TEST(HccnSetterTest, RunsNothingWhileSomebodyElseUsesTheDevice) {
  ScriptedRunner runner;
  FakeClock clock;
  DeviceLocks locks;
  MutationTokenIssuer issuer;
  HccnSetter tool(&runner, &clock, &locks, "/opt/hccn_tool",
                  absl::ZeroDuration());
  const auto held = locks.Take(3, absl::ZeroDuration());
  ASSERT_TRUE(held.ok());
  const std::vector<std::string> off = {"-tls", "-s", "enable", "0"};
  const std::string said = ValueText(tool.Set(issuer.token(), 3, off));
  EXPECT_EQ(said.find("nothing was run: "), 0u) << said;
  EXPECT_TRUE(runner.commands.empty());
  tool.Set(issuer.token(), 4, off);
  EXPECT_EQ(runner.commands.size(), 1u);
}

TEST(HccnSetterTest, AddsRoutesFromTheirLinesInTheFile) {
  Setter setter;
  for (const auto& entry :
       {Entry("route_address_172.16.0.0_netmask_255.255.0.0",
              "gateway_10.0.0.253"),
        Entry("ip_route",
              "add 10.0.0.0/24 via 10.0.0.253 dev eth0 table 100")}) {
    const absl::Status added =
        setter.tool.AddRoute(setter.issuer.token(), entry);
    EXPECT_TRUE(added.ok()) << added;
  }
  EXPECT_EQ(setter.runner.commands,
            (std::vector<std::string>{
                "/opt/hccn_tool -i 3 -route -a address 172.16.0.0 netmask "
                "255.255.0.0 gateway 10.0.0.253",
                "/opt/hccn_tool -i 3 -ip_route -a ip 10.0.0.0 ip_mask 24 via "
                "10.0.0.253 dev eth0 table 100"}));
}

TEST(HccnSetterTest, RunsNothingForARouteThatItDoesNotUnderstand) {
  Setter setter;
  for (const auto& entry :
       {Entry("route_address_172.16.0.0_netmask_255.255.0.0", "10.0.0.253"),
        Entry("route_address_x_netmask_255.255.0.0", "gateway_10.0.0.253"),
        Entry("ip_route", "add 10.0.0.0/24 via 10.0.0.253 dev -x table 100"),
        Entry("ip_route", "add 10.0.0.0/24 via 10.0.0.253 dev eth0 table -s"),
        Entry("ip_route", "del 10.0.0.0/24"), Entry("ip_rule", "add x")}) {
    EXPECT_EQ(setter.tool.AddRoute(setter.issuer.token(), entry).code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(setter.runner.commands.empty());
}

constexpr char kTable[] =
    "Routing table:\n"
    "Destination     Gateway         Genmask         Flags Metric Ref    Use "
    "Iface\n"
    "default         10.0.0.254      0.0.0.0         UG    0      0        0 "
    "eth3\n"
    "172.16.0.0      10.0.0.253      255.255.0.0     UG    0      0        0 "
    "eth3\n"
    "10.0.0.0        *               255.255.255.0   U     0      0        0 "
    "eth3\n\n";

HccnConf::Entry RouteThrough(const std::string& gateway) {
  return Entry("route_address_172.16.0.0_netmask_255.255.0.0",
               "gateway_" + gateway);
}

// Returns HasRoute's answer to a run with this result.
absl::StatusOr<bool> HasRoute(const HccnConf::Entry& entry,
                              const CommandResult& run) {
  Setter setter;
  setter.runner.answer = [&run](size_t) { return run; };
  return setter.tool.HasRoute(entry);
}

TEST(HccnSetterTest, FindsARouteInTheDevicesTable) {
  struct Case {
    HccnConf::Entry entry;
    bool there;
  };
  for (const Case& each :
       {Case{RouteThrough("10.0.0.253"), true},
        Case{RouteThrough("10.0.0.1"), false},
        Case{Entry("route_address_172.16.0.0_netmask_255.255.255.0",
                   "gateway_10.0.0.253"),
             false},
        Case{Entry("route_address_10.0.0.0_netmask_255.255.255.0",
                   "gateway_0.0.0.0"),
             false},
        Case{Entry("route_address_0.0.0.0_netmask_0.0.0.0",
                   "gateway_10.0.0.254\r"),
             true}}) {
    const auto found = HasRoute(each.entry, Prints(kTable)).value();
    EXPECT_EQ(found, each.there) << each.entry.ShortDebugString();
  }
}

CommandResult Killed() {
  CommandResult run = Prints(kTable);
  run.timed_out = true;
  run.signal = 9;
  return run;
}

TEST(HccnSetterTest, CannotTellOfARouteByARunThatFailed) {
  const struct {
    const char* name;
    CommandResult run;
    std::string why;
  } kCases[] = {
      {"fails with the table", Fails(1, kTable, "Command execute failed!\n"),
       "Command execute failed!"},
      {"fails with status 0", Fails(0, "", "Command execute failed!\n"),
       "Command execute failed!"},
      {"status", Fails(3, kTable, ""), "status 3"},
      {"killed", Killed(), "hccn_tool -i 3 -route -g"},
      {"silent", Prints(""), "`hccn_tool -i 3 -route -g`: "},
      {"other columns",
       Prints("Routing table:\nDestination Gateway Genmask\n"
              "172.16.0.0 10.0.0.253 255.255.0.0\n"),
       "Destination Gateway Genmask"},
      {"names for addresses",
       Prints(std::string(kTable) + "leaf-01 * 255.255.255.255 UH 0 0 0 lo\n"),
       "leaf-01"}};
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    const auto found = HasRoute(RouteThrough("10.0.0.253"), each.run);
    EXPECT_EQ(found.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(found.status(), HasText(each.why));
  }
}

TEST(HccnSetterTest, CannotTellOfARouteThatTheTableDoesNotShow) {
  for (const HccnConf::Entry& entry :
       {Entry("ip_route", "add 10.0.0.0/24 via 10.0.0.253 dev eth0 table 100"),
        Entry("route_address_172.16.0.5_netmask_255.255.0.0",
              "gateway_10.0.0.253"),
        Entry("route_address_172.16.0.0_netmask_255.0.255.0",
              "gateway_10.0.0.253")}) {
    EXPECT_EQ(HasRoute(entry, Prints(kTable)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << entry.ShortDebugString();
  }
}

}  // namespace
}  // namespace clusterd
