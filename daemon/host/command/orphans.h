// Ends what a program that we ran has left behind outside its process group:
// what it has started there becomes a child of this process (a subreaper,
// prctl(2)) and is known by a word in its environment.
#ifndef DAEMON_HOST_COMMAND_ORPHANS_H_
#define DAEMON_HOST_COMMAND_ORPHANS_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace clusterd {

// From now on this process takes over whatever its descendants leave behind. To
// be called by a daemon, before it has threads: it reaps every child that
// StartChild did not start. Unimplemented, saying what will survive, where the
// kernel does not list children (CONFIG_PROC_CHILDREN, since Linux 3.5).
absl::Status AdoptOrphans();

// A word for the environment of one command, by which EndOrphans knows what it
// has started; empty without AdoptOrphans.
std::string NewCommandWord();

// The child that `fork` makes; it is nobody's orphan until ForgetChild.
pid_t StartChild(const std::function<pid_t()>& fork);
void ForgetChild(pid_t pid);

// Kills whoever has the word in his environment and is our child by now, and
// what these leave behind in turn, until none is left or `limit` has passed.
void EndOrphans(const std::string& word, absl::Duration limit);

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_ORPHANS_H_
