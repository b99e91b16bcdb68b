// Another user for one program: who it is, as the machine's own `getent` and
// `id` tell it, and how a child becomes that user before it is the program.
// What a user has made, a link or a file of any kind, is read by a program that
// runs as the user and so reaches no further than the user does.
#ifndef DAEMON_HOST_COMMAND_USER_IDENTITY_H_
#define DAEMON_HOST_COMMAND_USER_IDENTITY_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Where every program that we run looks for others.
inline constexpr char kSearchPath[] =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// InvalidArgument, quoting it, unless `name` is one that useradd(8) would take:
// letters, digits, "_", "-" and ".", 1 to 32 of them, first a letter or "_". So
// it is no option, no number of a user and no path.
absl::Status CheckUserName(absl::string_view name);

// The user of that name, from
//   getent passwd NAME    ann:x:1000:1000:Ann,,,:/home/ann:/bin/bash
//   id -G NAME            1000 27 998
// found below `root`, so that directories (LDAP, SSSD) are asked, too.
// InvalidArgument: CheckUserName. NotFound: no such user.
// PermissionDenied: another name for root, or a program that others than root
// can change. FailedPrecondition: an answer that is not understood.
// DeadlineExceeded: none in time.
absl::StatusOr<RunAs> FindUser(const std::string& root, CommandRunner* runner,
                               const TimeBudget& budget,
                               absl::string_view name);

// Address space of a program that runs as a user.
inline constexpr size_t kMaxUserMemory = 128 << 20;

// What the child needs, made before there is a child.
struct UserIdentity {
  uid_t uid;
  gid_t gid;
  std::vector<gid_t> groups;
};
UserIdentity MakeUserIdentity(const RunAs& as);

// In the child, before it becomes the program; takes no lock and no memory.
// Null, or, as a literal, what could not be had, with errno. Then the program
// must not run. A process that is not root becomes nobody but itself.
const char* BecomeUser(const UserIdentity& user, pid_t parent);

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_USER_IDENTITY_H_
