// Which start of which machine a hello speaks of.
#ifndef DAEMON_CONTROLLER_HOSTS_HELLO_MACHINE_H_
#define DAEMON_CONTROLLER_HOSTS_HELLO_MACHINE_H_

#include "proto/agent_hub.pb.h"

namespace clusterd {

// The same start, too.
bool SameMachine(const Hello& a, const Hello& b);

// Whether `b` is a later start of the machine `a`, whose stream then is dead,
// although nobody has noticed yet. Of two copies of one machine the one that
// started first is refused for good, as a second machine.
bool IsLaterStart(const Hello& a, const Hello& b);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_HELLO_MACHINE_H_
