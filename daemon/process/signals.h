// The signals that a daemon lives by, taken by a thread that waits for them, so
// that no work is ever done in a signal handler.
#ifndef DAEMON_PROCESS_SIGNALS_H_
#define DAEMON_PROCESS_SIGNALS_H_

#include <signal.h>

namespace clusterd {

enum class DaemonSignal {
  kStop,    // SIGTERM or SIGINT.
  kReload,  // SIGHUP.
};

// Blocks SIGTERM, SIGINT and SIGHUP for the calling thread and those that it
// starts later, and ignores SIGPIPE. Make it first thing in main(). Programs
// that the daemon starts inherit the mask unless the starter resets it.
class BlockedSignals {
 public:
  BlockedSignals();
  // Restores the calling thread's mask and SIGPIPE.
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // Blocks until one of the three arrives.
  DaemonSignal Wait();

 private:
  sigset_t waited_;
  sigset_t before_;
  struct sigaction pipe_before_;
};

}  // namespace clusterd

#endif  // DAEMON_PROCESS_SIGNALS_H_
