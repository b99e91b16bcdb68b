// How much of the controller's work may be under way, in total and per user or
// host: a table with a row for each class of calls. daemon/docs/limits.md says
// what each row prevents.
#ifndef DAEMON_CONTROLLER_CALLS_CALL_LIMITS_H_
#define DAEMON_CONTROLLER_CALLS_CALL_LIMITS_H_

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace clusterd {

enum class CallClass {
  // Calls with an answer of their own: refused if all places are taken.
  kLists,
  kDescribes,
  kRecords,
  kSoFar,
  kLogs,
  kWatches,
  kEnds,
  kLocks,
  kCertificates,
  // Runs that ask hosts for their facts: they wait for a place (FactQueue).
  kCheck,
  kPlan,
  kLearn,
  kLaunch,
  kJob,
  kSchedule,
  kConfirm,
  kEnforce,
};
inline constexpr size_t kCallClasses =
    static_cast<size_t>(CallClass::kEnforce) + 1;
inline constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

struct CallLimits {
  CallClass of;
  const char* what;  // Words that name calls which do not wait.
  size_t at_once;
  size_t at_once_of_one;
  // For runs: how many may ask one host, in total and per user.
  size_t of_host = kNoLimit, of_host_of_one = kNoLimit;
  // Runs that have not begun.
  size_t waiting = 0, waiting_of_one = 0;
  // Calls that have not ended, over all runs.
  size_t callers = 0, callers_of_one = 0;
  // Size of the questions of open runs.
  size_t bytes = kNoLimit, bytes_of_one = kNoLimit;
  // A run keeps its place until its last caller has its answer.
  bool until_taken = false;
  // Equal runs may ask at the same time.
  bool overlaps = false;
  // The oldest run is next; otherwise one of the user with the fewest running.
  bool oldest_first = false;
};
using CallLimitTable = std::array<CallLimits, kCallClasses>;

// Checks and plans have separate places, so that no read delays a change.
inline constexpr CallLimitTable kCallLimits = {{
    {CallClass::kLists, "hub-calls-lists", 64, 8},
    {CallClass::kDescribes, "hub-calls-describes", 64, 16},
    // A record may be as long as a cluster's plan, and a client may be slow.
    {CallClass::kRecords, "hub-calls-records", 12, 4},
    // Each copies and judges the facts of a whole cluster.
    {CallClass::kSoFar, "hub-calls-so-far", 4, 2},
    {CallClass::kLogs, "hub-calls-logs", 4, 2},
    {CallClass::kWatches, "hub-calls-watches", 128, 8},
    // Ends of runs, and unlocks of identities.
    {CallClass::kEnds, "hub-calls-ends", 64, 8},
    // Separate from the ends, which may all wait for a disk that hangs.
    {CallClass::kLocks, "hub-calls-locks", 64, 8},
    {CallClass::kCertificates, "hub-calls-certificates", 32, 4},
    {CallClass::kCheck, "", 8, 4, kNoLimit, kNoLimit, 64, 16, 4'096, 1'024,
     kNoLimit, kNoLimit, /*until_taken=*/true},
    {CallClass::kPlan, "", 4, 2, kNoLimit, kNoLimit, 64, 16, 4'096, 1'024,
     kNoLimit, kNoLimit, /*until_taken=*/true},
    {CallClass::kLearn, "", 4, 2, kNoLimit, kNoLimit, 64, 16, 4'096, 1'024,
     kNoLimit, kNoLimit, /*until_taken=*/true},
    {CallClass::kLaunch, "", 4, 2, kNoLimit, kNoLimit, 64, 16, 4'096, 1'024,
     kNoLimit, kNoLimit, /*until_taken=*/true},
    // When a job starts, the hooks on all of its hosts ask at once.
    {CallClass::kJob, "", 32, 16, 8, 4, 1'024, 256, 20'000, 5'000,
     size_t{512} << 20, size_t{64} << 20, /*until_taken=*/false,
     /*overlaps=*/true, /*oldest_first=*/true},
    // Leaves most of the hosts' time for manual checks.
    {CallClass::kSchedule, "", 2, 2, kNoLimit, kNoLimit, 64, 64, 64, 64,
     kNoLimit, kNoLimit, /*until_taken=*/false, /*overlaps=*/false,
     /*oldest_first=*/true},
    {CallClass::kConfirm, "", 8, 8, kNoLimit, kNoLimit, 64, 64, 64, 64},
    // One host after the other, until its apply is over.
    {CallClass::kEnforce, "", 1, 1, kNoLimit, kNoLimit, kNoLimit, kNoLimit,
     kNoLimit, kNoLimit, kNoLimit, kNoLimit,
     /*until_taken=*/true, /*overlaps=*/false, /*oldest_first=*/true},
}};

constexpr bool IsInOrder(const CallLimitTable& table) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (static_cast<size_t>(table[i].of) != i) return false;
  }
  return true;
}
static_assert(IsInOrder(kCallLimits), "a row for each class, in their order");

// Counts what is taken, in total and per user or host.
class Shares {
 public:
  bool Has(const std::string& who, size_t amount, size_t of_all,
           size_t of_one) const {
    return amount <= of_all && all_ <= of_all - amount && amount <= of_one &&
           Of(who) <= of_one - amount;
  }
  void Take(const std::string& who, size_t amount = 1) {
    if (amount == 0) return;
    all_ += amount;
    of_[who] += amount;
  }
  // REQUIRES: it was taken.
  void Give(const std::string& who, size_t amount = 1) {
    if (amount == 0) return;
    all_ -= amount;
    const auto own = of_.find(who);
    if ((own->second -= amount) == 0) of_.erase(own);
  }
  size_t all() const { return all_; }
  size_t Of(const std::string& who) const {
    const auto own = of_.find(who);
    return own == of_.end() ? 0 : own->second;
  }

 private:
  size_t all_ = 0;
  absl::flat_hash_map<std::string, size_t> of_;  // Has no zeros.
};

// The places of calls that do not wait. Safe for concurrent use.
class CallSlots {
 public:
  explicit CallSlots(const CallLimitTable& limits = kCallLimits)
      : limits_(limits) {}

  // ResourceExhausted if none is free for that user.
  absl::Status Take(CallClass of, const std::string& who)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // REQUIRES: one was taken for that user.
  void Give(CallClass of, const std::string& who) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    taken_[static_cast<size_t>(of)].Give(who);
  }

 private:
  const CallLimitTable limits_;
  absl::Mutex mutex_;
  std::array<Shares, kCallClasses> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CALLS_CALL_LIMITS_H_
