#include "daemon/host/device_observer.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/host/ascend950/command_line.h"
#include "daemon/host/ascend950/dialect.h"
#include "daemon/host/hccn_answers.h"
#include "daemon/host/hccn_conf.h"
#include "daemon/host/hccn_ip.h"
#include "daemon/host/hccn_lldp.h"
#include "daemon/host/missing.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace {

constexpr int kMaxHealthPolls = 3;
constexpr absl::Duration kHealthPollPause = absl::Seconds(1);
// The tool ends with it after the switch, over a certificate's date.
constexpr int kTlsDateStatus = 8;

template <typename Fact>
void SetUnreadable(const HccnAnswer& answer, const absl::Status& status,
                   Fact* fact) {
  SetMissing(MakeMissing(Missing::UNREADABLE,
                         absl::StrCat(answer.command, ": ", status.message())),
             fact);
}

void AskAddress(HccnSession* session, DeviceAddressFact* fact) {
  const HccnAnswer answer = session->Ask("-ip");
  if (answer.missing.has_value()) return SetMissing(*answer.missing, fact);
  if (answer.failure == HccnFailure::kNoAddress) {
    fact->mutable_value();
    return;
  }
  const absl::StatusOr<std::vector<Ipv4Interface>> interfaces =
      ParseHccnIp(answer.output);
  if (!interfaces.ok()) return SetUnreadable(answer, interfaces.status(), fact);
  for (const Ipv4Interface& interface : *interfaces) {
    Ipv4Setting* setting = fact->mutable_value()->add_settings();
    setting->set_address(interface.address().ToString());
    setting->set_netmask(interface.subnet().netmask().ToString());
  }
}

void AskGateway(HccnSession* session, TextFact* fact) {
  const HccnAnswer answer = session->Ask("-gateway");
  if (answer.missing.has_value()) return SetMissing(*answer.missing, fact);
  if (answer.failure == HccnFailure::kNoGateway) return fact->set_value("");
  const absl::StatusOr<Ipv4Address> gateway = ParseHccnGateway(answer.output);
  if (!gateway.ok()) return SetUnreadable(answer, gateway.status(), fact);
  fact->set_value(gateway->ToString());
}

void AskDetectAddress(HccnSession* session, TextFact* fact) {
  const HccnAnswer answer = session->Ask("-netdetect");
  if (answer.missing.has_value()) return SetMissing(*answer.missing, fact);
  const absl::StatusOr<Ipv4Address> address = ParseHccnNetdetect(answer.output);
  if (!address.ok()) return SetUnreadable(answer, address.status(), fact);
  fact->set_value(address->ToString());
}

void AskNetHealth(HccnSession* session, NetHealthFact* fact) {
  for (int poll = 0;; ++poll) {
    const HccnAnswer answer = session->Ask("-net_health");
    if (answer.missing.has_value()) return SetMissing(*answer.missing, fact);
    const absl::StatusOr<NetHealth> health = ParseHccnNetHealth(answer.output);
    if (!health.ok()) return SetUnreadable(answer, health.status(), fact);
    fact->set_value(*health);
    if (*health != NET_HEALTH_DETECT_IP_SET || poll == kMaxHealthPolls ||
        !session->Pause(kHealthPollPause)) {
      return;
    }
  }
}

void AskLink(HccnSession* session, LinkFact* fact) {
  const HccnAnswer answer = session->Ask("-link");
  if (answer.missing.has_value()) return SetMissing(*answer.missing, fact);
  const absl::StatusOr<LinkFact::Link> link = ParseHccnLink(answer.output);
  if (!link.ok()) return SetUnreadable(answer, link.status(), fact);
  fact->set_value(*link);
}

void AskLldp(HccnSession* session, LldpFact* fact) {
  const HccnAnswer answer = session->Ask("-lldp");
  if (answer.missing.has_value()) return SetMissing(*answer.missing, fact);
  const absl::StatusOr<LldpNeighbour> neighbour = ParseHccnLldp(answer.output);
  if (!neighbour.ok()) return SetUnreadable(answer, neighbour.status(), fact);
  *fact->mutable_value() = *neighbour;
}

void AskMtu(HccnSession* session, NumberFact* fact) {
  const HccnAnswer answer = session->Ask("-mtu");
  if (answer.missing.has_value()) return SetMissing(*answer.missing, fact);
  const absl::StatusOr<uint32_t> mtu = ParseHccnMtu(answer.output);
  if (!mtu.ok()) return SetUnreadable(answer, mtu.status(), fact);
  fact->set_value(*mtu);
}

void AskTls(uint32_t id, HccnSession* session, TlsFact* fact) {
  const HccnAnswer answer = session->Ask("-tls");
  const absl::StatusOr<bool> enabled = ParseHccnTls(answer.output, id);
  // With an unreadable certificate date the command fails after the line that
  // is wanted here has been printed.
  const bool after_switch = answer.failure == HccnFailure::kOther &&
                            answer.exit_status == kTlsDateStatus &&
                            enabled.ok();
  if (answer.missing.has_value() && !after_switch) {
    return SetMissing(*answer.missing, fact);
  }
  if (!enabled.ok()) return SetUnreadable(answer, enabled.status(), fact);
  fact->mutable_value()->set_enabled(*enabled);
  fact->mutable_value()->set_source("hccn_tool -tls -g");
}

// The switch as `conf` has it. False, and nothing done: it has none.
bool TakeTlsFromConf(uint32_t id, const HccnConfFact& conf, TlsFact* fact) {
  const std::string* value =
      conf.has_value() ? FindHccnConfValue(conf.value(), "tls_enable", id)
                       : nullptr;
  if (value == nullptr) return false;
  if (*value != "0" && *value != "1") {
    SetMissing(
        MakeMissing(Missing::UNREADABLE,
                    absl::StrCat("/etc/hccn.conf: tls_enable_", id, " is ",
                                 QuotedText(*value), ", expected 0 or 1")),
        fact);
    return true;
  }
  fact->mutable_value()->set_enabled(*value == "1");
  fact->mutable_value()->set_source("/etc/hccn.conf");
  return true;
}

// `query`: the command that was not run, and what it does to the file.
void SetTlsNotQueried(uint32_t id, const HccnConfFact& conf,
                      const std::string& query, TlsFact* fact) {
  const std::string where =
      conf.has_value() ? absl::StrCat("/etc/hccn.conf has no tls_enable_", id)
                       : absl::StrCat("tls_enable_", id, " is not known (",
                                      conf.missing().detail(), ")");
  SetMissing(
      MakeMissing(Missing::NOT_QUERIED, absl::StrCat(where, ", and ", query)),
      fact);
}

void SetClassicTlsNotQueried(uint32_t id, const HccnConfFact& conf,
                             TlsFact* fact) {
  SetTlsNotQueried(
      id, conf,
      absl::StrCat("`hccn_tool -i ", id, " -tls -g` would write that key"),
      fact);
}

DeviceFacts ObserveAscend950(uint32_t id, const HccnConfFact& conf,
                             bool allow_tls_query, HccnSession* session) {
  const auto ask = [session](const std::vector<std::string>& arguments) {
    return session->AskWith(arguments);
  };
  ascend950::DeviceReading reading = ascend950::ReadDevice(
      id, ask,
      [session](absl::Duration duration) { return session->Pause(duration); });
  DeviceFacts& facts = reading.facts;
  // Rules compare the address with the lines that have the device's id.
  if (reading.slot != id) {
    SetMissing(
        MakeMissing(Missing::NOT_SUPPORTED,
                    absl::StrCat("device ", id, " has bond", reading.slot,
                                 ", and its lines in /etc/hccn.conf end in ",
                                 reading.slot,
                                 "; an address is compared only where "
                                 "device id and slot are the same")),
        facts.mutable_address());
  }
  if (TakeTlsFromConf(reading.slot, conf, facts.mutable_tls())) return facts;
  if (allow_tls_query) {
    *facts.mutable_tls() = ascend950::ReadTls(id, ask);
  } else {
    const std::vector<std::string> query =
        ascend950::QueryArguments(ascend950::Query::kTls, id);
    SetTlsNotQueried(reading.slot, conf,
                     absl::StrCat("`hccn_tool ", absl::StrJoin(query, " "),
                                  "` may write that key"),
                     facts.mutable_tls());
  }
  return facts;
}

DeviceFacts ObserveClassic(uint32_t id, const HccnConfFact& conf,
                           bool allow_tls_query, HccnSession* session) {
  DeviceFacts facts;
  facts.set_id(id);
  AskAddress(session, facts.mutable_address());
  AskGateway(session, facts.mutable_gateway());
  AskDetectAddress(session, facts.mutable_detect_address());
  AskNetHealth(session, facts.mutable_net_health());
  AskLink(session, facts.mutable_link());
  AskLldp(session, facts.mutable_lldp());
  AskMtu(session, facts.mutable_mtu());
  if (TakeTlsFromConf(id, conf, facts.mutable_tls())) return facts;
  if (allow_tls_query) {
    AskTls(id, session, facts.mutable_tls());
  } else {
    SetClassicTlsNotQueried(id, conf, facts.mutable_tls());
  }
  return facts;
}

}  // namespace

DeviceFacts ObserveDevice(uint32_t id, const HccnConfFact& conf,
                          bool allow_tls_query, HccnSession* session) {
  return session->generation() == NpuToolFacts::ASCEND_950
             ? ObserveAscend950(id, conf, allow_tls_query, session)
             : ObserveClassic(id, conf, allow_tls_query, session);
}

DeviceFacts ObserveDeviceSettings(uint32_t id, const HccnConfFact& conf,
                                  HccnSession* session) {
  DeviceFacts facts;
  facts.set_id(id);
  AskAddress(session, facts.mutable_address());
  AskGateway(session, facts.mutable_gateway());
  AskDetectAddress(session, facts.mutable_detect_address());
  const bool has_key =
      conf.has_value() &&
      FindHccnConfValue(conf.value(), "tls_enable", id) != nullptr;
  if (has_key) {
    AskTls(id, session, facts.mutable_tls());
  } else {
    SetClassicTlsNotQueried(id, conf, facts.mutable_tls());
  }
  return facts;
}

}  // namespace clusterd
