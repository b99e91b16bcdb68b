// What a host shows when it joins:
//   cj1.4f09c2d1.6f1ed002ab5595859014ebf0951522d9
// a form, an id that may be told to anybody, and 128 bits that are the secret;
// and how often hosts may ask for certificates: a few at once from one address,
// or under one name, and then one every so often; and 200 a second in all. Of
// IPv6 a /64 is one address: whoever has one of them has all.
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

// Of a peer as gRPC has it: "ipv4:10.0.0.1" of "ipv4:10.0.0.1:5000".
std::string AddressOf(const std::string& peer);

// Safe for concurrent use.
class JoinLimits {
 public:
  // Of one address, or name.
  struct Each {
    double burst = 5;
    absl::Duration then_every = absl::Seconds(1);
  };
  // Of all.
  static constexpr double kAllPerSecond = 200;
  // Addresses that are counted; beyond, only the sum of all is.
  static constexpr size_t kMaxAddresses = 20000;

  explicit JoinLimits(const Each& each) : each_(each) {}
  JoinLimits() : JoinLimits(Each()) {}

  // ResourceExhausted, for the host to read, if it is one too many. `peer` as
  // gRPC has it, or a name and a colon.
  absl::Status Take(const std::string& peer, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What is left, and when that was.
  struct Allowance {
    double left;
    absl::Time at;
  };

  static void Refill(Allowance* allowance, double per_second, double most,
                     absl::Time now);

  const Each each_;
  absl::Mutex mutex_;
  Allowance all_ ABSL_GUARDED_BY(mutex_) = {kAllPerSecond,
                                            absl::InfinitePast()};
  std::map<std::string, Allowance> addresses_ ABSL_GUARDED_BY(mutex_);
  absl::Time forgot_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_JOIN_TOKEN_H_
