// Replaces whole files so that a reader, or a crash, finds the old text or the
// new one and nothing between: a temporary beside the file, synced, renamed
// over it, and the folder synced. Not for hccn.conf: see in_place_file.h.
#ifndef DAEMON_HOST_CHANGE_ATOMIC_FILE_H_
#define DAEMON_HOST_CHANGE_ATOMIC_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/mutation_token.h"
#include "proto/plan.pb.h"

namespace clusterd {

// A configuration file is smaller than this.
inline constexpr size_t kMaxFileBytes = 4 << 20;

// Where the new text of `path` is written first. One name for each file, so
// that what a crash left behind is found again.
std::string TemporaryOf(const std::string& path);

// What a file holds now, with owner and mode; existed is false if there is
// none. FailedPrecondition if the path is a link, folder or device.
absl::StatusOr<SavedFile> SaveFile(FileSystem* files, const std::string& path);

// The same of one that is open.
absl::StatusOr<SavedFile> SaveOpenFile(OpenFile* file, const std::string& path);

// Puts `content` there with the owner and mode of the file that was there, or
// root and `new_mode`. FailedPrecondition as SaveFile. On any other error the
// old file is still there and the temporary is gone, unless removing it fails
// too.
absl::Status ReplaceFile(const MutationToken& token, FileSystem* files,
                         const std::string& path, absl::string_view content,
                         uint32_t new_mode);

// Makes the file what it was, or removes it if there was none; also removes a
// temporary that a crash left. Does nothing that is done already.
absl::Status RestoreFile(const MutationToken& token, FileSystem* files,
                         const SavedFile& saved);

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_ATOMIC_FILE_H_
