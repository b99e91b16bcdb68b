// Whose run is next, where many want hosts asked: a few at once, further ones
// wait. No user has more than half of the runs at once or a quarter of what may
// wait, and next is a run of whoever has the fewest under way; of these the one
// that came first. Equal runs do not go beside each other.
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

// Under the lock of its owner.
class RunTurns {
 public:
  struct Run {
    virtual ~Run() = default;
    bool begun() const { return !payer.empty(); }

    std::string key;
    std::string maker;
    std::map<std::string, size_t> callers;  // Calls that are not over, by user.
    std::string payer;  // In whose share it has begun; empty: it has not.
    bool asks = false;  // Set when it begins; whoever ends it clears it.
  };
  using RunPtr = std::shared_ptr<Run>;

  explicit RunTurns(const RunTurnsLimits& limits) : limits_(limits) {}

  // The run that the call joins: one that waits under the same key, or `fresh`.
  // Null: as many wait as may, in all or of that user; WhyFull says so.
  RunPtr Join(const std::string& key, const std::string& who,
              const RunPtr& fresh);
  absl::Status WhyFull(const std::string& who) const;
  // One of its calls is over. True: it was the last, and the run is taken off.
  bool Leave(const RunPtr& run, const std::string& who);
  // Begins the next run; null: none may.
  RunPtr TakeNext();
  // 1: the next; 0: it has begun.
  uint32_t PlaceOf(const Run& run) const;
  // In the order in which they came.
  std::vector<RunPtr> All() const { return {runs_.begin(), runs_.end()}; }

 private:
  bool MayBegin(const Run& run) const;

  const RunTurnsLimits limits_;
  std::list<RunPtr> runs_;
  size_t callers_ = 0;
  std::map<std::string, size_t> callers_of_;  // None is 0.
};

// How many calls of a kind may be under way, of all users and of one.
struct CallSlots {
  Slots lists{"hub-calls-lists", 64, 8};
  Slots describes{"hub-calls-describes", 64, 16};
  // Each may be as long as the plan of a whole cluster, and a client may take
  // it as slowly as it likes.
  Slots records{"hub-calls-records", 12, 4};
  // Each copies and judges the facts of a whole cluster.
  Slots so_far{"hub-calls-so-far", 4, 2};
  Slots logs{"hub-calls-logs", 4, 2};
  Slots watches{"hub-calls-watches", 128, 8};
  // Runs that are ended, and identities that are unlocked.
  Slots ends{"hub-calls-ends", 64, 8};
  // Apart from the ends, which may all wait for a disk that hangs.
  Slots locks{"hub-calls-locks", 64, 8};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_RUN_TURNS_H_
