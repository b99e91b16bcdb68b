// Schedules runs that ask hosts: a few at once, the others queue. A user has at
// most half of the running runs and a quarter of the queue. Next is the oldest
// run of the user with the fewest running ones. Equal runs never overlap.
#ifndef DAEMON_CONTROLLER_RUN_TURNS_H_
#define DAEMON_CONTROLLER_RUN_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/controller/hosts/user_calls.h"

namespace clusterd {

struct RunTurnsLimits {
  size_t at_once = 8;
  size_t waiting = 64;     // Runs that have not begun.
  size_t callers = 4'096;  // Calls, over all runs.
};

// The owner's lock guards it.
class RunTurns {
 public:
  struct Run {
    virtual ~Run() = default;
    bool begun() const { return !payer.empty(); }

    std::string key;
    std::string maker;
    std::map<std::string, size_t> callers;  // Open calls, by user.
    std::string payer;  // User whose share it takes; empty: not begun.
    bool asks = false;  // Set when it begins; its owner clears it.
  };
  using RunPtr = std::shared_ptr<Run>;

  explicit RunTurns(const RunTurnsLimits& limits) : limits_(limits) {}

  // Returns the run that the call joins: a queued one with the same key, or
  // `fresh`. Null: the queue is full, for all or for that user; see WhyFull.
  RunPtr Join(const std::string& key, const std::string& who,
              const RunPtr& fresh);
  absl::Status WhyFull(const std::string& who) const;
  // One of its calls has ended. True: it was the last, so the run is removed.
  bool Leave(const RunPtr& run, const std::string& who);
  // Begins the next run; null: none may begin.
  RunPtr TakeNext();
  // 1: next to begin; 0: has begun.
  uint32_t PlaceOf(const Run& run) const;
  // Oldest first.
  std::vector<RunPtr> All() const { return {runs_.begin(), runs_.end()}; }

 private:
  bool MayBegin(const Run& run) const;

  const RunTurnsLimits limits_;
  std::list<RunPtr> runs_;
  size_t callers_ = 0;
  std::map<std::string, size_t> callers_of_;  // Absent is 0.
};

// Bounds open calls of a kind, for all users and for one.
struct CallSlots {
  Slots lists{"hub-calls-lists", 64, 8};
  Slots describes{"hub-calls-describes", 64, 16};
  // A record may be as long as a cluster's plan, and a client may be slow.
  Slots records{"hub-calls-records", 12, 4};
  // Each copies and judges the facts of a whole cluster.
  Slots so_far{"hub-calls-so-far", 4, 2};
  Slots logs{"hub-calls-logs", 4, 2};
  Slots watches{"hub-calls-watches", 128, 8};
  // Cancelling or confirming runs, and unlocking identities.
  Slots ends{"hub-calls-ends", 64, 8};
  // Separate from `ends`, which may all wait for a disk that hangs.
  Slots locks{"hub-calls-locks", 64, 8};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_RUN_TURNS_H_
