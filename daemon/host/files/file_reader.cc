#include "daemon/host/files/file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxLineBytes = 64 << 10;
// /proc may list this many: PID_MAX_LIMIT, proc(5), and its other names.
constexpr size_t kMaxProcesses = (4 << 20) + 1000;
// Interval between two tries for a lock, or two reads.
constexpr absl::Duration kPoll = absl::Milliseconds(10);
constexpr int kMaxRounds = 5;

absl::Status ErrnoStatus(absl::string_view path, int error) {
  const FindingValue message = Worded("about", path, Term(strerror(error)));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
    case ESRCH:
      return WithWords(absl::NotFoundError(""), message);
    case EACCES:
    case EPERM:
      return WithWords(absl::PermissionDeniedError(""), message);
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return WithWords(absl::FailedPreconditionError(""), message);
    default:
      return WithWords(absl::UnavailableError(""), message);
  }
}

std::string WithoutFinalSlash(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

// Returns the bytes read, 0 at the end, or -1 with errno.
ssize_t ReadSome(int fd, char* buffer, size_t size) {
  ssize_t got;
  do {
    got = read(fd, buffer, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

absl::StatusOr<std::string> ReadAll(int fd, absl::string_view path,
                                    size_t max_bytes) {
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t got = ReadSome(fd, buffer, sizeof(buffer));
    if (got < 0) return ErrnoStatus(path, errno);
    if (got == 0) return text;
    if (text.size() + got > max_bytes) {
      return ExhaustedWords("fact-file-over", PrintableText(path), max_bytes);
    }
    text.append(buffer, got);
  }
}

constexpr size_t kMaxDetailBytes = 500;

// All other codes are UNREADABLE.
constexpr std::pair<absl::StatusCode, Missing::Reason> kReasons[] = {
    {absl::StatusCode::kNotFound, Missing::ABSENT},
    {absl::StatusCode::kPermissionDenied, Missing::NOT_PERMITTED},
    {absl::StatusCode::kDeadlineExceeded, Missing::TIMED_OUT},
    {absl::StatusCode::kUnavailable, Missing::TOOL_FAILED},
    {absl::StatusCode::kAborted, Missing::BUSY},
    {absl::StatusCode::kUnimplemented, Missing::NOT_SUPPORTED},
    {absl::StatusCode::kCancelled, Missing::NOT_QUERIED},
};

constexpr absl::string_view kDefaultInstallPath = "/usr/local/Ascend";
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxValueBytes = 256;

std::optional<absl::string_view> FindValue(absl::string_view text,
                                           absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, key) && absl::ConsumePrefix(&line, "=")) {
      return line;
    }
  }
  return {};
}

bool IsSafePath(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return absl::StartsWith(path, "/") && path.size() <= kMaxPathBytes &&
         !absl::c_linear_search(parts, "..") &&
         absl::c_none_of(path, absl::ascii_iscntrl);
}

}  // namespace

FileReader::FileReader(std::string root, size_t max_names)
    : root_(WithoutFinalSlash(std::move(root))), max_names_(max_names) {}

absl::StatusOr<FileText> FileReader::Read(absl::string_view path,
                                          size_t max_bytes) const {
  FileText file;
  ASSIGN_OR_RETURN(const int fd, OpenRegularFile(path, &file.mode));
  const absl::Cleanup closing = [fd] { close(fd); };
  ASSIGN_OR_RETURN(file.text, ReadAll(fd, path, max_bytes));
  return file;
}

absl::StatusOr<FileText> FileReader::ReadShared(absl::string_view path,
                                                Clock* clock,
                                                absl::Duration wait,
                                                size_t max_bytes) const {
  const absl::Duration give_up = clock->Monotonic() + wait;
  bool is_locked = true;
  while (is_locked) {
    FileText file;
    // Opened again each time: another process may replace the file meanwhile.
    ASSIGN_OR_RETURN(const int fd, OpenRegularFile(path, &file.mode));
    const absl::Cleanup closing = [fd] { close(fd); };
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
      ASSIGN_OR_RETURN(file.text, ReadAll(fd, path, max_bytes));
      return file;
    }
    // Some file systems do not support locks.
    is_locked = errno == EWOULDBLOCK;
    if (clock->Monotonic() >= give_up) break;
    if (is_locked) clock->SleepFor(kPoll);
  }
  ASSIGN_OR_RETURN(FileText file, ReadTwice(path, clock, max_bytes));
  if (!is_locked || !file.text.empty()) return file;
  return AbortedWords("fact-lock-held", PrintableText(path));
}

absl::StatusOr<FileText> FileReader::ReadTwice(absl::string_view path,
                                               Clock* clock,
                                               size_t max_bytes) const {
  ASSIGN_OR_RETURN(FileText last, Read(path, max_bytes));
  for (int rounds = 1; rounds < kMaxRounds; ++rounds) {
    clock->SleepFor(kPoll);
    ASSIGN_OR_RETURN(FileText now, Read(path, max_bytes));
    if (now.text == last.text) return now;
    last = std::move(now);
  }
  return AbortedWords("fact-file-changes", PrintableText(path), kMaxRounds);
}

absl::StatusOr<std::string> FileReader::ReadTrimmed(
    absl::string_view path) const {
  ASSIGN_OR_RETURN(FileText file, Read(path));
  return std::string(absl::StripAsciiWhitespace(file.text));
}

absl::Status FileReader::ReadLines(
    absl::string_view path,
    const std::function<absl::Status(absl::string_view)>& visit) const {
  const auto take = [&](absl::string_view line) {
    return InFront(path, visit(line));
  };
  uint32_t mode = 0;
  ASSIGN_OR_RETURN(const int fd, OpenRegularFile(path, &mode));
  const absl::Cleanup closing = [fd] { close(fd); };
  std::string pending;
  char buffer[65536];
  while (true) {
    const ssize_t got = ReadSome(fd, buffer, sizeof(buffer));
    if (got < 0) return ErrnoStatus(path, errno);
    if (got == 0) break;
    pending.append(buffer, got);
    size_t begin = 0;
    for (size_t end; (end = pending.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      RETURN_IF_ERROR(take({pending.data() + begin, end - begin}));
    }
    pending.erase(0, begin);
    if (pending.size() > kMaxLineBytes) {
      return PreconditionWords("fact-line-over", PrintableText(path),
                               kMaxLineBytes);
    }
  }
  return pending.empty() ? absl::OkStatus() : take(pending);
}

absl::StatusOr<std::vector<std::string>> FileReader::List(
    absl::string_view path, Beyond beyond) const {
  RETURN_IF_ERROR(CheckInsideRoot(path));
  const size_t most = path == "/proc" ? kMaxProcesses : max_names_;
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(Resolve(path), error);
  for (; !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    if (names.size() == most) {
      if (beyond == Beyond::kLeftOut) break;
      return ExhaustedWords("fact-names-over", PrintableText(path), most);
    }
    names.push_back(entry->path().filename());
  }
  if (error == std::errc::not_a_directory && CheckExists(path).ok()) {
    return PreconditionWords("fact-no-folder", PrintableText(path));
  }
  if (error) return ErrnoStatus(path, error.value());
  absl::c_sort(names);
  return names;
}

absl::StatusOr<std::string> FileReader::ReadLink(absl::string_view path) const {
  char target[PATH_MAX];
  const ssize_t size = readlink(Resolve(path).c_str(), target, sizeof(target));
  if (size < 0 && errno == EINVAL) {
    return InFront(path, PreconditionWords("fact-not-a-link"));
  }
  if (size < 0) return ErrnoStatus(path, errno);
  return std::string(target, size);
}

absl::Status FileReader::CheckExists(absl::string_view path) const {
  struct stat info;
  if (lstat(Resolve(path).c_str(), &info) == 0) return absl::OkStatus();
  return ErrnoStatus(path, errno);
}

absl::StatusOr<bool> FileReader::IsOnWritableMount(
    absl::string_view path) const {
  RETURN_IF_ERROR(CheckInsideRoot(path));
  struct statvfs mount;
  if (statvfs(Resolve(path).c_str(), &mount) != 0) {
    return ErrnoStatus(path, errno);
  }
  return (mount.f_flag & ST_RDONLY) == 0;
}

absl::Status FileReader::CheckInsideRoot(absl::string_view path) const {
  if (root_.empty()) return absl::OkStatus();
  std::error_code error;
  const std::string real = std::filesystem::canonical(Resolve(path), error);
  if (error) return ErrnoStatus(path, error.value());
  const std::string real_root = std::filesystem::canonical(root_, error);
  if (error) return ErrnoStatus(path, error.value());
  if (absl::StartsWith(real, absl::StrCat(real_root, "/"))) {
    return absl::OkStatus();
  }
  return InFront(path, DeniedWords("msg-step-leads-out-of", root_));
}

absl::StatusOr<int> FileReader::OpenRegularFile(absl::string_view path,
                                                uint32_t* mode) const {
  RETURN_IF_ERROR(CheckInsideRoot(path));
  const int fd =
      open(Resolve(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return ErrnoStatus(path, errno);
  struct stat info;
  const bool known = fstat(fd, &info) == 0;
  if (known && S_ISREG(info.st_mode)) {
    *mode = info.st_mode & 07777;
    return fd;
  }
  close(fd);
  return PreconditionWords(
      known && S_ISDIR(info.st_mode) ? "fact-a-folder" : "fact-no-file",
      PrintableText(path));
}

Missing MakeMissing(Missing::Reason reason, const FindingValue& detail) {
  Missing missing;
  missing.set_reason(reason);
  SetDetail(PrintableWords(detail), &missing);
  missing.set_detail(PrintableText(missing.detail(), kMaxDetailBytes));
  return missing;
}

Missing MissingFor(const absl::Status& status) {
  for (const auto& [code, reason] : kReasons) {
    if (status.code() == code) return MakeMissing(reason, MessageWords(status));
  }
  return MakeMissing(Missing::UNREADABLE, MessageWords(status));
}

absl::string_view WithoutQuotes(absl::string_view value) {
  for (const char quote : {'"', '\''}) {
    if (value.size() >= 2 && value.front() == quote && value.back() == quote) {
      return value.substr(1, value.size() - 2);
    }
  }
  return value;
}

absl::StatusOr<std::string> ParseInstallPath(absl::string_view text) {
  constexpr absl::string_view kKey = "Driver_Install_Path_Param";
  absl::string_view path = FindValue(text, kKey).value_or(kDefaultInstallPath);
  if (!IsSafePath(path)) {
    return InvalidWords("fact-install-path", kKey, QuotedText(path));
  }
  while (path.size() > 1 && absl::ConsumeSuffix(&path, "/")) {
  }
  return std::string(path);
}

absl::StatusOr<std::string> ReadInstallPath(const FileReader& files) {
  return ParseInstallPath(
      files.Read("/etc/ascend_install.info").value_or(FileText()).text);
}

absl::StatusOr<std::string> ParseInfoValue(absl::string_view text,
                                           absl::string_view key) {
  const absl::string_view value =
      WithoutQuotes(FindValue(text, key).value_or(""));
  if (!value.empty()) return PrintableText(value, kMaxValueBytes);
  return InvalidWords("fact-no-key-line", key, QuotedText(text));
}

}  // namespace clusterd
