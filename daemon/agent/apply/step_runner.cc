#include "daemon/agent/apply/step_runner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/named_facts.h"
#include "config/plan/plan_digest.h"
#include "config/plan/sysctl_file.h"
#include "daemon/host/change/atomic_file.h"

namespace clusterd {
namespace {

std::string Pair(const Ipv4Setting& setting) {
  return absl::StrCat(setting.address(), "/", setting.netmask());
}

std::string OrNone(const std::string& text) {
  return text.empty() ? "none" : text;
}

absl::Status Moved(absl::string_view what, absl::string_view planned,
                   absl::string_view now) {
  return absl::AbortedError(absl::StrCat(what, " was ", planned,
                                         " when this was planned, now ", now));
}

std::string LiveAddress(const DeviceFacts& facts) {
  if (facts.address().state_case() != DeviceAddressFact::kValue) {
    return kUnknownFact;
  }
  std::vector<std::string> pairs;
  for (const Ipv4Setting& setting : facts.address().value().settings()) {
    pairs.push_back(Pair(setting));
  }
  return pairs.empty() ? "none" : absl::StrJoin(pairs, ", ");
}

std::string LiveText(const TextFact& fact) {
  return fact.state_case() == TextFact::kValue ? OrNone(fact.value())
                                               : kUnknownFact;
}

size_t CountLines(absl::string_view text) {
  size_t lines = 0;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  return lines;
}

}  // namespace

struct StepRunner::DeviceWish {
  enum class Command { kNone, kAddress, kGateway, kDetect, kTls };
  Command command = Command::kNone;
  uint32_t device = 0;
  Ipv4Setting address;
  std::string text;  // Gateway or detect address.
  bool tls = false;
  // Keys with their values that hccn.conf should have then.
  std::map<std::string, std::string> in_conf;
  // Lines that the command replaces or drops, as WithLostLines takes them.
  std::set<std::string> may_vanish;
  // What the device should have had before; empty: not compared.
  std::string from;

  void Expect(absl::string_view key, const std::string& value) {
    const std::string full = HccnConfKey(key, device);
    in_conf[full] = value;
    may_vanish.insert(full);
  }
  void WishAddress(const Ipv4Setting& wanted) {
    command = Command::kAddress;
    address = wanted;
    Expect("address", wanted.address());
    Expect("netmask", wanted.netmask());
  }
  void WishGateway(const std::string& wanted) {
    command = Command::kGateway;
    text = wanted;
    Expect("gateway", wanted);
  }
  void WishDetect(const std::string& wanted) {
    command = Command::kDetect;
    text = wanted;
    Expect("netdetect", wanted);
  }
  void WishTls(bool wanted) {
    command = Command::kTls;
    tls = wanted;
    Expect("tls_enable", wanted ? "1" : "0");
  }
  void WishRewrite(const HccnConfRewriteChange& change) {
    const std::string& live = change.live();
    switch (change.setting()) {
      case HccnConfRewriteChange::ADDRESS: {
        Ipv4Setting setting;
        setting.set_address(live.substr(0, live.find('/')));
        setting.set_netmask(live.substr(live.find('/') + 1));
        return WishAddress(setting);
      }
      case HccnConfRewriteChange::GATEWAY:
        return WishGateway(live);
      case HccnConfRewriteChange::DETECT_ADDRESS:
        return WishDetect(live);
      default:
        return WishTls(live == "1");
    }
  }

  std::string Live(const DeviceFacts& facts) const {
    switch (command) {
      case Command::kAddress:
        return LiveAddress(facts);
      case Command::kGateway:
        return LiveText(facts.gateway());
      case Command::kDetect:
        return LiveText(facts.detect_address());
      default:
        if (facts.tls().state_case() != TlsFact::kValue) return kUnknownFact;
        return facts.tls().value().enabled() ? "on" : "off";
    }
  }
  std::string WantedLive() const {
    if (command == Command::kAddress) return Pair(address);
    if (command == Command::kTls) return tls ? "on" : "off";
    return text;
  }
  std::string Name() const {
    static const char* const kNames[] = {"", "address", "gateway",
                                         "detect address", "TLS"};
    return absl::StrCat("device ", device, ": ",
                        kNames[static_cast<int>(command)]);
  }
};

StepRunner::DeviceWish StepRunner::WishOf(const PlanStep& step) {
  DeviceWish wish;
  switch (step.change_case()) {
    case PlanStep::kDeviceAddress: {
      const DeviceAddressChange& change = step.device_address();
      wish.device = change.device();
      wish.WishAddress(change.to());
      wish.from =
          change.from().address().empty() ? "none" : Pair(change.from());
      for (const HccnConf::Entry& entry : change.dropped()) {
        const std::string key = HccnConfKey(entry.key(), change.device());
        wish.may_vanish.insert(entry.key() == "gateway"
                                   ? key
                                   : absl::StrCat(key, "=", entry.value()));
      }
      break;
    }
    case PlanStep::kGateway:
      wish.device = step.gateway().device();
      // No `from`: an address step before it may have dropped the gateway.
      wish.WishGateway(step.gateway().to());
      break;
    case PlanStep::kDetectAddress:
      wish.device = step.detect_address().device();
      wish.WishDetect(step.detect_address().to());
      wish.from = step.detect_address().from();
      break;
    case PlanStep::kTls:
      wish.device = step.tls().device();
      wish.WishTls(step.tls().to());
      wish.from = step.tls().from() ? "on" : "off";
      break;
    case PlanStep::kHccnConfRewrite:
      wish.device = step.hccn_conf_rewrite().device();
      wish.WishRewrite(step.hccn_conf_rewrite());
      wish.from = wish.WantedLive();
      break;
    default:
      break;
  }
  return wish;
}

std::string StepRunner::WhyNotSo(const DeviceWish& wish) {
  const std::string live = wish.Live(machine_->reader->ReadDevice(wish.device));
  if (live != wish.WantedLive()) {
    return absl::StrCat(wish.Name(), " is ", live, ", expected ",
                        wish.WantedLive());
  }
  const absl::StatusOr<std::string> conf = machine_->conf.Read();
  if (!conf.ok()) return std::string(conf.status().message());
  for (const auto& [key, value] : wish.in_conf) {
    const std::string now = HccnConfValue(*conf, key).value_or("none");
    if (now == value) continue;
    return absl::StrCat(machine_->conf.path(), ": ", key, " is ", now,
                        ", expected ", value);
  }
  return "";
}

absl::StatusOr<bool> StepRunner::IsAlreadySo(const PlanStep& step) {
  switch (step.change_case()) {
    case PlanStep::kSysctl: {
      const SysctlChange& change = step.sysctl();
      const auto now = machine_->sysctl.Read(change.key());
      if (!now.ok()) return now.status();
      if (SameSysctlValue(change.key(), *now, change.to())) return true;
      if (SameSysctlValue(change.key(), *now, change.from())) return false;
      return Moved(change.key(), OrNone(change.from()), OrNone(*now));
    }
    case PlanStep::kHccnConfRepair: {
      const auto text = machine_->conf.Read();
      if (!text.ok()) return text.status();
      const std::string sha256 = Sha256Hex(*text);
      if (sha256 == step.hccn_conf_repair().from_sha256()) return false;
      return Moved(absl::StrCat("SHA-256 of ", machine_->conf.path()),
                   step.hccn_conf_repair().from_sha256(), sha256);
    }
    case PlanStep::kSysctlFile:
    case PlanStep::kFirewallDisable:
    case PlanStep::kFirewallOpen:
      return false;
    default:
      break;
  }
  const DeviceWish wish = WishOf(step);
  if (WhyNotSo(wish).empty()) return true;
  const std::string now = wish.Live(machine_->reader->ReadDevice(wish.device));
  if (now == kUnknownFact) {
    return absl::FailedPreconditionError(
        absl::StrCat(wish.Name(), " cannot be told"));
  }
  if (!wish.from.empty() && now != wish.from && now != wish.WantedLive()) {
    return Moved(wish.Name(), wish.from, now);
  }
  return false;
}

absl::StatusOr<std::string> StepRunner::RunTool(const MutationToken& token,
                                                const DeviceWish& wish) {
  const absl::StatusOr<std::string> before = machine_->conf.Read();
  if (!before.ok()) return before.status();
  ToolAnswer answer;
  switch (wish.command) {
    case DeviceWish::Command::kAddress:
      answer = machine_->tool.SetAddress(token, wish.device, wish.address);
      break;
    case DeviceWish::Command::kGateway:
      answer = machine_->tool.SetGateway(token, wish.device, wish.text);
      break;
    case DeviceWish::Command::kDetect:
      answer = machine_->tool.SetDetectAddress(token, wish.device, wish.text);
      break;
    case DeviceWish::Command::kTls:
      answer = machine_->tool.SetTls(token, wish.device, wish.tls);
      break;
    case DeviceWish::Command::kNone:
      return absl::InternalError("a step without a command of the tool");
  }
  std::string repaired;
  const absl::Status edited =
      machine_->conf.Edit(token, [&](absl::string_view after) {
        std::string whole = WithLostLines(*before, after, wish.may_vanish);
        if (whole != after) {
          repaired =
              absl::StrCat(machine_->conf.path(), ": put back ",
                           CountLines(whole) -
                               std::min(CountLines(whole), CountLines(after)),
                           " lines that the tool lost");
        }
        return absl::StatusOr<std::string>(std::move(whole));
      });
  if (!edited.ok()) return edited;
  const std::string why = WhyNotSo(wish);
  if (why.empty()) return repaired;
  return absl::FailedPreconditionError(
      absl::StrCat(why, "; the tool said ", answer.text));
}

absl::Status StepRunner::RunRepair(const MutationToken& token,
                                   const HccnConfRepairChange& change) {
  std::string wanted;
  const absl::Status status = machine_->conf.Edit(
      token, [&](absl::string_view text) -> absl::StatusOr<std::string> {
        if (Sha256Hex(text) != change.from_sha256()) {
          return Moved(absl::StrCat("SHA-256 of ", machine_->conf.path()),
                       change.from_sha256(), Sha256Hex(text));
        }
        wanted = RepairHccnConf(text, change);
        return wanted;
      });
  if (!status.ok()) return status;
  const absl::StatusOr<std::string> now = machine_->conf.Read();
  if (!now.ok()) return now.status();
  if (*now == wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      machine_->conf.path(), ": is not as repaired right after the repair"));
}

absl::Status StepRunner::RunSysctlFile(const MutationToken& token,
                                       const SysctlFileChange& change) {
  const auto before = SaveFile(machine_->files, change.path());
  if (!before.ok()) return before.status();
  const std::string wanted = EditSysctlFile(before->content(), change);
  const absl::Status status =
      ReplaceFile(token, machine_->files, change.path(), wanted, 0644);
  if (!status.ok()) return status;
  const auto now = SaveFile(machine_->files, change.path());
  if (!now.ok()) return now.status();
  if (now->content() == wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(change.path(), ": is not as written right after writing"));
}

absl::StatusOr<std::string> StepRunner::Run(
    const MutationToken& token, const PlanStep& step,
    const std::vector<SavedResource>& saved) {
  absl::Status status;
  switch (step.change_case()) {
    case PlanStep::kHccnConfRepair:
      status = RunRepair(token, step.hccn_conf_repair());
      break;
    case PlanStep::kSysctl:
      status = machine_->sysctl.Write(token, step.sysctl().key(),
                                      step.sysctl().to());
      break;
    case PlanStep::kSysctlFile:
      status = RunSysctlFile(token, step.sysctl_file());
      break;
    case PlanStep::kFirewallDisable:
      status =
          machine_->firewall.Disable(token, step.firewall_disable().program());
      break;
    case PlanStep::kFirewallOpen: {
      SavedFirewall firewall;
      for (const SavedResource& each : saved) {
        if (each.has_firewall()) firewall = each.firewall();
      }
      status = machine_->firewall.Open(token, step.firewall_open(), firewall);
      break;
    }
    default:
      return RunTool(token, WishOf(step));
  }
  if (!status.ok()) return status;
  return std::string();
}

}  // namespace clusterd
