// Bounds of the calls that clusterctl makes.
#ifndef DAEMON_CONTROLLER_CALL_SLOTS_H_
#define DAEMON_CONTROLLER_CALL_SLOTS_H_

#include "daemon/controller/hosts/slots.h"

namespace clusterd {

// How many calls of a kind may be under way, of all users and of one.
struct CallSlots {
  Slots lists{"lists are being told", 64, 8};
  Slots describes{"hosts are being described", 64, 16};
  // Each may be as long as the plan of a whole cluster, and a client may take
  // it as slowly as it likes.
  Slots records{"entries of the history are being read", 12, 4};
  // Each copies and judges the facts of a whole cluster.
  Slots so_far{"checks are being judged so far", 4, 2};
  Slots logs{"calls read logs", 4, 2};
  Slots watches{"terminals watch", 128, 8};
  // Runs that are ended, and identities that are unlocked.
  Slots ends{"runs and identities are being ended", 64, 8};
  // Apart from the ends, which may all wait for a disk that hangs.
  Slots locks{"identities are being locked", 64, 8};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CALL_SLOTS_H_
