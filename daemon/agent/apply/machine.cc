#include "daemon/agent/apply/machine.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/named_facts.h"
#include "config/plan/setting_rows.h"
#include "config/plan/settings.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/words/fact_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/hccn/hccn_tool.h"

namespace clusterd {
namespace {

// For flock on hccn.conf.
constexpr absl::Duration kLockWait = absl::Seconds(10);

// `absent` is where it would be.
std::string PathOr(const absl::StatusOr<std::string>& found,
                   const HostPaths& host, absl::string_view absent) {
  if (found.ok()) return *found;
  if (!absl::IsNotFound(found.status())) return "";
  return absl::StrCat(absl::StripSuffix(host.root, "/"), absent);
}

// Empty: the plan rests on none.
std::string PlannedNamespace(const HostPlan& plan) {
  if (!plan.has_network_namespace()) return "";
  for (const PlanFact& fact : plan.facts()) {
    if (fact.name() == kNetworkNamespaceFact) return fact.value();
  }
  return "";
}

// NotFound: what was entered is another one than that of the plan.
absl::Status CheckIsPlanned(const HostPlan& plan, const std::string& planned,
                            const HostFacts& facts) {
  const std::string now = NameFacts(facts)[kNetworkNamespaceFact];
  const std::string name = NetworkNamespaceText(plan.network_namespace());
  if (now == kUnknownFact) {
    return absl::UnavailableError(
        absl::StrCat("which network namespace ", name,
                     " is cannot be told: ", WhyMissing(&facts.missing())));
  }
  if (IsSameFact(kNetworkNamespaceFact, planned, now)) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(name, " is network namespace ", now, " now, was ", planned));
}

// Whether one that has the planned number, and is no other as far as is known,
// is the planned one: the kernel gives the number of one that has ended to the
// next. It never ends the host's own, and a new one has the kernel's defaults.
bool IsSurelyPlanned(const HostPlan& plan, const NamespaceIdentity& planned,
                     const HostFacts& facts) {
  const NamespaceIdentity now =
      ParseNamespaceFact(NameFacts(facts)[kNetworkNamespaceFact])
          .value_or(NamespaceIdentity());
  if (planned.boot.empty() || now.boot.empty()) return false;
  const SettingFacts ready(facts);
  return (planned.cookie.has_value() && now.cookie.has_value()) ||
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

// `named`: why the plan's name does not lead to it.
absl::StatusOr<PlanNamespace> Search(const MachineAccess& access,
                                     const HostPlan& plan,
                                     const absl::Status& named) {
  const std::string text = PlannedNamespace(plan);
  const std::optional<NamespaceIdentity> planned = ParseNamespaceFact(text);
  if (!planned.has_value()) return named;
  const std::string boot = access.namespaces->BootId();
  if (!planned->boot.empty() && !boot.empty() && boot != planned->boot) {
    return absl::NotFoundError(
        absl::StrCat(named.message(), "; this machine has started anew since"));
  }
  auto inside = At(access, access.namespaces->EnterInode(
                               plan.network_namespace(), planned->inode));
  if (!inside.ok()) {
    // An engine that is down now may answer later.
    if (!absl::IsNotFound(named)) return named;
    return absl::Status(
        absl::IsNotFound(inside.status()) ? absl::StatusCode::kNotFound
                                          : absl::StatusCode::kUnavailable,
        absl::StrCat(named.message(), "; ", inside.status().message()));
  }
  const HostFacts facts = inside->read_host();
  const absl::Status found = CheckIsPlanned(plan, text, facts);
  if (absl::IsNotFound(found)) {
    return absl::NotFoundError(absl::StrCat(
        named.message(), "; ", planned->inode, " is another's number now"));
  }
  if (!found.ok()) return found;
  if (IsSurelyPlanned(plan, *planned, facts)) return inside;
  return absl::UnavailableError(absl::StrCat(
      named.message(), "; there is a network namespace ", planned->inode,
      ", and whether it is the one that was changed or a later one with its "
      "number cannot be told, expected Linux 5.14 or later, which tells; if it "
      "is, set its values by hand"));
}

}  // namespace

MachinePaths FindMachinePaths(const HostPaths& host) {
  MachinePaths paths;
  paths.hccn_tool = PathOr(LocateHccnTool(host), host, paths.hccn_tool);
  FirewallPrograms& firewalls = paths.firewalls;
  for (std::string* program :
       {&firewalls.ufw, &firewalls.firewall_cmd, &firewalls.systemctl}) {
    // Below /bin and /sbin where these are folders of their own.
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
    return absl::UnimplementedError(
        absl::StrCat("this clusterd has no way into network namespace ",
                     NetworkNamespaceText(plan.network_namespace())));
  }
  return At(access, access.namespaces->Enter(plan.network_namespace()));
}

absl::StatusOr<PlanNamespace> EnterNamespaceAgain(const MachineAccess& access,
                                                  const HostPlan& plan) {
  absl::StatusOr<PlanNamespace> inside = EnterNamespace(access, plan);
  const std::string planned = PlannedNamespace(plan);
  if (access.namespaces == nullptr || planned.empty()) return inside;
  absl::Status named = inside.status();
  if (inside.ok()) named = CheckIsPlanned(plan, planned, inside->read_host());
  return named.ok() ? std::move(inside) : Search(access, plan, named);
}

}  // namespace clusterd
