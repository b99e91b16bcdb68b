#include "daemon/agent/apply/fake_machine.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/sysctl_file.h"
#include "config/spec/ipv4.h"
#include "config/spec/port_set.h"
#include "daemon/agent/apply/fake_facts.h"
#include "daemon/host/hccn_conf.h"

namespace clusterd {
namespace {

constexpr char kConf[] = "/etc/hccn.conf";
constexpr char kUfwConf[] = "/etc/ufw/ufw.conf";
constexpr char kUfwRules[] = "/etc/ufw/user.rules";
constexpr char kZone[] = "/etc/firewalld/zones/public.xml";
constexpr char kZoneBackup[] = "/etc/firewalld/zones/public.xml.old";
constexpr char kFirewalldUnit[] =
    "/etc/systemd/system/multi-user.target.wants/firewalld.service";
constexpr size_t kPageBytes = 4090;  // What one write of a port list takes.

CommandResult Says(int status, std::string out, std::string err = "") {
  CommandResult result;
  result.exit_status = status;
  result.standard_output = std::move(out);
  result.standard_error = std::move(err);
  return result;
}

CommandResult Success() { return Says(0, "Cmd executed successfully!\n"); }

CommandResult Killed() {
  CommandResult result;
  result.timed_out = true;
  result.signal = 9;
  return result;
}

// Deletes every line that contains "key=", as the tool does.
std::string WithoutKey(const std::string& text, const std::string& full_key) {
  std::string kept;
  for (const std::string& line : Lines(text)) {
    if (absl::StrContains(line, full_key + "=")) continue;
    absl::StrAppend(&kept, line, "\n");
  }
  // A last line without a newline stays without one, and the next write joins.
  if (!absl::EndsWith(text, "\n") && !kept.empty()) kept.pop_back();
  return kept;
}

bool Inside(const std::string& address, const FakeMachine::Device& device) {
  const auto own = Ipv4Interface::Parse(device.address, device.netmask);
  const auto other = Ipv4Address::Parse(address);
  return own.ok() && other.ok() && own->subnet().Contains(*other);
}

}  // namespace

FakeMachine::FakeMachine(std::string host)
    : host_(std::move(host)), half_(this) {
  files_.Put(kConf, "", 0640, 0, 12);
  files_.PutFolder("/etc/sysctl.d");
  files_.PutFolder("/var/lib/clusterd");
  AddSysctl(kReservedPortsKey, true, "");
  AddSysctl(kSomaxconnKey, false, "4096");
  AddSysctl(kSynBacklogKey, false, "2048");
}

void FakeMachine::AddSysctl(const std::string& key, bool is_ports,
                            const std::string& value) {
  sysctl_[key] = value;
  FakeFileSystem::Special special;
  special.read = [this, key] { return sysctl_[key] + "\n"; };
  special.write = [this, key, is_ports](
                      uint64_t offset,
                      absl::string_view bytes) -> absl::StatusOr<size_t> {
    if (bytes.empty()) return size_t{0};
    if (!is_ports) {
      uint32_t number = 0;
      if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(bytes), &number)) {
        return absl::InvalidArgumentError(key + ": Invalid argument");
      }
      sysctl_[key] = absl::StrCat(number);
      return bytes.size();
    }
    // About a page for each write, up to the last comma in it.
    absl::string_view taken = bytes.substr(0, kPageBytes);
    if (taken.size() < bytes.size()) {
      taken = taken.substr(0, taken.rfind(',') + 1);
    }
    auto ports = PortSet::Parse(
        absl::StripSuffix(absl::StripAsciiWhitespace(taken), ","));
    if (!ports.ok()) {
      return absl::InvalidArgumentError(key + ": Invalid argument");
    }
    if (offset > 0) ports->Add(*PortSet::Parse(sysctl_[key]));
    sysctl_[key] = ports->ToString();
    return taken.size();
  };
  files_.PutSpecial(
      absl::StrCat("/proc/sys/", absl::StrJoin(absl::StrSplit(key, '.'), "/")),
      std::move(special));
}

void FakeMachine::AddDevice(uint32_t id, const Device& device) {
  devices_[id] = device;
  std::string conf = Conf();
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) {
      absl::StrAppend(&conf, HccnConfKey(key, id), "=", value, "\n");
    }
  };
  add("address", device.address);
  add("netmask", device.netmask);
  add("gateway", device.gateway);
  if (device.detect != "0.0.0.0") add("netdetect", device.detect);
  add("tls_enable", device.tls ? "1" : "0");
  for (const std::string& route : device.routes) {
    const std::vector<std::string> words = absl::StrSplit(route, ' ');
    add(absl::StrCat("route_address_", words[0], "_netmask_", words[2]).c_str(),
        "gateway_" + words[1]);
  }
  files_.Put(kConf, conf, 0640, 0, 12);
}

void FakeMachine::AddUfw() {
  firewalls_[UFW].installed = firewalls_[UFW].active = true;
  files_.Put(kUfwConf, "# /etc/ufw/ufw.conf\nENABLED=yes\nLOGLEVEL=low\n");
  files_.Put(kUfwRules, "22:22/tcp from 10.9.0.0/16\n", 0640);
  files_.Put("/etc/ufw/user6.rules", "", 0640);
  firewalls_[UFW].rules = StoredRules(UFW);
}

void FakeMachine::AddFirewalld() {
  firewalls_[FIREWALLD].installed = firewalls_[FIREWALLD].active = true;
  files_.Put(kFirewalldUnit, "link");
  files_.PutFolder("/etc/firewalld/zones");
}

std::string FakeMachine::Conf() const {
  return files_.Content(kConf).value_or("");
}

void FakeMachine::Overwrite(const std::string& path, const std::string& text) {
  auto file = files_.Open(path, OpenMode::kReadWrite);
  if (!file.ok()) {
    files_.Put(path, text);
    return;
  }
  (void)(*file)->Truncate(0);
  (void)(*file)->WriteAt(0, text);
  (void)(*file)->Sync();
}

void FakeMachine::WriteConf(const std::string& text) { Overwrite(kConf, text); }

std::map<std::string, std::string> FakeMachine::State(
    const std::string& except) const {
  std::map<std::string, std::string> state = files_.Snapshot({except});
  for (const auto& [id, device] : devices_) {
    state[absl::StrCat("device ", id)] =
        absl::StrCat(device.address, " ", device.netmask, " gw ",
                     device.gateway, " detect ", device.detect, " tls ",
                     device.tls, " routes ", absl::StrJoin(device.routes, ";"));
  }
  for (const auto& [key, value] : sysctl_) state[key] = value;
  for (const auto& [program, firewall] : firewalls_) {
    if (!firewall.installed) continue;
    state[absl::StrCat("firewall ", program)] =
        absl::StrCat("active ", firewall.active, " enabled ", Enabled(program),
                     " rules ", absl::StrJoin(firewall.rules, ";"));
  }
  return state;
}

bool FakeMachine::Enabled(FirewallProgram program) const {
  return program == UFW
             ? absl::StrContains(files_.Content(kUfwConf).value_or(""),
                                 "ENABLED=yes")
             : files_.Content(kFirewalldUnit).has_value();
}

std::set<std::string> FakeMachine::StoredRules(FirewallProgram program) const {
  const auto lines =
      Lines(files_.Content(program == UFW ? kUfwRules : kZone).value_or(""));
  return {lines.begin(), lines.end()};
}

FakeMachine::Fault FakeMachine::TakeFault(uint32_t id) {
  Device& device = devices_[id];
  if (half_way_) return Fault::kHangsHalfWay;
  if (device.faults_left == 0) return Fault::kNone;
  if (device.faults_left > 0) --device.faults_left;
  return device.fault;
}

void FakeMachine::DropRoutesOutside(uint32_t id) {
  Device& device = devices_[id];
  if (!device.gateway.empty() && !Inside(device.gateway, device)) {
    device.gateway.clear();
  }
  for (auto route = device.routes.begin(); route != device.routes.end();) {
    const std::vector<std::string> words = absl::StrSplit(*route, ' ');
    route = Inside(words[1], device) ? std::next(route)
                                     : device.routes.erase(route);
  }
}

CommandResult FakeMachine::SetAddress(uint32_t id, const Words& argv,
                                      Fault fault) {
  Device& device = devices_[id];
  Device wanted = device;
  wanted.address = argv[6];
  wanted.netmask = argv[8];
  for (const auto& [other_id, other] : devices_) {
    if (other_id != id && other.address == wanted.address) {
      return Says(7, "", "The ip address you configured is conflicted!\n");
    }
  }
  // First the routes, in the file, before the device is asked.
  std::string kept;
  for (const std::string& line : Lines(Conf())) {
    const bool mine = absl::StrContains(line, absl::StrCat("_", id, "=")) &&
                      absl::StartsWith(line, "route_address_");
    const size_t through = line.find("=gateway_");
    if (mine && through == std::string::npos) {
      return Says(244, "", "Cmd execute failed!\n");
    }
    if (mine && !Inside(line.substr(through + 9), wanted)) continue;
    absl::StrAppend(&kept, line, "\n");
  }
  if (!absl::EndsWith(Conf(), "\n") && !kept.empty()) kept.pop_back();
  WriteConf(kept);
  if (fault == Fault::kDeviceRefuses) {
    return Says(1, "", "Command execute failed!\n");
  }
  device.address = wanted.address;
  device.netmask = wanted.netmask;
  DropRoutesOutside(id);
  if (fault == Fault::kHangsHalfWay) return Killed();
  if (fault == Fault::kActsAndFails) {
    return Says(22, "", "Execute failed: Link status is down.\n");
  }
  const std::string gateway_key = HccnConfKey("gateway", id);
  const auto stored = HccnConfValue(Conf(), gateway_key);
  if (stored && Inside(*stored, device)) {
    device.gateway = *stored;
  } else if (stored) {
    WriteConf(WithoutKey(Conf(), gateway_key));
  }
  if (fault == Fault::kSuccessLosesKey) return Success();
  return SetKeys(id, fault,
                 {{"address", wanted.address}, {"netmask", wanted.netmask}});
}

CommandResult FakeMachine::SetKeys(
    uint32_t id, Fault fault,
    const std::vector<std::pair<std::string, std::string>>& keys) {
  if (fault == Fault::kHangsHalfWay) return Killed();
  if (fault == Fault::kActsAndFails) {
    return Says(4, "",
                "Write configurations to config file failed. User "
                "configurations cannot be persisted! pls check cmd run "
                "permission.\n");
  }
  if (fault == Fault::kSuccessLosesKey) return Success();
  for (const auto& [key, value] : keys) {
    const std::string full = HccnConfKey(key, id);
    WriteConf(absl::StrCat(WithoutKey(Conf(), full), full, "=", value, "\n"));
  }
  return Success();
}

CommandResult FakeMachine::RouteCommand(uint32_t id, const Words& argv) {
  Device& device = devices_[id];
  if (argv[4] == "-g") {
    std::string table =
        "Routing table:\nDestination     Gateway         Genmask         Flags "
        "Metric Ref    Use Iface\n";
    for (const std::string& route : device.routes) {
      absl::StrAppend(&table, route, " UG    0      0        0 eth", id, "\n");
    }
    return Says(0, table);
  }
  const std::string route = absl::StrCat(argv[6], " ", argv[10], " ", argv[8]);
  if (!device.routes.insert(route).second) {
    return Says(1, "", "Command execute failed!\n");
  }
  return SetKeys(
      id, Fault::kNone,
      {{absl::StrCat("route_address_", argv[6], "_netmask_", argv[8]),
        "gateway_" + argv[10]}});
}

CommandResult FakeMachine::Tool(const Words& argv) {
  uint32_t id = 0;
  if (argv.size() < 5 || !absl::SimpleAtoi(argv[2], &id) ||
      devices_.count(id) == 0) {
    return Says(4, "", "Get invalid device id.\n");
  }
  if (argv[3] == "-route") return RouteCommand(id, argv);
  Device& device = devices_[id];
  const Fault fault = TakeFault(id);
  if (fault == Fault::kHangs || fault == Fault::kSilent) return Killed();
  if (fault == Fault::kBusy) {
    return Says(11, "hccn_tool is busy, please try again.\n");
  }
  if (fault == Fault::kSpeaksNoUtf8) {
    return Says(1, "", "hccn_tool: \xca\xa7\xb0\xdc\n");
  }
  if (fault == Fault::kSuccessChangesNothing) return Success();
  if (argv[3] == "-ip") return SetAddress(id, argv, fault);
  if (fault == Fault::kDeviceRefuses) {
    return Says(1, "", "Command execute failed!\n");
  }
  const std::string& value = argv.back();
  if (argv[3] == "-gateway") {
    if (device.address.empty()) {
      return Says(26, "",
                  "Unable to configure gateway, because ip is not "
                  "configured!\n");
    }
    if (!Inside(value, device)) {
      return Says(8, "",
                  "The segment of configured gateway doesn't match that "
                  "of the configured ip adress!\n");
    }
    device.gateway = value;
    return SetKeys(id, fault, {{"gateway", value}});
  }
  if (argv[3] == "-netdetect") {
    device.detect = value;
    return SetKeys(id, fault, {{"netdetect", value}});
  }
  device.tls = value == "1";
  return SetKeys(id, fault, {{"tls_enable", value}});
}

CommandResult FakeMachine::Ufw(const Words& argv) {
  Firewall& ufw = firewalls_[UFW];
  if (ufw.ignores_commands) return Says(0, "");
  const std::string text = files_.Content(kUfwConf).value_or("");
  if (argv[1] == "disable" || argv.back() == "enable") {
    const bool on = argv.back() == "enable";
    Overwrite(kUfwConf, absl::StrCat("# /etc/ufw/ufw.conf\nENABLED=",
                                     on ? "yes" : "no", "\nLOGLEVEL=low\n"));
    if (half_way_) return Killed();
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
  Overwrite(kUfwRules,
            absl::StrCat(files_.Content(kUfwRules).value_or(""), rule, "\n"));
  if (half_way_) return Killed();
  if (ufw.active) ufw.rules.insert(rule);
  return Says(0, "Rule added\n");
}

CommandResult FakeMachine::FirewallCmd(const Words& argv) {
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
    if (half_way_) return Killed();
    firewalld.rules = rules;
    return Says(0, "success\n");
  }
  if (const auto old = files_.Content(kZone)) Overwrite(kZoneBackup, *old);
  if (half_way_) return Killed();
  Overwrite(kZone, rules.empty() ? "" : absl::StrJoin(rules, "\n") + "\n");
  return Says(0, "success\n");
}

CommandResult FakeMachine::Systemctl(const Words& argv) {
  Firewall& firewalld = firewalls_[FIREWALLD];
  if (firewalld.ignores_commands) return Says(0, "");
  if (argv[1] == "enable") files_.Put(kFirewalldUnit, "link");
  if (argv[1] == "disable") (void)files_.Remove(kFirewalldUnit);
  if (half_way_) return Killed();
  const bool start = argv[1] == "start";
  if ((start && !firewalld.active) || argv[1] == "stop") {
    firewalld.active = start;
    firewalld.rules =
        firewalld.active ? StoredRules(FIREWALLD) : std::set<std::string>();
  }
  return Says(0, "");
}

absl::StatusOr<CommandResult> FakeMachine::Run(const Command& command) {
  const Words& argv = command.argv;
  commands_.push_back(absl::StrJoin(argv, " "));
  const std::string program = argv[0].substr(argv[0].rfind('/') + 1);
  if (program == "hccn_tool") return Tool(argv);
  if (program == "ufw" && firewalls_[UFW].installed) return Ufw(argv);
  if (program == "firewall-cmd" && firewalls_[FIREWALLD].installed) {
    return FirewallCmd(argv);
  }
  if (program == "systemctl") return Systemctl(argv);
  return absl::NotFoundError(absl::StrCat(argv[0], ": no such program"));
}

absl::StatusOr<CommandResult> FakeMachine::Half::Run(const Command& command) {
  machine_->half_way_ = true;
  absl::StatusOr<CommandResult> result = machine_->Run(command);
  machine_->half_way_ = false;
  return result;
}

DeviceFacts FakeMachine::ReadDevice(uint32_t id) {
  DeviceFacts facts;
  facts.set_id(id);
  const auto found = devices_.find(id);
  if (found == devices_.end() || found->second.fault == Fault::kSilent) {
    Missing missing;
    missing.set_reason(Missing::TIMED_OUT);
    *facts.mutable_address()->mutable_missing() = missing;
    *facts.mutable_gateway()->mutable_missing() = missing;
    *facts.mutable_detect_address()->mutable_missing() = missing;
    return facts;
  }
  const Device& device = found->second;
  facts.mutable_address()->mutable_value();
  if (!device.address.empty()) {
    Ipv4Setting* setting =
        facts.mutable_address()->mutable_value()->add_settings();
    setting->set_address(device.address);
    setting->set_netmask(device.netmask);
  }
  *facts.mutable_gateway() = Text(device.gateway);
  *facts.mutable_detect_address() = Text(device.detect);
  const auto in_file = HccnConfValue(Conf(), HccnConfKey("tls_enable", id));
  if (!in_file) {
    facts.mutable_tls()->mutable_missing()->set_reason(Missing::NOT_QUERIED);
    return facts;
  }
  facts.mutable_tls()->mutable_value()->set_enabled(device.tls);
  facts.mutable_tls()->mutable_value()->set_source("hccn_tool -tls -g");
  facts.mutable_tls()->mutable_value()->set_in_file(*in_file);
  return facts;
}

FirewallFacts FakeMachine::ReadFirewall(FirewallProgram program) {
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
  facts.mutable_allowed_permanently()->mutable_value();
  for (const std::string& rule : StoredRules(program)) {
    *facts.mutable_allowed_permanently()->mutable_value()->add_ports() =
        ParseRule(rule);
  }
  return facts;
}

HostFacts FakeMachine::ReadHost() {
  HostFacts facts;
  facts.set_host(host_);
  *facts.mutable_hccn_tool()->mutable_path() = Text("/usr/bin/hccn_tool");
  facts.mutable_hccn_tool()->set_generation(NpuToolFacts::CLASSIC);
  for (const auto& [id, device] : devices_) {
    *facts.add_devices() = ReadDevice(id);
  }
  *facts.mutable_hccn_conf()->mutable_value() = *ParseHccnConf(Conf());
  KernelFacts* kernel = facts.mutable_kernel();
  *kernel->mutable_reserved_ports() = Text(sysctl_[kReservedPortsKey]);
  const auto number = [this](const char* key, NumberFact* fact) {
    uint64_t value = 0;
    (void)absl::SimpleAtoi(sysctl_[key], &value);
    fact->set_value(value);
  };
  number(kSomaxconnKey, kernel->mutable_somaxconn());
  number(kSynBacklogKey, kernel->mutable_tcp_max_syn_backlog());
  std::vector<std::string> paths;
  const auto names = files_.List("/etc/sysctl.d");
  for (const std::string& name : *names) {
    if (absl::EndsWith(name, ".conf")) paths.push_back("/etc/sysctl.d/" + name);
  }
  *kernel->mutable_reserved_ports_at_boot() =
      AtBoot(files_, paths, kReservedPortsKey);
  *kernel->mutable_somaxconn_at_boot() = AtBoot(files_, paths, kSomaxconnKey);
  *kernel->mutable_tcp_max_syn_backlog_at_boot() =
      AtBoot(files_, paths, kSynBacklogKey);
  *facts.mutable_ufw() = ReadFirewall(UFW);
  *facts.mutable_firewalld() = ReadFirewall(FIREWALLD);
  return facts;
}

HostFacts FakeMachine::Observe(bool allow_tls_query) {
  const bool may_write =
      allow_tls_query && ParseHccnConf(Conf())->problems().empty();
  for (const auto& [id, device] : devices_) {
    const std::string key = HccnConfKey("tls_enable", id);
    if (!may_write || HccnConfValue(Conf(), key)) continue;
    WriteConf(absl::StrCat(Conf(), key, "=", device.tls ? 1 : 0, "\n"));
  }
  return ReadHost();
}

void FakeMachine::ApplySysctlFiles() {
  sysctl_[kReservedPortsKey] = "";
  sysctl_[kSomaxconnKey] = "4096";
  sysctl_[kSynBacklogKey] = "2048";
  const KernelFacts kernel = ReadHost().kernel();
  const auto apply = [this](const char* key, const PersistentValueFact& fact) {
    for (const auto& each : fact.value().assignments()) {
      sysctl_[key] = each.value();
    }
  };
  apply(kReservedPortsKey, kernel.reserved_ports_at_boot());
  apply(kSomaxconnKey, kernel.somaxconn_at_boot());
  apply(kSynBacklogKey, kernel.tcp_max_syn_backlog_at_boot());
}

void FakeMachine::PowerCycle() {
  files_.LosePower();
  ApplySysctlFiles();
  const std::string conf = Conf();
  for (auto& [id, device] : devices_) {
    const auto value = [&conf, id = id](const char* key) {
      return HccnConfValue(conf, HccnConfKey(key, id)).value_or("");
    };
    device.address = value("address");
    device.netmask = value("netmask");
    device.gateway = value("gateway");
    device.detect = value("netdetect").empty() ? "0.0.0.0" : value("netdetect");
    device.tls = value("tls_enable") == "1";
    device.routes.clear();
    for (const std::string& line : Lines(conf)) {
      const std::vector<std::string> parts =
          absl::StrSplit(line, absl::ByAnyChar("_="));
      if (parts.size() == 8 && parts[0] == "route" &&
          parts[5] == absl::StrCat(id)) {
        device.routes.insert(
            absl::StrCat(parts[2], " ", parts[7], " ", parts[4]));
      }
    }
    if (!Inside(device.gateway, device)) device.gateway.clear();
  }
  for (auto& [program, firewall] : firewalls_) {
    firewall.active = firewall.installed && Enabled(program);
    firewall.rules =
        firewall.active ? StoredRules(program) : std::set<std::string>();
  }
}

}  // namespace clusterd
