// Spec and facts to plan: what apply would do to each host; and whether a plan
// is one that others may believe. Pure: no machine, clock, file or thread.
#ifndef CONFIG_PLAN_MAKE_PLAN_H_
#define CONFIG_PLAN_MAKE_PLAN_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "config/words/words.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// What a plan is narrowed to; without words: to nothing, the plan is whole.
struct PlanSelection {
  std::vector<std::string> words;  // Kinds and rules, as they were asked for.
  std::set<ChangeKind> kinds;
  // Names of rows of settings.h, and kernel parameters.
  std::set<std::string> settings;
};

// One HostPlan per entry of `hosts`, in spec order. Steps of a host run in this
// order: repair of hccn.conf; per device address, gateway, detect address; MTU;
// TLS; running kernel parameters; our sysctl.d file; firewall.
//   fact known, as the spec wants it     no step
//   fact known, otherwise                a step
//   fact missing                         blocked with the reason, not guessed
//   kind that the host does not allow    blocked, with what to write where
//   host without facts, not in the spec  blocked as a whole
// With a target in `network_namespace` the facts are of that namespace, and the
// only steps are running kernel parameters in it; they rest on which one it
// is. Facts of another namespace are those of a host without facts. A key that
// the kernel keeps for the host alone, and a read-only /proc/sys, are blocked,
// each with its own fix; a namespace that is the host's own is noted.
// A host whose devices all have addresses of their planned subnets, and other
// ones than planned, has a note that a pattern by index may have moved them.
// With a `selection` only its steps are planned, and the steps that those need
// to stay right; notes of each host say what is left out and what was added.
// The same spec and facts give the same plan, and so the same digest. The
// caller fills in plan_id, created_at_ms, created_by, and what is unfixed,
// with the digest of that. REQUIRES: at most one entry of `hosts` per name.
ClusterPlan MakePlan(const ClusterSpec& spec,
                     absl::Span<const HostFacts* const> hosts,
                     const NetworkNamespace& network_namespace = {},
                     const PlanSelection& selection = {});

struct PlanCounts {
  bool nothing_to_do() const {
    return steps + blocked + hosts_failing + hosts_in_doubt == 0;
  }
  size_t hosts = 0;
  size_t steps = 0;
  size_t hosts_with_steps = 0;
  size_t blocked = 0;
  size_t hosts_with_blocked = 0;
  // With a FAIL that no step mends; without one, with less than that. None of a
  // narrowed plan, which is not to mend everything.
  size_t hosts_failing = 0;
  size_t hosts_in_doubt = 0;
  // Where steps put another address or netmask in the place of a device's. A
  // first address does not count.
  size_t hosts_readdressed = 0;
  size_t cluster_hosts = 0;
  std::string only = {};  // "sysctl,tls"; empty: the plan is whole.
  // More than a tenth of the cluster: whoever applies it types its name.
  bool readdresses_many() const {
    return 10 * hosts_readdressed > cluster_hosts;
  }
};
PlanCounts CountPlan(const ClusterPlan& plan);

// "device addresses change on 7 of 12 hosts".
std::string ReaddressedText(const PlanCounts& counts);

// "40 steps on 2 hosts, 1 change blocked on 1 host, 2 left failing, 1 left in
// doubt, of 12 hosts", or "nothing to do on 12 hosts"; of a narrowed plan
// "only sysctl,tls: …".
FindingValue PlanCountsWords(const PlanCounts& counts);
inline std::string PlanCountsText(const PlanCounts& counts) {
  return ValueText(PlanCountsWords(counts));
}

// What tells two plans apart, and a whole plan from a damaged one. No proof of
// who made it: whoever edits a plan can compute its digest anew, and the
// controller applies only what it has kept itself
// (daemon/controller/change/change_order.h).

// Of the spec as expanded, defaults and file digest included.
std::string SpecSha256(const ClusterSpec& spec);

// Over everything that is planned and everything that it rests on: schema,
// cluster, product, both spec digests, and of every host the steps, what is
// blocked or unfixed, and the facts. Not over plan_id, created_at_ms,
// created_by, not_kept and the digest itself. The input is the messages' binary
// form in field order (they hold no maps and no floating point).
std::string PlanDigest(const ClusterPlan& plan);

// FailedPrecondition if the plan was made by a newer schema; InvalidArgument if
// its digest is not that of its content: the file was damaged or edited. The
// message does not give the right one.
absl::Status VerifyPlan(const ClusterPlan& plan);

// A host's report names every step, and a controller takes no longer list.
inline constexpr int kMaxPlanSteps = 8192;

// Every value must be one that config/plan itself could have planned, whoever
// sent it. InvalidArgument, naming the step and quoting the value: a step of a
// setting that this version does not know, of another kind than its setting's,
// or out of number; an address, netmask, port, source (wider than /16: plans
// open ports for exactly the cluster's hosts), device id (over 63), kernel
// parameter or path that clusterd never sets; steps that rest on no fact; a
// network namespace that is none, with a step that is no running kernel
// parameter, or with steps that do not rest on which one it is; over
// kMaxPlanSteps or 65536 facts.
absl::Status CheckHostPlan(const HostPlan& plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_MAKE_PLAN_H_
