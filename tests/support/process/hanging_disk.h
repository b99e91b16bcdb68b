// A disk that hangs: in a program that has this, fsync(2) and fdatasync(2) are
// those of hanging_disk.cc, also for SQLite.
#ifndef TESTS_SUPPORT_PROCESS_HANGING_DISK_H_
#define TESTS_SUPPORT_PROCESS_HANGING_DISK_H_

namespace clusterd {

// While it lives no call returns that waits for the disk. At most one lives.
class HangingDisk {
 public:
  HangingDisk();
  ~HangingDisk();
  HangingDisk(const HangingDisk&) = delete;
  HangingDisk& operator=(const HangingDisk&) = delete;

  // Blocks as a call does that waits for the disk.
  static void Wait();
  // Blocks until `count` calls wait; false if that takes over kPatience.
  bool WaitForWaiting(int count);
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_PROCESS_HANGING_DISK_H_
