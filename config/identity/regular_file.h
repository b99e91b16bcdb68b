// Files that a program reads at its start, such as certificates and the spec;
// and files that are written whole or not at all.
#ifndef CONFIG_IDENTITY_REGULAR_FILE_H_
#define CONFIG_IDENTITY_REGULAR_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// The limit for certificates and keys.
inline constexpr size_t kMaxPemBytes = 1 << 20;

// Reads all of the file. Messages begin with the path: NotFound if it is not
// there, PermissionDenied if it cannot be read, InvalidArgument if it is longer
// than `max_bytes` or not a regular file. A FIFO in its place does not hang the
// program. For private keys: PermissionDenied also if its mode has a bit of
// `forbidden`; `expected` names modes without them: "0600".
absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            size_t max_bytes = kMaxPemBytes,
                                            mode_t forbidden = 0,
                                            const char* expected = "");

// Reads the rest of an open file; errors as above. `path` is for messages.
absl::StatusOr<std::string> ReadToEnd(int fd, const std::string& path,
                                      size_t max_bytes);

// "PATH: No such file or directory", of an errno: NotFound if it is not there,
// otherwise PermissionDenied.
absl::Status FileStatus(const std::string& path, int error);

// The same for what writes: ResourceExhausted for a full disk.
absl::Status WriteStatus(const std::string& path, int error);

// Makes the names in the folder durable. These three fail as WriteStatus does.
absl::Status SyncFolder(const std::string& folder);
// Creates and syncs a whole file of exactly this mode. Follows no link.
absl::Status WriteWholeFile(const std::string& path, absl::string_view text,
                            mode_t mode);
// Writes PATH.new and renames it to PATH: readers get the old text or the new
// one, also after a crash.
absl::Status ReplaceFile(const std::string& path, absl::string_view text,
                         mode_t mode);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_REGULAR_FILE_H_
