#include "config/plan/kernel_parameters.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/hccl/job_ports.h"
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

constexpr KernelParameter kParameters[] = {
    {kReservedPortsKey, nullptr, &KernelFacts::reserved_ports_at_boot, nullptr,
     nullptr, nullptr},
    {kSomaxconnKey, &KernelFacts::somaxconn, &KernelFacts::somaxconn_at_boot,
     &KernelSpec::somaxconn, &KernelSpec::somaxconn_auto, "plan-say-old-limit"},
    {kSynBacklogKey, &KernelFacts::tcp_max_syn_backlog,
     &KernelFacts::tcp_max_syn_backlog_at_boot,
     &KernelSpec::tcp_max_syn_backlog, &KernelSpec::tcp_max_syn_backlog_auto,
     nullptr},
};

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

bool IsOf(const KernelParameter& parameter, const SettingValue& value) {
  return parameter.is_ports() ? value.has_ports() || value.has_none()
                              : value.has_number();
}

// The most that HCCL's own documents advise.
constexpr uint64_t kMostDialers = 65535;
// The spec's value; none if it has none. InvalidArgument: the kernel rejects
// it.
absl::StatusOr<SettingValue> WantedBy(const ClusterSpec& spec,
                                      const HostFacts& host,
                                      const KernelParameter& parameter) {
  if (parameter.is_ports()) {
    ASSIGN_OR_RETURN(const PortSet ports, HcclRange(spec, host));
    return PortsValue(HandedOut(ports, host));
  }
  const uint32_t asked = (spec.kernel().*parameter.asked)();
  if (asked == 0) return NoneValue();
  if (asked > kLargestSysctl) {
    return InvalidWords("plan-say-kernel-takes", kLargestSysctl);
  }
  // Connections to the root at once: all ranks, one per device, and one agent
  // per server.
  uint64_t dialers = 0;
  for (const ServerSpec& server : spec.servers()) {
    dialers += server.devices_size() + 1;
  }
  return NumberValue(
      std::max<uint64_t>(asked, std::min(dialers, kMostDialers)));
}

const KernelParameter* ParameterOf(const PlanStep& step) {
  return FindKernelParameter(step.target().kernel_parameter());
}

FindingValue OrEmpty(const SettingValue& value) {
  return value.has_none() ? Worded("plan-say-empty")
                          : ToFindingValue(SettingText(value));
}

FindingValue RunningText(const PlanStep& step) {
  return Worded("plan-say-change", step.target().kernel_parameter(),
                OrEmpty(step.from()), SettingText(step.to()));
}
FindingValue RunningCondition(const PlanStep& step) {
  return Worded("plan-say-is", step.target().kernel_parameter(),
                OrEmpty(step.from()));
}
FindingValue RunningUndo(const PlanStep& step) {
  return step.from().has_none()
             ? Worded("plan-say-write-empty")
             : Worded("plan-say-write", SettingText(step.from()));
}

FindingValue AtBootText(const PlanStep& step) {
  return ToFindingValue(absl::StrCat(
      kSysctlFile, ": ", step.target().kernel_parameter(), " = ",
      step.from().has_none() ? ""
                             : absl::StrCat(SettingText(step.from()), " -> "),
      SettingText(step.to())));
}
FindingValue AtBootCondition(const PlanStep& step) {
  return Worded(step.from().has_none() ? "plan-say-not-set-in"
                                       : "plan-say-as-it-was-seen",
                kSysctlFile);
}
FindingValue AtBootUndo(const PlanStep&) {
  return Worded("plan-say-undo-boot-file", kSysctlFile);
}

absl::Status CheckKernelStep(const PlanStep& step) {
  const std::string& key = step.target().kernel_parameter();
  ASSIGN_OR_RETURN(const KernelParameter* const parameter, OurParameter(key));
  const SettingValue& to = step.to();
  if (parameter->is_ports()) {
    return PortsValue(PortsOf(to)) == to ? absl::OkStatus()
                                         : NotOneToSet(key, to);
  }
  if (to.number() > 0 && to.number() <= kLargestSysctl) return absl::OkStatus();
  return InvalidWords("msg-plan-number-not-valid", key, SettingText(to),
                      kLargestSysctl);
}

absl::string_view BaseName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The sysctl.d files' assignments to one parameter, by values.
struct AtBoot {
  SettingValue wins = NoneValue();                     // The last assignment.
  SettingValue ours = NoneValue();                     // Our own file's.
  const PersistentValue::Assignment* later = nullptr;  // One that follows it.
};

AtBoot ReadAtBoot(const KernelParameter& parameter,
                  const PersistentValue& value) {
  AtBoot at_boot;
  for (const PersistentValue::Assignment& each : value.assignments()) {
    at_boot.wins = ParseSysctl(parameter, each.value())
                       .value_or(TextsValue({each.value()}));
    if (each.file() == kSysctlFile) at_boot.ours = at_boot.wins;
    if (BaseName(each.file()) > BaseName(kSysctlFile)) at_boot.later = &each;
  }
  return at_boot;
}

// Checks if the running value, or that of the next boot, is enough.
StepVerdict JudgeKernelStep(const PlanStep& step, const SettingFacts& facts) {
  const KernelParameter* const parameter = ParameterOf(step);
  SettingValue now;
  if (parameter != nullptr && step.setting() == SETTING_RUNNING) {
    now = facts.Now(GoalOf(step));
  } else if (parameter != nullptr) {
    const auto& fact = (facts.host().kernel().*parameter->at_boot)();
    if (IsKnown(fact)) now = ReadAtBoot(*parameter, fact.value()).wins;
  }
  if (!IsUnknown(now) && Reaches(*parameter, now, step.to())) return {};
  return NotSo(GoalOf(step), now, step.to());
}

// Keeps ports that others have reserved since. Only the value at boot may have
// more ports; a running set that is larger for another reason is not a restore.
bool Restores(const PlanStep& step, const SettingValue& applied) {
  const KernelParameter* const parameter = ParameterOf(step);
  if (step.to() == applied) return true;
  if (parameter == nullptr || !parameter->is_ports()) return false;
  if (step.setting() == SETTING_AT_BOOT) {
    return Reaches(*parameter, step.to(), applied);
  }
  return applied.has_ports() &&
         step.to() == RaisedTo(*parameter, step.from(), applied);
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

// "net.core.somaxconn 65535".
std::string RequestText(const KernelParameter& parameter,
                        const SettingValue& value) {
  return absl::StrCat(parameter.key, " ", SysctlText(value));
}

// True if the value can be written; otherwise blocks it.
bool IsWritable(const KernelParameter& parameter, const SettingValue& wanted,
                HostPlanBuilder* plan) {
  const BoolFact& writable = plan->facts().kernel().proc_sys_writable();
  if (writable.state_case() != BoolFact::kValue || writable.value()) {
    return true;
  }
  plan->Block(CHANGE_SYSCTL, {}, ToFindingValue(RequestText(parameter, wanted)),
              Worded("plan-say-proc-sys-read-only"),
              IsOfNamespace(*plan) && !SharesHostNetwork(plan->facts())
                  ? Worded("plan-say-recreate-container", parameter.key,
                           SysctlText(wanted))
                  : Worded("plan-say-run-on-host"));
  return false;
}

// Returns the parameter's value after the plan; unknown if that is not known.
SettingValue PlanRunning(const KernelParameter& parameter,
                         const SettingValue& needed, HostPlanBuilder* plan) {
  const FindingValue what = ToFindingValue(RequestText(parameter, needed));
  const FactReading now = RunningValue(parameter, plan->facts().kernel());
  if (IsUnknown(now.value)) {
    BlockUnknown(what, now.missing, plan);
    return {};
  }
  if (now.value.has_texts()) {
    const auto read = ParseSysctl(parameter, SettingText(now.value));
    plan->Block(
        CHANGE_SYSCTL, {}, what,
        Worded("plan-say-running-not-readable", MessageWords(read.status())),
        Worded("plan-say-set-by-hand"));
    return {};
  }
  const SettingValue wanted = RaisedTo(parameter, now.value, needed);
  if (Reaches(parameter, now.value, needed)) return wanted;
  if (!IsWritable(parameter, wanted, plan)) return {};
  const FactKey goal = KernelFact(parameter.key, SETTING_RUNNING);
  std::vector<FactKey> rests_on = {goal};
  if (IsOfNamespace(*plan)) rests_on.push_back(NamespaceFact());
  PlanStep* step = plan->AddStep(goal, now.value, wanted, std::move(rests_on));
  if (parameter.consequence != nullptr) {
    AddConsequence(Worded(parameter.consequence), step);
  }
  return wanted;
}

// Plans what the next boot lacks. `running`: the value after the plan.
void PlanAtBoot(const KernelParameter& parameter, const SettingValue& needed,
                const SettingValue& running, HostPlanBuilder* plan) {
  const FindingValue what =
      Worded("plan-say-at-boot", RequestText(parameter, needed));
  const PersistentValueFact& fact =
      (plan->facts().kernel().*parameter.at_boot)();
  if (!IsKnown(fact)) {
    return plan->Block(
        CHANGE_SYSCTL, {}, what,
        Worded("plan-say-sysctl-d-not-known", UnknownWords(fact)),
        Worded("plan-say-read-sysctl-d"));
  }
  if (IsUnknown(running)) return;  // Blocked by the running value.
  const AtBoot at_boot = ReadAtBoot(parameter, fact.value());
  if (Reaches(parameter, at_boot.wins, needed)) return;
  // Keeps the running ports and those of the next boot.
  const SettingValue wanted =
      parameter.is_ports() || at_boot.wins.has_number()
          ? RaisedTo(parameter, at_boot.wins,
                     parameter.is_ports() ? running : needed)
          : running;
  if (at_boot.later != nullptr) {
    plan->Block(
        CHANGE_SYSCTL, {}, what,
        Worded("plan-say-applied-after",
               absl::StrCat(at_boot.later->file(), ":", at_boot.later->line()),
               at_boot.later->value(), kSysctlFile),
        Worded("plan-say-write-in-line",
               absl::StrCat(parameter.key, " = ", SysctlText(wanted))));
    return;
  }
  const FactKey goal = KernelFact(parameter.key, SETTING_AT_BOOT);
  plan->AddStep(goal, at_boot.ours, wanted, {goal});
}

}  // namespace

absl::Span<const KernelParameter> KernelParameters() { return kParameters; }

const KernelParameter* FindKernelParameter(absl::string_view key) {
  return FirstWith(kParameters, &KernelParameter::key, key);
}

absl::StatusOr<const KernelParameter*> OurParameter(absl::string_view key) {
  const KernelParameter* const parameter = FindKernelParameter(key);
  if (parameter != nullptr) return parameter;
  return InvalidWords("msg-plan-not-our-parameter", key);
}

absl::StatusOr<SettingValue> ParseSysctl(const KernelParameter& parameter,
                                         absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (parameter.is_ports()) {
    ASSIGN_OR_RETURN(const PortSet ports, PortSet::Parse(text));
    return PortsValue(ports);
  }
  uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number) && absl::StrCat(number) == text) {
    return NumberValue(number);
  }
  return InvalidWords("plan-say-not-a-number", text);
}

FactReading RunningValue(const KernelParameter& parameter,
                         const KernelFacts& facts) {
  if (!parameter.is_ports()) {
    const NumberFact& fact = (facts.*parameter.number)();
    return ReadingOf(fact, NumberValue(fact.value()));
  }
  const std::string& text = facts.reserved_ports().value();
  return ReadingOf(facts.reserved_ports(),
                   ParseSysctl(parameter, text)
                       .value_or(TextsValue(
                           {std::string(absl::StripAsciiWhitespace(text))})));
}

std::string SysctlText(const SettingValue& value) {
  return value.has_none() ? "" : SettingText(value);
}

SettingValue RaisedTo(const KernelParameter& parameter,
                      const SettingValue& value, const SettingValue& needed) {
  if (!parameter.is_ports()) {
    return NumberValue(std::max(value.number(), needed.number()));
  }
  PortSet ports = PortsOf(value);
  ports.Add(PortsOf(needed));
  return PortsValue(ports);
}

bool Reaches(const KernelParameter& parameter, const SettingValue& value,
             const SettingValue& needed) {
  return IsOf(parameter, value) && IsOf(parameter, needed) &&
         RaisedTo(parameter, value, needed) == value;
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

absl::StatusOr<PortSet> HcclRange(const ClusterSpec& spec,
                                  const HostFacts& host) {
  const HcclSpec& hccl = spec.hccl();
  if (hccl.port_count() == 0) return PortSet();
  const uint64_t last = uint64_t{hccl.base_port()} + hccl.port_count() - 1;
  if (last <= 65535) return HcclPortsOn(spec, host).possible;
  return InvalidWords("plan-say-range-ends", last);
}

const Setting kRunningRow = {
    SETTING_RUNNING, CHANGE_SYSCTL,    SettingTarget::kKernelParameter,
    RunningText,     RunningCondition, RunningUndo,
    CheckKernelStep, JudgeKernelStep,  Restores};
const Setting kAtBootRow = {
    SETTING_AT_BOOT, CHANGE_SYSCTL,   SettingTarget::kKernelParameter,
    AtBootText,      AtBootCondition, AtBootUndo,
    CheckKernelStep, JudgeKernelStep, Restores};

void PlanSysctlSteps(const ClusterSpec& spec, HostPlanBuilder* plan) {
  struct Planned {
    const KernelParameter* parameter;
    SettingValue needed;
    SettingValue running;
  };
  // Running values come first, then those of the next boot.
  std::vector<Planned> planned;
  for (const KernelParameter& parameter : KernelParameters()) {
    const auto needed = WantedBy(spec, plan->facts(), parameter);
    if (!needed.ok()) {
      plan->Block(CHANGE_SYSCTL, {}, ToFindingValue(parameter.key),
                  MessageWords(needed.status()),
                  Worded("plan-say-correct-spec"));
    } else if (!needed->has_none()) {
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
