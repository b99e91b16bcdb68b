#include "config/plan/sysctl_steps.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/plan/named_facts.h"
#include "config/plan/sysctl_file.h"
#include "config/spec/namespace_facts.h"
#include "config/spec/port_set.h"

namespace clusterd {
namespace {

constexpr uint64_t kLargestNumber = 2147483647;
// What HCCL itself advises at most.
constexpr uint64_t kRanksAsked = 65535;

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// What the spec asks of one kernel parameter: ports that are reserved, or a
// number that is reached.
class Requirement {
 public:
  Requirement(absl::string_view key, const PortSet& ports)
      : key_(key), ports_(ports), is_set_(true) {}
  Requirement(absl::string_view key, uint64_t number)
      : key_(key), number_(number) {}

  const std::string& key() const { return key_; }

  // `value`, in canonical form, changed as little as possible so that it meets
  // this. InvalidArgument: it is not a value of this parameter.
  absl::StatusOr<std::string> Meet(absl::string_view value) const;
  // Whether it does already; false for what is not a value.
  bool IsMetBy(absl::string_view value) const;

  std::string ToString() const {
    return is_set_ ? ports_.ToString() : absl::StrCat(number_);
  }

 private:
  std::string key_;
  PortSet ports_;
  uint64_t number_ = 0;
  bool is_set_ = false;
};

absl::StatusOr<std::string> Requirement::Meet(absl::string_view value) const {
  value = absl::StripAsciiWhitespace(value);
  if (is_set_) {
    absl::StatusOr<PortSet> ports = PortSet::Parse(value);
    if (!ports.ok()) return ports.status();
    ports->Add(ports_);
    return ports->ToString();
  }
  uint64_t number = 0;
  if (!absl::SimpleAtoi(value, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", value, "\" is not a number"));
  }
  return absl::StrCat(std::max(number, number_));
}

bool Requirement::IsMetBy(absl::string_view value) const {
  Requirement nothing = *this;
  nothing.ports_ = PortSet();
  nothing.number_ = 0;
  const absl::StatusOr<std::string> canonical = nothing.Meet(value);
  return canonical.ok() && *canonical == Meet(value).value_or("");
}

bool IsOfNamespace(const HostPlanBuilder& plan) {
  return !plan.facts().network_namespace().empty();
}

void BlockUnknown(const std::string& what, const Missing& missing,
                  HostPlanBuilder* plan) {
  if (IsOfNamespace(*plan) && missing.reason() == Missing::ABSENT) {
    plan->Block(
        CHANGE_SYSCTL, {}, what,
        absl::StrCat("it does not exist in ", plan->facts().network_namespace(),
                     ": ", MissingText(missing)),
        "set it on the host (clusterctl plan without --netns), where "
        "it holds for all, or update the host's kernel");
    return;
  }
  plan->Block(
      CHANGE_SYSCTL, {}, what,
      absl::StrCat("its running value is not known: ", MissingText(missing)),
      "let clusterd read /proc/sys on this host, then plan again");
}

// Whether the value can be written at all; blocks it if not.
bool IsWritable(const std::string& key, const std::string& wanted,
                HostPlanBuilder* plan) {
  const BoolFact& writable = plan->facts().kernel().proc_sys_writable();
  if (writable.state_case() != BoolFact::kValue || writable.value()) {
    return true;
  }
  const std::string by_hand =
      "run clusterd on the host itself, where /proc/sys is writable";
  plan->Block(CHANGE_SYSCTL, {}, absl::StrCat(key, " ", wanted),
              "/proc/sys is read-only where clusterd runs",
              IsOfNamespace(*plan) && !SharesHostNetwork(plan->facts())
                  ? absl::StrCat("make the container anew with docker run "
                                 "--sysctl ",
                                 key, "=", wanted, ", or ", by_hand)
                  : by_hand);
  return false;
}

// Returns what the parameter will be after the plan; "" if that is not known.
std::string PlanRunning(const Requirement& requirement, bool known,
                        const Missing& missing, const std::string& now,
                        HostPlanBuilder* plan) {
  const std::string& key = requirement.key();
  const std::string what = absl::StrCat(key, " ", requirement.ToString());
  if (!known) {
    BlockUnknown(what, missing, plan);
    return "";
  }
  const absl::StatusOr<std::string> wanted = requirement.Meet(now);
  if (!wanted.ok()) {
    plan->Block(CHANGE_SYSCTL, {}, what,
                absl::StrCat("its running value is not readable: ",
                             wanted.status().message()),
                "set it by hand, then plan again");
    return "";
  }
  if (requirement.IsMetBy(now)) return *wanted;
  if (!IsWritable(key, *wanted, plan)) return "";
  const std::string from(absl::StripAsciiWhitespace(now));
  std::vector<std::string> rests_on = {key};
  if (IsOfNamespace(*plan)) rests_on.push_back(kNetworkNamespaceFact);
  PlanStep* step = plan->AddStep(CHANGE_SYSCTL, rests_on);
  SysctlChange* change = step->mutable_sysctl();
  change->set_key(key);
  change->set_from(from);
  change->set_to(*wanted);
  step->set_precondition(
      absl::StrCat(key, " is ", from.empty() ? std::string("empty") : from));
  step->set_undo(absl::StrCat(
      "write ", from.empty() ? std::string("an empty list") : from));
  if (key == kSomaxconnKey) {
    step->add_consequences(
        "sockets that listen already keep their old limit until they are "
        "opened again");
  }
  return *wanted;
}

// Adds to `file` what the next boot lacks.
void PlanAtBoot(const Requirement& requirement, const std::string& running,
                const PersistentValueFact& fact, SysctlFileChange* file,
                HostPlanBuilder* plan) {
  const std::string& key = requirement.key();
  const std::string what =
      absl::StrCat(key, " ", requirement.ToString(), " at boot");
  if (fact.state_case() != PersistentValueFact::kValue) {
    plan->Block(CHANGE_SYSCTL, {}, what,
                absl::StrCat("what sysctl.d sets is not known: ",
                             MissingText(fact.missing())),
                "let clusterd read /etc/sysctl.d, then plan again");
    return;
  }
  if (running.empty()) return;  // Blocked already, with the running value.
  std::string in_our_file;
  std::string wins;
  const PersistentValue::Assignment* later = nullptr;
  for (const PersistentValue::Assignment& each : fact.value().assignments()) {
    wins = each.value();
    if (each.file() == kSysctlFile) in_our_file = each.value();
    if (BaseName(each.file()) > BaseName(kSysctlFile)) later = &each;
  }
  const absl::StatusOr<std::string> met = requirement.Meet(wins);
  const bool any = !fact.value().assignments().empty();
  if (any && requirement.IsMetBy(wins)) return;
  // Both what runs now and what the next boot would have set are kept.
  const Requirement kept = key == kReservedPortsKey
                               ? Requirement(key, *PortSet::Parse(running))
                               : requirement;
  const std::string wanted =
      kept.Meet(met.ok() && any ? *met : running).value_or(running);
  if (later != nullptr) {
    plan->Block(
        CHANGE_SYSCTL, {}, what,
        absl::StrCat(later->file(), ":", later->line(), " sets \"",
                     later->value(), "\" and is applied after ", kSysctlFile),
        absl::StrCat("write \"", key, " = ", wanted,
                     "\" in that line, or "
                     "delete it, then plan again"));
    return;
  }
  SysctlFileChange::Setting* setting = file->add_settings();
  setting->set_key(key);
  setting->set_from(in_our_file);
  setting->set_to(wanted);
}

void PlanNumber(absl::string_view key, uint64_t number, const NumberFact& fact,
                const PersistentValueFact& at_boot, bool persistent,
                SysctlFileChange* file, HostPlanBuilder* plan) {
  if (number == 0) return;
  if (number > kLargestNumber) {
    plan->Block(CHANGE_SYSCTL, {}, absl::StrCat(key, " ", number),
                absl::StrCat("the kernel takes at most ", kLargestNumber),
                "correct the spec");
    return;
  }
  const Requirement requirement(key, number);
  const std::string running =
      PlanRunning(requirement, fact.state_case() == NumberFact::kValue,
                  fact.missing(), absl::StrCat(fact.value()), plan);
  if (persistent) PlanAtBoot(requirement, running, at_boot, file, plan);
}

void PlanPorts(const HcclSpec& hccl, const KernelFacts& facts, bool persistent,
               SysctlFileChange* file, HostPlanBuilder* plan) {
  if (hccl.port_count() == 0) return;
  const uint64_t last = uint64_t{hccl.base_port()} + hccl.port_count() - 1;
  if (last > 65535) {
    plan->Block(CHANGE_SYSCTL, {}, absl::StrCat(kReservedPortsKey),
                absl::StrCat("the HCCL range ends at port ", last),
                "correct hccl.base_port or hccl.port_count in the spec");
    return;
  }
  PortSet ports;
  ports.Add(hccl.base_port(), static_cast<uint32_t>(last));
  const Requirement requirement(kReservedPortsKey, ports);
  const TextFact& fact = facts.reserved_ports();
  const std::string running =
      PlanRunning(requirement, fact.state_case() == TextFact::kValue,
                  fact.missing(), fact.value(), plan);
  if (persistent) {
    PlanAtBoot(requirement, running, facts.reserved_ports_at_boot(), file,
               plan);
  }
}

// What the root needs when every device of the cluster dials it at once.
uint64_t AtLeastRanks(const ClusterSpec& spec, uint32_t asked) {
  uint64_t ranks = 0;
  for (const ServerSpec& server : spec.servers()) {
    ranks += server.devices_size();
  }
  return asked == 0 ? 0
                    : std::max<uint64_t>(asked, std::min(ranks, kRanksAsked));
}

void PlanParameters(const ClusterSpec& spec, bool persistent,
                    SysctlFileChange* file, HostPlanBuilder* plan) {
  const KernelFacts& facts = plan->facts().kernel();
  PlanPorts(spec.hccl(), facts, persistent, file, plan);
  PlanNumber(kSomaxconnKey, AtLeastRanks(spec, spec.kernel().somaxconn()),
             facts.somaxconn(), facts.somaxconn_at_boot(), persistent, file,
             plan);
  PlanNumber(kSynBacklogKey,
             AtLeastRanks(spec, spec.kernel().tcp_max_syn_backlog()),
             facts.tcp_max_syn_backlog(), facts.tcp_max_syn_backlog_at_boot(),
             persistent, file, plan);
}

}  // namespace

void PlanNamespaceSysctlSteps(const ClusterSpec& spec, HostPlanBuilder* plan) {
  SysctlFileChange file;
  PlanParameters(spec, /*persistent=*/false, &file, plan);
  const HostFacts& facts = plan->facts();
  if (!SharesHostNetwork(facts)) return;
  plan->Note(absl::StrCat(
      HostNetworkNote(facts.network_namespace(), {facts.host()}),
      "; clusterctl plan without --netns also sets what the next boot takes"));
}

void PlanSysctlSteps(const ClusterSpec& spec, HostPlanBuilder* plan) {
  SysctlFileChange file;
  PlanParameters(spec, spec.kernel().persistent(), &file, plan);
  if (file.settings().empty()) return;
  file.set_path(kSysctlFile);
  std::vector<std::string> rests_on;
  bool is_new = true;
  for (const SysctlFileChange::Setting& setting : file.settings()) {
    rests_on.push_back(AtBootFactName(setting.key()));
    if (!setting.from().empty()) is_new = false;
  }
  PlanStep* step = plan->AddStep(CHANGE_SYSCTL, rests_on);
  *step->mutable_sysctl_file() = file;
  step->set_precondition(absl::StrCat(
      kSysctlFile, is_new ? " sets none of these" : " is as it was seen"));
  step->set_undo(absl::StrCat(
      kSysctlFile, " byte for byte, or removed if it was not there"));
}

}  // namespace clusterd
