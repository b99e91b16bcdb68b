// Tests FirewallChanger with real ufw and firewalld. Do not run it by hand: it
// changes the firewalls of its machine. tests/systemd/firewall_test.sh boots a
// separate machine and runs it there.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/plan/settings.h"
#include "daemon/host/change/firewall_changer.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/firewall/firewall_observer.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

// Reads the real machine without devices.
class FirewallReader final : public HostReader {
 public:
  explicit FirewallReader(CommandRunner* runner) : runner_(runner) {}

  HostFacts ReadHost() override { return HostFacts(); }
  DeviceFacts ReadDevice(uint32_t) override { return DeviceFacts(); }
  FirewallFacts ReadFirewall(FirewallProgram program) override {
    const TimeBudget budget(&clock_, kPatience, kPatience);
    const HostAccess host{HostPaths(), runner_, &budget};
    return program == UFW ? ReadUfw(host) : ReadFirewalld(host);
  }

 private:
  CommandRunner* const runner_;
  SystemClock clock_;
};

FirewallPrograms PatientPrograms() {
  FirewallPrograms programs;
  programs.deadline = kPatience;
  return programs;
}

AllowedPort HcclPorts() {
  return FromText<AllowedPort>(
      "first_port: 60000 last_port: 60015 protocol: 'tcp' "
      "source: '10.99.0.0/24'");
}

// A listening socket that tests connect to.
class Listener {
 public:
  explicit Listener(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(
        bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
        0);
    EXPECT_EQ(listen(socket_, 8), 0);
  }
  ~Listener() { close(socket_); }

 private:
  const int socket_;
};

class FirewallMachineTest : public testing::TestWithParam<FirewallProgram> {
 protected:
  // Creates a neighbour at 10.99.0.2 on a separate veth pair.
  static void SetUpTestSuite() {
    PosixCommandRunner runner("");
    for (const char* const line :
         {"netns add peer",
          "link add wire0 type veth peer name wire1 netns peer",
          "addr add 10.99.0.1/24 dev wire0", "link set wire0 up",
          "-n peer addr add 10.99.0.2/24 dev wire1",
          "-n peer link set wire1 up"}) {
      std::vector<std::string> argv = {"/sbin/ip"};
      for (const absl::string_view word : absl::StrSplit(line, ' ')) {
        argv.emplace_back(word);
      }
      Command command;
      command.argv = argv;
      command.deadline = kPatience;
      const auto result = runner.Run(command);
      ASSERT_TRUE(result.ok() && result->exit_status == 0)
          << line << ": " << (result.ok() ? result->standard_error : "");
    }
  }

  void SetUp() override {
    if (GetParam() == UFW) {
      Must({"/usr/sbin/ufw", "--force", "enable"});
    } else {
      Must({"/usr/bin/systemctl", "enable", "--now", "firewalld"});
      Must({"/usr/bin/firewall-cmd", "--state"});
    }
  }

  // A start of ufw or firewalld takes most of a second of Python.
  void TearDown() override {
    if (GetParam() == UFW) {
      Must({"/usr/sbin/ufw", "--force", "reset"});
    } else {
      Must({"/usr/bin/systemctl", "disable", "--now", "firewalld"});
    }
  }

  CommandResult Run(std::vector<std::string> argv) {
    Command command;
    command.argv = std::move(argv);
    command.deadline = kPatience;
    const absl::StatusOr<CommandResult> result = runner_.Run(command);
    EXPECT_TRUE(result.ok() && !result->timed_out) << result.status();
    return result.ok() ? *result : CommandResult();
  }
  CommandResult Must(const std::vector<std::string>& argv) {
    const CommandResult result = Run(argv);
    EXPECT_EQ(result.exit_status, 0)
        << absl::StrJoin(argv, " ") << ": " << result.standard_output
        << result.standard_error;
    return result;
  }

  // Returns whether a TCP connection from the neighbour to this port succeeds.
  bool Allows(int port) { return Connects(port, kPatience / 2); }
  // Returns whether no connection succeeds within a second.
  bool KeepsOut(int port) { return !Connects(port, absl::Seconds(1)); }
  bool Connects(int port, absl::Duration within) {
    const Listener listener(port);
    return Run({"/sbin/ip", "netns", "exec", "peer", "/usr/bin/timeout",
                absl::StrCat(absl::ToInt64Seconds(within)), "/bin/bash", "-c",
                absl::StrCat("</dev/tcp/10.99.0.1/", port)})
               .exit_status == 0;
  }

  // Returns all firewall state that an undo has to restore.
  std::map<std::string, std::string> State() {
    std::map<std::string, std::string> state;
    std::vector<std::string> files;
    if (GetParam() == UFW) {
      state["status"] =
          Must({"/usr/sbin/ufw", "status", "verbose"}).standard_output;
      state["rules"] = Must({"/usr/sbin/iptables", "-S"}).standard_output;
      files = {"/etc/ufw/ufw.conf", "/etc/ufw/user.rules",
               "/etc/ufw/user6.rules"};
    } else {
      state["running"] =
          Must({"/usr/bin/firewall-cmd", "--list-all-zones"}).standard_output;
      state["permanent"] =
          Must({"/usr/bin/firewall-cmd", "--permanent", "--list-all-zones"})
              .standard_output;
      state["enabled"] = Run({"/usr/bin/systemctl", "is-enabled", "firewalld"})
                             .standard_output;
      files = {"/etc/firewalld/zones/public.xml",
               "/etc/firewalld/zones/public.xml.old"};
    }
    for (const std::string& path : files) {
      const auto text = ReadWholeFile(files_.get(), path, 1 << 20);
      state[path] = text.ok() ? *text : std::string(text.status().message());
    }
    return state;
  }

  SavedFirewall Save(bool adds_rules) {
    const auto saved = changer_.Save(GetParam(), adds_rules);
    EXPECT_TRUE(saved.ok()) << saved.status();
    return saved.ok() ? *saved : SavedFirewall();
  }
  // Saves everything that an apply saves before it adds the rule.
  SavedFirewall SaveForRule() {
    SavedFirewall saved = Save(/*adds_rules=*/true);
    const absl::StatusOr<SavedFirewall> rule = changer_.SaveRule(Rule());
    EXPECT_TRUE(rule.ok()) << rule.status();
    if (rule.ok()) saved.MergeFrom(*rule);
    return saved;
  }
  absl::Status Add(const SavedFirewall& saved) {
    return changer_.Add(issuer_.token(), Rule(), saved);
  }
  static FirewallRule Rule() {
    FirewallRule rule;
    rule.set_program(GetParam());
    *rule.mutable_port() = HcclPorts();
    return rule;
  }

  PosixCommandRunner runner_{""};
  FirewallReader reader_{&runner_};
  const std::unique_ptr<FileSystem> files_ = MakePosixFileSystem("/");
  MutationTokenIssuer issuer_;
  FirewallChanger changer_{&runner_, files_.get(), &reader_, PatientPrograms()};
};

TEST_P(FirewallMachineTest, StopsForGoodAndComesBackAsItWas) {
  EXPECT_TRUE(KeepsOut(60001));
  const auto before = State();
  const SavedFirewall saved = Save(/*adds_rules=*/false);
  EXPECT_TRUE(saved.active());
  EXPECT_TRUE(saved.enabled());

  ASSERT_EQ(changer_.Disable(issuer_.token(), GetParam()), absl::OkStatus());
  EXPECT_TRUE(Allows(60001));
  // Repeating it changes nothing and succeeds.
  ASSERT_EQ(changer_.Disable(issuer_.token(), GetParam()), absl::OkStatus());

  ASSERT_EQ(changer_.Restore(issuer_.token(), saved), absl::OkStatus());
  EXPECT_EQ(State(), before);
  EXPECT_TRUE(KeepsOut(60001));
  ASSERT_EQ(changer_.Restore(issuer_.token(), saved), absl::OkStatus());
  EXPECT_EQ(State(), before);
}

TEST_P(FirewallMachineTest, OpensPortsForOneSourceAndClosesThemAgain) {
  const auto before = State();
  EXPECT_TRUE(KeepsOut(60015));
  const SavedFirewall saved = SaveForRule();

  ASSERT_EQ(Add(saved), absl::OkStatus());
  EXPECT_TRUE(Allows(60000));
  EXPECT_TRUE(Allows(60015));
  EXPECT_TRUE(KeepsOut(60016));
  const auto open = State();
  EXPECT_NE(open, before);
  ASSERT_EQ(Add(SaveForRule()), absl::OkStatus());
  EXPECT_EQ(State(), open) << "the second time adds nothing";

  ASSERT_EQ(changer_.Restore(issuer_.token(), saved), absl::OkStatus());
  EXPECT_EQ(State(), before);
  EXPECT_TRUE(KeepsOut(60000));
}

TEST_P(FirewallMachineTest, StaysOpenAfterARestart) {
  const SavedFirewall saved = SaveForRule();
  ASSERT_EQ(Add(saved), absl::OkStatus());
  if (GetParam() == UFW) {
    Must({"/usr/sbin/ufw", "reload"});
  } else {
    Must({"/usr/bin/systemctl", "restart", "firewalld"});
    Must({"/usr/bin/firewall-cmd", "--state"});
  }
  EXPECT_TRUE(Allows(60000));
  EXPECT_TRUE(KeepsOut(60016));
}

// The machine after a crash: the rules were added, but not recorded.
TEST_P(FirewallMachineTest, TakesBackWhatWasDoneHalfWay) {
  const auto before = State();
  const SavedFirewall saved = SaveForRule();
  if (GetParam() == UFW) {
    Must({"/usr/sbin/ufw", "allow", "proto", "tcp", "from", "10.99.0.0/24",
          "to", "any", "port", "60000:60015"});
    Must({"/usr/sbin/ufw", "disable"});
  } else {
    Must({"/usr/bin/firewall-cmd", "--permanent",
          absl::StrCat("--add-rich-rule=", RichRule(HcclPorts()))});
    Must({"/usr/bin/systemctl", "stop", "firewalld"});
  }
  ASSERT_EQ(changer_.Restore(issuer_.token(), saved), absl::OkStatus());
  EXPECT_EQ(State(), before);
}

// A reload would close one port and open another.
TEST_P(FirewallMachineTest, TellsWhatRunsAndWhatIsStoredApart) {
  if (GetParam() == UFW) {
    EXPECT_EQ(
        reader_.ReadFirewall(UFW).allowed_permanently().missing().reason(),
        Missing::NOT_SUPPORTED);
    return;
  }
  const auto states = [this] {
    const FirewallFacts facts = reader_.ReadFirewall(FIREWALLD);
    EXPECT_TRUE(facts.allowed().has_value()) << facts.ShortDebugString();
    EXPECT_TRUE(facts.allowed_permanently().has_value())
        << facts.ShortDebugString();
    return std::make_pair(
        AllowedPorts(facts.allowed().value()).Contains(HcclPorts()),
        AllowedPorts(facts.allowed_permanently().value())
            .Contains(HcclPorts()));
  };
  const std::string stored_rule =
      absl::StrCat("rich-rule=", RichRule(HcclPorts()));
  const auto firewall_cmd = [this](const std::vector<std::string>& words) {
    std::vector<std::string> argv = {"/usr/bin/firewall-cmd"};
    argv.insert(argv.end(), words.begin(), words.end());
    Must(argv);
  };
  // Removes rules that earlier tests stored.
  Run({"/usr/bin/firewall-cmd", "--permanent", "--remove-" + stored_rule});
  firewall_cmd({"--reload"});
  EXPECT_EQ(states(), std::make_pair(false, false));

  firewall_cmd({"--add-port=60000-60015/tcp"});
  EXPECT_EQ(states(), std::make_pair(true, false));
  EXPECT_TRUE(Allows(60000));
  const auto before = State();
  const SavedFirewall saved = SaveForRule();
  ASSERT_EQ(Add(saved), absl::OkStatus());
  EXPECT_EQ(states(), std::make_pair(true, true));
  ASSERT_EQ(changer_.Restore(issuer_.token(), saved), absl::OkStatus());
  EXPECT_EQ(State(), before);
  EXPECT_EQ(states(), std::make_pair(true, false));
  firewall_cmd({"--reload"});
  EXPECT_TRUE(KeepsOut(60000));

  firewall_cmd({"--permanent", "--add-" + stored_rule});
  EXPECT_EQ(states(), std::make_pair(false, true));
  EXPECT_TRUE(KeepsOut(60000));
  ASSERT_EQ(Add(SaveForRule()), absl::OkStatus());
  EXPECT_EQ(states(), std::make_pair(true, true));
  EXPECT_TRUE(Allows(60000));
  firewall_cmd({"--permanent", "--remove-" + stored_rule});
}

// A firewalld that stops only once a file exists, later than a command may.
class SlowFirewalldMachineTest : public FirewallMachineTest {
 protected:
  static void SetUpTestSuite() {}

  void SetUp() override {
    Must({"/bin/mkdir", "-p", kDropIns});
    Must({"/bin/bash", "-c",
          absl::StrCat("printf '[Service]\\nExecStop=/bin/sh -c \"until [ -e ",
                       kMayStop, " ]; do sleep 0.1; done\"\\n' >", kDropIns,
                       "/slow.conf")});
    Must({"/usr/bin/systemctl", "daemon-reload"});
    FirewallMachineTest::SetUp();
  }
  void TearDown() override {
    Must({"/bin/rm", "-rf", kDropIns, kMayStop});
    Must({"/usr/bin/systemctl", "daemon-reload"});
    FirewallMachineTest::TearDown();
  }

  // Lets the stop finish once the next command waits for it.
  void MayStopSoon() {
    Must({"/usr/bin/systemd-run", "--quiet", "--no-block", "/bin/sh", "-c",
          absl::StrCat("sleep 1; touch ", kMayStop)});
  }

  // Waits until systemd has no pending job for it.
  bool AwaitNoJob() {
    return WaitUntil([this] {
      return Run({"/usr/bin/systemctl", "list-jobs", "--no-legend",
                  "firewalld.service"})
                 .standard_output == "";
    });
  }

 private:
  static constexpr char kDropIns[] = "/run/systemd/system/firewalld.service.d";
  static constexpr char kMayStop[] = "/run/firewalld-may-stop";
};

// Ends `systemctl stop` at a deadline that comes after systemd has begun the
// stop. Retries determine how long that takes.
class HastyRunner final : public CommandRunner {
 public:
  explicit HastyRunner(CommandRunner* inner) : inner_(inner) {}

  absl::StatusOr<CommandResult> Run(const Command& command) override {
    Command hasty = command;
    if (hasty.argv[1] == "stop") hasty.deadline = absl::Seconds(1);
    while (true) {
      absl::StatusOr<CommandResult> result = inner_->Run(hasty);
      if (hasty.deadline >= command.deadline || IsStopping()) return result;
      hasty.deadline *= 2;
    }
  }
  bool IsStopping() {
    const auto is = inner_->Run(
        {{"/usr/bin/systemctl", "is-active", "firewalld"}, kPatience});
    return is.ok() && is->standard_output == "deactivating\n";
  }

 private:
  CommandRunner* const inner_;
};

TEST_P(SlowFirewalldMachineTest, StaysActiveAfterAStopThatOutlivedItsCommand) {
  const auto before = State();
  const SavedFirewall saved = Save(/*adds_rules=*/false);
  HastyRunner hasty(&runner_);
  FirewallChanger changer(&hasty, files_.get(), &reader_, PatientPrograms());
  EXPECT_FALSE(changer.Disable(issuer_.token(), GetParam()).ok());
  EXPECT_TRUE(hasty.IsStopping());

  MayStopSoon();
  ASSERT_EQ(changer_.Restore(issuer_.token(), saved), absl::OkStatus());
  ASSERT_TRUE(AwaitNoJob());
  Must({"/usr/bin/systemctl", "is-active", "firewalld"});
  EXPECT_EQ(State(), before);
}

INSTANTIATE_TEST_SUITE_P(Firewalld, SlowFirewalldMachineTest,
                         testing::Values(FIREWALLD));

INSTANTIATE_TEST_SUITE_P(Programs, FirewallMachineTest,
                         testing::Values(UFW, FIREWALLD), [](const auto& test) {
                           return test.param == UFW ? "Ufw" : "Firewalld";
                         });

}  // namespace
}  // namespace clusterd
