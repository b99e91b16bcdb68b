// The state of a TCP connection that gRPC may be reading: its peer, the
// counters of the kernel and gRPC. A descriptor's number may be reused at any
// time, so functions check the socket's cookie (SO_COOKIE). Nothing here
// consumes data or blocks.
#ifndef DAEMON_CONTROLLER_ADMISSION_CONNECTION_STATE_H_
#define DAEMON_CONTROLLER_ADMISSION_CONNECTION_STATE_H_

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "absl/time/time.h"

namespace clusterd {

// Formats a peer as gRPC 1.51: "ipv4:127.0.0.1:80", "ipv6:%5B::1%5D:80"; an
// IPv4 address within IPv6 is an IPv4 address.
std::string PeerName(const sockaddr_storage& address);
// The network whose peers share bounds: an IPv4 address or an IPv6 /64.
std::string PeerNetwork(const sockaddr_storage& address);

// Identifies a socket; 0: it is unknown.
uint64_t SocketCookie(int fd);
// Shuts the socket if the descriptor still belongs to it.
void ShutSocket(int fd, uint64_t cookie);

// Bytes that TCP has moved since the connection began; 0: none, or unknown
// (`sent` before Linux 4.19).
struct SocketBytes {
  uint64_t received = 0;
  uint64_t sent = 0;
};
SocketBytes BytesOf(int fd);

// Whether the unread bytes are a whole TLS ClientHello: gRPC would wait for
// the rest in a handshake slot. kNone: another message, or one larger than a
// single record. A whole one sets `random`, by which TLS knows the client, too
// (SSL_get_client_random).
enum class ClientHello { kIncomplete, kWhole, kNone };
ClientHello PeekClientHello(int fd, std::string* random);

// True if a handshake waits only for the peer: all its bytes were read and
// answered, and neither side has sent anything for `quiet`.
bool IsPeerStalled(int fd, absl::Duration quiet);

// Calls that gRPC holds and was sent over one connection, including unreported
// ones. gRPC 1.51 reports a unary call only after its message, and never if it
// was reset by then. It limits calls only for peers that acknowledge the limit.
// Source: channelz, which counts them.
struct StreamCounts {
  int64_t open = 0;
  uint64_t begun = 0;  // All, also those that were reset.
};

// Not safe for concurrent use.
class OpenStreams {
 public:
  // Counts for the newest connection of `peer`, a PeerName, to any server of
  // this process; zeros: none. `connections` is about how many there are.
  StreamCounts Count(const std::string& peer, size_t connections);

 private:
  void FindSockets();

  std::unordered_map<std::string, int64_t> sockets_;  // By peer.
  std::map<int64_t, int64_t> next_;  // Socket to start at, by server.
};

// Counts bytes of a peer while it gets none. Not safe for concurrent use.
class UnansweredBytes {
 public:
  // Returns how much of `received` came since `sent` last changed; both count
  // from the beginning. 0 if `sent` is 0: it is unknown.
  uint64_t Take(uint64_t received, uint64_t sent) {
    if (sent != sent_ || sent == 0) answered_ = received;
    sent_ = sent;
    return received - std::min(received, answered_);
  }

 private:
  uint64_t answered_ = 0;
  uint64_t sent_ = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_CONNECTION_STATE_H_
