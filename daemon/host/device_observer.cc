#include "daemon/host/device_observer.h"

#include <utility>

#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/ascend950/dialect.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_answers.h"
#include "daemon/host/hccn/hccn_conf.h"
#include "daemon/host/hccn_query/query_answers.h"
#include "daemon/host/hccn_query/query_facts.h"

namespace clusterd {
namespace {

// The status for an unreadable certificate date, after the switch was printed.
constexpr int kTlsDateStatus = 8;

// Queries what a change can set, except the switch.
void AskSettings(HccnSession* session, DeviceFacts* facts) {
  FillAddress(session->Ask("-ip"), facts->mutable_address());
  FillGateway(session->Ask("-gateway"), facts->mutable_gateway());
  FillDetectAddress(session->Ask("-netdetect"),
                    facts->mutable_detect_address());
}

TlsFact ReadTls(uint32_t id, HccnAnswer answer) {
  const auto parse =
      [id](absl::string_view output) -> absl::StatusOr<TlsFact::Switch> {
    ASSIGN_OR_RETURN(const bool enabled, ParseHccnTls(output, id));
    return MakeTlsSwitch(enabled, "hccn_tool -tls -g");
  };
  // With an unreadable certificate date the command fails after the wanted
  // line.
  if (answer.failure == HccnFailure::kOther &&
      answer.exit_status == kTlsDateStatus && parse(answer.output).ok()) {
    answer.missing.reset();
  }
  TlsFact fact;
  FillHccnFact(answer, parse, &fact);
  if (!fact.has_value()) return fact;
  for (TlsCertificate& each :
       ParseHccnCertificates(answer.output, answer.errors, id)) {
    *fact.mutable_value()->add_certificates() = std::move(each);
  }
  return fact;
}

// Returns the switch that hccn.conf sets.
TlsFact TlsFromFile(uint32_t slot, const std::string& value) {
  TlsFact fact;
  if (value == "0" || value == "1") {
    *fact.mutable_value() = MakeTlsSwitch(value == "1", "/etc/hccn.conf");
  } else {
    SetMissing(Missing::UNREADABLE,
               Worded("fact-tls-value", slot, QuotedText(value)), &fact);
  }
  return fact;
}

// The suffix of a device's lines of hccn.conf, and the parser of its answer.
struct TlsReader {
  uint32_t slot;
  std::function<TlsFact(const HccnAnswer&)> read;
};

// Huawei's checker also treats a device without a certificate as one without
// TLS (msprechecker of MSIT, tls check).
TlsFact ReadAnswer(const TlsReader& reader, const HccnAnswer& answer) {
  if (answer.missing || answer.failure != HccnFailure::kNoCertificate) {
    return reader.read(answer);
  }
  TlsFact fact;
  *fact.mutable_value() = MakeTlsSwitch(false, "hccn_tool: no certificate");
  fact.mutable_value()->set_no_certificate(true);
  return fact;
}

TlsFact AskOverCopy(const TlsReader& reader, const TlsAsking& tls,
                    HccnSession* session) {
  absl::StatusOr<PrivateFile> copy = tls.copy_conf();
  if (!copy.ok()) return MissingFact<TlsFact>(MissingFor(copy.status()));
  return ReadAnswer(reader, session->AskOverCopy("-tls", *std::move(copy)));
}

TlsFact LearnTls(const TlsReader& reader, const HccnConfFact& conf,
                 const TlsAsking& tls, HccnSession* session) {
  if (!conf.has_value()) {
    return MissingFact<TlsFact>(
        MakeMissing(Missing::NOT_QUERIED,
                    Worded("fact-tls-would-write", DetailOf(conf.missing()))));
  }
  const std::string* in_file =
      FindHccnConfValue(conf.value(), "tls_enable", reader.slot);
  if (in_file == nullptr) return AskOverCopy(reader, tls, session);
  if (!tls.live) return TlsFromFile(reader.slot, *in_file);
  TlsFact fact = AskOverCopy(reader, tls, session);
  // This query waits for the file's lock, but writes nothing.
  if (fact.missing().reason() == Missing::NOT_QUERIED) {
    fact = ReadAnswer(reader, session->Ask("-tls"));
  }
  if (fact.has_value()) fact.mutable_value()->set_in_file(*in_file);
  return fact;
}

TlsFact LearnClassicTls(uint32_t id, const HccnConfFact& conf,
                        const TlsAsking& tls, HccnSession* session) {
  const auto read = [id](const HccnAnswer& answer) {
    return ReadTls(id, answer);
  };
  return LearnTls({id, read}, conf, tls, session);
}

DeviceFacts ObserveAscend950(uint32_t id, const HccnConfFact& conf,
                             TlsAsking tls, HccnSession* session) {
  ascend950::DeviceReading reading = ascend950::ReadDevice(id, session);
  DeviceFacts& facts = reading.facts;
  SetMissing(Missing::NOT_SUPPORTED, Worded("fact-speed-950"),
             facts.mutable_speed_mbps());
  // Rules compare the address with the lines that end in the device's id.
  if (reading.slot != id) {
    SetMissing(Missing::NOT_SUPPORTED,
               Worded("fact-bond-slot", id, reading.slot),
               facts.mutable_address());
  }
  // The key in the file may be another device's.
  if (!reading.slot_known) tls.live = false;
  const auto read = [id](const HccnAnswer& answer) {
    return ascend950::ReadTls(id, answer);
  };
  *facts.mutable_tls() = LearnTls({reading.slot, read}, conf, tls, session);
  AskLosslessSettings(session, &facts);
  AskTraffic(id, session, &facts);
  return facts;
}

// Sends a query that older tools do not know.
HccnAnswer AskOptional(absl::string_view query, HccnSession* session) {
  HccnAnswer answer = session->Ask(query);
  if (answer.failure == HccnFailure::kWrongCommandLine && answer.missing) {
    answer.missing->set_reason(Missing::NOT_SUPPORTED);
  }
  return answer;
}

void AskSpeed(HccnSession* session, NumberFact* fact) {
  const auto parse = [](absl::string_view output) -> absl::StatusOr<uint32_t> {
    ASSIGN_OR_RETURN(const auto speed, ParseHccnSpeed(output));
    return speed.value_or(0);
  };
  FillHccnFact(AskOptional("-speed", session), parse, fact);
  if (fact->has_value() && fact->value() == 0) {
    SetMissing(Missing::NOT_SUPPORTED, Worded("fact-speed-unknown"), fact);
  }
}

DeviceFacts ObserveClassic(uint32_t id, const HccnConfFact& conf,
                           const TlsAsking& tls, HccnSession* session) {
  DeviceFacts facts;
  facts.set_id(id);
  AskSettings(session, &facts);
  if (facts.address().has_value() &&
      facts.address().value().settings().empty()) {
    FillIpv6Address(
        session->AskWith({"-i", absl::StrCat(id), "-ip", "-inet6", "-g"}),
        facts.mutable_ipv6_address());
  }
  AskNetHealth(session, facts.mutable_net_health());
  FillHccnFact(session->Ask("-link"), ParseHccnLink, facts.mutable_link());
  FillHccnFact(session->Ask("-lldp"), ParseHccnLldp, facts.mutable_lldp());
  FillHccnFact(session->Ask("-mtu"), ParseHccnMtu, facts.mutable_mtu());
  FillHccnFact(session->AskWith({"-i", absl::StrCat(id), "-cfg", "status"}),
               ParseHccnRecovery, facts.mutable_recovery());
  AskSpeed(session, facts.mutable_speed_mbps());
  *facts.mutable_tls() = LearnClassicTls(id, conf, tls, session);
  AskLosslessSettings(session, &facts);
  AskTraffic(id, session, &facts);
  return facts;
}

}  // namespace

DeviceFacts ObserveDevice(uint32_t id, const HccnConfFact& conf,
                          const TlsAsking& tls, HccnSession* session) {
  return session->generation() == NpuToolFacts::ASCEND_950
             ? ObserveAscend950(id, conf, tls, session)
             : ObserveClassic(id, conf, tls, session);
}

VnicFact ObserveVnic(HccnSession* session) {
  VnicFact fact;
  FillHccnFact(AskOptional("-vnic", session), ParseHccnVnic, &fact);
  return fact;
}

DeviceFacts ObserveDeviceSettings(uint32_t id, const HccnConfFact& conf,
                                  const TlsAsking& tls, HccnSession* session) {
  DeviceFacts facts;
  facts.set_id(id);
  AskSettings(session, &facts);
  FillHccnFact(session->Ask("-mtu"), ParseHccnMtu, facts.mutable_mtu());
  *facts.mutable_tls() = LearnClassicTls(id, conf, tls, session);
  AskLosslessSettings(session, &facts);
  return facts;
}

}  // namespace clusterd
