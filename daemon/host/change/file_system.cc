#include "daemon/host/change/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

constexpr size_t kReadBytes = 64 << 10;
// The wait between two tries for a lock.
constexpr absl::Duration kPoll = absl::Milliseconds(20);

FileAttributes FromStat(const struct stat& status) {
  FileAttributes attributes;
  attributes.type = S_ISREG(status.st_mode)   ? FileType::kRegular
                    : S_ISDIR(status.st_mode) ? FileType::kDirectory
                    : S_ISLNK(status.st_mode) ? FileType::kSymlink
                                              : FileType::kOther;
  attributes.mode = status.st_mode & 07777;
  attributes.uid = status.st_uid;
  attributes.gid = status.st_gid;
  attributes.inode = status.st_ino;
  attributes.size = static_cast<uint64_t>(status.st_size);
  return attributes;
}

absl::Status Done(int result, const std::string& path) {
  return result == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, path);
}

class PosixFile final : public OpenFile {
 public:
  PosixFile(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  ~PosixFile() override {
    // Closing is not enough: a child of another thread that is about to become
    // its program has a copy of the descriptor, and so keeps the lock.
    if (is_locked_) flock(descriptor_, LOCK_UN);
    close(descriptor_);
  }

  absl::StatusOr<std::string> ReadAll(size_t max_bytes) override {
    std::string content;
    char buffer[kReadBytes];
    while (true) {
      const ssize_t got = pread(descriptor_, buffer, sizeof(buffer),
                                static_cast<off_t>(content.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Error();
      if (got == 0) return content;
      content.append(buffer, static_cast<size_t>(got));
      if (content.size() > max_bytes) {
        return OutOfRangeWords("msg-step-file-too-large", path_, max_bytes);
      }
    }
  }

  absl::StatusOr<FileAttributes> Attributes() override {
    struct stat status;
    if (fstat(descriptor_, &status) != 0) return Error();
    return FromStat(status);
  }

  absl::StatusOr<size_t> WriteAt(uint64_t offset,
                                 absl::string_view bytes) override {
    while (true) {
      const ssize_t put = pwrite(descriptor_, bytes.data(), bytes.size(),
                                 static_cast<off_t>(offset));
      if (put >= 0) return static_cast<size_t>(put);
      if (errno != EINTR) return Error();
    }
  }

  absl::Status Truncate(uint64_t size) override {
    return Done(ftruncate(descriptor_, static_cast<off_t>(size)), path_);
  }
  absl::Status SetMode(uint32_t mode) override {
    return Done(fchmod(descriptor_, static_cast<mode_t>(mode)), path_);
  }
  absl::Status SetOwner(uint32_t uid, uint32_t gid) override {
    return Done(fchown(descriptor_, uid, gid), path_);
  }
  absl::Status Sync() override { return Done(fsync(descriptor_), path_); }

  absl::StatusOr<bool> TryLock() override {
    is_locked_ = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    if (is_locked_ || errno == EWOULDBLOCK || errno == EINTR) return is_locked_;
    return Error();
  }

  bool IsOpenElsewhere() override {
    // A process that opens the file meanwhile waits for the lease. The kernel
    // then sends SIGURG, which is ignored by default.
    fcntl(descriptor_, F_SETSIG, SIGURG);
    if (fcntl(descriptor_, F_SETLEASE, F_WRLCK) != 0) return true;
    fcntl(descriptor_, F_SETLEASE, F_UNLCK);
    return false;
  }

 private:
  absl::Status Error() const { return absl::ErrnoToStatus(errno, path_); }

  const std::string path_;
  const int descriptor_;
  bool is_locked_ = false;
};

class PosixFileSystem final : public FileSystem {
 public:
  explicit PosixFileSystem(const std::string& root)
      : root_(absl::StripSuffix(root, "/")) {}

  absl::StatusOr<std::unique_ptr<OpenFile>> Open(const std::string& path,
                                                 OpenMode mode) override {
    // Indexed by OpenMode.
    constexpr int kFlags[] = {O_RDONLY, O_RDWR,
                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW};
    // Opening a pipe in place of a file must not block a root daemon.
    const int flags =
        kFlags[static_cast<int>(mode)] | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    const int descriptor = open(Full(path).c_str(), flags, 0600);
    if (descriptor < 0) return absl::ErrnoToStatus(errno, path);
    return std::unique_ptr<OpenFile>(
        std::make_unique<PosixFile>(path, descriptor));
  }

  absl::StatusOr<FileAttributes> Stat(const std::string& path) override {
    struct stat status;
    if (lstat(Full(path).c_str(), &status) == 0) return FromStat(status);
    return absl::ErrnoToStatus(errno, path);
  }

  absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) override {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator entry(Full(folder), error);
    for (; !error && entry != std::filesystem::directory_iterator();
         entry.increment(error)) {
      names.push_back(entry->path().filename());
    }
    if (error) return absl::ErrnoToStatus(error.value(), folder);
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::Status MakeDirectory(const std::string& path, uint32_t mode) override {
    return Done(mkdir(Full(path).c_str(), static_cast<mode_t>(mode)), path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return Done(rename(Full(from).c_str(), Full(to).c_str()), to);
  }
  absl::Status Remove(const std::string& path) override {
    return Done(unlink(Full(path).c_str()), path);
  }
  absl::Status SyncDirectory(const std::string& folder) override {
    const int descriptor =
        open(Full(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return absl::ErrnoToStatus(errno, folder);
    return PosixFile(folder, descriptor).Sync();
  }

 private:
  std::string Full(const std::string& path) const { return root_ + path; }

  const std::string root_;  // Without a slash at the end.
};

absl::Status RemoveIfThere(FileSystem* files, const std::string& path) {
  if (absl::IsNotFound(files->Stat(path).status())) return absl::OkStatus();
  const absl::Status removed = files->Remove(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

// `like`: whose owner and mode the file gets; null: those of a new one.
absl::Status WriteNew(FileSystem* files, const std::string& path,
                      absl::string_view bytes, const SavedFile* like) {
  ASSIGN_OR_RETURN(const auto file, files->Open(path, OpenMode::kCreate));
  RETURN_IF_ERROR(WriteFully(file.get(), 0, bytes));
  if (like != nullptr) {
    // Set the owner first: changing it may clear mode bits.
    RETURN_IF_ERROR(file->SetOwner(like->uid(), like->gid()));
    RETURN_IF_ERROR(file->SetMode(like->mode()));
  }
  return file->Sync();
}

absl::Status PutByDraft(FileSystem* files, const std::string& draft,
                        const std::string& path, absl::string_view bytes,
                        const SavedFile* like) {
  RETURN_IF_ERROR(RemoveIfThere(files, draft));
  absl::Status status = WriteNew(files, draft, bytes, like);
  if (status.ok()) status = files->Rename(draft, path);
  if (!status.ok()) {
    // The caller gets the error of the write instead.
    (void)RemoveIfThere(files, draft);
    return status;
  }
  return files->SyncDirectory(FolderOf(path));
}

absl::Status Put(FileSystem* files, const SavedFile& wanted) {
  return PutByDraft(files, TemporaryOf(wanted.path()), wanted.path(),
                    wanted.content(), &wanted);
}

absl::Status NotAFile(const std::string& path) {
  return InFront(path, PreconditionWords("msg-step-not-a-regular-file"));
}

absl::StatusOr<SavedFile> SaveOpenFile(OpenFile* file,
                                       const std::string& path) {
  ASSIGN_OR_RETURN(const FileAttributes attributes, file->Attributes());
  if (attributes.type != FileType::kRegular) return NotAFile(path);
  SavedFile saved;
  ASSIGN_OR_RETURN(*saved.mutable_content(), file->ReadAll(kMaxFileBytes));
  saved.set_path(path);
  saved.set_existed(true);
  saved.set_mode(attributes.mode);
  saved.set_uid(attributes.uid);
  saved.set_gid(attributes.gid);
  return saved;
}

absl::Status Overwrite(OpenFile* file, absl::string_view text) {
  // Write first, then truncate: a full disk refuses growth, and then the old
  // blocks still exist.
  RETURN_IF_ERROR(WriteFully(file, 0, text));
  RETURN_IF_ERROR(file->Truncate(text.size()));
  return file->Sync();
}

}  // namespace

std::unique_ptr<FileSystem> MakePosixFileSystem(const std::string& root) {
  return std::make_unique<PosixFileSystem>(root);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return "/";
  return path.substr(0, slash);
}

absl::Status WriteFully(OpenFile* file, uint64_t offset,
                        absl::string_view bytes) {
  while (!bytes.empty()) {
    ASSIGN_OR_RETURN(const size_t taken, file->WriteAt(offset, bytes));
    if (taken == 0) return DataLossWords("msg-step-write-took-nothing");
    offset += taken;
    bytes.remove_prefix(taken);
  }
  return absl::OkStatus();
}

absl::Status WriteByDraft(FileSystem* files, const std::string& draft,
                          const std::string& path, absl::string_view bytes) {
  return PutByDraft(files, draft, path, bytes, /*like=*/nullptr);
}

absl::StatusOr<std::string> ReadWholeFile(FileSystem* files,
                                          const std::string& path,
                                          size_t max_bytes) {
  ASSIGN_OR_RETURN(const auto file, files->Open(path, OpenMode::kRead));
  return file->ReadAll(max_bytes);
}

std::string TemporaryOf(const std::string& path) {
  // No program reads this suffix: sysctl.d takes *.conf, firewalld *.xml.
  return absl::StrCat(path, ".clusterd-new");
}

absl::StatusOr<SavedFile> SaveFile(FileSystem* files, const std::string& path) {
  // Checks the path itself first: a link must not be followed.
  const absl::StatusOr<FileAttributes> attributes = files->Stat(path);
  if (absl::IsNotFound(attributes.status())) {
    SavedFile none;
    none.set_path(path);
    return none;
  }
  RETURN_IF_ERROR(attributes.status());
  if (attributes->type != FileType::kRegular) return NotAFile(path);
  ASSIGN_OR_RETURN(const auto file, files->Open(path, OpenMode::kRead));
  return SaveOpenFile(file.get(), path);
}

absl::Status ReplaceFile(const MutationToken&, FileSystem* files,
                         const std::string& path, absl::string_view content) {
  ASSIGN_OR_RETURN(SavedFile wanted, SaveFile(files, path));
  if (!wanted.existed()) wanted.set_mode(0644);
  wanted.set_content(std::string(content));
  return Put(files, wanted);
}

absl::Status RestoreFile(const MutationToken&, FileSystem* files,
                         const SavedFile& saved) {
  RETURN_IF_ERROR(RemoveIfThere(files, TemporaryOf(saved.path())));
  ASSIGN_OR_RETURN(const SavedFile now, SaveFile(files, saved.path()));
  if (!saved.existed()) {
    RETURN_IF_ERROR(RemoveIfThere(files, saved.path()));
  } else if (now.SerializeAsString() != saved.SerializeAsString()) {
    return Put(files, saved);
  }
  // The text may not be on disk, since a crash may have preceded the sync.
  return files->SyncDirectory(FolderOf(saved.path()));
}

absl::StatusOr<std::string> InPlaceFile::Read() const {
  ASSIGN_OR_RETURN(const auto file, OpenLocked());
  return file->ReadAll(kMaxFileBytes);
}

absl::StatusOr<SavedFile> InPlaceFile::Save() const {
  const auto file = OpenLocked();
  if (absl::IsDeadlineExceeded(file.status())) {
    auto unlocked = SaveFile(files_, path_);
    if (unlocked.ok() && !unlocked->content().empty()) return unlocked;
  }
  RETURN_IF_ERROR(file.status());
  return SaveOpenFile(file->get(), path_);
}

absl::StatusOr<std::unique_ptr<OpenFile>> InPlaceFile::OpenLocked() const {
  const absl::Duration give_up = clock_->Monotonic() + lock_wait_;
  while (true) {
    ASSIGN_OR_RETURN(auto file, files_->Open(path_, OpenMode::kReadWrite));
    ASSIGN_OR_RETURN(const bool locked, file->TryLock());
    if (locked) {
      // Another process may have replaced the file during the wait.
      ASSIGN_OR_RETURN(const auto ours, file->Attributes());
      ASSIGN_OR_RETURN(const auto again, files_->Open(path_, OpenMode::kRead));
      ASSIGN_OR_RETURN(const auto theirs, again->Attributes());
      if (ours.inode == theirs.inode) return file;
    }
    if (clock_->Monotonic() >= give_up) {
      return InFront(path_, DeadlineWords("msg-step-locked-by-another",
                                          absl::FormatDuration(lock_wait_)));
    }
    file.reset();
    clock_->SleepFor(kPoll);
  }
}

absl::Status InPlaceFile::Edit(
    const MutationToken&,
    const std::function<absl::StatusOr<std::string>(absl::string_view)>& edit) {
  ASSIGN_OR_RETURN(const auto file, OpenLocked());
  ASSIGN_OR_RETURN(const std::string before, file->ReadAll(kMaxFileBytes));
  ASSIGN_OR_RETURN(const std::string after, edit(before));
  if (after == before) return absl::OkStatus();
  return Overwrite(file.get(), after);
}

absl::Status InPlaceFile::Guard(const MutationToken&) {
  const absl::Duration give_up = clock_->Monotonic() + lock_wait_;
  {
    ASSIGN_OR_RETURN(const auto file,
                     files_->Open(path_, OpenMode::kReadWrite));
    ASSIGN_OR_RETURN(const FileAttributes is, file->Attributes());
    if (is.type != FileType::kRegular) return NotAFile(path_);
    if (is.uid != 0 && is.uid != geteuid()) {
      RETURN_IF_ERROR(file->SetOwner(geteuid(), is.gid));
    }
    // Keeps only the owner's bits.
    if ((is.mode & 0077) != 0) RETURN_IF_ERROR(file->SetMode(is.mode & 0700));
    while (file->IsOpenElsewhere()) {
      if (clock_->Monotonic() < give_up) {
        clock_->SleepFor(kPoll);
        continue;
      }
      ASSIGN_OR_RETURN(const SavedFile same, SaveFile(files_, path_));
      return Put(files_, same);
    }
  }
  return absl::OkStatus();
}

absl::Status InPlaceFile::Restore(const MutationToken& token,
                                  const SavedFile& saved) {
  const auto file = OpenLocked();
  if (absl::IsNotFound(file.status())) return RestoreFile(token, files_, saved);
  RETURN_IF_ERROR(file.status());
  ASSIGN_OR_RETURN(const SavedFile now, SaveOpenFile(file->get(), path_));
  // Set the owner first: changing it may clear mode bits.
  if (now.uid() != saved.uid() || now.gid() != saved.gid()) {
    RETURN_IF_ERROR((*file)->SetOwner(saved.uid(), saved.gid()));
  }
  if (now.mode() != saved.mode()) {
    RETURN_IF_ERROR((*file)->SetMode(saved.mode()));
  }
  if (now.content() == saved.content()) return (*file)->Sync();
  return Overwrite(file->get(), saved.content());
}

}  // namespace clusterd
