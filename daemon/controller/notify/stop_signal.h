// Wakes whoever waits in poll() or in an event loop when a controller stops.
#ifndef DAEMON_CONTROLLER_NOTIFY_STOP_SIGNAL_H_
#define DAEMON_CONTROLLER_NOTIFY_STOP_SIGNAL_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace clusterd {

// Safe for concurrent use.
class StopSignal {
 public:
  StopSignal() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~StopSignal() {
    if (fd_ >= 0) close(fd_);
  }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // From now on fd() can be read; nobody reads it.
  void Set() const {
    const uint64_t one = 1;
    (void)!write(fd_, &one, sizeof(one));
  }
  // -1 where there was no descriptor to be had: nobody is woken then.
  int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_NOTIFY_STOP_SIGNAL_H_
