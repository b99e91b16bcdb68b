// Finds an outside program where it belongs, and refuses one that somebody else
// than root could have put there: this daemon runs it as root, within the time
// that an observation has.
#ifndef DAEMON_HOST_COMMAND_PROGRAM_PATH_H_
#define DAEMON_HOST_COMMAND_PROGRAM_PATH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Root and path of the first candidate that exists, to be run: an executable
// file that only root, or the user this process runs as, can change. It, every
// folder and link on the way below the root belongs to one of them, and none is
// writable by the group (other than root's or our own) or by everybody, but for
// folders with the sticky bit.
// NotFound, naming the first, if none exists. PermissionDenied, naming the
// part: may not be looked at, not executable, could have been changed, or leads
// out of the root. REQUIRES: there is a candidate.
absl::StatusOr<std::string> FindProgram(
    const std::string& root, absl::Span<const absl::string_view> candidates);

// OK if only root, or the user this process runs as, can change the folder, and
// every folder and link on the way to it, by the same rules. NotFound: there is
// none. PermissionDenied, naming the part: as FindProgram, or no folder.
absl::Status CheckFolder(absl::string_view path);

// The same of something that is no folder, below `root`. Without
// `sticky_guards` no folder with the sticky bit will do: it keeps others from
// replacing what is there, but not from mounting a file system that never
// answers on a folder of theirs.
absl::Status CheckFile(absl::string_view root, absl::string_view path,
                       bool sticky_guards = true);

// What `argv` answers within `budget`, whatever its status. DeadlineExceeded:
// no answer in time; FailedPrecondition: more than `max_bytes` of output; the
// codes of `runner`. Errors begin with `name`, as people know the command. It
// runs as `as`, if that is given.
absl::StatusOr<CommandResult> RunWithin(const TimeBudget& budget,
                                        CommandRunner* runner,
                                        absl::string_view name,
                                        std::vector<std::string> argv,
                                        size_t max_bytes = kMaxStreamBytes,
                                        std::optional<RunAs> as = {});

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_PROGRAM_PATH_H_
