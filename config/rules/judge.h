// Facts to findings: every rule of the catalogue over one cluster. Pure: no
// machine, clock or file; in a large cluster several rules run at a time, which
// does not change the report. The controller judges all hosts with it; the
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
  // Only the rules that need one host, for a daemon's own report.
  bool one_host = false;
  // As NetworkNamespaceText has it: the facts are of this namespace, and only
  // the rules about one run. A host with facts of another one counts as
  // unknown. Empty: the hosts' own.
  std::string network_namespace = {};
  // Judges this job: the spec is then NarrowToJob's of it. Null: rules about
  // jobs are skipped. Must outlive the call. With one_host the spec may be
  // narrowed to that host alone; the job is still the whole one, and parts that
  // need the other servers are not judged.
  const JobSpec* job = nullptr;
  // Decides which waivers of the spec are in force; by default, none is.
  absl::Time now = absl::InfiniteFuture();
};

// NotFound, with the nearest name for every unknown rule, all in one message,
// one per line. InvalidArgument if nothing is left to check.
absl::Status ValidateSelection(const RuleSelection& selection);

// One result per rule of the catalogue that ran or was skipped, in catalogue
// order; per-host states, counts, verdict, cluster, product, digest, schema,
// network namespace, id and size of the job, and notes (simulation, containers
// that share the host's network, waivers). A waived finding is a warning that
// says so; the caller fills in run id and times. `hosts` are the hosts to
// judge, at most one entry each. An entry with `missing` set is an unknown
// host: it costs one `unknown` (host-identity) and counts in no other rule.
// Findings that read the same are folded into one with many subjects; subjects
// are in spec order. The verdict of a report that judged no host is UNKNOWN,
// never PASS. REQUIRES: ValidateSelection(options.selection).ok().
Report BuildReport(const ClusterSpec& spec,
                   absl::Span<const HostFacts* const> hosts,
                   const JudgeOptions& options);

// Findings of the rules about subnets in the spec's own addresses, as if every
// device had the planned ones; a gateway that the spec does not name is not
// known. Leaves out the spec loader's mistakes, such as repeated addresses.
std::vector<Finding> JudgePlannedAddresses(const ClusterSpec& spec);

// The request to a host for all rules of the spec; with a target in
// `network_namespace`, for the rules about one; with a job, for the rules about
// jobs, the spec being NarrowToJob's of it. With a selection, leaves out
// queries of hccn_tool that its rules do not need.
ObserveRequest MakeObserveRequest(
    const ClusterSpec& spec,
    const NetworkNamespace& network_namespace = NetworkNamespace(),
    const JobSpec* job = nullptr, const RuleSelection* selection = nullptr);

}  // namespace clusterd

#endif  // CONFIG_RULES_JUDGE_H_
