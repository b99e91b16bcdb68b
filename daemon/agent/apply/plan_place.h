// Where the values of a plan are: on the host itself, or in a network namespace
// of it, which is looked up anew for every apply, rollback and recovery and
// then held open.
#ifndef DAEMON_AGENT_APPLY_PLAN_PLACE_H_
#define DAEMON_AGENT_APPLY_PLAN_PLACE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/host/change/namespace_door.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

class PlanPlace {
 public:
  // Always OK for a plan of the host itself. Else the codes of
  // NamespaceDoor::Enter; Unimplemented without such a door.
  // The doors must outlive it.
  static absl::StatusOr<PlanPlace> Enter(const MachineDoors& doors,
                                         const HostPlan& plan);
  // The same after the plan was applied, and the same namespace, though its
  // name may lead nowhere or elsewhere by now: it may be the host's own, or a
  // pod's, or have other processes. NotFound: it is gone, after a reboot
  // always, and what the apply set has gone with it; nothing of it can be put
  // back or left behind. Unavailable also when it cannot be told whether it is
  // gone, or which one it is: a kernel before 5.14 does not tell a namespace
  // from a later one that got its number, unless it is the host's own or all
  // values are as they were applied.
  static absl::StatusOr<PlanPlace> EnterAgain(const MachineDoors& doors,
                                              const HostPlan& plan);

  // The given ones, with kernel parameters those of the place. Valid as long as
  // this object is.
  MachineDoors doors() const;
  // Its facts now.
  HostFacts ReadHost() const;

 private:
  static absl::StatusOr<PlanPlace> Search(const MachineDoors& doors,
                                          const HostPlan& plan,
                                          const absl::Status& named);
  PlanPlace(const MachineDoors& doors,
            std::unique_ptr<EnteredNamespace> entered)
      : doors_(doors), entered_(std::move(entered)) {}

  MachineDoors doors_;
  std::unique_ptr<EnteredNamespace> entered_;  // Null: the host itself.
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_PLAN_PLACE_H_
