#include "daemon/agent/apply/plan_place.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/plan/named_facts.h"
#include "config/plan/step_check.h"
#include "config/spec/network_namespace.h"

namespace clusterd {
namespace {

// Empty: the plan rests on none.
std::string PlannedNamespace(const HostPlan& plan) {
  if (!plan.has_network_namespace()) return "";
  for (const PlanFact& fact : plan.facts()) {
    if (fact.name() == kNetworkNamespaceFact) return fact.value();
  }
  return "";
}

// NotFound: what was entered is another one than that of the plan.
absl::Status CheckIsPlanned(const HostPlan& plan, const std::string& planned,
                            const HostFacts& facts) {
  const std::string now = NameFacts(facts)[kNetworkNamespaceFact];
  const std::string name = NetworkNamespaceText(plan.network_namespace());
  if (now == kUnknownFact) {
    return absl::UnavailableError(
        absl::StrCat("which network namespace ", name,
                     " is cannot be told: ", MissingText(facts.missing())));
  }
  if (IsSameFact(kNetworkNamespaceFact, planned, now)) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(name, " is network namespace ", now, " now, was ", planned));
}

// Whether one that has the planned number, and is no other as far as is known,
// is the planned one: the kernel gives the number of one that has ended to the
// next. It never ends the host's own, and a new one has the kernel's defaults.
bool IsSurelyPlanned(const HostPlan& plan, const NamespaceIdentity& planned,
                     const HostFacts& facts) {
  const NamespaceIdentity now =
      ParseNamespaceFact(NameFacts(facts)[kNetworkNamespaceFact])
          .value_or(NamespaceIdentity());
  if (planned.boot.empty() || now.boot.empty()) return false;
  return (planned.cookie.has_value() && now.cookie.has_value()) ||
         facts.kernel().initial_namespace().value() ||
         FindDrift(plan, facts).empty();
}

}  // namespace

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
  const std::string planned = PlannedNamespace(plan);
  if (doors.namespaces == nullptr || planned.empty()) return place;
  absl::Status named = place.status();
  if (place.ok()) named = CheckIsPlanned(plan, planned, place->ReadHost());
  return named.ok() ? std::move(place) : Search(doors, plan, named);
}

// `named`: why the plan's name does not lead to it.
absl::StatusOr<PlanPlace> PlanPlace::Search(const MachineDoors& doors,
                                            const HostPlan& plan,
                                            const absl::Status& named) {
  const std::string text = PlannedNamespace(plan);
  const std::optional<NamespaceIdentity> planned = ParseNamespaceFact(text);
  if (!planned.has_value()) return named;
  const std::string boot = doors.namespaces->BootId();
  if (!planned->boot.empty() && !boot.empty() && boot != planned->boot) {
    return absl::NotFoundError(
        absl::StrCat(named.message(), "; this machine has started anew since"));
  }
  auto entered =
      doors.namespaces->EnterInode(plan.network_namespace(), planned->inode);
  if (!entered.ok()) {
    // An engine that is down now may answer later.
    if (!absl::IsNotFound(named)) return named;
    return absl::Status(
        absl::IsNotFound(entered.status()) ? absl::StatusCode::kNotFound
                                           : absl::StatusCode::kUnavailable,
        absl::StrCat(named.message(), "; ", entered.status().message()));
  }
  PlanPlace place(doors, *std::move(entered));
  const HostFacts facts = place.ReadHost();
  const absl::Status found = CheckIsPlanned(plan, text, facts);
  if (absl::IsNotFound(found)) {
    return absl::NotFoundError(absl::StrCat(
        named.message(), "; ", planned->inode, " is another's number now"));
  }
  if (!found.ok()) return found;
  if (IsSurelyPlanned(plan, *planned, facts)) return place;
  return absl::UnavailableError(absl::StrCat(
      named.message(), "; there is a network namespace ", planned->inode,
      ", and whether it is the one that was changed or a later one with its "
      "number cannot be told, expected Linux 5.14 or later, which tells; if it "
      "is, set its values by hand"));
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
