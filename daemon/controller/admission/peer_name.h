// What the other end of a TCP connection is called.
#ifndef DAEMON_CONTROLLER_ADMISSION_PEER_NAME_H_
#define DAEMON_CONTROLLER_ADMISSION_PEER_NAME_H_

#include <sys/socket.h>

#include <string>

namespace clusterd {

// As gRPC 1.51 names the peer of a connection: "ipv4:127.0.0.1:80",
// "ipv6:%5B::1%5D:80"; an IPv4 address within IPv6 is an IPv4 address.
std::string PeerName(const sockaddr_storage& address);
// Those that share a bound: an IPv4 address, or the first half of an IPv6 one.
std::string PeerNetwork(const sockaddr_storage& address);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_PEER_NAME_H_
