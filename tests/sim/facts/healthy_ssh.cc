#include "tests/sim/facts/healthy_ssh.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

constexpr int kMaxTriedPeers = 64;

void AddServer(uint32_t port, const std::string& address, bool is_container,
               bool listens, SshFact::Ssh* ssh) {
  SshServer* const server = ssh->add_servers();
  server->set_port(port);
  if (is_container) {
    Missing* const missing = server->mutable_config_missing();
    missing->set_reason(Missing::NOT_QUERIED);
    missing->set_detail("clusterd does not see the sshd_config of a container");
  } else {
    server->set_host_keys(3);
    server->set_port_configured(true);
  }
  if (!listens) return;
  server->set_pid(is_container ? 5012 : 812);
  server->set_command("sshd");
  server->set_answers(true);
  server->add_listen_addresses(
      absl::StrCat(is_container ? address : "0.0.0.0", ":", port));
}

}  // namespace

SshFact MakeHealthySsh(const std::string& host, const SshQuestion& question) {
  SshFact fact;
  SshFact::Ssh* const ssh = fact.mutable_value();
  ssh->set_user(question.user());
  const int count = question.peers_size();
  int self = 0;
  while (self < count && question.peers(self).host() != host) ++self;
  if (self == count) {
    fact.mutable_missing()->set_reason(Missing::UNREADABLE);
    return fact;
  }
  const uint32_t port = question.port() == 0 ? 22 : question.port();
  const std::string& address = question.peers(self).address();
  AddServer(port, address, false, true, ssh);
  std::vector<uint32_t> ports = {port};
  if (const uint32_t container = question.container_port(); container != 0) {
    AddServer(container, address, true, !question.before(), ssh);
    if (!question.before()) ports.push_back(container);
  }
  for (int i = 0; i < std::min(count, kMaxTriedPeers); ++i) {
    const SshQuestion::Peer& peer = question.peers((self + i) % count);
    for (const uint32_t each : ports) {
      SshLogin* const login = ssh->add_logins();
      login->set_host(peer.host());
      login->set_address(peer.address());
      login->set_port(each);
      login->set_works(true);
    }
  }
  return fact;
}

}  // namespace clusterd
