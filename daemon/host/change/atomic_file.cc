#include "daemon/host/change/atomic_file.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

absl::Status WriteTemporary(FileSystem* files, const std::string& path,
                            const SavedFile& wanted) {
  absl::StatusOr<std::unique_ptr<OpenFile>> file =
      files->Open(path, OpenMode::kCreate);
  if (!file.ok()) return file.status();
  absl::Status status = WriteFully(file->get(), 0, wanted.content());
  // The owner first: changing it may clear mode bits.
  if (status.ok()) status = (*file)->SetOwner(wanted.uid(), wanted.gid());
  if (status.ok()) status = (*file)->SetMode(wanted.mode());
  if (status.ok()) status = (*file)->Sync();
  return status;
}

absl::Status RemoveIfThere(FileSystem* files, const std::string& path) {
  if (absl::IsNotFound(files->Stat(path).status())) return absl::OkStatus();
  const absl::Status removed = files->Remove(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status Put(FileSystem* files, const SavedFile& wanted) {
  const std::string temporary = TemporaryOf(wanted.path());
  absl::Status status = RemoveIfThere(files, temporary);
  if (!status.ok()) return status;
  status = WriteTemporary(files, temporary, wanted);
  if (status.ok()) status = files->Rename(temporary, wanted.path());
  if (!status.ok()) {
    // What to report is why the file could not be written.
    (void)RemoveIfThere(files, temporary);
    return status;
  }
  return files->SyncDirectory(FolderOf(wanted.path()));
}

bool Same(const SavedFile& a, const SavedFile& b) {
  return a.existed() == b.existed() && a.content() == b.content() &&
         a.mode() == b.mode() && a.uid() == b.uid() && a.gid() == b.gid();
}

absl::Status NotAFile(const std::string& path, absl::string_view verb) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": not a regular file, expected one to ", verb));
}

}  // namespace

std::string TemporaryOf(const std::string& path) {
  // No suffix that anything reads: sysctl.d takes *.conf, firewalld *.xml.
  return absl::StrCat(path, ".clusterd-new");
}

absl::StatusOr<SavedFile> SaveOpenFile(OpenFile* file,
                                       const std::string& path) {
  const absl::StatusOr<FileAttributes> attributes = file->Attributes();
  if (!attributes.ok()) return attributes.status();
  if (attributes->type != FileType::kRegular) return NotAFile(path, "edit");
  absl::StatusOr<std::string> content = file->ReadAll(kMaxFileBytes);
  if (!content.ok()) return content.status();
  SavedFile saved;
  saved.set_path(path);
  saved.set_existed(true);
  saved.set_content(*std::move(content));
  saved.set_mode(attributes->mode);
  saved.set_uid(attributes->uid);
  saved.set_gid(attributes->gid);
  return saved;
}

absl::StatusOr<SavedFile> SaveFile(FileSystem* files, const std::string& path) {
  // Of the path itself first: a link must not be followed.
  const absl::StatusOr<FileAttributes> attributes = files->Stat(path);
  if (absl::IsNotFound(attributes.status())) {
    SavedFile none;
    none.set_path(path);
    return none;
  }
  if (!attributes.ok()) return attributes.status();
  if (attributes->type != FileType::kRegular) return NotAFile(path, "replace");
  const absl::StatusOr<std::unique_ptr<OpenFile>> file =
      files->Open(path, OpenMode::kRead);
  if (!file.ok()) return file.status();
  return SaveOpenFile(file->get(), path);
}

absl::Status ReplaceFile(const MutationToken&, FileSystem* files,
                         const std::string& path, absl::string_view content,
                         uint32_t new_mode) {
  absl::StatusOr<SavedFile> wanted = SaveFile(files, path);
  if (!wanted.ok()) return wanted.status();
  if (!wanted->existed()) wanted->set_mode(new_mode);
  wanted->set_content(std::string(content));
  return Put(files, *wanted);
}

absl::Status RestoreFile(const MutationToken&, FileSystem* files,
                         const SavedFile& saved) {
  const absl::Status cleaned = RemoveIfThere(files, TemporaryOf(saved.path()));
  if (!cleaned.ok()) return cleaned;
  const absl::StatusOr<SavedFile> now = SaveFile(files, saved.path());
  if (!now.ok()) return now.status();
  if (Same(*now, saved)) {
    // It may be so only in memory: a crash may have come before the sync.
    return files->SyncDirectory(FolderOf(saved.path()));
  }
  if (saved.existed()) return Put(files, saved);
  const absl::Status removed = files->Remove(saved.path());
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  return files->SyncDirectory(FolderOf(saved.path()));
}

}  // namespace clusterd
