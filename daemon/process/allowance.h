// An allowance: usable at once, then refilled at a rate. For bytes and calls of
// a connection, handshakes, requests for certificates, lines of an audit file.
#ifndef DAEMON_PROCESS_ALLOWANCE_H_
#define DAEMON_PROCESS_ALLOWANCE_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace clusterd {

struct AllowanceLimits {
  double at_once = 0;
  double per_second = 0;
};

// Full until its first use. Not safe for concurrent use.
class Allowance {
 public:
  // Adds what the time has brought, nothing if the clock was set back. Returns
  // what is left; below 0, that much was used beyond the limits.
  double Refill(const AllowanceLimits& limits, absl::Time now) {
    const double passed = std::max(0.0, absl::ToDoubleSeconds(now - refilled_));
    refilled_ = now;
    left_ = std::min(limits.at_once, left_ + passed * limits.per_second);
    return left_;
  }
  void Use(double amount = 1) { left_ -= amount; }

  // Refills, and uses what a count from the beginning has grown by; a smaller
  // count than before uses nothing. False: it exceeds the limits.
  bool Take(const AllowanceLimits& limits, uint64_t total, absl::Time now) {
    Refill(limits, now);
    if (total > total_) {
      Use(static_cast<double>(total - total_));
      total_ = total;
    }
    return left_ >= 0;
  }

  double left() const { return left_; }
  absl::Time refilled() const { return refilled_; }

 private:
  double left_ = 0;
  absl::Time refilled_ = absl::InfinitePast();
  uint64_t total_ = 0;
};

}  // namespace clusterd

#endif  // DAEMON_PROCESS_ALLOWANCE_H_
