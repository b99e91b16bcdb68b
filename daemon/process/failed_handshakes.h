// Whose TLS handshake with a server of this process failed, and why, out of
// what gRPC 1.51 says under its trace "tcp":
//   READ 0x7fa838001170 (peer=ipv4:10.0.0.5:46112) error=OK
//   TCP:0x7fa838001170 got_error: UNKNOWN:FD Shutdown {… children:[UNKNOWN:Tls
//     handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate
//     verify failed {…}]}
// The message that gRPC logs by itself names no peer, and a connection that the
// other end closes in the middle gets none. The trace costs about 20 us a
// message and prints no content.
#ifndef DAEMON_PROCESS_FAILED_HANDSHAKES_H_
#define DAEMON_PROCESS_FAILED_HANDSHAKES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace clusterd {

// Reads one message of gRPC, on the thread that logs it: "TLS handshake with
// ipv4:10.0.0.5:46112 failed: …" if it ends a handshake, else empty. Also empty
// if it says of the same address what was said in the last ten minutes.
// Handshakes that took too long are no part of this. `peer`, if it is given,
// then is the address. Safe for concurrent use.
std::string ReadFailedHandshake(absl::string_view message,
                                std::string* peer = nullptr);

}  // namespace clusterd

#endif  // DAEMON_PROCESS_FAILED_HANDSHAKES_H_
