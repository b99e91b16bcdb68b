
#include "config/plan/step_planners.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// A plan opens ports only for the cluster's hosts: one /16 block already covers
// 65,536 addresses.
constexpr int kMinSourcePrefix = 16;
// A host rejects longer plans, and each rule is a step.
constexpr size_t kMaxRules = 3000;

absl::Status CheckProgram(FirewallProgram program) {
  return program == UFW || program == FIREWALLD
             ? absl::OkStatus()
             : NotOneToSet("firewall", absl::StrCat(program));
}

FactKey AllowedKey(FirewallProgram program, bool permanently) {
  return permanently ? FirewallFact(program, FactKey::ALLOWED_PERMANENTLY)
                     : FirewallFact(program, SETTING_ALLOWED);
}

// A firewall that is not installed has no other facts, and stops nothing.
bool IsNotInstalled(const FirewallFacts& facts) {
  return facts.installed().state_case() == BoolFact::kValue &&
         !facts.installed().value() &&
         facts.active().state_case() == BoolFact::STATE_NOT_SET;
}

// OK if the firewall allows the rule's ports, now or permanently.
StepVerdict ExpectAllowed(const FirewallRule& rule, bool permanently,
                          const SettingFacts& facts) {
  if (facts.Ports(rule.program(), permanently).Contains(rule.port())) {
    return {};
  }
  const FactKey key = AllowedKey(rule.program(), permanently);
  const SettingValue wanted = TextsValue({PortRuleText(rule.port())});
  const FirewallFacts& firewall = facts.Firewall(rule.program());
  if (!IsKnown(Allows(rule.program(), firewall, permanently))) {
    return NotSo(key, SettingValue(), wanted);
  }
  SettingValue lacks;
  lacks.mutable_texts();
  return {StepVerdict::kMoved, key, lacks, wanted};
}

// The words `name` for a firewall: active, starting at boot, or both.
FindingValue OfState(absl::string_view name, const PlanStep& step) {
  const SettingValue::Firewall& state = step.from().firewall();
  return Worded(absl::StrCat(name, !state.active()           ? "-at-boot"
                                   : !state.starts_at_boot() ? "-active"
                                                             : "-both"),
                FirewallName(step.target().firewall()));
}
FindingValue ActiveText(const PlanStep& step) {
  return OfState("plan-say-stop", step);
}
FindingValue ActiveCondition(const PlanStep& step) {
  return OfState("plan-say-if", step);
}
FindingValue ActiveUndo(const PlanStep& step) {
  return OfState("plan-say-start", step);
}

absl::Status CheckActive(const PlanStep& step) {
  if (step.to() != YesValue(false)) {
    return NotOneToSet("firewall state", step.to());
  }
  return CheckProgram(step.target().firewall());
}

StepVerdict JudgeActive(const PlanStep& step, const SettingFacts& facts) {
  const FirewallProgram program = step.target().firewall();
  if (IsNotInstalled(facts.Firewall(program))) return {};
  StepVerdict verdict = Expect(facts, GoalOf(step), YesValue(false));
  verdict.Take(Expect(facts, FirewallFact(program, FactKey::STARTS_AT_BOOT),
                      YesValue(false)));
  return verdict;
}

// A stopped firewall allows everything.
std::vector<FactKey> AllItAllows(const PlanStep& step) {
  return {FirewallFact(step.target().firewall(), SETTING_ALLOWED)};
}

FindingValue AllowedText(const PlanStep& step) {
  const AllowedPort& port = step.target().rule().port();
  return Worded("plan-say-open", FirewallName(step.target().rule().program()),
                absl::StrCat(RangeText(port.first_port(), port.last_port()),
                             "/", port.protocol()),
                port.source());
}
FindingValue AllowedCondition(const PlanStep& step) {
  return Worded("plan-say-if-active",
                FirewallName(step.target().rule().program()));
}
FindingValue AllowedUndo(const PlanStep&) {
  return Worded("plan-say-remove-rule");
}

absl::Status CheckAllowed(const PlanStep& step) {
  const AllowedPort& port = step.target().rule().port();
  const auto source = Ipv4Subnet::Parse(port.source());
  // A plan never opens a port to everyone, neither at once nor in halves.
  if (!source.ok() || source->prefix_length() < kMinSourcePrefix) {
    return NotOneToSet("source", port.source());
  }
  if (port.first_port() == 0 || port.first_port() > port.last_port() ||
      port.last_port() > 65535 || port.protocol() != "tcp" ||
      step.to() != YesValue(true)) {
    return NotOneToSet(
        "port", absl::StrCat(PortRuleText(port), ": ", SettingText(step.to())));
  }
  return CheckProgram(step.target().rule().program());
}

StepVerdict JudgeAllowed(const PlanStep& step, const SettingFacts& facts) {
  const FirewallRule& rule = step.target().rule();
  if (IsNotInstalled(facts.Firewall(rule.program()))) return {};
  // An opened firewall must run: the rules of a stopped one are unknown.
  StepVerdict verdict = Expect(
      facts, FirewallFact(rule.program(), SETTING_ACTIVE), YesValue(true));
  if (verdict.state != StepVerdict::kSo) return verdict;
  for (const bool permanently : {false, true}) {
    verdict.Take(ExpectAllowed(rule, permanently, facts));
  }
  return verdict;
}

// An opened firewall must run.
std::vector<FactKey> ThatItIsActive(const PlanStep& step) {
  return {FirewallFact(step.target().rule().program(), SETTING_ACTIVE)};
}

Obstruction WhyStateUnknown(const FirewallFacts& facts) {
  if (!IsKnown(facts.installed())) return UnknownWords(facts.installed());
  if (!facts.installed().value()) return std::nullopt;
  for (const BoolFact& fact : {facts.active(), facts.enabled_at_boot()}) {
    if (!IsKnown(fact)) return UnknownWords(fact);
  }
  return std::nullopt;
}

void PlanDisable(FirewallProgram program, const FirewallFacts& facts,
                 HostPlanBuilder* plan) {
  const bool active = facts.active().value();
  const bool enabled = facts.enabled_at_boot().value();
  if (!active && !enabled) return;
  SettingValue state;
  state.mutable_firewall()->set_active(active);
  state.mutable_firewall()->set_starts_at_boot(enabled);
  const FactKey goal = FirewallFact(program, SETTING_ACTIVE);
  PlanStep* step =
      plan->AddStep(goal, state, YesValue(false),
                    {goal, FirewallFact(program, FactKey::STARTS_AT_BOOT)});
  if (program == FIREWALLD && active) {
    AddConsequence(Worded("plan-say-runtime-rules-lost"), step);
    // moby issue 28476: "Stopping firewalld flushes the whole iptables, it also
    // removes the chains that docker created."
    AddConsequence(Worded(plan->facts().docker_running().value()
                              ? "plan-say-docker-chains-go"
                              : "plan-say-chains-go"),
                   step);
  }
}

// Ports that must be open, and their sources.
struct Needed {
  std::vector<PortSet::Range> ranges;
  std::vector<Ipv4Address> hosts;
};

// InvalidArgument: the spec has no valid range, or a host has no address.
absl::StatusOr<Needed> NeededBy(const ClusterSpec& spec,
                                const HostFacts& host) {
  ASSIGN_OR_RETURN(const PortSet hccl, HcclRange(spec, host));
  Needed needed = {hccl.ranges(), {}};
  for (const uint32_t port : {spec.rendezvous_port(), spec.ssh_port()}) {
    if (port != 0) needed.ranges.emplace_back(port, port);
  }
  for (const auto& each : spec.ports()) {
    needed.ranges.emplace_back(each.first(), each.last());
  }
  for (const ServerSpec& server : spec.servers()) {
    const auto address = Ipv4Address::Parse(server.address());
    if (!address.ok()) {
      return InvalidWords("plan-say-no-host-address", server.host());
    }
    needed.hosts.push_back(*address);
  }
  return needed;
}

// A stopped firewall blocks nothing. If an apply had opened ports in it, this
// is still drift, and no step starts it again.
void NoteIfStoppedSince(FirewallProgram program, HostPlanBuilder* plan) {
  for (const AppliedDrift& drift : plan->facts().drift().value().drifts()) {
    if (drift.target().target().rule().program() != program) continue;
    return plan->Note(Worded("plan-say-stopped-since", FirewallName(program),
                             drift.apply_id()));
  }
}

// The sources that lack one range, now and permanently.
struct ShutRange {
  PortSet::Range range;
  std::vector<Ipv4Subnet> sources;  // Those without access.
  FindingValue consequence;         // Empty: both lack it.
};

ShutRange FindShut(const PortSet::Range& range,
                   const std::vector<Ipv4Address>& addresses,
                   const AllowedPorts& now, const AllowedPorts& permanently) {
  PortSet ports;
  ports.Add(range.first, range.second);
  std::vector<Ipv4Address> shut_out;
  bool shut_now = false, shut_later = false;
  for (const Ipv4Address address : addresses) {
    const bool in_now = now.For(address).Contains(ports);
    const bool in_later = permanently.For(address).Contains(ports);
    shut_now |= !in_now;
    shut_later |= !in_later;
    if (!in_now || !in_later) shut_out.push_back(address);
  }
  ShutRange shut = {range, CoverExactly(std::move(shut_out)), {}};
  if (shut_now == shut_later) return shut;
  shut.consequence =
      Worded(shut_now ? "plan-say-open-permanently" : "plan-say-open-now",
             RangeText(range.first, range.second));
  return shut;
}

// One step for each source that lacks the range.
void OpenRange(FirewallProgram program, const ShutRange& shut,
               HostPlanBuilder* plan) {
  std::vector<FactKey> rests_on = {FirewallFact(program, SETTING_ACTIVE),
                                   AllowedKey(program, false)};
  if (program == FIREWALLD) rests_on.push_back(AllowedKey(program, true));
  FirewallRule rule;
  rule.set_program(program);
  rule.mutable_port()->set_first_port(shut.range.first);
  rule.mutable_port()->set_last_port(shut.range.second);
  rule.mutable_port()->set_protocol("tcp");
  for (const Ipv4Subnet& source : shut.sources) {
    rule.mutable_port()->set_source(source.ToString());
    PlanStep* step = plan->AddStep(RuleFact(rule), YesValue(false),
                                   YesValue(true), rests_on);
    if (!shut.consequence.words().empty()) {
      AddConsequence(shut.consequence, step);
    }
  }
}

// Steps open ports in firewalld's default zone.
Obstruction WhyNotInDefaultZone(const ClusterSpec& spec,
                                FirewallProgram program,
                                const HostPlanBuilder& plan) {
  if (program != FIREWALLD) return std::nullopt;
  std::string address;
  for (const ServerSpec& server : spec.servers()) {
    if (server.host() == plan.facts().host()) address = server.address();
  }
  const auto zone = FindOtherZone(plan.facts(), address);
  if (!zone.ok()) return MessageWords(zone.status());
  if (*zone == nullptr) return std::nullopt;
  return Worded("plan-say-other-zone", QuotedText((*zone)->name()));
}

// Why the ports that it allows are not known for every server.
Obstruction WhyPortsUnknown(const ClusterSpec& spec, const AllowedFact& fact) {
  if (!IsKnown(fact)) return UnknownWords(fact);
  AllowedFact::Allowed others;
  for (const std::string& source : fact.value().other_sources()) {
    others.add_ports()->set_source(source);
  }
  const AllowedPorts ports(others);
  for (const ServerSpec& server : spec.servers()) {
    const auto address = Ipv4Address::Parse(server.address());
    if (!address.ok() || ports.For(*address).empty()) continue;
    return Worded("plan-say-meets-other-zone", server.address());
  }
  return std::nullopt;
}

void PlanOpen(const ClusterSpec& spec, FirewallProgram program,
              const FirewallFacts& facts, HostPlanBuilder* plan) {
  const auto block = [&](const FindingValue& reason, absl::string_view fix) {
    plan->Block(CHANGE_FIREWALL, {},
                Worded("plan-say-open-ports", FirewallName(program)), reason,
                Worded(fix));
  };
  const bool starts_at_boot = facts.enabled_at_boot().value();
  if (!facts.active().value() && !starts_at_boot) {
    return NoteIfStoppedSince(program, plan);
  }
  if (!facts.active().value()) {
    return block(Worded("plan-say-stopped-at-boot", FirewallName(program)),
                 "plan-say-start-or-disable");
  }
  if (const Obstruction why = WhyNotInDefaultZone(spec, program, *plan)) {
    return block(*why, "plan-say-open-by-hand");
  }
  std::vector<AllowedPorts> allows;  // Now and permanently.
  for (const bool permanently : {false, true}) {
    const AllowedFact& fact = Allows(program, facts, permanently);
    if (const Obstruction why = WhyPortsUnknown(spec, fact)) {
      return block(Worded(permanently ? "plan-say-permanent-not-known"
                                      : "plan-say-lets-in-not-known",
                          *why),
                   "plan-say-let-clusterd-ask");
    }
    allows.emplace_back(fact.value());
  }
  const auto needed = NeededBy(spec, plan->facts());
  if (!needed.ok()) {
    return block(MessageWords(needed.status()), "plan-say-correct-spec");
  }
  std::vector<ShutRange> shut;
  size_t rules = 0;
  for (const PortSet::Range& range : needed->ranges) {
    shut.push_back(FindShut(range, needed->hosts, allows[0], allows[1]));
    rules += shut.back().sources.size();
  }
  if (rules > kMaxRules) {
    return block(Worded("plan-say-too-many-rules", rules, kMaxRules),
                 "plan-say-fewer-sources");
  }
  for (const ShutRange& each : shut) OpenRange(program, each, plan);
}

}  // namespace

AllowedPorts::AllowedPorts(const AllowedFact::Allowed& allowed) {
  for (const AllowedPort& port : allowed.ports()) {
    if (!port.protocol().empty() && port.protocol() != "tcp") continue;
    const uint32_t first = port.first_port();
    const uint32_t last = port.last_port();
    if (first > last || last > 65535) continue;
    const auto address = Ipv4Address::Parse(port.source());
    const auto subnet = Ipv4Subnet::Parse(port.source());
    if (port.source().empty()) {
      ports_[Ipv4Subnet()].Add(first, last);
    } else if (address.ok()) {
      ports_[Ipv4Subnet(*address, 32)].Add(first, last);
    } else if (subnet.ok()) {
      ports_[*subnet].Add(first, last);
    }
  }
}

PortSet AllowedPorts::OfAll(const Ipv4Subnet& source) const {
  PortSet ports;
  for (int prefix = 0; prefix <= source.prefix_length(); ++prefix) {
    const auto around = ports_.find(Ipv4Subnet(source.network(), prefix));
    if (around != ports_.end()) ports.Add(around->second);
  }
  return ports;
}

bool AllowedPorts::Contains(const AllowedPort& port) const {
  const auto source = Ipv4Subnet::Parse(port.source());
  if (!source.ok() || port.first_port() > port.last_port() ||
      port.last_port() > 65535) {
    return false;
  }
  PortSet wanted;
  wanted.Add(port.first_port(), port.last_port());
  return OfAll(*source).Contains(wanted);
}

const Setting kActiveRow = {
    SETTING_ACTIVE, CHANGE_FIREWALL, SettingTarget::kFirewall,
    ActiveText,     ActiveCondition, ActiveUndo,
    CheckActive,    JudgeActive,     nullptr,
    AllItAllows};
const Setting kAllowedRow = {
    SETTING_ALLOWED,  CHANGE_FIREWALL, SettingTarget::kRule, AllowedText,
    AllowedCondition, AllowedUndo,     CheckAllowed,         JudgeAllowed,
    nullptr,          ThatItIsActive};

void PlanFirewallSteps(const ClusterSpec& spec, HostPlanBuilder* plan) {
  if (spec.firewall() != FIREWALL_DISABLED &&
      spec.firewall() != FIREWALL_OPEN_PORTS) {
    return;
  }
  const std::pair<FirewallProgram, const FirewallFacts*> firewalls[] = {
      {UFW, &plan->facts().ufw()}, {FIREWALLD, &plan->facts().firewalld()}};
  for (const auto& [program, facts] : firewalls) {
    if (const Obstruction why = WhyStateUnknown(*facts)) {
      plan->Block(CHANGE_FIREWALL, {}, ToFindingValue(FirewallName(program)),
                  Worded("plan-say-state-not-known", *why),
                  Worded("plan-say-let-clusterd-ask"));
      continue;
    }
    if (!facts->installed().value()) continue;
    if (spec.firewall() == FIREWALL_DISABLED) {
      PlanDisable(program, *facts, plan);
    } else {
      PlanOpen(spec, program, *facts, plan);
    }
  }
}

}  // namespace clusterd
