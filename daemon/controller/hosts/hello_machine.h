// Which start of which machine a hello speaks of, and whether a second stream
// under one name may be that of the machine which holds it:
//   machine id   boot                           the second stream
//   the same     the same, or a later one       waits while the first is asked
//   the same     an earlier one, or one whose   refused at once: of two copies
//                time tells nothing             the one that is here stays
//   another      any                            refused at once
// One that is asked and answers within HostLimits.ask, whatever it answers,
// stays: the other one is refused, and the host has a conflict until that
// machine stops trying, so that copied ids and a copied certificate do not push
// the real host out. One that does not, as after a power cut, when TCP does not
// know yet, or has ended by then, loses the name to the one that waits.
// Boot times are the hosts' own words. One over kMostAhead ahead of our clock,
// or kMostBehind behind it, tells nothing: no host is a later start by it, and
// by none that holds a name are later ones kept out. Where nobody holds the
// name it is no reason to refuse a host, whose clock may be what is to be found
// out.
#ifndef DAEMON_CONTROLLER_HOSTS_HELLO_MACHINE_H_
#define DAEMON_CONTROLLER_HOSTS_HELLO_MACHINE_H_

#include "absl/time/time.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

inline constexpr absl::Duration kMostAhead = absl::Minutes(5);
inline constexpr absl::Duration kMostBehind = absl::Hours(10 * 365 * 24);

// Ends what says to join again, for a host whose certificate is not ours.
inline constexpr char kOrByHand[] =
    ", or attach with a new certificate made by hand after the reset";

// The same start, too.
bool SameMachine(const Hello& a, const Hello& b);

// Whether `b` says that it is a later start of the machine `a`.
bool IsLaterStart(const Hello& a, const Hello& b, absl::Time now);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_HELLO_MACHINE_H_
