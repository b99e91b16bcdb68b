// OpenSSL's half of a server that asks every client for a certificate.
#ifndef DAEMON_CONTROLLER_STATUS_SERVER_CONTEXT_H_
#define DAEMON_CONTROLLER_STATUS_SERVER_CONTEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "config/identity/certificate.h"
#include "openssl/ssl.h"

namespace clusterd {

// TLS 1.2 or 1.3 with this pair; only who has a certificate of this CA gets
// through a handshake, and no session is resumed, which would outlive one.
// InvalidArgument, with OpenSSL's reason, for texts that it does not take. The
// caller frees it.
absl::StatusOr<SSL_CTX*> MakeServerContext(const TlsPem& pem);

// The client's certificate, PEM; empty: it has shown none.
std::string PeerCertificate(const SSL* connection);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STATUS_SERVER_CONTEXT_H_
