// One line that a person types, given up when Ctrl-C comes first.
#ifndef CLIENT_FILES_TYPED_LINE_H_
#define CLIENT_FILES_TYPED_LINE_H_

#include <string>

#include "absl/status/statusor.h"

namespace clusterd {

// Reads from `fd` up to the end of the line, and returns it without that end.
// Cancelled as soon as `cancel_fd` is readable (negative: never); OutOfRange at
// the end of the input or after 4096 bytes; Unavailable if it cannot be read.
absl::StatusOr<std::string> ReadTypedLine(int fd, int cancel_fd);

}  // namespace clusterd

#endif  // CLIENT_FILES_TYPED_LINE_H_
