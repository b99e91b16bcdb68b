#include "config/plan/plan_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/spec/ipv4.h"

namespace clusterd {
namespace {

constexpr char kArrow[] = " -> ";
// A host names its first 100 problems only, and those that no step repairs are
// not among a step's; the repair itself goes through the whole file.
constexpr int kMayBeCut = 64;

std::string OrNone(const std::string& text) {
  return text.empty() ? "none" : text;
}

std::string Interface(const Ipv4Setting& setting) {
  if (setting.address().empty()) return "none";
  const auto parsed =
      Ipv4Interface::Parse(setting.address(), setting.netmask());
  return parsed.ok() ? parsed->ToString()
                     : absl::StrCat(setting.address(), "/", setting.netmask());
}

std::string Program(FirewallProgram program) {
  return program == UFW ? "ufw" : "firewalld";
}

std::string OnOff(bool on) { return on ? "on" : "off"; }

std::string Text(const HccnConfRewriteChange& change) {
  static const char* const kKeys[] = {"setting", "address", "gateway",
                                      "netdetect", "tls_enable"};
  const int setting = change.setting();
  return absl::StrCat("device ", change.device(), ": hccn.conf ",
                      kKeys[setting >= 0 && setting < 5 ? setting : 0], " ",
                      OrNone(change.in_file()), kArrow, change.live());
}

std::string RepairText(HccnConf::Problem::Kind kind) {
  switch (kind) {
    case HccnConf::Problem::NO_FINAL_NEWLINE:
      return "add the final newline";
    case HccnConf::Problem::CARRIAGE_RETURN:
      return "remove carriage returns";
    case HccnConf::Problem::MALFORMED_ROUTE:
      return "write the route as gateway_ADDRESS";
    case HccnConf::Problem::DUPLICATE_KEY:
      return "remove the repeated key";
    default:
      return HccnConf::Problem::Kind_Name(kind);
  }
}

// "lines 1-112,115: "; empty for line 0, the file as a whole.
std::string LinesText(const std::set<uint32_t>& lines) {
  std::vector<std::string> runs;
  for (auto line = lines.begin(); line != lines.end();) {
    const uint32_t first = *line;
    uint32_t last = first;
    while (++line != lines.end() && *line == last + 1) last = *line;
    runs.push_back(first == last ? absl::StrCat(first)
                                 : absl::StrCat(first, "-", last));
  }
  if (runs.empty()) return "";
  return absl::StrCat(lines.size() == 1 ? "line " : "lines ",
                      absl::StrJoin(runs, ","), ": ");
}

// Folded without loss: plans are told apart, and folded, by this text.
std::string Text(const HccnConfRepairChange& change) {
  std::vector<HccnConf::Problem::Kind> kinds;  // As they first come.
  std::map<HccnConf::Problem::Kind, std::set<uint32_t>> lines;
  uint32_t last = 0;
  for (const HccnConf::Problem& problem : change.problems()) {
    const auto [of_kind, is_new] = lines.try_emplace(problem.kind());
    if (is_new) kinds.push_back(problem.kind());
    if (problem.line() > 0) of_kind->second.insert(problem.line());
    last = std::max(last, problem.line());
  }
  std::vector<std::string> repairs;
  for (const HccnConf::Problem::Kind kind : kinds) {
    repairs.push_back(absl::StrCat(LinesText(lines[kind]), RepairText(kind)));
  }
  return absl::StrCat(
      "/etc/hccn.conf: ", absl::StrJoin(repairs, ", "),
      change.problems_size() < kMayBeCut
          ? ""
          : absl::StrCat("; the whole file is repaired so, also after line ",
                         last));
}

std::string Text(const SysctlFileChange& change) {
  std::vector<std::string> lines;
  for (const SysctlFileChange::Setting& setting : change.settings()) {
    lines.push_back(absl::StrCat(
        setting.key(), " = ",
        setting.from().empty() ? "" : absl::StrCat(setting.from(), kArrow),
        setting.to()));
  }
  return absl::StrCat(change.path(), ": ", absl::StrJoin(lines, ", "));
}

std::string Text(const FirewallOpenChange& change) {
  std::vector<std::string> ports;
  for (const AllowedPort& port : change.ports()) {
    ports.push_back(absl::StrCat(
        port.first_port() == port.last_port()
            ? absl::StrCat(port.first_port())
            : absl::StrCat(port.first_port(), "-", port.last_port()),
        "/", port.protocol(), " from ", port.source()));
  }
  return absl::StrCat(Program(change.program()), ": let in ",
                      absl::StrJoin(ports, ", "));
}

std::string Text(const FirewallDisableChange& change) {
  const char* was = "starts at boot";
  if (change.was_active()) {
    was = change.was_enabled() ? "active, starts at boot" : "active";
  }
  return absl::StrCat(Program(change.program()), ": ", was, kArrow,
                      "stopped, does not start at boot");
}

}  // namespace

std::string StepText(const PlanStep& step) {
  switch (step.change_case()) {
    case PlanStep::kDeviceAddress:
      return absl::StrCat("device ", step.device_address().device(),
                          ": address ", Interface(step.device_address().from()),
                          kArrow, Interface(step.device_address().to()));
    case PlanStep::kGateway:
      return absl::StrCat("device ", step.gateway().device(), ": gateway ",
                          step.gateway().put_back()
                              ? absl::StrCat(step.gateway().to(), " put back")
                              : absl::StrCat(OrNone(step.gateway().from()),
                                             kArrow, step.gateway().to()));
    case PlanStep::kDetectAddress:
      return absl::StrCat("device ", step.detect_address().device(),
                          ": detect address ", step.detect_address().from(),
                          kArrow, step.detect_address().to());
    case PlanStep::kTls:
      return absl::StrCat("device ", step.tls().device(), ": TLS ",
                          OnOff(step.tls().from()), kArrow,
                          OnOff(step.tls().to()));
    case PlanStep::kHccnConfRewrite:
      return Text(step.hccn_conf_rewrite());
    case PlanStep::kHccnConfRepair:
      return Text(step.hccn_conf_repair());
    case PlanStep::kSysctl:
      return absl::StrCat(
          step.sysctl().key(), ": ",
          step.sysctl().from().empty() ? "empty" : step.sysctl().from(), kArrow,
          step.sysctl().to());
    case PlanStep::kSysctlFile:
      return Text(step.sysctl_file());
    case PlanStep::kFirewallDisable:
      return Text(step.firewall_disable());
    case PlanStep::kFirewallOpen:
      return Text(step.firewall_open());
    case PlanStep::CHANGE_NOT_SET:
      break;
  }
  return "a change that this version does not know";
}

std::string BlockedText(const BlockedChange& blocked) {
  const std::string who =
      blocked.devices().empty()
          ? ""
          : absl::StrCat(blocked.devices_size() == 1 ? "device " : "devices ",
                         absl::StrJoin(blocked.devices(), ","), ": ");
  return absl::StrCat(who, blocked.what(),
                      " cannot be planned: ", blocked.reason(), "; ",
                      blocked.fix());
}

std::vector<uint32_t> DevicesOf(const PlanStep& step) {
  switch (step.change_case()) {
    case PlanStep::kDeviceAddress:
      return {step.device_address().device()};
    case PlanStep::kGateway:
      return {step.gateway().device()};
    case PlanStep::kDetectAddress:
      return {step.detect_address().device()};
    case PlanStep::kTls:
      return {step.tls().device()};
    case PlanStep::kHccnConfRewrite:
      return {step.hccn_conf_rewrite().device()};
    default:
      return {};
  }
}

}  // namespace clusterd
