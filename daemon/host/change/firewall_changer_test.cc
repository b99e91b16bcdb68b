#include "daemon/host/change/firewall_changer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "config/words/words.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

// A firewall whose answer to each command the test sets.
class ScriptedFirewall final : public CommandRunner, public HostReader {
 public:
  absl::StatusOr<CommandResult> Run(const Command& command) override {
    std::string line = absl::StrJoin(command.argv, " ");
    line = line.substr(line.rfind('/', line.find(' ')) + 1);
    commands.push_back(line);
    CommandResult result;
    if (absl::StrContains(line, "--get-default-zone")) {
      result.standard_output = zone + "\n";
    } else if (absl::StrContains(line, "--query-rich-rule")) {
      if (!facts.active().value()) return NotRunning();
      const bool permanent = absl::StrContains(line, "--permanent");
      result.standard_output =
          (permanent ? has_permanent : has_running) ? "yes\n" : "no\n";
    }
    if (on_command) on_command(line);
    const auto other = results.find(line);
    return other == results.end() ? result : other->second;
  }
  HostFacts ReadHost() override { return HostFacts(); }
  DeviceFacts ReadDevice(uint32_t) override { return DeviceFacts(); }
  FirewallFacts ReadFirewall(FirewallProgram) override { return facts; }

  bool Ran(const std::string& line) const {
    return std::count(commands.begin(), commands.end(), line) > 0;
  }

  std::vector<std::string> commands;
  std::function<void(const std::string&)> on_command;
  FirewallFacts facts;
  std::map<std::string, CommandResult> results;  // For commands that fail.
  std::string zone = "public";
  bool has_running = false;
  bool has_permanent = false;

 private:
  static CommandResult NotRunning() {
    CommandResult result;
    result.exit_status = 252;
    result.standard_error = "FirewallD is not running\n";
    return result;
  }
};

CommandResult TimedOut() {
  CommandResult result;
  result.timed_out = true;
  result.signal = 9;
  return result;
}

FirewallRule Rule(FirewallProgram program) {
  FirewallRule rule;
  rule.set_program(program);
  AllowedPort* port = rule.mutable_port();
  port->set_first_port(60000);
  port->set_last_port(60015);
  port->set_protocol("tcp");
  port->set_source("10.0.0.0/24");
  return rule;
}

struct Changer {
  ScriptedFirewall outside;
  FakeFileSystem files;
  MutationTokenIssuer issuer;
  FirewallChanger changer{&outside, &files, &outside, FirewallPrograms()};

  Changer() { Set(true, true); }
  // Saves everything that an apply saves before it adds a rule.
  absl::StatusOr<SavedFirewall> SaveForRule(FirewallProgram program) {
    absl::StatusOr<SavedFirewall> saved =
        changer.Save(program, /*adds_rules=*/true);
    const absl::StatusOr<SavedFirewall> rule = changer.SaveRule(Rule(program));
    if (!rule.ok()) return rule.status();
    if (saved.ok()) saved->MergeFrom(*rule);
    return saved;
  }
  absl::Status Add(FirewallProgram program, const SavedFirewall& saved) {
    return changer.Add(issuer.token(), Rule(program), saved);
  }
  void Set(bool active, bool enabled) {
    outside.facts.mutable_installed()->set_value(true);
    outside.facts.mutable_active()->set_value(active);
    outside.facts.mutable_enabled_at_boot()->set_value(enabled);
  }
};

class FirewallChangerTest : public testing::Test {
 protected:
  Changer test_;
};

TEST_F(FirewallChangerTest, DisablesUfwByItsOwnCommand) {
  test_.outside.on_command = [&](const std::string&) {
    test_.Set(false, false);
  };
  EXPECT_TRUE(test_.changer.Disable(test_.issuer.token(), UFW).ok());
  EXPECT_EQ(test_.outside.commands, std::vector<std::string>{"ufw disable"});
}

TEST_F(FirewallChangerTest, DisablesFirewalldForTheNextBootToo) {
  test_.outside.on_command = [&](const std::string& line) {
    if (line == "systemctl stop firewalld") test_.Set(false, false);
  };
  EXPECT_TRUE(test_.changer.Disable(test_.issuer.token(), FIREWALLD).ok());
  EXPECT_TRUE(test_.outside.Ran("systemctl disable firewalld"));
}

TEST_F(FirewallChangerTest, DoesNotBelieveASuccessThatChangedNothing) {
  const absl::Status status = test_.changer.Disable(test_.issuer.token(), UFW);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "ufw: is active, starts at boot, expected stopped, does not start "
            "at boot; last was `ufw disable`: status 0");
}

TEST_F(FirewallChangerTest, OpensPortsInUfwFromTheSourceOnly) {
  test_.outside.on_command = [&](const std::string&) {
    *test_.outside.facts.mutable_allowed()->mutable_value()->add_ports() =
        Rule(UFW).port();
  };
  const auto saved = test_.SaveForRule(UFW);
  ASSERT_TRUE(saved.ok());
  EXPECT_EQ(saved->files_size(), 3);
  EXPECT_TRUE(test_.Add(UFW, *saved).ok());
  EXPECT_EQ(test_.outside.commands,
            std::vector<std::string>{"ufw allow proto tcp from 10.0.0.0/24 to "
                                     "any port 60000:60015"});
}

TEST_F(FirewallChangerTest, FailsWhenTheRuleIsNotThereAfterwards) {
  test_.outside.facts.mutable_allowed()->mutable_value();
  const auto saved = test_.SaveForRule(UFW);
  const absl::Status status = test_.Add(UFW, *saved);
  EXPECT_THAT(status.message(),
              Tells("msg-step-not-let-in", kAny, "60000:60015/tcp"));
}

TEST_F(FirewallChangerTest, AddsOnlyTheRulesThatFirewalldLacks) {
  test_.outside.has_permanent = true;
  const auto saved = test_.SaveForRule(FIREWALLD);
  ASSERT_TRUE(saved.ok());
  EXPECT_EQ(saved->added_running_size(), 1);
  EXPECT_EQ(saved->added_permanent_size(), 0);
  test_.outside.commands.clear();
  *test_.outside.facts.mutable_allowed()->mutable_value()->add_ports() =
      Rule(FIREWALLD).port();
  EXPECT_TRUE(test_.Add(FIREWALLD, *saved).ok());
  EXPECT_TRUE(test_.outside.Ran("firewall-cmd --add-rich-rule=" +
                                RichRule(Rule(FIREWALLD).port())));
  for (const std::string& command : test_.outside.commands) {
    EXPECT_FALSE(absl::StrContains(command, "--permanent --add")) << command;
  }
}

TEST_F(FirewallChangerTest, RefusesAZoneNameThatIsAPath) {
  test_.outside.zone = "../../etc/passwd";
  EXPECT_TRUE(
      absl::IsFailedPrecondition(test_.SaveForRule(FIREWALLD).status()));
}

TEST_F(FirewallChangerTest, DoesNotTouchWhatItCannotPutBack) {
  test_.outside.facts.clear_enabled_at_boot();
  EXPECT_TRUE(absl::IsFailedPrecondition(test_.SaveForRule(UFW).status()));
  EXPECT_TRUE(test_.outside.commands.empty());
}

TEST_F(FirewallChangerTest, RestoresUfwWithItsFilesByteForByte) {
  test_.files.Put("/etc/ufw/ufw.conf", "ENABLED=yes\n");
  test_.files.Put("/etc/ufw/user.rules", "old\n", 0640);
  const auto saved = test_.changer.Save(UFW, /*adds_rules=*/false);
  ASSERT_TRUE(saved.ok());
  test_.files.Put("/etc/ufw/ufw.conf", "ENABLED=no\n");
  test_.Set(false, false);
  test_.outside.on_command = [&](const std::string& line) {
    if (line == "ufw --force enable") test_.Set(true, true);
  };
  EXPECT_TRUE(test_.changer.Restore(test_.issuer.token(), *saved).ok());
  EXPECT_EQ(*test_.files.Content("/etc/ufw/ufw.conf"), "ENABLED=yes\n");
  EXPECT_TRUE(test_.outside.Ran("ufw reload"));
}

// A user who may read it can hold it without a limit, and ufw waits.
TEST_F(FirewallChangerTest, LeavesTheLockOfUfwToRootWhenItRestores) {
  test_.files.Put("/etc/ufw/ufw.conf", "ENABLED=yes\n");
  const auto saved = test_.changer.Save(UFW, /*adds_rules=*/false);
  ASSERT_TRUE(saved.ok());
  test_.files.Put("/run/ufw.lock", "", 0644);
  const uint64_t held = test_.files.Stat("/run/ufw.lock")->inode;
  EXPECT_TRUE(test_.changer.Restore(test_.issuer.token(), *saved).ok());
  const auto lock = test_.files.Stat("/run/ufw.lock");
  ASSERT_TRUE(lock.ok());
  EXPECT_NE(lock->inode, held);
  EXPECT_EQ(lock->mode, 0600u);
  // A lock file that only root can open stays.
  EXPECT_TRUE(test_.changer.Restore(test_.issuer.token(), *saved).ok());
  EXPECT_EQ(test_.files.Stat("/run/ufw.lock")->inode, lock->inode);
}

TEST_F(FirewallChangerTest, RemovesOnlyTheRulesThatItAdded) {
  SavedFirewall saved;
  saved.set_program(FIREWALLD);
  saved.set_active(true);
  saved.set_enabled(true);
  saved.add_added_running("rule a");
  test_.outside.has_running = test_.outside.has_permanent = true;
  test_.outside.on_command = [&](const std::string& line) {
    if (absl::StrContains(line, "--remove")) test_.outside.has_running = false;
  };
  EXPECT_TRUE(test_.changer.Restore(test_.issuer.token(), saved).ok());
  EXPECT_EQ(
      test_.outside.commands,
      (std::vector<std::string>{"systemctl start firewalld",
                                "firewall-cmd --query-rich-rule=rule a",
                                "firewall-cmd --remove-rich-rule=rule a",
                                "firewall-cmd --query-rich-rule=rule a"}));
}

TEST_F(FirewallChangerTest, SaysWhenARuleIsStillThereAndRestoresTheFiles) {
  test_.files.Put("/etc/firewalld/zones/public.xml", "old\n");
  auto saved = test_.SaveForRule(FIREWALLD);
  ASSERT_TRUE(saved.ok());
  test_.files.Put("/etc/firewalld/zones/public.xml", "new\n");
  test_.outside.has_running = true;
  const absl::Status status =
      test_.changer.Restore(test_.issuer.token(), *saved);
  EXPECT_THAT(status.message(),
              Tells("msg-step-still-running",
                    absl::StrCat("`firewall-cmd --remove-rich-rule=", kAny)));
  EXPECT_EQ(*test_.files.Content("/etc/firewalld/zones/public.xml"), "old\n");
}

TEST_F(FirewallChangerTest, SaysWhenUfwDidNotTakeItsRestoredRules) {
  SavedFirewall saved;
  saved.set_program(UFW);
  saved.set_active(true);
  saved.set_enabled(true);
  CommandResult& reload = test_.outside.results["ufw reload"];
  reload.exit_status = 1;
  reload.standard_error = "ERROR: Could not load logging rules\n";
  const absl::Status status =
      test_.changer.Restore(test_.issuer.token(), saved);
  EXPECT_THAT(
      status.message(),
      Tells("msg-step-ufw-rules-differ",
            "`ufw reload`: status 1: ERROR: Could not load logging rules"));
  reload = TimedOut();
  EXPECT_FALSE(test_.changer.Restore(test_.issuer.token(), saved).ok());
}

// The command is killed at its deadline, but systemd continues the stop.
TEST_F(FirewallChangerTest, TakesBackAStopThatOutlivedItsCommand) {
  const auto saved = test_.changer.Save(FIREWALLD, /*adds_rules=*/false);
  ASSERT_TRUE(saved.ok());
  test_.outside.results["systemctl stop firewalld"] = TimedOut();
  bool stops_later = false;
  test_.outside.on_command = [&](const std::string& line) {
    if (line == "systemctl stop firewalld") stops_later = true;
    if (line == "systemctl start firewalld") stops_later = false;
  };
  EXPECT_FALSE(test_.changer.Disable(test_.issuer.token(), FIREWALLD).ok());
  ASSERT_TRUE(stops_later);
  EXPECT_EQ(test_.changer.Restore(test_.issuer.token(), *saved),
            absl::OkStatus());
  EXPECT_FALSE(stops_later);
}

TEST_F(FirewallChangerTest, DoesNotVouchForAStartThatIsNotDone) {
  SavedFirewall saved;
  saved.set_program(FIREWALLD);
  saved.set_active(true);
  saved.set_enabled(true);
  test_.outside.results["systemctl start firewalld"] = TimedOut();
  EXPECT_THAT(test_.changer.Restore(test_.issuer.token(), saved).message(),
              Tells("msg-step-not-stay-active",
                    Worded("plan-say-no-answer", "`systemctl start firewalld`",
                           "30s", 0)));
  CommandResult& is_active =
      test_.outside.results["systemctl is-active firewalld"];
  is_active.exit_status = 3;
  is_active.standard_output = "deactivating\n";
  EXPECT_FALSE(test_.changer.Restore(test_.issuer.token(), saved).ok());
  is_active.exit_status = 0;
  is_active.standard_output = "active\n";
  EXPECT_TRUE(test_.changer.Restore(test_.issuer.token(), saved).ok());
}

TEST_F(FirewallChangerTest, LeavesAFirewalldStoppedThatWas) {
  SavedFirewall saved;
  saved.set_program(FIREWALLD);
  test_.Set(false, false);
  EXPECT_TRUE(test_.changer.Restore(test_.issuer.token(), saved).ok());
  EXPECT_TRUE(test_.outside.commands.empty());
}

TEST_F(FirewallChangerTest, RestoresTheFilesOfAFirewalldThatDoesNotComeUp) {
  test_.files.Put("/etc/firewalld/zones/public.xml", "old\n");
  const auto saved = test_.SaveForRule(FIREWALLD);
  ASSERT_TRUE(saved.ok());
  test_.files.Put("/etc/firewalld/zones/public.xml", "new\n");
  test_.files.Put("/etc/firewalld/zones/public.xml.old", "old\n");
  test_.Set(false, true);
  const absl::Status status =
      test_.changer.Restore(test_.issuer.token(), *saved);
  EXPECT_TRUE(absl::StrContains(status.message(), "FirewallD is not running"))
      << status;
  EXPECT_EQ(*test_.files.Content("/etc/firewalld/zones/public.xml"), "old\n");
  EXPECT_FALSE(test_.files.Content("/etc/firewalld/zones/public.xml.old"));
}

TEST_F(FirewallChangerTest, RestoresTheOtherFilesWhenOneCannotBe) {
  test_.files.Put("/etc/ufw/ufw.conf", "old\n");
  test_.files.Put("/etc/ufw/user.rules", "old\n");
  const auto saved = test_.SaveForRule(UFW);
  ASSERT_TRUE(saved.ok());
  test_.files.Put("/etc/ufw/ufw.conf", "new\n");
  test_.files.Put("/etc/ufw/user.rules", "new\n");
  test_.files.FailChanges("/etc/ufw/ufw.conf",
                          absl::ResourceExhaustedError("No space left"));
  EXPECT_EQ(test_.changer.Restore(test_.issuer.token(), *saved),
            absl::ResourceExhaustedError("No space left"));
  EXPECT_EQ(*test_.files.Content("/etc/ufw/user.rules"), "old\n");
  EXPECT_TRUE(test_.outside.Ran("ufw reload"));
}

}  // namespace
}  // namespace clusterd
