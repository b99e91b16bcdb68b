#include "daemon/host/files/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_split.h"
#include "config/values/owned_fd.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

absl::Status TextFileTrouble(const std::string& what, int error) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case ENOSPC:
    case EDQUOT:
    case EIO:
      return absl::UnavailableError(message);
    default:
      return absl::PermissionDeniedError(message);
  }
}

// Follows no links, and refuses a folder that others can write to.
absl::Status OpenFolder(const std::vector<std::string>& names,
                        OwnedFd* folder) {
  std::string path;
  for (const std::string& name : names) {
    absl::StrAppend(&path, "/", name);
    const int next = openat(folder->get(), name.c_str(),
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 && (errno == ELOOP || errno == ENOTDIR)) {
      return PermissionDenied(
          path, ": is not a folder, expected one that is not a link");
    }
    if (next < 0) return TextFileTrouble(path, errno);
    *folder = OwnedFd(next);
  }
  struct stat info = {};
  if (fstat(folder->get(), &info) != 0) return TextFileTrouble(path, errno);
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return PermissionDenied(path, ": belongs to user ", info.st_uid,
                            ", expected root's");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return absl::OkStatus();
  return PermissionDenied(
      path, ": its group or others may write it, expected root alone");
}

}  // namespace

absl::Status ReplaceTextFile(const std::string& root, const std::string& path,
                             absl::string_view text) {
  std::vector<std::string> names = absl::StrSplit(path, '/', absl::SkipEmpty());
  if (path.empty() || path[0] != '/' || names.empty()) {
    return InvalidArgument("\"", path, "\" is not an absolute path of a file");
  }
  const std::string name = names.back();
  names.pop_back();
  OwnedFd folder(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return TextFileTrouble(root, errno);
  RETURN_IF_ERROR(OpenFolder(names, &folder));
  // An earlier, killed run may have left it.
  const std::string beside = absl::StrCat(".", name, ".new");
  unlinkat(folder.get(), beside.c_str(), 0);
  const OwnedFd file(
      openat(folder.get(), beside.c_str(),
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return TextFileTrouble(path, errno);
  const bool is_done =
      WriteAll(file.get(), text) && fchmod(file.get(), 0644) == 0 &&
      renameat(folder.get(), beside.c_str(), folder.get(), name.c_str()) == 0;
  if (is_done) return absl::OkStatus();
  const int error = errno;
  unlinkat(folder.get(), beside.c_str(), 0);
  return TextFileTrouble(path, error);
}

}  // namespace clusterd
