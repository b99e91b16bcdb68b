// Runs one outside program and collects what it said. The only way clusterd
// starts a process.
#ifndef DAEMON_HOST_COMMAND_COMMAND_RUNNER_H_
#define DAEMON_HOST_COMMAND_COMMAND_RUNNER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace clusterd {

struct Command {
  // argv[0] is an absolute path; no shell is involved.
  std::vector<std::string> argv;
  // From now until the process group is killed.
  absl::Duration deadline;
};

struct CommandResult {
  // Valid if the program exited by itself.
  int exit_status = 0;
  // Not 0: a signal ended it.
  int signal = 0;
  // The deadline passed; the process group was sent SIGKILL.
  bool timed_out = false;
  // SIGKILL did not end it within a second (uninterruptible in the kernel): it
  // was left behind, and `pid` names it.
  bool left_running = false;
  int pid = 0;
  std::string standard_output;
  std::string standard_error;
  // A stream was longer than kMaxStreamBytes and has been cut there.
  bool output_cut = false;
  absl::Duration elapsed;
};

inline constexpr size_t kMaxStreamBytes = 1 << 20;

// Safe for concurrent use.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;

  // Runs to the end or the deadline. stdin is /dev/null, the environment is
  // PATH, LC_ALL=C and what the implementation was made with. A non-zero exit,
  // a signal and a timeout are results. NotFound: no such program;
  // PermissionDenied: not executable; Unavailable: no process or memory to be
  // had.
  virtual absl::StatusOr<CommandResult> Run(const Command& command) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_COMMAND_RUNNER_H_
