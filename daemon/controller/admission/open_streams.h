// How many calls gRPC holds for one connection, and was sent over it, also
// those that nobody has been told of: gRPC 1.51 waits for the message of a
// unary call before it tells its service, never tells it of one that is reset
// by then, and limits their number only for peers that acknowledge the limit.
// Asked of channelz, which counts them.
#ifndef DAEMON_CONTROLLER_ADMISSION_OPEN_STREAMS_H_
#define DAEMON_CONTROLLER_ADMISSION_OPEN_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

namespace clusterd {

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

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_OPEN_STREAMS_H_
