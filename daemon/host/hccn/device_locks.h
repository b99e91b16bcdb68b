// Sees to it that no two hccn_tool processes of this daemon work on one device
// at the same time: the vendor does not support that.
#ifndef DAEMON_HOST_HCCN_DEVICE_LOCKS_H_
#define DAEMON_HOST_HCCN_DEVICE_LOCKS_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace clusterd {

// Safe for concurrent use.
class DeviceLocks {
 public:
  // The right to use one device, until it is destroyed.
  struct Release {
    uint32_t device = 0;
    void operator()(DeviceLocks* locks) const { locks->GiveBack(device); }
  };
  using Lock = std::unique_ptr<DeviceLocks, Release>;

  // Waits at most `wait` for the others; whoever changes the device is before
  // all who only look at it. DeadlineExceeded: still in use.
  // FailedPrecondition, with its pid: a process that could not be killed still
  // works on the device.
  absl::StatusOr<Lock> Take(uint32_t device, absl::Duration wait,
                            bool changes = false);

  // A process was left behind on `device` (CommandResult::left_running). The
  // device stays blocked until it has ended.
  void LeaveBehind(uint32_t device, int pid);

 private:
  // A process for good: its pid may be given to another one later.
  struct Process {
    int pid;
    uint64_t start_time;  // Clock ticks since boot.
  };

  void GiveBack(uint32_t device);

  // Not absl::Mutex: its timed waits follow the wall clock, which may be set.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<uint32_t> in_use_;
  // Who waits to change a device.
  std::multiset<uint32_t> awaited_;
  std::map<uint32_t, Process> left_behind_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_DEVICE_LOCKS_H_
