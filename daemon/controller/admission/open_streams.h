// How many calls gRPC holds for one connection, also those that nobody has
// been told of: gRPC 1.51 waits for the message of a unary call before it tells
// its service, and limits their number only for peers that acknowledge the
// limit. Asked of channelz, which counts them.
#ifndef DAEMON_CONTROLLER_ADMISSION_OPEN_STREAMS_H_
#define DAEMON_CONTROLLER_ADMISSION_OPEN_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

namespace clusterd {

// Not safe for concurrent use.
class OpenStreams {
 public:
  // Of the newest connection of `peer`, named as in PeerName, to any server of
  // this process; 0: there is none. `connections` is about how many there are.
  int64_t Count(const std::string& peer, size_t connections);

 private:
  void FindSockets();

  std::unordered_map<std::string, int64_t> sockets_;  // By peer.
  std::map<int64_t, int64_t> next_;  // Socket to look from, by server.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_OPEN_STREAMS_H_
