#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/hccl/job_ports.h"
#include "config/plan/setting_rows.h"
#include "config/plan/step_planners.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr char kHeading[] =
    "# Written by clusterd. Lines that clusterd does not set are kept.\n";

// The most that HCCL's own documents advise.
constexpr uint64_t kMostDialers = 65535;
constexpr uint32_t kLargestNumber = 2147483647;

constexpr KernelParameter kParameters[] = {
    {kReservedPortsKey, nullptr, &KernelFacts::reserved_ports_at_boot, nullptr,
     nullptr},
    {kSomaxconnKey, &KernelFacts::somaxconn, &KernelFacts::somaxconn_at_boot,
     &KernelSpec::somaxconn, "plan-say-old-limit"},
    {kSynBacklogKey, &KernelFacts::tcp_max_syn_backlog,
     &KernelFacts::tcp_max_syn_backlog_at_boot,
     &KernelSpec::tcp_max_syn_backlog, nullptr},
};

const KernelParameter* FindKernelParameter(absl::string_view key) {
  return FirstWith(kParameters, &KernelParameter::key, key);
}

// The spec's value; "": none. InvalidArgument: the kernel rejects it.
absl::StatusOr<std::string> WantedBy(const ClusterSpec& spec,
                                     const HostFacts& host,
                                     const KernelParameter& parameter) {
  if (parameter.is_ports()) {
    ASSIGN_OR_RETURN(const PortSet ports, HcclRange(spec, host));
    return HandedOut(ports, host).ToString();
  }
  const uint32_t asked = (spec.kernel().*parameter.asked)();
  if (asked == 0) return "";
  if (asked > kLargestNumber) {
    return InvalidWords("plan-say-kernel-takes", kLargestNumber);
  }
  // Connections to the root at once: all ranks, one per device, and one agent
  // per server.
  uint64_t dialers = 0;
  for (const ServerSpec& server : spec.servers()) {
    dialers += server.devices_size() + 1;
  }
  return absl::StrCat(
      std::max<uint64_t>(asked, std::min(dialers, kMostDialers)));
}

absl::StatusOr<uint64_t> ParseNumber(absl::string_view text) {
  uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return InvalidWords("plan-say-not-a-number", text);
}

// The key that a line sets, with dots; empty: none.
std::string SysctlKeyOf(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || line[0] == '#' || line[0] == ';') return "";
  const size_t equals = line.find('=');
  if (equals == absl::string_view::npos) return "";
  absl::string_view key = line.substr(0, equals);
  absl::ConsumePrefix(&key, "-");
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(key), {{"/", "."}});
}

const KernelParameter* ParameterOf(const PlanStep& step) {
  return FindKernelParameter(step.target().kernel_parameter());
}

FindingValue OrEmpty(const std::string& value) {
  return value == kNoneFact ? Worded("plan-say-empty") : ToFindingValue(value);
}

FindingValue RunningText(const PlanStep& step) {
  return Worded("plan-say-change", step.target().kernel_parameter(),
                OrEmpty(step.from()), step.to());
}
FindingValue RunningCondition(const PlanStep& step) {
  return Worded("plan-say-is", step.target().kernel_parameter(),
                OrEmpty(step.from()));
}
FindingValue RunningUndo(const PlanStep& step) {
  return step.from() == kNoneFact ? Worded("plan-say-write-empty")
                                  : Worded("plan-say-write", step.from());
}

FindingValue AtBootText(const PlanStep& step) {
  return ToFindingValue(absl::StrCat(
      kSysctlFile, ": ", step.target().kernel_parameter(), " = ",
      step.from() == kNoneFact ? "" : absl::StrCat(step.from(), " -> "),
      step.to()));
}
FindingValue AtBootCondition(const PlanStep& step) {
  return Worded(step.from() == kNoneFact ? "plan-say-not-set-in"
                                         : "plan-say-as-it-was-seen",
                kSysctlFile);
}
FindingValue AtBootUndo(const PlanStep&) {
  return Worded("plan-say-undo-boot-file", kSysctlFile);
}

absl::Status CheckKernelStep(const PlanStep& step) {
  const std::string& key = step.target().kernel_parameter();
  ASSIGN_OR_RETURN(const auto canonical, CanonicalSysctlValue(key, step.to()));
  return canonical == step.to() ? absl::OkStatus()
                                : NotOneToSet(key, step.to());
}

absl::string_view BaseName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The sysctl.d files' assignments to one parameter.
struct AtBoot {
  std::optional<std::string> wins;                     // The last assignment.
  std::string ours = kNoneFact;                        // Our own file's value.
  const PersistentValue::Assignment* later = nullptr;  // One that follows it.
};

AtBoot ReadAtBoot(const PersistentValue& value) {
  AtBoot at_boot;
  for (const PersistentValue::Assignment& each : value.assignments()) {
    at_boot.wins = each.value();
    if (each.file() == kSysctlFile) at_boot.ours = each.value();
    if (BaseName(each.file()) > BaseName(kSysctlFile)) at_boot.later = &each;
  }
  return at_boot;
}

// Checks if the running value, or that of the next boot, is enough.
StepVerdict JudgeKernelStep(const PlanStep& step, const SettingFacts& facts) {
  const KernelParameter* const parameter = ParameterOf(step);
  std::string now = kUnknownFact;
  if (parameter != nullptr && step.setting() == kRunningSetting) {
    now = facts.Now(parameter->key);
  } else if (parameter != nullptr) {
    const auto& fact = (facts.host().kernel().*parameter->at_boot)();
    if (IsKnown(fact)) now = ReadAtBoot(fact.value()).wins.value_or(kNoneFact);
  }
  if (now != kUnknownFact && Reaches(*parameter, now, step.to())) return {};
  return NotSo(GoalName(step), now, step.to());
}

// Keeps ports that others have reserved since. Only the value at boot may have
// more ports; a running set that is larger for another reason is not a restore.
bool Restores(const PlanStep& step, const std::string& applied) {
  const KernelParameter* const parameter = ParameterOf(step);
  if (step.to() == applied) return true;
  if (parameter == nullptr || !parameter->is_ports()) return false;
  if (step.setting() == kAtBootSetting) {
    return Reaches(*parameter, step.to(), applied);
  }
  const auto both = RaisedTo(*parameter, step.from(), applied);
  return both.ok() && step.to() == *both;
}

bool IsOfNamespace(const HostPlanBuilder& plan) {
  return !plan.facts().network_namespace().empty();
}

void BlockUnknown(const FindingValue& what, const Missing* missing,
                  HostPlanBuilder* plan) {
  const bool is_absent = IsOfNamespace(*plan) && missing != nullptr &&
                         missing->reason() == Missing::ABSENT;
  plan->Block(
      CHANGE_SYSCTL, {}, what,
      is_absent ? Worded("plan-say-absent-in", MissingWords(missing),
                         plan->facts().network_namespace())
                : Worded("plan-say-running-not-known", MissingWords(missing)),
      Worded(is_absent ? "plan-say-set-on-host" : "plan-say-read-proc-sys"));
}

// True if the value can be written; otherwise blocks it.
bool IsWritable(const std::string& key, const std::string& wanted,
                HostPlanBuilder* plan) {
  const BoolFact& writable = plan->facts().kernel().proc_sys_writable();
  if (writable.state_case() != BoolFact::kValue || writable.value()) {
    return true;
  }
  plan->Block(CHANGE_SYSCTL, {}, ToFindingValue(absl::StrCat(key, " ", wanted)),
              Worded("plan-say-proc-sys-read-only"),
              IsOfNamespace(*plan) && !SharesHostNetwork(plan->facts())
                  ? Worded("plan-say-recreate-container", key, wanted)
                  : Worded("plan-say-run-on-host"));
  return false;
}

// Returns the parameter's value after the plan; nullopt if it is unknown.
std::optional<std::string> PlanRunning(const KernelParameter& parameter,
                                       const std::string& needed,
                                       HostPlanBuilder* plan) {
  const std::string key = parameter.key;
  const FindingValue what = ToFindingValue(absl::StrCat(key, " ", needed));
  const FactReading now = RunningValue(parameter, plan->facts().kernel());
  if (now.value == kUnknownFact) {
    BlockUnknown(what, now.missing, plan);
    return std::nullopt;
  }
  const auto wanted = RaisedTo(parameter, now.value, needed);
  if (!wanted.ok()) {
    plan->Block(
        CHANGE_SYSCTL, {}, what,
        Worded("plan-say-running-not-readable", MessageWords(wanted.status())),
        Worded("plan-say-set-by-hand"));
    return std::nullopt;
  }
  if (Reaches(parameter, now.value, needed)) return *wanted;
  if (!IsWritable(key, *wanted, plan)) return std::nullopt;
  std::vector<std::string> rests_on = {key};
  if (IsOfNamespace(*plan)) rests_on.push_back(kNetworkNamespaceFact);
  PlanStep* step = plan->AddStep(kRunningSetting, now.value, *wanted, rests_on);
  step->mutable_target()->set_kernel_parameter(key);
  if (parameter.consequence != nullptr) {
    *step->mutable_consequences_said()->add_values() =
        Worded(parameter.consequence);
  }
  return *wanted;
}

// Plans what the next boot lacks. `running`: the value after the plan.
void PlanAtBoot(const KernelParameter& parameter, const std::string& needed,
                const std::optional<std::string>& running,
                HostPlanBuilder* plan) {
  const std::string key = parameter.key;
  const FindingValue what =
      Worded("plan-say-at-boot", absl::StrCat(key, " ", needed));
  const PersistentValueFact& fact =
      (plan->facts().kernel().*parameter.at_boot)();
  if (!IsKnown(fact)) {
    return plan->Block(
        CHANGE_SYSCTL, {}, what,
        Worded("plan-say-sysctl-d-not-known", UnknownWords(fact)),
        Worded("plan-say-read-sysctl-d"));
  }
  if (!running) return;  // Blocked by the running value.
  const AtBoot at_boot = ReadAtBoot(fact.value());
  if (at_boot.wins && Reaches(parameter, *at_boot.wins, needed)) return;
  // Keeps the running ports and, in `wanted`, also those of the next boot.
  const std::string& kept = parameter.is_ports() ? *running : needed;
  std::string wanted = *running;
  if (at_boot.wins) {
    const auto raised = RaisedTo(parameter, *at_boot.wins, kept);
    if (raised.ok()) wanted = *raised;
  }
  if (at_boot.later != nullptr) {
    plan->Block(
        CHANGE_SYSCTL, {}, what,
        Worded("plan-say-applied-after",
               absl::StrCat(at_boot.later->file(), ":", at_boot.later->line()),
               at_boot.later->value(), kSysctlFile),
        Worded("plan-say-write-in-line", absl::StrCat(key, " = ", wanted)));
    return;
  }
  PlanStep* step = plan->AddStep(kAtBootSetting, at_boot.ours, wanted,
                                 {AtBootFactName(key)});
  step->mutable_target()->set_kernel_parameter(key);
}

}  // namespace

absl::Span<const KernelParameter> KernelParameters() { return kParameters; }

FactReading RunningValue(const KernelParameter& parameter,
                         const KernelFacts& facts) {
  if (!parameter.is_ports()) {
    const NumberFact& fact = (facts.*parameter.number)();
    return ReadingOf(fact, absl::StrCat(fact.value()));
  }
  return ReadingOf(
      facts.reserved_ports(),
      std::string(absl::StripAsciiWhitespace(facts.reserved_ports().value())));
}

absl::StatusOr<const KernelParameter*> OurParameter(absl::string_view key) {
  const KernelParameter* const parameter = FindKernelParameter(key);
  if (parameter != nullptr) return parameter;
  return InvalidWords("msg-plan-not-our-parameter", key);
}

absl::StatusOr<std::string> CanonicalSysctlValue(absl::string_view key,
                                                 absl::string_view value) {
  ASSIGN_OR_RETURN(const KernelParameter* const parameter, OurParameter(key));
  if (parameter->is_ports()) {
    const absl::StatusOr<PortSet> ports = PortSet::Parse(value);
    if (ports.ok()) return ports->ToString();
    return InFront(key, ports.status());
  }
  uint32_t number = 0;
  if (absl::SimpleAtoi(value, &number) && number > 0 &&
      number <= kLargestNumber && absl::StrCat(number) == value) {
    return std::string(value);
  }
  return InvalidWords("msg-plan-number-not-valid", key, value, kLargestNumber);
}

absl::StatusOr<PortSet> HcclRange(const ClusterSpec& spec,
                                  const HostFacts& host) {
  const HcclSpec& hccl = spec.hccl();
  if (hccl.port_count() == 0) return PortSet();
  const uint64_t last = uint64_t{hccl.base_port()} + hccl.port_count() - 1;
  if (last <= 65535) return HcclPortsOn(spec, host).possible;
  return InvalidWords("plan-say-range-ends", last);
}

absl::StatusOr<std::string> RaisedTo(const KernelParameter& parameter,
                                     absl::string_view value,
                                     absl::string_view needed) {
  value = absl::StripAsciiWhitespace(value);
  if (parameter.is_ports()) {
    ASSIGN_OR_RETURN(PortSet ports,
                     PortSet::Parse(value == kNoneFact ? "" : value));
    ASSIGN_OR_RETURN(const PortSet more, PortSet::Parse(needed));
    ports.Add(more);
    return ports.ToString();
  }
  ASSIGN_OR_RETURN(const uint64_t number, ParseNumber(value));
  ASSIGN_OR_RETURN(const uint64_t least, ParseNumber(needed));
  return absl::StrCat(std::max(number, least));
}

bool Reaches(const KernelParameter& parameter, absl::string_view value,
             absl::string_view needed) {
  const auto canonical =
      RaisedTo(parameter, value, parameter.is_ports() ? "" : "0");
  const auto raised = RaisedTo(parameter, value, needed);
  return canonical.ok() && raised.ok() && *canonical == *raised;
}

std::string EditSysctlFile(absl::string_view text, absl::string_view key,
                           absl::string_view value) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();

  const std::string assignment = absl::StrCat(key, " = ", value, "\n");
  bool written = false;
  std::string edited = text.empty() ? kHeading : "";
  for (const absl::string_view line : lines) {
    if (SysctlKeyOf(line) != key) {
      absl::StrAppend(&edited, line, "\n");
    } else if (!written) {
      edited += assignment;
      written = true;
    }
  }
  if (!written) edited += assignment;
  return edited;
}

const Setting kRunningRow = {
    kRunningSetting, CHANGE_SYSCTL,    SettingTarget::kKernelParameter,
    RunningText,     RunningCondition, RunningUndo,
    CheckKernelStep, JudgeKernelStep,  Restores};
const Setting kAtBootRow = {
    kAtBootSetting,  CHANGE_SYSCTL,   SettingTarget::kKernelParameter,
    AtBootText,      AtBootCondition, AtBootUndo,
    CheckKernelStep, JudgeKernelStep, Restores};

void PlanSysctlSteps(const ClusterSpec& spec, HostPlanBuilder* plan) {
  struct Planned {
    const KernelParameter* parameter;
    std::string needed;
    std::optional<std::string> running;
  };
  // Running values come first, then those of the next boot.
  std::vector<Planned> planned;
  for (const KernelParameter& parameter : KernelParameters()) {
    const auto needed = WantedBy(spec, plan->facts(), parameter);
    if (!needed.ok()) {
      plan->Block(CHANGE_SYSCTL, {}, ToFindingValue(parameter.key),
                  MessageWords(needed.status()),
                  Worded("plan-say-correct-spec"));
    } else if (!needed->empty()) {
      planned.push_back(
          {&parameter, *needed, PlanRunning(parameter, *needed, plan)});
    }
  }
  const HostFacts& facts = plan->facts();
  if (SharesHostNetwork(facts)) {
    plan->Note(
        Worded("plan-say-also-at-boot",
               HostNetworkNote(facts.network_namespace(), {facts.host()})));
  }
  if (IsOfNamespace(*plan) || !spec.kernel().persistent()) return;
  for (const Planned& each : planned) {
    PlanAtBoot(*each.parameter, each.needed, each.running, plan);
  }
}

}  // namespace clusterd
