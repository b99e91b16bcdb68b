// Runs an external program and collects its output. clusterd starts processes
// only through this interface.
#ifndef DAEMON_HOST_COMMAND_COMMAND_RUNNER_H_
#define DAEMON_HOST_COMMAND_COMMAND_RUNNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace clusterd {

// A program sees and may write this file instead of the machine's.
struct PrivateFile {
  std::string path;  // Absolute, of a file that is there.
  std::string text;
  uint32_t mode = 0600;  // Permission bits.
};

// The user a program runs as, instead of this process's own; for programs that
// read files that the user can replace by links. The program leads a session
// without a terminal and gets a control group where there are any. It begins in
// "/", has 128 MiB of memory, can never gain rights (PR_SET_NO_NEW_PRIVS), and
// its environment is PATH, LC_ALL=C, HOME, USER and LOGNAME only.
struct RunAs {
  std::string name;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;  // All of them, as `id -G` prints them.
  std::string home;
};

inline constexpr size_t kMaxStreamBytes = 1 << 20;

struct Command {
  // argv[0] is an absolute path; no shell is involved.
  std::vector<std::string> argv;
  // The time until the process group is killed.
  absl::Duration deadline;
  // The program runs in its own mount namespace, in which this file replaces
  // the machine's and that file's folder is read-only. No other process sees
  // it, and it disappears with the program.
  std::optional<PrivateFile> instead = {};
  // Longer streams are truncated.
  size_t max_stream_bytes = kMaxStreamBytes;
  // Unset: this process's own user.
  std::optional<RunAs> as = {};
  // Text on the program's standard input; empty: /dev/null.
  std::string input = {};
  // For vendor tools: sets LD_LIBRARY_PATH for the driver. Not with `as`.
  bool needs_driver = false;
};

struct CommandResult {
  // Valid if the program exited without a signal.
  int exit_status = 0;
  // Not 0: the signal that ended it.
  int signal = 0;
  // The deadline passed and the process group was sent SIGKILL.
  bool timed_out = false;
  // SIGKILL did not end it within a second or the runner's kill_grace, since
  // the kernel does not let it: it was left behind, and `pid` names it.
  bool left_running = false;
  int pid = 0;
  std::string standard_output;
  std::string standard_error;
  // A stream was longer than max_stream_bytes and was truncated.
  bool output_cut = false;
  absl::Duration elapsed;
};

// Safe for concurrent use.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;

  // Runs to the end or the deadline. The environment is PATH, LC_ALL=C and,
  // with `needs_driver`, LD_LIBRARY_PATH, and nothing of this process's. A
  // non-zero exit, a signal and a timeout are results. NotFound: the program
  // does not exist. PermissionDenied: not executable, or others than root can
  // change a folder of the driver's libraries. Unavailable: out of processes or
  // memory, or 8 programs of that user cannot be killed. FailedPrecondition:
  // `instead` or `as` is impossible, and nothing was run.
  virtual absl::StatusOr<CommandResult> Run(const Command& command) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_COMMAND_RUNNER_H_
