#include "daemon/controller/admission/socket_state.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>


namespace clusterd {
namespace {

constexpr int kMaxRecord = 1 << 14;

// All zero where the kernel says nothing; older ones leave the last fields so.
tcp_info InfoOf(int fd) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return info;
}

int UnreadBytes(int fd) {
  int unread = 0;
  return ioctl(fd, FIONREAD, &unread) == 0 ? unread : 0;
}

}  // namespace

uint64_t SocketCookie(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return 0;
  return cookie;
}

void ShutSocket(int fd, uint64_t cookie) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return;
  if (SocketCookie(copy) == cookie) shutdown(copy, SHUT_RDWR);
  close(copy);
}

SocketBytes BytesOf(int fd) {
  const tcp_info info = InfoOf(fd);
  return {info.tcpi_bytes_received, info.tcpi_bytes_sent};
}

ClientHello PeekClientHello(int fd) {
  // RFC 8446, 5.1 and 4: 22, version, length; in it 1 and a length of its own,
  // each of what follows it.
  unsigned char head[9];
  const ssize_t size = recv(fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
  if (size <= 0) return ClientHello::kIncomplete;
  if (head[0] != 22 || (size > 5 && head[5] != 1)) return ClientHello::kNone;
  if (size < 9) return ClientHello::kIncomplete;
  const int record = head[3] << 8 | head[4];
  const int message = head[6] << 16 | head[7] << 8 | head[8];
  if (record > kMaxRecord || 4 + message > record) return ClientHello::kNone;
  return UnreadBytes(fd) >= 5 + record ? ClientHello::kWhole
                                       : ClientHello::kIncomplete;
}

bool IsPeerStalled(int fd, absl::Duration quiet) {
  const tcp_info info = InfoOf(fd);
  const auto quiet_ms = static_cast<uint32_t>(absl::ToInt64Milliseconds(quiet));
  return info.tcpi_bytes_sent > 0 && info.tcpi_last_data_sent >= quiet_ms &&
         info.tcpi_last_data_recv >= quiet_ms && UnreadBytes(fd) == 0;
}

}  // namespace clusterd
