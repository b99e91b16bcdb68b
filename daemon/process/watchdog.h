// Proves to systemd's watchdog that a daemon makes progress. A stuck daemon
// would keep its hosts waiting; systemd restarts a service that sends nothing
// for WatchdogSec=. So WATCHDOG=1 is sent only after every part of the daemon
// has answered, in successive rounds.
#ifndef DAEMON_PROCESS_WATCHDOG_H_
#define DAEMON_PROCESS_WATCHDOG_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {

struct WatchdogPart {
  std::string name;  // For the log: "timers".
  // Calls `done` from any thread, perhaps much later, once the part has made
  // progress. Must not block, and is called again while an answer is due.
  std::function<void(std::function<void()> done)> ask;
  // Closed when the watchdog ends, for callbacks that `ask` passes on.
  CallbackGate gate = {};
};

// Returns systemd's watchdog interval, from WATCHDOG_USEC and WATCHDOG_PID as
// in sd_watchdog_enabled(3); null: not set. Zero without a watchdog: not set,
// for another process, or not a number.
absl::Duration WatchdogLimit(const char* usec, const char* pid);

// Answers when the scheduler's thread has called `touch`, which takes the
// commonly used locks for a moment; not once the watchdog has ended.
WatchdogPart TimersPart(Scheduler* scheduler, std::function<void()> touch);

// Answers unless a pool thread has been busy with one item for longer than
// `longest`, which must exceed the deadline of any such item.
WatchdogPart WorkersPart(WorkerPool* pool, absl::Duration longest);

class Watchdog {
 public:
  // Calls `prove` from its own thread, after the first round and then about
  // four times in `limit`. The log names late parts before systemd acts. Does
  // nothing if `limit` is zero. The parts' objects must outlive it; answers may
  // come later.
  Watchdog(absl::Duration limit, std::vector<WatchdogPart> parts,
           std::function<void()> prove, Log* log);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  struct Round;

  void Run();
  // Asks every part until all have answered; false: the watchdog is stopping.
  bool FinishRound();
  void AskDebtors();

  const absl::Duration limit_;
  const std::vector<WatchdogPart> parts_;
  const std::function<void()> prove_;
  Log* const log_;
  const std::shared_ptr<Round> round_;
  std::thread thread_;  // Last: uses everything above.
};

}  // namespace clusterd

#endif  // DAEMON_PROCESS_WATCHDOG_H_
