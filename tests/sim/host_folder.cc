#include "tests/sim/host_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace clusterd::sim {
namespace {

absl::Status FromErrno(const std::string& path) {
  return absl::ErrnoToStatus(errno, path);
}

absl::Status MakeParents(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      error);
  if (error)
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": no folder for it: ", error.message()));
  return absl::OkStatus();
}

}  // namespace

std::string CannInfoFile() {
  utsname name;
  uname(&name);
  return absl::StrCat("cann/", name.machine,
                      "-linux/ascend_toolkit_install.info");
}

HostFolder::HostFolder(std::string root) : root_(std::move(root)) {}

std::string HostFolder::Path(absl::string_view relative) const {
  return absl::StrCat(root_, "/", relative);
}

bool HostFolder::Exists(absl::string_view relative) const {
  struct stat found;
  return lstat(Path(relative).c_str(), &found) == 0;
}

std::string HostFolder::Read(absl::string_view relative) const {
  std::ifstream file(Path(relative), std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::Status HostFolder::Write(absl::string_view relative,
                               absl::string_view content, int mode) const {
  const std::string path = Path(relative);
  if (absl::Status status = MakeParents(path); !status.ok()) return status;
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
           mode);
  if (fd < 0) return FromErrno(path);
  absl::Status status;
  while (status.ok() && !content.empty()) {
    const ssize_t wrote = write(fd, content.data(), content.size());
    if (wrote >= 0) {
      content.remove_prefix(wrote);
    } else if (errno != EINTR) {
      status = FromErrno(path);
    }
  }
  // The umask has acted at open; files of /proc keep their mode.
  struct stat found;
  if (status.ok() && fstat(fd, &found) == 0 &&
      (found.st_mode & 07777) != static_cast<mode_t>(mode) &&
      fchmod(fd, mode) != 0) {
    status = FromErrno(path);
  }
  close(fd);
  return status;
}

absl::Status HostFolder::Remove(absl::string_view relative) const {
  const std::string path = Path(relative);
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": ", error.message()));
  }
  return absl::OkStatus();
}

absl::Status HostFolder::MakeFolder(absl::string_view relative) const {
  return MakeParents(Path(relative) + "/.");
}

absl::Status HostFolder::Link(absl::string_view relative,
                              absl::string_view target) const {
  const std::string path = Path(relative);
  if (absl::Status status = MakeParents(path); !status.ok()) return status;
  if (symlink(std::string(target).c_str(), path.c_str()) != 0) {
    return FromErrno(path);
  }
  return absl::OkStatus();
}

absl::Status HostFolder::MakeNode(absl::string_view relative) const {
  const std::string path = Path(relative);
  if (absl::Status status = MakeParents(path); !status.ok()) return status;
  if (mknod(path.c_str(), S_IFCHR | 0660, makedev(1, 3)) == 0) {
    return absl::OkStatus();
  }
  if (errno == EEXIST) return FromErrno(path);
  return Write(relative, "", 0660);
}

absl::Status HostFolder::Adopt(absl::string_view relative,
                               const std::string& file) const {
  const std::string path = Path(relative);
  if (absl::Status status = MakeParents(path); !status.ok()) return status;
  // Bazel's outputs are links; the server gets the program itself.
  std::error_code error;
  const std::string real = std::filesystem::canonical(file, error).string();
  if (error) {
    return absl::NotFoundError(absl::StrCat(file, ": ", error.message()));
  }
  if (link(real.c_str(), path.c_str()) == 0) return absl::OkStatus();
  std::filesystem::copy_file(real, path, error);
  if (!error && chmod(path.c_str(), 0555) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": cannot copy ", real, " there: ", error.message()));
}

}  // namespace clusterd::sim
