// A file descriptor that one object owns, whole writes to a descriptor, files
// in memory, and names in a folder that survive a crash.
#ifndef CONFIG_VALUES_OWNED_FD_H_
#define CONFIG_VALUES_OWNED_FD_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace clusterd {

// Closes the descriptor in its destructor, which releases a lock on the file;
// negative: there is none.
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
  bool is_open() const { return fd_ >= 0; }

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

// Text without a disk, readable by path while it lives; the path stays when the
// text is replaced.
class MemoryFile {
 public:
  // False, with errno set: then the text is as before.
  bool Replace(absl::string_view text) {
    OwnedFd fd(memfd_create("clusterd-certificates", MFD_CLOEXEC));
    // Readers of the path get the old text or the new one, never a part.
    const bool is_done =
        fd.get() >= 0 && WriteAll(fd.get(), text) &&
        (fd_.get() < 0 || dup3(fd.get(), fd_.get(), O_CLOEXEC) >= 0);
    if (is_done && fd_.get() < 0) fd_ = std::move(fd);
    return is_done;
  }
  // REQUIRES: Replace was true once.
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(fd_.get());
  }

 private:
  OwnedFd fd_;
};

// Makes the name of a new, synced file durable. False: errno says why.
inline bool SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const OwnedFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.is_open() && fsync(fd.get()) == 0;
}

}  // namespace clusterd

#endif  // CONFIG_VALUES_OWNED_FD_H_
