// Runs programs on this machine.
//
// A child is started in a process group of its own that is killed whole at the
// deadline, with nothing inherited but /dev/null and two pipes. Waiting ends
// with the child: a grandchild that keeps a pipe open holds up nothing, and is
// killed with the group; one that has left the group is ended, too, where
// AdoptOrphans has been called. When this process dies the kernel kills the
// child too, so that it changes nothing after the next start has taken back an
// apply; what the child has started itself is then left to the service's
// cgroup.
#ifndef DAEMON_HOST_COMMAND_POSIX_COMMAND_RUNNER_H_
#define DAEMON_HOST_COMMAND_POSIX_COMMAND_RUNNER_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Safe for concurrent use.
class PosixCommandRunner final : public CommandRunner {
 public:
  // `library_path`: LD_LIBRARY_PATH of every child, e.g. where the vendor's
  // driver libraries are; empty: not set.
  explicit PosixCommandRunner(const std::string& library_path = "");

  // As CommandRunner::Run; moreover InvalidArgument if argv is empty, argv[0]
  // is not absolute, or a word contains a NUL.
  absl::StatusOr<CommandResult> Run(const Command& command) override;

 private:
  // Takes the exit of children that were left behind and have ended since.
  void ReapLeftBehind() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<std::string> environment_;
  absl::Mutex mutex_;
  std::vector<int> left_behind_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_POSIX_COMMAND_RUNNER_H_
