#include "config/plan/firewall_steps.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/address_blocks.h"
#include "config/plan/allowed_ports.h"
#include "config/plan/named_facts.h"
#include "config/spec/ipv4.h"
#include "config/spec/port_set.h"

namespace clusterd {
namespace {

std::string Name(FirewallProgram program) {
  return program == UFW ? "ufw" : "firewalld";
}

bool Known(const BoolFact& fact) {
  return fact.state_case() == BoolFact::kValue;
}

// Why its state cannot be told; "": it can.
std::string WhyUnknown(const FirewallFacts& facts) {
  if (!Known(facts.installed()))
    return MissingText(facts.installed().missing());
  if (!facts.installed().value()) return "";
  if (!Known(facts.active())) return MissingText(facts.active().missing());
  if (!Known(facts.enabled_at_boot())) {
    return MissingText(facts.enabled_at_boot().missing());
  }
  return "";
}

void PlanDisable(FirewallProgram program, const FirewallFacts& facts,
                 HostPlanBuilder* plan) {
  const bool active = facts.active().value();
  const bool enabled = facts.enabled_at_boot().value();
  if (!active && !enabled) return;
  PlanStep* step = plan->AddStep(CHANGE_FIREWALL,
                                 {FirewallFactName(program, "active"),
                                  FirewallFactName(program, "starts at boot")});
  FirewallDisableChange* change = step->mutable_firewall_disable();
  change->set_program(program);
  change->set_was_active(active);
  change->set_was_enabled(enabled);
  step->set_precondition(absl::StrCat(Name(program),
                                      active ? " is active" : " is stopped",
                                      enabled ? " and starts at boot" : ""));
  step->set_undo(absl::StrCat(active ? "start it" : "",
                              active && enabled ? " and " : "",
                              enabled ? "let it start at boot" : ""));
  if (program == FIREWALLD && active) {
    step->add_consequences(
        "rules that exist only in the running firewalld are lost when it "
        "stops; `firewall-cmd --runtime-to-permanent` first would keep them");
  }
}

// The ranges that must be open. InvalidArgument: the spec has no valid range.
absl::StatusOr<std::vector<PortSet::Range>> NeededRanges(
    const ClusterSpec& spec) {
  std::vector<PortSet::Range> ranges;
  const uint64_t base = spec.hccl().base_port();
  if (spec.hccl().port_count() > 0) {
    const uint64_t last = base + spec.hccl().port_count() - 1;
    if (base == 0 || last > 65535) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the HCCL range ", base, "-", last, " is no port range"));
    }
    ranges.emplace_back(base, last);
  }
  for (const uint32_t port : {spec.rendezvous_port(), spec.ssh_port()}) {
    if (port > 65535) {
      return absl::InvalidArgumentError(
          absl::StrCat("port ", port, " of the spec is over 65535"));
    }
    if (port != 0) ranges.emplace_back(port, port);
  }
  return ranges;
}

absl::StatusOr<std::vector<Ipv4Address>> HostAddresses(
    const ClusterSpec& spec) {
  std::vector<Ipv4Address> addresses;
  for (const ServerSpec& server : spec.servers()) {
    const auto address = Ipv4Address::Parse(server.address());
    if (!address.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the spec gives no address for ", server.host()));
    }
    addresses.push_back(*address);
  }
  return addresses;
}

// Nothing is in the way of a firewall that is stopped. If an apply had opened
// ports in it, it is drift all the same, and no step starts it again.
void NoteIfStoppedSince(FirewallProgram program, HostPlanBuilder* plan) {
  const std::string lets_in = FirewallFactName(program, "lets in");
  for (const AppliedDrift& drift : plan->facts().drift().value().drifts()) {
    const bool opened =
        std::any_of(drift.goals().begin(), drift.goals().end(),
                    [&lets_in](const AppliedDrift::Goal& goal) {
                      return absl::StartsWith(goal.target(), lets_in);
                    });
    if (!opened) continue;
    plan->Note(absl::StrCat(
        Name(program), " is stopped and does not start at boot, and apply ",
        drift.apply_id(),
        " had opened ports in it and kept it running: start it, or take that "
        "apply back; no step does either"));
    return;
  }
}

// Ranges that are open in one of the two states of firewalld alone.
struct HalfOpen {
  std::vector<std::string> only_now;
  std::vector<std::string> only_permanently;
};

std::string RangeText(const PortSet::Range& range) {
  return range.first == range.second
             ? absl::StrCat(range.first)
             : absl::StrCat(range.first, "-", range.second);
}

// The change that lets in every address on every range, now and permanently.
// `permanently` is nullptr for a firewall that has one state.
FirewallOpenChange OpenWhatIsShut(const std::vector<PortSet::Range>& ranges,
                                  const std::vector<Ipv4Address>& addresses,
                                  const AllowedPorts& now,
                                  const AllowedPorts* permanently,
                                  HalfOpen* half_open) {
  FirewallOpenChange change;
  for (const PortSet::Range& each : ranges) {
    PortSet range;
    range.Add(each.first, each.second);
    std::vector<Ipv4Address> shut_out;
    bool shut_now = false;
    bool shut_later = false;
    for (const Ipv4Address address : addresses) {
      const bool in_now = now.For(address).Contains(range);
      const bool in_later = permanently == nullptr
                                ? in_now
                                : permanently->For(address).Contains(range);
      shut_now = shut_now || !in_now;
      shut_later = shut_later || !in_later;
      if (!in_now || !in_later) shut_out.push_back(address);
    }
    if (shut_now != shut_later) {
      (shut_now ? half_open->only_permanently : half_open->only_now)
          .push_back(RangeText(each));
    }
    for (const Ipv4Subnet& source : CoverExactly(std::move(shut_out))) {
      AllowedPort* port = change.add_ports();
      port->set_first_port(each.first);
      port->set_last_port(each.second);
      port->set_protocol("tcp");
      port->set_source(source.ToString());
    }
  }
  return change;
}

void PlanOpen(const ClusterSpec& spec, FirewallProgram program,
              const FirewallFacts& facts, HostPlanBuilder* plan) {
  const std::string what = absl::StrCat("open ports in ", Name(program));
  const auto block = [&](absl::string_view reason, absl::string_view fix) {
    plan->Block(CHANGE_FIREWALL, {}, what, reason, fix);
  };
  if (!facts.active().value()) {
    if (!facts.enabled_at_boot().value())
      return NoteIfStoppedSince(program, plan);
    return block(absl::StrCat(Name(program),
                              " is stopped but starts at boot, and its rules "
                              "can be changed only while it runs"),
                 "start it, or keep it from starting at boot, then plan again");
  }
  if (facts.allowed().state_case() != AllowedFact::kValue) {
    return block(absl::StrCat("what it lets in is not known: ",
                              MissingText(facts.allowed().missing())),
                 "let clusterd ask it, then plan again");
  }
  const AllowedFact& stored = facts.allowed_permanently();
  if (program == FIREWALLD && stored.state_case() != AllowedFact::kValue) {
    return block(absl::StrCat("what it lets in permanently is not known: ",
                              MissingText(stored.missing())),
                 "let clusterd ask it, then plan again");
  }
  const auto ranges = NeededRanges(spec);
  if (!ranges.ok()) return block(ranges.status().message(), "correct the spec");
  const auto addresses = HostAddresses(spec);
  if (!addresses.ok()) {
    return block(addresses.status().message(), "correct the spec");
  }
  const AllowedPorts now(facts.allowed().value());
  const AllowedPorts permanently(stored.value());
  HalfOpen half_open;
  FirewallOpenChange change =
      OpenWhatIsShut(*ranges, *addresses, now,
                     program == FIREWALLD ? &permanently : nullptr, &half_open);
  if (change.ports().empty()) return;
  change.set_program(program);
  std::vector<std::string> rests_on = {FirewallFactName(program, "active"),
                                       FirewallFactName(program, "lets in")};
  if (program == FIREWALLD) {
    rests_on.push_back(FirewallFactName(program, "lets in permanently"));
  }
  PlanStep* step = plan->AddStep(CHANGE_FIREWALL, rests_on);
  *step->mutable_firewall_open() = std::move(change);
  step->set_precondition(absl::StrCat(Name(program), " is active"));
  step->set_undo("remove exactly these rules; its files byte for byte");
  if (!half_open.only_now.empty()) {
    step->add_consequences(absl::StrCat(
        absl::StrJoin(half_open.only_now, ", "),
        "/tcp: open now but not permanently: without this step the next reload "
        "or reboot shuts it"));
  }
  if (!half_open.only_permanently.empty()) {
    step->add_consequences(absl::StrCat(
        absl::StrJoin(half_open.only_permanently, ", "),
        "/tcp: open permanently but not now: this step lets it in without a "
        "reload"));
  }
}

}  // namespace

void PlanFirewallSteps(const ClusterSpec& spec, HostPlanBuilder* plan) {
  if (spec.firewall() != FIREWALL_DISABLED &&
      spec.firewall() != FIREWALL_OPEN_PORTS) {
    return;
  }
  const std::pair<FirewallProgram, const FirewallFacts*> firewalls[] = {
      {UFW, &plan->facts().ufw()}, {FIREWALLD, &plan->facts().firewalld()}};
  for (const auto& [program, facts] : firewalls) {
    const std::string why = WhyUnknown(*facts);
    if (!why.empty()) {
      plan->Block(CHANGE_FIREWALL, {}, Name(program),
                  absl::StrCat("its state is not known: ", why),
                  "let clusterd ask it, then plan again");
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
