// Where the values of a plan are: on the host itself, or in a network namespace
// of it, which is looked up anew for every apply, rollback and recovery and
// then held open.
#ifndef DAEMON_AGENT_APPLY_PLAN_NAMESPACE_H_
#define DAEMON_AGENT_APPLY_PLAN_NAMESPACE_H_

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/host/change/namespace_access.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

class PlanNamespace {
 public:
  // Always OK for a plan of the host itself. Else the codes of
  // NamespaceAccess::Enter; Unimplemented where there is none.
  // What `access` leads to must outlive it.
  static absl::StatusOr<PlanNamespace> Enter(const MachineAccess& access,
                                             const HostPlan& plan);
  // The same after the plan was applied, and the same namespace, though its
  // name may lead nowhere or elsewhere by now: it may be the host's own, or a
  // pod's, or have other processes. NotFound: it is gone, after a reboot
  // always, and what the apply set has gone with it; nothing of it can be put
  // back or left behind. Unavailable also when it cannot be told whether it is
  // gone, or which one it is: a kernel before 5.14 does not tell a namespace
  // from a later one that got its number, unless it is the host's own or all
  // values are as they were applied.
  static absl::StatusOr<PlanNamespace> EnterAgain(const MachineAccess& access,
                                                  const HostPlan& plan);

  // The given one, with kernel parameters those of the namespace.
  MachineAccess access() const;
  // Its facts now.
  HostFacts ReadHost() const;

 private:
  PlanNamespace(const MachineAccess& access,
                std::optional<EnteredNamespace> entered)
      : access_(access), entered_(std::move(entered)) {}
  static absl::StatusOr<PlanNamespace> Search(const MachineAccess& access,
                                              const HostPlan& plan,
                                              const absl::Status& named);

  MachineAccess access_;
  std::optional<EnteredNamespace> entered_;  // nullopt: the host itself.
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_PLAN_NAMESPACE_H_
