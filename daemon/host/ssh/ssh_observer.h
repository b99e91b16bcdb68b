// What an MPI launch meets of ssh on this machine: its sshd, that of the job's
// containers, logins from here to the servers of the job, and what a shell
// there exports. What stands inside a container is not read: its sshd is judged
// by who listens and what it sends.
#ifndef DAEMON_HOST_SSH_SSH_OBSERVER_H_
#define DAEMON_HOST_SSH_SSH_OBSERVER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "config/values/ipv4.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

inline constexpr size_t kMaxSshPeers = 2048;
// A host logs in to so many servers of a job in one observation.
inline constexpr size_t kMaxTriedPeers = 64;

// InvalidArgument, naming the first mistake, unless a root daemon may act on
// it: a user as CheckUserName has them, ports, IPv4 addresses of hosts, names
// of variables, and not too many of them.
absl::Status CheckSshQuestion(const SshQuestion& question);

// Which of `count` servers the one at `self` logs in to: itself first, then
// those behind it, so that a moment's logins go to as many servers as there
// are; of more than kMaxTriedPeers a part that moves on with every `turn` until
// each had its turn. REQUIRES: self < count.
std::vector<size_t> PeersToTry(size_t count, size_t self, uint64_t turn);

// Whether an ssh server answers there within the deadline: it speaks first, and
// of what it sends some KiB are read.
bool GreetsAsSsh(Ipv4Address address, uint32_t port, absl::Duration deadline);

// Where the question is asked.
struct SshPlace {
  std::string host;  // The name of this one among the question's peers.
  // clusterd runs in one, so that the containers' sshd is the one seen here.
  bool in_container = false;
  uint64_t turn = 0;  // As above.
  // How long a server of this host may take to greet.
  absl::Duration greeting_time = absl::Seconds(3);
};

// Missing as a whole: the question is refused, there is no such user or no ssh,
// the user's home is hidden from us, or sockets cannot be read. A server's
// config_missing is NOT_QUERIED where its file is that of a container; its
// listen_addresses are those that are open, and sshd_config's where there are
// none and the job has begun. Logins for which the time of the host did not
// suffice are left out.
SshFact ReadSsh(const HostAccess& host, const SshQuestion& question,
                const SshPlace& place);

}  // namespace clusterd

#endif  // DAEMON_HOST_SSH_SSH_OBSERVER_H_
