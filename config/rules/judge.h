// Facts to findings: every rule of the catalogue over one cluster. Pure: no
// machine, clock or file; in a large cluster several rules run at a time, which
// nobody sees in the report. The controller judges all hosts with it; the
// daemon judges its own host with the rules that need no other.
#ifndef CONFIG_RULES_JUDGE_H_
#define CONFIG_RULES_JUDGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

struct JudgeOptions {
  RuleSelection selection;
  // Only the rules that need one host: what a daemon can say about itself.
  bool one_host = false;
  // As NetworkNamespaceText has it: the facts are of this namespace, and only
  // the rules about one run. Facts of another are those of a host of which
  // nothing is known. Empty: the hosts' own.
  std::string network_namespace = {};
  // Judge this job: the spec is then NarrowToJob's of it. Null: no job, and the
  // rules about one are skipped. Must outlive the call. With one_host the spec
  // may be narrowed to that host alone; the job is the whole one all the same,
  // and what needs the other servers is not judged.
  const JobSpec* job = nullptr;
  // By which waivers of the spec are in force; without it, none is.
  absl::Time now = absl::InfiniteFuture();
};

// NotFound, with the nearest name for every one that is not a rule, all in one
// message, one per line. InvalidArgument if nothing is left to check.
absl::Status ValidateSelection(const RuleSelection& selection);

// One result per rule of the catalogue that ran or was skipped, in catalogue
// order; per-host states, counts, verdict, cluster, product, digest, schema,
// network namespace, id and size of the job, and notes (simulation, containers
// that share the host's network, waivers). What a waiver covers is a warning
// that says so; the caller fills in run id and times. `hosts`
// are the hosts to judge, at most one entry each; an entry with `missing` set
// is a host of which nothing is known: it costs one `unknown` (host-identity)
// and counts in no other rule. Findings that read the same are folded into one
// with many subjects; subjects are in spec order. The verdict of a report that
// judged no host is UNKNOWN, never PASS. REQUIRES:
// ValidateSelection(options.selection).ok().
Report BuildReport(const ClusterSpec& spec,
                   absl::Span<const HostFacts* const> hosts,
                   const JudgeOptions& options);

// What the rules about the subnets of addresses find in the spec's own, as
// though every device had what is planned; a gateway that the spec does not
// name is not known. What the spec loader refuses by itself, as an address that
// stands twice, is not looked for again.
std::vector<Finding> JudgePlannedAddresses(const ClusterSpec& spec);

// What a host must be asked so that every rule of the spec can be judged; with
// a target in `network_namespace`, so that the rules about one can be; with a
// job, so that the rules about jobs can be, the spec being NarrowToJob's of it.
// With a selection, nothing of hccn_tool that its rules do not need.
ObserveRequest MakeObserveRequest(
    const ClusterSpec& spec,
    const NetworkNamespace& network_namespace = NetworkNamespace(),
    const JobSpec* job = nullptr, const RuleSelection* selection = nullptr);

}  // namespace clusterd

#endif  // CONFIG_RULES_JUDGE_H_
