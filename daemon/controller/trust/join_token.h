// What a host shows when it joins:
//   cj1.4f09c2d1.6f1ed002ab5595859014ebf0951522d9
// a form, an id that may be told to anybody, and 128 bits that are the secret.
#ifndef DAEMON_CONTROLLER_TRUST_JOIN_TOKEN_H_
#define DAEMON_CONTROLLER_TRUST_JOIN_TOKEN_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace clusterd {

inline constexpr absl::Duration kLeastTokenLife = absl::Minutes(1);
inline constexpr absl::Duration kMostTokenLife = absl::Hours(24);
// So many are kept at once.
inline constexpr size_t kMaxTokens = 1000;

struct JoinToken {
  std::string id;      // 8 hex digits.
  std::string secret;  // 32 hex digits.

  std::string ToString() const;
  // What is kept of the secret.
  std::string SecretDigest() const;
};

// Internal if OpenSSL has no random numbers.
absl::StatusOr<JoinToken> NewJoinToken();

// InvalidArgument, without the text, which may be nearly a secret.
absl::StatusOr<JoinToken> ParseJoinToken(absl::string_view text);

// In a time that does not depend on where they differ.
bool SameDigest(absl::string_view a, absl::string_view b);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_JOIN_TOKEN_H_
