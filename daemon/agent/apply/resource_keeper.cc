#include "daemon/agent/apply/resource_keeper.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/named_facts.h"
#include "config/plan/plan_digest.h"
#include "config/plan/plan_text.h"
#include "daemon/host/change/atomic_file.h"

namespace clusterd {
namespace {

std::string Pair(const Ipv4Setting& setting) {
  return setting.address().empty()
             ? "none"
             : absl::StrCat(setting.address(), "/", setting.netmask());
}

std::string OrNone(const std::string& text) {
  return text.empty() ? "none" : text;
}

std::string Unset(const std::string& detect) {
  return detect.empty() ? "0.0.0.0" : detect;
}

std::string Is(absl::string_view what, absl::string_view now,
               absl::string_view before, const std::string& why) {
  return absl::StrCat(what, " is ", now, ", was ", before,
                      why.empty() ? "" : ": ", why);
}

PlanFact Digest(FileSystem* files, const std::string& path) {
  const auto text = ReadWholeFile(files, path, kMaxFileBytes);
  PlanFact fact;
  fact.set_name(absl::StrCat(path, ": SHA-256"));
  fact.set_value(text.ok()                         ? Sha256Hex(*text)
                 : absl::IsNotFound(text.status()) ? "none"
                                                   : kUnknownFact);
  return fact;
}

// Live settings with the reason for what cannot be told.
absl::StatusOr<SavedDevice> FromFacts(uint32_t device,
                                      const DeviceFacts& facts) {
  const auto unknown = [device](absl::string_view what,
                                const Missing& missing) {
    return absl::FailedPreconditionError(
        absl::StrCat("device ", device, ": its ", what,
                     " cannot be told, so it could not be put back: ",
                     MissingText(missing)));
  };
  SavedDevice saved;
  saved.set_device(device);
  if (facts.address().state_case() != DeviceAddressFact::kValue) {
    return unknown("address", facts.address().missing());
  }
  if (facts.address().value().settings_size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("device ", device, ": it has several addresses"));
  }
  if (facts.address().value().settings_size() == 1) {
    *saved.mutable_address() = facts.address().value().settings(0);
  }
  if (facts.gateway().state_case() != TextFact::kValue) {
    return unknown("gateway", facts.gateway().missing());
  }
  saved.set_gateway(facts.gateway().value());
  if (facts.detect_address().state_case() != TextFact::kValue) {
    return unknown("detect address", facts.detect_address().missing());
  }
  saved.set_detect_address(Unset(facts.detect_address().value()));
  if (facts.tls().state_case() == TlsFact::kValue) {
    saved.set_tls(facts.tls().value().enabled());
  }
  return saved;
}

}  // namespace

absl::Status ResourceKeeper::SaveConf(std::vector<SavedResource>* saved) {
  if (touched_.count("hccn.conf") > 0) return absl::OkStatus();
  absl::StatusOr<SavedFile> file = machine_->conf.Save();
  if (!file.ok()) return file.status();
  touched_.insert("hccn.conf");
  saved->emplace_back();
  *saved->back().mutable_file_in_place() = *std::move(file);
  return absl::OkStatus();
}

// As the file has them: what a plan says of routes is no reason to add one.
absl::Status ResourceKeeper::SaveRoutes(const DeviceAddressChange& change,
                                        SavedDevice* saved) {
  const absl::StatusOr<std::string> conf = machine_->conf.Read();
  if (!conf.ok()) return conf.status();
  const std::vector<absl::string_view> lines = absl::StrSplit(*conf, '\n');
  for (const HccnConf::Entry& entry : change.dropped()) {
    if (entry.key() == "gateway") continue;
    const std::string key = HccnConfKey(entry.key(), change.device());
    HccnConf::Entry route = entry;
    if (entry.key() == "ip_route") {  // There may be several.
      const std::string line = absl::StrCat(key, "=", entry.value());
      if (std::none_of(lines.begin(), lines.end(), [&](absl::string_view each) {
            return absl::StripSuffix(each, "\r") == line;
          })) {
        continue;
      }
    } else {
      const std::optional<std::string> value = HccnConfValue(*conf, key);
      if (!value) continue;
      route.set_value(*value);
    }
    *saved->add_routes() = std::move(route);
  }
  return absl::OkStatus();
}

absl::Status ResourceKeeper::SaveDevice(const PlanStep& step, uint32_t device,
                                        std::vector<SavedResource>* saved) {
  const absl::Status conf = SaveConf(saved);
  if (!conf.ok()) return conf;
  const std::string name = absl::StrCat("device ", device);
  if (touched_.count(name) > 0) return absl::OkStatus();
  absl::StatusOr<SavedDevice> now =
      FromFacts(device, machine_->reader->ReadDevice(device));
  if (!now.ok()) return now.status();
  const bool sets_tls = step.has_tls() || (step.has_hccn_conf_rewrite() &&
                                           step.hccn_conf_rewrite().setting() ==
                                               HccnConfRewriteChange::TLS);
  if (sets_tls && !now->has_tls()) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": its TLS switch cannot be told"));
  }
  const absl::Status routes = SaveRoutes(step.device_address(), &*now);
  if (!routes.ok()) return routes;
  touched_.insert(name);
  saved->emplace_back();
  *saved->back().mutable_device() = *std::move(now);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SavedResource>> ResourceKeeper::Save(
    const PlanStep& step) {
  std::vector<SavedResource> saved;
  absl::Status status;
  for (const uint32_t device : DevicesOf(step)) {
    status = SaveDevice(step, device, &saved);
    if (!status.ok()) return status;
  }
  switch (step.change_case()) {
    case PlanStep::kHccnConfRepair:
      status = SaveConf(&saved);
      break;
    case PlanStep::kSysctl: {
      if (!touched_.insert(step.sysctl().key()).second) break;
      const auto value = machine_->sysctl.Read(step.sysctl().key());
      if (!value.ok()) return value.status();
      saved.emplace_back();
      saved.back().mutable_sysctl()->set_key(step.sysctl().key());
      saved.back().mutable_sysctl()->set_value(*value);
      break;
    }
    case PlanStep::kSysctlFile: {
      if (!touched_.insert(step.sysctl_file().path()).second) break;
      auto file = SaveFile(machine_->files, step.sysctl_file().path());
      if (!file.ok()) return file.status();
      saved.emplace_back();
      *saved.back().mutable_file() = *std::move(file);
      break;
    }
    case PlanStep::kFirewallDisable:
    case PlanStep::kFirewallOpen: {
      FirewallOpenChange open = step.firewall_open();
      if (step.has_firewall_disable()) {
        open.set_program(step.firewall_disable().program());
      }
      auto firewall = machine_->firewall.Save(open);
      if (!firewall.ok()) return firewall.status();
      saved.emplace_back();
      *saved.back().mutable_firewall() = *std::move(firewall);
      break;
    }
    default:
      break;
  }
  if (!status.ok()) return status;
  return saved;
}

void ResourceKeeper::PrepareConf(const MutationToken& token,
                                 const std::vector<SavedResource>& saved,
                                 const HostPlan& plan) {
  HccnConfRepairChange repair;
  for (const PlanStep& step : plan.steps()) {
    if (step.has_hccn_conf_repair()) repair = step.hccn_conf_repair();
  }
  const bool runs_tool =
      std::any_of(saved.begin(), saved.end(),
                  [](const SavedResource& each) { return each.has_device(); });
  for (const SavedResource& resource : saved) {
    if (!resource.has_file_in_place() || !runs_tool) continue;
    // What goes wrong here goes wrong again at the end, and is reported there.
    (void)machine_->conf.Edit(token, [&](absl::string_view) {
      return absl::StatusOr<std::string>(
          RepairHccnConf(resource.file_in_place().content(), repair));
    });
  }
}

std::string ResourceKeeper::PutBackDevice(const MutationToken& token,
                                          const SavedDevice& saved) {
  const uint32_t id = saved.device();
  HccnSetter& tool = machine_->tool;
  std::vector<std::string> answers;
  const auto now = [&] {
    return FromFacts(id, machine_->reader->ReadDevice(id));
  };
  auto is = now();
  if (!is.ok()) return std::string(is.status().message());
  if (!saved.address().address().empty() &&
      Pair(is->address()) != Pair(saved.address())) {
    answers.push_back(tool.SetAddress(token, id, saved.address()).text);
    is = now();
    if (!is.ok()) return std::string(is.status().message());
  }
  for (const HccnConf::Entry& route : saved.routes()) {
    ToolAnswer answer;
    // Where it cannot be told it is added: one too few breaks a job.
    if (!tool.HasRoute(route).value_or(false) &&
        tool.AddRoute(token, route, &answer)) {
      answers.push_back(answer.text);
    }
  }
  if (!saved.gateway().empty() && is->gateway() != saved.gateway()) {
    answers.push_back(tool.SetGateway(token, id, saved.gateway()).text);
  }
  if (is->detect_address() != saved.detect_address()) {
    answers.push_back(
        tool.SetDetectAddress(token, id, saved.detect_address()).text);
  }
  if (saved.has_tls() && (!is->has_tls() || is->tls() != saved.tls())) {
    answers.push_back(tool.SetTls(token, id, saved.tls()).text);
  }
  return absl::StrJoin(answers, "; ");
}

std::string ResourceKeeper::PutBack(const MutationToken& token,
                                    const SavedResource& resource) {
  absl::Status status;
  switch (resource.resource_case()) {
    case SavedResource::kFile:
      status = RestoreFile(token, machine_->files, resource.file());
      break;
    case SavedResource::kFileInPlace:
      status = machine_->conf.Restore(token, resource.file_in_place());
      break;
    case SavedResource::kSysctl: {
      const auto now = machine_->sysctl.Read(resource.sysctl().key());
      if (now.ok() && *now == resource.sysctl().value()) break;
      status = machine_->sysctl.Write(token, resource.sysctl().key(),
                                      resource.sysctl().value());
      break;
    }
    case SavedResource::kDevice:
      return PutBackDevice(token, resource.device());
    case SavedResource::kFirewall:
      status = machine_->firewall.Restore(token, resource.firewall());
      break;
    case SavedResource::RESOURCE_NOT_SET:
      break;
  }
  return std::string(status.message());
}

std::vector<std::string> ResourceKeeper::DeviceDifferences(
    const SavedDevice& saved) {
  const std::string name = absl::StrCat("device ", saved.device());
  const auto now =
      FromFacts(saved.device(), machine_->reader->ReadDevice(saved.device()));
  if (!now.ok()) return {std::string(now.status().message())};
  constexpr char kNoClear[] =
      "no command of hccn_tool is known to clear it; the device has it until "
      "it restarts, hccn.conf does not name it any more";
  std::vector<std::string> differences;
  if (Pair(now->address()) != Pair(saved.address())) {
    differences.push_back(
        Is(absl::StrCat(name, ": address"), Pair(now->address()),
           Pair(saved.address()),
           saved.address().address().empty() ? kNoClear : ""));
  }
  if (now->gateway() != saved.gateway()) {
    differences.push_back(Is(absl::StrCat(name, ": gateway"),
                             OrNone(now->gateway()), OrNone(saved.gateway()),
                             saved.gateway().empty() ? kNoClear : ""));
  }
  if (now->detect_address() != saved.detect_address()) {
    differences.push_back(Is(absl::StrCat(name, ": detect address"),
                             now->detect_address(), saved.detect_address(),
                             ""));
  }
  if (saved.has_tls() && (!now->has_tls() || now->tls() != saved.tls())) {
    differences.push_back(Is(absl::StrCat(name, ": TLS"),
                             !now->has_tls() ? "unknown"
                             : now->tls()    ? "on"
                                             : "off",
                             saved.tls() ? "on" : "off", ""));
  }
  for (const HccnConf::Entry& route : saved.routes()) {
    const absl::StatusOr<bool> back = machine_->tool.HasRoute(route);
    if (back.value_or(false)) continue;
    const std::string line = absl::StrCat(route.key(), "=", route.value());
    differences.push_back(
        back.ok()
            ? absl::StrCat(name, ": the live route ", line,
                           " is not back; hccn.conf has it")
            : absl::StrCat(name, ": whether the live route ", line,
                           " is back cannot be told: ", back.status().message(),
                           "; hccn.conf has it"));
  }
  return differences;
}

std::vector<std::string> ResourceKeeper::Differences(
    const SavedResource& resource) {
  switch (resource.resource_case()) {
    case SavedResource::kDevice:
      return DeviceDifferences(resource.device());
    case SavedResource::kSysctl: {
      const SavedSysctl& saved = resource.sysctl();
      const auto now = machine_->sysctl.Read(saved.key());
      if (now.ok() && SameSysctlValue(saved.key(), *now, saved.value())) {
        return {};
      }
      return {Is(saved.key(),
                 now.ok() ? OrNone(*now) : std::string(now.status().message()),
                 OrNone(saved.value()), "")};
    }
    case SavedResource::kFile:
    case SavedResource::kFileInPlace: {
      const bool in_place = resource.has_file_in_place();
      const SavedFile& saved =
          in_place ? resource.file_in_place() : resource.file();
      const auto now = in_place ? machine_->conf.Save()
                                : SaveFile(machine_->files, saved.path());
      if (now.ok() && now->SerializeAsString() == saved.SerializeAsString()) {
        return {};
      }
      return {absl::StrCat(saved.path(), ": is not as it was",
                           now.ok() ? "" : ": ",
                           now.ok() ? "" : now.status().message())};
    }
    default:
      return {};
  }
}

std::vector<std::string> ResourceKeeper::Restore(
    const MutationToken& token, const std::vector<SavedResource>& saved,
    const HostPlan& plan) {
  PrepareConf(token, saved, plan);
  std::vector<std::string> reasons(saved.size());
  for (size_t i = saved.size(); i-- > 0;) {
    reasons[i] = PutBack(token, saved[i]);
  }
  std::vector<std::string> residues;
  for (size_t i = saved.size(); i-- > 0;) {
    // A firewall's own read-back is its reason.
    if (saved[i].has_firewall()) {
      if (!reasons[i].empty()) residues.push_back(reasons[i]);
      continue;
    }
    std::vector<std::string> differences = Differences(saved[i]);
    if (!differences.empty() && !reasons[i].empty()) {
      differences.back() += absl::StrCat(" (", reasons[i], ")");
    }
    residues.insert(residues.end(), differences.begin(), differences.end());
  }
  return residues;
}

std::vector<PlanFact> DigestFiles(FileSystem* files,
                                  const std::vector<SavedResource>& saved) {
  std::vector<PlanFact> facts;
  for (const SavedResource& resource : saved) {
    if (resource.has_file_in_place()) {
      facts.push_back(Digest(files, resource.file_in_place().path()));
    } else if (resource.has_file()) {
      facts.push_back(Digest(files, resource.file().path()));
    }
  }
  return facts;
}

std::vector<PlanFact> DigestFirewallFiles(
    FileSystem* files, const std::vector<SavedResource>& saved) {
  std::set<std::string> paths;
  for (const SavedResource& resource : saved) {
    for (const SavedFile& file : resource.firewall().files()) {
      paths.insert(file.path());
    }
  }
  std::vector<PlanFact> facts;
  for (const std::string& path : paths) facts.push_back(Digest(files, path));
  return facts;
}

}  // namespace clusterd
