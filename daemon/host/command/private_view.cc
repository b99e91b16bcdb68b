#include "daemon/host/command/private_view.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/values/owned_fd.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

// Exists on every Linux machine. The memory file system is mounted here
// briefly, and then only over the file.
constexpr char kFolder[] = "/run";
constexpr char kCopy[] = "/run/copy";

bool MountReadOnly(const char* folder) {
  return mount(folder, folder, nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
         mount(nullptr, folder, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY,
               nullptr) == 0;
}

// Returns whether `path` is still the open file.
bool IsFile(const char* path, int fd) {
  struct stat there;
  struct stat ours;
  if (stat(path, &there) != 0 || fstat(fd, &ours) != 0) return false;
  errno = ESTALE;
  return there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

}  // namespace

absl::StatusOr<PrivateView> MakePrivateView(const PrivateFile& file) {
  char* const real = realpath(file.path.c_str(), nullptr);
  if (real == nullptr) {
    return PreconditionWords("about", file.path, Term(strerror(errno)));
  }
  PrivateView view;
  view.file = real;
  free(real);
  view.folder = view.file.substr(0, view.file.rfind('/') + 1);
  view.text = file.text;
  view.mode = file.mode;
  return view;
}

const char* EnterPrivateView(const PrivateView& view) {
  if (unshare(CLONE_NEWNS) != 0) return "no mount namespace of its own";
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return "no mounts of its own";
  }
  if (!MountReadOnly(view.folder.c_str())) return "no read-only folder";
  if (mount("tmpfs", kFolder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
            "mode=0700,size=16m") != 0) {
    return "no memory file system";
  }
  const int fd = open(kCopy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || !WriteAll(fd, view.text) || fchmod(fd, view.mode) != 0) {
    return "no copy in memory";
  }
  if (mount(kCopy, view.file.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      umount2(kFolder, MNT_DETACH) != 0 || !IsFile(view.file.c_str(), fd)) {
    return "the copy cannot stand for the file";
  }
  close(fd);
  return nullptr;
}

}  // namespace clusterd
