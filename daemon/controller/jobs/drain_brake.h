// Brakes hooks that fail their hosts: when many hosts fail at once, a mistake
// of a person or of clusterd is likelier than many broken hosts.
//   hosts failed in the window, this one too   | may fail
//   up to 2, or the share of the spec's hosts  | yes
//   more                                       | no: a person must check
// With a share of 0, no host may be failed.
#ifndef DAEMON_CONTROLLER_JOBS_DRAIN_BRAKE_H_
#define DAEMON_CONTROLLER_JOBS_DRAIN_BRAKE_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/calls/controller_parts.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

struct DrainLimits {
  // Percent of the spec's hosts.
  int share_percent = 10;
  absl::Duration window = absl::Minutes(10);
};

// Counts in memory, since the controller's start. Safe for concurrent use.
class DrainBrake {
 public:
  // All parts must outlive it.
  DrainBrake(const ControllerParts& parts, const DrainLimits& limits)
      : parts_(parts), limits_(limits) {}

  // Answers whether a host may be failed. A yes counts once in a window. A no
  // is logged once for each host in a window; the first is kept in the history
  // as a check without a verdict. Does not block.
  DrainAnswer Ask(const std::string& host, const DrainQuestion& question)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using LastTimes = std::map<std::string, absl::Time>;

  // Drops times outside the window; times in the future count as now.
  void Sweep(absl::Time now, LastTimes* times) const;
  // The hosts that may be failed in one window.
  size_t Most() const;
  void KeepSoon(const FindingValue& why);

  const ControllerParts parts_;
  const DrainLimits limits_;

  absl::Mutex mutex_;
  LastTimes failed_ ABSL_GUARDED_BY(mutex_);
  LastTimes refused_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_JOBS_DRAIN_BRAKE_H_
