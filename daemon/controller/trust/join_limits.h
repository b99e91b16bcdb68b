// How often hosts may ask for certificates: a few at once from one address, or
// under one name, and then one every so often; and 200 a second in all. Of IPv6
// a /64 is one address: whoever has one of them has all.
#ifndef DAEMON_CONTROLLER_TRUST_JOIN_LIMITS_H_
#define DAEMON_CONTROLLER_TRUST_JOIN_LIMITS_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace clusterd {

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
  // Takes off addresses that have all of their allowance; once a second at
  // most.
  void ForgetQuietLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Each each_;
  absl::Mutex mutex_;
  Allowance all_ ABSL_GUARDED_BY(mutex_) = {kAllPerSecond,
                                            absl::InfinitePast()};
  std::map<std::string, Allowance> addresses_ ABSL_GUARDED_BY(mutex_);
  absl::Time forgot_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_JOIN_LIMITS_H_
