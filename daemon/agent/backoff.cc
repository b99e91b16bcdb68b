#include "daemon/agent/backoff.h"

#include <algorithm>
#include <utility>

namespace clusterd {

Backoff::Backoff(BackoffOptions options, std::function<double()> random)
    : options_(options), random_(std::move(random)), bound_(options.initial) {}

absl::Duration Backoff::Next() {
  const absl::Duration wait = bound_ * random_();
  bound_ = std::min(bound_ * 2, options_.max);
  return std::max(wait, options_.min);
}

}  // namespace clusterd
