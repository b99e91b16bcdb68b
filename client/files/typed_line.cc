#include "client/files/typed_line.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

constexpr size_t kMaxBytes = 4096;

absl::Status SystemError(const char* what) {
  return absl::UnavailableError(
      absl::StrCat("stdin: ", what, ": ", std::strerror(errno)));
}

// OK when `fd` can be read.
absl::Status AwaitInput(int fd, int cancel_fd) {
  pollfd waits[] = {{fd, POLLIN, 0}, {cancel_fd, POLLIN, 0}};
  while (poll(waits, 2, -1) < 0) {
    if (errno != EINTR) return SystemError("poll");
  }
  if (waits[1].revents != 0) return absl::CancelledError("interrupted");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadTypedLine(int fd, int cancel_fd) {
  std::string line;
  while (line.size() < kMaxBytes) {
    const absl::Status ready = AwaitInput(fd, cancel_fd);
    if (!ready.ok()) return ready;
    // One at a time: what stands behind the line is not ours.
    char next = 0;
    const ssize_t count = read(fd, &next, 1);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return SystemError("read");
    if (count == 0) return absl::OutOfRangeError("stdin: ended without a line");
    if (next == '\n') return line;
    line += next;
  }
  return absl::OutOfRangeError(
      absl::StrCat("stdin: no end of line in ", kMaxBytes, " bytes"));
}

}  // namespace clusterd
