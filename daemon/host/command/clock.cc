#include "daemon/host/command/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace clusterd {

absl::Time SystemClock::Now() { return absl::Now(); }

absl::Duration SystemClock::Monotonic() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

void SystemClock::SleepFor(absl::Duration duration) {
  absl::SleepFor(duration);
}

}  // namespace clusterd
