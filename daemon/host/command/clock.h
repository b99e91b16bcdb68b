// The clock of a host's observation, which tests can replace, and the time left
// for the observation and each of its commands.
#ifndef DAEMON_HOST_COMMAND_CLOCK_H_
#define DAEMON_HOST_COMMAND_CLOCK_H_

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Safe for concurrent use.
class Clock {
 public:
  virtual ~Clock() = default;

  // The wall clock, which may be set at any time.
  virtual absl::Time Now() = 0;
  // Time since an arbitrary moment, for deadlines; never decreases.
  virtual absl::Duration Monotonic() = 0;
  // Time since boot, including suspension: the same for all processes.
  virtual absl::Duration SinceBoot() { return Monotonic(); }
  // Blocks the calling thread.
  virtual void SleepFor(absl::Duration duration) = 0;
};

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

// The requester of a read.
struct Asker {
  // Set once the result is no longer wanted. If null, it always is.
  const std::atomic<bool>* unwanted = nullptr;
  // This request takes precedence over ones that only read.
  bool changes_host = false;
};

// Starts at construction. Safe for concurrent use.
class TimeBudget {
 public:
  // `clock` must outlive this object. The time left is zero once the asker no
  // longer wants the result.
  TimeBudget(Clock* clock, absl::Duration command, absl::Duration host,
             const Asker& asker = {})
      : clock_(clock),
        begin_(clock->Monotonic()),
        command_(command),
        host_(host),
        asker_(asker) {}
  // The request's deadlines; 10 s a command and 30 s a host where it has none.
  static TimeBudget ForRequest(Clock* clock, const ObserveRequest& request,
                               const Asker& asker = {}) {
    const auto or_default = [](uint32_t ms, absl::Duration by_default) {
      return ms == 0 ? by_default : absl::Milliseconds(ms);
    };
    return TimeBudget(clock,
                      or_default(request.command_ms(), absl::Seconds(10)),
                      or_default(request.host_ms(), absl::Seconds(30)), asker);
  }

  absl::Duration Passed() const { return clock_->Monotonic() - begin_; }
  // The rest of the host's time; never negative.
  absl::Duration Left() const {
    const bool is_unwanted = asker_.unwanted != nullptr && *asker_.unwanted;
    return is_unwanted ? absl::ZeroDuration()
                       : std::max(host_ - Passed(), absl::ZeroDuration());
  }
  const Asker& asker() const { return asker_; }
  bool IsSpent() const { return Left() <= absl::ZeroDuration(); }
  // The limit of the next command: the smaller of its deadline and the rest.
  absl::Duration ForCommand() const { return std::min(command_, Left()); }

  // Names the setting that ended a run of `took`: "10s (deadlines.command)" or
  // "30s (deadlines.host)".
  std::string CutBy(absl::Duration took) const {
    return took < command_ ? HostDeadline()
                           : absl::StrCat(absl::FormatDuration(command_),
                                          " (deadlines.command)");
  }
  std::string HostDeadline() const {
    return absl::StrCat(absl::FormatDuration(host_), " (deadlines.host)");
  }

 private:
  Clock* const clock_;
  const absl::Duration begin_;
  const absl::Duration command_;
  const absl::Duration host_;
  const Asker asker_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_CLOCK_H_
