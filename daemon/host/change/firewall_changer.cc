#include "daemon/host/change/firewall_changer.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "config/plan/named_facts.h"
#include "config/plan/settings.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

constexpr const char* kUfwFiles[] = {"/etc/ufw/ufw.conf", "/etc/ufw/user.rules",
                                     "/etc/ufw/user6.rules"};
constexpr char kZones[] = "/etc/firewalld/zones/";

// Returns, e.g., "active, starts at boot".
FindingValue StateWords(bool active, bool enabled) {
  return Worded(active ? enabled ? "plan-say-active-at-boot" : "plan-say-active"
                : enabled ? "plan-say-stopped-but-at-boot"
                          : "plan-say-stopped");
}

bool IsStateKnown(const FirewallFacts& facts) {
  return IsKnown(facts.active()) && IsKnown(facts.enabled_at_boot());
}

bool IsZoneName(absl::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         absl::c_all_of(name, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_';
         });
}

bool IsFileOf(FirewallProgram program, absl::string_view path) {
  if (program == UFW) return absl::c_linear_search(kUfwFiles, path);
  absl::ConsumeSuffix(&path, ".old");
  return absl::ConsumePrefix(&path, kZones) &&
         absl::ConsumeSuffix(&path, ".xml") && IsZoneName(path);
}

bool Succeeded(const absl::StatusOr<CommandResult>& result) {
  return result.ok() && !result->timed_out && result->signal == 0 &&
         result->exit_status == 0;
}

}  // namespace

std::string RichRule(const AllowedPort& port) {
  return absl::StrCat("rule family=\"ipv4\" source address=\"", port.source(),
                      "\" port port=\"",
                      RangeText(port.first_port(), port.last_port()),
                      "\" protocol=\"", port.protocol(), "\" accept");
}

absl::Status CheckSavedFirewall(const SavedFirewall& saved) {
  static const LazyRE2 kRule = {
      R"re(rule family="ipv4" source address="[\d./]+" port port="[\d-]+" )re"
      R"re(protocol="tcp" accept)re"};
  if (saved.program() != UFW && saved.program() != FIREWALLD) {
    return InvalidWords("msg-step-saved-program", saved.program());
  }
  for (const SavedFile& file : saved.files()) {
    if (!IsFileOf(saved.program(), file.path())) {
      return InvalidWords("msg-step-saved-firewall-file",
                          QuotedText(file.path()),
                          FirewallName(saved.program()));
    }
  }
  for (const auto* rules : {&saved.added_running(), &saved.added_permanent()}) {
    for (const std::string& rule : *rules) {
      if (HasForm(rule, *kRule)) continue;
      return InvalidWords("msg-step-saved-rule", QuotedText(rule));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CommandResult> FirewallChanger::Run(
    std::vector<std::string> argv) {
  const Command command = {std::move(argv), programs_.deadline};
  absl::StatusOr<CommandResult> result = runner_->Run(command);
  said_ = CommandWords(command, result);
  return result;
}

absl::StatusOr<CommandResult> FirewallChanger::RunOnRule(
    absl::string_view verb, const std::string& rule, bool permanent) {
  std::vector<std::string> argv = {programs_.firewall_cmd};
  if (permanent) argv.push_back("--permanent");
  argv.push_back(absl::StrCat("--", verb, "-rich-rule=", rule));
  return Run(std::move(argv));
}

absl::StatusOr<bool> FirewallChanger::HasRule(const std::string& rule,
                                              bool permanent) {
  ASSIGN_OR_RETURN(const CommandResult result,
                   RunOnRule("query", rule, permanent));
  const absl::string_view answer =
      absl::StripAsciiWhitespace(result.standard_output);
  if (answer == "yes") return true;
  if (answer == "no") return false;
  return WithWords(absl::FailedPreconditionError(""), said_);
}

absl::StatusOr<SavedFirewall> FirewallChanger::Save(FirewallProgram program,
                                                    bool adds_rules) {
  const FirewallFacts facts = reader_->ReadFirewall(program);
  if (!IsStateKnown(facts)) {
    return PreconditionWords("msg-step-firewall-not-known",
                             FirewallName(program));
  }
  SavedFirewall saved;
  saved.set_program(program);
  saved.set_active(facts.active().value());
  saved.set_enabled(facts.enabled_at_boot().value());
  std::vector<std::string> paths;
  if (program == UFW) {
    paths.assign(std::begin(kUfwFiles), std::end(kUfwFiles));
  } else if (adds_rules) {
    ASSIGN_OR_RETURN(const CommandResult zone,
                     Run({programs_.firewall_cmd, "--get-default-zone"}));
    const auto name = absl::StripAsciiWhitespace(zone.standard_output);
    if (!IsZoneName(name))
      return WithWords(absl::FailedPreconditionError(""), said_);
    // firewalld keeps the text before its last write in a file beside it.
    const std::string path = absl::StrCat(kZones, name, ".xml");
    paths = {path, path + ".old"};
  }
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(*saved.add_files(), SaveFile(files_, path));
  }
  return saved;
}

absl::StatusOr<SavedFirewall> FirewallChanger::SaveRule(
    const FirewallRule& rule) {
  SavedFirewall saved;
  saved.set_program(rule.program());
  if (rule.program() == UFW) return saved;  // Its rules are in its files.
  const std::string text = RichRule(rule.port());
  ASSIGN_OR_RETURN(const bool running, HasRule(text, false));
  ASSIGN_OR_RETURN(const bool permanent, HasRule(text, true));
  if (!running) saved.add_added_running(text);
  if (!permanent) saved.add_added_permanent(text);
  return saved;
}

absl::Status FirewallChanger::LastWas(const absl::Status& error) const {
  return said_.words().empty()
             ? error
             : WithWords(error, Worded("plan-say-last-was", MessageWords(error),
                                       said_));
}

absl::Status FirewallChanger::Expect(FirewallProgram program, bool active,
                                     bool enabled) {
  const FirewallFacts facts = reader_->ReadFirewall(program);
  const FindingValue expected = StateWords(active, enabled);
  const FindingValue is =
      IsStateKnown(facts)
          ? StateWords(facts.active().value(), facts.enabled_at_boot().value())
          : Worded("plan-say-in-unknown-state");
  if (is.words() == expected.words()) return absl::OkStatus();
  return LastWas(PreconditionWords("msg-step-firewall-state",
                                   FirewallName(program), is, expected));
}

absl::Status FirewallChanger::Disable(const MutationToken&,
                                      FirewallProgram program) {
  said_.Clear();
  // The machine shows the outcome; said_ only serves error messages.
  if (program == UFW) {
    (void)Run({programs_.ufw, "disable"});
  } else {
    (void)Run({programs_.systemctl, "disable", "firewalld"});
    (void)Run({programs_.systemctl, "stop", "firewalld"});
  }
  return Expect(program, false, false);
}

absl::Status FirewallChanger::Add(const MutationToken&,
                                  const FirewallRule& rule,
                                  const SavedFirewall& saved) {
  said_.Clear();
  const AllowedPort& port = rule.port();
  if (rule.program() == UFW) {
    (void)Run({programs_.ufw, "allow", "proto", port.protocol(), "from",
               port.source(), "to", "any", "port",
               RangeText(port.first_port(), port.last_port(), ":")});
  } else {
    for (const std::string& text : saved.added_permanent()) {
      (void)RunOnRule("add", text, true);
    }
    for (const std::string& text : saved.added_running()) {
      (void)RunOnRule("add", text, false);
    }
    ASSIGN_OR_RETURN(const bool kept, HasRule(RichRule(port), true));
    if (!kept) {
      return PreconditionWords("msg-step-rule-not-permanent", RichRule(port));
    }
  }
  const FirewallFacts facts = reader_->ReadFirewall(rule.program());
  if (AllowedPorts(facts.allowed().value()).Contains(port)) {
    return absl::OkStatus();
  }
  return LastWas(PreconditionWords(
      "msg-step-not-let-in", FirewallName(rule.program()),
      absl::StrCat(RangeText(port.first_port(), port.last_port(), ":"), "/",
                   port.protocol()),
      port.source()));
}

absl::Status FirewallChanger::RestoreFiles(const MutationToken& token,
                                           const SavedFirewall& saved) {
  absl::Status first;
  for (const SavedFile& file : saved.files()) {
    first.Update(RestoreFile(token, files_, file));
  }
  return first;
}

absl::Status FirewallChanger::RestoreUfw(const MutationToken& token,
                                         const SavedFirewall& saved) {
  // ufw waits for its lock without a limit (util.py, create_lock), and any user
  // who may read that file can hold it. A running ufw keeps the old file.
  constexpr char kLock[] = "/run/ufw.lock";
  const absl::StatusOr<FileAttributes> lock = files_->Stat(kLock);
  if (lock.ok() && (lock->uid != 0 || (lock->mode & 0077) != 0) &&
      files_->Remove(kLock).ok()) {
    (void)files_->Open(kLock, OpenMode::kCreate);  // Otherwise ufw makes it.
  }
  const FirewallFacts facts = reader_->ReadFirewall(UFW);
  const bool active = facts.active().value();
  if (saved.active() && !active) {
    (void)Run({programs_.ufw, "--force", "enable"});
  } else if (!saved.active() && active) {
    (void)Run({programs_.ufw, "disable"});
  }
  const absl::Status files = RestoreFiles(token, saved);
  if (!saved.active()) return files;
  // Reload always: a crash may have happened between the files and the reload.
  // After a failed reload the previous rules run.
  const absl::StatusOr<CommandResult> reload = Run({programs_.ufw, "reload"});
  if (!files.ok()) return files;
  if (Succeeded(reload)) return absl::OkStatus();
  return PreconditionWords("msg-step-ufw-rules-differ", said_);
}

absl::Status FirewallChanger::RemoveRules(const SavedFirewall& saved) {
  absl::Status left;
  for (const bool permanent : {false, true}) {
    const auto& rules =
        permanent ? saved.added_permanent() : saved.added_running();
    for (const std::string& rule : rules) {
      ASSIGN_OR_RETURN(const bool there, HasRule(rule, permanent));
      if (!there) continue;
      (void)RunOnRule("remove", rule, permanent);
      const FindingValue said = said_;
      ASSIGN_OR_RETURN(const bool still, HasRule(rule, permanent));
      if (!still) continue;
      left.Update(PreconditionWords(
          permanent ? "msg-step-still-permanent" : "msg-step-still-running",
          said));
    }
  }
  return left;
}

absl::Status FirewallChanger::StartFirewalld() {
  if (Succeeded(Run({programs_.systemctl, "start", "firewalld"}))) {
    return absl::OkStatus();
  }
  const FindingValue said = said_;
  // firewalld answers until it exits; only systemd knows that it is stopping.
  const absl::StatusOr<CommandResult> is =
      Run({programs_.systemctl, "is-active", "firewalld"});
  said_ = said;
  if (Succeeded(is) &&
      absl::StripAsciiWhitespace(is->standard_output) == "active") {
    return absl::OkStatus();
  }
  return PreconditionWords("msg-step-not-stay-active", said);
}

absl::Status FirewallChanger::RestoreFirewalld(const MutationToken& token,
                                               const SavedFirewall& saved) {
  const FirewallFacts facts = reader_->ReadFirewall(FIREWALLD);
  if (facts.enabled_at_boot().value() != saved.enabled()) {
    (void)Run({programs_.systemctl, saved.enabled() ? "enable" : "disable",
               "firewalld"});
  }
  absl::Status first;
  if (saved.active()) {
    first = StartFirewalld();
  } else if (facts.active().value()) {
    (void)Run({programs_.systemctl, "stop", "firewalld"});
  }
  first.Update(RemoveRules(saved));
  // Restored last, because removing a rule writes these files; even after an
  // error, because the next boot reads them.
  first.Update(RestoreFiles(token, saved));
  return first;
}

absl::Status FirewallChanger::Restore(const MutationToken& token,
                                      const SavedFirewall& saved) {
  said_.Clear();
  RETURN_IF_ERROR(saved.program() == UFW ? RestoreUfw(token, saved)
                                         : RestoreFirewalld(token, saved));
  return Expect(saved.program(), saved.active(), saved.enabled());
}

}  // namespace clusterd
