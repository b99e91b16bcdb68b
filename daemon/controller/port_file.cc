#include "daemon/controller/port_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace clusterd {

absl::Status WritePortFile(const std::string& path, int port) {
  const std::string beside = absl::StrCat(path, ".new");
  std::ofstream file(beside, std::ios::trunc);
  file << port << '\n';
  file.close();
  if (!file || std::rename(beside.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(beside.c_str());
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": ", std::strerror(error)));
  }
  return absl::OkStatus();
}

}  // namespace clusterd
