// Files that a program is told to read at its start: certificates, the spec.
#ifndef CONFIG_IDENTITY_REGULAR_FILE_H_
#define CONFIG_IDENTITY_REGULAR_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace clusterd {

// All of the file; `mode`, if given, is set to its type and permissions.
// Messages begin with the path: NotFound if it is not there, PermissionDenied
// if it cannot be read, InvalidArgument if it is longer than `max_bytes` or no
// regular file. A FIFO in its place does not hang the program.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            size_t max_bytes,
                                            mode_t* mode = nullptr);

// What is left in an open file; errors as above. `path` is for messages.
absl::StatusOr<std::string> ReadToEnd(int fd, const std::string& path,
                                      size_t max_bytes);

// "PATH: No such file or directory", of an errno: NotFound if it is not there,
// else PermissionDenied.
absl::Status FileStatus(const std::string& path, int error);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_REGULAR_FILE_H_
