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
#include "tests/support/wait/from_text.h"
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
  auto rule = FromText<FirewallRule>(
      "port {first_port: 60000 last_port: 60015 protocol: 'tcp' "
      "source: '10.0.0.0/24'}");
  rule.set_program(program);
  return rule;
}

class FirewallChangerTest : public testing::Test {
 protected:
  FirewallChangerTest() { Set(true, true); }

  // Saves everything that an apply saves before it adds a rule.
  absl::StatusOr<SavedFirewall> SaveForRule(FirewallProgram program) {
    auto saved = changer_.Save(program, /*adds_rules=*/true);
    const absl::StatusOr<SavedFirewall> rule = changer_.SaveRule(Rule(program));
    if (!rule.ok()) return rule.status();
    if (saved.ok()) saved->MergeFrom(*rule);
    return saved;
  }
  absl::Status Add(FirewallProgram program, const SavedFirewall& saved) {
    return changer_.Add(issuer_.token(), Rule(program), saved);
  }
  absl::Status Disable(FirewallProgram program) {
    return changer_.Disable(issuer_.token(), program);
  }
  absl::Status Restore(const SavedFirewall& saved) {
    return changer_.Restore(issuer_.token(), saved);
  }
  void Set(bool active, bool enabled) {
    outside_.facts.mutable_installed()->set_value(true);
    outside_.facts.mutable_active()->set_value(active);
    outside_.facts.mutable_enabled_at_boot()->set_value(enabled);
  }
  void Allow(FirewallProgram program) {
    *outside_.facts.mutable_allowed()->mutable_value()->add_ports() =
        Rule(program).port();
  }
  // One that was active and started at boot.
  static SavedFirewall Running(FirewallProgram program) {
    SavedFirewall saved;
    saved.set_program(program);
    saved.set_active(true);
    saved.set_enabled(true);
    return saved;
  }

  ScriptedFirewall outside_;
  FakeFileSystem files_;
  MutationTokenIssuer issuer_;
  FirewallChanger changer_{&outside_, &files_, &outside_, FirewallPrograms()};
};

constexpr char kUfwConf[] = "/etc/ufw/ufw.conf";
constexpr char kUfwRules[] = "/etc/ufw/user.rules";
constexpr char kZoneFile[] = "/etc/firewalld/zones/public.xml";
constexpr char kStop[] = "systemctl stop firewalld";
constexpr char kStart[] = "systemctl start firewalld";

TEST_F(FirewallChangerTest, DisablesEachByItsOwnCommands) {
  outside_.on_command = [&](const std::string& line) {
    if (line == "ufw disable" || line == kStop) Set(false, false);
  };
  EXPECT_TRUE(Disable(UFW).ok());
  EXPECT_EQ(outside_.commands, std::vector<std::string>{"ufw disable"});
  Set(true, true);
  EXPECT_TRUE(Disable(FIREWALLD).ok());
  EXPECT_TRUE(outside_.Ran("systemctl disable firewalld"));
}

TEST_F(FirewallChangerTest, DoesNotBelieveASuccessThatChangedNothing) {
  const absl::Status status = Disable(UFW);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "ufw: is active, starts at boot, expected stopped, does not start "
            "at boot; last was `ufw disable`: status 0");
}

TEST_F(FirewallChangerTest, OpensPortsInUfwFromTheSourceOnly) {
  outside_.on_command = [&](const std::string&) { Allow(UFW); };
  const auto saved = SaveForRule(UFW).value();
  EXPECT_EQ(saved.files_size(), 3);
  EXPECT_TRUE(Add(UFW, saved).ok());
  EXPECT_EQ(outside_.commands,
            std::vector<std::string>{"ufw allow proto tcp from 10.0.0.0/24 to "
                                     "any port 60000:60015"});
}

TEST_F(FirewallChangerTest, FailsWhenTheRuleIsNotThereAfterwards) {
  outside_.facts.mutable_allowed()->mutable_value();
  EXPECT_THAT(Add(UFW, *SaveForRule(UFW)),
              Tells("msg-step-not-let-in", "60000:60015/tcp"));
}

TEST_F(FirewallChangerTest, AddsOnlyTheRulesThatFirewalldLacks) {
  outside_.has_permanent = true;
  const auto saved = SaveForRule(FIREWALLD).value();
  EXPECT_EQ(saved.added_running_size(), 1);
  EXPECT_EQ(saved.added_permanent_size(), 0);
  outside_.commands.clear();
  Allow(FIREWALLD);
  EXPECT_TRUE(Add(FIREWALLD, saved).ok());
  EXPECT_TRUE(outside_.Ran("firewall-cmd --add-rich-rule=" +
                           RichRule(Rule(FIREWALLD).port())));
  for (const std::string& command : outside_.commands) {
    EXPECT_FALSE(absl::StrContains(command, "--permanent --add")) << command;
  }
}

TEST_F(FirewallChangerTest, DoesNotTouchWhatItCannotPutBack) {
  outside_.zone = "../../etc/passwd";
  EXPECT_TRUE(absl::IsFailedPrecondition(SaveForRule(FIREWALLD).status()));
  outside_.commands.clear();
  outside_.facts.clear_enabled_at_boot();
  EXPECT_TRUE(absl::IsFailedPrecondition(SaveForRule(UFW).status()));
  EXPECT_TRUE(outside_.commands.empty());
}

TEST_F(FirewallChangerTest, RestoresUfwWithItsFilesByteForByte) {
  files_.Put(kUfwConf, "ENABLED=yes\n");
  files_.Put(kUfwRules, "old\n", 0640);
  const auto saved = changer_.Save(UFW, /*adds_rules=*/false).value();
  files_.Put(kUfwConf, "ENABLED=no\n");
  Set(false, false);
  outside_.on_command = [&](const std::string& line) {
    if (line == "ufw --force enable") Set(true, true);
  };
  EXPECT_TRUE(Restore(saved).ok());
  EXPECT_EQ(*files_.Content(kUfwConf), "ENABLED=yes\n");
  EXPECT_TRUE(outside_.Ran("ufw reload"));
}

// A user who may read it can hold it without a limit, and ufw waits.
TEST_F(FirewallChangerTest, LeavesTheLockOfUfwToRootWhenItRestores) {
  constexpr char kLock[] = "/run/ufw.lock";
  files_.Put(kUfwConf, "ENABLED=yes\n");
  const auto saved = changer_.Save(UFW, /*adds_rules=*/false).value();
  files_.Put(kLock, "", 0644);
  const uint64_t held = files_.Stat(kLock)->inode;
  EXPECT_TRUE(Restore(saved).ok());
  const auto lock = files_.Stat(kLock);
  ASSERT_TRUE(lock.ok());
  EXPECT_NE(lock->inode, held);
  EXPECT_EQ(lock->mode, 0600u);
  // A lock file that only root can open stays.
  EXPECT_TRUE(Restore(saved).ok());
  EXPECT_EQ(files_.Stat(kLock)->inode, lock->inode);
}

TEST_F(FirewallChangerTest, RemovesOnlyTheRulesThatItAdded) {
  SavedFirewall saved = Running(FIREWALLD);
  saved.add_added_running("rule a");
  outside_.has_running = outside_.has_permanent = true;
  outside_.on_command = [&](const std::string& line) {
    if (absl::StrContains(line, "--remove")) outside_.has_running = false;
  };
  EXPECT_TRUE(Restore(saved).ok());
  EXPECT_EQ(
      outside_.commands,
      (std::vector<std::string>{kStart, "firewall-cmd --query-rich-rule=rule a",
                                "firewall-cmd --remove-rich-rule=rule a",
                                "firewall-cmd --query-rich-rule=rule a"}));
}

TEST_F(FirewallChangerTest, SaysWhenARuleIsStillThereAndRestoresTheFiles) {
  files_.Put(kZoneFile, "old\n");
  const auto saved = SaveForRule(FIREWALLD).value();
  files_.Put(kZoneFile, "new\n");
  outside_.has_running = true;
  EXPECT_THAT(Restore(saved).message(),
              Tells("msg-step-still-running",
                    absl::StrCat("`firewall-cmd --remove-rich-rule=", kAny)));
  EXPECT_EQ(*files_.Content(kZoneFile), "old\n");
}

TEST_F(FirewallChangerTest, SaysWhenUfwDidNotTakeItsRestoredRules) {
  CommandResult& reload = outside_.results["ufw reload"];
  reload.exit_status = 1;
  reload.standard_error = "ERROR: Could not load logging rules\n";
  EXPECT_THAT(
      Restore(Running(UFW)),
      Tells("msg-step-ufw-rules-differ",
            "`ufw reload`: status 1: ERROR: Could not load logging rules"));
  reload = TimedOut();
  EXPECT_FALSE(Restore(Running(UFW)).ok());
}

// The command is killed at its deadline, but systemd continues the stop.
TEST_F(FirewallChangerTest, TakesBackAStopThatOutlivedItsCommand) {
  const auto saved = changer_.Save(FIREWALLD, /*adds_rules=*/false).value();
  outside_.results[kStop] = TimedOut();
  bool stops_later = false;
  outside_.on_command = [&](const std::string& line) {
    if (line == kStop) stops_later = true;
    if (line == kStart) stops_later = false;
  };
  EXPECT_FALSE(Disable(FIREWALLD).ok());
  ASSERT_TRUE(stops_later);
  EXPECT_EQ(Restore(saved), absl::OkStatus());
  EXPECT_FALSE(stops_later);
}

TEST_F(FirewallChangerTest, DoesNotVouchForAStartThatIsNotDone) {
  outside_.results[kStart] = TimedOut();
  EXPECT_THAT(Restore(Running(FIREWALLD)),
              Tells("msg-step-not-stay-active",
                    Worded("plan-say-no-answer", "`systemctl start firewalld`",
                           "30s", 0)));
  CommandResult& is_active = outside_.results["systemctl is-active firewalld"];
  is_active.exit_status = 3;
  is_active.standard_output = "deactivating\n";
  EXPECT_FALSE(Restore(Running(FIREWALLD)).ok());
  is_active.exit_status = 0;
  is_active.standard_output = "active\n";
  EXPECT_TRUE(Restore(Running(FIREWALLD)).ok());
}

TEST_F(FirewallChangerTest, LeavesAFirewalldStoppedThatWas) {
  SavedFirewall saved;
  saved.set_program(FIREWALLD);
  Set(false, false);
  EXPECT_TRUE(Restore(saved).ok());
  EXPECT_TRUE(outside_.commands.empty());
}

TEST_F(FirewallChangerTest, RestoresTheFilesOfAFirewalldThatDoesNotComeUp) {
  const std::string former = std::string(kZoneFile) + ".old";
  files_.Put(kZoneFile, "old\n");
  const auto saved = SaveForRule(FIREWALLD).value();
  files_.Put(kZoneFile, "new\n");
  files_.Put(former, "old\n");
  Set(false, true);
  EXPECT_THAT(Restore(saved), HasText("FirewallD is not running"));
  EXPECT_EQ(*files_.Content(kZoneFile), "old\n");
  EXPECT_FALSE(files_.Content(former));
}

TEST_F(FirewallChangerTest, RestoresTheOtherFilesWhenOneCannotBe) {
  files_.Put(kUfwConf, "old\n");
  files_.Put(kUfwRules, "old\n");
  const auto saved = SaveForRule(UFW).value();
  files_.Put(kUfwConf, "new\n");
  files_.Put(kUfwRules, "new\n");
  const absl::Status full = absl::ResourceExhaustedError("No space left");
  files_.FailChanges(kUfwConf, full);
  EXPECT_EQ(Restore(saved), full);
  EXPECT_EQ(*files_.Content(kUfwRules), "old\n");
  EXPECT_TRUE(outside_.Ran("ufw reload"));
}

}  // namespace
}  // namespace clusterd
