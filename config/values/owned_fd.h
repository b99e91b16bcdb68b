// A file descriptor that one object owns, and whole writes to a descriptor.
#ifndef CONFIG_VALUES_OWNED_FD_H_
#define CONFIG_VALUES_OWNED_FD_H_

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/string_view.h"

namespace clusterd {

// Closes the descriptor at its end; negative: there is none. Whoever waits for
// a lock on the file gets it then.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }

 private:
  int fd_;
};

// All of `text`, however many writes that takes. False: errno says why.
inline bool WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace clusterd

#endif  // CONFIG_VALUES_OWNED_FD_H_
