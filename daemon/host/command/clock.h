// Time as the observation of a host sees it, so that tests decide when it
// passes.
#ifndef DAEMON_HOST_COMMAND_CLOCK_H_
#define DAEMON_HOST_COMMAND_CLOCK_H_

#include "absl/time/time.h"

namespace clusterd {

// Safe for concurrent use.
class Clock {
 public:
  virtual ~Clock() = default;

  // The wall clock; somebody may set it.
  virtual absl::Time Now() = 0;
  // Time since an arbitrary moment; never goes back. For deadlines.
  virtual absl::Duration Monotonic() = 0;
  // Blocks the calling thread.
  virtual void SleepFor(absl::Duration duration) = 0;
};

// The machine's own.
class SystemClock final : public Clock {
 public:
  absl::Time Now() override;
  absl::Duration Monotonic() override;
  void SleepFor(absl::Duration duration) override;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_CLOCK_H_
