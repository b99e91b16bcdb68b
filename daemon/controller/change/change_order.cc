#include "daemon/controller/change/change_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "config/change/change_record.h"
#include "config/plan/make_plan.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

constexpr absl::Duration kLeastDeadline = absl::Minutes(2);
constexpr absl::Duration kLongestDeadline = absl::Hours(24);

// The namespace of a plan's kernel parameters; all its hosts have the same.
std::string NamespaceOf(const ClusterPlan& plan) {
  for (const HostPlan& host : plan.hosts()) {
    if (host.has_network_namespace()) {
      return NetworkNamespaceText(host.network_namespace());
    }
  }
  return "";
}

// Checks even the controller's own plans: the spec may have changed since, and
// the enforcer's plan has not been in the history.
absl::Status CheckPlan(const ControllerParts& parts, const ClusterPlan& plan) {
  RETURN_IF_ERROR(VerifyPlan(plan));
  if (plan.cluster() != parts.spec->cluster()) {
    return InvalidWords("msg-change-plan-of-other-cluster", plan.cluster(),
                        parts.spec->cluster());
  }
  // The digest does not cover the id, which is stored readable for everyone.
  // The controller's own plans have no id.
  if (plan.plan_id().size() > kMaxHistoryIdBytes ||
      !IsHistoryIdText(plan.plan_id())) {
    return InvalidWords("msg-change-plan-id", QuotedText(plan.plan_id()));
  }
  const std::shared_ptr<const ClusterSpec> spec = parts.spec->spec();
  std::set<std::string> known;
  for (const ServerSpec& server : spec->servers()) known.insert(server.host());
  std::vector<std::string> unknown;
  std::set<std::string> planned;
  bool has_steps = false;
  for (const HostPlan& host : plan.hosts()) {
    RETURN_IF_ERROR(
        About("plan", CheckNetworkNamespace(host.network_namespace())));
    if (!planned.insert(host.host()).second) {
      return InvalidWords("msg-change-plan-host-twice", host.host());
    }
    if (!host.steps().empty() && known.count(host.host()) == 0) {
      unknown.push_back(host.host());
    }
    has_steps |= !host.steps().empty();
  }
  if (plan.spec_sha256() != SpecSha256(*spec)) {
    return AbortedWords("msg-change-spec-changed");
  }
  if (!unknown.empty()) {
    return InvalidWords("msg-change-hosts-not-in-spec", parts.spec->cluster(),
                        NameList(unknown));
  }
  if (has_steps) return absl::OkStatus();
  return PreconditionWords("msg-change-nothing-to-do");
}

// Refuse early: if a wave cannot succeed, no host should change. A host without
// automatic rollback would keep values that the others revert.
absl::Status CheckHosts(AttachedHosts* hosts, const ApplyOrder& order) {
  std::vector<std::string> absent;
  std::vector<std::string> unable;
  for (const ApplyOrder::Host& host : order.hosts) {
    const std::optional<Hello> hello = hosts->HelloOf(host.name);
    if (!hosts->IsAttached(host.name)) {
      absent.push_back(host.name);
    } else if (hello && !absl::c_linear_search(hello->tasks(), "confirm")) {
      unable.push_back(host.name);
    }
  }
  if (!absent.empty()) {
    return PreconditionWords("msg-change-hosts-away", NameList(absent));
  }
  if (unable.empty() || !order.report.has_confirmation()) {
    return absl::OkStatus();
  }
  return PreconditionWords("msg-change-cannot-revert", NameList(unable));
}

bool HasFirewallSteps(const ClusterPlan& plan) {
  return absl::c_any_of(plan.hosts(), [](const HostPlan& host) {
    return absl::c_any_of(host.steps(), [](const PlanStep& step) {
      return step.kind() == CHANGE_FIREWALL;
    });
  });
}

}  // namespace

absl::StatusOr<Confirmation> ConfirmationOf(const ClusterPlan& plan,
                                            const ApplyPlanRequest& options,
                                            size_t waves) {
  Confirmation confirm;
  absl::Duration wished = absl::Milliseconds(options.confirm_within_ms());
  if (options.no_confirm() &&
      (options.auto_confirm() || wished != absl::ZeroDuration())) {
    return InvalidWords("msg-change-kept-and-confirmed");
  }
  if (options.no_confirm()) return confirm;
  if (wished == absl::ZeroDuration()) {
    if (!HasFirewallSteps(plan)) return confirm;
    wished = std::clamp(kDefaultConfirmPerWave * waves, kDefaultConfirmWithin,
                        kLongestConfirmWithin);
  }
  if (wished < kShortestConfirmWithin || wished > kLongestConfirmWithin) {
    return InvalidWords("msg-change-confirm-within",
                        absl::FormatDuration(wished),
                        absl::FormatDuration(kShortestConfirmWithin),
                        absl::FormatDuration(kLongestConfirmWithin));
  }
  confirm.set_state(Confirmation::PENDING);
  confirm.set_within_ms(ToMs(wished));
  confirm.set_automatic(options.auto_confirm());
  return confirm;
}

absl::Duration HostChangeDeadline(int steps, uint32_t command_ms) {
  return std::min(
      kLongestDeadline,
      kLeastDeadline + absl::Milliseconds(command_ms) * 4 * std::max(0, steps));
}

absl::StatusOr<std::shared_ptr<const ClusterPlan>> ReadKeptPlan(
    const HistoryStore& history, absl::string_view plan_id,
    absl::string_view digest) {
  if (plan_id.empty()) {
    return InvalidWords("msg-change-no-plan-id");
  }
  absl::StatusOr<HistoryRecord> record = history.Get(plan_id);
  // The store also takes the beginning of an id.
  if (absl::IsNotFound(record.status()) ||
      (record.ok() && record->entry().id() != plan_id)) {
    return AbortedWords("msg-change-plan-not-kept", QuotedText(plan_id));
  }
  if (!record.ok()) return record.status();
  if (!record->has_plan() || record->plan().digest() != digest) {
    return InvalidWords("msg-change-plan-edited", QuotedText(plan_id),
                        QuotedText(digest));
  }
  return std::make_shared<const ClusterPlan>(
      std::move(*record->mutable_plan()));
}

absl::StatusOr<ApplyOrder> OrderOfApply(const ControllerParts& parts,
                                        std::shared_ptr<const ClusterPlan> plan,
                                        const Confirmation& confirm) {
  RETURN_IF_ERROR(CheckPlan(parts, *plan));
  ApplyOrder order;
  order.report.set_network_namespace(NamespaceOf(*plan));
  order.report.set_plan_id(plan->plan_id());
  order.report.set_plan_digest(plan->digest());
  int blocked = 0;
  for (const HostPlan& host : plan->hosts()) {
    blocked += host.blocked().empty() ? 0 : 1;
    if (host.steps().empty()) continue;
    order.hosts.push_back(
        {host.host(), &host,
         HostChangeDeadline(host.steps_size(), host.command_ms())});
  }
  const size_t idle =
      static_cast<size_t>(plan->hosts_size()) - order.hosts.size();
  if (idle > 0) {
    AddNote(Worded("hub-idle-hosts", idle, plan->hosts_size()), &order.report);
  }
  if (blocked > 0) {
    AddNote(Worded("hub-blocked-open", Counted(blocked, "host")),
            &order.report);
  }
  order.plan = std::move(plan);
  if (confirm.within_ms() > 0) *order.report.mutable_confirmation() = confirm;
  RETURN_IF_ERROR(CheckHosts(parts.hosts, order));
  return order;
}

absl::StatusOr<ApplyOrder> OrderOfRollback(const ControllerParts& parts,
                                           const std::string& apply_id) {
  ASSIGN_OR_RETURN(const HistoryRecord record,
                   parts.history->FindApply(apply_id));
  const ApplyReport& apply = record.apply();
  ApplyOrder order;
  order.report.set_network_namespace(apply.network_namespace());
  order.report.set_rollback(true);
  order.report.set_apply_id(apply.apply_id());
  order.report.set_plan_id(apply.plan_id());
  order.report.set_plan_digest(apply.plan_digest());
  // The plan is only needed for texts of steps. If it is missing, or another
  // one has that id, the report omits them.
  std::map<std::string, const HostPlan*> planned;
  absl::StatusOr<HistoryRecord> plan = parts.history->Get(apply.plan_id());
  if (plan.ok() && plan->plan().digest() == apply.plan_digest()) {
    order.plan =
        std::make_shared<const ClusterPlan>(std::move(*plan->mutable_plan()));
    for (const HostPlan& host : order.plan->hosts()) {
      planned[host.host()] = &host;
    }
  }
  const uint32_t command_ms = parts.spec->spec()->deadlines().command_ms();
  for (const ApplyResult& host : apply.hosts()) {
    // A second attempt may remove residues: a tool hung, or an engine stopped.
    if (!MayHold(host.outcome())) continue;
    const HostPlan* const known = planned[host.host()];
    const int steps =
        known == nullptr ? host.steps_size() : known->steps_size();
    order.hosts.push_back({host.host(), known,
                           HostChangeDeadline(steps, command_ms),
                           host.outcome() == ApplyResult::LOST ||
                               host.outcome() == ApplyResult::RUNNING});
  }
  if (!order.hosts.empty()) return order;
  return PreconditionWords("msg-change-nothing-to-roll-back", apply.apply_id());
}

}  // namespace clusterd
