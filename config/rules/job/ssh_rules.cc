// Requirements of an MPI launch: sshd on the hosts and in containers, and key
// logins from every server of the job to every other.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/values/change_kind.h"
#include "config/words/fact_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// A host tries as many servers in one check (daemon/host/ssh).
constexpr size_t kMaxTriedServers = 64;
constexpr size_t kMaxCommands = 3;
constexpr int kHostsColumns = 60;

// The last line of ssh (OpenSSH 9.2, ssh.c, sshconnect.c, sshconnect2.c, kex.c)
// and its finding; the first contained text applies.
constexpr std::pair<absl::string_view, absl::string_view> kCauses[] = {
    {"Permission denied (", "no-key"},
    {"Host key verification failed", "unknown-key"},
    {"Connection refused", "refused"},
    {"timed out", "unreachable"},
    {"No route to host", "unreachable"},
    {"Network is unreachable", "unreachable"},
    {"kex_exchange_identification", "no-answer"},
    {"Connection closed by", "no-answer"},
    {"Connection reset by", "no-answer"}};

absl::string_view FindingOf(const SshLogin& login) {
  if (!login.stale_entry().empty()) {
    return login.works() ? "stale-key-taken" : "stale-key";
  }
  if (login.works()) return "";
  if (login.no_answer()) return "no-answer";
  for (const auto& [words, finding] : kCauses) {
    if (absl::StrContains(login.error(), words)) return finding;
  }
  return "login-fails";
}

// The command that repairs it as the job's user. The address is the spec's own;
// the file of a stale entry comes from the host.
std::string CommandFor(absl::string_view finding, const SshLogin& login,
                       const std::string& address, const std::string& user) {
  const bool is_default = login.port() == 22;
  const std::string port =
      is_default ? "" : absl::StrCat("-p ", login.port(), " ");
  if (finding == "no-key") {
    return absl::StrCat("ssh-copy-id -i ~/.ssh/id_rsa.pub ", port, user, "@",
                        address);
  }
  if (finding == "unknown-key") {
    return absl::StrCat("ssh-keyscan ", port, address,
                        " >> ~/.ssh/known_hosts");
  }
  if (!absl::StartsWith(finding, "stale-key")) {
    return absl::StrCat("ssh -o BatchMode=yes ", port, user, "@", address,
                        " true");
  }
  const std::string& entry = login.stale_entry();
  const std::string file = entry.substr(0, entry.rfind(':'));
  return absl::StrCat(
      "ssh-keygen ",
      absl::StartsWith(file, "/") ? absl::StrCat("-f ", ShellQuoted(file), " ")
                                  : "",
      "-R ",
      is_default ? address
                 : absl::StrCat("\"[", address, "]:", login.port(), "\""));
}

// Open MPI needs the first where it has a folder of its own; set_env.sh of CANN
// exports the second (sources: the rule's row).
constexpr const char* kLaunchVariables[] = {"LD_LIBRARY_PATH",
                                            "ASCEND_OPP_PATH"};

// Logins of one host that have the same finding on the same port.
struct Failed {
  std::vector<std::string> hosts, commands, entries;
  std::string error;  // The first one's.
};

FindingValue CommandsWords(const std::vector<std::string>& commands) {
  const size_t shown = std::min(kMaxCommands, commands.size());
  const std::string text =
      absl::StrJoin(commands.begin(), commands.begin() + shown, "; ");
  if (shown == commands.size()) return ToFindingValue(text);
  return Worded("ssh-commands-and-more", text,
                Counted(commands.size() - shown, "more server"));
}

class SshJudge {
 public:
  SshJudge(const ClusterView& view, RuleReport& report)
      : job_(view.job()->ssh()), report_(report) {
    for (const ServerSpec& server : view.spec().servers()) {
      if (!server.address().empty()) {
        addresses_[server.host()] = server.address();
      }
    }
  }

  void Judge(const HostView& host);
  // After all hosts.
  void AddNotes() const;

 private:
  uint32_t port() const { return job_.port() == 0 ? 22 : job_.port(); }
  bool IsContainers(uint32_t port) const {
    return port == job_.container_port();
  }
  std::vector<uint32_t> Ports() const;
  bool IsAboutThisJob(const SshFact::Ssh& ssh) const;
  FindingValue HowToStart(uint32_t port) const;
  void JudgeServer(const HostView& host, const SshServer& server);
  void JudgeConfig(const HostView& host, const SshServer& server);
  void JudgeLogins(const HostView& host, uint32_t port,
                   const SshFact::Ssh& ssh);
  void AddFailed(const HostView& host, uint32_t port, absl::string_view finding,
                 const Failed& failed, size_t tried);
  void JudgeExported(const HostView& host, const SshFact::Ssh& ssh);

  const JobSsh& job_;
  RuleReport& report_;
  std::map<std::string, std::string> addresses_;  // The job's servers.
  size_t unseen_configs_ = 0;
};

std::vector<uint32_t> SshJudge::Ports() const {
  std::vector<uint32_t> ports = {port()};
  if (job_.container_port() != 0) ports.push_back(job_.container_port());
  return ports;
}

bool SshJudge::IsAboutThisJob(const SshFact::Ssh& ssh) const {
  return ssh.user() == job_.user() &&
         absl::c_all_of(Ports(), [&](uint32_t port) {
           return FirstWith(ssh.servers(), &SshServer::port, port) != nullptr;
         });
}

FindingValue SshJudge::HowToStart(uint32_t port) const {
  return IsContainers(port) ? Worded("ssh-start-in-container", port)
                            : Worded("ssh-restart");
}

void SshJudge::JudgeServer(const HostView& host, const SshServer& server) {
  const uint32_t port = server.port();
  const std::string address = host.address->ToString();
  const bool is_before = job_.before() && IsContainers(port);
  const bool listens = !server.command().empty();
  const std::string command = PrintableText(server.command());
  const FindingValue who = server.pid() == 0
                               ? ToFindingValue(command)
                               : Worded("ssh-command", command, server.pid());
  if (is_before) {
    if (listens) report_.Add(host, "used-before", port, who);
  } else if (!listens) {
    report_.Add(host, "no-listener", port, HowToStart(port));
  } else if (!server.answers()) {
    report_.Add(host, "no-greeting", port, address, who, HowToStart(port));
  }
  JudgeConfig(host, server);
  if (!IsContainers(port) || (listens && !server.answers())) return;
  for (const std::string& each : server.listen_addresses()) {
    if (!absl::StartsWith(each, "0.0.0.0:") && !absl::StartsWith(each, "[::]:"))
      continue;
    return report_.Add(host, "every-address", port, PrintableText(each),
                       address);
  }
}

void SshJudge::JudgeConfig(const HostView& host, const SshServer& server) {
  const uint32_t port = server.port();
  if (server.has_config_missing()) {
    const Missing& missing = server.config_missing();
    if (missing.reason() == Missing::NOT_QUERIED && IsContainers(port)) {
      ++unseen_configs_;
    } else {
      report_.Add(host, "not-known", "sshd_config", MissingWords(&missing),
                  LearnWords(&missing));
    }
    return;
  }
  // An sshd that answers has its keys and a configured port.
  if (!server.port_configured()) {
    if (server.answers()) {
      report_.Add(host, "port-lost-at-restart", port);
    } else {
      report_.Add(host, "no-port", port, HowToStart(port));
    }
  }
  if (server.host_keys() == 0 && !server.answers()) {
    report_.Add(host, "no-host-keys", port, HowToStart(port));
  }
}

void SshJudge::AddFailed(const HostView& host, uint32_t port,
                         absl::string_view finding, const Failed& failed,
                         size_t tried) {
  const FindingValue hosts = HostsValue(failed.hosts, kHostsColumns);
  const FindingValue of =
      Worded("some-of", failed.hosts.size(), Counted(tried, "server"));
  const FindingValue commands = CommandsWords(failed.commands);
  const std::string& user = job_.user();
  if (absl::StartsWith(finding, "stale-key")) {
    report_.Add(host, finding, user, port, hosts, of,
                Listed(failed.entries, kMaxCommands), commands);
  } else if (finding == "login-fails" || finding == "no-answer") {
    report_.Add(host, finding, user, port, hosts, of, failed.error, commands);
  } else {
    report_.Add(host, finding, user, port, hosts, of, commands);
  }
}

void SshJudge::JudgeLogins(const HostView& host, uint32_t port,
                           const SshFact::Ssh& ssh) {
  std::set<absl::string_view> tried;
  FirstSeen<absl::string_view, Failed> failures;
  for (const SshLogin& login : ssh.logins()) {
    const auto address = addresses_.find(login.host());
    // Not a login to a server of the job, or a repeated one.
    if (login.port() != port || address == addresses_.end() ||
        !tried.insert(address->first).second) {
      continue;
    }
    const absl::string_view finding = FindingOf(login);
    if (finding.empty()) continue;
    Failed& failed = failures[finding];
    if (failed.hosts.empty()) failed.error = PrintableText(login.error());
    failed.hosts.push_back(address->first);
    failed.commands.push_back(
        CommandFor(finding, login, address->second, job_.user()));
    if (!login.stale_entry().empty()) {
      failed.entries.push_back(PrintableText(login.stale_entry()));
    }
  }
  for (const auto& [finding, failed] : failures) {
    AddFailed(host, port, finding, failed, tried.size());
  }
  const size_t wanted = std::min(addresses_.size(), kMaxTriedServers);
  if (tried.size() < wanted) {
    report_.Add(host, "not-tried", tried.size(), wanted, port);
  }
}

void SshJudge::JudgeExported(const HostView& host, const SshFact::Ssh& ssh) {
  // The container does not run yet.
  if (job_.before()) return;
  const uint32_t port =
      job_.container_port() == 0 ? this->port() : job_.container_port();
  if (ssh.has_environment_missing()) {
    // A failed login to itself has its own finding.
    const bool has_finding =
        absl::c_any_of(ssh.logins(), [&](const auto& login) {
          return login.host() == host.name && login.port() == port &&
                 !login.works();
        });
    if (has_finding) return;
    const Missing& missing = ssh.environment_missing();
    report_.Add(host, "not-known", Worded("login-exports"),
                MissingWords(&missing), LearnWords(&missing));
  } else if (!ssh.not_exported().empty()) {
    const auto names = Each<std::string>(
        ssh.not_exported(),
        [](const std::string& name) { return PrintableText(name); });
    report_.Add(host, "not-exported", Listed(names, 8), job_.user(), port);
  }
}

void SshJudge::Judge(const HostView& host) {
  if (!host.address) return report_.Add(host, "no-address");
  const SshFact& fact = host.facts->ssh();
  if (fact.missing().reason() == Missing::NOT_PERMITTED &&
      host.facts->has_allows()) {
    std::set<ChangeKind> kinds = AllowedKinds(host.facts->allows());
    if (kinds.insert(CHANGE_SSH_LOGIN).second) {
      return report_.Add(host, "not-allowed",
                         HowToAllow(host.facts->allows(), kinds));
    }
  }
  if (!report_.Knows(host, "ssh", fact)) return;
  if (!IsAboutThisJob(fact.value())) return report_.Add(host, "other-question");
  report_.Judged(host);
  for (const uint32_t port : Ports()) {
    // The first server with the port.
    JudgeServer(host,
                *FirstWith(fact.value().servers(), &SshServer::port, port));
    if (job_.before() && IsContainers(port)) continue;
    JudgeLogins(host, port, fact.value());
  }
  JudgeExported(host, fact.value());
}

void SshJudge::AddNotes() const {
  if (addresses_.size() > kMaxTriedServers) {
    report_.Note("ssh-tried", kMaxTriedServers,
                 Counted(addresses_.size(), "server"));
  }
  if (unseen_configs_ > 0) {
    report_.Note("ssh-unseen-configs", Counted(unseen_configs_, "host"));
  }
}

}  // namespace

SshQuestion MakeSshQuestion(const ClusterSpec& spec, const JobSsh& ssh) {
  SshQuestion question;
  question.set_user(ssh.user());
  question.set_port(ssh.port());
  question.set_container_port(ssh.container_port());
  question.set_before(ssh.before());
  for (const ServerSpec& server : spec.servers()) {
    if (server.address().empty()) continue;
    SshQuestion::Peer* const peer = question.add_peers();
    peer->set_host(server.host());
    peer->set_address(server.address());
  }
  for (const char* name : kLaunchVariables) question.add_needed_variables(name);
  return question;
}

void CheckSshReady(const ClusterView& view, RuleReport& report) {
  if (view.job() == nullptr || !view.job()->has_ssh()) {
    return report.SkipFor("job-no-ssh");
  }
  SshJudge judge(view, report);
  for (const HostView& host : view.hosts()) judge.Judge(host);
  judge.AddNotes();
  if (!view.HasWholeJob()) report.Note("ssh-to-itself");
}

}  // namespace clusterd
