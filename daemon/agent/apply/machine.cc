#include "daemon/agent/apply/machine.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/settings.h"
#include "config/values/hccn_conf_line.h"
#include "config/values/network_namespace.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

// How long to wait for the lock of hccn.conf.
constexpr absl::Duration kLockWait = absl::Seconds(10);

// `absent` is the path if the program is missing.
std::string PathOr(const absl::StatusOr<std::string>& found,
                   const HostPaths& host, absl::string_view absent) {
  if (found.ok()) return *found;
  if (!absl::IsNotFound(found.status())) return "";
  return absl::StrCat(absl::StripSuffix(host.root, "/"), absent);
}

// Unknown if the plan is not for a namespace.
SettingValue PlannedNamespace(const HostPlan& plan) {
  if (!plan.has_network_namespace()) return {};
  const PlanFact* const fact =
      FirstWith(plan.facts(), &PlanFact::key, NamespaceFact());
  return fact == nullptr ? SettingValue() : fact->value();
}

// NotFound if the entered namespace is not that of the plan.
absl::Status CheckIsPlanned(const HostPlan& plan, const SettingValue& planned,
                            const HostFacts& facts) {
  const SettingValue now = NameFacts(facts)[NamespaceFact()];
  const std::string name = NetworkNamespaceText(plan.network_namespace());
  if (IsUnknown(now)) {
    return UnavailableWords("msg-step-namespace-not-known", name,
                            MissingWords(&facts.missing()));
  }
  if (IsSameFact(planned, now)) return absl::OkStatus();
  return NotFoundWords("msg-step-namespace-moved", name, SettingText(now),
                       SettingText(planned));
}

// True if a namespace with the planned number is certainly the planned one: the
// kernel reuses the number of an ended namespace. The host's own never ends,
// and a new one has the kernel's defaults.
bool IsSurelyPlanned(const HostPlan& plan,
                     const NetworkNamespaceIdentity& planned,
                     const HostFacts& facts) {
  const SettingFacts ready(facts);
  const SettingValue value = ready.Now(NamespaceFact());
  const NetworkNamespaceIdentity& now = value.network_namespace();
  if (planned.boot_id().empty() || now.boot_id().empty()) return false;
  return (planned.has_cookie() && now.has_cookie()) ||
         facts.kernel().initial_namespace().value() ||
         absl::c_all_of(plan.steps(), [&ready](const PlanStep& step) {
           return JudgeStep(step, ready).state == StepVerdict::kSo;
         });
}

absl::StatusOr<PlanNamespace> At(MachineAccess access,
                                 absl::StatusOr<EnteredNamespace> entered) {
  RETURN_IF_ERROR(entered.status());
  access.open_sysctl = std::move(entered->open);
  return PlanNamespace{std::move(access), std::move(entered->read)};
}

// `named`: why the plan's name does not identify it.
absl::StatusOr<PlanNamespace> Search(const MachineAccess& access,
                                     const HostPlan& plan,
                                     const absl::Status& named) {
  const SettingValue value = PlannedNamespace(plan);
  if (!value.has_network_namespace()) return named;
  const NetworkNamespaceIdentity& planned = value.network_namespace();
  const std::string boot = access.namespaces->BootId();
  if (!planned.boot_id().empty() && !boot.empty() &&
      boot != planned.boot_id()) {
    return NotFoundWords("msg-step-rebooted-since", MessageWords(named));
  }
  auto inside = At(access, access.namespaces->EnterInode(
                               plan.network_namespace(), planned.inode()));
  if (!inside.ok()) {
    // A container engine that is down may answer later.
    if (!absl::IsNotFound(named)) return named;
    return WithWords(
        {absl::IsNotFound(inside.status()) ? absl::StatusCode::kNotFound
                                           : absl::StatusCode::kUnavailable,
         ""},
        Worded("plan-say-both", MessageWords(named),
               MessageWords(inside.status())));
  }
  const HostFacts facts = inside->read_host();
  const absl::Status found = CheckIsPlanned(plan, value, facts);
  if (absl::IsNotFound(found)) {
    return NotFoundWords("msg-step-number-of-another", MessageWords(named),
                         planned.inode());
  }
  if (!found.ok()) return found;
  if (IsSurelyPlanned(plan, planned, facts)) return inside;
  return UnavailableWords("msg-step-namespace-not-surely", MessageWords(named),
                          planned.inode());
}

using Resources = std::vector<SavedResource>;
using Touched = std::set<std::string>;

// How long a read of hccn.conf waits before it continues without the lock.
constexpr absl::Duration kShortLockWait = absl::Seconds(1);

// The functions that set one kind of setting.
struct Actions {
  SettingId id;
  // nullptr: setting it again is harmless.
  absl::StatusOr<bool> (*is_already_so)(Machine* machine, const PlanStep& step);
  absl::Status (*save)(Machine* machine, const PlanStep& step, Touched* touched,
                       Resources* saved);
  absl::Status (*set)(const MutationToken& token, Machine* machine,
                      const PlanStep& step, const Resources& saved,
                      FindingValue* repaired);
};

// The kernel's text as a value for people.
SettingValue SysctlValue(const std::string& text) {
  return text.empty() ? NoneValue() : TextsValue({text});
}

absl::Status CheckIsAsPlanned(const InPlaceFile& conf, const PlanStep& step,
                              absl::string_view text) {
  const std::string now = HccnConfDigest(text);
  if (now == step.from_sha256()) return absl::OkStatus();
  return MovedError(Worded("plan-say-sha256-of", conf.path()),
                    TextsValue({step.from_sha256()}), TextsValue({now}));
}

absl::StatusOr<bool> IsGoodForm(Machine* machine, const PlanStep& step) {
  ASSIGN_OR_RETURN(const SavedFile now, machine->conf.Save());
  RETURN_IF_ERROR(CheckIsAsPlanned(machine->conf, step, now.content()));
  return false;
}

absl::Status SaveConf(Machine* machine, const PlanStep&, Touched* touched,
                      Resources* saved) {
  if (!touched->insert(machine->conf.path()).second) return absl::OkStatus();
  ASSIGN_OR_RETURN(*saved->emplace_back().mutable_file_in_place(),
                   machine->conf.Save());
  return absl::OkStatus();
}

absl::Status RepairForm(const MutationToken& token, Machine* machine,
                        const PlanStep& step, const Resources&, FindingValue*) {
  std::string wanted;
  const absl::Status status = machine->conf.Edit(
      token, [&](absl::string_view text) -> absl::StatusOr<std::string> {
        RETURN_IF_ERROR(CheckIsAsPlanned(machine->conf, step, text));
        wanted = RepairHccnConf(text);
        return wanted;
      });
  if (!status.ok()) return status;
  ASSIGN_OR_RETURN(const std::string now, machine->conf.Read());
  if (now == wanted) return absl::OkStatus();
  return InFront(machine->conf.path(),
                 PreconditionWords("msg-step-not-as-repaired"));
}

// Saves devices that lose their gateway when the step sets its own.
absl::Status SaveOthers(Machine* machine, const PlanStep& step,
                        Touched* touched, Resources* saved) {
  for (const HccnConf::Entry& entry : step.dropped()) {
    if (entry.device() == step.target().device() ||
        !touched->insert(absl::StrCat("device ", entry.device())).second) {
      continue;
    }
    PlanStep of_other = step;
    of_other.clear_dropped();
    of_other.mutable_target()->set_device(entry.device());
    ASSIGN_OR_RETURN(*saved->emplace_back().mutable_device(),
                     SaveDevice(machine, of_other, /*is_first=*/true));
  }
  return absl::OkStatus();
}

absl::Status SaveConfAndDevice(Machine* machine, const PlanStep& step,
                               Touched* touched, Resources* saved) {
  RETURN_IF_ERROR(SaveConf(machine, step, touched, saved));
  RETURN_IF_ERROR(SaveOthers(machine, step, touched, saved));
  const std::string name = absl::StrCat("device ", step.target().device());
  // A value that no other setting changes is saved with its own step.
  const bool is_first = touched->insert(name).second;
  const bool sets_it_alone = !SettingOf(step)->device->always_saved &&
                             touched->insert(FactKeyText(GoalOf(step))).second;
  if (!is_first && !sets_it_alone) return absl::OkStatus();
  ASSIGN_OR_RETURN(*saved->emplace_back().mutable_device(),
                   SaveDevice(machine, step, is_first));
  return absl::OkStatus();
}

absl::StatusOr<bool> IsRunning(Machine* machine, const PlanStep& step) {
  const std::string& key = step.target().kernel_parameter();
  ASSIGN_OR_RETURN(const auto now, machine->sysctl.Read(key));
  if (SameSysctlValue(key, now, SysctlText(step.to()))) return true;
  if (SameSysctlValue(key, now, SysctlText(step.from()))) return false;
  return MovedError(ToFindingValue(key), step.from(), SysctlValue(now));
}

absl::Status SaveRunning(Machine* machine, const PlanStep& step,
                         Touched* touched, Resources* saved) {
  const std::string& key = step.target().kernel_parameter();
  if (!touched->insert(key).second) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto value, machine->sysctl.Read(key));
  SavedSysctl* const sysctl = saved->emplace_back().mutable_sysctl();
  sysctl->set_key(key);
  sysctl->set_value(value);
  return absl::OkStatus();
}

absl::Status SetRunning(const MutationToken& token, Machine* machine,
                        const PlanStep& step, const Resources&, FindingValue*) {
  return machine->sysctl.Write(token, step.target().kernel_parameter(),
                               SysctlText(step.to()));
}

absl::Status SaveSysctlFile(Machine* machine, const PlanStep&, Touched* touched,
                            Resources* saved) {
  if (!touched->insert(kSysctlFile).second) return absl::OkStatus();
  ASSIGN_OR_RETURN(*saved->emplace_back().mutable_file(),
                   SaveFile(machine->files, kSysctlFile));
  return absl::OkStatus();
}

absl::Status SetAtBoot(const MutationToken& token, Machine* machine,
                       const PlanStep& step, const Resources&, FindingValue*) {
  ASSIGN_OR_RETURN(const auto before, SaveFile(machine->files, kSysctlFile));
  const std::string wanted =
      EditSysctlFile(before.content(), step.target().kernel_parameter(),
                     SysctlText(step.to()));
  RETURN_IF_ERROR(ReplaceFile(token, machine->files, kSysctlFile, wanted));
  ASSIGN_OR_RETURN(const auto now, SaveFile(machine->files, kSysctlFile));
  if (now.content() == wanted) return absl::OkStatus();
  return InFront(kSysctlFile, PreconditionWords("msg-step-not-as-written"));
}

// Saves a firewall's state and files once for all steps; each rule separately.
absl::Status SaveFirewall(Machine* machine, const PlanStep& step,
                          Touched* touched, Resources* saved) {
  const SettingTarget& target = step.target();
  const FirewallProgram program =
      target.has_rule() ? target.rule().program() : target.firewall();
  if (touched->insert(absl::StrCat("firewall ", program)).second) {
    ASSIGN_OR_RETURN(*saved->emplace_back().mutable_firewall(),
                     machine->firewall.Save(program, target.has_rule()));
  }
  if (!target.has_rule()) return absl::OkStatus();
  ASSIGN_OR_RETURN(*saved->emplace_back().mutable_firewall(),
                   machine->firewall.SaveRule(target.rule()));
  return absl::OkStatus();
}

absl::Status DisableFirewall(const MutationToken& token, Machine* machine,
                             const PlanStep& step, const Resources&,
                             FindingValue*) {
  return machine->firewall.Disable(token, step.target().firewall());
}

absl::Status AddRule(const MutationToken& token, Machine* machine,
                     const PlanStep& step, const Resources& saved,
                     FindingValue*) {
  return machine->firewall.Add(token, step.target().rule(),
                               saved.back().firewall());
}

constexpr Actions kHostActions[] = {
    {SETTING_FORM, IsGoodForm, SaveConf, RepairForm},
    {SETTING_RUNNING, IsRunning, SaveRunning, SetRunning},
    {SETTING_AT_BOOT, nullptr, SaveSysctlFile, SetAtBoot},
    {SETTING_ACTIVE, nullptr, SaveFirewall, DisableFirewall},
    {SETTING_ALLOWED, nullptr, SaveFirewall, AddRule},
};
static_assert(HasRowForEach(kHostSettingIds, kHostActions),
              "a setting of the host without a row");

// All device settings, whose rows have the arguments of hccn_tool.
constexpr Actions kDeviceActions = {SETTING_UNSPECIFIED, IsSoOnDevice,
                                    SaveConfAndDevice, SetOnDevice};

// REQUIRES: a setting of this version, which CheckHostPlan ensures.
const Actions& ActionsOf(const PlanStep& step) {
  const Actions* const actions =
      FirstWith(kHostActions, &Actions::id, step.setting());
  return actions == nullptr ? kDeviceActions : *actions;
}

// Merges the saved rules of each firewall: they can be removed only while it
// runs, and its files are restored after that.
Resources WithWholeFirewalls(const Resources& saved) {
  Resources whole;
  for (const SavedResource& each : saved) {
    const auto same = absl::c_find_if(whole, [&](const SavedResource& other) {
      return each.has_firewall() && other.has_firewall() &&
             each.firewall().program() == other.firewall().program();
    });
    if (same == whole.end()) {
      whole.push_back(each);
    } else {
      same->mutable_firewall()->MergeFrom(each.firewall());
    }
  }
  return whole;
}

// Prevents other users from locking hccn.conf. If the tool will run, also
// restores the file in a form that the tool can use.
void RestoreConf(const MutationToken& token, Machine* machine,
                 const Resources& saved) {
  const bool runs_tool = absl::c_any_of(
      saved, [](const SavedResource& each) { return each.has_device(); });
  for (const SavedResource& resource : saved) {
    if (!resource.has_file_in_place()) continue;
    // The same error occurs again at the end and is reported there.
    machine->conf.Guard(token).IgnoreError();
    if (!runs_tool) continue;
    (void)machine->conf.Edit(token, [&](absl::string_view now) {
      return absl::StatusOr<std::string>(RepairHccnConf(
          WithToolsOwnLines(resource.file_in_place().content(), now)));
    });
  }
}

// Returns why it could not be restored: by setting, as RestoreDevice does, or
// under "" for other resources; empty if no reason is known.
Said PutBack(const MutationToken& token, Machine* machine,
             const SavedResource& saved) {
  absl::Status status;
  if (saved.has_file()) {
    status = RestoreFile(token, machine->files, saved.file());
  } else if (saved.has_file_in_place()) {
    SavedFile wanted = saved.file_in_place();
    const auto now = machine->conf.Read();
    if (now.ok()) wanted.set_content(WithToolsOwnLines(wanted.content(), *now));
    status = machine->conf.Restore(token, wanted);
  } else if (saved.has_sysctl()) {
    const auto now = machine->sysctl.Read(saved.sysctl().key());
    if (now.ok() && *now == saved.sysctl().value()) return {};
    status = machine->sysctl.Write(token, saved.sysctl().key(),
                                   saved.sysctl().value());
  } else if (saved.has_device()) {
    return RestoreDevice(token, machine, saved.device());
  } else if (saved.has_firewall()) {
    status = machine->firewall.Restore(token, saved.firewall());
  }
  return status.ok() ? Said() : Said{{"", MessageWords(status)}};
}

// Compares only what hccn.conf sets: a recovery may have added its own lines.
SavedFile InDigest(SavedFile conf) {
  conf.set_content(HccnConfDigest(conf.content()));
  return conf;
}

std::vector<FindingValue> FileDifferences(
    const SavedFile& saved, const absl::StatusOr<SavedFile>& now) {
  if (now.ok() && now->SerializeAsString() == saved.SerializeAsString()) {
    return {};
  }
  const FindingValue differs = Worded("plan-say-not-as-it-was", saved.path());
  return {now.ok() ? differs
                   : Worded("about", differs, MessageWords(now.status()))};
}

// Lists the differences. `said`: the result of PutBack.
std::vector<FindingValue> Differences(Machine* machine,
                                      const SavedResource& saved,
                                      const Said& said) {
  std::vector<FindingValue> found;
  const auto why = said.find("");
  if (saved.has_file()) {
    found = FileDifferences(saved.file(),
                            SaveFile(machine->files, saved.file().path()));
  } else if (saved.has_file_in_place()) {
    absl::StatusOr<SavedFile> now = machine->conf.Save();
    if (now.ok()) now = InDigest(*std::move(now));
    found = FileDifferences(InDigest(saved.file_in_place()), now);
  } else if (saved.has_sysctl()) {
    const SavedSysctl& was = saved.sysctl();
    const auto now = machine->sysctl.Read(was.key());
    if (now.ok() && SameSysctlValue(was.key(), *now, was.value())) return {};
    found = {Worded(
        "plan-say-is-was", was.key(),
        now.ok() ? ValueWords(SysctlValue(*now)) : MessageWords(now.status()),
        ValueWords(SysctlValue(was.value())))};
  } else if (saved.has_device()) {
    found = DeviceDifferences(machine, saved.device(), said);
  } else {
    // A firewall reports its own differences.
    if (why != said.end()) found = {why->second};
    return found;
  }
  if (!found.empty() && why != said.end()) {
    found.back() =
        Worded("plan-say-with-note", FindingValue(found.back()), why->second);
  }
  return found;
}

}  // namespace

MachinePaths FindMachinePaths(const HostPaths& host) {
  MachinePaths paths;
  paths.hccn_tool = PathOr(LocateHccnTool(host), host, paths.hccn_tool);
  FirewallPrograms& firewalls = paths.firewalls;
  for (std::string* program :
       {&firewalls.ufw, &firewalls.firewall_cmd, &firewalls.systemctl}) {
    // Also finds programs below /bin and /sbin if these are separate folders.
    const absl::string_view candidates[] = {
        *program, absl::StripPrefix(*program, "/usr")};
    *program = PathOr(FindProgram(host.root, candidates), host, *program);
  }
  return paths;
}

Machine::Machine(const MachineAccess& access, const MachinePaths& paths)
    : files(access.files),
      reader(access.reader),
      conf(access.files, access.clock, kHccnConfFile, kLockWait),
      tool(access.runner, access.clock, access.locks, paths.hccn_tool,
           paths.command_deadline),
      sysctl(access.open_sysctl
                 ? access.open_sysctl
                 : [files = access.files](
                       const std::string& path,
                       OpenMode mode) { return files->Open(path, mode); }),
      firewall(access.runner, access.files, access.reader, paths.firewalls) {}

absl::StatusOr<PlanNamespace> EnterNamespace(const MachineAccess& access,
                                             const HostPlan& plan) {
  if (!plan.has_network_namespace()) {
    return PlanNamespace{
        access, [reader = access.reader] { return reader->ReadHost(); }};
  }
  if (access.namespaces == nullptr) {
    return UnimplementedWords("msg-step-no-way-into",
                              NetworkNamespaceText(plan.network_namespace()));
  }
  return At(access, access.namespaces->Enter(plan.network_namespace()));
}

absl::StatusOr<PlanNamespace> EnterNamespaceAgain(const MachineAccess& access,
                                                  const HostPlan& plan) {
  absl::StatusOr<PlanNamespace> inside = EnterNamespace(access, plan);
  const SettingValue planned = PlannedNamespace(plan);
  if (access.namespaces == nullptr || IsUnknown(planned)) return inside;
  absl::Status named = inside.status();
  if (inside.ok()) named = CheckIsPlanned(plan, planned, inside->read_host());
  return named.ok() ? std::move(inside) : Search(access, plan, named);
}

absl::StatusOr<bool> SettingActions::IsAlreadySo(const PlanStep& step) {
  const auto is_already_so = ActionsOf(step).is_already_so;
  if (is_already_so == nullptr) return false;
  return is_already_so(machine_, step);
}

absl::StatusOr<std::vector<SavedResource>> SettingActions::Save(
    const PlanStep& step) {
  Resources saved;
  RETURN_IF_ERROR(ActionsOf(step).save(machine_, step, &touched_, &saved));
  return saved;
}

absl::StatusOr<FindingValue> SettingActions::Set(
    const MutationToken& token, const PlanStep& step,
    const std::vector<SavedResource>& saved) {
  FindingValue repaired;
  if (absl::c_any_of(saved, std::mem_fn(&SavedResource::has_file_in_place))) {
    RETURN_IF_ERROR(machine_->conf.Guard(token));
  }
  RETURN_IF_ERROR(ActionsOf(step).set(token, machine_, step, saved, &repaired));
  return repaired;
}

std::vector<FindingValue> SettingActions::Restore(
    const MutationToken& token, const std::vector<SavedResource>& saved) {
  Resources whole = WithWholeFirewalls(saved);
  std::reverse(whole.begin(), whole.end());
  RestoreConf(token, machine_, whole);
  std::vector<Said> reasons;
  for (const SavedResource& each : whole) {
    reasons.push_back(PutBack(token, machine_, each));
  }
  std::vector<FindingValue> residues;
  for (size_t i = 0; i < whole.size(); ++i) {
    const auto found = Differences(machine_, whole[i], reasons[i]);
    residues.insert(residues.end(), found.begin(), found.end());
  }
  return residues;
}

std::vector<PlanFact> DigestFiles(FileSystem* files, Clock* clock,
                                  const std::vector<SavedResource>& saved) {
  std::vector<PlanFact> facts;
  const auto add = [&](const FactKey& key,
                       const absl::StatusOr<std::string>& text,
                       std::string (*digest)(absl::string_view)) {
    *facts.emplace_back().mutable_key() = key;
    SettingValue* const value = facts.back().mutable_value();
    if (text.ok()) *value = TextsValue({digest(*text)});
    if (absl::IsNotFound(text.status())) *value = NoneValue();
  };
  const auto add_file = [&](const std::string& path) {
    add(FileFact(path, FactKey::SHA256),
        ReadWholeFile(files, path, kMaxFileBytes), Sha256Hex);
  };
  for (const SavedResource& resource : saved) {
    if (resource.has_file()) add_file(resource.file().path());
    if (resource.has_file_in_place()) {
      const std::string& path = resource.file_in_place().path();
      const auto now = InPlaceFile(files, clock, path, kShortLockWait).Save();
      add(FileFact(path, FactKey::SHA256_OF_SETTINGS),
          now.ok() ? absl::StatusOr<std::string>(now->content()) : now.status(),
          HccnConfDigest);
    }
    for (const SavedFile& file : resource.firewall().files()) {
      add_file(file.path());
    }
  }
  return facts;
}

}  // namespace clusterd
