#include "daemon/process/watchdog.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"

namespace clusterd {

// State that the parts' answers share, since these may outlive the watchdog.
// Not absl::Mutex, for the reason in scheduler.h.
struct Watchdog::Round {
  // Returns whether the condition became true in time.
  template <typename Condition>
  bool WaitFor(absl::Duration time, Condition condition) {
    std::unique_lock<std::mutex> lock(mutex);
    return changed.wait_for(lock, absl::ToChronoNanoseconds(time), condition);
  }

  std::mutex mutex;
  std::condition_variable changed;
  uint64_t number = 0;
  std::set<size_t> owing;  // Indices of parts.
  bool stopping = false;
};

absl::Duration WatchdogLimit(const char* usec, const char* pid) {
  int64_t limit = 0;
  if (usec == nullptr || !absl::SimpleAtoi(usec, &limit) || limit <= 0) {
    return absl::ZeroDuration();
  }
  int64_t meant = 0;
  if (pid != nullptr && (!absl::SimpleAtoi(pid, &meant) || meant != getpid())) {
    return absl::ZeroDuration();
  }
  return absl::Microseconds(limit);
}

WatchdogPart TimersPart(Scheduler* scheduler, std::function<void()> touch) {
  WatchdogPart part;
  part.name = "timers";
  part.ask = [scheduler,
              touch = part.gate.Wrap(std::move(touch))](const auto& done) {
    scheduler->RunAfter(absl::ZeroDuration(), [touch, done] {
      touch();
      done();
    });
  };
  return part;
}

WatchdogPart WorkersPart(WorkerPool* pool, absl::Duration longest) {
  return {"workers", [pool, longest](const auto& done) {
            if (pool->LongestRunning() <= longest) done();
          }};
}

Watchdog::Watchdog(absl::Duration limit, std::vector<WatchdogPart> parts,
                   std::function<void()> prove, Log* log)
    : limit_(limit),
      parts_(std::move(parts)),
      prove_(std::move(prove)),
      log_(log),
      round_(std::make_shared<Round>()) {
  if (limit_ > absl::ZeroDuration()) thread_ = std::thread([this] { Run(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(round_->mutex);
    round_->stopping = true;
  }
  round_->changed.notify_all();
  thread_.join();
  for (const WatchdogPart& part : parts_) part.gate.Close();
}

void Watchdog::Run() {
  while (FinishRound()) {
    prove_();
    if (round_->WaitFor(limit_ / 4, [this] { return round_->stopping; })) {
      return;
    }
  }
}

bool Watchdog::FinishRound() {
  {
    const std::lock_guard<std::mutex> lock(round_->mutex);
    ++round_->number;
    for (size_t part = 0; part < parts_.size(); ++part) {
      round_->owing.insert(part);
    }
  }
  for (int waits = 0;; ++waits) {
    AskDebtors();
    const bool over = round_->WaitFor(limit_ / 4, [this] {
      return round_->owing.empty() || round_->stopping;
    });
    const std::lock_guard<std::mutex> lock(round_->mutex);
    if (round_->stopping) return false;
    if (over) return true;
    if (waits != 1) continue;
    // Under the lock: a part that answers meanwhile is not late.
    log_->Error("stuck: no answer in ", absl::FormatDuration(limit_ / 2),
                " from ",
                absl::StrJoin(round_->owing, ", ",
                              [this](std::string* out, size_t part) {
                                out->append(parts_[part].name);
                              }),
                "; without one systemd ends and restarts this daemon");
  }
}

void Watchdog::AskDebtors() {
  std::set<size_t> owing;
  uint64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(round_->mutex);
    owing = round_->owing;
    number = round_->number;
  }
  for (const size_t part : owing) {
    parts_[part].ask([round = round_, number, part] {
      {
        const std::lock_guard<std::mutex> lock(round->mutex);
        if (round->number == number) round->owing.erase(part);
      }
      round->changed.notify_all();
    });
  }
}

}  // namespace clusterd
