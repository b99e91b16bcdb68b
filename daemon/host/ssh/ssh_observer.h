// Reads what an MPI launch needs of ssh on this machine: its sshd, that of the
// job's containers, logins to the job's servers, and the variables that a shell
// there exports. A container's files are not read: its sshd is judged by its
// listening process and greeting.
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

}  // namespace clusterd

#endif  // DAEMON_HOST_SSH_SSH_OBSERVER_H_
