#include "config/plan/step_check.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
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

struct Mismatch {
  std::string why;
  bool untold = false;
};

Mismatch MakeMismatch(absl::string_view name, const std::string& now,
                      absl::string_view wanted) {
  return {absl::StrCat(name, " is ", now, ", applied was ", wanted),
          now == kUnknownFact};
}

// Whether a kernel parameter is at least what was applied.
bool Reaches(const std::string& key, const std::string& now,
             const std::string& to) {
  if (key == kReservedPortsKey) {
    const auto have = PortSet::Parse(now);
    const auto want = PortSet::Parse(to);
    return have.ok() && want.ok() && have->Contains(*want);
  }
  uint64_t have = 0;
  uint64_t want = 0;
  return absl::SimpleAtoi(now, &have) && absl::SimpleAtoi(to, &want) &&
         have >= want;
}

// What a host's facts say, made ready once for all steps.
class CheckedFacts {
 public:
  explicit CheckedFacts(const HostFacts& facts)
      : facts_(facts), named_(NameFacts(facts)) {}

  const HostFacts& facts() const { return facts_; }
  const NamedFacts& named() const { return named_; }
  const FirewallFacts& Firewall(FirewallProgram program) const {
    return program == UFW ? facts_.ufw() : facts_.firewalld();
  }
  // A firewall may have thousands of rules, and be asked for each of them.
  const AllowedPorts& LetsIn(FirewallProgram program) {
    return Made(program == UFW ? &ufw_ : &firewalld_,
                Firewall(program).allowed());
  }
  // Of firewalld, the only one that stores rules apart from what runs.
  const AllowedPorts& LetsInPermanently() {
    return Made(&firewalld_stored_, facts_.firewalld().allowed_permanently());
  }

 private:
  static const AllowedPorts& Made(std::optional<AllowedPorts>* ports,
                                  const AllowedFact& fact) {
    if (!*ports) ports->emplace(fact.value());
    return **ports;
  }

  const HostFacts& facts_;
  const NamedFacts named_;
  std::optional<AllowedPorts> ufw_;
  std::optional<AllowedPorts> firewalld_;
  std::optional<AllowedPorts> firewalld_stored_;
};

// Collects what is not so about one step.
class StepChecker {
 public:
  explicit StepChecker(CheckedFacts* checked)
      : checked_(*checked),
        facts_(checked->facts()),
        named_(checked->named()) {}

  std::vector<Mismatch> Check(const PlanStep& step) &&;

 private:
  std::string Now(const std::string& name) const {
    const auto found = named_.find(name);
    const std::string now =
        found == named_.end() ? kUnknownFact : found->second;
    // Of a file that is not there every key is known not to be there.
    const bool gone = facts_.hccn_conf().missing().reason() == Missing::ABSENT;
    return now == kUnknownFact && gone && absl::StartsWith(name, "hccn.conf: ")
               ? "none"
               : now;
  }
  void Expect(const std::string& name, const std::string& wanted) {
    const std::string now = Now(name);
    if (now != wanted) found_.push_back(MakeMismatch(name, now, wanted));
  }
  void ExpectSysctl(const std::string& name, const std::string& key,
                    const std::string& now, const std::string& to) {
    if (!Reaches(key, now, to)) found_.push_back(MakeMismatch(name, now, to));
  }
  void ExpectAddress(uint32_t device, const Ipv4Setting& to) {
    Expect(DeviceFactName(device, "address"), Pair(to));
    Expect(HccnConfFactName("address", device), to.address());
    Expect(HccnConfFactName("netmask", device), to.netmask());
  }
  void ExpectText(uint32_t device, const char* fact, const char* key,
                  const std::string& to) {
    Expect(DeviceFactName(device, fact), to);
    Expect(HccnConfFactName(key, device), to);
  }
  void ExpectTls(uint32_t device, bool on) {
    Expect(DeviceFactName(device, "tls"), on ? "on" : "off");
    Expect(HccnConfFactName("tls_enable", device), on ? "1" : "0");
  }
  void CheckRewrite(const HccnConfRewriteChange& change);
  void CheckRepair(const HccnConfRepairChange& change);
  void CheckFile(const SysctlFileChange& change);
  void CheckDisabled(FirewallProgram program);
  void CheckOpen(const FirewallOpenChange& change);
  void CheckLetsIn(const FirewallOpenChange& change, const std::string& name,
                   const AllowedFact& fact, const AllowedPorts& allowed);
  // Then nothing else is known about it.
  bool IsNotInstalled(FirewallProgram program) const {
    const FirewallFacts& facts = checked_.Firewall(program);
    return facts.installed().state_case() == BoolFact::kValue &&
           !facts.installed().value() &&
           facts.active().state_case() == BoolFact::STATE_NOT_SET;
  }

  CheckedFacts& checked_;
  const HostFacts& facts_;
  const NamedFacts& named_;
  std::vector<Mismatch> found_;
};

void StepChecker::CheckRewrite(const HccnConfRewriteChange& change) {
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

void StepChecker::CheckRepair(const HccnConfRepairChange& change) {
  const HccnConfFact& fact = facts_.hccn_conf();
  if (fact.missing().reason() == Missing::ABSENT) return;
  if (fact.state_case() != HccnConfFact::kValue) {
    found_.push_back(MakeMismatch(kHccnConfFormFact, kUnknownFact, "none"));
    return;
  }
  for (const HccnConf::Problem& now : fact.value().problems()) {
    for (const HccnConf::Problem& repaired : change.problems()) {
      if (now.kind() != repaired.kind()) continue;
      found_.push_back(
          MakeMismatch(kHccnConfFormFact,
                       absl::StrCat(HccnConf::Problem::Kind_Name(now.kind()),
                                    " in line ", now.line()),
                       "none"));
    }
  }
}

void StepChecker::CheckFile(const SysctlFileChange& change) {
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
    ExpectSysctl(AtBootFactName(setting.key()), setting.key(), wins,
                 setting.to());
  }
}

void StepChecker::CheckDisabled(FirewallProgram program) {
  if (IsNotInstalled(program)) return;
  Expect(FirewallFactName(program, "active"), "no");
  Expect(FirewallFactName(program, "starts at boot"), "no");
}

void StepChecker::CheckLetsIn(const FirewallOpenChange& change,
                              const std::string& name, const AllowedFact& fact,
                              const AllowedPorts& allowed) {
  const bool known = fact.state_case() == AllowedFact::kValue;
  for (const AllowedPort& port : change.ports()) {
    if (allowed.Contains(port)) continue;
    const std::string wanted =
        absl::StrCat(port.first_port(), "-", port.last_port(), "/",
                     port.protocol(), " from ", port.source());
    if (known) {
      found_.push_back({absl::StrCat(name, " lacks ", wanted)});
    } else {
      found_.push_back(MakeMismatch(name, kUnknownFact, wanted));
    }
  }
}

void StepChecker::CheckOpen(const FirewallOpenChange& change) {
  const FirewallProgram program = change.program();
  if (IsNotInstalled(program)) return;
  // Opening keeps the firewall running; of a stopped one no rules are known.
  const std::string active = FirewallFactName(program, "active");
  if (Now(active) != "yes") return Expect(active, "yes");
  const FirewallFacts& facts = checked_.Firewall(program);
  CheckLetsIn(change, FirewallFactName(program, "lets in"), facts.allowed(),
              checked_.LetsIn(program));
  if (program == UFW) return;
  CheckLetsIn(change, FirewallFactName(program, "lets in permanently"),
              facts.allowed_permanently(), checked_.LetsInPermanently());
}

std::vector<Mismatch> StepChecker::Check(const PlanStep& step) && {
  switch (step.change_case()) {
    case PlanStep::kDeviceAddress:
      ExpectAddress(step.device_address().device(), step.device_address().to());
      break;
    case PlanStep::kGateway:
      ExpectText(step.gateway().device(), "gateway", "gateway",
                 step.gateway().to());
      break;
    case PlanStep::kDetectAddress:
      ExpectText(step.detect_address().device(), "detect address", "netdetect",
                 step.detect_address().to());
      break;
    case PlanStep::kTls:
      ExpectTls(step.tls().device(), step.tls().to());
      break;
    case PlanStep::kHccnConfRewrite:
      CheckRewrite(step.hccn_conf_rewrite());
      break;
    case PlanStep::kHccnConfRepair:
      CheckRepair(step.hccn_conf_repair());
      break;
    case PlanStep::kSysctl:
      ExpectSysctl(step.sysctl().key(), step.sysctl().key(),
                   Now(step.sysctl().key()), step.sysctl().to());
      break;
    case PlanStep::kSysctlFile:
      CheckFile(step.sysctl_file());
      break;
    case PlanStep::kFirewallDisable:
      CheckDisabled(step.firewall_disable().program());
      break;
    case PlanStep::kFirewallOpen:
      CheckOpen(step.firewall_open());
      break;
    case PlanStep::CHANGE_NOT_SET:
      found_.push_back({"a change that this version does not know", true});
  }
  return std::move(found_);
}

StepVerdict VerdictOf(const std::vector<Mismatch>& found) {
  for (const Mismatch& mismatch : found) {
    if (!mismatch.untold) return {StepVerdict::kMoved, mismatch.why};
  }
  if (found.empty()) return {};
  return {StepVerdict::kUntold, found.front().why};
}

}  // namespace

std::string WhyNotSo(const PlanStep& step, const HostFacts& facts) {
  CheckedFacts checked(facts);
  const auto found = StepChecker(&checked).Check(step);
  return found.empty() ? "" : found.front().why;
}

std::vector<StepVerdict> JudgeSteps(absl::Span<const PlanStep> steps,
                                    const HostFacts& facts) {
  CheckedFacts checked(facts);
  std::vector<StepVerdict> verdicts;
  for (const PlanStep& step : steps) {
    verdicts.push_back(VerdictOf(StepChecker(&checked).Check(step)));
  }
  return verdicts;
}

std::vector<DriftedStep> FindDrift(const HostPlan& plan,
                                   const HostFacts& facts) {
  CheckedFacts checked(facts);
  std::vector<DriftedStep> drifted;
  for (const PlanStep& step : plan.steps()) {
    const auto found = StepChecker(&checked).Check(step);
    if (!found.empty()) drifted.push_back({step.id(), found.front().why});
  }
  return drifted;
}

}  // namespace clusterd
