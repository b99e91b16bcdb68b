#include "tests/support/host/fake_file_system.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace clusterd {

class FakeOpenFile final : public OpenFile {
 public:
  using Inode = FakeFileSystem::Inode;

  FakeOpenFile(FakeFileSystem* files, std::string path,
               std::shared_ptr<Inode> inode, bool writable)
      : files_(files),
        path_(std::move(path)),
        inode_(std::move(inode)),
        writable_(writable) {}
  ~FakeOpenFile() override {
    if (holds_lock_) inode_->locked = false;
  }

  absl::StatusOr<std::string> ReadAll(size_t max_bytes) override {
    const std::string content =
        inode_->is_special ? inode_->special.read() : inode_->content;
    if (content.size() > max_bytes) {
      return absl::OutOfRangeError(
          absl::StrCat(path_, ": over ", max_bytes, " bytes"));
    }
    return content;
  }

  absl::StatusOr<FileAttributes> Attributes() override {
    FileAttributes attributes = inode_->attributes;
    attributes.size = inode_->content.size();
    return attributes;
  }

  absl::StatusOr<size_t> WriteAt(uint64_t offset,
                                 absl::string_view bytes) override {
    const absl::Status fault = Fault();
    if (!fault.ok()) return fault;
    if (inode_->is_special) return inode_->special.write(offset, bytes);
    std::string& content = inode_->content;
    if (files_->free_bytes_) {
      const uint64_t end = offset + bytes.size();
      const uint64_t limit = content.size() + *files_->free_bytes_;
      if (offset >= limit) {
        return absl::ResourceExhaustedError(
            absl::StrCat(path_, ": No space left on device"));
      }
      if (end > limit) bytes = bytes.substr(0, limit - offset);
      const uint64_t grows =
          std::max<uint64_t>(offset + bytes.size(), content.size()) -
          content.size();
      *files_->free_bytes_ -= grows;
    }
    if (content.size() < offset + bytes.size()) {
      content.resize(offset + bytes.size());
    }
    content.replace(offset, bytes.size(), bytes.data(), bytes.size());
    return bytes.size();
  }

  absl::Status Truncate(uint64_t size) override {
    const absl::Status fault = Fault();
    if (fault.ok()) inode_->content.resize(size);
    return fault;
  }
  absl::Status SetMode(uint32_t mode) override {
    const absl::Status fault = Fault();
    if (fault.ok()) inode_->attributes.mode = mode;
    return fault;
  }
  absl::Status SetOwner(uint32_t uid, uint32_t gid) override {
    const absl::Status fault = Fault();
    if (!fault.ok()) return fault;
    inode_->attributes.uid = uid;
    inode_->attributes.gid = gid;
    return absl::OkStatus();
  }
  absl::Status Sync() override {
    inode_->synced = inode_->content;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> TryLock() override {
    if (inode_->locked && !holds_lock_) return false;
    inode_->locked = holds_lock_ = true;
    return true;
  }
  bool IsOpenElsewhere() override { return inode_->locked && !holds_lock_; }

 private:
  absl::Status Fault() const {
    if (!writable_) {
      return absl::PermissionDeniedError(absl::StrCat(path_, ": read only"));
    }
    return files_->Fault(path_);
  }

  FakeFileSystem* const files_;
  const std::string path_;
  const std::shared_ptr<Inode> inode_;
  const bool writable_;
  bool holds_lock_ = false;
};

std::shared_ptr<FakeFileSystem::Inode> FakeFileSystem::NewInode(FileType type,
                                                                uint32_t mode) {
  auto inode = std::make_shared<Inode>();
  inode->attributes.type = type;
  inode->attributes.mode = mode;
  inode->attributes.inode = ++last_inode_;
  return inode;
}

std::shared_ptr<FakeFileSystem::Inode> FakeFileSystem::Find(
    const std::string& path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : found->second;
}

void FakeFileSystem::PutFolder(const std::string& path) {
  if (path != "/" && Find(path) == nullptr) {
    PutFolder(FolderOf(path));
    durable_entries_[path] = entries_[path] =
        NewInode(FileType::kDirectory, 0755);
  }
}

void FakeFileSystem::Put(const std::string& path, const std::string& content,
                         uint32_t mode, uint32_t uid, uint32_t gid) {
  PutFolder(FolderOf(path));
  const std::shared_ptr<Inode> inode = NewInode(FileType::kRegular, mode);
  inode->attributes.uid = uid;
  inode->attributes.gid = gid;
  inode->content = inode->synced = content;
  durable_entries_[path] = entries_[path] = inode;
}

void FakeFileSystem::PutSpecial(const std::string& path, Special special) {
  PutFolder(FolderOf(path));
  const std::shared_ptr<Inode> inode = NewInode(FileType::kRegular, 0644);
  inode->special = std::move(special);
  inode->is_special = true;
  durable_entries_[path] = entries_[path] = inode;
}

void FakeFileSystem::PutLink(const std::string& path) {
  PutFolder(FolderOf(path));
  durable_entries_[path] = entries_[path] = NewInode(FileType::kSymlink, 0777);
}

std::optional<std::string> FakeFileSystem::Content(
    const std::string& path) const {
  const std::shared_ptr<Inode> inode = Find(path);
  if (inode == nullptr) return std::nullopt;
  return inode->is_special ? inode->special.read() : inode->content;
}

std::map<std::string, std::string> FakeFileSystem::Snapshot(
    const std::vector<std::string>& except) const {
  std::map<std::string, std::string> snapshot;
  for (const auto& [path, inode] : entries_) {
    const bool left_out =
        inode->is_special || inode->attributes.type == FileType::kDirectory ||
        std::any_of(except.begin(), except.end(),
                    [&path = path](const std::string& prefix) {
                      return absl::StartsWith(path, prefix);
                    });
    if (left_out) continue;
    snapshot[path] = absl::StrFormat("%04o %d:%d %s", inode->attributes.mode,
                                     inode->attributes.uid,
                                     inode->attributes.gid, inode->content);
  }
  return snapshot;
}

void FakeFileSystem::FailChanges(const std::string& prefix,
                                 absl::Status status) {
  faults_[prefix] = std::move(status);
}

void FakeFileSystem::SetLockedElsewhere(const std::string& path, bool locked) {
  Find(path)->locked = locked;
}

void FakeFileSystem::ReplaceInode(const std::string& path) {
  const std::shared_ptr<Inode> old = Find(path);
  const std::shared_ptr<Inode> inode =
      NewInode(FileType::kRegular, old->attributes.mode);
  inode->content = inode->synced = old->content;
  durable_entries_[path] = entries_[path] = inode;
}

void FakeFileSystem::LosePower() {
  // A file is gone with its folder. Folders come before their contents.
  for (auto entry = durable_entries_.begin();
       entry != durable_entries_.end();) {
    const std::string folder = FolderOf(entry->first);
    entry = folder == "/" || durable_entries_.count(folder) > 0
                ? std::next(entry)
                : durable_entries_.erase(entry);
  }
  entries_ = durable_entries_;
  for (const auto& [path, inode] : entries_) {
    inode->content = inode->synced;
    inode->locked = false;
  }
}

absl::Status FakeFileSystem::Fault(const std::string& path) const {
  for (const auto& [prefix, status] : faults_) {
    if (absl::StartsWith(path, prefix) && !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<OpenFile>> FakeFileSystem::Open(
    const std::string& path, OpenMode mode) {
  std::shared_ptr<Inode> inode = Find(path);
  if (mode == OpenMode::kCreate) {
    if (inode != nullptr) return absl::AlreadyExistsError(path);
    const absl::Status fault = Fault(path);
    if (!fault.ok()) return fault;
    if (FolderOf(path) != "/" && Find(FolderOf(path)) == nullptr) {
      return absl::NotFoundError(absl::StrCat(path, ": no such folder"));
    }
    inode = entries_[path] = NewInode(FileType::kRegular, 0600);
  }
  if (inode == nullptr || inode->attributes.type == FileType::kSymlink) {
    return absl::NotFoundError(
        absl::StrCat(path, ": No such file or directory"));
  }
  return std::unique_ptr<OpenFile>(std::make_unique<FakeOpenFile>(
      this, path, inode, mode != OpenMode::kRead));
}

absl::StatusOr<FileAttributes> FakeFileSystem::Stat(const std::string& path) {
  const std::shared_ptr<Inode> inode = Find(path);
  if (inode == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(path, ": No such file or directory"));
  }
  FileAttributes attributes = inode->attributes;
  attributes.size = inode->content.size();
  return attributes;
}

absl::StatusOr<std::vector<std::string>> FakeFileSystem::List(
    const std::string& folder) {
  if (Find(folder) == nullptr) return absl::NotFoundError(folder);
  std::vector<std::string> names;
  for (const auto& [path, inode] : entries_) {
    if (path != folder && FolderOf(path) == folder) {
      names.push_back(path.substr(path.rfind('/') + 1));
    }
  }
  return names;
}

absl::Status FakeFileSystem::MakeDirectory(const std::string& path,
                                           uint32_t mode) {
  const absl::Status fault = Fault(path);
  if (!fault.ok()) return fault;
  if (Find(path) != nullptr) return absl::AlreadyExistsError(path);
  entries_[path] = NewInode(FileType::kDirectory, mode);
  return absl::OkStatus();
}

absl::Status FakeFileSystem::Rename(const std::string& from,
                                    const std::string& to) {
  const absl::Status fault = Fault(to);
  if (!fault.ok()) return fault;
  const std::shared_ptr<Inode> inode = Find(from);
  if (inode == nullptr) return absl::NotFoundError(from);
  entries_[to] = inode;
  entries_.erase(from);
  return absl::OkStatus();
}

absl::Status FakeFileSystem::Remove(const std::string& path) {
  const absl::Status fault = Fault(path);
  if (!fault.ok()) return fault;
  return entries_.erase(path) > 0 ? absl::OkStatus()
                                  : absl::NotFoundError(path);
}

absl::Status FakeFileSystem::SyncDirectory(const std::string& folder) {
  if (Find(folder) == nullptr) return absl::NotFoundError(folder);
  const auto below = [&folder](const Entries::value_type& entry) {
    return entry.first != folder && FolderOf(entry.first) == folder;
  };
  for (auto entry = durable_entries_.begin();
       entry != durable_entries_.end();) {
    entry = below(*entry) && entries_.count(entry->first) == 0
                ? durable_entries_.erase(entry)
                : std::next(entry);
  }
  for (const auto& entry : entries_) {
    if (below(entry)) durable_entries_[entry.first] = entry.second;
  }
  return absl::OkStatus();
}

}  // namespace clusterd
