#include "tests/support/apply/fake_machine.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/kernel_parameters.h"
#include "config/values/port_set.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/hccn/hccn_conf.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/machine_observer.h"

namespace clusterd {
namespace {

constexpr char kConf[] = "/etc/hccn.conf";
constexpr char kTool[] = "/usr/bin/hccn_tool";
constexpr size_t kPageBytes = 4090;  // Bytes of one write of a port list.

TextFact Text(const std::string& value) {
  TextFact fact;
  fact.set_value(value);
  return fact;
}

// "key = value" lines of these sysctl.d files, in this order.
PersistentValueFact AtBoot(const FakeFileSystem& files,
                           const std::vector<std::string>& paths,
                           const std::string& key) {
  PersistentValueFact fact;
  fact.mutable_value();
  for (const std::string& path : paths) {
    uint32_t number = 0;
    const std::string text = *files.Content(path);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      ++number;
      const std::vector<std::string> parts = absl::StrSplit(line, " = ");
      if (parts.size() != 2 || parts[0] != key) continue;
      auto* assignment = fact.mutable_value()->add_assignments();
      assignment->set_file(path);
      assignment->set_line(number);
      assignment->set_value(parts[1]);
    }
  }
  return fact;
}

}  // namespace

FakeMachine::FakeMachine(std::string host) : host_(std::move(host)) {
  files_.Put(kConf, "", 0640, 0, 12);
  files_.PutFolder("/etc/sysctl.d");
  files_.PutFolder("/var/lib/clusterd");
  files_.PutSpecial(
      "/proc/sys/kernel/random/boot_id",
      {[this] { return absl::StrCat("boot-", boots_, "\n"); }, nullptr});
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

std::string FakeMachine::Conf() const {
  return files_.Content(kConf).value_or("");
}

std::map<std::string, std::string> FakeMachine::State(
    const std::string& except) const {
  std::map<std::string, std::string> state = files_.Snapshot({except});
  for (const uint32_t id : devices_.ids()) {
    state[absl::StrCat("device ", id)] = devices_.State(id);
  }
  for (const auto& [key, value] : sysctl_) state[key] = value;
  for (const auto& [program, value] : firewalls_.State()) {
    state[program] = value;
  }
  return state;
}

absl::StatusOr<CommandResult> FakeMachine::Run(const Command& command) {
  commands_.push_back(absl::StrJoin(command.argv, " "));
  return RunProgram(command.argv, /*half=*/false);
}

absl::StatusOr<CommandResult> FakeMachine::RunHalf(const Command& command) {
  commands_.push_back(absl::StrJoin(command.argv, " "));
  return RunProgram(command.argv, /*half=*/true);
}

absl::StatusOr<CommandResult> FakeMachine::RunToRead(const Command& command) {
  if (command.instead) return devices_.RunOverCopy(command.argv);
  return RunProgram(command.argv, /*half=*/false);
}

absl::StatusOr<CommandResult> FakeMachine::RunProgram(
    const std::vector<std::string>& argv, bool half) {
  if (absl::EndsWith(argv[0], "/hccn_tool"))
    return devices_.RunTool(argv, half);
  const auto result = firewalls_.Run(argv, half);
  if (result) return *result;
  return absl::NotFoundError(absl::StrCat(argv[0], ": no such program"));
}

DeviceFacts FakeMachine::ReadDevice(uint32_t id) {
  // The reading depends only on these; tests that crash at every effect read
  // the same few states a million times.
  std::string seen = absl::StrCat(id, devices_.IsSilent(id) ? " silent " : " ",
                                  devices_.State(id));
  const std::string conf = Conf();
  const std::string mark = absl::StrCat("_", id, "=");
  for (const absl::string_view line : absl::StrSplit(conf, '\n')) {
    if (absl::StrContains(line, mark)) absl::StrAppend(&seen, "\n", line);
  }
  static auto* const mutex = new absl::Mutex;
  static auto* const known = new std::map<std::string, DeviceFacts>;
  absl::MutexLock lock(mutex);
  const auto found = known->find(seen);
  if (found != known->end()) return found->second;
  return (*known)[seen] = AskDevice(id);
}

DeviceFacts FakeMachine::AskDevice(uint32_t id) {
  const TimeBudget budget(&clock_, absl::Seconds(30), absl::Minutes(2));
  HccnSession session(std::string(kTool), NpuToolFacts::CLASSIC, id, &to_read_,
                      &clock_, &budget, &locks_);
  HccnConfFact conf;
  *conf.mutable_value() = *ParseHccnConf(Conf());
  TlsAsking tls;
  tls.copy_conf = [this] { return PrivateFile{kConf, Conf(), 0644}; };
  tls.live = true;
  return ObserveDeviceSettings(id, conf, tls, &session);
}

FirewallFacts FakeMachine::ReadFirewall(FirewallProgram program) {
  return firewalls_.Read(program);
}

HostFacts FakeMachine::ReadHost() {
  HostFacts facts;
  facts.set_host(host_);
  *facts.mutable_hccn_tool()->mutable_path() = Text(kTool);
  facts.mutable_hccn_tool()->set_generation(NpuToolFacts::CLASSIC);
  for (const uint32_t id : devices_.ids()) {
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
  ++boots_;
  ApplySysctlFiles();
  devices_.Boot();
  firewalls_.Boot();
}

}  // namespace clusterd
