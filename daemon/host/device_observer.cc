#include "daemon/host/device_observer.h"

#include <functional>
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

TlsFact AskTls(uint32_t id, HccnSession* session) {
  const HccnAnswer answer = session->Ask("-tls");
  const absl::StatusOr<bool> enabled = ParseHccnTls(answer.output, id);
  // With an unreadable certificate date the command fails after the line that
  // is wanted here has been printed.
  const bool after_switch = answer.failure == HccnFailure::kOther &&
                            answer.exit_status == kTlsDateStatus &&
                            enabled.ok();
  TlsFact fact;
  if (answer.missing.has_value() && !after_switch) {
    SetMissing(*answer.missing, &fact);
  } else if (!enabled.ok()) {
    SetUnreadable(answer, enabled.status(), &fact);
  } else {
    fact.mutable_value()->set_enabled(*enabled);
    fact.mutable_value()->set_source("hccn_tool -tls -g");
  }
  return fact;
}

// The switch as hccn.conf has it.
TlsFact TlsFromFile(uint32_t slot, const std::string& value) {
  TlsFact fact;
  if (value != "0" && value != "1") {
    SetMissing(
        MakeMissing(Missing::UNREADABLE,
                    absl::StrCat("/etc/hccn.conf: tls_enable_", slot, " is ",
                                 QuotedText(value), ", expected 0 or 1")),
        &fact);
    return fact;
  }
  fact.mutable_value()->set_enabled(value == "1");
  fact.mutable_value()->set_source("/etc/hccn.conf");
  return fact;
}

// The question for a switch, as one dialect puts it.
struct TlsQuestion {
  uint32_t slot;        // The device's lines of hccn.conf end in it.
  std::string command;  // "`hccn_tool -i 3 -tls -g` would write"
  std::string on_any;   // The same of any device, for texts that fold.
  std::function<TlsFact()> ask;
};

// Why the question must not be put where `conf` has no key for it; empty: it
// may be.
std::string WhyNotWrite(const TlsQuestion& question, const HccnConfFact& conf,
                        const TlsAsking& tls) {
  if (!tls.vetoed.empty()) {
    return absl::StrCat(question.on_any,
                        " to /etc/hccn.conf, which does not tell the switch, "
                        "and ",
                        tls.vetoed);
  }
  if (!conf.has_value()) {
    return absl::StrCat("tls_enable_", question.slot, " is not known (",
                        conf.missing().detail(), "), and ", question.command,
                        " that key");
  }
  if (!tls.may_write) {
    return absl::StrCat("/etc/hccn.conf has no tls_enable_", question.slot,
                        ", and ", question.command, " that key");
  }
  // Some problems spoil no write of this key, but the list of them may be cut.
  if (conf.value().problems().empty()) return "";
  const HccnConf::Problem& problem = conf.value().problems(0);
  return absl::StrCat(
      question.on_any, " to /etc/hccn.conf, which is out of order (line ",
      problem.line(), ": ", HccnConf::Problem::Kind_Name(problem.kind()),
      "); repair the file first");
}

TlsFact LearnTls(const TlsQuestion& question, const HccnConfFact& conf,
                 const TlsAsking& tls) {
  const std::string* in_file =
      conf.has_value()
          ? FindHccnConfValue(conf.value(), "tls_enable", question.slot)
          : nullptr;
  if (in_file != nullptr && !tls.live) {
    return TlsFromFile(question.slot, *in_file);
  }
  TlsFact fact;
  if (in_file == nullptr) {
    const std::string why = WhyNotWrite(question, conf, tls);
    if (!why.empty()) {
      SetMissing(MakeMissing(Missing::NOT_QUERIED, why), &fact);
      return fact;
    }
  }
  fact = question.ask();
  if (fact.has_value() && in_file != nullptr) {
    fact.mutable_value()->set_in_file(*in_file);
  }
  return fact;
}

TlsFact LearnClassicTls(uint32_t id, const HccnConfFact& conf,
                        const TlsAsking& tls, HccnSession* session) {
  return LearnTls(
      {id, absl::StrCat("`hccn_tool -i ", id, " -tls -g` would write"),
       "`hccn_tool -tls -g` would write",
       [id, session] { return AskTls(id, session); }},
      conf, tls);
}

DeviceFacts ObserveAscend950(uint32_t id, const HccnConfFact& conf,
                             TlsAsking tls, HccnSession* session) {
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
  // The key that is there may be another device's.
  if (!reading.slot_known) tls.live = false;
  const std::vector<std::string> query =
      ascend950::QueryArguments(ascend950::Query::kTls, id);
  *facts.mutable_tls() = LearnTls(
      {reading.slot,
       absl::StrCat("`hccn_tool ", absl::StrJoin(query, " "), "` may write"),
       "`hccn_tool -g -tls` may write",
       [id, &ask] { return ascend950::ReadTls(id, ask); }},
      conf, tls);
  return facts;
}

DeviceFacts ObserveClassic(uint32_t id, const HccnConfFact& conf,
                           const TlsAsking& tls, HccnSession* session) {
  DeviceFacts facts;
  facts.set_id(id);
  AskAddress(session, facts.mutable_address());
  AskGateway(session, facts.mutable_gateway());
  AskDetectAddress(session, facts.mutable_detect_address());
  AskNetHealth(session, facts.mutable_net_health());
  AskLink(session, facts.mutable_link());
  AskLldp(session, facts.mutable_lldp());
  AskMtu(session, facts.mutable_mtu());
  *facts.mutable_tls() = LearnClassicTls(id, conf, tls, session);
  return facts;
}

}  // namespace

DeviceFacts ObserveDevice(uint32_t id, const HccnConfFact& conf,
                          const TlsAsking& tls, HccnSession* session) {
  return session->generation() == NpuToolFacts::ASCEND_950
             ? ObserveAscend950(id, conf, tls, session)
             : ObserveClassic(id, conf, tls, session);
}

DeviceFacts ObserveDeviceSettings(uint32_t id, const HccnConfFact& conf,
                                  HccnSession* session) {
  DeviceFacts facts;
  facts.set_id(id);
  AskAddress(session, facts.mutable_address());
  AskGateway(session, facts.mutable_gateway());
  AskDetectAddress(session, facts.mutable_detect_address());
  TlsAsking tls;
  tls.live = true;
  *facts.mutable_tls() = LearnClassicTls(id, conf, tls, session);
  return facts;
}

}  // namespace clusterd
