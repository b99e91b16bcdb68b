// How long the observation of a host, and each command in it, may still take.
#ifndef DAEMON_HOST_COMMAND_TIME_BUDGET_H_
#define DAEMON_HOST_COMMAND_TIME_BUDGET_H_

#include <string>

#include "absl/time/time.h"
#include "daemon/host/command/clock.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Begins when it is made. Safe for concurrent use.
class TimeBudget {
 public:
  // `clock` must outlive this object.
  TimeBudget(Clock* clock, absl::Duration command, absl::Duration host);
  // The request's deadlines; 10 s a command and 30 s a host where it has none.
  static TimeBudget ForRequest(Clock* clock, const ObserveRequest& request);

  absl::Duration Passed() const;
  // Of the host's time; never negative.
  absl::Duration Left() const;
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
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_TIME_BUDGET_H_
