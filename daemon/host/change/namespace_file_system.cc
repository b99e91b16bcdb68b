#include "daemon/host/change/namespace_file_system.h"

#include <utility>

namespace clusterd {
namespace {

// What `call` returns inside, or why nobody got inside.
template <typename Call>
auto Inside(const OpenNetworkNamespace& place, Call call) -> decltype(call()) {
  decltype(call()) result = absl::UnknownError("not run");
  const absl::Status entered = place.Run([&] { result = call(); });
  if (!entered.ok()) return entered;
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<OpenFile>> NamespaceFileSystem::Open(
    const std::string& path, OpenMode mode) {
  return Inside(*place_, [&] { return files_->Open(path, mode); });
}

absl::StatusOr<FileAttributes> NamespaceFileSystem::Stat(
    const std::string& path) {
  return Inside(*place_, [&] { return files_->Stat(path); });
}

absl::StatusOr<std::vector<std::string>> NamespaceFileSystem::List(
    const std::string& folder) {
  return Inside(*place_, [&] { return files_->List(folder); });
}

absl::Status NamespaceFileSystem::MakeDirectory(const std::string& path,
                                                uint32_t mode) {
  return Inside(*place_, [&] { return files_->MakeDirectory(path, mode); });
}

absl::Status NamespaceFileSystem::Rename(const std::string& from,
                                         const std::string& to) {
  return Inside(*place_, [&] { return files_->Rename(from, to); });
}

absl::Status NamespaceFileSystem::Remove(const std::string& path) {
  return Inside(*place_, [&] { return files_->Remove(path); });
}

absl::Status NamespaceFileSystem::SyncDirectory(const std::string& folder) {
  return Inside(*place_, [&] { return files_->SyncDirectory(folder); });
}

}  // namespace clusterd
