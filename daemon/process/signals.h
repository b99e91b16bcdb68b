// Receives a daemon's stop signals, and reports its state to systemd. A thread
// waits for the signals, so that no work is ever done in a signal handler.
#ifndef DAEMON_PROCESS_SIGNALS_H_
#define DAEMON_PROCESS_SIGNALS_H_

#include <signal.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace clusterd {

enum class DaemonSignal {
  kStop,    // SIGTERM or SIGINT.
  kReload,  // SIGHUP.
};

// Blocks SIGTERM, SIGINT and SIGHUP for the calling thread and its later ones,
// and ignores SIGPIPE. Must be the first object in main(). Programs that the
// daemon starts inherit the mask unless the starter resets it.
class BlockedSignals {
 public:
  BlockedSignals();
  // Restores the calling thread's mask and SIGPIPE.
  ~BlockedSignals() {
    sigaction(SIGPIPE, &pipe_before_, nullptr);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // Blocks until one of the three arrives.
  DaemonSignal Wait() {
    for (;;) {
      int signal = 0;
      if (sigwait(&waited_, &signal) != 0) continue;
      return signal == SIGHUP ? DaemonSignal::kReload : DaemonSignal::kStop;
    }
  }
  // The same for at most `limit`; no result: none has arrived.
  std::optional<DaemonSignal> WaitFor(absl::Duration limit) {
    const timespec time = absl::ToTimespec(limit);
    const int signal = sigtimedwait(&waited_, nullptr, &time);
    if (signal < 0) return std::nullopt;
    return signal == SIGHUP ? DaemonSignal::kReload : DaemonSignal::kStop;
  }

 private:
  sigset_t waited_;
  sigset_t before_;
  struct sigaction pipe_before_;
};

// From now on a crash never writes this process's memory, with its keys, to a
// disk, and its user's other processes cannot inspect it. Neither
// applies to programs that it starts.
void KeepOutOfCores();

// Reports the state of a Type=notify service to systemd (sd_notify(3)): one
// datagram such as "READY=1" to the socket in $NOTIFY_SOCKET. `socket` is the
// variable's value: a path, "@" before an abstract name, or empty for OK
// without a report. InvalidArgument for any other or too long value;
// Unavailable if the socket does not take the message.
absl::Status NotifySystemd(const std::string& socket, absl::string_view state);

}  // namespace clusterd

#endif  // DAEMON_PROCESS_SIGNALS_H_
