// Runs programs on this machine.
//
// A child is started in a process group of its own that is killed whole at the
// deadline, with nothing inherited but /dev/null and two pipes. Waiting ends
// with the child: a grandchild that keeps a pipe open holds up nothing, and is
// killed with the group; one that has left the group is ended, too, where
// AdoptOrphans has been called, and one of a program that ran as a user where
// it has a control group (orphans.h). When this process dies the kernel kills
// the child too, so that it changes nothing after the next start has taken back
// an apply; what the child has started itself is then left to the service's
// cgroup.
#ifndef DAEMON_HOST_COMMAND_POSIX_COMMAND_RUNNER_H_
#define DAEMON_HOST_COMMAND_POSIX_COMMAND_RUNNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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
  // `driver_libraries`: folders, separated by ":", of LD_LIBRARY_PATH for who
  // needs the driver. At each start a folder that is not there is left out, and
  // one that others than root can change, on any way to it, refuses the start:
  // what lies in it runs as root.
  // `kill_grace`: how long a program that was killed may take to end before it
  // is left behind.
  explicit PosixCommandRunner(absl::string_view driver_libraries = "",
                              absl::Duration kill_grace = absl::Seconds(1));

  // As CommandRunner::Run; moreover InvalidArgument if argv is empty, argv[0]
  // is not absolute, or a word contains a NUL.
  absl::StatusOr<CommandResult> Run(const Command& command) override;

 private:
  absl::Status CheckLeftBehind(const Command& command)
      ABSL_LOCKS_EXCLUDED(mutex_);

  absl::StatusOr<std::vector<std::string>> EnvironmentOf(
      const Command& command) const;

  const std::vector<std::string> driver_libraries_;
  const absl::Duration kill_grace_;
  absl::Mutex mutex_;
  // Pids, each with the number of the user that it ran as, if any.
  std::vector<std::pair<int, std::optional<uint32_t>>> left_behind_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_POSIX_COMMAND_RUNNER_H_
