#include "tests/sim/tool/locked_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace clusterd::sim {
namespace {

std::string ReadFrom(int fd) {
  std::string text;
  char buffer[16384];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof(buffer))) > 0 ||
         (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(buffer, got);
  }
  return text;
}

// False if not all of it could be written.
bool WriteOver(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = pwrite(fd, text.data() + done, text.size() - done,
                                 static_cast<off_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += wrote;
  }
  return ftruncate(fd, static_cast<off_t>(text.size())) == 0;
}

}  // namespace

bool PosixLockedFile::Exists() const {
  return access(path_.c_str(), F_OK) == 0;
}

std::optional<std::string> PosixLockedFile::Read() const {
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  flock(fd, kind_ == Kind::kGiven ? LOCK_EX : LOCK_SH);
  std::string text = ReadFrom(fd);
  close(fd);
  return text;
}

LockedFile::Edited PosixLockedFile::Edit(
    const std::function<void(std::string*)>& change) const {
  const bool given = kind_ == Kind::kGiven;
  if (given && !Exists()) return Edited::kNoFile;
  const int flags = O_RDWR | O_CLOEXEC | (given ? 0 : O_CREAT);
  const int fd = open(path_.c_str(), flags, 0644);
  if (fd < 0) return Edited::kNotWritable;
  Edited edited = Edited::kYes;
  if (flock(fd, LOCK_EX) != 0) {
    edited = Edited::kNotLocked;
  } else {
    const std::string before = ReadFrom(fd);
    std::string after = before;
    change(&after);
    if (after != before && given) {
      if (ftruncate(fd, 0) == 0 && while_empty_) while_empty_();
    }
    if (after != before && !WriteOver(fd, after)) {
      // Restores the old text, which fitted before.
      WriteOver(fd, before);
      edited = Edited::kDiskFull;
    }
  }
  close(fd);
  return edited;
}

}  // namespace clusterd::sim
