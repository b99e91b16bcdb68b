// Uses real sshd and ssh: as root, where the kernel allows namespaces. Two
// servers are two connected network namespaces. The first also has its own
// process namespace, /etc and /home, so that nothing leaves the test or
// outlives it.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/ssh/ssh_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kNoNamespaces = 77;
constexpr int kScriptFailed = 78;

// Sets up two servers: sshd on port 22 and 12345 of both, and ann, whose key
// both accept and who knows all four host keys.
constexpr char kTwoServers[] = R"sh(
set -eu
mount -t tmpfs tmpfs /mnt
cp -a /etc /mnt/etc
mount --bind /mnt/etc /etc
mount -t tmpfs tmpfs /home
mount -t tmpfs tmpfs /run
mkdir /run/sshd
rm -f /etc/ssh/sshd_config.d/* /etc/ssh/ssh_host_*
echo 'ann:x:4321:4321::/home/ann:/bin/bash' >>/etc/passwd
echo 'ann:*:19000:0:99999:7:::' >>/etc/shadow
echo 'ann:x:4321:' >>/etc/group
mkdir -p /home/ann/.ssh
ssh-keygen -q -t ed25519 -N '' -f /home/ann/.ssh/id_ed25519
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/other_key
cp /home/ann/.ssh/id_ed25519.pub /etc/ssh/accepted_here
cp /home/ann/.ssh/id_ed25519.pub /etc/ssh/accepted_there
echo 'export LD_LIBRARY_PATH=/usr/local/openmpi/lib' >/home/ann/.bashrc

ip link set lo up
unshare --net sleep infinity &
there=$!
while [ "$(readlink /proc/$there/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do :; done
ip link add here type veth peer name there netns $there
ip addr add 10.99.0.1/24 dev here
ip link set here up
nsenter -t $there -n ip addr add 10.99.0.2/24 dev there
nsenter -t $there -n ip link set there up
nsenter -t $there -n ip link set lo up

# name of the file, port, address, keys, host key
config() {
  printf '%s\n' "Port $2" "ListenAddress $3" "AuthorizedKeysFile $4" \
    "HostKey $5" 'UsePAM no' 'PasswordAuthentication no' \
    'KbdInteractiveAuthentication no' "PidFile /run/$1.pid" >/etc/ssh/$1
}
key=/etc/ssh/ssh_host_ed25519_key
config sshd_config 22 0.0.0.0 /etc/ssh/accepted_here $key
config container 12345 10.99.0.1 /etc/ssh/accepted_here $key
config there 22 10.99.0.2 /etc/ssh/accepted_there $key
config there_container 12345 10.99.0.2 /etc/ssh/accepted_there $key
public=$(cut -d' ' -f1,2 $key.pub)
for address in 10.99.0.1 10.99.0.2; do
  echo "$address $public"
  echo "[$address]:12345 $public"
done >/home/ann/.ssh/known_hosts
)sh";

constexpr char kStart[] = R"sh(
chown -R 4321:4321 /home/ann
chmod -R go-w /home/ann
/usr/sbin/sshd
[ ! -f /etc/ssh/container ] || /usr/sbin/sshd -f /etc/ssh/container
for each in there there_container; do
  [ ! -f /etc/ssh/$each ] || nsenter -t $there -n /usr/sbin/sshd -f /etc/ssh/$each
done
# sshd returns before it listens, and then writes its pid.
for each in sshd_config container there there_container; do
  until [ ! -f /etc/ssh/$each ] || [ -s /run/$each.pid ]; do sleep 0.01; done
done
)sh";

SshQuestion AskBoth() {
  SshQuestion question;
  question.set_user("ann");
  question.set_container_port(12345);
  for (const int i : {1, 2}) {
    SshQuestion::Peer* const peer = question.add_peers();
    peer->set_host(absl::StrCat("node0", i));
    peer->set_address(absl::StrCat("10.99.0.", i));
  }
  question.add_needed_variables("LD_LIBRARY_PATH");
  question.add_needed_variables("ASCEND_OPP_PATH");
  return question;
}

// Runs as process 1 of namespaces that end with it and all its processes.
[[noreturn]] void ObserveInside(const std::string& script,
                                const SshQuestion& question,
                                const std::string& afterwards, int answer) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("proc", "/proc", "proc", 0, nullptr) != 0) {
    _exit(kNoNamespaces);
  }
  PosixCommandRunner runner;
  // Without setsid, the script's background processes would be killed.
  const auto made = runner.Run({{"/usr/bin/setsid", "--wait", "/bin/bash", "-c",
                                 absl::StrCat(script, kStart)},
                                kPatience});
  if (!made.ok() || made->timed_out || made->exit_status != 0) {
    const std::string why =
        made.ok() ? made->standard_error : made.status().ToString();
    (void)!write(STDERR_FILENO, why.data(), why.size());
    _exit(kScriptFailed);
  }
  SystemClock clock;
  const TimeBudget budget(&clock, kPatience, kPatience);
  SshPlace place = {"node01"};
  place.greeting_time = kPatience;
  SshFact fact = ReadSsh({HostPaths{}, &runner, &budget}, question, place);
  const auto after = runner.Run({{"/bin/bash", "-c", afterwards}, kPatience});
  if (!after.ok() || after->timed_out || after->exit_status != 0) {
    _exit(kScriptFailed);
  }
  const std::string bytes = fact.SerializeAsString();
  _exit(write(answer, bytes.data(), bytes.size()) ==
                static_cast<ssize_t>(bytes.size())
            ? 0
            : 1);
}

class SshMachineTest : public ::testing::Test {
 protected:
  // Returns what node01 observes after `change` to kTwoServers' setup;
  // `afterwards` runs last and must end with 0.
  SshFact::Ssh Observe(const std::string& change,
                       const SshQuestion& question = AskBoth(),
                       const std::string& afterwards = "true") {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t outer = fork();
    if (outer == 0) {
      close(ends[0]);
      if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) != 0) {
        _exit(kNoNamespaces);
      }
      const pid_t first = fork();
      if (first == 0) {
        ObserveInside(absl::StrCat(kTwoServers, change), question, afterwards,
                      ends[1]);
      }
      int status = 0;
      waitpid(first, &status, 0);
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    close(ends[1]);
    std::string bytes;
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
      bytes.append(buffer, static_cast<size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(outer, &status, 0), outer);
    status_ = WEXITSTATUS(status);
    SshFact fact;
    EXPECT_TRUE(fact.ParseFromString(bytes));
    EXPECT_FALSE(fact.has_missing()) << fact.missing().ShortDebugString();
    return fact.value();
  }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root makes namespaces";
    if (access("/usr/sbin/sshd", X_OK) != 0) GTEST_SKIP() << "no sshd";
  }
  // True if the observation was not possible.
  bool WasSkipped() const { return status_ == kNoNamespaces; }

  int status_ = 0;
};

// Returns "node02:12345 Permission denied", and so on, for each failed login.
std::vector<std::string> Failures(const SshFact::Ssh& ssh) {
  std::vector<std::string> failures;
  for (const SshLogin& login : ssh.logins()) {
    if (login.works()) continue;
    failures.push_back(
        absl::StrCat(login.host(), ":", login.port(), " ", login.error()));
  }
  return failures;
}

#define OBSERVE(ssh, ...)                            \
  const SshFact::Ssh ssh = Observe(__VA_ARGS__);     \
  if (WasSkipped()) GTEST_SKIP() << "no namespaces"; \
  ASSERT_EQ(status_, 0)

TEST_F(SshMachineTest, EveryLoginWorksWhereEverythingIsInOrder) {
  OBSERVE(ssh, "");
  EXPECT_EQ(ssh.logins_size(), 4);
  EXPECT_THAT(Failures(ssh), IsEmpty());
  EXPECT_THAT(ssh.not_exported(), ElementsAre("ASCEND_OPP_PATH"));
  EXPECT_FALSE(ssh.has_environment_missing());
  ASSERT_EQ(ssh.servers_size(), 2);
  const SshServer& own = ssh.servers(0);
  EXPECT_EQ(own.command(), "sshd");
  EXPECT_GT(own.pid(), 0u);
  EXPECT_THAT(own,
              HasFields("answers: true port_configured: true host_keys: 1"));
  const SshServer& container = ssh.servers(1);
  EXPECT_TRUE(container.answers());
  EXPECT_THAT(container.listen_addresses(), ElementsAre("10.99.0.1:12345"));
  EXPECT_EQ(container.config_missing().reason(), Missing::NOT_QUERIED);
}

TEST_F(SshMachineTest, AServerThatLacksTheKeyRefusesAlone) {
  OBSERVE(ssh, "echo >/etc/ssh/accepted_there");
  EXPECT_THAT(Failures(ssh),
              ElementsAre("node02:22 ann@10.99.0.2: Permission denied "
                          "(publickey).",
                          "node02:12345 ann@10.99.0.2: Permission denied "
                          "(publickey)."));
}

TEST_F(SshMachineTest, AStaleEntryIsNamedWithFileAndLine) {
  OBSERVE(ssh,
          "sed -i s,ssh_host_ed25519_key,other_key, /etc/ssh/there_container");
  EXPECT_THAT(Failures(ssh),
              ElementsAre("node02:12345 Host key verification failed."));
  EXPECT_EQ(ssh.logins(3).stale_entry(), "/home/ann/.ssh/known_hosts:4");
}

TEST_F(SshMachineTest, AStaleEntryThatTheUserDoesNotMindIsStillNamed) {
  OBSERVE(ssh,
          "sed -i s,ssh_host_ed25519_key,other_key, /etc/ssh/there_container; "
          "echo StrictHostKeyChecking no >/home/ann/.ssh/config");
  EXPECT_THAT(Failures(ssh), IsEmpty());
  EXPECT_EQ(ssh.logins(3).stale_entry(), "/home/ann/.ssh/known_hosts:4");
}

TEST_F(SshMachineTest, AnUnknownKeyEndsTheLoginUnlessTheUserTakesNewOnes) {
  const char* const forget = "sed -i 2,4d /home/ann/.ssh/known_hosts; ";
  const char* const untouched = "[ $(wc -l </home/ann/.ssh/known_hosts) = 1 ]";
  OBSERVE(asked, forget, AskBoth(), untouched);
  // A key known for an address is accepted on its other ports.
  EXPECT_THAT(Failures(asked),
              ElementsAre("node02:22 Host key verification failed.",
                          "node02:12345 Host key verification failed."));
  OBSERVE(taken,
          absl::StrCat(
              forget,
              "echo StrictHostKeyChecking accept-new >/home/ann/.ssh/config"),
          AskBoth(), untouched);
  EXPECT_THAT(Failures(taken), IsEmpty());
}

TEST_F(SshMachineTest, AServerWithoutSshdRefusesTheConnection) {
  OBSERVE(ssh, "rm /etc/ssh/there_container");
  EXPECT_THAT(Failures(ssh),
              ElementsAre("node02:12345 ssh: connect to host 10.99.0.2 port "
                          "12345: Connection refused"));
}

TEST_F(SshMachineTest, BeforeTheStartThePortOfTheContainersIsOnlyRead) {
  SshQuestion before = AskBoth();
  before.set_before(true);
  OBSERVE(unused, "rm /etc/ssh/container", before);
  EXPECT_EQ(unused.servers(1).command(), "");
  EXPECT_EQ(unused.logins_size(), 2);
  OBSERVE(used, "", before);
  EXPECT_EQ(used.servers(1).command(), "sshd");
}

TEST_F(SshMachineTest, NothingIsReadThroughALinkThatTheUserMade) {
  OBSERVE(ssh,
          "rm /home/ann/.ssh/known_hosts; "
          "ln -s /etc/shadow /home/ann/.ssh/known_hosts");
  EXPECT_EQ(Failures(ssh).size(), 4u);
  EXPECT_EQ(ssh.environment_missing().reason(), Missing::NOT_QUERIED);
  EXPECT_THAT(ssh.ShortDebugString(), Not(HasSubstr("19000")));
}

// Their processes would be children of a root daemon.
TEST_F(SshMachineTest, NothingIsRunThatTheUsersConfigurationNames) {
  OBSERVE(ssh, R"sh(
cat >/home/ann/.ssh/config <<'EOT'
ProxyCommand sh -c "touch /home/ann/ran; exec nc %h %p"
ProxyJump ann@10.99.0.1
KnownHostsCommand /bin/sh -c "touch /home/ann/ran"
PermitLocalCommand yes
LocalCommand touch /home/ann/ran
ForkAfterAuthentication yes
SessionType none
RemoteCommand touch /home/ann/ran
PKCS11Provider /home/ann/x.so
IdentityAgent /home/ann/pipe
Include more
Match exec "touch /home/ann/ran"
  UserKnownHostsFile /dev/null
Match host 10.99.0.* exec "touch /home/ann/ran"
  User nobody
EOT
echo 'ProxyCommand touch /home/ann/ran' >/home/ann/.ssh/more
mkfifo /home/ann/pipe
)sh",
          AskBoth(), "[ ! -e /home/ann/ran ]");
  EXPECT_THAT(Failures(ssh), IsEmpty());
  EXPECT_EQ(ssh.logins_size(), 4);
}

// A login that fails because of that names it.
TEST_F(SshMachineTest, WhatOfTheConfigurationIsNotFollowedIsNamed) {
  OBSERVE(ssh,
          "rm /etc/ssh/there_container; "
          "echo 'ProxyJump ann@10.99.0.1' >/home/ann/.ssh/config");
  EXPECT_THAT(
      Failures(ssh),
      ElementsAre("node02:12345 ssh: connect to host 10.99.0.2 port 12345: "
                  "Connection refused (clusterd does not follow ProxyJump of "
                  "the ssh configuration)"));
}

TEST_F(SshMachineTest, TheUsersKeyAndTheMachinesConfigurationCount) {
  OBSERVE(ssh, R"sh(
mv /home/ann/.ssh/id_ed25519 /home/ann/.ssh/cluster
printf 'Host 10.99.*\n  IdentityFile ~/.ssh/cluster\n' >/home/ann/.ssh/config
rm /home/ann/.ssh/known_hosts
mkdir -p /etc/ssh/ssh_config.d
echo 'StrictHostKeyChecking no' >/etc/ssh/ssh_config.d/site.conf
)sh");
  EXPECT_THAT(Failures(ssh), IsEmpty());
}

}  // namespace
}  // namespace clusterd
