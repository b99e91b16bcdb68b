#include "daemon/host/identity/identity_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <tuple>

#include "absl/strings/str_format.h"
#include "config/identity/regular_file.h"
#include "config/values/owned_fd.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

constexpr char kAuthorityFile[] = "ca.crt";
constexpr char kCertificateFile[] = "host.crt";
constexpr char kKeyFile[] = "host.key";
constexpr char kBundleFile[] = "roots.bundle";

// Opens a folder that is not a link and that only this user can write.
absl::StatusOr<OwnedFd> OpenOwnFolder(const std::string& path) {
  OwnedFd folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.get() < 0 && (errno == ELOOP || errno == ENOTDIR)) {
    return DeniedWords("msg-trust-not-a-folder", path);
  }
  struct stat found = {};
  if (folder.get() < 0 || fstat(folder.get(), &found) != 0) {
    return WriteStatus(path, errno);
  }
  if (found.st_uid != geteuid()) {
    return DeniedWords("msg-trust-folder-owner", path, found.st_uid, geteuid());
  }
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) == 0) return folder;
  return DeniedWords("msg-trust-folder-open", path);
}

// Creates the folder for any umask: all users read the certificates.
absl::StatusOr<OwnedFd> MakeOwnFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return WriteStatus(path, errno);
  }
  ASSIGN_OR_RETURN(OwnedFd folder, OpenOwnFolder(path));
  if (fchmod(folder.get(), 0755) != 0) return WriteStatus(path, errno);
  return folder;
}

// Creates `folder` and identity/ in it, and locks them while the result lives.
absl::StatusOr<OwnedFd> LockIdentity(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return WriteStatus(folder, error.value());
  RETURN_IF_ERROR(OpenOwnFolder(folder).status());
  const std::string identity = absl::StrCat(folder, "/identity");
  ASSIGN_OR_RETURN(OwnedFd locked, MakeOwnFolder(identity));
  while (flock(locked.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return WriteStatus(identity, errno);
  }
  return locked;
}

std::string LinkTarget(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = readlink(path.c_str(), target, sizeof(target));
  return size < 0 ? "" : std::string(target, static_cast<size_t>(size));
}

absl::Status Rename(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0 ? absl::OkStatus()
                                                    : WriteStatus(to, errno);
}

// Returns the number of a pair's folder; 0 for another name.
int NumberOf(const std::string& name) {
  static const LazyRE2 kForm = {"([0-9]{6,9})"};
  int number = 0;
  return HasForm(name, *kForm, &number) ? number : 0;
}

std::string CurrentPath(absl::string_view name) {
  return absl::StrCat("identity/current/", name);
}

absl::Status PointTo(const std::string& target, const std::string& link) {
  const std::string beside = absl::StrCat(link, ".new");
  unlink(beside.c_str());
  if (symlink(target.c_str(), beside.c_str()) == 0) return Rename(beside, link);
  return WriteStatus(beside, errno);
}

// Replaces a file in the folder, which is locked meanwhile.
absl::Status ReplaceIn(const std::string& folder, const std::string& path,
                       absl::string_view text, unsigned mode) {
  ASSIGN_OR_RETURN(const OwnedFd locked, LockIdentity(folder));
  return ReplaceFile(path, text, mode);
}

}  // namespace

std::string IdentityFolder::PathOf(absl::string_view name) const {
  return absl::StrCat(folder_, "/", name);
}

bool IdentityFolder::HasJoined() const {
  return LinkTarget(PathOf(kCertificateFile)) == CurrentPath(kCertificateFile);
}

absl::Status IdentityFolder::Install(const TlsPem& pair) const {
  ASSIGN_OR_RETURN(const OwnedFd locked, LockIdentity(folder_));
  const std::string folder = PathOf("identity");
  const std::string link = absl::StrCat(folder, "/current");
  const std::string before = LinkTarget(link);
  int last = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    last = std::max(last, NumberOf(entry.path().filename().string()));
  }
  const std::string name = absl::StrFormat("%06d", last + 1);
  const std::string whole = absl::StrCat(folder, "/", name);
  const std::string beside = absl::StrCat(folder, "/new");
  std::filesystem::remove_all(beside, error);
  RETURN_IF_ERROR(MakeOwnFolder(beside).status());
  for (const auto& [file, text, mode] : std::initializer_list<
           std::tuple<const char*, absl::string_view, mode_t>>{
           {kKeyFile, pair.key, 0600},
           {kCertificateFile, pair.certificate, 0644},
           {kAuthorityFile, pair.ca, 0644},
           {kBundleFile, pair.roots_bundle, 0644}}) {
    if (text.empty()) continue;
    RETURN_IF_ERROR(
        WriteWholeFile(absl::StrCat(beside, "/", file), text, mode));
  }
  RETURN_IF_ERROR(SyncFolder(beside));
  RETURN_IF_ERROR(Rename(beside, whole));
  RETURN_IF_ERROR(SyncFolder(folder));
  // From here on the new pair is in use.
  RETURN_IF_ERROR(PointTo(name, link));
  RETURN_IF_ERROR(SyncFolder(folder));
  for (const char* file : {kKeyFile, kCertificateFile, kAuthorityFile}) {
    if (LinkTarget(PathOf(file)) == CurrentPath(file)) continue;
    RETURN_IF_ERROR(PointTo(CurrentPath(file), PathOf(file)));
  }
  RETURN_IF_ERROR(SyncFolder(folder_));
  // Files left by a failed removal are harmless.
  unlink(absl::StrCat(folder, "/pending.key").c_str());
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string other = entry.path().filename().string();
    if (NumberOf(other) == 0 || other == name || other == before) continue;
    std::filesystem::remove_all(entry.path(), error);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> IdentityFolder::ReadRootsBundle() const {
  absl::StatusOr<std::string> text =
      ReadRegularFile(PathOf(CurrentPath(kBundleFile)));
  return absl::IsNotFound(text.status()) ? "" : text;
}

absl::StatusOr<std::string> IdentityFolder::ReadPendingKey() const {
  return ReadRegularFile(PathOf("identity/pending.key"));
}

absl::Status IdentityFolder::WritePendingKey(const std::string& key_pem) const {
  return ReplaceIn(folder_, PathOf("identity/pending.key"), key_pem, 0600);
}

absl::StatusOr<bool> IdentityFolder::WriteAgentConfig(
    const std::string& text) const {
  const std::string path = PathOf("agent.yaml");
  struct stat found = {};
  if (lstat(path.c_str(), &found) == 0) return false;
  if (errno != ENOENT) return WriteStatus(path, errno);
  RETURN_IF_ERROR(ReplaceIn(folder_, path, text, 0644));
  return true;
}

}  // namespace clusterd
