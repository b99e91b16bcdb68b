// Finds an external program in its usual places, within an observation's time.
// Refuses one that others than root could have replaced: it runs as root.
#ifndef DAEMON_HOST_COMMAND_PROGRAM_PATH_H_
#define DAEMON_HOST_COMMAND_PROGRAM_PATH_H_

#include <optional>
#include <string>
#include <vector>

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

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_PROGRAM_PATH_H_
