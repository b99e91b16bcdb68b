#include "client/files/user_files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "config/identity/regular_file.h"
#include "config/plan/make_plan.h"
#include "config/report/message_json.h"
#include "config/values/owned_fd.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {
namespace {

constexpr int kQuotedBytes = 200;
constexpr size_t kMaxTypedBytes = 4096;

// The file that `path` refers to; `path` itself if that does not exist yet.
std::string ResolvedPath(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path real = std::filesystem::canonical(path, unknown);
  return unknown ? path : real.string();
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

absl::Status Replace(const std::string& path, const std::string& target,
                     absl::string_view text, mode_t mode) {
  std::string temporary = absl::StrCat(target, ".XXXXXX");
  const OwnedFd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) return FileStatus(path, errno);
  const mode_t mask = umask(0);
  umask(mask);
  if (!WriteAll(fd.get(), text) || fchmod(fd.get(), mode & ~mask) != 0 ||
      fsync(fd.get()) != 0 || rename(temporary.c_str(), target.c_str()) != 0) {
    const absl::Status status = FileStatus(path, errno);
    unlink(temporary.c_str());
    return status;
  }
  if (!SyncFolderOf(target)) return FileStatus(path, errno);
  return absl::OkStatus();
}

// Devices, pipes and our own stdout are written in place; files are replaced.
bool IsWrittenInPlace(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return false;
  // /dev/stdout may be a regular file to which our own stdout still writes.
  return absl::StartsWith(path, "/dev/") || absl::StartsWith(path, "/proc/") ||
         !S_ISREG(info.st_mode);
}

absl::Status TypingError(const char* what) {
  return UnavailableWords("msg-stdin-failed", what, std::strerror(errno));
}

// OK when `fd` can be read.
absl::Status AwaitInput(int fd, int cancel_fd) {
  pollfd waits[] = {{fd, POLLIN, 0}, {cancel_fd, POLLIN, 0}};
  while (poll(waits, 2, -1) < 0) {
    if (errno != EINTR) return TypingError("poll");
  }
  if (waits[1].revents != 0) {
    return CancelledWords("msg-interrupted");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t max_bytes) {
  const bool is_own =
      path == "/dev/stdin" ||
      (absl::StartsWith(path, "/dev/fd/") && path.rfind('/') == 7);
  if (!is_own) return ReadRegularFile(path, max_bytes);
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (fd.get() < 0) return FileStatus(path, errno);
  return ReadToEnd(fd.get(), path, max_bytes);
}

absl::Status WriteTextFile(const std::string& path, absl::string_view text,
                           mode_t mode) {
  if (!IsWrittenInPlace(path)) {
    return Replace(path, ResolvedPath(path), text, mode);
  }
  const OwnedFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (fd.get() < 0) return FileStatus(path, errno);
  return WriteAll(fd.get(), text) ? absl::OkStatus() : FileStatus(path, errno);
}

absl::Status WriteNewFile(const std::string& path, absl::string_view text) {
  const OwnedFd fd(open(path.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        S_IRUSR | S_IWUSR));
  if (fd.get() < 0 && errno == EEXIST) {
    return PreconditionWords("msg-new-file-exists", path);
  }
  if (fd.get() < 0) return FileStatus(path, errno);
  if (WriteAll(fd.get(), text) && fsync(fd.get()) == 0) return absl::OkStatus();
  const absl::Status status = FileStatus(path, errno);
  unlink(path.c_str());
  return status;
}

absl::Status CheckFileTarget(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    return InvalidWords("msg-target-is-folder", path);
  }
  const std::string folder = FolderOf(ResolvedPath(path));
  if (!IsWrittenInPlace(path) && access(folder.c_str(), W_OK | X_OK) != 0) {
    return FileStatus(path, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadTypedLine(int fd, int cancel_fd) {
  std::string line;
  while (line.size() < kMaxTypedBytes) {
    RETURN_IF_ERROR(AwaitInput(fd, cancel_fd));
    // Read single bytes: text after the line must stay in the input.
    char next = 0;
    const ssize_t count = read(fd, &next, 1);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return TypingError("read");
    if (count == 0) return OutOfRangeWords("msg-stdin-ended");
    if (next == '\n') return line;
    line += next;
  }
  return OutOfRangeWords("msg-stdin-line-too-long", kMaxTypedBytes);
}

absl::StatusOr<std::string> PlanFileText(const ClusterPlan& plan) {
  // JSON can hold all but unknown fields.
  ClusterPlan known = plan;
  known.DiscardUnknownFields();
  if (PlanDigest(known) != PlanDigest(plan)) {
    return PreconditionWords("msg-plan-has-unknown-fields");
  }
  return MessageJson(plan, /*with_defaults=*/false);
}

absl::StatusOr<ClusterPlan> ParsePlanFile(absl::string_view text) {
  ClusterPlan plan;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &plan);
  if (!status.ok()) {
    // Further lines quote the text and the position in it.
    const std::string message = status.message().ToString();
    return InvalidWords(
        "msg-file-not-a-plan",
        message.substr(0, message.find('\n')).substr(0, kQuotedBytes));
  }
  if (plan.schema_version() != 0 || !plan.digest().empty()) return plan;
  return InvalidWords("msg-file-not-a-plan", Worded("ctl-plan-without-digest"));
}

absl::StatusOr<ClusterPlan> ReadPlanFile(const std::string& path) {
  ASSIGN_OR_RETURN(
      const std::string text,
      ReadTextFile(path == "-" ? "/dev/stdin" : path, kMaxPlanFileBytes));
  absl::StatusOr<ClusterPlan> plan = ParsePlanFile(text);
  RETURN_IF_ERROR(InFront(path, plan.ok() ? VerifyPlan(*plan) : plan.status()));
  return plan;
}

absl::Status CheckPlanTarget(const std::string& path) {
  RETURN_IF_ERROR(CheckFileTarget(path));
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text,
                   ReadTextFile(path, kMaxPlanFileBytes));
  if (text.empty() || ParsePlanFile(text).ok()) return absl::OkStatus();
  return PreconditionWords("msg-target-not-a-plan", path);
}

}  // namespace clusterd
