#include "daemon/controller/admission/peer_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// The address, without its port; IPv4 within IPv6 is IPv4.
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

}  // namespace

std::string PeerName(const sockaddr_storage& address) {
  const std::string bytes = AddressBytes(address);
  // Where the port stands is the same for both.
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

}  // namespace clusterd
