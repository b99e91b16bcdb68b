// The one queue of runs that ask hosts for their facts. Owners say what to ask
// and what to do with the facts; the queue begins runs within the limits of
// their class (calls/call_limits.h), shares them, and ends them.
//
//   the run with the same key     a new question
//   has not begun                 joins it
//   asks hosts                    begins another, since the user may just have
//                                 fixed something; with `joins_begun` joins it
//                                 if the run can still ask the hosts
//   is over                       begins another run
//
// A run takes a place of its caller with the fewest runs under way. A caller
// who joins the run of a user without free places provides one. On a host with
// a limit for the class, a waiting run never overtakes an older one.
#ifndef DAEMON_CONTROLLER_QUEUE_FACT_QUEUE_H_
#define DAEMON_CONTROLLER_QUEUE_FACT_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/calls/call_limits.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/queue/fact_question.h"
#include "proto/controller.pb.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Safe for concurrent use; calls nothing under its lock.
class FactQueue {
 public:
  // Identifies a caller, who leaves once.
  using Ticket = uint64_t;

  using Question = FactQuestion;

  // The two steps of a run. A class has one type of result.
  template <typename Result>
  struct Work {
    // Called once, on the thread of the first caller; its error ends the run.
    std::function<absl::StatusOr<std::shared_ptr<FactOrder>>()> prepare;
    // Called once, on a thread of the pool, unless the run is cancelled.
    std::function<std::shared_ptr<const Result>(const Gathered&)> conclude;
  };

  // Called on any thread, possibly before Ask returns; neither blocks.
  template <typename Result>
  struct Caller {
    std::function<void()> on_progress = [] {};
    // Called once, unless the caller leaves before. Errors of `prepare`, and:
    //   PermissionDenied    the asking host is not part of the run
    //   ResourceExhausted   a limit, or the controller is overloaded
    //   DeadlineExceeded    it did not begin in time
    //   Unavailable         the controller stops
    std::function<void(absl::StatusOr<std::shared_ptr<const Result>>)> on_end;
  };

  // All parts must outlive it.
  explicit FactQueue(const ControllerParts& parts,
                     const CallLimitTable& limits = kCallLimits)
      : parts_(parts), limits_(limits) {}
  // REQUIRES: Stop was called, and the pool is drained.
  ~FactQueue() = default;

  // For Ask; ProgressOf works with it from the beginning.
  Ticket NewTicket() ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Result>
  void Ask(Ticket ticket, const Question& question, Work<Result> work,
           Caller<Result> caller) ABSL_LOCKS_EXCLUDED(mutex_) {
    AskAny(ticket, question,
           {std::move(work.prepare),
            [conclude = std::move(work.conclude)](const Gathered& gathered)
                -> AnyResult { return conclude(gathered); }},
           {std::move(caller.on_progress),
            [end = std::move(caller.on_end)](absl::StatusOr<AnyResult> result) {
              if (!result.ok()) return end(result.status());
              end(std::static_pointer_cast<const Result>(*std::move(result)));
            }});
  }
  // True if Ask would join a run now.
  bool Joins(const Question& question) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Every caller calls this once, also after its end; only callbacks that are
  // under way may still run. A run without callers ends.
  void Leave(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);

  // Call it only until the caller leaves.
  CheckProgress ProgressOf(Ticket ticket) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs with a selection of rules that ask hosts now, oldest first.
  std::vector<RunningCheck> Running() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Such a run by its id. NotFound; FailedPrecondition if its result is about
  // to arrive.
  absl::StatusOr<RunningCheck> Find(const std::string& run_id) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Both refuse further questions. Close leaves runs that ask hosts for a
  // user's report: they end as the hosts are detached. Stop ends all.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) { EndRuns(/*all=*/false); }
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_) { EndRuns(/*all=*/true); }

 private:
  using RunId = uint64_t;  // Older runs have smaller ones.
  using AnyResult = std::shared_ptr<const void>;
  using AnyWork = Work<void>;
  using AnyCaller = Caller<void>;
  enum class Stage { kPreparing, kWaiting, kAsking, kOver };

  struct Call {
    AnyCaller caller;
    std::string who;
    std::string host;
    size_t at_once;
    absl::Time give_up;
  };
  using Calls = std::map<Ticket, Call>;
  // The user or host whose places a run takes.
  struct Payer {
    std::string who;  // Empty: only shared places.
    bool of_host;     // Also their places on each host.
  };
  struct Run {
    Question question;
    AnyWork work;
    Stage stage = Stage::kPreparing;
    std::shared_ptr<FactOrder> order = nullptr;  // Null: in preparation.
    std::shared_ptr<FactRun> facts = nullptr;    // Null: it has not begun.
    bool of_all = false;                         // A user has asked.
    AskedAt asked = {};
    absl::flat_hash_set<std::string> hosts = {};  // The order's.
    absl::Time give_up = absl::InfiniteFuture();  // The earliest.
    absl::Time held_until = absl::InfiniteFuture();
    std::optional<Payer> payer = {};  // Set when it begins.
    Calls calls = {};
  };
  struct Taken {
    Shares runs;  // By payer.
    // By host, and by host and payer, if the class has such limits.
    Shares on_host;
    absl::flat_hash_map<std::string, Shares> on_host_of_one;
  };
  // The runs of a class.
  struct Lane {
    std::map<RunId, Run> runs;
    std::set<RunId> waiting_runs;
    absl::flat_hash_map<std::string, RunId> newest;  // By key.
    absl::flat_hash_set<std::string> asking;         // Keys.
    Taken taken;                                     // By runs that have begun.
    Shares waiting, callers, bytes;
    absl::Time first_give_up = absl::InfiniteFuture();  // Among waiting runs.
    // A thread is in BeginNext; it has to search again. Calls must not nest,
    // since thousands of runs may end as they begin.
    bool begins = false;
    bool again = false;
  };
  struct Place {
    CallClass of;
    RunId run;
    std::string who;
    std::shared_ptr<FactOrder> order = nullptr;  // The ended run's.
    std::shared_ptr<FactRun> facts = nullptr;
  };
  using Erased = std::map<RunId, Run>::node_type;
  // A run that has ended: its callers must still learn it.
  struct Ended {
    Calls calls;
    Erased run;
  };
  const CallLimits& LimitsOf(CallClass of) const {
    return limits_[static_cast<size_t>(of)];
  }
  Lane& LaneLocked(CallClass of) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lanes_[static_cast<size_t>(of)];
  }
  Run* FindLocked(CallClass of, RunId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void AskAny(Ticket ticket, const Question& question, AnyWork work,
              AnyCaller caller) ABSL_LOCKS_EXCLUDED(mutex_);
  // The run that the question joins; 0: none.
  RunId JoinableLocked(const Question& question) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<RunId> JoinLocked(const Question& question, AnyWork* work,
                                   bool* is_new)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnPrepared(CallClass of, RunId id,
                  const absl::StatusOr<std::shared_ptr<FactOrder>>& order)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Begins the runs that fit, and ends waiting runs past their callers' time.
  void BeginNext(CallClass of) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Ended> TakeLateLocked(CallClass of)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  RunId TakeNextLocked(CallClass of) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The caller with the fewest runs under way and a free place for this one
  // besides the runs ahead of it; nullopt: none.
  static std::optional<Payer> PayerOf(const Run& run, const CallLimits& limits,
                                      const Taken& taken, const Taken& ahead,
                                      size_t* running);
  static bool HasHosts(const Run& run, const CallLimits& limits,
                       const Taken& taken, const Taken& ahead);
  static void TakeHosts(const Run& run, const Payer& payer,
                        const CallLimits& limits, Taken* taken);
  static void GiveHosts(const Run& run, const CallLimits& limits, Taken* taken);
  void Begin(CallClass of, RunId id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Conclude(CallClass of, RunId id, const std::vector<HostFacts>& facts)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void End(CallClass of, RunId id, const absl::StatusOr<AnyResult>& result)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The run has stopped asking, or never will.
  void StopAskingLocked(Lane* lane, RunId id, Run* run)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the run, and frees its places unless callers hold them until they
  // leave.
  Ended TakeOffLocked(CallClass of, RunId id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The result must be destroyed without the lock.
  Erased EraseLocked(CallClass of, RunId id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Tell(const Ended& ended, const absl::StatusOr<AnyResult>& result);
  void EndRuns(bool all) ABSL_LOCKS_EXCLUDED(mutex_);
  // Notes the progress of one run, or of all if `only` is 0.
  void NoteProgress(CallClass of, RunId only) ABSL_LOCKS_EXCLUDED(mutex_);

  const ControllerParts parts_;
  const CallLimitTable limits_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<Lane, kCallClasses> lanes_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Ticket, Place> places_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_QUEUE_FACT_QUEUE_H_
