// Reads one line of /proc/net/{tcp,tcp6,udp,udp6}:
//   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000
//      0        0 12345 1 0000000000000000 100 0 0 10 0
// Address and port of this end in hexadecimal, the address as the machine's own
// 32-bit words, then the far end, the state, and as tenth word the inode that
// /proc/PID/fd names (Linux Documentation/networking/proc_net_tcp). Text in,
// value out: opens nothing.
#ifndef DAEMON_HOST_SOCKETS_SOCKET_TABLE_H_
#define DAEMON_HOST_SOCKETS_SOCKET_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

enum class SocketProtocol { kTcp, kTcp6, kUdp, kUdp6 };

struct SocketLine {
  std::string address;  // "127.0.0.1" or "::1".
  uint32_t port = 0;
  // "LISTEN", "ESTABLISHED", …; "state 7f" for one not known here; "" for UDP.
  std::string state;
  // 0: no process has it, e.g. in TIME_WAIT.
  uint64_t inode = 0;
};

// Only the port of this end, to skip quickly what is not asked for.
// InvalidArgument, quoting the line, if it is not a socket line.
absl::StatusOr<uint32_t> ParseSocketPort(absl::string_view line);

absl::StatusOr<SocketLine> ParseSocketLine(SocketProtocol protocol,
                                           absl::string_view line);

// "12345" of "socket:[12345]", as /proc/PID/fd/N links to; nothing otherwise.
std::optional<uint64_t> ParseSocketLink(absl::string_view link);

}  // namespace clusterd

#endif  // DAEMON_HOST_SOCKETS_SOCKET_TABLE_H_
