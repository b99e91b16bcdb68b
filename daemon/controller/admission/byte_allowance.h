// What one peer may send: so much at once, then so much a second; and so much
// while nothing is sent to it.
#ifndef DAEMON_CONTROLLER_ADMISSION_BYTE_ALLOWANCE_H_
#define DAEMON_CONTROLLER_ADMISSION_BYTE_ALLOWANCE_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace clusterd {

struct ByteLimits {
  double at_once = 0;
  double per_second = 0;
};

// Not safe for concurrent use.
class ByteAllowance {
 public:
  ByteAllowance(const ByteLimits& limits, absl::Time now)
      : left_(limits.at_once), last_(now) {}

  // `received` is all that has come since the beginning. False: it is more than
  // may.
  bool Take(const ByteLimits& limits, uint64_t received, absl::Time now) {
    const double passed = std::max(0.0, absl::ToDoubleSeconds(now - last_));
    last_ = now;
    left_ = std::min(limits.at_once, left_ + passed * limits.per_second);
    left_ -= static_cast<double>(received - received_);
    received_ = received;
    return left_ >= 0;
  }

  // What of it has come since a change of `sent` was seen, which is all that
  // was sent since the beginning. 0 where that is 0: nobody can tell.
  uint64_t Unanswered(uint64_t sent) {
    if (sent != sent_ || sent == 0) answered_ = received_;
    sent_ = sent;
    return received_ - answered_;
  }

 private:
  double left_;
  uint64_t received_ = 0;
  uint64_t answered_ = 0;  // Of that.
  uint64_t sent_ = 0;
  absl::Time last_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_BYTE_ALLOWANCE_H_
