// Files that a user names on the command line, and one typed line. Reads are
// bounded; a reader never sees half of a written file.
//
// A plan goes as a file from `clusterctl plan --out` to `clusterctl apply`: the
// protobuf JSON form of ClusterPlan, for people and review tools. The digest
// inside is over the message, not over the text, so that only white space may
// change.
#ifndef CLIENT_FILES_USER_FILES_H_
#define CLIENT_FILES_USER_FILES_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace clusterd {

// For WriteTextFile: only the owner may read the file.
inline constexpr mode_t kOwnerOnly = 0600;

inline constexpr size_t kMaxTextFileBytes = 256u << 20;

// The content of a regular file, or of a pipe as /dev/stdin or /dev/fd/N.
// NotFound if it does not exist. InvalidArgument for other kinds, such as a
// FIFO, or for more than `max_bytes`. PermissionDenied if it cannot be read.
// The message begins with the path.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t max_bytes = kMaxTextFileBytes);

// Writes a temporary file beside `path`, syncs it, renames it over `path` and
// syncs the folder. So the file is either the whole old or the whole new one.
// Follows a symbolic link. An existing special file (/dev/stdout, a FIFO) is
// written in place and never replaced. Otherwise the file gets `mode`, within
// umask. NotFound if the folder does not exist; PermissionDenied for all other
// errors. The message begins with the path.
absl::Status WriteTextFile(const std::string& path, absl::string_view text,
                           mode_t mode = 0666);

// Writes a new file that only this user may read. FailedPrecondition if `path`
// exists, also as a symbolic link. NotFound if the folder does not exist;
// otherwise PermissionDenied. An error leaves no file behind.
absl::Status WriteNewFile(const std::string& path, absl::string_view text);

// OK if WriteTextFile could write: `path` is not a folder, and is written in
// place or is in a writable folder. NotFound, PermissionDenied or
// InvalidArgument; the message begins with the path.
absl::Status CheckFileTarget(const std::string& path);

// Reads from `fd` up to the end of the line, and returns it without that end.
// Cancelled as soon as Ctrl-C makes `cancel_fd` readable (negative: never);
// OutOfRange at the end of the input or after 4096 bytes; Unavailable if it
// cannot be read.
absl::StatusOr<std::string> ReadTypedLine(int fd, int cancel_fd);

// 10,000 hosts of eight devices with 30 steps and 60 facts each are 160 MB, and
// take some ten seconds to write or to read.
inline constexpr size_t kMaxPlanFileBytes = size_t{1} << 30;

// Text for a file that only its owner may read. FailedPrecondition if the plan
// has fields of a newer program, which its text would lose.
absl::StatusOr<std::string> PlanFileText(const ClusterPlan& plan);

// InvalidArgument if the text is not a plan: not JSON, unknown keys, wrong
// types. Does not verify the digest.
absl::StatusOr<ClusterPlan> ParsePlanFile(absl::string_view text);

// The plan in a file, or on stdin for "-", with the digest verified. The errors
// of ReadTextFile, ParsePlanFile and VerifyPlan, with the path in front.
absl::StatusOr<ClusterPlan> ReadPlanFile(const std::string& path);

// OK if a plan may be written: `path` is new, an empty file, a plan (right or
// edited) or is written in place. FailedPrecondition for any other file, which
// would be lost. Otherwise the errors of CheckFileTarget.
absl::Status CheckPlanTarget(const std::string& path);

}  // namespace clusterd

#endif  // CLIENT_FILES_USER_FILES_H_
