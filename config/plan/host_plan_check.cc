#include "config/plan/host_plan_check.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/named_facts.h"
#include "config/plan/plan_text.h"
#include "config/plan/sysctl_file.h"
#include "config/spec/change_kind.h"
#include "config/spec/ipv4.h"
#include "config/spec/network_namespace.h"

namespace clusterd {
namespace {

constexpr int kMaxSteps = 4096;
constexpr int kMaxFacts = 65536;
constexpr uint32_t kMaxDevice = 63;
// A plan opens ports for exactly the cluster's hosts: one block of /16 already
// holds 65,536 of them in a row.
constexpr int kMinSourcePrefix = 16;

absl::Status Bad(absl::string_view what, absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", value.substr(0, 80), "\" is not one to set"));
}

bool IsAddress(const std::string& text) {
  return Ipv4Address::Parse(text).ok();
}

// An address that was there before, or none.
bool IsAddressOrNone(const std::string& text) {
  return text.empty() || IsAddress(text);
}

absl::Status Check(const DeviceAddressChange& change) {
  const auto to =
      Ipv4Interface::Parse(change.to().address(), change.to().netmask());
  if (!to.ok() || to->address().IsUnset() || to->prefix_length() == 0) {
    return Bad("address",
               absl::StrCat(change.to().address(), "/", change.to().netmask()));
  }
  if (!change.from().address().empty() &&
      !Ipv4Interface::Parse(change.from().address(), change.from().netmask())
           .ok()) {
    return Bad("earlier address", change.from().address());
  }
  for (const HccnConf::Entry& entry : change.dropped()) {
    const bool is_route = entry.key() == "gateway" ||
                          entry.key() == "ip_route" ||
                          absl::StartsWith(entry.key(), "route_address_");
    if (!is_route || !entry.has_device() || entry.device() != change.device() ||
        absl::StrContains(entry.key(), '\n') ||
        absl::StrContains(entry.value(), '\n')) {
      return Bad("dropped key", entry.key());
    }
  }
  return absl::OkStatus();
}

absl::Status Check(const GatewayChange& change) {
  const auto to = Ipv4Address::Parse(change.to());
  if (!to.ok() || to->IsUnset()) return Bad("gateway", change.to());
  if (!IsAddressOrNone(change.from())) {
    return Bad("earlier gateway", change.from());
  }
  return absl::OkStatus();
}

absl::Status Check(const DetectAddressChange& change) {
  const auto to = Ipv4Address::Parse(change.to());
  if (!to.ok() || to->IsUnset()) return Bad("detect address", change.to());
  if (!IsAddressOrNone(change.from())) {
    return Bad("earlier detect address", change.from());
  }
  return absl::OkStatus();
}

absl::Status Check(const HccnConfRewriteChange& change) {
  const std::string& live = change.live();
  switch (change.setting()) {
    case HccnConfRewriteChange::ADDRESS: {
      const size_t slash = live.find('/');
      if (slash == std::string::npos ||
          !Ipv4Interface::Parse(live.substr(0, slash), live.substr(slash + 1))
               .ok()) {
        return Bad("address", live);
      }
      return absl::OkStatus();
    }
    case HccnConfRewriteChange::GATEWAY:
    case HccnConfRewriteChange::DETECT_ADDRESS:
      return IsAddress(live) ? absl::OkStatus() : Bad("address", live);
    case HccnConfRewriteChange::TLS:
      return live == "0" || live == "1" ? absl::OkStatus()
                                        : Bad("TLS switch", live);
    default:
      return Bad("hccn.conf setting", absl::StrCat(change.setting()));
  }
}

absl::Status Check(const HccnConfRepairChange& change) {
  if (change.problems().empty()) return Bad("repair", "of nothing");
  for (const HccnConf::Problem& problem : change.problems()) {
    if (!IsRepairable(problem)) {
      return Bad("repair", HccnConf::Problem::Kind_Name(problem.kind()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSysctlValue(const std::string& key,
                              const std::string& value) {
  const auto canonical = CanonicalSysctlValue(key, value);
  if (!canonical.ok()) return canonical.status();
  return *canonical == value ? absl::OkStatus() : Bad(key, value);
}

absl::Status Check(const SysctlFileChange& change) {
  if (change.path() != kSysctlFile) return Bad("file", change.path());
  if (change.settings().empty()) return Bad("file", "without settings");
  for (const SysctlFileChange::Setting& setting : change.settings()) {
    const absl::Status status = CheckSysctlValue(setting.key(), setting.to());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckProgram(FirewallProgram program) {
  return program == UFW || program == FIREWALLD
             ? absl::OkStatus()
             : Bad("firewall", absl::StrCat(program));
}

absl::Status Check(const FirewallOpenChange& change) {
  if (change.ports().empty()) return Bad("ports", "none");
  for (const AllowedPort& port : change.ports()) {
    const auto source = Ipv4Subnet::Parse(port.source());
    // Never from everywhere, in one piece or in halves.
    if (!source.ok() || source->prefix_length() < kMinSourcePrefix) {
      return Bad("source", port.source());
    }
    if (port.first_port() == 0 || port.first_port() > port.last_port() ||
        port.last_port() > 65535 || port.protocol() != "tcp") {
      return Bad("port", absl::StrCat(port.first_port(), "-", port.last_port(),
                                      "/", port.protocol()));
    }
  }
  return CheckProgram(change.program());
}

absl::Status CheckChange(const PlanStep& step) {
  switch (step.change_case()) {
    case PlanStep::kDeviceAddress:
      return Check(step.device_address());
    case PlanStep::kGateway:
      return Check(step.gateway());
    case PlanStep::kDetectAddress:
      return Check(step.detect_address());
    case PlanStep::kTls:
      return absl::OkStatus();
    case PlanStep::kHccnConfRewrite:
      return Check(step.hccn_conf_rewrite());
    case PlanStep::kHccnConfRepair:
      return Check(step.hccn_conf_repair());
    case PlanStep::kSysctl:
      return CheckSysctlValue(step.sysctl().key(), step.sysctl().to());
    case PlanStep::kSysctlFile:
      return Check(step.sysctl_file());
    case PlanStep::kFirewallDisable:
      return CheckProgram(step.firewall_disable().program());
    case PlanStep::kFirewallOpen:
      return Check(step.firewall_open());
    case PlanStep::CHANGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a change that this version does not know");
}

absl::Status CheckStep(const HostPlan& plan, int index) {
  const PlanStep& step = plan.steps(index);
  if (step.id() != static_cast<uint32_t>(index) + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has number ", step.id(), ", expected ", index + 1));
  }
  if (step.kind() == CHANGE_KIND_UNSPECIFIED ||
      step.kind() != KindOfChange(step)) {
    return absl::InvalidArgumentError(
        absl::StrCat("kind \"", ChangeKindName(step.kind()),
                     "\" is not that of its change, expected \"",
                     ChangeKindName(KindOfChange(step)), "\""));
  }
  for (const uint32_t device : DevicesOf(step)) {
    if (device > kMaxDevice) return Bad("device", absl::StrCat(device));
  }
  return CheckChange(step);
}

// In another network namespace there are only running parameters, and a plan
// for it must notice when the name leads to a new one.
absl::Status CheckNamespace(const HostPlan& plan) {
  if (!plan.has_network_namespace()) return absl::OkStatus();
  const NetworkNamespace& target = plan.network_namespace();
  if (target.target_case() == NetworkNamespace::TARGET_NOT_SET) {
    return absl::InvalidArgumentError(
        "plan: its network namespace has no name");
  }
  const absl::Status valid = CheckNetworkNamespace(target);
  if (!valid.ok()) {
    return absl::Status(valid.code(), absl::StrCat("plan: ", valid.message()));
  }
  for (const PlanStep& step : plan.steps()) {
    if (step.has_sysctl()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "plan step ", step.id(), ": \"", StepText(step),
        "\" is no change of a network namespace, expected only running kernel "
        "parameters in ",
        NetworkNamespaceText(target)));
  }
  const bool knows_it = std::any_of(
      plan.facts().begin(), plan.facts().end(), [](const PlanFact& fact) {
        return fact.name() == kNetworkNamespaceFact;
      });
  if (plan.steps().empty() || knows_it) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("plan: its steps do not rest on the fact \"",
                   kNetworkNamespaceFact, "\""));
}

}  // namespace

ChangeKind KindOfChange(const PlanStep& step) {
  switch (step.change_case()) {
    case PlanStep::kDeviceAddress:
    case PlanStep::kGateway:
    case PlanStep::kDetectAddress:
      return CHANGE_DEVICE_ADDRESS;
    case PlanStep::kTls:
      return CHANGE_TLS;
    case PlanStep::kHccnConfRewrite:
    case PlanStep::kHccnConfRepair:
      return CHANGE_HCCN_CONF;
    case PlanStep::kSysctl:
    case PlanStep::kSysctlFile:
      return CHANGE_SYSCTL;
    case PlanStep::kFirewallDisable:
    case PlanStep::kFirewallOpen:
      return CHANGE_FIREWALL;
    case PlanStep::CHANGE_NOT_SET:
      break;
  }
  return CHANGE_KIND_UNSPECIFIED;
}

absl::Status CheckHostPlan(const HostPlan& plan) {
  if (plan.steps_size() > kMaxSteps || plan.facts_size() > kMaxFacts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan: ", plan.steps_size(), " steps on ", plan.facts_size(),
        " facts, expected at most ", kMaxSteps, " on ", kMaxFacts));
  }
  if (!plan.steps().empty() && plan.facts().empty()) {
    return absl::InvalidArgumentError("plan: its steps rest on no fact");
  }
  for (int i = 0; i < plan.steps_size(); ++i) {
    const absl::Status status = CheckStep(plan, i);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("plan step ", i + 1, ": ",
                                                      status.message()));
    }
  }
  return CheckNamespace(plan);
}

}  // namespace clusterd
