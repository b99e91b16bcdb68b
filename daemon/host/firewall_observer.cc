#include "daemon/host/firewall_observer.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "daemon/host/file_reader.h"
#include "daemon/host/firewalld_output.h"
#include "daemon/host/missing.h"
#include "daemon/host/program_path.h"
#include "daemon/host/quoted_text.h"
#include "daemon/host/ufw_output.h"
#include "daemon/host/unit_files.h"

namespace clusterd {
namespace {

constexpr absl::string_view kUfw[] = {"/usr/sbin/ufw", "/sbin/ufw"};
constexpr absl::string_view kFirewallCmd[] = {"/usr/bin/firewall-cmd",
                                              "/bin/firewall-cmd"};
// Each takes a command of about 0.2 s to look up.
constexpr size_t kMaxServices = 16;

void SetBool(const absl::StatusOr<bool>& value, BoolFact* fact) {
  if (value.ok()) {
    fact->set_value(*value);
  } else {
    SetMissing(MissingFor(value.status()), fact);
  }
}

void SetAllowed(const absl::StatusOr<AllowedFact::Allowed>& allowed,
                AllowedFact* fact) {
  if (allowed.ok()) {
    *fact->mutable_value() = *allowed;
  } else {
    SetMissing(MissingFor(allowed.status()), fact);
  }
}

// Runs a firewall's program to its end, whatever its status.
class Program {
 public:
  Program(std::string path, CommandRunner* runner, const TimeBudget* budget)
      : path_(std::move(path)), runner_(runner), budget_(budget) {}

  // DeadlineExceeded, also for a host whose time is spent; FailedPrecondition
  // for endless output; the runner's codes.
  absl::StatusOr<CommandResult> Run(
      const std::vector<std::string>& arguments) const {
    Command command;
    command.argv = {path_};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.deadline = budget_->ForCommand();
    absl::StatusOr<CommandResult> result = runner_->Run(command);
    if (!result.ok()) return result;
    if (result->timed_out) {
      return absl::DeadlineExceededError(absl::StrCat(
          Name(arguments), ": no answer in ", budget_->CutBy(result->elapsed)));
    }
    if (result->output_cut) {
      return absl::FailedPreconditionError(
          absl::StrCat(Name(arguments), ": endless output"));
    }
    return result;
  }

  // Standard output of a run with status 0. PermissionDenied or Unavailable,
  // quoting what it said, for another status.
  absl::StatusOr<std::string> Read(
      const std::vector<std::string>& arguments) const {
    absl::StatusOr<CommandResult> result = Run(arguments);
    if (!result.ok()) return result.status();
    if (result->exit_status == 0 && result->signal == 0) {
      return std::move(result->standard_output);
    }
    const std::string said =
        absl::StrCat(result->standard_error, result->standard_output);
    const std::string message =
        absl::StrCat(Name(arguments), ": status ", result->exit_status, " and ",
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
  CommandRunner* const runner_;
  const TimeBudget* const budget_;
};

// Whether the firewall is there at all; `program` is then its path or why it is
// not run.
bool ReadInstalled(const HostPaths& paths,
                   absl::Span<const absl::string_view> candidates,
                   absl::StatusOr<std::string>* program, FirewallFacts* facts) {
  *program = FindProgram(paths.root, candidates);
  const bool installed = !absl::IsNotFound(program->status());
  facts->mutable_installed()->set_value(installed);
  return installed;
}

void ReadUfwState(const Program& ufw, FirewallFacts* facts) {
  const absl::StatusOr<std::string> status = ufw.Read({"status", "verbose"});
  const absl::StatusOr<bool> active =
      status.ok() ? ParseUfwActive(*status) : status.status();
  SetBool(active, facts->mutable_active());
  if (active.ok() && *active) {
    SetAllowed(ParseUfwAllowed(*status), facts->mutable_allowed());
    SetMissing(MakeMissing(Missing::NOT_SUPPORTED,
                           "ufw stores every rule that it lets run"),
               facts->mutable_allowed_permanently());
  }
}

absl::StatusOr<bool> ReadUfwAtBoot(const FileReader& files) {
  const absl::StatusOr<FileText> conf = files.Read("/etc/ufw/ufw.conf");
  if (!conf.ok()) return conf.status();
  return ParseUfwConf(conf->text);
}

// What it lets in now or, `permanently`, after a reload or reboot: zones and
// services of the two may differ.
absl::StatusOr<AllowedFact::Allowed> ReadFirewalldAllowed(
    const Program& program, const std::string& default_zone, bool permanently) {
  const auto read = [&](std::string argument) {
    std::vector<std::string> arguments;
    if (permanently) arguments.emplace_back("--permanent");
    arguments.push_back(std::move(argument));
    return program.Read(arguments);
  };
  const absl::StatusOr<std::string> list = read("--list-all-zones");
  if (!list.ok()) return list.status();
  const absl::StatusOr<std::vector<FirewalldZone>> zones =
      ParseFirewalldZones(*list);
  if (!zones.ok()) return zones.status();
  const absl::StatusOr<const FirewalldZone*> base =
      FindFirewalldBaseZone(*zones, default_zone);
  if (!base.ok()) return base.status();
  const std::vector<std::string>& names = (*base)->List("services");
  if (names.size() > kMaxServices) {
    return absl::InvalidArgumentError(
        absl::StrCat("firewalld: more than ", kMaxServices, " services"));
  }
  std::map<std::string, std::vector<AllowedPort>> services;
  for (const std::string& name : names) {
    const absl::StatusOr<std::string> text =
        read(absl::StrCat("--info-service=", name));
    if (!text.ok()) return text.status();
    const absl::StatusOr<std::vector<AllowedPort>> ports =
        ParseFirewalldService(*text);
    if (!ports.ok()) return ports.status();
    services[name] = *ports;
  }
  return FirewalldAllowed(*zones, **base, services);
}

void ReadFirewalldState(const Program& program, FirewallFacts* facts) {
  const absl::StatusOr<CommandResult> state = program.Run({"--state"});
  const absl::StatusOr<bool> active =
      state.ok() ? ParseFirewalldState(*state) : state.status();
  SetBool(active, facts->mutable_active());
  if (!active.ok() || !*active) return;
  // One for both: setting it changes what runs and what is stored.
  absl::StatusOr<std::string> zone = program.Read({"--get-default-zone"});
  if (!zone.ok()) {
    SetAllowed(zone.status(), facts->mutable_allowed());
    SetAllowed(zone.status(), facts->mutable_allowed_permanently());
    return;
  }
  absl::StripAsciiWhitespace(&*zone);
  SetAllowed(ReadFirewalldAllowed(program, *zone, false),
             facts->mutable_allowed());
  SetAllowed(ReadFirewalldAllowed(program, *zone, true),
             facts->mutable_allowed_permanently());
}

}  // namespace

FirewallFacts ReadUfw(const HostPaths& paths, CommandRunner* runner,
                      const TimeBudget& budget) {
  FirewallFacts facts;
  absl::StatusOr<std::string> program = std::string();
  if (!ReadInstalled(paths, kUfw, &program, &facts)) return facts;
  SetBool(ReadUfwAtBoot(FileReader(paths.root)),
          facts.mutable_enabled_at_boot());
  if (program.ok()) {
    ReadUfwState(Program(*program, runner, &budget), &facts);
  } else {
    SetMissing(MissingFor(program.status()), facts.mutable_active());
  }
  return facts;
}

FirewallFacts ReadFirewalld(const HostPaths& paths, CommandRunner* runner,
                            const TimeBudget& budget) {
  FirewallFacts facts;
  absl::StatusOr<std::string> program = std::string();
  if (!ReadInstalled(paths, kFirewallCmd, &program, &facts)) return facts;
  SetBool(ReadUnitEnabled(FileReader(paths.root), "firewalld.service"),
          facts.mutable_enabled_at_boot());
  if (program.ok()) {
    ReadFirewalldState(Program(*program, runner, &budget), &facts);
  } else {
    SetMissing(MissingFor(program.status()), facts.mutable_active());
  }
  return facts;
}

}  // namespace clusterd
