// A disk that hangs. Programs that link this use fsync(2) and fdatasync(2) of
// hanging_disk.cc, also in SQLite.
#ifndef TESTS_SUPPORT_PROCESS_HANGING_DISK_H_
#define TESTS_SUPPORT_PROCESS_HANGING_DISK_H_

namespace clusterd {

// While it exists, no call that waits for the disk returns. Only one at a time.
class HangingDisk {
 public:
  HangingDisk();
  ~HangingDisk();
  HangingDisk(const HangingDisk&) = delete;
  HangingDisk& operator=(const HangingDisk&) = delete;

  // Blocks like a call that waits for the disk.
  static void Wait();
  // Blocks until `count` calls wait; false if that takes over kPatience.
  bool WaitForWaiting(int count);
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_PROCESS_HANGING_DISK_H_
