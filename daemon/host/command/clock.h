// Time as the observation of a host sees it, so that tests decide when it
// passes; and how long it, and each command in it, may still take.
#ifndef DAEMON_HOST_COMMAND_CLOCK_H_
#define DAEMON_HOST_COMMAND_CLOCK_H_

#include <time.h>

#include <atomic>
#include <chrono>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Safe for concurrent use.
class Clock {
 public:
  virtual ~Clock() = default;

  // The wall clock; somebody may set it.
  virtual absl::Time Now() = 0;
  // Time since an arbitrary moment; never goes back. For deadlines.
  virtual absl::Duration Monotonic() = 0;
  // The same since the machine booted, and going on while it is suspended, so
  // that two processes of one boot agree.
  virtual absl::Duration SinceBoot() { return Monotonic(); }
  // Blocks the calling thread.
  virtual void SleepFor(absl::Duration duration) = 0;
};

// The machine's own.
class SystemClock final : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
  absl::Duration Monotonic() override {
    return absl::FromChrono(
        std::chrono::steady_clock::now().time_since_epoch());
  }
  absl::Duration SinceBoot() override {
    timespec now = {};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return absl::DurationFromTimespec(now);
  }
  void SleepFor(absl::Duration duration) override { absl::SleepFor(duration); }
};

// For whom something is read.
struct Asker {
  // Set meanwhile: nobody wants what is not read yet. Null: somebody does.
  const std::atomic<bool>* unwanted = nullptr;
  // Goes before whoever only looks, where they wait for each other.
  bool changes_host = false;
};

// Begins when it is made. Safe for concurrent use.
class TimeBudget {
 public:
  // `clock` must outlive this object. No time is left once the asker does not
  // want it any more.
  TimeBudget(Clock* clock, absl::Duration command, absl::Duration host,
             const Asker& asker = {});
  // The request's deadlines; 10 s a command and 30 s a host where it has none.
  static TimeBudget ForRequest(Clock* clock, const ObserveRequest& request,
                               const Asker& asker = {});

  absl::Duration Passed() const;
  // Of the host's time; never negative.
  absl::Duration Left() const;
  const Asker& asker() const { return asker_; }
  bool IsSpent() const { return Left() <= absl::ZeroDuration(); }
  // For the next command: its own deadline, or what is left if that is less.
  absl::Duration ForCommand() const;

  // Which setting ended something that ran for `took`: "10s
  // (deadlines.command)" or "30s (deadlines.host)".
  std::string CutBy(absl::Duration took) const;
  std::string HostDeadline() const;

 private:
  Clock* const clock_;
  const absl::Duration begin_;
  const absl::Duration command_;
  const absl::Duration host_;
  const Asker asker_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_CLOCK_H_
