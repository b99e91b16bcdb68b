// A file system as a thread inside a network namespace sees it: below /proc/sys
// the files are those of that namespace. What reads and writes kernel
// parameters works on it unchanged.
#ifndef DAEMON_HOST_CHANGE_NAMESPACE_FILE_SYSTEM_H_
#define DAEMON_HOST_CHANGE_NAMESPACE_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "daemon/host/change/file_system.h"
#include "daemon/host/network_namespace.h"

namespace clusterd {

// Every call goes through a thread of its own inside; an open file stays with
// the namespace and is used from any thread. The errors of
// OpenNetworkNamespace::Run besides those of FileSystem. Safe for concurrent
// use if `files` is.
class NamespaceFileSystem final : public FileSystem {
 public:
  // Both must outlive it.
  NamespaceFileSystem(const OpenNetworkNamespace* place, FileSystem* files)
      : place_(place), files_(files) {}

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
  const OpenNetworkNamespace* const place_;
  FileSystem* const files_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_NAMESPACE_FILE_SYSTEM_H_
