#include "daemon/process/signals.h"

#include <pthread.h>

namespace clusterd {

BlockedSignals::BlockedSignals() {
  sigemptyset(&waited_);
  sigaddset(&waited_, SIGTERM);
  sigaddset(&waited_, SIGINT);
  sigaddset(&waited_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &waited_, &before_);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
}

BlockedSignals::~BlockedSignals() {
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

DaemonSignal BlockedSignals::Wait() {
  for (;;) {
    int signal = 0;
    if (sigwait(&waited_, &signal) != 0) continue;
    return signal == SIGHUP ? DaemonSignal::kReload : DaemonSignal::kStop;
  }
}

}  // namespace clusterd
