// A question about a job, its result, and the limits of both. These hosts run
// tools for a question:
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
#ifndef DAEMON_CONTROLLER_JOBS_JOB_ASK_H_
#define DAEMON_CONTROLLER_JOBS_JOB_ASK_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "config/report/job_verdict.h"
#include "daemon/controller/hosts/fact_run.h"
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

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_JOBS_JOB_ASK_H_
