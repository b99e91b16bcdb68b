// What a failed call means to the person who made it.
#ifndef CLIENT_CONNECTION_RPC_ERROR_H_
#define CLIENT_CONNECTION_RPC_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace clusterd {

// REQUIRES: !status.ok(). `peer` is who was called ("controller head:7443"),
// `waited` the deadline of the call. Same code, message:
//   cannot connect   peer, the system's own reason, what to look at
//   bad certificate  peer, which side refused which certificate
//   deadline         peer, no answer in `waited` (--timeout)
//   all else         peer and the message that the other end sent
absl::Status ExplainRpcError(const grpc::Status& status,
                             const std::string& peer, absl::Duration waited);

}  // namespace clusterd

#endif  // CLIENT_CONNECTION_RPC_ERROR_H_
