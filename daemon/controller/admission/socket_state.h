// What the kernel says about a TCP connection that gRPC may be reading. A
// descriptor's number may be another socket's any time, so its cookie is asked
// for (SO_COOKIE). Nothing here reads what came, or blocks.
#ifndef DAEMON_CONTROLLER_ADMISSION_SOCKET_STATE_H_
#define DAEMON_CONTROLLER_ADMISSION_SOCKET_STATE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace clusterd {

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
// one that no single record holds.
enum class ClientHello { kIncomplete, kWhole, kNone };
ClientHello PeekClientHello(int fd);

// Whether a handshake waits for the peer alone: all that it sent was read, it
// was answered, and neither side has sent anything for `quiet`.
bool IsPeerStalled(int fd, absl::Duration quiet);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_SOCKET_STATE_H_
