// Spec and facts to plan: what apply would do to each host; and checks that a
// plan can be trusted. Pure: no machine, clock, file or thread.
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

// The requested part of a plan; without words the plan is whole.
struct PlanSelection {
  std::vector<std::string> words;  // The requested kinds and rules.
  std::set<ChangeKind> kinds;
  std::set<SettingId> settings;  // Rows of settings.h.
  std::set<std::string> kernel_parameters;
};

// One HostPlan per entry of `hosts`, in spec order. Steps of a host run in this
// order: repair of hccn.conf; per device address, gateway, detect address; MTU;
// TLS; running kernel parameters; our sysctl.d file; firewall.
//   fact known, as the spec wants it     no step
//   fact known, otherwise                a step
//   fact missing                         blocked with the reason, not guessed
//   kind that the host does not allow    blocked, with what to write where
//   host without facts, not in the spec  blocked as a whole
// With a target in `network_namespace` the facts are of that namespace. The
// only steps are its running kernel parameters, and they rest on its identity.
// Facts of another namespace count as a host without facts. A key that the
// kernel keeps for the host alone, and a read-only /proc/sys, are blocked, each
// with its own fix. A namespace that is the host's own is noted.
// If all devices of a host have addresses of their planned subnets, but not the
// planned ones, a note says that a pattern by index may have moved them.
// With a `selection` it plans only those steps, and the steps that they need to
// stay right; notes of each host say what is left out and what was added.
// The same spec and facts give the same plan and digest. The caller fills in
// plan_id, created_at_ms, created_by and unfixed, and then a new digest.
// REQUIRES: at most one entry of `hosts` per name.
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
  // Hosts with a FAIL that no step fixes; hosts in doubt have only less severe
  // findings. Both are 0 for a narrowed plan, which does not fix everything.
  size_t hosts_failing = 0;
  size_t hosts_in_doubt = 0;
  // Hosts on which steps replace a device's existing address or netmask.
  size_t hosts_readdressed = 0;
  size_t cluster_hosts = 0;
  std::string only = {};  // "sysctl,tls"; empty: the plan is whole.
  // True for over a tenth of the cluster; the user must then type its name.
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

// A digest distinguishes plans, and detects damage. It does not prove who made
// the plan: anyone who edits it can recompute the digest. The controller
// applies only plans that it stored itself
// (daemon/controller/change/change_order.h).

// Digest of the spec as expanded, defaults and file digest included.
std::string SpecSha256(const ClusterSpec& spec);

// Covers everything that is planned and all that it rests on: schema, cluster,
// product, both spec digests, and for every host the steps, what is blocked or
// unfixed, and the facts. Excludes plan_id, created_at_ms, created_by, not_kept
// and the digest itself. The input is the messages' binary form in field order
// (they hold no maps and no floating point).
std::string PlanDigest(const ClusterPlan& plan);

// FailedPrecondition if a newer schema made the plan; InvalidArgument if its
// digest does not match its content: the file was damaged or edited. The
// message does not reveal the right digest.
absl::Status VerifyPlan(const ClusterPlan& plan);

// A host's report names every step, and a controller rejects a longer list.
inline constexpr int kMaxPlanSteps = 8192;

// Rejects every value that config/plan itself could not have planned,
// regardless of the sender. InvalidArgument, naming the step and quoting the
// value, for
//   a step of an unknown setting, of another kind than its setting's, or out of
//   number; steps that rest on no fact; over kMaxPlanSteps or 65536 facts
//   an address, netmask, port, source (wider than /16: plans open ports for
//   exactly the cluster's hosts), device id (over 63), kernel parameter or path
//   that clusterd never sets
//   an invalid network namespace, or one with steps that are not running kernel
//   parameters or do not rest on its identity
absl::Status CheckHostPlan(const HostPlan& plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_MAKE_PLAN_H_
