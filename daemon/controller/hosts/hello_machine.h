// Identifies the machine and its start in a hello, and decides if a second
// stream under one name may replace the first:
//   machine id   boot                           the second stream
//   the same     the same, or a later one       waits while the first is asked
//   the same     an earlier one, or one whose   refused at once: of two copies
//                time is implausible            the attached one stays
//   another      any                            refused at once
// A first stream that gives any answer within HostLimits.ask stays. The second
// one is refused, and the host has a conflict until that machine stops trying:
// copied ids and a copied certificate must not displace the real host. A first
// stream that does not answer, as after a power cut that TCP has not noticed,
// or has ended by then, loses the name. Hosts state their own boot times. A
// time over kMostAhead ahead of our clock, or kMostBehind behind it, is never a
// later start, and a holder with it keeps no start out. A host whose name is
// free is never refused: a check may have to find the wrong clock.
#ifndef DAEMON_CONTROLLER_HOSTS_HELLO_MACHINE_H_
#define DAEMON_CONTROLLER_HOSTS_HELLO_MACHINE_H_

#include "absl/time/time.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

inline constexpr absl::Duration kMostAhead = absl::Minutes(5);
inline constexpr absl::Duration kMostBehind = absl::Hours(10 * 365 * 24);

// True if both are the same start of the same machine.
bool SameMachine(const Hello& a, const Hello& b);

// True if `b` claims to be a later start of the machine `a`.
bool IsLaterStart(const Hello& a, const Hello& b, absl::Time now);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_HELLO_MACHINE_H_
