// Ends what one of our programs left behind outside its process group. A daemon
// is the subreaper of its descendants (prctl(2)), so it adopts processes that
// lose their parent, and kills every child that StartChild did not start. It
// does not inspect them, since their users control that data: an environment
// may be 8 TB long, and memory may not answer. A program that runs as a user
// also has its own control group, where the kernel has them.
#ifndef DAEMON_HOST_COMMAND_ORPHANS_H_
#define DAEMON_HOST_COMMAND_ORPHANS_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace clusterd {

// From now on this process adopts its descendants' orphans, and kills and reaps
// every child that StartChild did not start. A daemon must call this before it
// has threads or children. Unimplemented, naming what will survive, where the
// kernel does not list children (CONFIG_PROC_CHILDREN, since Linux 3.5).
absl::Status AdoptOrphans();

// Returns the child of `fork`, which is not an orphan until ReapChild.
pid_t StartChild(const std::function<pid_t()>& fork);
// waitpid(2) of such a child with WNOHANG: 0 while it is running. After any
// other result the pid must not be used: another process may get it.
pid_t ReapChild(pid_t pid, int* status);

// Kills every orphan and its descendants until none is left or `limit` has
// passed. While some cannot be killed later calls do not wait, so together they
// delay one command, once, by `limit`. Has no effect without AdoptOrphans.
void EndOrphans(absl::Duration limit);

// OK if a program that runs as a user gets its own control group. Otherwise
// Unimplemented, with the reason and what may survive such a program; the
// daemon only logs it. `root`: the parent folder of /proc and /sys.
absl::Status CheckProgramGroups(const std::string& root = "");

// A version 2 control group below this process's own, for one program and all
// its descendants, whichever group or session they move to.
class ProgramGroup {
 public:
  // If `makes` is false or permission is missing, there is no group.
  explicit ProgramGroup(bool makes);
  // Kills as Kill does, and removes the group once it is empty.
  ~ProgramGroup();

  // Called in the child; takes no lock and allocates no memory.
  void Enter() const;
  // Kills all processes in it (since Linux 5.14).
  void Kill() const;

 private:
  std::string path_;  // Empty: there is none.
  int members_ = -1;  // Its cgroup.procs.
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_ORPHANS_H_
