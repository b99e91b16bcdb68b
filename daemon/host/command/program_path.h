// Finds an external program in its usual places, within an observation's time,
// and the user to run it as. Refuses a program that others than root could have
// replaced: it runs as root.
#ifndef DAEMON_HOST_COMMAND_PROGRAM_PATH_H_
#define DAEMON_HOST_COMMAND_PROGRAM_PATH_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/words/words.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Returns root and path of the first existing candidate: an executable file
// that only root, or the user this process runs as, can change. The file and
// every folder and link on the way below the root must belong to one of them.
// None may be writable by the group (other than root's or our own) or by all,
// except folders with the sticky bit. NotFound, naming the first, if none
// exists. PermissionDenied, naming the part: not accessible, not executable,
// possibly changed, or outside the root. REQUIRES: there is a candidate.
absl::StatusOr<std::string> FindProgram(
    const std::string& root, absl::Span<const absl::string_view> candidates);

// OK if only root, or this process's user, can change the folder and every
// folder and link on the way to it, by the same rules. NotFound if it is
// missing. PermissionDenied, naming the part: as FindProgram, or not a folder.
absl::Status CheckFolder(absl::string_view path);

// The same for other files, below `root`. Without `sticky_guards` a folder with
// the sticky bit is refused: the bit prevents replacement, but users can still
// mount an unresponsive file system on a folder of theirs.
absl::Status CheckFile(absl::string_view root, absl::string_view path,
                       bool sticky_guards = true);

// Runs `argv`, as `as` if given, and returns its answer with any status.
// DeadlineExceeded: no answer within `budget`; FailedPrecondition: more than
// `max_bytes` of output; the codes of `runner`. Errors begin with `name`.
absl::StatusOr<CommandResult> RunWithin(const TimeBudget& budget,
                                        CommandRunner* runner,
                                        absl::string_view name,
                                        std::vector<std::string> argv,
                                        size_t max_bytes = kMaxStreamBytes,
                                        std::optional<RunAs> as = {});

// One line about a run for an error message, e.g. "`ufw disable`: status 1:
// ERROR: problem running ufw-init". The program is named without its folder.
// Its words come from stderr, or stdout if that is empty, without control
// characters, at most 200 bytes. A run that could not start shows its status.
FindingValue CommandWords(const Command& command,
                          const absl::StatusOr<CommandResult>& result);

// Runs one program as another user: looks the user up with the machine's
// `getent` and `id`, and switches the child before it executes the program.
// Links and files that a user made are thus read with only the user's access.

// Search path of every program that we run.
inline constexpr char kSearchPath[] =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// InvalidArgument, quoting it, unless useradd(8) would take `name`: letters,
// digits, "_", "-" and ".", 1 to 32 of them, first a letter or "_". It cannot
// be an option, a uid or a path.
absl::Status CheckUserName(absl::string_view name);

// Returns the user of that name, from
//   getent passwd NAME    ann:x:1000:1000:Ann,,,:/home/ann:/bin/bash
//   id -G NAME            1000 27 998
// found below `root`, which include directories (LDAP, SSSD). InvalidArgument:
// CheckUserName. NotFound: no such user. PermissionDenied: another name for
// root, or a program that others than root can change. FailedPrecondition: an
// unknown form of answer. DeadlineExceeded: no answer.
absl::StatusOr<RunAs> FindUser(const std::string& root, CommandRunner* runner,
                               const TimeBudget& budget,
                               absl::string_view name);

// Address space of a program that runs as a user.
inline constexpr size_t kMaxUserMemory = 128 << 20;

// Called in the child, before it becomes the program; takes no lock and
// allocates no memory. Null, or a literal naming what failed, with errno: the
// program must not run. Without root only the process's own user is possible.
const char* BecomeUser(const RunAs& user, pid_t parent);

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_PROGRAM_PATH_H_
