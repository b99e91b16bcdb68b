// -netdetect, -net_health, -lldp, -local_lldp, -ping, -hccs_ping
#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd::sim {
namespace {

// The tool's buffer for the neighbour's text, less its terminator.
constexpr size_t kMaxLldpBytes = 1999;

// By code; the last one is for unknown codes.
constexpr const char* kHealthNames[] = {
    "Success",     "Socket fail",   "Receive timeout",
    "Unreachable", "Time exceeded", "Fault",
    "Init",        "Thread error",  "Detect ip set",
    "Unknown",
};
enum HealthCode {
  kSuccess = 0,
  kReceiveTimeout = 2,
  kInit = 6,
  kDetectIpSet = 8,
};

bool LinkIsUp(ToolContext& context) { return context.Number("link", 1) != 0; }

// A device whose state does not give its health judges itself: no address to
// ask, asked a moment ago, no link to ask over, or well.
long HealthOf(ToolContext& context) {
  Driver& driver = *context.driver;
  if (auto code = driver.Number("net_health", context.device)) return *code;
  const std::string detect = context.Value("netdetect", "0.0.0.0");
  if (detect == "0.0.0.0") return kInit;
  const long pending = context.Number("detect_pending", 0);
  if (pending > 0) {
    context.Change("detect_pending", absl::StrCat(pending - 1));
    return kDetectIpSet;
  }
  return LinkIsUp(context) ? kSuccess : kReceiveTimeout;
}

std::string UsualPingText(ToolContext& context) {
  if (LinkIsUp(context) && context.driver->Value("ip", context.device)) {
    return "recv seq=0,time=0.052000ms\nrecv seq=1,time=0.034000ms\n"
           "recv seq=2,time=0.040000ms\n"
           "3 packets transmitted, 3 received, 0.00% packet loss\n";
  }
  return "recv time out seq=0\nrecv time out seq=1\nrecv time out seq=2\n"
         "3 packets transmitted, 0 received, 100.00% packet loss\n";
}

bool IsNumberUpTo(const std::string& text, int first, int last) {
  int value;
  return absl::SimpleAtoi(text, &value) && value >= first && value <= last;
}

struct HccsPingRequest {
  int count = 3;
  bool succeeds = true;
};

void PrintHccsPing(ToolContext& context, const std::string& target,
                   const HccsPingRequest& request) {
  // Times are made up: 12.345 us and one more for each packet.
  constexpr double kFirst = 12.345;
  std::string text =
      absl::StrCat("device ", context.device, " PING ", target, "\n\n");
  for (int i = 0; i < request.count; ++i) {
    absl::StrAppend(
        &text,
        request.succeeds ? "This pkt ping success!\n"
                         : "This pkt check recv msg fail!\n",
        absl::StrFormat("recv seq %d, time = %.3fus, L1 plane check result = "
                        "0x0\n\n",
                        i, kFirst + i));
  }
  const int received = request.succeeds ? request.count : 0;
  const double last = received > 0 ? kFirst + received - 1 : 0;
  const double first = received > 0 ? kFirst : 0;
  absl::StrAppendFormat(
      &text, "%d packets transmitted, %d received, %.2f%% packets loss\n",
      request.count, received,
      100.0 * (request.count - received) / std::max(request.count, 1));
  absl::StrAppendFormat(&text,
                        "max time %.3fus\nmin time %.3fus\naverage time "
                        "%.3fus\nTP95 time %.3fus\n",
                        last, first, (first + last) / 2, last);
  context.terminal->Out(text);
}

}  // namespace

Outcome GetDetectAddress(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  if (Outcome failure = context.Ask(Mailbox::kGetDetect)) return failure;
  return context.Print(absl::StrCat(
      driver.Setting("spelling.netdetect").value_or("netdetect addr: "),
      context.Value("netdetect", "0.0.0.0"), "\n"));
}

Outcome SetDetectAddress(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure = TakeKeywords(arguments, {"address"}, &values)) {
    return failure;
  }
  const std::string& address = values["address"];
  if (Outcome failure = CheckLengths(values)) return failure;
  const auto value = StrictIpv4(address);
  if (!value) return failures::InvalidAddress();
  if (*value == 0xffffffff) return failures::Broadcast();
  Outcome outcome = ChangeAndStore(context, "netdetect", "netdetect", address);
  if (!outcome) context.Change("detect_pending", "1");
  return outcome;
}

Outcome GetNetHealth(ToolContext& context, const Arguments&) {
  if (Outcome failure =
          context.driver->CallLibrary("net_health", context.device)) {
    return failure;
  }
  // The tool compares as signed numbers and only with the upper end.
  const int code = static_cast<int>(HealthOf(context));
  if (code >= static_cast<int>(std::size(kHealthNames))) {
    return failures::CommandFailed();
  }
  const char* name = code < 0 ? "\xef\xbf\xbd" : kHealthNames[code];
  return context.Print(absl::StrCat("net health status: ", name, "\n"));
}

Outcome GetLldp(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.Ask(Mailbox::kGetLldp)) return failure;
  const std::string text = context.Value("lldp");
  return context.Print(absl::StrCat(text.substr(0, kMaxLldpBytes), "\n"));
}

Outcome GetLocalLldp(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  const std::string text = context.Value("local_lldp");
  return context.Print(absl::StrCat(text.substr(0, kMaxLldpBytes), "\n"));
}

Outcome SetLocalLldp(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure = TakeKeywords(arguments, {"subtype"}, &values)) {
    return failure;
  }
  const std::string& subtype = values["subtype"];
  if (subtype != "mac" && subtype != "ifname") {
    return failures::WrongParameters();
  }
  if (Outcome failure = context.AskToChange()) return failure;
  return context.conf->Write(context.Key("lldp_portid_type"), subtype);
}

Outcome Ping(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure = TakeKeywords(arguments, {"address", "pkt"}, &values)) {
    return failure;
  }
  if (Outcome failure = CheckLengths(values)) return failure;
  if (!StrictIpv4(values["address"])) return failures::InvalidAddress();
  // `pkt` is the length of the payload, not a count.
  if (values.count("pkt") && !IsNumberUpTo(values["pkt"], 0, 65507)) {
    return failures::WrongParameters();
  }
  Driver& driver = *context.driver;
  if (Outcome failure = context.Ask(Mailbox::kPing)) return failure;
  const auto scripted = driver.Value("ping", context.device);
  const std::string text = scripted ? *scripted : UsualPingText(context);
  context.terminal->Out(absl::StrCat("device ", context.device, " PING ",
                                     values["address"], "\n", text, "\n"));
  for (const char* marker :
       {"recv time out seq", "Destination Host Unreachable",
        "Message too long"}) {
    if (absl::StrContains(text, marker)) return failures::CommandFailed();
  }
  return std::nullopt;
}

Outcome HccsPing(ToolContext& context, const Arguments& arguments) {
  if (!IsA3(context.product()) || Is9000(context.product())) {
    return failures::NotSupported();
  }
  std::map<std::string, std::string> values;
  if (Outcome failure = TakeKeywords(
          arguments, {"address", "sdid", "pkt", "cnt", "interval", "timeout"},
          &values)) {
    return failure;
  }
  struct Limit {
    const char* name;
    int first, last;
  };
  for (const Limit& limit :
       {Limit{"pkt", 1792, 3000}, Limit{"cnt", 1, 1000},
        Limit{"interval", 0, 10}, Limit{"timeout", 1, 20000}}) {
    if (values.count(limit.name) &&
        !IsNumberUpTo(values[limit.name], limit.first, limit.last)) {
      return failures::WrongParameters();
    }
  }
  const bool by_address = values.count("address") > 0;
  if (by_address) {
    // Only a virtual NIC of the pod can answer.
    const auto address = StrictIpv4(values["address"]);
    if (!address || *address >> 24 != 192) return failures::InvalidAddress();
  }
  if (!context.driver->privileged()) return failures::PermissionDenied();
  if (Outcome failure = context.Ask(Mailbox::kHccsPing)) return failure;
  HccsPingRequest request;
  if (values.count("cnt")) {
    (void)absl::SimpleAtoi(values["cnt"], &request.count);
  }
  request.succeeds = context.driver->Setting("hccs_ok").value_or("1") != "0";
  PrintHccsPing(context, by_address ? values["address"] : values["sdid"],
                request);
  // This query ends as a set command does.
  return context.Print("Cmd executed successfully!\n");
}

}  // namespace clusterd::sim
