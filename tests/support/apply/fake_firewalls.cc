#include "tests/support/apply/fake_firewalls.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace clusterd {
namespace {

constexpr char kUfwConf[] = "/etc/ufw/ufw.conf";
constexpr char kUfwRules[] = "/etc/ufw/user.rules";
constexpr char kZone[] = "/etc/firewalld/zones/public.xml";
constexpr char kZoneBackup[] = "/etc/firewalld/zones/public.xml.old";
constexpr char kFirewalldUnit[] =
    "/etc/systemd/system/multi-user.target.wants/firewalld.service";

CommandResult Says(int status, std::string out, std::string err = "") {
  CommandResult result;
  result.exit_status = status;
  result.standard_output = std::move(out);
  result.standard_error = std::move(err);
  return result;
}

CommandResult KilledProgram() {
  CommandResult result;
  result.timed_out = true;
  result.signal = 9;
  return result;
}

BoolFact Bool(bool value) {
  BoolFact fact;
  fact.set_value(value);
  return fact;
}

// Writes in place, like programs that keep the inode.
void Overwrite(FakeFileSystem* files, const std::string& path,
               const std::string& text) {
  auto file = files->Open(path, OpenMode::kReadWrite);
  if (!file.ok()) {
    files->Put(path, text);
    return;
  }
  (void)(*file)->Truncate(0);
  (void)(*file)->WriteAt(0, text);
  (void)(*file)->Sync();
}

// Parses as much of a line as it can: foreign files have lines that are not
// rules.
AllowedPort ParseRule(const std::string& rule) {
  AllowedPort port;
  std::vector<std::string> words = absl::StrSplit(rule, absl::ByAnyChar(" /:"));
  words.resize(std::max<size_t>(words.size(), 3));
  uint32_t first = 0;
  uint32_t last = 0;
  (void)absl::SimpleAtoi(words[0], &first);
  (void)absl::SimpleAtoi(words[1], &last);
  port.set_first_port(first);
  port.set_last_port(last);
  port.set_protocol(words[2]);
  port.set_source(rule.substr(rule.rfind(' ') + 1));
  return port;
}

}  // namespace

void FakeFirewalls::AddUfw() {
  firewalls_[UFW].installed = firewalls_[UFW].active = true;
  files_->Put(kUfwConf, "# /etc/ufw/ufw.conf\nENABLED=yes\nLOGLEVEL=low\n");
  files_->Put(kUfwRules, "22:22/tcp from 10.9.0.0/16\n", 0640);
  files_->Put("/etc/ufw/user6.rules", "", 0640);
  firewalls_[UFW].rules = StoredRules(UFW);
}

void FakeFirewalls::AddFirewalld() {
  firewalls_[FIREWALLD].installed = firewalls_[FIREWALLD].active = true;
  files_->Put(kFirewalldUnit, "link");
  files_->PutFolder("/etc/firewalld/zones");
}

bool FakeFirewalls::Enabled(FirewallProgram program) const {
  return program == UFW
             ? absl::StrContains(files_->Content(kUfwConf).value_or(""),
                                 "ENABLED=yes")
             : files_->Content(kFirewalldUnit).has_value();
}

std::set<std::string> FakeFirewalls::StoredRules(
    FirewallProgram program) const {
  return absl::StrSplit(
      files_->Content(program == UFW ? kUfwRules : kZone).value_or(""), '\n',
      absl::SkipEmpty());
}

CommandResult FakeFirewalls::Ufw(const Words& argv, bool half) {
  Firewall& ufw = firewalls_[UFW];
  if (ufw.ignores_commands) return Says(0, "");
  const std::string text = files_->Content(kUfwConf).value_or("");
  if (argv[1] == "disable" || argv.back() == "enable") {
    const bool on = argv.back() == "enable";
    Overwrite(files_, kUfwConf,
              absl::StrCat("# /etc/ufw/ufw.conf\nENABLED=", on ? "yes" : "no",
                           "\nLOGLEVEL=low\n"));
    if (half) return KilledProgram();
    ufw.active = on;
    ufw.rules = on ? StoredRules(UFW) : std::set<std::string>();
    return Says(0, on ? "Firewall is active and enabled on system startup\n"
                      : "Firewall stopped and disabled on system startup\n");
  }
  if (argv[1] == "reload") {
    if (ufw.active) ufw.rules = StoredRules(UFW);
    return Says(0, "Firewall reloaded\n");
  }
  // allow proto tcp from SOURCE to any port PORTS
  const std::string ports = absl::StrContains(argv[9], ":")
                                ? argv[9]
                                : absl::StrCat(argv[9], ":", argv[9]);
  const std::string rule = absl::StrCat(ports, "/", argv[3], " from ", argv[5]);
  Overwrite(files_, kUfwRules,
            absl::StrCat(files_->Content(kUfwRules).value_or(""), rule, "\n"));
  if (half) return KilledProgram();
  if (ufw.active) ufw.rules.insert(rule);
  return Says(0, "Rule added\n");
}

CommandResult FakeFirewalls::FirewallCmd(const Words& argv, bool half) {
  Firewall& firewalld = firewalls_[FIREWALLD];
  if (!firewalld.active) return Says(252, "", "FirewallD is not running\n");
  if (argv[1] == "--get-default-zone") return Says(0, "public\n");
  const bool permanent = argv[1] == "--permanent";
  const std::string& last = argv.back();
  const std::string verb = last.substr(0, last.find('='));
  // rule family="ipv4" source address="S" port port="A-B" protocol="P" accept
  const std::vector<std::string> quoted = absl::StrSplit(last, '"');
  std::string ports = quoted[5];
  std::replace(ports.begin(), ports.end(), '-', ':');
  if (!absl::StrContains(ports, ':')) ports = absl::StrCat(ports, ":", ports);
  const std::string rule =
      absl::StrCat(ports, "/", quoted[7], " from ", quoted[3]);
  std::set<std::string> rules =
      permanent ? StoredRules(FIREWALLD) : firewalld.rules;
  if (verb == "--query-rich-rule") {
    return rules.count(rule) > 0 ? Says(0, "yes\n") : Says(1, "no\n");
  }
  if (firewalld.ignores_commands) return Says(0, "success\n");
  if (verb == "--add-rich-rule") {
    rules.insert(rule);
  } else {
    rules.erase(rule);
  }
  if (!permanent) {
    if (half) return KilledProgram();
    firewalld.rules = rules;
    return Says(0, "success\n");
  }
  if (const auto old = files_->Content(kZone))
    Overwrite(files_, kZoneBackup, *old);
  if (half) return KilledProgram();
  Overwrite(files_, kZone,
            rules.empty() ? "" : absl::StrJoin(rules, "\n") + "\n");
  return Says(0, "success\n");
}

CommandResult FakeFirewalls::Systemctl(const Words& argv, bool half) {
  Firewall& firewalld = firewalls_[FIREWALLD];
  if (firewalld.ignores_commands) return Says(0, "");
  if (argv[1] == "enable") files_->Put(kFirewalldUnit, "link");
  if (argv[1] == "disable") (void)files_->Remove(kFirewalldUnit);
  if (half) return KilledProgram();
  const bool start = argv[1] == "start";
  if ((start && !firewalld.active) || argv[1] == "stop") {
    firewalld.active = start;
    firewalld.rules =
        firewalld.active ? StoredRules(FIREWALLD) : std::set<std::string>();
  }
  return Says(0, "");
}

FirewallFacts FakeFirewalls::Read(FirewallProgram program) {
  FirewallFacts facts;
  const Firewall& firewall = firewalls_[program];
  *facts.mutable_installed() = Bool(firewall.installed);
  if (!firewall.installed) return facts;
  *facts.mutable_active() = Bool(firewall.active);
  *facts.mutable_enabled_at_boot() = Bool(Enabled(program));
  if (!firewall.active) {
    facts.mutable_allowed()->mutable_missing()->set_reason(
        Missing::NOT_QUERIED);
    return facts;
  }
  facts.mutable_allowed()->mutable_value();
  for (const std::string& rule : firewall.rules) {
    *facts.mutable_allowed()->mutable_value()->add_ports() = ParseRule(rule);
  }
  if (program == UFW) return facts;
  facts.mutable_other_zones()->mutable_value();
  facts.mutable_allowed_permanently()->mutable_value();
  for (const std::string& rule : StoredRules(program)) {
    *facts.mutable_allowed_permanently()->mutable_value()->add_ports() =
        ParseRule(rule);
  }
  return facts;
}

std::optional<CommandResult> FakeFirewalls::Run(const Words& argv, bool half) {
  const std::string program = argv[0].substr(argv[0].rfind('/') + 1);
  if (program == "ufw" && firewalls_[UFW].installed) return Ufw(argv, half);
  if (program == "firewall-cmd" && firewalls_[FIREWALLD].installed) {
    return FirewallCmd(argv, half);
  }
  if (program == "systemctl") return Systemctl(argv, half);
  return std::nullopt;
}

void FakeFirewalls::Boot() {
  for (auto& [program, firewall] : firewalls_) {
    firewall.active = firewall.installed && Enabled(program);
    firewall.rules =
        firewall.active ? StoredRules(program) : std::set<std::string>();
  }
}

std::map<std::string, std::string> FakeFirewalls::State() const {
  std::map<std::string, std::string> state;
  for (const auto& [program, firewall] : firewalls_) {
    if (!firewall.installed) continue;
    state[absl::StrCat("firewall ", program)] =
        absl::StrCat("active ", firewall.active, " enabled ", Enabled(program),
                     " rules ", absl::StrJoin(firewall.rules, ";"));
  }
  return state;
}

}  // namespace clusterd
