#include "config/plan/step_check.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "config/plan/allowed_ports.h"
#include "config/plan/named_facts.h"
#include "config/plan/sysctl_file.h"
#include "config/spec/port_set.h"

namespace clusterd {
namespace {

std::string Pair(const Ipv4Setting& setting) {
  return absl::StrCat(setting.address(), "/", setting.netmask());
}

// Whether a kernel parameter is at least what was applied.
std::string CompareSysctl(const std::string& name, const std::string& key,
                          const std::string& now, const std::string& to) {
  bool is_so = false;
  if (key == kReservedPortsKey) {
    const auto have = PortSet::Parse(now);
    const auto want = PortSet::Parse(to);
    is_so = have.ok() && want.ok() && have->Contains(*want);
  } else {
    uint64_t have = 0;
    uint64_t want = 0;
    is_so = absl::SimpleAtoi(now, &have) && absl::SimpleAtoi(to, &want) &&
            have >= want;
  }
  return is_so ? "" : absl::StrCat(name, " is ", now, ", applied was ", to);
}

class StepChecker {
 public:
  explicit StepChecker(const HostFacts& facts)
      : facts_(facts), named_(NameFacts(facts)) {}

  std::string Check(const PlanStep& step) const;

 private:
  std::string Now(const std::string& name) const {
    const auto found = named_.find(name);
    return found == named_.end() ? kUnknownFact : found->second;
  }
  std::string Expect(const std::string& name, const std::string& wanted) const {
    const std::string now = Now(name);
    if (now == wanted) return "";
    return absl::StrCat(name, " is ", now, ", applied was ", wanted);
  }
  // The first that says something.
  static std::string First(const std::string& a, const std::string& b) {
    return a.empty() ? b : a;
  }
  std::string ExpectAddress(uint32_t device, const Ipv4Setting& to) const {
    return First(
        Expect(DeviceFactName(device, "address"), Pair(to)),
        First(Expect(HccnConfFactName("address", device), to.address()),
              Expect(HccnConfFactName("netmask", device), to.netmask())));
  }
  std::string ExpectText(uint32_t device, const char* fact, const char* key,
                         const std::string& to) const {
    return First(Expect(DeviceFactName(device, fact), to),
                 Expect(HccnConfFactName(key, device), to));
  }
  std::string ExpectTls(uint32_t device, bool on) const {
    return First(
        Expect(DeviceFactName(device, "tls"), on ? "on" : "off"),
        Expect(HccnConfFactName("tls_enable", device), on ? "1" : "0"));
  }
  std::string CheckRewrite(const HccnConfRewriteChange& change) const;
  std::string CheckRepair(const HccnConfRepairChange& change) const;
  std::string CheckFile(const SysctlFileChange& change) const;
  std::string CheckFirewall(FirewallProgram program,
                            const FirewallOpenChange* open) const;

  const HostFacts& facts_;
  const NamedFacts named_;
};

std::string StepChecker::CheckRewrite(
    const HccnConfRewriteChange& change) const {
  switch (change.setting()) {
    case HccnConfRewriteChange::ADDRESS: {
      const size_t slash = change.live().find('/');
      Ipv4Setting setting;
      setting.set_address(change.live().substr(0, slash));
      if (slash != std::string::npos) {
        setting.set_netmask(change.live().substr(slash + 1));
      }
      return ExpectAddress(change.device(), setting);
    }
    case HccnConfRewriteChange::GATEWAY:
      return ExpectText(change.device(), "gateway", "gateway", change.live());
    case HccnConfRewriteChange::DETECT_ADDRESS:
      return ExpectText(change.device(), "detect address", "netdetect",
                        change.live());
    default:
      return ExpectTls(change.device(), change.live() == "1");
  }
}

std::string StepChecker::CheckRepair(const HccnConfRepairChange& change) const {
  if (facts_.hccn_conf().state_case() != HccnConfFact::kValue) {
    return absl::StrCat(kHccnConfFormFact, " is ", kUnknownFact);
  }
  for (const HccnConf::Problem& now : facts_.hccn_conf().value().problems()) {
    for (const HccnConf::Problem& repaired : change.problems()) {
      if (now.kind() != repaired.kind()) continue;
      return absl::StrCat(kHccnConfFormFact, " is ",
                          HccnConf::Problem::Kind_Name(now.kind()), " in line ",
                          now.line(), ", applied was none");
    }
  }
  return "";
}

std::string StepChecker::CheckFile(const SysctlFileChange& change) const {
  const KernelFacts& kernel = facts_.kernel();
  for (const SysctlFileChange::Setting& setting : change.settings()) {
    const PersistentValueFact& fact =
        setting.key() == kReservedPortsKey ? kernel.reserved_ports_at_boot()
        : setting.key() == kSomaxconnKey   ? kernel.somaxconn_at_boot()
                                         : kernel.tcp_max_syn_backlog_at_boot();
    std::string wins = kUnknownFact;
    if (fact.state_case() == PersistentValueFact::kValue) {
      wins = "none";
      for (const auto& each : fact.value().assignments()) wins = each.value();
    }
    const std::string why = CompareSysctl(AtBootFactName(setting.key()),
                                          setting.key(), wins, setting.to());
    if (!why.empty()) return why;
  }
  return "";
}

std::string StepChecker::CheckFirewall(FirewallProgram program,
                                       const FirewallOpenChange* open) const {
  if (open == nullptr) {
    return First(Expect(FirewallFactName(program, "active"), "no"),
                 Expect(FirewallFactName(program, "starts at boot"), "no"));
  }
  const FirewallFacts& facts =
      program == UFW ? facts_.ufw() : facts_.firewalld();
  if (facts.active().state_case() != BoolFact::kValue) {
    return Expect(FirewallFactName(program, "active"), "yes");
  }
  // Stopped since: nothing is in the way of these ports.
  if (!facts.active().value()) return "";
  const AllowedPorts allowed(facts.allowed().value());
  for (const AllowedPort& port : open->ports()) {
    if (allowed.Contains(port)) continue;
    return absl::StrCat(FirewallFactName(program, "lets in"), " lacks ",
                        port.first_port(), "-", port.last_port(), "/",
                        port.protocol(), " from ", port.source());
  }
  return "";
}

std::string StepChecker::Check(const PlanStep& step) const {
  switch (step.change_case()) {
    case PlanStep::kDeviceAddress:
      return ExpectAddress(step.device_address().device(),
                           step.device_address().to());
    case PlanStep::kGateway:
      return ExpectText(step.gateway().device(), "gateway", "gateway",
                        step.gateway().to());
    case PlanStep::kDetectAddress:
      return ExpectText(step.detect_address().device(), "detect address",
                        "netdetect", step.detect_address().to());
    case PlanStep::kTls:
      return ExpectTls(step.tls().device(), step.tls().to());
    case PlanStep::kHccnConfRewrite:
      return CheckRewrite(step.hccn_conf_rewrite());
    case PlanStep::kHccnConfRepair:
      return CheckRepair(step.hccn_conf_repair());
    case PlanStep::kSysctl:
      return CompareSysctl(step.sysctl().key(), step.sysctl().key(),
                           Now(step.sysctl().key()), step.sysctl().to());
    case PlanStep::kSysctlFile:
      return CheckFile(step.sysctl_file());
    case PlanStep::kFirewallDisable:
      return CheckFirewall(step.firewall_disable().program(), nullptr);
    case PlanStep::kFirewallOpen:
      return CheckFirewall(step.firewall_open().program(),
                           &step.firewall_open());
    case PlanStep::CHANGE_NOT_SET:
      break;
  }
  return "a change that this version does not know";
}

}  // namespace

std::string WhyNotSo(const PlanStep& step, const HostFacts& facts) {
  return StepChecker(facts).Check(step);
}

std::vector<DriftedStep> FindDrift(const HostPlan& plan,
                                   const HostFacts& facts) {
  const StepChecker checker(facts);
  std::vector<DriftedStep> drifted;
  for (const PlanStep& step : plan.steps()) {
    std::string why = checker.Check(step);
    if (!why.empty()) drifted.push_back({step.id(), std::move(why)});
  }
  return drifted;
}

}  // namespace clusterd
