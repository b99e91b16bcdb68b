#include "daemon/host/device_observer.h"

#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "config/words/fact_text.h"
#include "config/words/quoted_text.h"
#include "daemon/host/ascend950/dialect.h"
#include "daemon/host/files/missing.h"
#include "daemon/host/hccn/hccn_answers.h"
#include "daemon/host/hccn/hccn_conf.h"

namespace clusterd {
namespace {

// The tool ends with it after the switch, over a certificate's date.
constexpr int kTlsDateStatus = 8;

// What a change can set, but for the switch.
void AskSettings(HccnSession* session, DeviceFacts* facts) {
  FillAddress(session->Ask("-ip"), facts->mutable_address());
  FillGateway(session->Ask("-gateway"), facts->mutable_gateway());
  FillDetectAddress(session->Ask("-netdetect"),
                    facts->mutable_detect_address());
}

TlsFact AskTls(uint32_t id, HccnSession* session) {
  HccnAnswer answer = session->Ask("-tls");
  const auto parse =
      [id](absl::string_view output) -> absl::StatusOr<TlsFact::Switch> {
    ASSIGN_OR_RETURN(const bool enabled, ParseHccnTls(output, id));
    return MakeTlsSwitch(enabled, "hccn_tool -tls -g");
  };
  // With an unreadable certificate date the command fails after the line that
  // is wanted here has been printed.
  if (answer.failure == HccnFailure::kOther &&
      answer.exit_status == kTlsDateStatus && parse(answer.output).ok()) {
    answer.missing.reset();
  }
  TlsFact fact;
  FillHccnFact(answer, parse, &fact);
  return fact;
}

// The switch as hccn.conf has it.
TlsFact TlsFromFile(uint32_t slot, const std::string& value) {
  TlsFact fact;
  if (value == "0" || value == "1") {
    *fact.mutable_value() = MakeTlsSwitch(value == "1", "/etc/hccn.conf");
  } else {
    SetMissing(Missing::UNREADABLE,
               absl::StrCat("/etc/hccn.conf: tls_enable_", slot, " is ",
                            QuotedText(value), ", expected 0 or 1"),
               &fact);
  }
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
  return absl::StrCat(question.on_any,
                      " to /etc/hccn.conf, which is out of order (line ",
                      problem.line(), ": ", ProblemWords(problem.kind()),
                      "); repair the file first");
}

TlsFact LearnTls(const TlsQuestion& question, const HccnConfFact& conf,
                 const TlsAsking& tls) {
  const std::string* in_file =
      conf.has_value()
          ? FindHccnConfValue(conf.value(), "tls_enable", question.slot)
          : nullptr;
  TlsFact fact;
  if (in_file == nullptr) {
    const std::string why = WhyNotWrite(question, conf, tls);
    if (why.empty()) return question.ask();
    SetMissing(Missing::NOT_QUERIED, why, &fact);
    return fact;
  }
  if (!tls.live) return TlsFromFile(question.slot, *in_file);
  fact = question.ask();
  if (fact.has_value()) fact.mutable_value()->set_in_file(*in_file);
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
  ascend950::DeviceReading reading = ascend950::ReadDevice(id, session);
  DeviceFacts& facts = reading.facts;
  // Rules compare the address with the lines that have the device's id.
  if (reading.slot != id) {
    SetMissing(
        Missing::NOT_SUPPORTED,
        absl::StrCat("device ", id, " has bond", reading.slot,
                     ", and its lines in /etc/hccn.conf end in ", reading.slot,
                     "; an address is compared only where "
                     "device id and slot are the same"),
        facts.mutable_address());
  }
  // The key that is there may be another device's.
  if (!reading.slot_known) tls.live = false;
  *facts.mutable_tls() = LearnTls(
      {reading.slot, absl::StrCat("`hccn_tool -g -tls -i ", id, "` may write"),
       "`hccn_tool -g -tls` may write",
       [id, session] { return ascend950::ReadTls(id, session); }},
      conf, tls);
  return facts;
}

DeviceFacts ObserveClassic(uint32_t id, const HccnConfFact& conf,
                           const TlsAsking& tls, HccnSession* session) {
  DeviceFacts facts;
  facts.set_id(id);
  AskSettings(session, &facts);
  AskNetHealth(session, facts.mutable_net_health());
  FillHccnFact(session->Ask("-link"), ParseHccnLink, facts.mutable_link());
  FillHccnFact(session->Ask("-lldp"), ParseHccnLldp, facts.mutable_lldp());
  FillHccnFact(session->Ask("-mtu"), ParseHccnMtu, facts.mutable_mtu());
  FillHccnFact(session->AskWith({"-i", absl::StrCat(id), "-cfg", "status"}),
               ParseHccnRecovery, facts.mutable_recovery());
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
  AskSettings(session, &facts);
  FillHccnFact(session->Ask("-mtu"), ParseHccnMtu, facts.mutable_mtu());
  TlsAsking tls;
  tls.live = true;
  *facts.mutable_tls() = LearnClassicTls(id, conf, tls, session);
  return facts;
}

}  // namespace clusterd
