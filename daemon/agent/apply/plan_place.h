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
  // The same after the plan was applied. NotFound also when the name leads to
  // another namespace by now, after a reboot always: what the apply set has
  // gone with the old one, and nothing of it can be put back or left behind.
  // Unavailable also when it cannot be told which one it is.
  static absl::StatusOr<PlanPlace> EnterAgain(const MachineDoors& doors,
                                              const HostPlan& plan);

  // The given ones, with kernel parameters those of the place. Valid as long as
  // this object is.
  MachineDoors doors() const;
  // Its facts now.
  HostFacts ReadHost() const;

 private:
  PlanPlace(const MachineDoors& doors,
            std::unique_ptr<EnteredNamespace> entered)
      : doors_(doors), entered_(std::move(entered)) {}

  MachineDoors doors_;
  std::unique_ptr<EnteredNamespace> entered_;  // Null: the host itself.
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_PLAN_PLACE_H_
