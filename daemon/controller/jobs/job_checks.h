// Checks of jobs, one for each job: when a job starts, the hooks on all of its
// hosts ask within a second or two, and so may the user.
//
//   the run of the job            a new question
//   is queued                     joins it
//   asks hosts                    joins it; a question without a job id begins
//                                 another run, since its user may just have
//                                 fixed something
//   is over, and young enough     gets its result
//   is over                       begins another run
//
// job_ask.h says which hosts run tools for a question. Two questions are about
// the same job if their JobSpecs, with the id, are equal. Another cluster.yaml
// drops the results. Runs of different jobs run concurrently, oldest first.
// Each host is in a few of them at a time, and questions of one host or user
// never fill the places of others.
#ifndef DAEMON_CONTROLLER_JOBS_JOB_CHECKS_H_
#define DAEMON_CONTROLLER_JOBS_JOB_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/jobs/job_ask.h"
#include "proto/agent_hub.pb.h"
#include "proto/controller.pb.h"

namespace clusterd {

// Safe for concurrent use; calls nothing under its lock.
class JobChecks {
 public:
  using MakeSigner = std::function<absl::StatusOr<VerdictSigner>()>;
  using CallId = uint64_t;
  using Result = std::shared_ptr<const JudgedJob>;
  // Called on any thread, possibly before Ask returns; neither blocks.
  struct Caller {
    std::function<void()> on_progress = [] {};
    // Called once, unless the caller leaves before.
    //   InvalidArgument, NotFound  the question, as NarrowToJob and
    //                              ValidateSelection
    //   PermissionDenied           the host is not part of the job
    //   ResourceExhausted          the queue is full, or a host has begun too
    //                              many checks of others
    //   DeadlineExceeded           it did not begin in time
    //   Unavailable                the controller stops
    std::function<void(absl::StatusOr<Result> result)> on_end;
  };

  // All parts and `running` must outlive it.
  JobChecks(const ControllerParts& parts, RunningChecks* running,
            MakeSigner make_signer, const JobChecksLimits& limits = {})
      : parts_(parts),
        running_(running),
        make_signer_(std::move(make_signer)),
        limits_(limits) {}
  // REQUIRES: Stop was called, and the pool is drained.
  ~JobChecks() = default;

  // An id for Ask, so that progress is available from the begin.
  CallId NewCall() ABSL_LOCKS_EXCLUDED(mutex_);
  void Ask(CallId call, JobAsk ask, const Caller& caller)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a user's call, also after its end. No callback is called after it,
  // except those under way. A run without callers ends.
  void Leave(CallId call) ABSL_LOCKS_EXCLUDED(mutex_);
  // The progress of a user's call until it leaves.
  CheckProgress ProgressOf(CallId call) const ABSL_LOCKS_EXCLUDED(mutex_);

  // A host's question, answered once: the verdict, or the errors above;
  // FailedPrecondition if it cannot be signed.
  void AskAs(const std::string& host, JobQuestion question,
             std::function<void(JobAnswer answer)> reply);

  // Ends all runs, and all calls.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A question after it was resolved.
  struct Prepared {
    std::string digest;
    std::shared_ptr<FactOrder> order;
    absl::flat_hash_set<std::string> hosts;
  };
  // JobChecks' mutex guards all members, which the analysis cannot express. The
  // first ones are constant, and so is `prepared` once the run is queued.
  using KnownBy = absl::flat_hash_map<std::string, absl::Time>;
  struct Run {
    std::string key;
    JobAsk ask;
    std::shared_ptr<const ClusterSpec> base;  // The spec that it narrows.
    absl::Time came_at;
    size_t bytes;
    Prepared prepared;
    enum { kPreparing, kWaiting, kAsking, kOver } stage = kPreparing;
    std::shared_ptr<FactRun> facts;  // Null: has not begun.
    bool for_user = false;           // All hosts are asked.
    KnownBy known_by;                // Hosts that asked themselves, and when.
    // When the run stops waiting for hosts that have not asked.
    absl::Time held_until = absl::InfiniteFuture();
    struct Call {
      Caller caller;
      std::string host;
      std::string actor;
    };
    std::map<CallId, Call> calls;
  };
  using RunPtr = std::shared_ptr<Run>;
  struct OpenCall {
    RunPtr run;
    std::string user;  // Empty for a host.
  };
  struct Kept {
    std::weak_ptr<const ClusterSpec> base;
    Result result;
    size_t bytes;
    KnownBy known_by;
  };
  // Calls to answer once the lock is released.
  using Calls = std::map<CallId, Run::Call>;

  // True if a result is kept or under way, so that the job need not be read.
  bool IsKnown(const std::string& key, const JobAsk& ask)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // These are in host_knowledge.cc. True if the run may ask the host; "": all.
  bool MayAskLocked(const Run& run, const std::string& host) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For a new run: hosts that recently asked about the same job.
  KnownBy KnownByLocked(const std::string& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CountBegunLocked(const std::string& host)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HoldUnknowing(Run* run) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the run that the question joins; null: none.
  RunPtr FindRunLocked(const std::string& key, const JobAsk& ask) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The run that the question joins, or a new one that must be prepared.
  absl::StatusOr<RunPtr> JoinLocked(const std::string& key, JobAsk* ask,
                                    bool* is_new)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Prepared> Prepare(const Run& run) const;
  void OnPrepared(const RunPtr& run, absl::StatusOr<Prepared> prepared)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Result FindKeptLocked(const std::string& key, const JobAsk& ask)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepLocked(const Run& run, const Result& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOldestLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void BeginNext() ABSL_LOCKS_EXCLUDED(mutex_);
  // The first run that may begin, or that has waited too long; or null.
  RunPtr TakeNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Begin(const RunPtr& run) ABSL_LOCKS_EXCLUDED(mutex_);
  void Conclude(const RunPtr& run, const std::vector<HostFacts>& facts)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Result Judge(const Run& run, const std::vector<HostFacts>& facts) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes the run and answers its callers.
  void End(const RunPtr& run, const absl::StatusOr<Result>& result)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Calls TakeOffLocked(Run* run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Tell(const Calls& calls, const absl::StatusOr<Result>& result);
  void NoteProgress(const Run& run) const ABSL_LOCKS_EXCLUDED(mutex_);

  const ControllerParts parts_;
  RunningChecks* const running_;
  const MakeSigner make_signer_;
  const JobChecksLimits limits_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  CallId last_call_ ABSL_GUARDED_BY(mutex_) = 0;
  // Oldest first.
  std::list<RunPtr> runs_ ABSL_GUARDED_BY(mutex_);
  // A user's call until it leaves, a host's until it is answered.
  std::map<CallId, OpenCall> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, size_t> calls_of_user_ ABSL_GUARDED_BY(mutex_);
  // When each host began runs that ask others.
  std::map<std::string, std::vector<absl::Time>> begun_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Kept> kept_ ABSL_GUARDED_BY(mutex_);
  std::list<std::string> kept_order_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_JOBS_JOB_CHECKS_H_
