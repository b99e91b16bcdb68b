// Proves to systemd's watchdog that a daemon gets on. One that is there but
// stuck would keep its hosts waiting for ever; systemd ends a service of which
// it hears nothing for WatchdogSec= and starts it again. So WATCHDOG=1 is sent
// only after every part of the daemon has answered, one round after the other.
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
  // Calls `done` once the part has got on, from any thread, also much later. It
  // must not block, and is called again while an answer is owed.
  std::function<void(std::function<void()> done)> ask;
  // Closed when the watchdog ends, for what `ask` leaves to others to call.
  CallbackGate gate = {};
};

// How long systemd waits for a word, from WATCHDOG_USEC and WATCHDOG_PID as
// sd_watchdog_enabled(3) has them; null: not set. Zero where it does not wait:
// not set, another process meant, or no number.
absl::Duration WatchdogLimit(const char* usec, const char* pid);

// Answers when the scheduler's thread has called `touch`, which takes for a
// moment the locks that everybody takes; not once the watchdog has ended.
WatchdogPart TimersPart(Scheduler* scheduler, std::function<void()> touch);

// Answers unless a thread of the pool has been at one piece of work for longer
// than `longest`: more than any deadline that such work has.
WatchdogPart WorkersPart(WorkerPool* pool, absl::Duration longest);

class Watchdog {
 public:
  // Calls `prove` from a thread of its own, after the first round and then some
  // four times in `limit`. Before systemd acts, the log names the parts that
  // owe an answer. Does nothing at all if `limit` is zero. What the parts ask
  // must outlive it; answers may come later.
  Watchdog(absl::Duration limit, std::vector<WatchdogPart> parts,
           std::function<void()> prove, Log* log);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  struct Round;

  void Run();
  // Asks every part, until all have answered; false: told to stop.
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
