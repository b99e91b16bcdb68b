#include "daemon/controller/admission/connection_state.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "grpc/grpc.h"
#include "grpc/support/alloc.h"

namespace clusterd {
namespace {

// The address without its port; IPv4 within IPv6 counts as IPv4.
std::string AddressBytes(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    return std::string(reinterpret_cast<const char*>(&in.sin_addr), 4);
  }
  const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
  const auto* bytes = reinterpret_cast<const char*>(&in6.sin6_addr);
  if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) return std::string(bytes + 12, 4);
  return std::string(bytes, 16);
}

std::string AddressText(const std::string& bytes) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text,
            sizeof(text));
  return text;
}

constexpr int kMaxRecord = 1 << 14;

// All zero if the kernel fails; older kernels leave the last fields zero.
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

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr intptr_t kPage = 500;
// Names of gRPC's HTTP/2 sockets: this and the peer.
constexpr char kTransport[] = "chttp2 ";

// Owns gRPC's text, which may be null. No fields: it is not valid JSON.
Struct TakeJson(char* text) {
  const std::unique_ptr<char, void (*)(void*)> owned(text, &gpr_free);
  Struct json;
  if (text == nullptr ||
      !google::protobuf::util::JsonStringToMessage(text, &json).ok()) {
    return {};
  }
  return json;
}

const Value& Field(const Struct& json, const std::string& name) {
  static const auto* const kNone = new Value();
  const auto found = json.fields().find(name);
  return found == json.fields().end() ? *kNone : found->second;
}

// 64-bit numbers are texts in JSON.
int64_t Number(const Struct& json, const std::string& name) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(Field(json, name).string_value(), &number)) return 0;
  return number;
}

}  // namespace

std::string PeerName(const sockaddr_storage& address) {
  const std::string bytes = AddressBytes(address);
  // The port has the same offset in both address families.
  const int port =
      ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (bytes.size() == 4) {
    return absl::StrCat("ipv4:", AddressText(bytes), ":", port);
  }
  const uint32_t scope =
      reinterpret_cast<const sockaddr_in6&>(address).sin6_scope_id;
  return absl::StrCat("ipv6:%5B", AddressText(bytes),
                      scope == 0 ? "" : absl::StrCat("%25", scope),
                      "%5D:", port);
}

std::string PeerNetwork(const sockaddr_storage& address) {
  return AddressBytes(address).substr(0, 8);
}

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

ClientHello PeekClientHello(int fd, std::string* random) {
  // RFC 8446, 5.1 and 4: 22, version, length; then 1 and another length, each
  // of the bytes that follow; then a version and 32 random bytes.
  unsigned char head[43];
  const ssize_t size = recv(fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
  if (size <= 0) return ClientHello::kIncomplete;
  if (head[0] != 22 || (size > 5 && head[5] != 1)) return ClientHello::kNone;
  if (size < 9) return ClientHello::kIncomplete;
  const int record = head[3] << 8 | head[4];
  const int message = head[6] << 16 | head[7] << 8 | head[8];
  if (record > kMaxRecord || 4 + message > record) return ClientHello::kNone;
  if (UnreadBytes(fd) < 5 + record) return ClientHello::kIncomplete;
  if (size == ssize_t{sizeof(head)}) {
    random->assign(head + 11, head + sizeof(head));
  }
  return ClientHello::kWhole;
}

bool IsPeerStalled(int fd, absl::Duration quiet) {
  const tcp_info info = InfoOf(fd);
  const auto quiet_ms = static_cast<uint32_t>(absl::ToInt64Milliseconds(quiet));
  return info.tcpi_bytes_sent > 0 && info.tcpi_last_data_sent >= quiet_ms &&
         info.tcpi_last_data_recv >= quiet_ms && UnreadBytes(fd) == 0;
}

void OpenStreams::FindSockets() {
  const Struct servers = TakeJson(grpc_channelz_get_servers(0));
  for (const Value& server : Field(servers, "server").list_value().values()) {
    const int64_t id =
        Number(Field(server.struct_value(), "ref").struct_value(), "serverId");
    int64_t& next = next_[id];
    bool end = false;
    while (!end) {
      const Struct page =
          TakeJson(grpc_channelz_get_server_sockets(id, next, kPage));
      const auto& sockets = Field(page, "socketRef").list_value().values();
      for (const Value& socket : sockets) {
        const Struct& ref = socket.struct_value();
        const int64_t socket_id = Number(ref, "socketId");
        next = std::max(next, socket_id + 1);
        const std::string& name = Field(ref, "name").string_value();
        sockets_[std::string(absl::StripPrefix(name, kTransport))] = socket_id;
      }
      end = sockets.empty() || Field(page, "end").bool_value();
    }
  }
}

StreamCounts OpenStreams::Count(const std::string& peer, size_t connections) {
  auto found = sockets_.find(peer);
  Struct socket;
  if (found != sockets_.end()) {
    socket = TakeJson(grpc_channelz_get_socket(found->second));
  }
  if (socket.fields().empty()) {
    // The peer's connection is new, or another of its connections has ended.
    if (sockets_.size() > 2 * connections + kPage) {
      sockets_.clear();
      next_.clear();
    }
    FindSockets();
    found = sockets_.find(peer);
    if (found == sockets_.end()) return {};
    socket = TakeJson(grpc_channelz_get_socket(found->second));
  }
  const Struct& data =
      Field(Field(socket, "socket").struct_value(), "data").struct_value();
  const int64_t begun = Number(data, "streamsStarted");
  return {
      begun - Number(data, "streamsSucceeded") - Number(data, "streamsFailed"),
      static_cast<uint64_t>(begun)};
}

}  // namespace clusterd
