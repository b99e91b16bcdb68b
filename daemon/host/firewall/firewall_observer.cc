#include "daemon/host/firewall/firewall_observer.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/files/missing.h"
#include "daemon/host/firewall/firewalld_output.h"
#include "daemon/host/firewall/packet_filter.h"
#include "daemon/host/firewall/ufw_output.h"

namespace clusterd {
namespace {

constexpr absl::string_view kUfw[] = {"/usr/sbin/ufw", "/sbin/ufw"};
constexpr absl::string_view kFirewallCmd[] = {"/usr/bin/firewall-cmd",
                                              "/bin/firewall-cmd"};
// Every backend: the one that iptables-save is, and both by name.
constexpr absl::string_view kIptablesSaves[] = {
    "/usr/sbin/iptables-save", "/usr/sbin/iptables-nft-save",
    "/usr/sbin/iptables-legacy-save"};
constexpr absl::string_view kNft[] = {"/usr/sbin/nft", "/sbin/nft"};
// Each takes a command of about 0.2 s to look up.
constexpr size_t kMaxServices = 16;
constexpr int kMaxDropRules = 64;

// A firewall's program.
class Program {
 public:
  Program(std::string path, const HostAccess& host)
      : path_(std::move(path)), host_(host) {}

  // The codes of RunWithin.
  absl::StatusOr<CommandResult> Run(std::vector<std::string> arguments) const {
    const std::string name = Name(arguments);
    arguments.insert(arguments.begin(), path_);
    return RunWithin(*host_.budget, host_.runner, name, std::move(arguments));
  }

  // Standard output of a run with status 0. PermissionDenied or Unavailable,
  // quoting what it said, for another status.
  absl::StatusOr<std::string> Read(
      const std::vector<std::string>& arguments) const {
    ASSIGN_OR_RETURN(CommandResult result, Run(arguments));
    if (result.exit_status == 0 && result.signal == 0) {
      return std::move(result.standard_output);
    }
    const std::string said =
        absl::StrCat(result.standard_error, result.standard_output);
    const std::string message =
        absl::StrCat(Name(arguments), ": status ", result.exit_status, " and ",
                     QuotedText(absl::StripAsciiWhitespace(said)));
    const bool denied = absl::StrContains(said, "need to be root") ||
                        absl::StrContains(said, "Permission denied") ||
                        absl::StrContains(said, "AUTHORIZATION_FAILED");
    return denied ? absl::PermissionDeniedError(message)
                  : absl::UnavailableError(message);
  }

 private:
  std::string Name(const std::vector<std::string>& arguments) const {
    const absl::string_view name =
        absl::string_view(path_).substr(path_.rfind('/') + 1);
    return absl::StrCat("`", name, " ", absl::StrJoin(arguments, " "), "`");
  }

  const std::string path_;
  const HostAccess& host_;
};

// `installed`, and for a firewall that is: whether it starts at boot, and by
// `read_state` what its program tells.
FirewallFacts ReadInstalled(
    const HostAccess& host, absl::Span<const absl::string_view> candidates,
    absl::StatusOr<bool> (*read_at_boot)(const FileReader&),
    void (*read_state)(const Program&, FirewallFacts*)) {
  FirewallFacts facts;
  const absl::StatusOr<std::string> program =
      FindProgram(host.paths.root, candidates);
  const bool installed = !absl::IsNotFound(program.status());
  facts.mutable_installed()->set_value(installed);
  if (!installed) return facts;
  SetFact(read_at_boot(host.files()), facts.mutable_enabled_at_boot());
  if (program.ok()) {
    read_state(Program(*program, host), &facts);
  } else {
    SetMissing(MissingFor(program.status()), facts.mutable_active());
  }
  return facts;
}

void ReadUfwState(const Program& ufw, FirewallFacts* facts) {
  const absl::StatusOr<std::string> status = ufw.Read({"status", "verbose"});
  const absl::StatusOr<bool> active =
      status.ok() ? ParseUfwActive(*status) : status.status();
  SetFact(active, facts->mutable_active());
  if (active.ok() && *active) {
    SetFact(ParseUfwAllowed(*status), facts->mutable_allowed());
    SetMissing(Missing::NOT_SUPPORTED, "ufw stores every rule that it lets run",
               facts->mutable_allowed_permanently());
  }
}

absl::StatusOr<bool> ReadUfwAtBoot(const FileReader& files) {
  ASSIGN_OR_RETURN(const FileText conf, files.Read("/etc/ufw/ufw.conf"));
  return ParseUfwConf(conf.text);
}

// In order of precedence, systemd.unit(5).
constexpr absl::string_view kUnitFolders[] = {
    "/etc/systemd/system", "/run/systemd/system",
    "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
    "/lib/systemd/system"};

bool IsLinkToNull(const FileReader& files, const std::string& path) {
  return files.ReadLink(path).value_or("") == "/dev/null";
}

// Whether systemd would start it at boot, from its files alone: works without a
// running systemd, and for a machine below a root folder. A target's .wants or
// .requires folder links to the unit, and that is there and not masked.
// NotFound if there is no systemd folder at all.
absl::StatusOr<bool> ReadFirewalldAtBoot(const FileReader& files) {
  const std::string unit = "/firewalld.service";
  bool any_folder = false;
  bool wanted = false;
  // The first folder that has the unit decides.
  std::optional<bool> loadable;
  for (const absl::string_view folder : kUnitFolders) {
    const absl::StatusOr<std::vector<std::string>> names = files.List(folder);
    if (absl::IsNotFound(names.status())) continue;
    RETURN_IF_ERROR(names.status());
    any_folder = true;
    const std::string file = absl::StrCat(folder, unit);
    if (!loadable.has_value() && files.CheckExists(file).ok()) {
      loadable = !IsLinkToNull(files, file);
    }
    for (const std::string& name : *names) {
      if (!absl::EndsWith(name, ".wants") &&
          !absl::EndsWith(name, ".requires")) {
        continue;
      }
      const std::string link = absl::StrCat(folder, "/", name, unit);
      const absl::Status exists = files.CheckExists(link);
      if (absl::IsPermissionDenied(exists)) return exists;
      if (exists.ok() && !IsLinkToNull(files, link)) wanted = true;
    }
  }
  if (!any_folder) {
    return absl::NotFoundError("no folder of systemd units");
  }
  return wanted && loadable.value_or(false);
}

// What it lets in now or, `permanently`, after a reload or reboot: zones and
// services of the two may differ.
absl::StatusOr<AllowedFact::Allowed> ReadFirewalldAllowed(
    const Program& program, const absl::StatusOr<std::string>& default_zone,
    bool permanently) {
  const auto read = [&](const std::string& argument) {
    return permanently ? program.Read({"--permanent", argument})
                       : program.Read({argument});
  };
  RETURN_IF_ERROR(default_zone.status());
  ASSIGN_OR_RETURN(const std::string list, read("--list-all-zones"));
  ASSIGN_OR_RETURN(const auto zones, ParseFirewalldZones(list));
  ASSIGN_OR_RETURN(
      const FirewalldZone* const base,
      FindFirewalldBaseZone(
          zones, std::string(absl::StripAsciiWhitespace(*default_zone))));
  const std::vector<std::string>& names = base->List("services");
  if (names.size() > kMaxServices) {
    return absl::InvalidArgumentError(
        absl::StrCat("firewalld: more than ", kMaxServices, " services"));
  }
  std::map<std::string, std::vector<AllowedPort>> services;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const std::string text,
                     read(absl::StrCat("--info-service=", name)));
    ASSIGN_OR_RETURN(services[name], ParseFirewalldService(text));
  }
  return FirewalldAllowed(zones, *base, services);
}

void ReadFirewalldState(const Program& program, FirewallFacts* facts) {
  const absl::StatusOr<CommandResult> state = program.Run({"--state"});
  const absl::StatusOr<bool> active =
      state.ok() ? ParseFirewalldState(*state) : state.status();
  SetFact(active, facts->mutable_active());
  if (!active.ok() || !*active) return;
  // One for both: setting it changes what runs and what is stored.
  const absl::StatusOr<std::string> zone = program.Read({"--get-default-zone"});
  SetFact(ReadFirewalldAllowed(program, zone, false), facts->mutable_allowed());
  SetFact(ReadFirewalldAllowed(program, zone, true),
          facts->mutable_allowed_permanently());
}

// Every rule once: two backends may be one.
absl::StatusOr<DropRulesFact::Rules> FindDropRules(const HostAccess& host) {
  std::vector<DropRule> found;
  bool any_iptables = false;
  for (const absl::string_view save : kIptablesSaves) {
    const auto path = FindProgram(host.paths.root, {save});
    if (absl::IsNotFound(path.status())) continue;
    RETURN_IF_ERROR(path.status());
    any_iptables = true;
    ASSIGN_OR_RETURN(const std::string text, Program(*path, host).Read({}));
    ASSIGN_OR_RETURN(const auto drops, FindIptablesDrops(text));
    found.insert(found.end(), drops.begin(), drops.end());
  }
  const auto nft = FindProgram(host.paths.root, kNft);
  if (nft.ok()) {
    ASSIGN_OR_RETURN(const std::string text,
                     Program(*nft, host).Read({"-n", "list", "ruleset"}));
    ASSIGN_OR_RETURN(const auto drops, FindNftDrops(text, any_iptables));
    found.insert(found.end(), drops.begin(), drops.end());
  } else if (!absl::IsNotFound(nft.status())) {
    return nft.status();
  }
  DropRulesFact::Rules rules;
  std::set<std::string> seen;
  for (DropRule& rule : found) {
    if (!seen.insert(rule.text()).second) continue;
    if (rules.rules_size() == kMaxDropRules) {
      return absl::InvalidArgumentError(absl::StrCat(
          "more than ", kMaxDropRules, " rules that may drop packets"));
    }
    *rules.add_rules() = std::move(rule);
  }
  return rules;
}

}  // namespace

FirewallFacts ReadUfw(const HostAccess& host) {
  return ReadInstalled(host, kUfw, ReadUfwAtBoot, ReadUfwState);
}

FirewallFacts ReadFirewalld(const HostAccess& host) {
  return ReadInstalled(host, kFirewallCmd, ReadFirewalldAtBoot,
                       ReadFirewalldState);
}

DropRulesFact ReadDropRules(const HostAccess& host) {
  DropRulesFact fact;
  SetFact(FindDropRules(host), &fact);
  return fact;
}

}  // namespace clusterd
