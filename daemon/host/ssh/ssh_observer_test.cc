#include "daemon/host/ssh/ssh_observer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SshQuestion AskAbout(int servers) {
  SshQuestion question;
  question.set_user("ann");
  question.set_container_port(12345);
  for (int i = 0; i < servers; ++i) {
    SshQuestion::Peer* const peer = question.add_peers();
    peer->set_host(absl::StrCat("node", i));
    peer->set_address(absl::StrCat("10.0.", i / 250, ".", i % 250 + 1));
  }
  question.add_needed_variables("LD_LIBRARY_PATH");
  return question;
}

TEST(CheckSshQuestionTest, NothingButNamesNumbersAndAddressesIsActedOn) {
  EXPECT_TRUE(CheckSshQuestion(AskAbout(kMaxSshPeers)).ok());
  const std::function<void(SshQuestion&)> mistakes[] = {
      [](auto& q) { q.set_user("-oProxyCommand=id"); },
      [](auto& q) { q.set_user(""); },
      [](auto& q) { q.set_port(65536); },
      [](auto& q) { q.set_container_port(65536); },
      [](auto& q) { q.set_container_port(22); },
      [](auto& q) { q.mutable_peers(1)->set_address("node1.example"); },
      [](auto& q) { q.mutable_peers(1)->set_address("-oProxyCommand=id"); },
      [](auto& q) { q.mutable_peers(1)->set_address("0.0.0.0"); },
      [](auto& q) { q.mutable_peers(1)->set_address("224.0.0.1"); },
      [](auto& q) { q.mutable_peers(1)->clear_host(); },
      [](auto& q) { q.mutable_peers(1)->set_host(std::string(256, 'a')); },
      [](auto& q) { q.add_needed_variables("PATH; id"); },
      [](auto& q) { q.add_needed_variables(""); },
      [](auto& q) {
        for (int i = 0; i < 64; ++i) q.add_needed_variables("PATH");
      },
      [](auto& q) { q = AskAbout(kMaxSshPeers + 1); }};
  for (const auto& make : mistakes) {
    SshQuestion question = AskAbout(2);
    make(question);
    EXPECT_TRUE(absl::IsInvalidArgument(CheckSshQuestion(question)))
        << question.ShortDebugString().substr(0, 300);
  }
}

TEST(PeersToTryTest, EachBeginsWithItselfAndTriesAllOfFew) {
  EXPECT_THAT(PeersToTry(1, 0, 7), ElementsAre(0));
  EXPECT_THAT(PeersToTry(4, 2, 7), ElementsAre(2, 3, 0, 1));
  EXPECT_EQ(PeersToTry(64, 63, 7).size(), 64u);
}

TEST(PeersToTryTest, OfManyEveryServerIsTriedByAsMany) {
  std::vector<int> logins(1152);
  for (size_t self = 0; self < 1152; ++self) {
    const std::vector<size_t> peers = PeersToTry(1152, self, 3);
    EXPECT_EQ(std::set<size_t>(peers.begin(), peers.end()).size(),
              kMaxTriedPeers);
    EXPECT_EQ(peers[0], self);
    for (const size_t peer : peers) ++logins[peer];
  }
  EXPECT_THAT(logins, testing::Each(static_cast<int>(kMaxTriedPeers)));
}

TEST(PeersToTryTest, InTurnEveryPairIsTried) {
  std::set<size_t> tried;
  for (uint64_t turn = 1000; turn < 1000 + 19; ++turn) {
    for (const size_t peer : PeersToTry(1152, 5, turn)) tried.insert(peer);
  }
  EXPECT_EQ(tried.size(), 1152u);
}

// A server on loopback that sends `text` to one caller and reads nothing.
class Speaker {
 public:
  explicit Speaker(std::string text) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_, generic, size), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    EXPECT_EQ(getsockname(fd_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, text = std::move(text)] {
      const int caller = accept(fd_, nullptr, nullptr);
      size_t sent = 0;
      while (sent < text.size()) {
        const ssize_t wrote =
            send(caller, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (wrote <= 0) break;
        sent += static_cast<size_t>(wrote);
      }
      char byte;
      while (read(caller, &byte, 1) > 0) continue;
      close(caller);
    });
  }
  ~Speaker() {
    // A caller that gave up may never have come: ends the wait for it.
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  uint32_t port() const { return port_; }

 private:
  const int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  uint32_t port_ = 0;
  std::thread thread_;
};

const Ipv4Address kLoopback(INADDR_LOOPBACK);

TEST(GreetsAsSshTest, OnlyAnSshServerDoes) {
  const Speaker sshd("SSH-2.0-OpenSSH_9.2p1\r\n");
  EXPECT_TRUE(GreetsAsSsh(kLoopback, sshd.port(), kPatience));
  // It ends once the read limit is reached.
  const Speaker endless(std::string(1 << 20, 'x'));
  EXPECT_FALSE(GreetsAsSsh(kLoopback, endless.port(), kPatience));
}

TEST(GreetsAsSshTest, WhoSaysNothingIsNotWaitedFor) {
  const Speaker silent("");
  EXPECT_FALSE(GreetsAsSsh(kLoopback, silent.port(), absl::Milliseconds(50)));
}

// Programs of the test, chosen by a part of the command; the last match counts.
class Programs final : public CommandRunner {
 public:
  explicit Programs(FakeClock* clock) : clock_(clock) {}

  void Answer(const std::string& part, const std::string& out,
              const std::string& err = "", int status = 0) {
    CommandResult result;
    result.exit_status = status;
    result.standard_output = out;
    result.standard_error = err;
    answers_.push_back({part, result});
  }
  // Lets the program run until its deadline.
  void Hang(const std::string& part) {
    CommandResult result;
    result.timed_out = true;
    answers_.push_back({part, result});
  }

  absl::StatusOr<CommandResult> Run(const Command& command) override {
    absl::MutexLock lock(&mutex_);
    ran.push_back(command);
    const std::string line =
        absl::StrCat(absl::StrJoin(command.argv, " "), "$");
    for (auto each = answers_.rbegin(); each != answers_.rend(); ++each) {
      if (!absl::StrContains(line, each->first)) continue;
      CommandResult result = each->second;
      if (result.timed_out) {
        clock_->Advance(command.deadline);
        result.elapsed = command.deadline;
      }
      return result;
    }
    return absl::NotFoundError(line);
  }

  std::vector<Command> ran;

 private:
  FakeClock* const clock_;
  absl::Mutex mutex_;
  std::vector<std::pair<std::string, CommandResult>> answers_;
};

constexpr char kReadConfig[] = "head -c 65536 -- /home/ann/.ssh/config";

class ReadSshTest : public ::testing::Test {
 protected:
  ReadSshTest() {
    for (const char* const program :
         {"/usr/bin/getent", "/usr/bin/id", "/usr/bin/ssh", "/usr/bin/test",
          "/usr/bin/head", "/usr/bin/find", "/usr/sbin/sshd"}) {
      root_.WriteProgram(program, "#!/bin/sh\n");
    }
    for (const char* const table : {"tcp", "tcp6", "udp", "udp6"}) {
      root_.Write(absl::StrCat("/proc/net/", table), "  sl  local_address\n");
    }
    root_.Write("/etc/ssh/ssh_host_ed25519_key", "");
    programs_.Answer("getent passwd ann",
                     "ann:x:1000:1000::/home/ann:/bin/bash\n");
    programs_.Answer("id -G ann", "1000\n");
    programs_.Answer("test -x /home/ann", "");
    programs_.Answer(kReadConfig, "", "No such file or directory\n", 1);
    programs_.Answer("find -L /home/ann/.ssh/config", "");
    programs_.Answer("sshd -T",
                     "port 22\nlistenaddress 0.0.0.0:22\n"
                     "hostkey /etc/ssh/ssh_host_ed25519_key\n"
                     "hostkey /etc/ssh/ssh_host_rsa_key\n");
    programs_.Answer(" true$", "");
    programs_.Answer(" env$", "LD_LIBRARY_PATH=/x\nSECRET=hunter2\n");
  }
  SshFact Read(const SshQuestion& question = AskAbout(3)) {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(25));
    return ReadSsh({root_.paths(), &programs_, &budget}, question, {"node1"});
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const Command& each : programs_.ran) {
      lines.push_back(absl::StrJoin(each.argv, " "));
    }
    return lines;
  }

  ScratchRoot root_;
  FakeClock clock_;
  Programs programs_{&clock_};
};

TEST_F(ReadSshTest, TellsOfServersLoginsAndShell) {
  const SshFact fact = Read();
  ASSERT_TRUE(fact.has_value()) << fact.missing().ShortDebugString();
  const SshFact::Ssh& ssh = fact.value();
  EXPECT_EQ(ssh.user(), "ann");
  EXPECT_EQ(ssh.logins_size(), 6);
  for (const SshLogin& login : ssh.logins()) EXPECT_TRUE(login.works());
  EXPECT_EQ(ssh.logins(0).host(), "node1");
  EXPECT_THAT(ssh.servers(0),
              HasFields("host_keys: 1 port_configured: true command: ''"));
  EXPECT_EQ(ssh.servers(1).config_missing().reason(), Missing::NOT_QUERIED);
  EXPECT_THAT(ssh.not_exported(), IsEmpty());
  EXPECT_THAT(fact.ShortDebugString(), Not(HasSubstr("hunter2")));
}

TEST_F(ReadSshTest, EveryProgramThatMeetsTheUsersFilesIsTheUser) {
  Read();
  for (const Command& each : programs_.ran) {
    const bool is_users = absl::EndsWith(each.argv[0], "/ssh") ||
                          absl::EndsWith(each.argv[0], "/head") ||
                          absl::EndsWith(each.argv[0], "/find") ||
                          absl::EndsWith(each.argv[0], "/test");
    EXPECT_EQ(each.as.has_value(), is_users) << each.argv[0];
    if (is_users) {
      EXPECT_EQ(each.as->uid, 1000u);
    }
  }
}

TEST_F(ReadSshTest, SshAsksNobodyWritesNothingAndLeavesNothingBehind) {
  Read();
  const std::string line = Lines().back();
  for (const char* const option :
       {"BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no",
        "ControlMaster=no", "ControlPath=none", "ClearAllForwardings=yes",
        "PermitLocalCommand=no"}) {
    EXPECT_THAT(line, HasSubstr(absl::StrCat(" -o ", option, " ")));
  }
  EXPECT_THAT(line, HasSubstr(" -p 12345 -l ann -- 10.0.0.2 env"));
}

// Not even `ssh -G` may read the user's file: it runs Match commands.
TEST_F(ReadSshTest, SshReadsNoConfigurationButTheSafeLines) {
  programs_.Answer(kReadConfig,
                   "IdentityFile ~/.ssh/cluster\nProxyCommand touch /tmp/x\n");
  programs_.Answer(" true$", "",
                   "No ED25519 host key is known for 10.0.0.2 and you have "
                   "requested strict checking.\r\n"
                   "Host key verification failed.\r\n",
                   255);
  programs_.Answer("LogLevel=ERROR -G ", "stricthostkeychecking true\n");
  root_.Write("/etc/ssh/ssh_config", "HashKnownHosts yes\nInclude more\n");
  root_.Write("/etc/ssh/ssh_config.d/a.conf", "Port 7\n");
  root_.Write("/etc/ssh/ssh_config.d/a.conf.old", "Port 8\n");
  const SshFact fact = Read();
  int runs = 0;
  for (const Command& each : programs_.ran) {
    if (!absl::EndsWith(each.argv[0], "/ssh")) continue;
    ++runs;
    EXPECT_THAT(each.argv, Contains("/proc/self/fd/0"));
    EXPECT_THAT(each.input, HasSubstr("ProxyCommand none\n"));
    EXPECT_THAT(each.input, testing::EndsWith("IdentityFile ~/.ssh/cluster\n"
                                              "Host *\nPort 7\n"
                                              "Host *\nHashKnownHosts yes\n"));
  }
  EXPECT_GT(runs, 6);
  EXPECT_THAT(fact.value().logins(0).error(),
              testing::EndsWith("failed. (clusterd does not follow "
                                "ProxyCommand of the ssh configuration)"));
}

TEST_F(ReadSshTest, AConfigurationThatDoesNotAnswerIsNotWaitedFor) {
  programs_.Hang(kReadConfig);
  const SshFact fact = Read();
  EXPECT_EQ(fact.missing().reason(), Missing::TIMED_OUT);
  EXPECT_THAT(fact.missing().detail(), HasSubstr("/home/ann/.ssh/config"));
  EXPECT_THAT(Lines(), Not(Contains(HasSubstr("/usr/bin/ssh "))));
}

TEST_F(ReadSshTest, AConfigurationThatOthersCanWriteIsRefusedAsBySsh) {
  programs_.Answer(kReadConfig, "Port 22\n");
  programs_.Answer("find -L /home/ann/.ssh/config", "/home/ann/.ssh/config\n");
  EXPECT_EQ(Read().missing().detail(),
            "Bad owner or permissions on /home/ann/.ssh/config");
  EXPECT_THAT(Lines(), Not(Contains(HasSubstr("/usr/bin/ssh "))));
}

TEST_F(ReadSshTest, AServerThatTurnedItAwayIsAskedOnceMore) {
  programs_.Answer("-p 22 -l ann -- 10.0.0.3 true", "",
                   "kex_exchange_identification: Connection closed by remote "
                   "host\n",
                   255);
  const SshFact fact = Read();
  int asked = 0;
  for (const std::string& line : Lines()) {
    asked += absl::StrContains(line, "-p 22 -l ann -- 10.0.0.3 true") ? 1 : 0;
  }
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(fact.value().logins_size(), 6);
}

TEST_F(ReadSshTest, LoginsThatRanOutOfTimeAreNotReported) {
  programs_.Hang(" true$");
  const SshFact fact = Read(AskAbout(64));
  // Limits: 25 s a host, 10 s a command; logins cut at 5 s do not count.
  EXPECT_LE(fact.value().logins_size(), 2);
  for (const SshLogin& login : fact.value().logins()) {
    EXPECT_THAT(login.error(), HasSubstr("no answer in 10s"));
    EXPECT_TRUE(login.no_answer());
  }
}

TEST_F(ReadSshTest, WithoutALoginToItselfTheShellIsNotKnown) {
  programs_.Answer("-p 12345 -l ann -- 10.0.0.2 true", "",
                   "ann@10.0.0.2: Permission denied (publickey).\n", 255);
  const SshFact fact = Read();
  EXPECT_EQ(fact.value().environment_missing().reason(), Missing::NOT_QUERIED);
  EXPECT_THAT(Lines(), Not(Contains(HasSubstr(" env"))));
}

TEST_F(ReadSshTest, AnAccountThatMayNotRunCommandsIsNoLogin) {
  programs_.Answer("-p 22 -l ann -- 10.0.0.2 true",
                   "This account is currently not available.\n", "", 1);
  const SshFact fact = Read();
  EXPECT_FALSE(fact.value().logins(0).works());
  EXPECT_EQ(fact.value().logins(0).error(),
            "This account is currently not available.");
}

TEST_F(ReadSshTest, AConfigurationThatCannotBeReadHasItsReason) {
  programs_.Answer("sshd -T", "",
                   "Missing privilege separation directory: /run/sshd\n", 255);
  const SshFact fact = Read();
  EXPECT_THAT(fact.value().servers(0).config_missing().detail(),
              HasSubstr("Missing privilege separation directory"));
}

TEST_F(ReadSshTest, InAContainerItsOwnFileIsTheContainers) {
  const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(25));
  const SshFact fact = ReadSsh({root_.paths(), &programs_, &budget},
                               AskAbout(2), {"node1", /*in_container=*/true});
  EXPECT_FALSE(fact.value().servers(1).has_config_missing());
  EXPECT_FALSE(fact.value().servers(1).port_configured());
}

TEST_F(ReadSshTest, WithoutUserProgramOrOwnAddressNothingIsTried) {
  programs_.Answer("getent passwd ann", "", "", 2);
  EXPECT_EQ(Read().missing().reason(), Missing::ABSENT);
  SshQuestion others = AskAbout(1);
  EXPECT_TRUE(Read(others).has_missing());
  programs_.Answer("getent passwd ann",
                   "ann:x:1000:1000::/home/ann:/bin/bash\n");
  root_.Remove("/usr/bin/ssh");
  EXPECT_EQ(Read().missing().reason(), Missing::ABSENT);
  EXPECT_THAT(Lines(), Not(Contains(HasSubstr("/usr/bin/ssh "))));
}

TEST_F(ReadSshTest, AHomeThatIsHiddenIsNoRefusedKey) {
  programs_.Answer("test -x /home/ann", "", "", 1);
  const SshFact fact = Read();
  EXPECT_EQ(fact.missing().reason(), Missing::NOT_PERMITTED);
  EXPECT_THAT(fact.missing().detail(), HasSubstr("ProtectHome"));
  EXPECT_THAT(Lines(), Not(Contains(HasSubstr("/usr/bin/ssh "))));
}

TEST_F(ReadSshTest, AHomeThatDoesNotAnswerIsNotCalledHidden) {
  programs_.Hang("test -x /home/ann");
  const SshFact fact = Read();
  EXPECT_EQ(fact.missing().reason(), Missing::TIMED_OUT);
  EXPECT_THAT(fact.missing().detail(), HasSubstr("no answer in 10s"));
}

TEST_F(ReadSshTest, WithoutTheTableOfSocketsNothingIsKnown) {
  root_.Remove("/proc/net/tcp");
  EXPECT_TRUE(Read().has_missing());
}

}  // namespace
}  // namespace clusterd
