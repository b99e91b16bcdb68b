#include "tests/readers/invented_values.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "daemon/host/hccn_answers.h"
#include "daemon/host/hccn_ip.h"
#include "daemon/host/hccn_lldp.h"

namespace clusterd {
namespace {

// Knows nothing of the parsers: only which characters stand in the text.
class Text {
 public:
  explicit Text(absl::string_view text) : text_(text) {}

  // The number or address is not part of a longer one.
  bool HasNumber(absl::string_view number) const {
    for (size_t at = text_.find(std::string(number)); at != std::string::npos;
         at = text_.find(std::string(number), at + 1)) {
      const size_t end = at + number.size();
      if ((at == 0 || !Continues(text_[at - 1])) &&
          (end == text_.size() || !Continues(text_[end]))) {
        return true;
      }
    }
    return false;
  }

  bool Has(absl::string_view words) const {
    return absl::StrContains(text_, words);
  }

  // `value` has unprintable bytes escaped, and "..." where it was cut.
  bool HasPrintable(absl::string_view value) const {
    std::string escaped;
    for (const char c : text_) {
      const unsigned char byte = static_cast<unsigned char>(c);
      if (c == '\n' || absl::ascii_isprint(byte)) {
        escaped.push_back(c);
      } else if (c == '\t') {
        escaped.append("\\t");
      } else if (c == '\r') {
        escaped.append("\\r");
      } else {
        absl::StrAppendFormat(&escaped, "\\x%02x", byte);
      }
    }
    if (value.size() > 255) absl::ConsumeSuffix(&value, "...");
    return absl::StrContains(escaped, value);
  }

  bool HasOnlyBlankLinesAndWarnings() const {
    for (const absl::string_view line : absl::StrSplit(text_, '\n')) {
      if (!absl::StripAsciiWhitespace(line).empty() &&
          !absl::StartsWith(line, "[WARNING]")) {
        return false;
      }
    }
    return true;
  }

  size_t size() const { return text_.size(); }

 private:
  static bool Continues(char c) { return c == '.' || absl::ascii_isdigit(c); }

  const std::string text_;
};

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

// Collects what is not there.
class Findings {
 public:
  void Expect(bool is_there, absl::string_view query, absl::string_view value) {
    if (!is_there) invented_.push_back(absl::StrCat(query, ": ", value));
  }
  std::vector<std::string> Take() { return std::move(invented_); }

 private:
  std::vector<std::string> invented_;
};

void CheckAddresses(absl::string_view output, const Text& text,
                    Findings* findings) {
  const auto check = [&text, findings](absl::string_view query,
                                       const std::string& address) {
    findings->Expect(text.HasNumber(address), query, address);
  };
  const auto interfaces = ParseHccnIp(output);
  if (interfaces.ok()) {
    findings->Expect(!interfaces->empty(), "-ip", "no address at all");
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

void CheckWords(absl::string_view output, const Text& text,
                Findings* findings) {
  const auto check = [&text, findings](absl::string_view query,
                                       absl::string_view words) {
    findings->Expect(text.Has(words), query, words);
  };
  const auto health = ParseHccnNetHealth(output);
  if (health.ok()) check("-net_health", HealthWords(*health));
  const auto link = ParseHccnLink(output);
  if (link.ok()) check("-link", *link == LinkFact::UP ? "UP" : "DOWN");
  const auto tls = ParseHccnTls(output, 0);
  if (tls.ok()) check("-tls", *tls ? "tls switch[1]" : "tls switch[0]");
  const auto mtu = ParseHccnMtu(output);
  if (mtu.ok()) {
    findings->Expect(text.HasNumber(absl::StrCat(*mtu)), "-mtu",
                     absl::StrCat(*mtu));
  }
}

void CheckNeighbour(absl::string_view output, const Text& text,
                    Findings* findings) {
  const auto neighbour = ParseHccnLldp(output);
  if (!neighbour.ok()) return;
  if (!neighbour->heard()) {
    findings->Expect(text.HasOnlyBlankLinesAndWarnings(), "-lldp",
                     "no neighbour");
  }
  for (const std::string& value :
       {neighbour->chassis_id(), neighbour->port_id(), neighbour->system_name(),
        neighbour->management_address()}) {
    findings->Expect(text.HasPrintable(value), "-lldp", value);
  }
  if (neighbour->peer() == LldpNeighbour::NPU) {
    findings->Expect(text.Has("AscendNPU"), "-lldp", "peer AscendNPU");
  }
  if (neighbour->peer() == LldpNeighbour::SWITCH) {
    findings->Expect(text.Has("Routing"), "-lldp", "peer Routing");
  }
  if (neighbour->truncated()) {
    findings->Expect(text.size() >= 1999, "-lldp", "truncated");
  }
}

}  // namespace

std::vector<std::string> InventedValues(absl::string_view output) {
  const Text text(output);
  Findings findings;
  CheckAddresses(output, text, &findings);
  CheckWords(output, text, &findings);
  CheckNeighbour(output, text, &findings);
  return findings.Take();
}

}  // namespace clusterd
