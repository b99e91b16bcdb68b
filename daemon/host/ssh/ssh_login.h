// Logs in to servers with keys alone, as the user who would launch a job there,
// and runs nothing but `true` or `env`. `ssh` runs as the user, with the user's
// own keys and known_hosts; it writes none of them, leaves no connection open,
// and forwards nothing.
//
// It never reads the user's configuration itself: a `Match exec` there runs a
// program and no option forbids that, and what it starts would be a child of a
// root daemon. Instead the file is read as the user, and the lines that are
// safe (KeepSafeLines) are what ssh gets for a configuration, on standard
// input. What may make a login fail here that works for the user is named in
// its error.
#ifndef DAEMON_HOST_SSH_SSH_LOGIN_H_
#define DAEMON_HOST_SSH_SSH_LOGIN_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/values/ipv4.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// What OpenSSH's programs print, as values: texts in, values out. Every text is
// that of OpenSSH 9.2; tests/testdata/ssh has whole ones.

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

// Below the 10 unauthenticated connections from which on an sshd turns some
// away (sshd_config(5), MaxStartups 10:30:100), since all servers of a job do
// this at once and begin each with itself.
inline constexpr size_t kMaxParallelLogins = 8;

struct LoginTarget {
  std::string host;
  Ipv4Address address;
  uint32_t port = 22;
};

// What `ssh` would read for that user, made safe: ~/.ssh/config, at most 64 KiB
// of it, then the machine's own files below /etc/ssh. FailedPrecondition, in
// the words of ssh: others can write the user's file. DeadlineExceeded: it does
// not answer. NotFound, PermissionDenied: FindProgram of what reads it.
absl::StatusOr<SshConfig> ReadSshConfig(const HostAccess& host,
                                        const RunAs& user);

// Safe for concurrent use.
class SshLogins {
 public:
  // `ssh`: where FindProgram found it. What `host` points to must outlive this
  // object.
  SshLogins(const HostAccess& host, std::string ssh, RunAs user,
            SshConfig config);

  // One entry for every target that was tried, in their order: those for which
  // the host's time did not suffice are left out. A server that turned the
  // connection away is asked once more. The status with which the first `ssh`
  // could not be run at all, if one could not.
  // A login works if its command ends with 0. Where the server's key is not the
  // known one, or is not known at all, and the user's configuration logs in
  // nevertheless, that is what happens, without known_hosts being written.
  absl::StatusOr<std::vector<SshLogin>> Try(
      absl::Span<const LoginTarget> targets) const;

  // What `env` prints there; not to be kept or shown: it may hold secrets.
  // Unavailable, with ssh's last words, if the login does not work.
  absl::StatusOr<std::string> ReadEnvironment(const LoginTarget& target) const;

 private:
  struct Attempt {
    SshLogin login;
    bool was_dropped = false;
    bool out_of_time = false;
  };
  enum class HostKey { kAsKnown, kAny };

  absl::StatusOr<CommandResult> Run(
      const std::vector<std::string>& words) const;
  absl::StatusOr<CommandResult> LogIn(const LoginTarget& target, HostKey key,
                                      const std::string& command) const;
  // As the user's configuration would; `stale_entry` as in SshLogin.
  absl::StatusOr<CommandResult> LogInAsConfigured(
      const LoginTarget& target, const std::string& command,
      std::string* stale_entry) const;
  absl::StatusOr<Attempt> TryOnce(const LoginTarget& target) const;
  absl::Status TryAll(absl::Span<const LoginTarget> targets,
                      std::vector<std::optional<Attempt>>* attempts) const;

  const HostAccess host_;
  const std::string ssh_;
  const RunAs user_;
  const SshConfig config_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_SSH_SSH_LOGIN_H_
