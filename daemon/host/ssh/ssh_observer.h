// Reads what an MPI launch needs of ssh on this machine: its sshd, that of the
// job's containers, logins to the job's servers, and the variables that a shell
// there exports. A container's files are not read: its sshd is judged by its
// listening process and greeting.
#ifndef DAEMON_HOST_SSH_SSH_OBSERVER_H_
#define DAEMON_HOST_SSH_SSH_OBSERVER_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/values/ipv4.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

inline constexpr size_t kMaxSshPeers = 2048;
// Limit of the job's servers that a host logs in to in one observation.
inline constexpr size_t kMaxTriedPeers = 64;

// InvalidArgument, naming the first mistake, unless a root daemon may act on
// the question: a user as for CheckUserName, ports, IPv4 addresses of hosts,
// names of variables, and not too many of them.
absl::Status CheckSshQuestion(const SshQuestion& question);

// Returns which of `count` servers the one at `self` logs in to: itself first,
// then its successors, so that simultaneous logins spread over all servers.
// With more than kMaxTriedPeers it returns a part, which advances with every
// `turn` through all of them. REQUIRES: self < count.
std::vector<size_t> PeersToTry(size_t count, size_t self, uint64_t turn);

// Returns whether an ssh server answers there within the deadline. It speaks
// first, and some KiB of its text are read.
bool GreetsAsSsh(Ipv4Address address, uint32_t port, absl::Duration deadline);

// The host that answers the question.
struct SshPlace {
  std::string host;  // This host's name among the question's peers.
  // clusterd runs in a container, so that the containers' sshd is visible here.
  bool in_container = false;
  uint64_t turn = 0;  // As above.
  // Limit for the greeting of a server of this host.
  absl::Duration greeting_time = absl::Seconds(3);
};

// Missing as a whole if the question is refused, the user or ssh does not
// exist, the user's home is hidden from us, or sockets are unreadable. A
// server's config_missing is NOT_QUERIED if its file is a container's. Its
// listen_addresses are the open ones; if there are none, and once the job has
// begun, sshd_config's. Logins beyond the host's time are omitted.
SshFact ReadSsh(const HostAccess& host, const SshQuestion& question,
                const SshPlace& place);

// Logs in to servers with only keys, as the user who would launch a job there,
// and runs only `true` or `env`. `ssh` runs as that user, with the user's own
// keys and known_hosts. It writes neither, leaves no connection and forwards
// nothing.
//
// ssh never reads the user's configuration itself: a `Match exec` there runs a
// program despite any option, and its processes would be children of a root
// daemon. Instead the file is read as the user, and ssh gets its safe lines
// (KeepSafeLines) on standard input. An error names what may make a login fail
// here that works for the user.

// Parses the output of OpenSSH's programs. The texts are those of OpenSSH 9.2;
// tests/testdata/host/ssh has complete ones.

// The output of `sshd -T` (sshd(8), "extended test mode"): a keyword in lower
// case and its value on each line:
//   port 22
//   listenaddress 0.0.0.0:22
//   hostkey /etc/ssh/ssh_host_ed25519_key
struct SshdConfig {
  std::set<uint32_t> ports;
  std::vector<std::string> listen_addresses;  // "0.0.0.0:22", "[::]:22".
  std::vector<std::string> host_keys;         // Paths that it would read.

  std::vector<std::string> AddressesOf(uint32_t port) const;
};

// Skips other keywords; a text without a port is not valid.
SshdConfig ParseSshdConfig(absl::string_view text);

// Reason for a failed login, from the standard error of `ssh`:
//   Offending ED25519 key in /home/ann/.ssh/known_hosts:3
//   …
//   Host key verification failed.
struct LoginFailure {
  std::string error;        // Its last line; printable.
  std::string stale_entry;  // "/home/ann/.ssh/known_hosts:3"; printable.

  // The server lacked capacity for the connection (sshd_config(5), MaxStartups)
  // or restarted: the same login may succeed the next time.
  bool was_dropped = false;
  // No known_hosts has a key of the server.
  bool key_unknown = false;
};
LoginFailure ParseLoginFailure(absl::string_view standard_error);

// True if the user's own configuration logs in to a server whose key is
// unknown, or differs from known_hosts: from this line of `ssh -G`
//   stricthostkeychecking accept-new
// (ssh_config(5), StrictHostKeyChecking).
struct HostKeyPolicy {
  bool takes_unknown = false;
  bool takes_changed = false;
};
HostKeyPolicy ParseHostKeyPolicy(absl::string_view text);

// A user's configuration (ssh_config(5)) without lines that run a program, load
// a library, or lead elsewhere. Only keywords stay that say where and how to
// log in, and with which keys.
struct SshConfig {
  std::string text;
  // Keywords of removed lines that may change a user's own login: "Include",
  // "ProxyJump". "Match" is one of them if it tests more than host and user,
  // such as exec; then it and the lines after it apply to no host.
  std::set<std::string> left_out;

  // Appends `other`; the first value of an option applies.
  void Add(const SshConfig& other);
};
SshConfig KeepSafeLines(absl::string_view text);

// Returns those of `names` that no line "NAME=value" of `env` sets.
std::vector<std::string> NotExported(const std::vector<std::string>& names,
                                     absl::string_view environment);

// Returns whether the server's text begins with its version, "SSH-2.0-…"; lines
// before it are allowed (RFC 4253, 4.2).
bool IsGreeting(absl::string_view received);

// Below the 10 unauthenticated connections at which an sshd begins to refuse
// some (sshd_config(5), MaxStartups 10:30:100): all servers of a job log in at
// once, each first to itself.
inline constexpr size_t kMaxParallelLogins = 8;

struct LoginTarget {
  std::string host;
  Ipv4Address address;
  uint32_t port = 22;
};

// Returns the configuration that `ssh` would read for that user, made safe:
// ~/.ssh/config, at most 64 KiB of it, then the machine's files below /etc/ssh.
// FailedPrecondition, in ssh's words: others can write the user's file.
// DeadlineExceeded: the file does not answer. NotFound, PermissionDenied:
// FindProgram of the reading program.
absl::StatusOr<SshConfig> ReadSshConfig(const HostAccess& host,
                                        const RunAs& user);

// A user's `ssh` on this host. The pointers of `host` must outlive it.
struct SshAccess {
  HostAccess host;
  std::string ssh;  // FindProgram's result.
  RunAs user;
  SshConfig config;
};

// Returns one entry for every tried target, in their order; those beyond the
// host's time are omitted. A dropped connection is retried once. If an `ssh`
// could not run at all, the first such status. A login works if its command
// ends with 0. If the server's key differs from the known one or is unknown,
// the login follows the user's configuration, without writing known_hosts.
absl::StatusOr<std::vector<SshLogin>> TryLogins(
    const SshAccess& access, absl::Span<const LoginTarget> targets);

// Returns the output of `env` there, which must not be kept or shown: it may
// hold secrets. Unavailable, with ssh's last line, if the login fails.
absl::StatusOr<std::string> ReadEnvironment(const SshAccess& access,
                                            const LoginTarget& target);

}  // namespace clusterd

#endif  // DAEMON_HOST_SSH_SSH_OBSERVER_H_
