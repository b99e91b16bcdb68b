// absl::Status to grpc::Status and back: the codes are the same numbers.
#ifndef CONFIG_IDENTITY_GRPC_STATUS_H_
#define CONFIG_IDENTITY_GRPC_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace clusterd {

inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      std::string(status.message()));
}

// A number that is no code becomes Unknown.
inline absl::Status ToAbslStatus(const grpc::Status& status) {
  const int code = static_cast<int>(status.error_code());
  const bool known = code >= 0 && code <= 16;
  return absl::Status(
      known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
      status.error_message());
}

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_GRPC_STATUS_H_
