#include "daemon/host/hccn/device_locks.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/host/files/file_reader.h"

namespace clusterd {
namespace {

// Words of /proc/PID/stat after the name in brackets, from proc(5).
constexpr size_t kStateWord = 0;
constexpr size_t kStartTimeWord = 19;

}  // namespace

absl::StatusOr<DeviceLocks::Lock> DeviceLocks::Take(uint32_t device,
                                                    absl::Duration wait) {
  absl::MutexLock lock(&mutex_);
  const auto is_free = [this, device]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return in_use_.count(device) == 0;
  };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&is_free), wait)) {
    return absl::DeadlineExceededError(
        absl::StrCat("device ", device, ": in use by another observation"));
  }
  const auto left = left_behind_.find(device);
  if (left != left_behind_.end()) {
    const std::optional<Process> process = FindProcess(left->second.pid);
    if (process.has_value() && process->start_time == left->second.start_time) {
      return absl::FailedPreconditionError(absl::StrCat(
          "device ", device, ": process ", left->second.pid,
          " of an earlier query cannot be killed and still works on it"));
    }
    left_behind_.erase(left);
  }
  in_use_.insert(device);
  return Lock(this, Release{device});
}

void DeviceLocks::LeaveBehind(uint32_t device, int pid) {
  const std::optional<Process> process = FindProcess(pid);
  if (!process.has_value()) return;
  absl::MutexLock lock(&mutex_);
  left_behind_.insert_or_assign(device, *process);
}

void DeviceLocks::GiveBack(uint32_t device) {
  absl::MutexLock lock(&mutex_);
  in_use_.erase(device);
}

std::optional<DeviceLocks::Process> DeviceLocks::FindProcess(int pid) {
  // The machine's own /proc: it is a child of this very process.
  const absl::StatusOr<FileText> stat =
      FileReader("/").Read(absl::StrCat("/proc/", pid, "/stat"));
  if (!stat.ok()) return {};
  const size_t bracket = stat->text.rfind(") ");
  if (bracket == std::string::npos) return {};
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(stat->text).substr(bracket + 2), ' ');
  Process process{pid, 0};
  if (words.size() <= kStartTimeWord || words[kStateWord] == "Z" ||
      words[kStateWord] == "X" ||
      !absl::SimpleAtoi(words[kStartTimeWord], &process.start_time)) {
    return {};
  }
  return process;
}

}  // namespace clusterd
