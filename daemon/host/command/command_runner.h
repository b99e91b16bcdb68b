// Runs one outside program and collects what it said. The only way clusterd
// starts a process.
#ifndef DAEMON_HOST_COMMAND_COMMAND_RUNNER_H_
#define DAEMON_HOST_COMMAND_COMMAND_RUNNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace clusterd {

// What a program sees in place of a file of the machine, and may write.
struct PrivateFile {
  std::string path;  // Absolute, of a file that is there.
  std::string text;
  uint32_t mode = 0600;  // Permission bits.
};

// Who a program runs as, in place of this process's user. It then leads a
// session of its own without a terminal, and where there are any a control
// group, begins in "/", has 128 MiB of memory, can never gain rights
// (PR_SET_NO_NEW_PRIVS), and its environment is PATH, LC_ALL=C, HOME, USER and
// LOGNAME alone. For what reads files that the user can make links of.
struct RunAs {
  std::string name;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;  // All of them, as `id -G` has them.
  std::string home;
};

inline constexpr size_t kMaxStreamBytes = 1 << 20;

struct Command {
  // argv[0] is an absolute path; no shell is involved.
  std::vector<std::string> argv;
  // From now until the process group is killed.
  absl::Duration deadline;
  // The program runs in a mount namespace of its own, in which this file stands
  // for the machine's, whose folder is read-only there. It is in no file system
  // that anybody else sees, and goes with the program.
  std::optional<PrivateFile> instead = {};
  // Each stream is cut there.
  size_t max_stream_bytes = kMaxStreamBytes;
  // Unset: this process's own user.
  std::optional<RunAs> as = {};
  // What the program reads at its standard input; empty: /dev/null.
  std::string input = {};
  // A tool of the vendor's: it is told where the driver's libraries are, which
  // no other program is. Not with `as`.
  bool needs_driver = false;
};

struct CommandResult {
  // Valid if the program exited by itself.
  int exit_status = 0;
  // Not 0: a signal ended it.
  int signal = 0;
  // The deadline passed; the process group was sent SIGKILL.
  bool timed_out = false;
  // SIGKILL did not end it within a second or what the runner grants
  // (uninterruptible in the kernel): it was left behind, and `pid` names it.
  bool left_running = false;
  int pid = 0;
  std::string standard_output;
  std::string standard_error;
  // A stream was longer than max_stream_bytes and has been cut there.
  bool output_cut = false;
  absl::Duration elapsed;
};

// Safe for concurrent use.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;

  // Runs to the end or the deadline. The environment is
  // PATH, LC_ALL=C and, with `needs_driver`, LD_LIBRARY_PATH, and nothing that
  // this process was given. A non-zero exit,
  // a signal and a timeout are results. NotFound: no such program;
  // PermissionDenied: not executable, or others than root can change a folder
  // of the driver's libraries; Unavailable: no process or memory to be
  // had, or 8 programs of that user cannot be killed; FailedPrecondition:
  // `instead` or `as` cannot be had, and nothing was run.
  virtual absl::StatusOr<CommandResult> Run(const Command& command) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_COMMAND_RUNNER_H_
