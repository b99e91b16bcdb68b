#include "daemon/audit/audit_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/owned_fd.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;

bool ReadAll(int fd, std::string* text) {
  struct stat is = {};
  if (fstat(fd, &is) != 0) return false;
  text->resize(static_cast<size_t>(is.st_size));
  size_t got = 0;
  while (got < text->size()) {
    const ssize_t bytes =
        pread(fd, &(*text)[got], text->size() - got, static_cast<off_t>(got));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    got += static_cast<size_t>(bytes);
  }
  return true;
}

// The newest of the files that `path` was renamed to; empty: there is none.
std::string NewestOlder(const std::string& path) {
  const std::filesystem::path at(path);
  const std::string start = absl::StrCat(at.filename().string(), ".");
  uint64_t newest = 0;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(at.parent_path(), ignored)) {
    const std::string name = entry.path().filename();
    uint64_t number = 0;
    if (absl::StartsWith(name, start) &&
        absl::SimpleAtoi(name.substr(start.size()), &number)) {
      newest = std::max(newest, number);
    }
  }
  return newest == 0 ? "" : absl::StrCat(path, ".", newest);
}

// The last whole line of the text, without its end.
absl::string_view LastLine(absl::string_view whole) {
  whole.remove_suffix(1);
  const size_t before = whole.rfind('\n');
  return before == absl::string_view::npos ? whole : whole.substr(before + 1);
}

absl::StatusOr<AuditEntry> ReadLast(const std::string& path,
                                    absl::string_view whole) {
  absl::StatusOr<AuditEntry> last = ReadAuditLine(LastLine(whole));
  if (last.ok()) return last;
  return absl::FailedPreconditionError(absl::StrCat(
      "audit: ", path, ": the last line: ", last.status().message(),
      "; move the file away and keep it, a new one is begun"));
}

}  // namespace

std::string AuditMoment(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

absl::Status AuditFile::Trouble(absl::string_view doing) const {
  const int error = errno;
  return absl::UnavailableError(
      absl::StrCat("audit: ", path_, ": ", doing, ": ", std::strerror(error)));
}

void AuditFile::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

absl::Status AuditFile::OpenFile() {
  const std::filesystem::path folder =
      std::filesystem::path(path_).parent_path();
  std::error_code ignored;
  // What goes wrong here shows when the file is opened. The mode is given when
  // the folder is made, not set afterwards, when a link may stand there.
  std::filesystem::create_directories(folder.parent_path(), ignored);
  mkdir(folder.c_str(), 0700);
  fd_ = open(path_.c_str(), kFlags, 0600);
  if (fd_ < 0) return Trouble("opened for writing");
  struct stat is = {};
  if (fstat(fd_, &is) != 0 || !S_ISREG(is.st_mode)) {
    Close();
    return absl::UnavailableError(
        absl::StrCat("audit: ", path_, ": is no regular file"));
  }
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    Close();
    return absl::UnavailableError(
        absl::StrCat("audit: ", path_, ": another process writes it"));
  }
  return absl::OkStatus();
}

absl::Status AuditFile::Open(const std::string& at) {
  if (fd_ >= 0) return absl::OkStatus();
  RETURN_IF_ERROR(OpenFile());
  const absl::Status read = ReadEnd(at);
  if (!read.ok()) Close();
  return read;
}

absl::Status AuditFile::ReadEnd(const std::string& at) {
  std::string text;
  if (!ReadAll(fd_, &text)) return Trouble("read");
  size_ = text.size();
  const size_t end = text.rfind('\n');
  const absl::string_view whole =
      absl::string_view(text).substr(0, end == std::string::npos ? 0 : end + 1);
  const absl::string_view rest = absl::string_view(text).substr(whole.size());
  head_.Clear();
  if (whole.empty()) {
    RETURN_IF_ERROR(ReadOlder());
    if (!SyncFolderOf(path_)) return Trouble("its folder synced");
  } else {
    ASSIGN_OR_RETURN(const AuditEntry last, ReadLast(path_, whole));
    head_ = HeadOf(last);
    const auto first = ReadAuditLine(whole.substr(0, whole.find('\n')));
    first_sequence_ = first.ok() ? first->sequence() : 1;
  }
  for (const absl::string_view line : absl::StrSplit(whole, '\n')) {
    if (!absl::StrContains(line, "\"heads\":[")) continue;
    const absl::StatusOr<AuditEntry> entry = ReadAuditLine(line);
    if (entry.ok()) known_.Read(*entry);
  }
  if (rest.empty()) return absl::OkStatus();
  const absl::StatusOr<AuditEntry> only_its_end = ReadAuditLine(rest);
  if (only_its_end.ok()) {
    if (!WriteAll(fd_, "\n") || fdatasync(fd_) != 0) return Trouble("written");
    ++size_;
    head_ = HeadOf(*only_its_end);
    return absl::OkStatus();
  }
  AuditEntry torn;
  torn.set_at(at);
  torn.set_what(kAuditTorn);
  torn.set_result("the line before was cut off, and what it says never began");
  torn.mutable_torn()->set_bytes(rest.size());
  torn.mutable_torn()->set_sha256(Sha256Hex(rest));
  return WriteLine(std::move(torn), "\n");
}

absl::Status AuditFile::ReadOlder() {
  first_sequence_ = 1;
  const std::string older = NewestOlder(path_);
  if (older.empty()) return absl::OkStatus();
  const int fd = open(older.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  std::string text;
  const bool read = fd >= 0 && ReadAll(fd, &text);
  if (fd >= 0) close(fd);
  const size_t end = text.rfind('\n');
  if (!read || end == std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat("audit: ", older, ": no line can be read, which ", path_,
                     " continues; move both away and keep them"));
  }
  ASSIGN_OR_RETURN(const AuditEntry last,
                   ReadLast(older, absl::string_view(text).substr(0, end + 1)));
  head_ = HeadOf(last);
  first_sequence_ = last.sequence() + 1;
  return absl::OkStatus();
}

absl::Status AuditFile::WriteLine(AuditEntry entry, absl::string_view before) {
  entry.set_sequence(head_.sequence() + 1);
  entry.set_previous(head_.sha256());
  const std::string line = absl::StrCat(before, SealAuditLine(&entry), "\n");
  if (!WriteAll(fd_, line) || fdatasync(fd_) != 0) {
    const absl::Status trouble = Trouble("written and synced");
    // What is there of it says what never began. Where even that cannot be
    // done the next Open finds it, whole or torn.
    if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) Close();
    return trouble;
  }
  size_ += line.size();
  written_bytes_ += line.size();
  head_ = HeadOf(entry);
  return absl::OkStatus();
}

absl::Status AuditFile::Rotate() {
  const std::string older = absl::StrCat(path_, ".", head_.sequence());
  if (rename(path_.c_str(), older.c_str()) != 0) return Trouble("renamed");
  Close();
  RETURN_IF_ERROR(OpenFile());
  size_ = 0;
  first_sequence_ = head_.sequence() + 1;
  return SyncFolderOf(path_) ? absl::OkStatus() : Trouble("its folder synced");
}

absl::Status AuditFile::Append(AuditEntry entry) {
  RETURN_IF_ERROR(Open(entry.at()));
  if (size_ >= max_bytes_) RETURN_IF_ERROR(Rotate());
  // Also where the daemon was ended between the renaming and this line.
  if (size_ == 0 && head_.sequence() > 0) {
    AuditEntry continues;
    continues.set_at(entry.at());
    continues.set_what(kAuditContinues);
    continues.set_subject(
        absl::StrCat(std::filesystem::path(path_).filename().string(), ".",
                     head_.sequence()));
    RETURN_IF_ERROR(WriteLine(std::move(continues), ""));
  }
  return WriteLine(std::move(entry), "");
}

}  // namespace clusterd
