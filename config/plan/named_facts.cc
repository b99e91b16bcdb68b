#include "config/plan/named_facts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/sysctl_file.h"
#include "config/spec/port_set.h"

namespace clusterd {
namespace {

constexpr size_t kShownFacts = 8;
constexpr size_t kShownBytes = 160;

std::string Word(bool value) { return value ? "yes" : "no"; }

std::string TextOrNone(const std::string& text) {
  return text.empty() ? "none" : text;
}

std::string Text(const BoolFact& fact) {
  return fact.state_case() == BoolFact::kValue ? Word(fact.value())
                                               : kUnknownFact;
}

std::string Text(const TextFact& fact) {
  return fact.state_case() == TextFact::kValue ? TextOrNone(fact.value())
                                               : kUnknownFact;
}

std::string Text(const NumberFact& fact) {
  return fact.state_case() == NumberFact::kValue ? absl::StrCat(fact.value())
                                                 : kUnknownFact;
}

std::string Text(const DeviceAddressFact& fact) {
  if (fact.state_case() != DeviceAddressFact::kValue) return kUnknownFact;
  std::vector<std::string> pairs;
  for (const Ipv4Setting& setting : fact.value().settings()) {
    pairs.push_back(absl::StrCat(setting.address(), "/", setting.netmask()));
  }
  return TextOrNone(absl::StrJoin(pairs, ", "));
}

std::string Text(const TlsFact& fact) {
  if (fact.state_case() != TlsFact::kValue) return kUnknownFact;
  return fact.value().enabled() ? "on" : "off";
}

std::string Text(const PersistentValueFact& fact) {
  if (fact.state_case() != PersistentValueFact::kValue) return kUnknownFact;
  std::vector<std::string> lines;
  for (const PersistentValue::Assignment& each : fact.value().assignments()) {
    lines.push_back(absl::StrCat(each.file(), ":", each.line(), " sets \"",
                                 each.value(), "\""));
  }
  return TextOrNone(absl::StrJoin(lines, ", "));
}

std::string Text(const AllowedFact& fact) {
  if (fact.state_case() != AllowedFact::kValue) return kUnknownFact;
  std::vector<std::string> ports;
  for (const AllowedPort& port : fact.value().ports()) {
    ports.push_back(absl::StrCat(
        port.first_port(), "-", port.last_port(), "/",
        port.protocol().empty() ? "any" : port.protocol(), " from ",
        port.source().empty() ? "anywhere" : port.source()));
  }
  std::sort(ports.begin(), ports.end());
  return TextOrNone(absl::StrJoin(ports, ", "));
}

std::string NamespaceText(const HostFacts& facts) {
  const KernelFacts& kernel = facts.kernel();
  std::string text = Text(kernel.network_namespace());
  if (text == kUnknownFact) return text;
  const NumberFact& cookie = kernel.network_namespace_cookie();
  if (cookie.state_case() == NumberFact::kValue) {
    absl::StrAppend(&text, ", cookie ", cookie.value());
  }
  const TextFact& boot = facts.identity().boot_id();
  if (boot.state_case() == TextFact::kValue && !boot.value().empty()) {
    absl::StrAppend(&text, ", boot ", boot.value());
  }
  return text;
}

// Of a NamespaceText, by their words; the inode has none.
std::map<absl::string_view, absl::string_view> NamespaceParts(
    absl::string_view text) {
  std::map<absl::string_view, absl::string_view> parts;
  for (const absl::string_view part : absl::StrSplit(text, ", ")) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(part, absl::MaxSplits(' ', 1));
    if (words.second.empty()) {
      parts[""] = words.first;
    } else {
      parts[words.first] = words.second;
    }
  }
  return parts;
}

// The kernel's spelling may differ between two reads; the set does not.
std::string ReservedPortsText(const TextFact& fact) {
  if (fact.state_case() != TextFact::kValue) return kUnknownFact;
  const absl::StatusOr<PortSet> ports = PortSet::Parse(fact.value());
  return ports.ok() ? TextOrNone(ports->ToString()) : kUnknownFact;
}

void NameFirewall(FirewallProgram program, const FirewallFacts& facts,
                  NamedFacts* named) {
  (*named)[FirewallFactName(program, "installed")] = Text(facts.installed());
  (*named)[FirewallFactName(program, "active")] = Text(facts.active());
  (*named)[FirewallFactName(program, "starts at boot")] =
      Text(facts.enabled_at_boot());
  (*named)[FirewallFactName(program, "lets in")] = Text(facts.allowed());
  if (program == UFW) return;  // It stores what it lets run.
  (*named)[FirewallFactName(program, "lets in permanently")] =
      Text(facts.allowed_permanently());
}

std::string FormText(const HccnConf& conf) {
  std::vector<std::string> problems;
  for (const HccnConf::Problem& problem : conf.problems()) {
    problems.push_back(
        absl::StrCat("line ", problem.line(), ": ",
                     HccnConf::Problem::Kind_Name(problem.kind())));
  }
  return problems.empty() ? "good" : absl::StrJoin(problems, ", ");
}

void NameHccnConf(const HostFacts& facts, uint32_t device, NamedFacts* named) {
  constexpr absl::string_view kKeys[] = {"address", "netmask", "gateway",
                                         "netdetect", "tls_enable"};
  const bool known = facts.hccn_conf().state_case() == HccnConfFact::kValue;
  for (const absl::string_view key : kKeys) {
    (*named)[HccnConfFactName(key, device)] = known ? "none" : kUnknownFact;
  }
  std::string& routes = (*named)[HccnConfFactName("routes", device)];
  routes = known ? "none" : kUnknownFact;
  std::set<std::string> seen;  // The tool obeys the first of a repeated key.
  std::vector<std::string> route_texts;
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    if (!entry.has_device() || entry.device() != device) continue;
    if (absl::StartsWith(entry.key(), "route_") || entry.key() == "ip_route") {
      route_texts.push_back(absl::StrCat(entry.key(), "=", entry.value()));
      continue;
    }
    if (!seen.insert(entry.key()).second) continue;
    const auto found = named->find(HccnConfFactName(entry.key(), device));
    if (found != named->end()) found->second = TextOrNone(entry.value());
  }
  if (!route_texts.empty()) routes = absl::StrJoin(route_texts, ", ");
}

std::string WithoutControls(absl::string_view text) {
  std::string clean;
  for (const char c : text.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) clean.push_back(c);
  }
  if (text.size() > kShownBytes) clean += "...";
  return clean;
}

}  // namespace

std::string DeviceFactName(uint32_t device, absl::string_view what) {
  return absl::StrCat("device ", device, ": ", what);
}

std::string HccnConfFactName(absl::string_view key, uint32_t device) {
  return absl::StrCat("hccn.conf: ", HccnConfKey(key, device));
}

std::string AtBootFactName(absl::string_view sysctl_key) {
  return absl::StrCat(sysctl_key, " at boot");
}

std::string FirewallFactName(FirewallProgram program, absl::string_view what) {
  return absl::StrCat(program == UFW ? "ufw" : "firewalld", ": ", what);
}

NamedFacts NameFacts(const HostFacts& facts) {
  NamedFacts named;
  for (const DeviceFacts& device : facts.devices()) {
    const uint32_t id = device.id();
    named[DeviceFactName(id, "address")] = Text(device.address());
    named[DeviceFactName(id, "gateway")] = Text(device.gateway());
    named[DeviceFactName(id, "detect address")] = Text(device.detect_address());
    named[DeviceFactName(id, "tls")] = Text(device.tls());
    NameHccnConf(facts, id, &named);
  }
  named[kHccnConfFormFact] =
      facts.hccn_conf().state_case() == HccnConfFact::kValue
          ? FormText(facts.hccn_conf().value())
          : kUnknownFact;
  const KernelFacts& kernel = facts.kernel();
  named[kReservedPortsKey] = ReservedPortsText(kernel.reserved_ports());
  named[kNetworkNamespaceFact] = NamespaceText(facts);
  named[kSomaxconnKey] = Text(kernel.somaxconn());
  named[kSynBacklogKey] = Text(kernel.tcp_max_syn_backlog());
  named[AtBootFactName(kReservedPortsKey)] =
      Text(kernel.reserved_ports_at_boot());
  named[AtBootFactName(kSomaxconnKey)] = Text(kernel.somaxconn_at_boot());
  named[AtBootFactName(kSynBacklogKey)] =
      Text(kernel.tcp_max_syn_backlog_at_boot());
  NameFirewall(UFW, facts.ufw(), &named);
  NameFirewall(FIREWALLD, facts.firewalld(), &named);
  return named;
}

bool IsSameFact(absl::string_view name, absl::string_view a,
                absl::string_view b) {
  if (a == b || name != kNetworkNamespaceFact) return a == b;
  const auto of_a = NamespaceParts(a);
  const auto of_b = NamespaceParts(b);
  return of_a.count("") > 0 && of_b.count("") > 0 &&
         std::all_of(of_a.begin(), of_a.end(), [&of_b](const auto& part) {
           const auto found = of_b.find(part.first);
           return found == of_b.end() || found->second == part.second;
         });
}

std::optional<NamespaceIdentity> ParseNamespaceFact(absl::string_view text) {
  const auto parts = NamespaceParts(text);
  NamespaceIdentity identity;
  const auto inode = parts.find("");
  if (inode == parts.end() ||
      !absl::SimpleAtoi(inode->second, &identity.inode)) {
    return std::nullopt;
  }
  const auto cookie = parts.find("cookie");
  uint64_t number = 0;
  if (cookie != parts.end() && absl::SimpleAtoi(cookie->second, &number)) {
    identity.cookie = number;
  }
  const auto boot = parts.find("boot");
  if (boot != parts.end()) identity.boot = std::string(boot->second);
  return identity;
}

std::vector<MovedFact> FindMovedFacts(const HostPlan& plan,
                                      const HostFacts& now) {
  const NamedFacts current = NameFacts(now);
  std::vector<MovedFact> moved;
  for (const PlanFact& planned : plan.facts()) {
    const auto found = current.find(planned.name());
    const std::string value =
        found == current.end() ? kUnknownFact : found->second;
    if (!IsSameFact(planned.name(), planned.value(), value) ||
        value == kUnknownFact) {
      moved.push_back({planned.name(), planned.value(), value});
    }
  }
  return moved;
}

std::string MovedFactsText(const std::vector<MovedFact>& moved) {
  std::vector<std::string> texts;
  for (const MovedFact& fact : moved) {
    if (texts.size() == kShownFacts) break;
    texts.push_back(absl::StrCat(fact.name, " was ",
                                 WithoutControls(fact.planned), ", now ",
                                 WithoutControls(fact.now)));
  }
  std::string text = absl::StrJoin(texts, "; ");
  if (moved.size() > kShownFacts) {
    absl::StrAppend(&text, "; and ", moved.size() - kShownFacts, " more");
  }
  return text;
}

std::string MissingText(const Missing& missing) {
  static const char* const kReasons[] = {
      "not observed", "absent", "not permitted", "timed out", "not readable",
      "busy",         "failed", "not supported", "not asked", "no answer"};
  const int reason = missing.reason();
  std::string text = reason >= 0 && reason < 10 ? kReasons[reason] : "unknown";
  if (!missing.detail().empty()) {
    absl::StrAppend(&text, ": ", WithoutControls(missing.detail()));
  }
  return text;
}

}  // namespace clusterd
