// absl::Status to grpc::Status and back: the codes are the same numbers. The
// details are the words of the message (config/words/message.h).
#ifndef CONFIG_IDENTITY_GRPC_STATUS_H_
#define CONFIG_IDENTITY_GRPC_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "config/words/message.h"
#include "grpcpp/support/status.h"

namespace clusterd {

// Message and words together: gRPC takes headers of at most 8 KiB. Longer words
// stay behind, and the message is shown in English.
inline constexpr size_t kMaxStatusBytes = 6000;

inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  const std::string words(
      status.GetPayload(kMessageWords).value_or(absl::Cord()));
  const bool fits = status.message().size() + words.size() < kMaxStatusBytes;
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      std::string(status.message()), fits ? words : "");
}

// An unknown code becomes Unknown.
inline absl::Status ToAbslStatus(const grpc::Status& status) {
  const int code = static_cast<int>(status.error_code());
  const bool known = code >= 0 && code <= 16;
  absl::Status plain(
      known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
      status.error_message());
  if (!status.error_details().empty()) {
    plain.SetPayload(kMessageWords, absl::Cord(status.error_details()));
  }
  return plain;
}

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_GRPC_STATUS_H_
