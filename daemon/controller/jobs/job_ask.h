// What is asked about a job, what comes of it, and what of that may be at once.
// Whose tools run for a question:
//   who asks                   which hosts are asked for facts
//   a user, also in role hook  all of the job
//   a host of the job          that one, and each other one that has asked
//                              about the same job itself, within two minutes
//                              before or two seconds after
//   another host               none: it is refused
// So a host that was broken into makes nobody else work: where a job really
// starts, its scheduler calls the hook on each of its hosts, within a second or
// two. The others are `unknown`, with that reason. Such a verdict answers the
// hosts that were asked for it and nobody else; one that comes too late begins
// another run, in which the earlier ones count. Where a scheduler calls a hook
// on one host alone (LSF), somebody has to ask as a user for a verdict about
// all. It is decided so, and not by a question to each host, because a host
// knows of jobs by its hooks alone, and these ask here at once. Two seconds are
// what a prolog, which waits 8 s, has to spare beside the facts.
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

struct JobChecksLimits {
  size_t at_once = 32;        // Runs.
  size_t of_host = 8;         // Runs that ask one host.
  size_t waiting = 1'024;     // Runs that have not begun.
  size_t callers = 20'000;    // Over all runs.
  size_t begun_by_one = 256;  // Runs that one asker's questions may be behind.
  // Of a host's that ask other hosts, too, as many at a time.
  size_t shared_by_host = 4;
  // And so many that begin.
  size_t begun_a_minute = 6;
  size_t begun_an_hour = 60;
  // How long a run waits for a host to ask about its job itself, and how long
  // it counts that it has.
  absl::Duration known_wait = absl::Seconds(2);
  absl::Duration known_for = absl::Minutes(2);
  // Of a user's, a scheduler's for one, as many at a time, and on each host.
  size_t at_once_of_user = 16;
  size_t of_host_by_user = 4;
  // A user's calls that have not ended.
  size_t callers_of_user = 4'096;
  // What the questions of runs that have not ended cost, of all and of one.
  size_t bytes = size_t{512} << 20;
  size_t bytes_of_one = size_t{64} << 20;
  // Hooks have given up long before.
  absl::Duration longest_wait = absl::Minutes(1);
  size_t kept = 512;
  size_t kept_bytes = size_t{64} << 20;
  absl::Duration kept_for = absl::Minutes(30);
};

// What somebody wants to know.
struct JobAsk {
  JobSpec job;
  std::string job_bytes;  // In place of the job, which is read if need be.
  RuleSelection selection;
  NetworkNamespace network_namespace;
  absl::Duration max_age;  // 0: nothing that is concluded already.
  std::string actor;       // The SPIFFE id of the user or host.
  std::string host;        // That asks; empty: a user does.
};

// Signs the bytes of a JobVerdict.
using VerdictSigner =
    std::function<absl::StatusOr<SignedVerdict>(std::string verdict)>;

// What came of a run.
struct JudgedJob {
  CheckEvent event;  // The report.
  // For its hosts, if all rules were judged; and who signs it, by the key of
  // that moment, or why nobody does.
  VerdictBytes verdict;
  absl::StatusOr<VerdictSigner> signer = absl::UnknownError("");
  absl::flat_hash_set<std::string> hosts;
  // Of these, who did not know the job, and was not asked.
  absl::flat_hash_set<std::string> unasked = {};
  absl::Time began;  // All facts are from then on.
};

// Narrows the order's spec and hosts to the job, and fills in its hosts.
// InvalidArgument with every mistake, one per line.
absl::Status NarrowOrder(const JobSpec& job, FactOrder* order);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_JOBS_JOB_ASK_H_
