// The longest wait of a test for an awaited event. There is one limit for all
// tests. It never decides whether a test passes: it only ends a test whose
// condition stays false. Timeouts that a test wants to see expire are the
// product's own settings.
#ifndef TESTS_SUPPORT_WAIT_PATIENCE_H_
#define TESTS_SUPPORT_WAIT_PATIENCE_H_

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace clusterd {

// Shorter than Bazel's shortest time limit of a test (.bazelrc).
inline constexpr absl::Duration kPatience = absl::Minutes(2);

// The deadline of a gRPC call that must be answered.
inline std::chrono::system_clock::time_point PatientDeadline() {
  return absl::ToChronoTime(absl::Now() + kPatience);
}

// Polls `condition` until it returns true; returns false after kPatience. Use
// it for files, processes and counters of the kernel, which can only be polled.
// If a mutex guards the condition, use absl::Mutex::AwaitWithTimeout with
// kPatience.
template <typename Condition>
bool WaitUntil(Condition condition) {
  const absl::Time until = absl::Now() + kPatience;
  while (!condition()) {
    if (absl::Now() > until) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_WAIT_PATIENCE_H_
