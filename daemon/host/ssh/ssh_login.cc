#include <algorithm>
#include <atomic>
#include <future>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/ssh/ssh_observer.h"

namespace clusterd {
namespace {

// A login shell may print text before the answer.
constexpr size_t kMaxAnswerBytes = 256 << 10;
constexpr int kSshFailed = 255;  // ssh(1), EXIT STATUS.

constexpr size_t kMaxConfigBytes = 64 << 10;
constexpr absl::string_view kHead[] = {"/usr/bin/head", "/bin/head"};
constexpr absl::string_view kFind[] = {"/usr/bin/find", "/bin/find"};

// ssh_config(5), whose text ssh reads from standard input. Whatever it
// contains, ssh asks no questions and writes nothing (UpdateHostKeys). It
// forwards nothing, runs nothing locally and leaves no process (ControlMaster,
// ControlPath). ERROR omits banners.
constexpr const char* kOptions[] = {"-n", "-T",
                                    "-a", "-x",
                                    "-F", "/proc/self/fd/0",
                                    "-o", "BatchMode=yes",
                                    "-o", "UpdateHostKeys=no",
                                    "-o", "ClearAllForwardings=yes",
                                    "-o", "PermitLocalCommand=no",
                                    "-o", "ControlMaster=no",
                                    "-o", "ControlPath=none",
                                    "-o", "LogLevel=ERROR"};
// Goes before a configuration, for an ssh to which these options mean more.
// IgnoreUnknown is for older ones that lack some.
constexpr char kNoPrograms[] =
    "IgnoreUnknown ForkAfterAuthentication,KnownHostsCommand,RemoteCommand,"
    "SessionType\nProxyCommand none\nProxyJump none\nKnownHostsCommand none\n"
    "RemoteCommand none\nForkAfterAuthentication no\nSessionType default\n"
    "PKCS11Provider none\nIdentityAgent none\n";

void Append(std::initializer_list<std::string> words,
            std::vector<std::string>* all) {
  all->insert(all->end(), words.begin(), words.end());
}

std::string LastWords(const CommandResult& result) {
  std::string words = ParseLoginFailure(result.standard_error).error;
  if (words.empty()) words = ParseLoginFailure(result.standard_output).error;
  if (!words.empty()) return words;
  return result.signal != 0 ? absl::StrCat("signal ", result.signal)
                            : absl::StrCat("status ", result.exit_status);
}

// Reads as the user, in a process that can be killed: a pipe, or a user's own
// file system, may never answer.
absl::StatusOr<CommandResult> ReadAsUser(
    const HostAccess& host, const RunAs& user, const std::string& path,
    absl::Span<const absl::string_view> program,
    const std::vector<std::string>& words) {
  ASSIGN_OR_RETURN(std::string found, FindProgram(host.paths.root, program));
  std::vector<std::string> argv = {std::move(found)};
  argv.insert(argv.end(), words.begin(), words.end());
  return RunWithin(*host.budget, host.runner, PrintableText(path),
                   std::move(argv), kMaxConfigBytes, user);
}

constexpr size_t kMaxKeywordLines = 64;  // Limit for each keyword.

// Texts after a server ends a connection before authentication (OpenSSH,
// kex.c), for lack of capacity or because it restarts.
constexpr absl::string_view kDropped[] = {
    "kex_exchange_identification:", "Connection closed by",
    "Connection reset by"};

template <typename Visit>
void ForEachLine(absl::string_view text, Visit visit) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    visit(absl::StripAsciiWhitespace(line));
  }
}

void Keep(absl::string_view value, std::vector<std::string>* values) {
  if (values->size() < kMaxKeywordLines)
    values->push_back(PrintableText(value));
}

struct Attempt {
  SshLogin login;
  bool was_dropped = false;
  bool out_of_time = false;
};
enum class HostKey { kAsKnown, kAny };

absl::StatusOr<CommandResult> Run(const SshAccess& access,
                                  const std::vector<std::string>& words) {
  Command command = {
      {access.ssh}, access.host.budget->ForCommand(),
      {},           kMaxAnswerBytes,
      access.user,  absl::StrCat(kNoPrograms, access.config.text)};
  command.argv.insert(command.argv.end(), std::begin(kOptions),
                      std::end(kOptions));
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  return access.host.runner->Run(command);
}

// The first of two values for an option applies.
absl::StatusOr<CommandResult> LogIn(const SshAccess& access,
                                    const LoginTarget& target, HostKey key,
                                    const std::string& command) {
  std::vector<std::string> words;
  // Shorter than the deadline, so that ssh itself reports what it waited for.
  const int64_t wait_s = std::max<int64_t>(
      1, absl::ToInt64Seconds(access.host.budget->ForCommand() * 0.6));
  Append({"-o", absl::StrCat("ConnectTimeout=", wait_s)}, &words);
  if (key == HostKey::kAny) {
    Append(
        {"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
         "-o", "GlobalKnownHostsFile=/dev/null"},
        &words);
  } else {
    Append({"-o", "StrictHostKeyChecking=yes"}, &words);
  }
  Append({"-p", absl::StrCat(target.port), "-l", access.user.name, "--",
          target.address.ToString(), command},
         &words);
  return Run(access, words);
}

// Logs in as the user's configuration would; `stale_entry` as in SshLogin.
absl::StatusOr<CommandResult> LogInAsConfigured(const SshAccess& access,
                                                const LoginTarget& target,
                                                const std::string& command,
                                                std::string* stale_entry) {
  ASSIGN_OR_RETURN(CommandResult result,
                   LogIn(access, target, HostKey::kAsKnown, command));
  const LoginFailure failure = ParseLoginFailure(result.standard_error);
  const bool is_stale = !failure.stale_entry.empty();
  if (result.exit_status != kSshFailed || (!failure.key_unknown && !is_stale)) {
    return result;
  }
  *stale_entry = failure.stale_entry;
  ASSIGN_OR_RETURN(
      const CommandResult options,
      Run(access, {"-G", "-p", absl::StrCat(target.port), "-l",
                   access.user.name, "--", target.address.ToString()}));
  const HostKeyPolicy policy = ParseHostKeyPolicy(options.standard_output);
  if (is_stale ? !policy.takes_changed : !policy.takes_unknown) return result;
  return LogIn(access, target, HostKey::kAny, command);
}

absl::StatusOr<Attempt> TryOnce(const SshAccess& access,
                                const LoginTarget& target) {
  Attempt attempt;
  SshLogin& login = attempt.login;
  login.set_host(target.host);
  login.set_address(target.address.ToString());
  login.set_port(target.port);
  ASSIGN_OR_RETURN(
      const CommandResult result,
      LogInAsConfigured(access, target, "true", login.mutable_stale_entry()));
  if (result.timed_out) {
    // If the host's time ended it, it proves nothing about the server.
    attempt.out_of_time = access.host.budget->IsSpent();
    login.set_no_answer(true);
    login.set_error(absl::StrCat("no answer in ",
                                 access.host.budget->CutBy(result.elapsed)));
    return attempt;
  }
  login.set_works(result.exit_status == 0 && result.signal == 0);
  if (login.works()) return attempt;
  login.set_error(LastWords(result));
  if (!access.config.left_out.empty()) {
    absl::StrAppend(login.mutable_error(), " (clusterd does not follow ",
                    absl::StrJoin(access.config.left_out, ", "),
                    " of the ssh configuration)");
  }
  attempt.was_dropped = result.exit_status == kSshFailed &&
                        ParseLoginFailure(result.standard_error).was_dropped;
  return attempt;
}

// Tries targets without an attempt, or whose connection was dropped.
absl::Status TryAll(const SshAccess& access,
                    absl::Span<const LoginTarget> targets,
                    std::vector<std::optional<Attempt>>* attempts) {
  absl::Mutex mutex;
  absl::Status first;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < targets.size();) {
      std::optional<Attempt>& attempt = (*attempts)[i];
      if (attempt && !attempt->was_dropped) continue;
      if (access.host.budget->IsSpent()) return;
      absl::StatusOr<Attempt> tried = TryOnce(access, targets[i]);
      if (!tried.ok()) {
        absl::MutexLock lock(&mutex);
        return first.Update(tried.status());
      }
      if (!tried->out_of_time) attempt = *std::move(tried);
    }
  };
  std::vector<std::future<void>> running;
  while (running.size() < std::min(kMaxParallelLogins, targets.size())) {
    running.push_back(std::async(work));
  }
  for (std::future<void>& each : running) each.get();
  return first;
}

}  // namespace

absl::StatusOr<SshConfig> ReadSshConfig(const HostAccess& host,
                                        const RunAs& user) {
  constexpr char kFile[] = "/etc/ssh/ssh_config";
  const std::string path = absl::StrCat(user.home, "/.ssh/config");
  ASSIGN_OR_RETURN(
      const CommandResult own,
      ReadAsUser(host, user, path, kHead,
                 {"-c", absl::StrCat(kMaxConfigBytes), "--", path}));
  SshConfig config = KeepSafeLines(own.standard_output);
  if (own.standard_output.size() >= kMaxConfigBytes) {
    config.left_out.insert("lines beyond 64 KiB");
  }
  if (!own.standard_output.empty()) {
    ASSIGN_OR_RETURN(const CommandResult open,
                     ReadAsUser(host, user, path, kFind,
                                {"-L", path, "-maxdepth", "0", "(", "-perm",
                                 "/022", "-o", "!", "-uid", "0", "!", "-uid",
                                 absl::StrCat(user.uid), ")"}));
    if (!open.standard_output.empty()) {
      return FailedPrecondition("Bad owner or permissions on ",
                                PrintableText(path));
    }
  }
  const FileReader files = host.files();
  const std::string folder = absl::StrCat(kFile, ".d");
  auto sites = files.List(folder).value_or(std::vector<std::string>());
  for (std::string& name : sites) name = absl::StrCat(folder, "/", name);
  sites.push_back(kFile);
  for (const std::string& site : sites) {
    if (site != kFile && !absl::EndsWith(site, ".conf")) continue;
    SshConfig ours = KeepSafeLines(files.ReadTrimmed(site).value_or(""));
    // The folder is already included; "Match final" only chooses ciphers.
    ours.left_out.erase("Include");
    ours.left_out.erase("Match");
    config.Add(ours);
  }
  return config;
}

absl::StatusOr<std::vector<SshLogin>> TryLogins(
    const SshAccess& access, absl::Span<const LoginTarget> targets) {
  std::vector<std::optional<Attempt>> attempts(targets.size());
  // The second round retries only dropped connections.
  for (int round = 0; round < 2; ++round) {
    RETURN_IF_ERROR(TryAll(access, targets, &attempts));
  }
  std::vector<SshLogin> logins;
  for (std::optional<Attempt>& attempt : attempts) {
    if (attempt) logins.push_back(std::move(attempt->login));
  }
  return logins;
}

absl::StatusOr<std::string> ReadEnvironment(const SshAccess& access,
                                            const LoginTarget& target) {
  std::string stale_entry;
  ASSIGN_OR_RETURN(CommandResult result,
                   LogInAsConfigured(access, target, "env", &stale_entry));
  if (result.timed_out) {
    return DeadlineWords("fact-env-no-answer",
                         access.host.budget->CutBy(result.elapsed));
  }
  if (result.exit_status == 0 && result.signal == 0) {
    return std::move(result.standard_output);
  }
  // Quotes only ssh's own text: the output of `env` may hold secrets.
  return UnavailableWords("fact-env-status", result.exit_status,
                          ParseLoginFailure(result.standard_error).error);
}

std::vector<std::string> SshdConfig::AddressesOf(uint32_t port) const {
  std::vector<std::string> found;
  const std::string end = absl::StrCat(":", port);
  absl::c_copy_if(
      listen_addresses, std::back_inserter(found),
      [&](const std::string& each) { return absl::EndsWith(each, end); });
  return found;
}

SshdConfig ParseSshdConfig(absl::string_view text) {
  SshdConfig config;
  ForEachLine(text, [&](absl::string_view line) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    uint32_t port = 0;
    if (parts.first == "port" && absl::SimpleAtoi(parts.second, &port)) {
      config.ports.insert(port);
    } else if (parts.first == "listenaddress") {
      Keep(parts.second, &config.listen_addresses);
    } else if (parts.first == "hostkey") {
      Keep(parts.second, &config.host_keys);
    }
  });
  return config;
}

LoginFailure ParseLoginFailure(absl::string_view standard_error) {
  static const LazyRE2 kOffending = {R"(Offending \S+ key in (.+:\d+))"};
  static const LazyRE2 kUnknown = {R"(No \S+ host key is known for .*)"};
  LoginFailure failure;
  absl::string_view last;
  absl::string_view offending;
  ForEachLine(standard_error, [&](absl::string_view line) {
    if (line.empty()) return;
    last = line;
    if (HasForm(line, *kOffending, &offending)) {
      failure.stale_entry = PrintableText(offending, 512);
    }
    failure.key_unknown = failure.key_unknown || HasForm(line, *kUnknown);
  });
  failure.error = PrintableText(last);
  failure.was_dropped = absl::c_any_of(kDropped, [&](absl::string_view begin) {
    return absl::StartsWith(last, begin);
  });
  return failure;
}

HostKeyPolicy ParseHostKeyPolicy(absl::string_view text) {
  HostKeyPolicy policy;
  ForEachLine(text, [&](absl::string_view line) {
    if (!absl::ConsumePrefix(&line, "stricthostkeychecking ")) return;
    // OpenSSH 7 and later print "no" and "off" as "false".
    policy.takes_changed = line == "false" || line == "no" || line == "off";
    policy.takes_unknown = policy.takes_changed || line == "accept-new";
  });
  return policy;
}

SshConfig KeepSafeLines(absl::string_view text) {
  // Keywords of OpenSSH 9.2. Quoted keywords, and bytes that a terminal would
  // not show, are not usual in such files, and are omitted like other lines.
  static const LazyRE2 kKept = {
      "(?i)(?:AddressFamily|BindAddress|BindInterface|CASignatureAlgorithms|"
      "CertificateFile|CheckHostIP|Ciphers|Compression|ConnectionAttempts|"
      "GlobalKnownHostsFile|GSSAPIAuthentication|HashKnownHosts|Host|"
      "HostKeyAlgorithms|HostKeyAlias|HostName|IdentitiesOnly|IdentityFile|"
      "IPQoS|KexAlgorithms|MACs|NoHostAuthenticationForLocalhost|Port|"
      "PreferredAuthentications|PubkeyAcceptedAlgorithms|"
      "PubkeyAcceptedKeyTypes|PubkeyAuthentication|RequiredRSASize|"
      "RevokedHostKeys|ServerAliveCountMax|ServerAliveInterval|SetEnv|"
      "StrictHostKeyChecking|TCPKeepAlive|User|UserKnownHostsFile|"
      "VerifyHostKeyDNS|Match(?:[\\t ]+all|[\\t ]+(?:original)?host[\\t ]+"
      "[\\w.,*?!:-]+|[\\t ]+(?:local)?user[\\t ]+[\\w.,*?!-]+)+[\\t ]*$)"
      "(?:[\\t =][\\t -~]*)?",
      RE2::Latin1};
  static const LazyRE2 kDecides = {
      "(?i)[\"]?(IdentityAgent|Include|KnownHostsCommand|Match|PKCS11Provider|"
      "ProxyCommand|ProxyJump|SecurityKeyProvider)\\b[^\\n]*",
      RE2::Latin1};
  SshConfig config;
  ForEachLine(text, [&config](absl::string_view line) {
    std::string decides;
    if (HasForm(line, *kKept)) {
      absl::StrAppend(&config.text, line, "\n");
    } else if (HasForm(line, *kDecides, &decides)) {
      // Lines after an unknown Match apply to no host.
      if (absl::EqualsIgnoreCase(decides, "Match")) config.text += "Host !*\n";
      config.left_out.insert(std::move(decides));
    }
  });
  return config;
}

void SshConfig::Add(const SshConfig& other) {
  absl::StrAppend(&text, "Host *\n", other.text);
  left_out.insert(other.left_out.begin(), other.left_out.end());
}

std::vector<std::string> NotExported(const std::vector<std::string>& names,
                                     absl::string_view environment) {
  std::set<absl::string_view> set;
  ForEachLine(environment, [&](absl::string_view line) {
    const size_t end = line.find('=');
    if (end != line.npos) set.insert(line.substr(0, end));
  });
  std::vector<std::string> lacking;
  for (const std::string& name : names) {
    if (set.count(name) == 0) lacking.push_back(name);
  }
  return lacking;
}

bool IsGreeting(absl::string_view received) {
  bool found = false;
  ForEachLine(received, [&](absl::string_view line) {
    found = found || absl::StartsWith(line, "SSH-");
  });
  return found;
}

}  // namespace clusterd
