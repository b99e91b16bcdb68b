#include "daemon/host/change/in_place_file.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/host/change/atomic_file.h"

namespace clusterd {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(20);

absl::Status Overwrite(OpenFile* file, absl::string_view text) {
  // Text first, then the cut: growing is what a full disk refuses, and then
  // the old blocks are still there.
  absl::Status status = WriteFully(file, 0, text);
  if (status.ok()) status = file->Truncate(text.size());
  if (status.ok()) status = file->Sync();
  return status;
}

}  // namespace

InPlaceFile::InPlaceFile(FileSystem* files, Clock* clock, std::string path,
                         absl::Duration lock_wait)
    : files_(files),
      clock_(clock),
      path_(std::move(path)),
      lock_wait_(lock_wait) {}

absl::StatusOr<std::string> InPlaceFile::Read() const {
  const absl::StatusOr<std::unique_ptr<OpenFile>> file = OpenLocked();
  if (!file.ok()) return file.status();
  return (*file)->ReadAll(kMaxFileBytes);
}

absl::StatusOr<SavedFile> InPlaceFile::Save() const {
  const absl::StatusOr<std::unique_ptr<OpenFile>> file = OpenLocked();
  if (!file.ok()) return file.status();
  return SaveOpenFile(file->get(), path_);
}

absl::StatusOr<std::unique_ptr<OpenFile>> InPlaceFile::OpenLocked() const {
  const absl::Time give_up = clock_->Now() + lock_wait_;
  while (true) {
    absl::StatusOr<std::unique_ptr<OpenFile>> file =
        files_->Open(path_, OpenMode::kReadWrite);
    if (!file.ok()) return file.status();
    const absl::StatusOr<bool> locked = (*file)->TryLock();
    if (!locked.ok()) return locked.status();
    if (*locked) {
      // Somebody may have put another file there while we waited.
      const auto ours = (*file)->Attributes();
      if (!ours.ok()) return ours.status();
      absl::StatusOr<std::unique_ptr<OpenFile>> again =
          files_->Open(path_, OpenMode::kRead);
      if (!again.ok()) return again.status();
      const auto theirs = (*again)->Attributes();
      if (!theirs.ok()) return theirs.status();
      if (ours->inode == theirs->inode) return file;
    }
    if (clock_->Now() >= give_up) {
      return absl::DeadlineExceededError(
          absl::StrCat(path_, ": locked by another process for ",
                       absl::FormatDuration(lock_wait_)));
    }
    file->reset();
    clock_->SleepFor(kPoll);
  }
}

absl::Status InPlaceFile::Edit(
    const MutationToken&,
    const std::function<absl::StatusOr<std::string>(absl::string_view)>& edit) {
  absl::StatusOr<std::unique_ptr<OpenFile>> file = OpenLocked();
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::string> before = (*file)->ReadAll(kMaxFileBytes);
  if (!before.ok()) return before.status();
  const absl::StatusOr<std::string> after = edit(*before);
  if (!after.ok()) return after.status();
  if (*after == *before) return absl::OkStatus();
  return Overwrite(file->get(), *after);
}

absl::Status InPlaceFile::Restore(const MutationToken& token,
                                  const SavedFile& saved) {
  absl::StatusOr<std::unique_ptr<OpenFile>> file = OpenLocked();
  if (absl::IsNotFound(file.status())) {
    return RestoreFile(token, files_, saved);
  }
  if (!file.ok()) return file.status();
  const absl::StatusOr<SavedFile> now = SaveOpenFile(file->get(), path_);
  if (!now.ok()) return now.status();
  absl::Status status;
  // The owner first: changing it may clear mode bits.
  if (now->uid() != saved.uid() || now->gid() != saved.gid()) {
    status = (*file)->SetOwner(saved.uid(), saved.gid());
  }
  if (status.ok() && now->mode() != saved.mode()) {
    status = (*file)->SetMode(saved.mode());
  }
  if (!status.ok()) return status;
  if (now->content() == saved.content()) return (*file)->Sync();
  return Overwrite(file->get(), saved.content());
}

}  // namespace clusterd
