// A host's token for joining:
//   cj1.4f09c2d1.6f1ed002ab5595859014ebf0951522d9
// a form, a public id, and 128 secret bits. Also the limits of requests for
// certificates: a burst, then a rate, per address or name, and 200 a second in
// total. A /64 of IPv6 counts as one address: its owner has all.
#ifndef DAEMON_CONTROLLER_TRUST_JOIN_TOKEN_H_
#define DAEMON_CONTROLLER_TRUST_JOIN_TOKEN_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/process/allowance.h"

namespace clusterd {

inline constexpr absl::Duration kLeastTokenLife = absl::Minutes(1);
inline constexpr absl::Duration kMostTokenLife = absl::Hours(24);
// The most tokens that are kept at once.
inline constexpr size_t kMaxTokens = 1000;

struct JoinToken {
  std::string id;      // 8 hex digits.
  std::string secret;  // 32 hex digits.

  std::string ToString() const;
  // The stored form of the secret.
  std::string SecretDigest() const;
};

// Internal if OpenSSL cannot make random numbers.
absl::StatusOr<JoinToken> NewJoinToken();

// InvalidArgument, without the text, which may be almost a secret.
absl::StatusOr<JoinToken> ParseJoinToken(absl::string_view text);

// Compares in constant time.
bool SameDigest(absl::string_view a, absl::string_view b);

// The address of a gRPC peer: "ipv4:10.0.0.1" for "ipv4:10.0.0.1:5000".
std::string AddressOf(const std::string& peer);

// Safe for concurrent use.
class JoinLimits {
 public:
  // For one address or name.
  struct Each {
    double burst = 5;
    absl::Duration then_every = absl::Seconds(1);
  };
  // For all.
  static constexpr double kAllPerSecond = 200;
  // The most counted addresses; beyond, only the sum of all counts.
  static constexpr size_t kMaxAddresses = 20000;

  explicit JoinLimits(const Each& each) : each_(each) {}
  JoinLimits() : JoinLimits(Each()) {}

  // ResourceExhausted, for the host to read, beyond the limits. `peer` as gRPC
  // has it, or a name and a colon.
  absl::Status Take(const std::string& peer, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const Each each_;
  absl::Mutex mutex_;
  Allowance all_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Allowance> addresses_ ABSL_GUARDED_BY(mutex_);
  absl::Time forgot_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_JOIN_TOKEN_H_
