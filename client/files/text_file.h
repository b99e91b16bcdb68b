// Files that a user names on the command line: read whole with a bound, written
// so that a reader never sees half of one.
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

}  // namespace clusterd

#endif  // CLIENT_FILES_TEXT_FILE_H_
