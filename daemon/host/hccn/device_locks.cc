#include "daemon/host/hccn/device_locks.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "config/values/text_form.h"
#include "daemon/host/files/file_reader.h"

namespace clusterd {
namespace {

// In clock ticks since boot. None once the process has ended, also if nobody
// has waited for it yet.
std::optional<uint64_t> StartTimeOf(int pid) {
  // Words of proc(5): the name in brackets, which may hold anything, the state,
  // and as the 20th from there the time.
  static const LazyRE2 kStat = {R"((?s).*\) [^ZX](?: \S+){18} (\d+) .*)",
                                RE2::Latin1};
  // The machine's own /proc: it is a child of this very process.
  const absl::StatusOr<FileText> stat =
      FileReader("/").Read(absl::StrCat("/proc/", pid, "/stat"));
  uint64_t start_time = 0;
  if (!stat.ok() || !HasForm(stat->text, *kStat, &start_time)) return {};
  return start_time;
}

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
    if (StartTimeOf(left->second.pid) == left->second.start_time) {
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
  const std::optional<uint64_t> start_time = StartTimeOf(pid);
  if (!start_time.has_value()) return;
  absl::MutexLock lock(&mutex_);
  left_behind_.insert_or_assign(device, Process{pid, *start_time});
}

void DeviceLocks::GiveBack(uint32_t device) {
  absl::MutexLock lock(&mutex_);
  in_use_.erase(device);
}

}  // namespace clusterd
