// When a change that waits to be confirmed goes back by itself.
//   the boot in which the deadline was written   CLOCK_BOOTTIME alone: nobody
//                                                sets it
//   a later boot                                 the wall clock, but never
//                                                later from now than it was
//                                                given in all
//   which boot it is cannot be told              now
// So a wall clock that is set forward takes nothing back early, and one that is
// set back keeps nothing for ever.
#ifndef DAEMON_AGENT_APPLY_CONFIRM_DEADLINE_H_
#define DAEMON_AGENT_APPLY_CONFIRM_DEADLINE_H_

#include <string>

#include "absl/time/time.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/command/clock.h"
#include "proto/plan.pb.h"

namespace clusterd {

// From the first step, however often it is extended.
inline constexpr absl::Duration kMaxConfirmWithin = absl::Hours(24);
// Each is a record of the journal, which has to stay readable.
inline constexpr absl::Duration kMinExtend = absl::Minutes(1);

// All clocks of a host at one moment.
struct HostTime {
  std::string boot_id;  // Empty: it cannot be told.
  absl::Duration since_boot;
  absl::Time wall;
};

// The boot's id from /proc/sys/kernel/random/boot_id.
HostTime ReadHostTime(FileSystem* files, Clock* clock);

// `left` from now. `within`: from the first step.
JournalDeadline MakeDeadline(const HostTime& now, absl::Duration left,
                             absl::Duration within, const std::string& actor);

bool IsOfThisBoot(const JournalDeadline& deadline, const HostTime& now);

// Never negative; zero: it is due.
absl::Duration TimeLeft(const JournalDeadline& deadline, const HostTime& now);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_CONFIRM_DEADLINE_H_
