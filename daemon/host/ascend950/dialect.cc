#include "daemon/host/ascend950/dialect.h"

#include <algorithm>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "daemon/host/ascend950/answers.h"
#include "daemon/host/files/missing.h"
#include "daemon/host/hccn/hccn_answers.h"
#include "daemon/host/hccn/hccn_facts.h"

namespace clusterd {
namespace ascend950 {
namespace {

class DeviceReader {
 public:
  DeviceReader(uint32_t device, const AskTool& ask, const PauseTool& pause,
               DeviceReading* reading)
      : device_(device),
        ask_(ask),
        pause_(pause),
        reading_(reading),
        facts_(&reading->facts) {}

  void ReadAll() {
    const HccnAnswer answer = Ask("-dev_info");
    const absl::StatusOr<DeviceInfo> info = ParseDeviceInfo(answer.output);
    if (!answer.missing.has_value() && info.ok()) {
      ReadBond(*info, answer.command);
      ReadLink(*info, answer.command);
    } else {
      const Missing missing = answer.missing.has_value()
                                  ? *answer.missing
                                  : UnreadableHccnAnswer(answer, info.status());
      MissBond(missing);
      SetMissing(missing, facts_->mutable_link());
    }
    FillDetectAddress(Ask("-netdetect"), facts_->mutable_detect_address());
    AskNetHealth([this] { return Ask("-net_health"); }, pause_,
                 facts_->mutable_net_health());
  }

 private:
  HccnAnswer Ask(const std::string& query, const std::string& bond = "") {
    return ask_(QueryArguments(query, device_, bond));
  }

  void MissBond(const Missing& missing) {
    SetMissing(missing, facts_->mutable_address());
    SetMissing(missing, facts_->mutable_gateway());
    SetMissing(missing, facts_->mutable_mtu());
    SetMissing(missing, facts_->mutable_lldp());
  }

  void ReadBond(const DeviceInfo& info, const std::string& command) {
    const bool has_eth_port =
        std::any_of(info.ports.begin(), info.ports.end(),
                    [](const Port& port) { return port.type == "ETH"; });
    if (info.bonds.size() > 1 || (info.bonds.empty() && !has_eth_port)) {
      MissBond(MakeMissing(
          Missing::NOT_SUPPORTED,
          absl::StrCat(command, ": ", info.bonds.size(), " bond devices",
                       has_eth_port ? "" : " and no ETH port",
                       ", expected one; where the address is then is not known "
                       "for the Ascend 950 tool")));
      return;
    }
    std::string bond = absl::StrCat("bond", device_);
    if (!info.bonds.empty()) {
      bond = info.bonds[0];
      reading_->slot_known =
          absl::SimpleAtoi(absl::StripPrefix(bond, "bond"), &reading_->slot);
    }
    FillAddress(Ask("-ip", bond), facts_->mutable_address());
    if (facts_->address().has_value()) reading_->slot_known = true;
    FillGateway(Ask("-gateway", bond), facts_->mutable_gateway());
    FillHccnFact(Ask("-mtu", bond), ParseHccnMtu, facts_->mutable_mtu());
    FillHccnFact(Ask("-lldp", bond), ParseLldp, facts_->mutable_lldp());
  }

  void ReadLink(const DeviceInfo& info, const std::string& command) {
    LinkFact* fact = facts_->mutable_link();
    std::optional<LinkFact::Link> common;
    for (const Port& port : info.ports) {
      if (port.type != "ETH") continue;
      const HccnAnswer answer =
          ask_({"-g", "-link", "-i", std::to_string(device_), "-u",
                std::to_string(port.udie), "-p", std::to_string(port.port)});
      LinkFact one;
      FillHccnFact(answer, ParseHccnLink, &one);
      if (!one.has_value()) {
        *fact = one;
        return;
      }
      if (common.has_value() && *common != one.value()) {
        *fact->mutable_missing() = MakeMissing(
            Missing::UNREADABLE,
            absl::StrCat(answer.command,
                         ": ETH ports differ, some UP and some DOWN; which of "
                         "them the bond needs is not known for the Ascend 950 "
                         "tool"));
        return;
      }
      common = one.value();
    }
    if (common.has_value()) {
      fact->set_value(*common);
    } else {
      SetMissing(Missing::NOT_SUPPORTED, absl::StrCat(command, ": no ETH port"),
                 fact);
    }
  }

  const uint32_t device_;
  const AskTool& ask_;
  const PauseTool& pause_;
  DeviceReading* const reading_;
  DeviceFacts* const facts_;
};

}  // namespace

std::vector<std::string> QueryArguments(const std::string& query,
                                        uint32_t device,
                                        const std::string& bond) {
  std::vector<std::string> arguments = {"-g", query, "-i",
                                        std::to_string(device)};
  if (!bond.empty()) arguments.insert(arguments.end(), {"-d", bond});
  return arguments;
}

DeviceReading ReadDevice(uint32_t device, const AskTool& ask,
                         const PauseTool& pause) {
  DeviceReading reading;
  reading.facts.set_id(device);
  reading.slot = device;
  DeviceReader(device, ask, pause, &reading).ReadAll();
  return reading;
}

TlsFact ReadTls(uint32_t device, const AskTool& ask) {
  const auto parse =
      [device](absl::string_view output) -> absl::StatusOr<TlsFact::Switch> {
    ASSIGN_OR_RETURN(const bool enabled, ParseTls(output, device));
    return MakeTlsSwitch(enabled, "hccn_tool -g -tls");
  };
  TlsFact fact;
  FillHccnFact(ask(QueryArguments("-tls", device)), parse, &fact);
  return fact;
}

}  // namespace ascend950
}  // namespace clusterd
