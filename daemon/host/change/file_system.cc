#include "daemon/host/change/file_system.h"

namespace clusterd {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return "/";
  return path.substr(0, slash);
}

absl::Status WriteFully(OpenFile* file, uint64_t offset,
                        absl::string_view bytes) {
  while (!bytes.empty()) {
    const absl::StatusOr<size_t> taken = file->WriteAt(offset, bytes);
    if (!taken.ok()) return taken.status();
    if (*taken == 0) return absl::DataLossError("a write took no byte");
    offset += *taken;
    bytes.remove_prefix(*taken);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(FileSystem* files,
                                          const std::string& path,
                                          size_t max_bytes) {
  absl::StatusOr<std::unique_ptr<OpenFile>> file =
      files->Open(path, OpenMode::kRead);
  if (!file.ok()) return file.status();
  return (*file)->ReadAll(max_bytes);
}

}  // namespace clusterd
