#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/ssh/ssh_login.h"

namespace clusterd {
namespace {

constexpr size_t kMaxKeywordLines = 64;  // Of one keyword that are kept.

// Of a server that ends a connection before it knows who is there (OpenSSH,
// kex.c), for want of room or because it restarts.
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

}  // namespace

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
  // OpenSSH 9.2. A keyword in quotes, and bytes that a terminal would not show,
  // are nothing that a person wrote, and are left out like all else.
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
      // What follows a Match that is not known applies to no host.
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
