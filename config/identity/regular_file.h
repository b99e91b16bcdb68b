// Files that a program is told to read at its start: certificates, the spec.
#ifndef CONFIG_IDENTITY_REGULAR_FILE_H_
#define CONFIG_IDENTITY_REGULAR_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace clusterd {

// Certificates and keys are shorter.
inline constexpr size_t kMaxPemBytes = 1 << 20;

// All of the file. Messages begin with the path: NotFound if it is not there,
// PermissionDenied if it cannot be read, InvalidArgument if it is longer than
// `max_bytes` or no regular file. A FIFO in its place does not hang the
// program.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            size_t max_bytes = kMaxPemBytes);

// A private key. PermissionDenied also if its mode has a bit of `forbidden`;
// `expected` are modes that have none: "0600".
absl::StatusOr<std::string> ReadKeyFile(const std::string& path,
                                        mode_t forbidden, const char* expected);

// What is left in an open file; errors as above. `path` is for messages.
absl::StatusOr<std::string> ReadToEnd(int fd, const std::string& path,
                                      size_t max_bytes);

// "PATH: No such file or directory", of an errno: NotFound if it is not there,
// else PermissionDenied.
absl::Status FileStatus(const std::string& path, int error);

// The same status, with "PATH: " in front of its message.
absl::Status InFile(const std::string& path, const absl::Status& status);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_REGULAR_FILE_H_
