#include "tests/readers/invented_values.h"

#include "absl/strings/str_cat.h"
#include "daemon/host/hccn/hccn_answers.h"
#include "tests/readers/seen_text.h"
#include "tests/readers/unasked_values.h"

namespace clusterd {
namespace {

absl::string_view HealthWords(NetHealth health) {
  switch (health) {
    case NET_HEALTH_SUCCESS:
      return "Success";
    case NET_HEALTH_SOCKET_FAIL:
      return "Socket fail";
    case NET_HEALTH_RECEIVE_TIMEOUT:
      return "Receive timeout";
    case NET_HEALTH_UNREACHABLE:
      return "Unreachable";
    case NET_HEALTH_TIME_EXCEEDED:
      return "Time exceeded";
    case NET_HEALTH_FAULT:
      return "Fault";
    case NET_HEALTH_INIT:
      return "Init";
    case NET_HEALTH_THREAD_ERROR:
      return "Thread error";
    case NET_HEALTH_DETECT_IP_SET:
      return "Detect ip set";
    case NET_HEALTH_UNKNOWN:
      return "Unknown";
    default:
      return "a health that the tool has no words for";
  }
}

void CheckAddresses(absl::string_view output, const SeenText& text,
                    InventedList* invented) {
  const auto check = [&text, invented](absl::string_view query,
                                       const std::string& address) {
    invented->Expect(text.HasNumber(address), query, address);
  };
  const auto interfaces = ParseHccnIp(output);
  if (interfaces.ok()) {
    invented->Expect(!interfaces->empty(), "-ip", "no address at all");
    for (const Ipv4Interface& interface : *interfaces) {
      check("-ip", interface.address().ToString());
      check("-ip", interface.subnet().netmask().ToString());
    }
  }
  const auto gateway = ParseHccnGateway(output);
  if (gateway.ok()) check("-gateway", gateway->ToString());
  const auto detect = ParseHccnNetdetect(output);
  if (detect.ok()) check("-netdetect", detect->ToString());
}

void CheckWords(absl::string_view output, const SeenText& text,
                InventedList* invented) {
  const auto check = [&text, invented](absl::string_view query,
                                       absl::string_view words) {
    invented->Expect(text.Has(words), query, words);
  };
  const auto health = ParseHccnNetHealth(output);
  if (health.ok()) check("-net_health", HealthWords(*health));
  const auto link = ParseHccnLink(output);
  if (link.ok()) check("-link", *link == LinkFact::UP ? "UP" : "DOWN");
  const auto recovery = ParseHccnRecovery(output);
  if (recovery.ok()) {
    check("-cfg status", RecoveryFact::Recovery_Name(*recovery));
  }
  const auto tls = ParseHccnTls(output, 0);
  if (tls.ok()) check("-tls", *tls ? "tls switch[1]" : "tls switch[0]");
  const auto mtu = ParseHccnMtu(output);
  if (mtu.ok()) {
    invented->Expect(text.HasNumber(absl::StrCat(*mtu)), "-mtu",
                     absl::StrCat(*mtu));
  }
}

void CheckNeighbour(absl::string_view output, const SeenText& text,
                    InventedList* invented) {
  const auto neighbour = ParseHccnLldp(output);
  if (!neighbour.ok()) return;
  if (!neighbour->heard()) {
    invented->Expect(text.HasOnlyBlankLinesAndWarnings(), "-lldp",
                     "no neighbour");
  }
  for (const std::string& value :
       {neighbour->chassis_id(), neighbour->port_id(), neighbour->system_name(),
        neighbour->management_address()}) {
    invented->Expect(text.HasPrintable(value), "-lldp", value);
  }
  if (neighbour->peer() == LldpNeighbour::NPU) {
    invented->Expect(text.Has("AscendNPU"), "-lldp", "peer AscendNPU");
  }
  if (neighbour->peer() == LldpNeighbour::SWITCH) {
    invented->Expect(text.Has("Routing"), "-lldp", "peer Routing");
  }
  if (neighbour->truncated()) {
    invented->Expect(text.size() >= 1999, "-lldp", "truncated");
  }
}

}  // namespace

std::vector<std::string> InventedValues(absl::string_view output) {
  const SeenText text(output);
  InventedList invented;
  CheckAddresses(output, text, &invented);
  CheckWords(output, text, &invented);
  CheckNeighbour(output, text, &invented);
  CheckUnaskedValues(output, text, &invented);
  return invented.Take();
}

}  // namespace clusterd
