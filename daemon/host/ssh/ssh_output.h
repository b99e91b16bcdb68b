// What OpenSSH's programs print, as values. Texts in, values out: runs nothing.
// Every text is that of OpenSSH 9.2; tests/testdata/ssh has whole ones.
#ifndef DAEMON_HOST_SSH_SSH_OUTPUT_H_
#define DAEMON_HOST_SSH_SSH_OUTPUT_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// Of `sshd -T` (sshd(8), "extended test mode"), a keyword in lower case and its
// value on each line:
//   port 22
//   listenaddress 0.0.0.0:22
//   hostkey /etc/ssh/ssh_host_ed25519_key
struct SshdConfig {
  std::set<uint32_t> ports;
  std::vector<std::string> listen_addresses;  // "0.0.0.0:22", "[::]:22".
  std::vector<std::string> host_keys;         // Paths that it would read.

  std::vector<std::string> AddressesOf(uint32_t port) const;
};

// Lines of other keywords are skipped; no port: it is no such text.
SshdConfig ParseSshdConfig(absl::string_view text);

// Why `ssh` has not logged in, from its standard error.
//   Offending ED25519 key in /home/ann/.ssh/known_hosts:3
//   …
//   Host key verification failed.
struct LoginFailure {
  std::string error;        // Its last words, one line; printable.
  std::string stale_entry;  // "/home/ann/.ssh/known_hosts:3"; printable.

  // The server had no room for the connection (sshd_config(5), MaxStartups) or
  // went away: the same login may well work the next time.
  bool was_dropped = false;
  // No known_hosts has a key of the server.
  bool key_unknown = false;
};
LoginFailure ParseLoginFailure(absl::string_view standard_error);

// Whether the user's own configuration logs in to a server whose key is
// unknown, or another than known_hosts has: from the line of `ssh -G`,
//   stricthostkeychecking accept-new
// (ssh_config(5), StrictHostKeyChecking).
struct HostKeyPolicy {
  bool takes_unknown = false;
  bool takes_changed = false;
};
HostKeyPolicy ParseHostKeyPolicy(absl::string_view text);

// A user's configuration (ssh_config(5)) without what would run a program,
// load a library, or lead elsewhere: a line stays if its keyword is one of
// those that say where and how to log in, and with which keys.
struct SshConfig {
  std::string text;
  // Keywords of other lines by which a login of the user's own may go another
  // way: "Include", "ProxyJump". A Match that asks for more than host and user,
  // such as exec, counts as one; it and what follows it apply to no host.
  std::set<std::string> left_out;

  // Behind the end of `other`; the first value of an option is the one that
  // holds.
  void Add(const SshConfig& other);
};
SshConfig KeepSafeLines(absl::string_view text);

// Those of `names` that no line of `env`, "NAME=value", sets.
std::vector<std::string> NotExported(const std::vector<std::string>& names,
                                     absl::string_view environment);

// Whether what a server sent begins with its version, "SSH-2.0-…"; lines before
// it are allowed (RFC 4253, 4.2).
bool IsGreeting(absl::string_view received);

}  // namespace clusterd

#endif  // DAEMON_HOST_SSH_SSH_OUTPUT_H_
