#include "config/plan/step_goals.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/plan/named_facts.h"

namespace clusterd {
namespace {

using Goal = AppliedDrift::Goal;

constexpr char kLetsIn[] = "lets in";

Goal MakeGoal(std::string target, std::string to) {
  Goal goal;
  goal.set_target(std::move(target));
  goal.set_to(std::move(to));
  return goal;
}

Goal RewriteGoal(const HccnConfRewriteChange& change) {
  const auto named = [&change](const char* what) {
    return DeviceFactName(change.device(), what);
  };
  switch (change.setting()) {
    case HccnConfRewriteChange::ADDRESS:
      return MakeGoal(named("address"), change.live());
    case HccnConfRewriteChange::GATEWAY:
      return MakeGoal(named("gateway"), change.live());
    case HccnConfRewriteChange::DETECT_ADDRESS:
      return MakeGoal(named("detect address"), change.live());
    default:
      return MakeGoal(named("tls"), change.live() == "1" ? "on" : "off");
  }
}

std::string PortTarget(FirewallProgram program, const AllowedPort& port) {
  return absl::StrCat(FirewallFactName(program, kLetsIn), " ",
                      port.first_port(), "-", port.last_port(), "/",
                      port.protocol(), " from ", port.source());
}

}  // namespace

std::vector<Goal> GoalsOf(const PlanStep& step) {
  std::vector<Goal> goals;
  switch (step.change_case()) {
    case PlanStep::kDeviceAddress:
      return {
          MakeGoal(DeviceFactName(step.device_address().device(), "address"),
                   absl::StrCat(step.device_address().to().address(), "/",
                                step.device_address().to().netmask()))};
    case PlanStep::kGateway:
      return {MakeGoal(DeviceFactName(step.gateway().device(), "gateway"),
                       step.gateway().to())};
    case PlanStep::kDetectAddress:
      return {MakeGoal(
          DeviceFactName(step.detect_address().device(), "detect address"),
          step.detect_address().to())};
    case PlanStep::kTls:
      return {MakeGoal(DeviceFactName(step.tls().device(), "tls"),
                       step.tls().to() ? "on" : "off")};
    case PlanStep::kHccnConfRewrite:
      return {RewriteGoal(step.hccn_conf_rewrite())};
    case PlanStep::kHccnConfRepair:
      for (const auto& problem : step.hccn_conf_repair().problems()) {
        goals.push_back(
            MakeGoal(absl::StrCat("hccn.conf: ",
                                  HccnConf::Problem::Kind_Name(problem.kind())),
                     "repaired"));
      }
      return goals;
    case PlanStep::kSysctl:
      return {MakeGoal(step.sysctl().key(), step.sysctl().to())};
    case PlanStep::kSysctlFile:
      for (const auto& setting : step.sysctl_file().settings()) {
        goals.push_back(MakeGoal(AtBootFactName(setting.key()), setting.to()));
      }
      return goals;
    case PlanStep::kFirewallDisable:
      return {MakeGoal(
          FirewallFactName(step.firewall_disable().program(), "active"), "no")};
    case PlanStep::kFirewallOpen:
      for (const AllowedPort& port : step.firewall_open().ports()) {
        goals.push_back(
            MakeGoal(PortTarget(step.firewall_open().program(), port), "yes"));
      }
      return goals;
    case PlanStep::CHANGE_NOT_SET:
      break;
  }
  return goals;
}

std::vector<PlanStep> SplitByGoal(const PlanStep& step) {
  std::vector<PlanStep> parts;
  const auto split = [&](const auto& all, auto list_of) {
    // Without the list, which may be long: it would be copied for each part.
    PlanStep shell = step;
    list_of(&shell)->Clear();
    for (const auto& each : all) {
      parts.push_back(shell);
      *list_of(&parts.back())->Add() = each;
    }
  };
  if (step.has_hccn_conf_repair()) {
    split(step.hccn_conf_repair().problems(), [](PlanStep* part) {
      return part->mutable_hccn_conf_repair()->mutable_problems();
    });
  } else if (step.has_sysctl_file()) {
    split(step.sysctl_file().settings(), [](PlanStep* part) {
      return part->mutable_sysctl_file()->mutable_settings();
    });
  } else if (step.has_firewall_open()) {
    split(step.firewall_open().ports(), [](PlanStep* part) {
      return part->mutable_firewall_open()->mutable_ports();
    });
  } else if (step.change_case() != PlanStep::CHANGE_NOT_SET) {
    parts.push_back(step);
  }
  return parts;
}

void TakenTargets::Add(const PlanStep& step) {
  for (const Goal& goal : GoalsOf(step)) targets_.insert(goal.target());
  for (const HccnConf::Entry& entry : step.device_address().dropped()) {
    if (entry.key() != "gateway") continue;
    targets_.insert(DeviceFactName(step.device_address().device(), "gateway"));
  }
  if (step.has_firewall_disable()) {
    targets_.insert(
        FirewallFactName(step.firewall_disable().program(), kLetsIn));
  }
  if (step.has_firewall_open()) {
    targets_.insert(FirewallFactName(step.firewall_open().program(), "active"));
  }
}

bool TakenTargets::Has(const std::string& target) const {
  if (targets_.count(target) > 0) return true;
  for (const FirewallProgram program : {UFW, FIREWALLD}) {
    const std::string all = FirewallFactName(program, kLetsIn);
    if (absl::StartsWith(target, all) && targets_.count(all) > 0) return true;
  }
  return false;
}

}  // namespace clusterd
