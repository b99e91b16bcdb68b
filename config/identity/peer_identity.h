// Who is at the other end of a call that a server has received: read from the
// verified certificate alone, never from a message, header or address.
#ifndef CONFIG_IDENTITY_PEER_IDENTITY_H_
#define CONFIG_IDENTITY_PEER_IDENTITY_H_

#include <string>

#include "absl/status/statusor.h"
#include "config/identity/spiffe_id.h"
#include "grpcpp/security/auth_context.h"

namespace clusterd {

// Unauthenticated if the peer showed no certificate or one without exactly one
// SPIFFE id of ours; PermissionDenied if it is of another cluster or of another
// kind than `kind`. The messages are for the peer to read.
absl::StatusOr<SpiffeId> RequirePeer(const grpc::AuthContext& context,
                                     const std::string& cluster,
                                     IdentityKind kind);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_PEER_IDENTITY_H_
