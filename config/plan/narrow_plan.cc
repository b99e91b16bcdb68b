#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/values/change_kind.h"

namespace clusterd {
namespace {

bool AsksFor(const PlanSelection& selection, const PlanStep& step) {
  return selection.kinds.count(step.kind()) > 0 ||
         selection.settings.count(step.setting()) > 0 ||
         selection.settings.count(step.target().kernel_parameter()) > 0;
}

// Every kind that a step of the selection may have.
std::set<ChangeKind> KindsOf(const PlanSelection& selection) {
  // A host of which nothing is known is blocked as a whole.
  std::set<ChangeKind> kinds = selection.kinds;
  kinds.insert(CHANGE_OBSERVE);
  for (const std::string& name : selection.settings) {
    const Setting* const row = FindSetting(name);
    kinds.insert(row == nullptr ? CHANGE_SYSCTL : row->kind);
    if (row != nullptr && row->device != nullptr) {
      kinds.insert(CHANGE_HCCN_CONF);
    }
  }
  return kinds;
}

// The address of "10.0.0.1/255.255.255.0".
absl::string_view AddressPart(absl::string_view value) {
  return value.substr(0, value.find('/'));
}

//   a step                needs, of the same host
//   of a device           the repair of hccn.conf, which the tool then writes
//   a device's gateway    its address: the tool refuses one of another subnet
//   a device's address    its gateway: the tool drops one with the old subnet
//   a device's address    the one that takes it from another device
bool Needs(const PlanStep& step, const PlanStep& other) {
  if (!IsOfDevice(step)) return false;
  if (other.setting() == kFormSetting) return true;
  const bool is_address = step.setting() == kAddressSetting;
  if (!IsOfDevice(other) ||
      (!is_address && step.setting() != kGatewaySetting)) {
    return false;
  }
  if (step.target().device() == other.target().device()) {
    return other.setting() == (is_address ? kGatewaySetting : kAddressSetting);
  }
  return is_address && other.setting() == kAddressSetting &&
         AddressPart(other.from()) == AddressPart(step.to());
}

// "3 of device-address, 1 of firewall".
std::string CountsText(const std::map<ChangeKind, int>& counts) {
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& count) {
    absl::StrAppend(out, count.second, " of ", ChangeKindName(count.first));
  });
}

}  // namespace

void HostPlanBuilder::Narrow(const PlanSelection& selection) {
  std::vector<bool> stays;
  std::vector<size_t> unseen;  // Steps that stay, whose needs are to be added.
  for (size_t i = 0; i < planned_.size(); ++i) {
    stays.push_back(AsksFor(selection, planned_[i].step));
    if (stays.back()) unseen.push_back(i);
  }
  std::map<ChangeKind, int> added;
  while (!unseen.empty()) {
    const PlanStep& step = planned_[unseen.back()].step;
    unseen.pop_back();
    for (size_t i = 0; i < planned_.size(); ++i) {
      if (stays[i] || !Needs(step, planned_[i].step)) continue;
      stays[i] = true;
      ++added[planned_[i].step.kind()];
      unseen.push_back(i);
    }
  }
  std::vector<Planned> kept;
  std::map<ChangeKind, int> left_out;
  for (size_t i = 0; i < planned_.size(); ++i) {
    if (stays[i]) {
      kept.push_back(std::move(planned_[i]));
    } else {
      ++left_out[planned_[i].step.kind()];
    }
  }
  planned_ = std::move(kept);
  const std::set<ChangeKind> kinds = KindsOf(selection);
  std::map<ChangeKind, int> not_blocked;
  google::protobuf::RepeatedPtrField<BlockedChange> blocked;
  for (BlockedChange& change : *plan_.mutable_blocked()) {
    if (kinds.count(change.kind()) > 0) {
      *blocked.Add() = std::move(change);
    } else {
      ++not_blocked[change.kind()];
    }
  }
  *plan_.mutable_blocked() = std::move(blocked);
  for (const auto& [words, counts] :
       {std::make_pair("steps added because others need them: ", &added),
        std::make_pair("steps left out by --only: ", &left_out),
        std::make_pair("blocked changes left out by --only: ", &not_blocked)}) {
    if (!counts->empty()) Note(absl::StrCat(words, CountsText(*counts)));
  }
}

}  // namespace clusterd
