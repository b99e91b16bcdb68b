// Files that a user names on the command line: read whole with a bound, written
// so that a reader never sees half of one; and one line that a person types.
#ifndef CLIENT_FILES_TEXT_FILE_H_
#define CLIENT_FILES_TEXT_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

inline constexpr size_t kMaxTextFileBytes = 256u << 20;

// The content of a file or FIFO. NotFound if it does not exist;
// InvalidArgument if it is a folder or has more than `max_bytes`;
// PermissionDenied for all else that keeps it from being read. The message
// begins with the path.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t max_bytes = kMaxTextFileBytes);

// Writes a temporary file beside `path`, syncs it, renames it over `path` and
// syncs the folder: afterwards the file is the old one or the new one, whole.
// Follows a symbolic link. What is there and is no regular file (/dev/stdout, a
// FIFO) is written to in place and never replaced. NotFound if the folder does
// not exist; PermissionDenied for all else. The message begins with the path.
absl::Status WriteTextFile(const std::string& path, absl::string_view text);

// The same, for its owner's eyes only: a file that is made or replaced is 0600.
absl::Status WritePrivateFile(const std::string& path, absl::string_view text);

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

}  // namespace clusterd

#endif  // CLIENT_FILES_TEXT_FILE_H_
