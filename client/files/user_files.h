// Files that a user names on the command line: read whole with a bound, written
// so that a reader never sees half of one; and one line that a person types.
//
// A plan goes as a file from `clusterctl plan --out` to `clusterctl apply`: the
// protobuf JSON form of ClusterPlan, which a person can read and a review tool
// can compare. The digest inside is over the message, not over the text, so
// that white space may change and nothing else.
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

// For WriteTextFile: nobody else may read what was written.
inline constexpr mode_t kOwnerOnly = 0600;

inline constexpr size_t kMaxTextFileBytes = 256u << 20;

// The content of a regular file; of /dev/stdin and /dev/fd/N also what a pipe
// brings. NotFound if it does not exist; InvalidArgument if it is anything
// else, such as a FIFO, or has more than `max_bytes`; PermissionDenied if it
// cannot be read. The message begins with the path.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t max_bytes = kMaxTextFileBytes);

// Writes a temporary file beside `path`, syncs it, renames it over `path` and
// syncs the folder: afterwards the file is the old one or the new one, whole.
// Follows a symbolic link. What is there and is no regular file (/dev/stdout, a
// FIFO) is written to in place and never replaced; else `mode`, as far as umask
// lets, says who may read it. NotFound if the folder does not exist;
// PermissionDenied for all else. The message begins with the path.
absl::Status WriteTextFile(const std::string& path, absl::string_view text,
                           mode_t mode = 0666);

// Writes a new file that only this user may read. FailedPrecondition if `path`
// exists, also as a symbolic link; NotFound if the folder does not;
// PermissionDenied for all else, and nothing is left behind.
absl::Status WriteNewFile(const std::string& path, absl::string_view text);

// OK where WriteTextFile could write: what is there is no folder, and is
// written to in place or stands in a folder where files can be made. NotFound,
// PermissionDenied or InvalidArgument, the message beginning with the path.
absl::Status CheckFileTarget(const std::string& path);

// Reads from `fd` up to the end of the line, and returns it without that end.
// Cancelled as soon as `cancel_fd`, which Ctrl-C makes so, is readable
// (negative: never); OutOfRange at the end of the input or after 4096 bytes;
// Unavailable if it cannot be read.
absl::StatusOr<std::string> ReadTypedLine(int fd, int cancel_fd);

// 10,000 hosts of eight devices with 30 steps and 60 facts each are 160 MB, and
// take some ten seconds to write or to read.
inline constexpr size_t kMaxPlanFileBytes = size_t{1} << 30;

// To be written for its owner's eyes only. FailedPrecondition if the plan holds
// what its text would lose: it was made by a newer program.
absl::StatusOr<std::string> PlanFileText(const ClusterPlan& plan);

// InvalidArgument if the text is no plan: no JSON, unknown keys, wrong types.
// Whether its digest is right is not looked at.
absl::StatusOr<ClusterPlan> ParsePlanFile(absl::string_view text);

// The plan in a file, or of stdin for "-", with the digest verified. The errors
// of ReadTextFile, ParsePlanFile and VerifyPlan, with the path in front.
absl::StatusOr<ClusterPlan> ReadPlanFile(const std::string& path);

// OK where a plan may be written: nothing is there, or an empty file, a plan
// (right or edited) or something that is written to in place.
// FailedPrecondition for any other file: it would be lost. Else the errors of
// CheckFileTarget.
absl::Status CheckPlanTarget(const std::string& path);

}  // namespace clusterd

#endif  // CLIENT_FILES_USER_FILES_H_
