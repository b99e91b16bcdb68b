#include "daemon/controller/state_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace clusterd {

absl::Status MakeStateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  const int error = errno;
  if (error == EEXIST) {
    struct stat info = {};
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": is no folder, expected one (--state)"));
  }
  const std::string message = absl::StrCat(
      path, ": cannot be made: ", std::strerror(error), " (--state)");
  return error == ENOENT ? absl::NotFoundError(message)
                         : absl::PermissionDeniedError(message);
}

}  // namespace clusterd
