// Checks of jobs, one for each job: when a job starts, the hooks on all of its
// hosts ask within a second or two, and the user may ask too.
//
// A result that is young enough answers without a run; otherwise the question
// is one of the queue (queue/fact_queue.h). Without a job id it joins no run
// that has begun, since its user may just have fixed something. job_ask.h says
// which hosts run tools for a question. Two questions are about the same job if
// their JobSpecs, with the id, are equal. Another cluster.yaml drops the
// results.
#ifndef DAEMON_CONTROLLER_JOBS_JOB_CHECKS_H_
#define DAEMON_CONTROLLER_JOBS_JOB_CHECKS_H_

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/jobs/job_ask.h"
#include "daemon/controller/queue/fact_queue.h"
#include "proto/agent_hub.pb.h"
#include "proto/controller.pb.h"

namespace clusterd {

// Safe for concurrent use; calls nothing under its lock.
class JobChecks {
 public:
  using MakeSigner = std::function<absl::StatusOr<VerdictSigner>()>;
  using Result = std::shared_ptr<const JudgedJob>;
  // Errors are those of the queue, and:
  //   InvalidArgument, NotFound  the question, as NarrowToJob and
  //                              ValidateSelection
  //   PermissionDenied           the host is not part of the job
  //   ResourceExhausted          a host has begun too many checks of others
  using Caller = FactQueue::Caller<JudgedJob>;

  // All parts must outlive it.
  JobChecks(const ControllerParts& parts, MakeSigner make_signer,
            const JobChecksLimits& limits = {})
      : parts_(parts), make_signer_(std::move(make_signer)), limits_(limits) {}

  // The caller leaves the queue itself.
  void Ask(FactQueue::Ticket ticket, JobAsk ask, Caller caller)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // A host's question, answered once: the verdict, or the errors above;
  // FailedPrecondition if it cannot be signed.
  void AskAs(const std::string& host, JobQuestion question,
             std::function<void(JobAnswer answer)> reply);

 private:
  struct Kept {
    std::weak_ptr<const ClusterSpec> base;
    Result result;
    size_t bytes;
    AskedAt asked;
  };

  // Reads the job of a question that begins a run, and counts the run.
  absl::Status Open(JobAsk* ask) ABSL_LOCKS_EXCLUDED(mutex_);
  Result FindKeptLocked(const std::string& key, const JobAsk& ask,
                        const std::shared_ptr<const ClusterSpec>& base)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(const std::string& key, Kept kept) ABSL_LOCKS_EXCLUDED(mutex_);
  void DropOldestLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result Judge(const JobAsk& ask, const Gathered& gathered) const;

  const ControllerParts parts_;
  const MakeSigner make_signer_;
  const JobChecksLimits limits_;

  absl::Mutex mutex_;
  // By host: when it began runs that ask others.
  std::map<std::string, std::vector<absl::Time>> begun_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Kept> kept_ ABSL_GUARDED_BY(mutex_);
  std::list<std::string> kept_order_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_JOBS_JOB_CHECKS_H_
