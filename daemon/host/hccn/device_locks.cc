#include "daemon/host/hccn/device_locks.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "config/values/status_macros.h"
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
                                                    absl::Duration wait,
                                                    bool changes) {
  const auto end = std::chrono::steady_clock::now() +
                   absl::ToChronoNanoseconds(
                       std::min<absl::Duration>(wait, absl::Hours(24)));
  std::unique_lock<std::mutex> lock(mutex_);
  if (changes) awaited_.insert(device);
  const bool free = changed_.wait_until(lock, end, [&] {
    return in_use_.count(device) == 0 &&
           (changes || awaited_.count(device) == 0);
  });
  if (changes) {
    awaited_.erase(awaited_.find(device));
    // Those who look wait for this, too.
    changed_.notify_all();
  }
  if (!free) {
    return DeadlineExceeded("device ", device,
                            awaited_.count(device) > 0
                                ? ": about to be changed"
                                : ": in use by another observation");
  }
  in_use_.insert(device);
  Lock taken(this, Release{device});
  const auto left = left_behind_.find(device);
  if (left == left_behind_.end()) return taken;
  const Process process = left->second;
  // Nobody waits for /proc. It is ours: no other changes its entry.
  lock.unlock();
  if (StartTimeOf(process.pid) == process.start_time) {
    return FailedPrecondition(
        "device ", device, ": process ", process.pid,
        " of an earlier query cannot be killed and still works on it");
  }
  lock.lock();
  left_behind_.erase(device);
  return taken;
}

void DeviceLocks::LeaveBehind(uint32_t device, int pid) {
  const std::optional<uint64_t> start_time = StartTimeOf(pid);
  if (!start_time.has_value()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  left_behind_.insert_or_assign(device, Process{pid, *start_time});
}

void DeviceLocks::GiveBack(uint32_t device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  in_use_.erase(device);
  // Under the lock: who has waited may destroy this next.
  changed_.notify_all();
}

}  // namespace clusterd
