#include "daemon/host/ssh/ssh_observer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/algorithm/container.h"
#include "config/values/owned_fd.h"
#include "config/values/port_set.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/sockets/socket_observer.h"

namespace clusterd {
namespace {

constexpr absl::string_view kSsh[] = {"/usr/bin/ssh", "/bin/ssh"};
constexpr absl::string_view kSshd[] = {"/usr/sbin/sshd", "/sbin/sshd"};
constexpr absl::string_view kTest[] = {"/usr/bin/test", "/bin/test"};
constexpr uint32_t kDefaultPort = 22;
constexpr size_t kMaxHostNameBytes = 255;
constexpr int kMaxVariables = 64;
constexpr size_t kMaxGreetingBytes = 8 << 10;

absl::Status Refused(absl::string_view what, absl::string_view value) {
  return InvalidWords("fact-ssh-question", Term(what), QuotedText(value));
}

bool IsHostAddress(absl::string_view text) {
  const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(text);
  return address.ok() && !address->IsUnset() && !address->IsMulticast() &&
         !address->IsClassE();
}

using SteadyTime = std::chrono::steady_clock::time_point;

bool WaitFor(int fd, short events, SteadyTime end) {
  while (true) {
    const absl::Duration left =
        absl::FromChrono(end - std::chrono::steady_clock::now());
    if (left <= absl::ZeroDuration()) return false;
    pollfd wanted = {fd, events, 0};
    const int count =
        poll(&wanted, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
}

// Reads the effective configuration of this machine's sshd.
absl::StatusOr<SshdConfig> ReadSshdConfig(const HostAccess& host) {
  ASSIGN_OR_RETURN(const std::string sshd, FindProgram(host.paths.root, kSshd));
  ASSIGN_OR_RETURN(
      const CommandResult result,
      RunWithin(*host.budget, host.runner, "`sshd -T`", {sshd, "-T"}));
  SshdConfig config = ParseSshdConfig(result.standard_output);
  if (result.exit_status == 0 && !config.ports.empty()) return config;
  return InFront("`sshd -T`",
                 absl::FailedPreconditionError(PrintableText(
                     ParseLoginFailure(result.standard_error).error)));
}

// Without the user's home no key is found, and every login fails: the service's
// sandbox may hide it (systemd.exec(5), ProtectHome).
absl::Status CheckHome(const HostAccess& host, const RunAs& user) {
  ASSIGN_OR_RETURN(const std::string test, FindProgram(host.paths.root, kTest));
  const std::string home =
      absl::StrCat("home of ", user.name, ", ", PrintableText(user.home));
  ASSIGN_OR_RETURN(const CommandResult result,
                   RunWithin(*host.budget, host.runner, home,
                             {test, "-x", user.home}, kMaxStreamBytes, user));
  if (result.exit_status == 0) return absl::OkStatus();
  return DeniedWords("fact-no-home", home);
}

void DescribeListener(const SocketsFact::Sockets& sockets, SshServer* server) {
  for (const BoundSocket& socket : sockets.sockets()) {
    if (socket.port() != server->port() || socket.state() != "LISTEN") continue;
    const bool is_v6 = socket.protocol() == "tcp6";
    server->add_listen_addresses(absl::StrCat(
        is_v6 ? "[" : "", socket.address(), is_v6 ? "]:" : ":", socket.port()));
    if (server->pid() != 0) continue;
    server->set_pid(socket.pid());
    server->set_command(socket.command().empty()
                            ? "a process that clusterd cannot see"
                            : socket.command());
  }
}

// Answers one question.
class Answer {
 public:
  Answer(const HostAccess& host, const SshQuestion& question,
         const SshPlace& place)
      : host_(host), question_(question), place_(place) {}

  absl::StatusOr<SshFact::Ssh> Make() {
    RETURN_IF_ERROR(CheckSshQuestion(question_));
    const auto own =
        absl::c_find_if(question_.peers(), [&](const SshQuestion::Peer& peer) {
          return peer.host() == place_.host;
        });
    if (own == question_.peers().end()) {
      return Refused("no address of this host,", place_.host);
    }
    self_ = static_cast<size_t>(own - question_.peers().begin());
    SshFact::Ssh ssh;
    ssh.set_user(question_.user());
    ASSIGN_OR_RETURN(const RunAs user,
                     FindUser(host_.paths.root, host_.runner, *host_.budget,
                              question_.user()));
    ASSIGN_OR_RETURN(const std::string program,
                     FindProgram(host_.paths.root, kSsh));
    RETURN_IF_ERROR(CheckHome(host_, user));
    RETURN_IF_ERROR(AddServers(&ssh));
    ASSIGN_OR_RETURN(SshConfig config, ReadSshConfig(host_, user));
    const SshAccess access = {host_, program, user, std::move(config)};
    ASSIGN_OR_RETURN(std::vector<SshLogin> tried, TryLogins(access, Targets()));
    for (SshLogin& each : tried) *ssh.add_logins() = std::move(each);
    const absl::Status exported = ReadExported(access, &ssh);
    if (!exported.ok()) {
      *ssh.mutable_environment_missing() = MissingFor(exported);
    }
    return ssh;
  }

 private:
  uint32_t port() const {
    return question_.port() == 0 ? kDefaultPort : question_.port();
  }

  void DescribeConfig(const absl::StatusOr<SshdConfig>& config,
                      SshServer* server) const {
    if (!config.ok()) {
      *server->mutable_config_missing() = MissingFor(config.status());
      return;
    }
    const bool is_own = config->ports.count(server->port()) > 0;
    if (!is_own && !place_.in_container &&
        server->port() == question_.container_port()) {
      *server->mutable_config_missing() =
          MakeMissing(Missing::NOT_QUERIED, Worded("fact-no-sshd-config"));
      return;
    }
    server->set_port_configured(is_own);
    server->set_host_keys(static_cast<uint32_t>(absl::c_count_if(
        config->host_keys, [files = host_.files()](const std::string& path) {
          return files.CheckExists(path).ok();
        })));
    if (server->listen_addresses().empty() && !question_.before()) {
      for (std::string& each : config->AddressesOf(server->port())) {
        server->add_listen_addresses(std::move(each));
      }
    }
  }

  absl::Status AddServers(SshFact::Ssh* ssh) {
    std::vector<uint32_t> wanted = {port()};
    if (question_.container_port() != 0) {
      wanted.push_back(question_.container_port());
    }
    PortSet ports;
    for (const uint32_t each : wanted) ports.Add(each, each);
    const SocketsFact sockets =
        ReadSockets(host_.files(), ports, *host_.budget);
    if (sockets.has_missing()) {
      return UnavailableWords("fact-listeners", DetailOf(sockets.missing()));
    }
    const absl::StatusOr<SshdConfig> config = ReadSshdConfig(host_);
    for (const uint32_t each : wanted) {
      SshServer* const server = ssh->add_servers();
      server->set_port(each);
      DescribeListener(sockets.value(), server);
      DescribeConfig(config, server);
      if (server->command().empty()) continue;
      server->set_answers(
          GreetsAsSsh(Target(self_, each).address, each,
                      std::min(place_.greeting_time, host_.budget->Left())));
    }
    return absl::OkStatus();
  }

  LoginTarget Target(size_t peer, uint32_t port) const {
    const SshQuestion::Peer& each = question_.peers(static_cast<int>(peer));
    return {each.host(),
            Ipv4Address::Parse(each.address()).value_or(Ipv4Address()), port};
  }

  std::vector<LoginTarget> Targets() const {
    std::vector<LoginTarget> targets;
    const bool has_containers =
        question_.container_port() != 0 && !question_.before();
    for (const size_t peer : PeersToTry(
             static_cast<size_t>(question_.peers_size()), self_, place_.turn)) {
      targets.push_back(Target(peer, port()));
      if (has_containers) {
        targets.push_back(Target(peer, question_.container_port()));
      }
    }
    return targets;
  }

  // Reads the variables of a launch's first shell, in a container if any.
  absl::Status ReadExported(const SshAccess& access, SshFact::Ssh* ssh) const {
    if (question_.before()) {
      return CancelledWords("fact-no-sshd-yet");
    }
    const bool has_containers = question_.container_port() != 0;
    const LoginTarget target =
        Target(self_, has_containers ? question_.container_port() : port());
    const bool works =
        absl::c_any_of(ssh->logins(), [&](const SshLogin& login) {
          return login.works() && login.host() == target.host &&
                 login.port() == target.port;
        });
    if (!works) return CancelledWords("fact-no-own-login");
    ASSIGN_OR_RETURN(const std::string environment,
                     ReadEnvironment(access, target));
    for (std::string& each : NotExported({question_.needed_variables().begin(),
                                          question_.needed_variables().end()},
                                         environment)) {
      ssh->add_not_exported(std::move(each));
    }
    return absl::OkStatus();
  }

  const HostAccess& host_;
  const SshQuestion& question_;
  const SshPlace& place_;
  size_t self_ = 0;
};

}  // namespace

absl::Status CheckSshQuestion(const SshQuestion& question) {
  static const LazyRE2 kVariable = {"[A-Za-z_][A-Za-z0-9_]{0,127}"};
  RETURN_IF_ERROR(CheckUserName(question.user()));
  for (const uint32_t port : {question.port(), question.container_port()}) {
    if (port > 65535) return Refused("port", absl::StrCat(port));
  }
  const uint32_t port = question.port() == 0 ? kDefaultPort : question.port();
  if (question.container_port() == port) {
    return Refused("two servers on port", absl::StrCat(port));
  }
  if (static_cast<size_t>(question.peers_size()) > kMaxSshPeers) {
    return Refused("more servers than it takes,",
                   absl::StrCat(question.peers_size()));
  }
  for (const SshQuestion::Peer& peer : question.peers()) {
    if (peer.host().empty() || peer.host().size() > kMaxHostNameBytes) {
      return Refused("server", peer.host());
    }
    if (!IsHostAddress(peer.address())) {
      return Refused("address", peer.address());
    }
  }
  if (question.needed_variables_size() > kMaxVariables) {
    return Refused("more variables than it takes,",
                   absl::StrCat(question.needed_variables_size()));
  }
  for (const std::string& name : question.needed_variables()) {
    if (!HasForm(name, *kVariable)) return Refused("variable", name);
  }
  return absl::OkStatus();
}

std::vector<size_t> PeersToTry(size_t count, size_t self, uint64_t turn) {
  std::vector<size_t> peers = {self};
  if (count <= 1) return peers;
  const size_t others = count - 1;
  const size_t most = std::min(others, kMaxTriedPeers - 1);
  const size_t begin = others == most ? 0 : turn % others * most % others;
  for (size_t i = 0; i < most; ++i) {
    peers.push_back((self + 1 + (begin + i) % others) % count);
  }
  return peers;
}

bool GreetsAsSsh(Ipv4Address address, uint32_t port, absl::Duration deadline) {
  const SteadyTime end =
      std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(deadline);
  const OwnedFd socket(
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return false;
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(address.bits());
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) !=
          0 &&
      errno != EINPROGRESS) {
    return false;
  }
  std::string received;
  char buffer[1024];
  while (received.size() < kMaxGreetingBytes &&
         WaitFor(socket.get(), POLLIN, end)) {
    const ssize_t got = read(socket.get(), buffer, sizeof(buffer));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    received.append(buffer, static_cast<size_t>(got));
    if (IsGreeting(received)) return true;
  }
  return false;
}

SshFact ReadSsh(const HostAccess& host, const SshQuestion& question,
                const SshPlace& place) {
  return MakeFact<SshFact>(Answer(host, question, place).Make());
}

}  // namespace clusterd
