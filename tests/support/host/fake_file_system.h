// A file system in memory, for tests: folders, inodes with owner and mode,
// flock, kernel parameters. It separates written and synced contents, so that a
// test can cut the power.
#ifndef TESTS_SUPPORT_HOST_FAKE_FILE_SYSTEM_H_
#define TESTS_SUPPORT_HOST_FAKE_FILE_SYSTEM_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/host/change/file_system.h"

namespace clusterd {

// One thread.
class FakeFileSystem final : public FileSystem {
 public:
  // A file like those of /proc/sys: reads and writes run code.
  struct Special {
    std::function<std::string()> read;
    // One write(2) at an offset, as OpenFile::WriteAt.
    std::function<absl::StatusOr<size_t>(uint64_t, absl::string_view)> write;
  };

  // Creates missing folders. The new file is synced.
  void Put(const std::string& path, const std::string& content,
           uint32_t mode = 0644, uint32_t uid = 0, uint32_t gid = 0);
  void PutFolder(const std::string& path);
  void PutSpecial(const std::string& path, Special special);
  void PutLink(const std::string& path);  // To nowhere.
  // The file must exist.
  void SetOwner(const std::string& path, uint32_t uid, uint32_t mode) {
    Find(path)->attributes.uid = uid;
    Find(path)->attributes.mode = mode;
  }

  // nullopt: no such file.
  std::optional<std::string> Content(const std::string& path) const;
  // "0644 0:0 <content>" of every regular file unless its path begins with one
  // of `except`; specials are left out.
  std::map<std::string, std::string> Snapshot(
      const std::vector<std::string>& except) const;

  // From now on every change of a path that begins with `prefix` fails with
  // `status`; OK ends that.
  void FailChanges(const std::string& prefix, absl::Status status);
  // Bytes that still fit into files; nullopt: no limit.
  void SetFreeBytes(std::optional<uint64_t> bytes) { free_bytes_ = bytes; }
  // Another process holds (or releases) flock on the file.
  void SetLockedElsewhere(const std::string& path, bool locked);
  // Another program renames a copy of the file over it: a new inode, same text.
  void ReplaceInode(const std::string& path);
  // Drops everything that was not synced: file contents and folder entries.
  void LosePower();

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
  friend class FakeOpenFile;

  struct Inode {
    FileAttributes attributes;
    std::string content;
    std::string synced;
    Special special;
    bool is_special = false;
    bool locked = false;
  };
  using Entries = std::map<std::string, std::shared_ptr<Inode>>;

  std::shared_ptr<Inode> NewInode(FileType type, uint32_t mode);
  std::shared_ptr<Inode> Find(const std::string& path) const;
  // The error of a change of this path.
  absl::Status Fault(const std::string& path) const;

  Entries entries_;          // By path.
  Entries durable_entries_;  // Left by LosePower.
  std::map<std::string, absl::Status> faults_;
  std::optional<uint64_t> free_bytes_;
  uint64_t last_inode_ = 0;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HOST_FAKE_FILE_SYSTEM_H_
