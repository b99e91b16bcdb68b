// What can be told of a TCP connection that gRPC may be reading: who is at its
// other end, what the kernel and gRPC say of it, and what it may do. A
// descriptor's number may be another socket's any time, so its cookie is asked
// for (SO_COOKIE). Nothing here reads what came, or blocks.
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

// As gRPC 1.51 names the peer of a connection: "ipv4:127.0.0.1:80",
// "ipv6:%5B::1%5D:80"; an IPv4 address within IPv6 is an IPv4 address.
std::string PeerName(const sockaddr_storage& address);
// Those that share a bound: an IPv4 address, or the first half of an IPv6 one.
std::string PeerNetwork(const sockaddr_storage& address);

// Which socket it is; 0: none.
uint64_t SocketCookie(int fd);
// Shuts the socket, if it is still that one.
void ShutSocket(int fd, uint64_t cookie);

// What TCP has moved on it since the beginning; 0: not known (`sent` before
// Linux 4.19), or nothing.
struct SocketBytes {
  uint64_t received = 0;
  uint64_t sent = 0;
};
SocketBytes BytesOf(int fd);

// Whether what came, of which nothing was read, is a whole TLS ClientHello: for
// the rest gRPC would wait in the place of a handshake. kNone: it is none, or
// one that no single record holds. `random` gets that of a whole one, by which
// TLS knows the client, too (SSL_get_client_random).
enum class ClientHello { kIncomplete, kWhole, kNone };
ClientHello PeekClientHello(int fd, std::string* random);

// Whether a handshake waits for the peer alone: all that it sent was read, it
// was answered, and neither side has sent anything for `quiet`.
bool IsPeerStalled(int fd, absl::Duration quiet);

// How many calls gRPC holds for one connection, and was sent over it, also
// those that nobody has been told of: gRPC 1.51 waits for the message of a
// unary call before it tells its service, never tells it of one that is reset
// by then, and limits their number only for peers that acknowledge the limit.
// Asked of channelz, which counts them.
struct StreamCounts {
  int64_t open = 0;
  uint64_t begun = 0;  // Open ones too, and those that were reset.
};

// Not safe for concurrent use.
class OpenStreams {
 public:
  // Of the newest connection of `peer`, named as in PeerName, to any server of
  // this process; zeros: there is none. `connections` is about how many there
  // are.
  StreamCounts Count(const std::string& peer, size_t connections);

 private:
  void FindSockets();

  std::unordered_map<std::string, int64_t> sockets_;  // By peer.
  std::map<int64_t, int64_t> next_;  // Socket to look from, by server.
};

// What one peer may do, counted from its first: so much at once, then so much a
// second.
struct AllowanceLimits {
  double at_once = 0;
  double per_second = 0;
};

// Not safe for concurrent use.
class Allowance {
 public:
  Allowance(const AllowanceLimits& limits, absl::Time now)
      : left_(limits.at_once), last_(now) {}

  // `total` is all that there was since the beginning; less than before is
  // nothing new. False: it is more than may be.
  bool Take(const AllowanceLimits& limits, uint64_t total, absl::Time now) {
    const double passed = std::max(0.0, absl::ToDoubleSeconds(now - last_));
    last_ = now;
    left_ = std::min(limits.at_once, left_ + passed * limits.per_second);
    if (total > total_) {
      left_ -= static_cast<double>(total - total_);
      total_ = total;
    }
    return left_ >= 0;
  }

 private:
  double left_;
  uint64_t total_ = 0;
  absl::Time last_;
};

// What a peer has sent while nothing was sent to it. Not safe for concurrent
// use.
class UnansweredBytes {
 public:
  // What of `received` has come since a change of `sent` was seen; each is all
  // since the beginning. 0 where `sent` is 0: nobody can tell.
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
