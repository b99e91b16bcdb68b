// The real file system below a root folder.
#ifndef DAEMON_HOST_CHANGE_POSIX_FILE_SYSTEM_H_
#define DAEMON_HOST_CHANGE_POSIX_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "daemon/host/change/file_system.h"

namespace clusterd {

// Safe for concurrent use.
class PosixFileSystem final : public FileSystem {
 public:
  // "/" in production, a scratch folder in tests. Links inside are followed as
  // the kernel does, so they can lead out of `root`.
  explicit PosixFileSystem(const std::string& root);

  absl::StatusOr<std::unique_ptr<OpenFile>> Open(const std::string& path,
                                                 OpenMode mode) override;
  absl::StatusOr<FileAttributes> Stat(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) override;
  absl::Status MakeDirectory(const std::string& path, uint32_t mode) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& folder) override;

 private:
  std::string Full(const std::string& path) const { return root_ + path; }

  const std::string root_;  // Without a slash at the end.
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_POSIX_FILE_SYSTEM_H_
