// absl::Status to grpc::Status and back: the codes are the same numbers.
#ifndef CONFIG_IDENTITY_GRPC_STATUS_H_
#define CONFIG_IDENTITY_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace clusterd {

grpc::Status ToGrpcStatus(const absl::Status& status);

// A number that is no code becomes Unknown.
absl::Status ToAbslStatus(const grpc::Status& status);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_GRPC_STATUS_H_
