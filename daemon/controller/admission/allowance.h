// What one peer may do, counted from its first: so much at once, then so much a
// second; and what it has sent while nothing was sent to it.
#ifndef DAEMON_CONTROLLER_ADMISSION_ALLOWANCE_H_
#define DAEMON_CONTROLLER_ADMISSION_ALLOWANCE_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace clusterd {

struct AllowanceLimits {
  double at_once = 0;
  double per_second = 0;
};

// Not safe for concurrent use.
class Allowance {
 public:
  Allowance(const AllowanceLimits& limits, absl::Time now)
      : left_(limits.at_once), last_(now) {}

  // `total` is all that there was since the beginning; less than before is
  // nothing new. False: it is more than may be.
  bool Take(const AllowanceLimits& limits, uint64_t total, absl::Time now) {
    const double passed = std::max(0.0, absl::ToDoubleSeconds(now - last_));
    last_ = now;
    left_ = std::min(limits.at_once, left_ + passed * limits.per_second);
    if (total > total_) {
      left_ -= static_cast<double>(total - total_);
      total_ = total;
    }
    return left_ >= 0;
  }

 private:
  double left_;
  uint64_t total_ = 0;
  absl::Time last_;
};

// Not safe for concurrent use.
class UnansweredBytes {
 public:
  // What of `received` has come since a change of `sent` was seen; each is all
  // since the beginning. 0 where `sent` is 0: nobody can tell.
  uint64_t Take(uint64_t received, uint64_t sent) {
    if (sent != sent_ || sent == 0) answered_ = received;
    sent_ = sent;
    return received - std::min(received, answered_);
  }

 private:
  uint64_t answered_ = 0;
  uint64_t sent_ = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_ALLOWANCE_H_
