#include "daemon/host/ascend950/dialect.h"

#include <algorithm>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/spec/ipv4.h"
#include "daemon/host/ascend950/answers.h"
#include "daemon/host/ascend950/command_line.h"
#include "daemon/host/ascend950/device_info.h"
#include "daemon/host/hccn_answers.h"
#include "daemon/host/hccn_ip.h"
#include "daemon/host/missing.h"

namespace clusterd {
namespace ascend950 {
namespace {

constexpr int kMaxHealthPolls = 3;
constexpr absl::Duration kHealthPollPause = absl::Seconds(1);

Missing Unreadable(const HccnAnswer& answer, const absl::Status& status) {
  return MakeMissing(
      Missing::UNREADABLE,
      absl::StrCat(answer.command, ": ", status.message(),
                   "; this answer is not known for the Ascend 950 tool"));
}

// Sets `fact` from an answer; `set` takes the parsed value.
template <typename Fact, typename Parsed, typename Set>
void Fill(const HccnAnswer& answer, const absl::StatusOr<Parsed>& parsed,
          Fact* fact, const Set& set) {
  if (answer.missing.has_value()) {
    SetMissing(*answer.missing, fact);
  } else if (!parsed.ok()) {
    SetMissing(Unreadable(answer, parsed.status()), fact);
  } else {
    set(*parsed);
  }
}

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
    const HccnAnswer answer = Ask(Query::kDeviceInfo);
    const absl::StatusOr<DeviceInfo> info = ParseDeviceInfo(answer.output);
    if (!answer.missing.has_value() && info.ok()) {
      ReadBond(*info, answer.command);
      ReadLink(*info, answer.command);
    } else {
      const Missing missing = answer.missing.has_value()
                                  ? *answer.missing
                                  : Unreadable(answer, info.status());
      MissBond(missing);
      SetMissing(missing, facts_->mutable_link());
    }
    ReadDetectAddress();
    ReadNetHealth();
  }

 private:
  HccnAnswer Ask(Query query, const std::string& bond = "") {
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
    ReadAddress(bond);
    if (facts_->address().has_value()) reading_->slot_known = true;
    ReadGateway(bond);
    ReadMtu(bond);
    ReadLldp(bond);
  }

  void ReadAddress(const std::string& bond) {
    const HccnAnswer answer = Ask(Query::kAddress, bond);
    DeviceAddressFact* fact = facts_->mutable_address();
    if (!answer.missing.has_value() &&
        answer.failure == HccnFailure::kNoAddress) {
      fact->mutable_value();
      return;
    }
    Fill(answer, ParseHccnIp(answer.output), fact,
         [fact](const std::vector<Ipv4Interface>& interfaces) {
           for (const Ipv4Interface& interface : interfaces) {
             Ipv4Setting* setting = fact->mutable_value()->add_settings();
             setting->set_address(interface.address().ToString());
             setting->set_netmask(interface.subnet().netmask().ToString());
           }
         });
  }

  void ReadGateway(const std::string& bond) {
    const HccnAnswer answer = Ask(Query::kGateway, bond);
    TextFact* fact = facts_->mutable_gateway();
    if (!answer.missing.has_value() &&
        answer.failure == HccnFailure::kNoGateway) {
      fact->set_value("");
      return;
    }
    Fill(answer, ParseHccnGateway(answer.output), fact,
         [fact](Ipv4Address value) { fact->set_value(value.ToString()); });
  }

  void ReadMtu(const std::string& bond) {
    const HccnAnswer answer = Ask(Query::kMtu, bond);
    NumberFact* fact = facts_->mutable_mtu();
    Fill(answer, ParseHccnMtu(answer.output), fact,
         [fact](uint32_t value) { fact->set_value(value); });
  }

  void ReadLldp(const std::string& bond) {
    const HccnAnswer answer = Ask(Query::kLldp, bond);
    LldpFact* fact = facts_->mutable_lldp();
    Fill(
        answer, ParseLldp(answer.output), fact,
        [fact](const LldpNeighbour& value) { *fact->mutable_value() = value; });
  }

  void ReadLink(const DeviceInfo& info, const std::string& command) {
    LinkFact* fact = facts_->mutable_link();
    std::optional<LinkFact::Link> common;
    for (const Port& port : info.ports) {
      if (port.type != "ETH") continue;
      const HccnAnswer answer =
          ask_(LinkArguments(device_, port.udie, port.port));
      LinkFact one;
      Fill(answer, ParseHccnLink(answer.output), &one,
           [&one](LinkFact::Link value) { one.set_value(value); });
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
      SetMissing(MakeMissing(Missing::NOT_SUPPORTED,
                             absl::StrCat(command, ": no ETH port")),
                 fact);
    }
  }

  void ReadDetectAddress() {
    const HccnAnswer answer = Ask(Query::kDetectAddress);
    TextFact* fact = facts_->mutable_detect_address();
    Fill(answer, ParseHccnNetdetect(answer.output), fact,
         [fact](Ipv4Address value) { fact->set_value(value.ToString()); });
  }

  void ReadNetHealth() {
    NetHealthFact* fact = facts_->mutable_net_health();
    for (int poll = 0;; ++poll) {
      const HccnAnswer answer = Ask(Query::kNetHealth);
      Fill(answer, ParseHccnNetHealth(answer.output), fact,
           [fact](NetHealth value) { fact->set_value(value); });
      if (fact->value() != NET_HEALTH_DETECT_IP_SET ||
          poll == kMaxHealthPolls || !pause_(kHealthPollPause)) {
        return;
      }
    }
  }

  const uint32_t device_;
  const AskTool& ask_;
  const PauseTool& pause_;
  DeviceReading* const reading_;
  DeviceFacts* const facts_;
};

}  // namespace

DeviceReading ReadDevice(uint32_t device, const AskTool& ask,
                         const PauseTool& pause) {
  DeviceReading reading;
  reading.facts.set_id(device);
  reading.slot = device;
  DeviceReader(device, ask, pause, &reading).ReadAll();
  return reading;
}

TlsFact ReadTls(uint32_t device, const AskTool& ask) {
  const HccnAnswer answer = ask(QueryArguments(Query::kTls, device));
  TlsFact fact;
  Fill(answer, ParseTls(answer.output, device), &fact, [&fact](bool enabled) {
    fact.mutable_value()->set_enabled(enabled);
    fact.mutable_value()->set_source("hccn_tool -g -tls");
  });
  return fact;
}

}  // namespace ascend950
}  // namespace clusterd
