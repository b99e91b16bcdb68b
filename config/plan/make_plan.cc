#include "config/plan/make_plan.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/step_planners.h"
#include "config/spec/product_profile.h"
#include "config/values/change_kind.h"
#include "config/values/network_namespace.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {

HostPlanBuilder::HostPlanBuilder(const HostFacts& facts)
    : facts_(facts), named_(NameFacts(facts)) {
  plan_.set_host(facts.host());
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    if (!entry.has_device()) continue;
    conf_.emplace(HccnConfKey(entry.key(), entry.device()),
                  RepairedEntry(entry).value());
  }
}

std::string HostPlanBuilder::ConfValue(absl::string_view full_key) const {
  const auto found = conf_.find(std::string(full_key));
  return found == conf_.end() ? "" : found->second;
}

PlanStep* HostPlanBuilder::AddStep(const FactKey& goal,
                                   const SettingValue& from,
                                   const SettingValue& to,
                                   std::vector<FactKey> rests_on) {
  Planned& planned = planned_.emplace_back();
  planned.rests_on = std::move(rests_on);
  *planned.step.mutable_target() = goal.target();
  planned.step.set_setting(goal.setting());
  *planned.step.mutable_from() = from;
  *planned.step.mutable_to() = to;
  planned.step.set_kind(FindSetting(goal.setting())->kind);
  return &planned.step;
}

void HostPlanBuilder::Block(ChangeKind kind,
                            const std::vector<uint32_t>& devices,
                            const FindingValue& what,
                            const FindingValue& reason,
                            const FindingValue& fix) {
  BlockedChange* blocked = plan_.add_blocked();
  blocked->set_kind(kind);
  *blocked->mutable_devices() = {devices.begin(), devices.end()};
  *blocked->mutable_what_said() = what;
  *blocked->mutable_reason_said() = reason;
  *blocked->mutable_fix_said() = fix;
  blocked->set_what(EnglishText(what));
  blocked->set_reason(EnglishText(reason));
  blocked->set_fix(EnglishText(fix));
}

void HostPlanBuilder::BlockWhatIsNotAllowed() {
  if (!facts_.has_allows()) return;
  const HostAllows& allows = facts_.allows();
  const std::set<ChangeKind> allowed = AllowedKinds(allows);
  std::set<ChangeKind> needed = allowed;
  bool form_stays_bad = false;
  for (const auto& [step, rests_on] : planned_) {
    needed.insert(step.kind());
    form_stays_bad |=
        step.setting() == SETTING_FORM && allowed.count(step.kind()) == 0;
  }
  const FindingValue fix =
      Worded("plan-say-then-plan", HowToAllow(allows, needed));
  std::vector<Planned> kept;
  for (Planned& planned : planned_) {
    const PlanStep& step = planned.step;
    const bool is_allowed = allowed.count(step.kind()) > 0;
    // The tool writes the file in every step for a device.
    if (is_allowed && !(form_stays_bad && IsOfDevice(step))) {
      kept.push_back(std::move(planned));
      continue;
    }
    const FindingValue allowed_words = WhatIsAllowed(allows);
    const FindingValue text = StepWords(step);
    std::vector<uint32_t> devices;
    if (IsOfDevice(step)) devices.push_back(step.target().device());
    // A blocked change lists its devices separately.
    Block(step.kind(), devices, devices.empty() ? text : text.values(1),
          is_allowed ? Worded("plan-say-repair-not-allowed", allowed_words)
                     : Worded("plan-say-not-allowed",
                              ChangeKindName(step.kind()), allowed_words),
          fix);
  }
  planned_ = std::move(kept);
}

HostPlan HostPlanBuilder::Finish() {
  BlockWhatIsNotAllowed();
  NamedFacts facts;
  for (Planned& planned : planned_) {
    PlanStep* const step = plan_.add_steps();
    *step = std::move(planned.step);
    step->set_id(plan_.steps_size());
    for (const FindingValue& each : step->consequences_said().values()) {
      step->add_consequences(EnglishText(each));
    }
    step->set_precondition(EnglishText(SettingOf(*step)->condition(*step)));
    step->set_undo(EnglishText(SettingOf(*step)->undo(*step)));
    for (const FactKey& key : planned.rests_on) {
      facts[key] = FactValue(named_, key);
    }
  }
  for (const auto& [key, value] : facts) {
    PlanFact* fact = plan_.add_facts();
    *fact->mutable_key() = key;
    *fact->mutable_value() = value;
  }
  for (const FindingValue& note : plan_.notes_said().values()) {
    plan_.add_notes(EnglishText(note));
  }
  return std::move(plan_);
}

namespace {

bool AsksFor(const PlanSelection& selection, const PlanStep& step) {
  return selection.kinds.count(step.kind()) > 0 ||
         selection.settings.count(step.setting()) > 0 ||
         selection.kernel_parameters.count(step.target().kernel_parameter()) >
             0;
}

// Every kind that a step of the selection may have.
std::set<ChangeKind> KindsOf(const PlanSelection& selection) {
  std::set<ChangeKind> kinds = selection.kinds;
  kinds.insert(CHANGE_OBSERVE);  // For hosts without facts.
  if (!selection.kernel_parameters.empty()) kinds.insert(CHANGE_SYSCTL);
  for (const SettingId id : selection.settings) {
    const Setting* const row = FindSetting(id);
    kinds.insert(row->kind);
    if (row->device != nullptr) kinds.insert(CHANGE_HCCN_CONF);
  }
  return kinds;
}

//   a step                needs, of the same host
//   of a device           the repair of hccn.conf, which the tool then writes
//   a device's gateway    its address: the tool refuses one of another subnet
//   a device's address    its gateway: the tool drops one with the old subnet
//   a device's address    the one that takes it from another device
bool Needs(const PlanStep& step, const PlanStep& other) {
  if (!IsOfDevice(step)) return false;
  if (other.setting() == SETTING_FORM) return true;
  const bool is_address = step.setting() == SETTING_ADDRESS;
  if (!IsOfDevice(other) ||
      (!is_address && step.setting() != SETTING_GATEWAY)) {
    return false;
  }
  if (step.target().device() == other.target().device()) {
    return other.setting() == (is_address ? SETTING_GATEWAY : SETTING_ADDRESS);
  }
  return is_address && other.setting() == SETTING_ADDRESS &&
         other.from().interface().address() == step.to().interface().address();
}

// True if every device has an address of its planned subnet, but none the
// planned one: such addresses were valid under another plan.
bool HaveMoved(const google::protobuf::RepeatedPtrField<DeviceSpec>& devices,
               const HostPlanBuilder& plan) {
  const auto has_moved = [&plan](const DeviceSpec& device) {
    const DeviceFacts* facts = FindDevice(plan.facts(), device.id());
    const auto wanted =
        Ipv4Interface::Parse(device.address(), device.netmask());
    if (facts == nullptr || !wanted.ok()) return false;
    const auto& settings = facts->address().value().settings();
    return !settings.empty() &&
           absl::c_all_of(settings, [&wanted](const Ipv4Setting& setting) {
             const auto live =
                 Ipv4Interface::Parse(setting.address(), setting.netmask());
             return live.ok() && live->subnet() == wanted->subnet() &&
                    live->address() != wanted->address();
           });
  };
  return !devices.empty() && absl::c_all_of(devices, has_moved);
}

HostPlan PlanHost(const ClusterSpec& spec, const ServerSpec* server,
                  const HostFacts& facts, const PlanSelection& selection) {
  const bool whole_host = facts.network_namespace().empty();
  HostPlanBuilder plan(facts);
  if (server == nullptr) {
    plan.Block(CHANGE_OBSERVE, {}, Worded("plan-say-the-host"),
               Worded("plan-say-not-named"), Worded("plan-say-name-it"));
    return plan.Finish();
  }
  if (facts.has_missing()) {
    plan.Block(CHANGE_OBSERVE, {}, Worded("plan-say-the-host"),
               Worded("plan-say-nothing-known", MissingWords(&facts.missing())),
               Worded(whole_host ? "plan-say-let-it-connect"
                                 : "plan-say-start-container"));
    return plan.Finish();
  }
  if (whole_host) {
    const auto profile = FindProductProfile(spec.product(), spec.mode());
    PlanFormStep(&plan, profile.ok() ? (*profile)->npu_series : "");
    PlanDeviceSteps(spec, *server, &plan);
  }
  PlanSysctlSteps(spec, &plan);
  if (whole_host) PlanFirewallSteps(spec, &plan);
  if (!selection.words.empty()) plan.Narrow(selection);
  if (whole_host && selection.words.empty() &&
      HaveMoved(server->devices(), plan)) {
    plan.Note(Worded("plan-say-moved-by-index"));
  }
  HostPlan host_plan = plan.Finish();
  host_plan.set_command_ms(spec.deadlines().command_ms());
  return host_plan;
}

// Includes another netmask: it decides which peers the device reaches.
bool IsReaddressing(const PlanStep& step) {
  return step.setting() == SETTING_ADDRESS &&
         step.kind() == CHANGE_DEVICE_ADDRESS && !step.from().has_none();
}

constexpr int kMaxFacts = 65536;

absl::Status CheckStep(const HostPlan& plan, int index) {
  const PlanStep& step = plan.steps(index);
  if (step.id() != static_cast<uint32_t>(index) + 1) {
    return InvalidWords("msg-plan-step-number", step.id(), index + 1);
  }
  const Setting* const setting = SettingOf(step);
  if (setting == nullptr) {
    return InvalidWords("msg-plan-step-unknown");
  }
  if (step.kind() != setting->kind && !IsRewrite(step)) {
    return InvalidWords("msg-plan-step-kind", ChangeKindName(step.kind()),
                        ChangeKindName(setting->kind));
  }
  return setting->check(step);
}

// A plan for another network namespace has only running parameters, and must
// detect if the name now refers to a new namespace.
absl::Status CheckNamespace(const HostPlan& plan) {
  if (!plan.has_network_namespace()) return absl::OkStatus();
  const NetworkNamespace& target = plan.network_namespace();
  if (target.target_case() == NetworkNamespace::TARGET_NOT_SET) {
    return InvalidWords("msg-plan-namespace-name");
  }
  RETURN_IF_ERROR(InFront("plan", CheckNetworkNamespace(target)));
  for (const PlanStep& step : plan.steps()) {
    if (step.setting() == SETTING_RUNNING) continue;
    return InvalidWords("msg-plan-namespace-step", step.id(), StepWords(step),
                        NetworkNamespaceText(target));
  }
  if (plan.steps().empty() ||
      FirstWith(plan.facts(), &PlanFact::key, NamespaceFact()) != nullptr) {
    return absl::OkStatus();
  }
  return InvalidWords("msg-plan-namespace-fact", FactKeyText(NamespaceFact()));
}

}  // namespace

void HostPlanBuilder::Narrow(const PlanSelection& selection) {
  const auto note = [this](size_t count, const char* row) {
    if (count > 0) Note(Worded(row, count));
  };
  std::vector<Planned> all = std::exchange(planned_, {});
  std::vector<bool> stays(all.size());
  size_t added = 0;
  // Repeats until no remaining step needs another one.
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t i = 0; i < all.size(); ++i) {
      if (stays[i]) continue;
      const bool is_asked = AsksFor(selection, all[i].step);
      bool is_needed = false;
      for (size_t k = 0; k < all.size(); ++k) {
        is_needed |= stays[k] && Needs(all[k].step, all[i].step);
      }
      if (!is_asked && !is_needed) continue;
      stays[i] = grows = true;
      added += !is_asked;
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (stays[i]) planned_.push_back(std::move(all[i]));
  }
  note(added, "plan-say-steps-added");
  note(all.size() - planned_.size(), "plan-say-steps-left-out");
  const std::set<ChangeKind> kinds = KindsOf(selection);
  auto* const blocked = plan_.mutable_blocked();
  const int before = blocked->size();
  DropIf(blocked, [&kinds](const BlockedChange& change) {
    return kinds.count(change.kind()) == 0;
  });
  note(before - blocked->size(), "plan-say-blocked-left-out");
}

std::string SpecSha256(const ClusterSpec& spec) {
  return Sha256Hex(spec.SerializeAsString());
}

std::string PlanDigest(const ClusterPlan& plan) {
  ClusterPlan content = plan;
  content.clear_digest();
  content.clear_plan_id();
  content.clear_created_at_ms();
  content.clear_created_by();
  content.clear_not_kept();
  content.clear_not_kept_words();
  return Sha256Hex(
      absl::StrCat("clusterd plan\n", content.SerializeAsString()));
}

absl::Status VerifyPlan(const ClusterPlan& plan) {
  if (plan.schema_version() != kPlanSchemaVersion) {
    return PreconditionWords("msg-plan-schema-version", plan.schema_version(),
                             kPlanSchemaVersion);
  }
  if (PlanDigest(plan) != plan.digest()) {
    return InvalidWords("msg-plan-digest-differs", plan.digest().substr(0, 64));
  }
  return absl::OkStatus();
}

PlanCounts CountPlan(const ClusterPlan& plan) {
  PlanCounts counts;
  const bool is_whole = plan.only().empty();
  for (const HostPlan& host : plan.hosts()) {
    const bool fails =
        FirstWith(host.unfixed(), &UnfixedRule::state, FAIL) != nullptr;
    ++counts.hosts;
    counts.steps += host.steps_size();
    counts.hosts_with_steps += !host.steps().empty();
    counts.blocked += host.blocked_size();
    counts.hosts_with_blocked += !host.blocked().empty();
    counts.hosts_failing += is_whole && fails;
    counts.hosts_in_doubt += is_whole && !fails && !host.unfixed().empty();
    counts.hosts_readdressed += absl::c_any_of(host.steps(), IsReaddressing);
  }
  counts.only = absl::StrJoin(plan.only(), ",");
  // A plan without the cluster's size counts its own hosts.
  counts.cluster_hosts = plan.cluster_hosts();
  if (counts.cluster_hosts == 0) counts.cluster_hosts = counts.hosts;
  return counts;
}

std::string ReaddressedText(const PlanCounts& counts) {
  return Say("plan-readdressed", counts.hosts_readdressed,
             Count(counts.cluster_hosts, "host"));
}

FindingValue PlanCountsWords(const PlanCounts& counts) {
  const FindingValue hosts = Counted(counts.hosts, "host");
  FindingValue text = Worded("plan-nothing", hosts);
  if (!counts.nothing_to_do()) {
    std::vector<FindingValue> parts = {
        counts.steps == 0 ? Worded("plan-no-step")
                          : Worded("plan-steps", Counted(counts.steps, "step"),
                                   Counted(counts.hosts_with_steps, "host"))};
    if (counts.blocked > 0) {
      parts.push_back(Worded("plan-blocked-on",
                             Counted(counts.blocked, "change"),
                             Counted(counts.hosts_with_blocked, "host")));
    }
    if (counts.hosts_failing > 0) {
      parts.push_back(Worded("plan-failing", counts.hosts_failing));
    }
    if (counts.hosts_in_doubt > 0) {
      parts.push_back(Worded("plan-in-doubt", counts.hosts_in_doubt));
    }
    parts.push_back(Worded("plan-of", hosts));
    text = Listed(parts, parts.size());
  }
  return counts.only.empty() ? text : Worded("plan-only", counts.only, text);
}

ClusterPlan MakePlan(const ClusterSpec& spec,
                     absl::Span<const HostFacts* const> hosts,
                     const NetworkNamespace& network_namespace,
                     const PlanSelection& selection) {
  ClusterPlan plan;
  *plan.mutable_only() = {selection.words.begin(), selection.words.end()};
  plan.set_schema_version(kPlanSchemaVersion);
  plan.set_cluster(spec.name());
  plan.set_product(spec.product());
  plan.set_spec_digest(spec.digest());
  plan.set_spec_sha256(SpecSha256(spec));
  plan.set_cluster_hosts(spec.servers_size());

  std::map<std::string, int> order;
  for (int i = 0; i < spec.servers_size(); ++i) {
    order.emplace(spec.servers(i).host(), i);
  }
  const NamespaceFacts asked(NetworkNamespaceText(network_namespace), hosts);
  // Hosts that the spec does not name come last.
  std::multimap<int, const HostFacts*> sorted;
  for (const HostFacts* facts : asked.hosts()) {
    const auto found = order.find(facts->host());
    sorted.emplace(found == order.end() ? spec.servers_size() : found->second,
                   facts);
  }
  for (const auto& [position, facts] : sorted) {
    const bool is_named = position < spec.servers_size();
    HostPlan& host_plan = *plan.add_hosts();
    host_plan = PlanHost(spec, is_named ? &spec.servers(position) : nullptr,
                         *facts, selection);
    if (network_namespace.target_case() != NetworkNamespace::TARGET_NOT_SET) {
      *host_plan.mutable_network_namespace() = network_namespace;
    }
  }
  plan.set_digest(PlanDigest(plan));
  return plan;
}

absl::Status CheckHostPlan(const HostPlan& plan) {
  if (plan.steps_size() > kMaxPlanSteps || plan.facts_size() > kMaxFacts) {
    return InvalidWords("msg-plan-too-long", plan.steps_size(),
                        plan.facts_size(), kMaxPlanSteps, kMaxFacts);
  }
  if (!plan.steps().empty() && plan.facts().empty()) {
    return InvalidWords("msg-plan-without-facts");
  }
  for (int i = 0; i < plan.steps_size(); ++i) {
    const absl::Status checked = CheckStep(plan, i);
    if (checked.ok()) continue;
    return WithWords(
        checked, Worded("plan-say-of-plan-step", i + 1, MessageWords(checked)));
  }
  return CheckNamespace(plan);
}

}  // namespace clusterd
