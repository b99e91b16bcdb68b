// The two parsers of a line agree about the port.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/socket_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<uint32_t> port = clusterd::ParseSocketPort(text);
  if (port.ok() && *port > 65535) std::abort();
  for (const clusterd::SocketProtocol protocol :
       {clusterd::SocketProtocol::kTcp, clusterd::SocketProtocol::kTcp6,
        clusterd::SocketProtocol::kUdp, clusterd::SocketProtocol::kUdp6}) {
    const absl::StatusOr<clusterd::SocketLine> line =
        clusterd::ParseSocketLine(protocol, text);
    if (line.ok() && (!port.ok() || line->port != *port)) std::abort();
    if (line.ok() && line->address.empty()) std::abort();
  }
  clusterd::ParseSocketLink(text);
  return 0;
}
