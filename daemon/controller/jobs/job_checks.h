// Checks of jobs, one for each job: when a job starts, the hooks on all of its
// hosts ask within a second or two, and the user may ask too.
//
// A result that is young enough answers without a run; otherwise the question
// is one of the queue (queue/fact_queue.h). Without a job id it joins no run
// that has begun, since its user may just have fixed something. Two
// questions are about the same job if their JobSpecs, with the id, are equal.
// Another cluster.yaml drops the results.
//
// These hosts run tools for a question:
//   asked by                   hosts that are asked for facts
//   a user, also in role hook  all of the job
//   a host of the job          that one, and each other one that has asked
//                              about the same job itself, within two minutes
//                              before or two seconds after
//   another host               none: it is refused
// So a compromised host cannot make other hosts work: where a job really
// starts, its scheduler calls the hook on each of its hosts, within a second or
// two. The others are `unknown`, with that reason. Such a verdict answers only
// the hosts that were asked for it. A later question begins another run, which
// also asks the earlier hosts. If a scheduler calls a hook on only one host
// (LSF), a user has to request a verdict about all. Asking each host instead
// would not help: a host knows jobs only by its hooks, which ask the controller
// at once. A prolog waits 8 s, which leaves two seconds besides the facts.
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
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/report/job_verdict.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/queue/fact_queue.h"
#include "proto/agent_hub.pb.h"
#include "proto/controller.pb.h"
#include "proto/facts.pb.h"
#include "proto/job.pb.h"

namespace clusterd {

// In addition to the row of jobs in calls/call_limits.h.
struct JobChecksLimits {
  // Runs begun by a host that also ask other hosts, at once.
  size_t shared_by_host = 4;
  // Such runs that a host may begin a minute.
  size_t begun_a_minute = 6;
  size_t begun_an_hour = 60;
  // How long a run waits until a host asks about its job itself, and how long
  // such a question counts.
  absl::Duration known_wait = absl::Seconds(2);
  absl::Duration known_for = absl::Minutes(2);
  // Hooks give up long before that.
  absl::Duration longest_wait = absl::Minutes(1);
  size_t kept = 512;
  size_t kept_bytes = size_t{64} << 20;
  absl::Duration kept_for = absl::Minutes(30);
};

// A question about a job.
struct JobAsk {
  JobSpec job;
  std::string job_bytes;  // Unparsed `job`, if set.
  RuleSelection selection;
  NetworkNamespace network_namespace;
  absl::Duration max_age;  // 0: no kept result.
  std::string actor;       // The SPIFFE id of the user or host.
  std::string host;        // Asking host; empty: a user asks.
};

// Signs the bytes of a JobVerdict.
using VerdictSigner =
    std::function<absl::StatusOr<SignedVerdict>(std::string verdict)>;

// The result of a run.
struct JudgedJob {
  CheckEvent event;  // The report.
  // The hosts' verdict if all rules were judged; its signer, or an error.
  VerdictBytes verdict;
  absl::StatusOr<VerdictSigner> signer = absl::UnknownError("");
  absl::flat_hash_set<std::string> hosts;
  // Hosts of the job that did not know it and were not asked.
  absl::flat_hash_set<std::string> unasked = {};
  absl::Time began;  // All facts are newer.
};

// Narrows the order's spec and hosts to the job, and sets its hosts.
// InvalidArgument with every mistake, one per line.
absl::Status NarrowOrder(const JobSpec& job, FactOrder* order);

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
