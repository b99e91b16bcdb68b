// Runs programs on this machine.
//
// A child starts in its own process group, which is killed whole at the
// deadline, and inherits only /dev/null and two pipes. Waiting ends with the
// child: a grandchild that holds a pipe open causes no delay, and is killed
// with the group. A grandchild that left the group ends too where AdoptOrphans
// was called, or where the program ran as a user with a control group
// (orphans.h). If this process dies the kernel kills the child, so that it
// changes nothing after the next start has undone an apply. The child's own
// children are then left to the service's cgroup.
#ifndef DAEMON_HOST_COMMAND_POSIX_COMMAND_RUNNER_H_
#define DAEMON_HOST_COMMAND_POSIX_COMMAND_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Safe for concurrent use.
class PosixCommandRunner final : public CommandRunner {
 public:
  // `driver_libraries`: folders, separated by ":", of LD_LIBRARY_PATH for
  // programs that need the driver. Each start omits a missing folder, and fails
  // if others than root can change a folder or any way to it: its files run as
  // root. `kill_grace`: how long a killed program may take to end before it is
  // left behind.
  explicit PosixCommandRunner(absl::string_view driver_libraries = "",
                              absl::Duration kill_grace = absl::Seconds(1));

  // As CommandRunner::Run; also InvalidArgument if argv is empty, argv[0] is
  // not absolute, or a word contains a NUL.
  absl::StatusOr<CommandResult> Run(const Command& command) override;

 private:
  struct LeftBehind {
    int pid;
    std::optional<uint32_t> uid;  // Whom it ran as, unless as this process.
    // A program that has not begun may still use it.
    std::shared_ptr<const void> launch;
  };

  absl::Status CheckLeftBehind(const Command& command)
      ABSL_LOCKS_EXCLUDED(mutex_);

  absl::StatusOr<std::vector<std::string>> EnvironmentOf(
      const Command& command) const;

  const std::vector<std::string> driver_libraries_;
  const absl::Duration kill_grace_;
  absl::Mutex mutex_;
  std::vector<LeftBehind> left_behind_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_POSIX_COMMAND_RUNNER_H_
