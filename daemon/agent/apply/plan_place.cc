#include "daemon/agent/apply/plan_place.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/plan/named_facts.h"
#include "config/spec/network_namespace.h"

namespace clusterd {

absl::StatusOr<PlanPlace> PlanPlace::Enter(const MachineDoors& doors,
                                           const HostPlan& plan) {
  if (!plan.has_network_namespace()) return PlanPlace(doors, nullptr);
  if (doors.namespaces == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("this clusterd has no way into network namespace ",
                     NetworkNamespaceText(plan.network_namespace())));
  }
  auto entered = doors.namespaces->Enter(plan.network_namespace());
  if (!entered.ok()) return entered.status();
  return PlanPlace(doors, *std::move(entered));
}

absl::StatusOr<PlanPlace> PlanPlace::EnterAgain(const MachineDoors& doors,
                                                const HostPlan& plan) {
  absl::StatusOr<PlanPlace> place = Enter(doors, plan);
  if (!place.ok() || place->entered_ == nullptr) return place;
  const HostFacts facts = place->ReadHost();
  const std::string now = NameFacts(facts)[kNetworkNamespaceFact];
  const std::string name = NetworkNamespaceText(plan.network_namespace());
  if (now == kUnknownFact) {
    return absl::UnavailableError(
        absl::StrCat("which network namespace ", name,
                     " is cannot be told: ", MissingText(facts.missing())));
  }
  for (const PlanFact& fact : plan.facts()) {
    if (fact.name() != kNetworkNamespaceFact ||
        IsSameFact(fact.name(), fact.value(), now)) {
      continue;
    }
    return absl::NotFoundError(absl::StrCat(name, " is network namespace ", now,
                                            " now, was ", fact.value()));
  }
  return place;
}

MachineDoors PlanPlace::doors() const {
  MachineDoors doors = doors_;
  if (entered_ != nullptr) doors.sysctl_files = entered_->files();
  return doors;
}

HostFacts PlanPlace::ReadHost() const {
  return entered_ != nullptr ? entered_->Read() : doors_.reader->ReadHost();
}

}  // namespace clusterd
