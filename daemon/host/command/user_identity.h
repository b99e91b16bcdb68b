// Runs one program as another user: looks the user up with the machine's
// `getent` and `id`, and switches the child before it executes the program.
// Links and files that a user made are thus read with only the user's access.
#ifndef DAEMON_HOST_COMMAND_USER_IDENTITY_H_
#define DAEMON_HOST_COMMAND_USER_IDENTITY_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

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

#endif  // DAEMON_HOST_COMMAND_USER_IDENTITY_H_
