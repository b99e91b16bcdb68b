#include "daemon/host/change/saved_file.h"

#include <unistd.h>

#include "config/values/status_macros.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(20);

absl::Status WriteTemporary(FileSystem* files, const std::string& path,
                            const SavedFile& wanted) {
  ASSIGN_OR_RETURN(const auto file, files->Open(path, OpenMode::kCreate));
  RETURN_IF_ERROR(WriteFully(file.get(), 0, wanted.content()));
  // Set the owner first: changing it may clear mode bits.
  RETURN_IF_ERROR(file->SetOwner(wanted.uid(), wanted.gid()));
  RETURN_IF_ERROR(file->SetMode(wanted.mode()));
  return file->Sync();
}

absl::Status RemoveIfThere(FileSystem* files, const std::string& path) {
  if (absl::IsNotFound(files->Stat(path).status())) return absl::OkStatus();
  const absl::Status removed = files->Remove(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status Put(FileSystem* files, const SavedFile& wanted) {
  const std::string temporary = TemporaryOf(wanted.path());
  RETURN_IF_ERROR(RemoveIfThere(files, temporary));
  absl::Status status = WriteTemporary(files, temporary, wanted);
  if (status.ok()) status = files->Rename(temporary, wanted.path());
  if (!status.ok()) {
    // The caller gets the error of the write instead.
    (void)RemoveIfThere(files, temporary);
    return status;
  }
  return files->SyncDirectory(FolderOf(wanted.path()));
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
