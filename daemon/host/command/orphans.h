// Ends what a program that we ran has left behind outside its process group. A
// daemon is the subreaper of its descendants (prctl(2)), so that whatever has
// lost its parent becomes its child; a child that StartChild did not start is
// killed unseen, since all that it could be asked is in the hands of its user:
// its environment may be 8 TB long, and its memory may not answer. What runs as
// a user has a control group of its own besides, where the kernel has them.
#ifndef DAEMON_HOST_COMMAND_ORPHANS_H_
#define DAEMON_HOST_COMMAND_ORPHANS_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace clusterd {

// From now on this process takes over whatever its descendants leave behind. To
// be called by a daemon, before it has threads or children: it kills and reaps
// every child that StartChild did not start. Unimplemented, saying what will
// survive, where the kernel does not list children (CONFIG_PROC_CHILDREN, since
// Linux 3.5).
absl::Status AdoptOrphans();

// The child that `fork` makes; it is nobody's orphan until ReapChild.
pid_t StartChild(const std::function<pid_t()>& fork);
// waitpid(2) of such a child with WNOHANG: 0 while it has not ended. Anything
// else is the last that may be asked of it: its pid may be another's then.
pid_t ReapChild(pid_t pid, int* status);

// Kills every orphan, and what these leave behind in turn, until none is left
// or `limit` has passed. While some cannot be killed nobody waits for them any
// more, so that all of them together hold up one command, once, by `limit`. No
// effect without AdoptOrphans.
void EndOrphans(absl::Duration limit);

// OK if a program that runs as a user gets a control group of its own;
// otherwise Unimplemented, with the reason and with what may survive such a
// program. The daemon logs it at its start, since the programs run in any case.
// `root`: the folder of /proc and /sys.
absl::Status CheckProgramGroups(const std::string& root = "");

// A control group (version 2) below this process's own, for one program and all
// that it starts, whichever group or session these move to.
class ProgramGroup {
 public:
  // Without one where it is not wanted, or this process may not make any.
  explicit ProgramGroup(bool makes);
  // As Kill; the group goes when it is empty.
  ~ProgramGroup();

  // In the child; takes no lock and no memory.
  void Enter() const;
  // All that is in it (since Linux 5.14).
  void Kill() const;

 private:
  std::string path_;  // Empty: there is none.
  int members_ = -1;  // Its cgroup.procs.
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_ORPHANS_H_
