#include "tests/support/process/hanging_disk.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

ABSL_CONST_INIT absl::Mutex disk(absl::kConstInit);
bool hangs ABSL_GUARDED_BY(disk) = false;
int waiting ABSL_GUARDED_BY(disk) = 0;

void SetHangs(bool value) {
  absl::MutexLock lock(&disk);
  hangs = value;
}

}  // namespace

HangingDisk::HangingDisk() { SetHangs(true); }
HangingDisk::~HangingDisk() { SetHangs(false); }

void HangingDisk::Wait() {
  const auto turns = []() ABSL_SHARED_LOCKS_REQUIRED(disk) { return !hangs; };
  absl::MutexLock lock(&disk);
  ++waiting;
  disk.Await(absl::Condition(&turns));
  --waiting;
}

bool HangingDisk::WaitForWaiting(int count) {
  const auto enough = [count]() ABSL_SHARED_LOCKS_REQUIRED(disk) {
    return waiting >= count;
  };
  absl::MutexLock lock(&disk);
  return disk.AwaitWithTimeout(absl::Condition(&enough), kPatience);
}

}  // namespace clusterd

extern "C" int fsync(int fd) {
  clusterd::HangingDisk::Wait();
  return static_cast<int>(syscall(SYS_fsync, fd));
}

extern "C" int fdatasync(int fd) {
  clusterd::HangingDisk::Wait();
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}
