// How a daemon is told to stop, and tells systemd how it is doing. Its signals
// are taken by a thread that waits for them, so that no work is ever done in a
// signal handler.
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
  // The same for at most so long; nothing: none has arrived.
  std::optional<DaemonSignal> WaitFor(absl::Duration limit);

 private:
  sigset_t waited_;
  sigset_t before_;
  struct sigaction pipe_before_;
};

// From now on no crash writes this process's memory, with its keys, to a disk,
// and no other process of its user may look into it. What it starts is free to.
void KeepOutOfCores();

// Tells systemd how a service of Type=notify is doing, as sd_notify(3)
// documents: one datagram such as "READY=1" to the socket in $NOTIFY_SOCKET.
// `socket` is the variable's value: a path, "@" before an abstract name, or
// empty when nobody listens, which is fine. InvalidArgument if it is anything
// else or too long; Unavailable if it does not take the message.
absl::Status NotifySystemd(const std::string& socket, absl::string_view state);

}  // namespace clusterd

#endif  // DAEMON_PROCESS_SIGNALS_H_
