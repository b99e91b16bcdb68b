// Checks that no firewall of a host blocks the servers of the cluster.
#include <algorithm>
#include <optional>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/hccl/job_ports.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/values/ipv4.h"

namespace clusterd {
namespace {

// The limit of address blocks in a fix, with a command each.
constexpr size_t kMaxShownCommands = 8;
constexpr size_t kMaxShownSources = 64;

// Why a job may not need the closed ports, which is a warning alone; empty if
// they are certain.
FindingValue WhyPerhaps(const HcclPortNeed& need, bool certain) {
  if (certain) return {};
  return need.is_any ? Worded("perhaps-chosen", SourceWords(need))
                     : Worded("perhaps-by-cann");
}

// The peers that need access, the same for every host, and the ports.
struct Demand {
  HcclPortNeed need;
  // Host addresses of the cluster, ascending.
  std::vector<Ipv4Address> peers;
  // Every server of the spec has an address.
  bool peers_known = true;
  // Exactly the peers, in blocks as a plan opens, for a firewall's command.
  std::vector<std::string> sources;
};

Demand MakeDemand(const ClusterSpec& spec) {
  Demand demand;
  for (const ServerSpec& server : spec.servers()) {
    const auto address = Ipv4Address::Parse(server.address());
    demand.peers_known &= address.ok();
    if (address.ok()) demand.peers.push_back(*address);
  }
  absl::c_sort(demand.peers);
  for (const Ipv4Subnet& block : CoverExactly(demand.peers)) {
    demand.sources.push_back(block.prefix_length() == 32
                                 ? block.network().ToString()
                                 : block.ToString());
  }
  return demand;
}

// "192.168.7.5/24" is legal in a firewall rule: host bits do not count.
std::optional<Ipv4Subnet> ReadSource(const std::string& source) {
  if (source.empty()) return Ipv4Subnet();
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(source, absl::MaxSplits('/', 1));
  const auto address = Ipv4Address::Parse(parts.first);
  const auto sized = Ipv4Subnet::Parse(
      absl::StrCat("0.0.0.0/", parts.first == source ? "32" : parts.second));
  if (!address.ok() || !sized.ok()) return std::nullopt;
  return Ipv4Subnet(*address, sized->prefix_length());
}

// The first peer that no subnet covers. `own` needs no rule: a host's traffic
// to itself does not meet its firewall.
std::optional<Ipv4Address> FirstUncovered(const std::vector<Ipv4Address>& peers,
                                          std::vector<Ipv4Subnet> covered,
                                          std::optional<Ipv4Address> own) {
  absl::c_sort(covered);
  uint64_t end = 0;  // Subnets that begin before the peer.
  auto subnet = covered.begin();
  for (const Ipv4Address peer : peers) {
    for (; subnet != covered.end() && !(peer < subnet->network()); ++subnet) {
      end = std::max(end, uint64_t{subnet->broadcast().bits()} + 1);
    }
    if (peer.bits() >= end && own != peer) return peer;
  }
  return std::nullopt;
}

// An IPv6 source admits no IPv4 peer; other words may.
bool IsIpv6(const std::string& source) {
  return source.find(':') != std::string::npos &&
         source.find_first_not_of("0123456789abcdefABCDEF:./") ==
             std::string::npos;
}

// The port ranges of the demand cut where the firewall's rules begin or end, so
// that a rule covers all or nothing of a piece.
std::vector<PortSet::Range> Pieces(const PortSet& ports,
                                   const AllowedFact::Allowed& allowed) {
  std::set<uint32_t> cuts;
  for (const AllowedPort& rule : allowed.ports()) {
    cuts.insert({rule.first_port(), rule.last_port() + 1});
  }
  std::vector<PortSet::Range> pieces;
  for (PortSet::Range range : ports.ranges()) {
    for (auto cut = cuts.upper_bound(range.first);
         cut != cuts.end() && *cut <= range.second; ++cut) {
      pieces.emplace_back(range.first, *cut - 1);
      range.first = *cut;
    }
    pieces.push_back(range);
  }
  return pieces;
}

// A closed part of the demand.
struct Shut {
  bool is_any = false;
  FindingValue words = {};  // "TCP 60000-60031 from 192.168.7.23".
  // A rule that might open it names its source in words not understood here.
  std::string unread_source = {};
  bool certain = false;  // A job surely needs some of it.
};

Shut FindShut(const HostView& host, const Demand& demand,
              const AllowedFact::Allowed& allowed) {
  Shut shut;
  PortSet ports;
  std::optional<Ipv4Address> peer;
  for (const PortSet::Range& piece : Pieces(demand.need.possible, allowed)) {
    std::vector<Ipv4Subnet> covered;
    for (const AllowedPort& rule : allowed.ports()) {
      if (rule.first_port() > piece.first || rule.last_port() < piece.second ||
          !(rule.protocol().empty() || rule.protocol() == "tcp")) {
        continue;
      }
      const std::optional<Ipv4Subnet> source = ReadSource(rule.source());
      if (source.has_value()) {
        covered.push_back(*source);
      } else if (!IsIpv6(rule.source())) {
        shut.unread_source = rule.source();
      }
    }
    const auto uncovered = FirstUncovered(demand.peers, covered, host.address);
    if (!uncovered.has_value()) continue;
    ports.Add(piece.first, piece.second);
    if (!peer.has_value()) peer = uncovered;
  }
  if (ports.empty()) return {};
  shut.certain = demand.need.certain.Minus(ports) != demand.need.certain;
  shut.is_any = true;
  shut.words = Worded("shut-ports", ports.ToString(), peer->ToString(),
                      WhyPerhaps(demand.need, shut.certain));
  return shut;
}

// `zone`: firewalld's, "": the default one.
std::string OpenCommand(bool is_ufw, absl::string_view zone,
                        absl::string_view source, const PortSet::Range& range) {
  const auto& [first, last] = range;
  const std::string ports = first == last
                                ? absl::StrCat(first)
                                : absl::StrCat(first, is_ufw ? ":" : "-", last);
  if (is_ufw) {
    return absl::StrCat("ufw allow proto tcp from ", source, " to any port ",
                        ports);
  }
  return absl::StrCat(
      "firewall-cmd --permanent ",
      zone.empty() ? "" : absl::StrCat("--zone=", ShellQuoted(zone), " "),
      "--add-rich-rule='rule family=\"ipv4\" source address=\"", source,
      "\" port port=\"", ports, "\" protocol=\"tcp\" accept'");
}

// `reload`: firewalld should load its stored rules.
FindingValue OpenFix(absl::string_view name, absl::string_view zone,
                     const Demand& demand, bool reload) {
  const bool is_ufw = name == "ufw";
  // A plan opens ports only in the default zone.
  if (zone.empty() && demand.sources.size() > kMaxShownSources) {
    return Worded("plan-opens", demand.need.possible.ToString(),
                  demand.sources.size());
  }
  const bool loop = demand.sources.size() > kMaxShownCommands;
  std::vector<std::string> commands;
  for (const std::string& source :
       loop ? std::vector<std::string>{is_ufw ? "$s" : "'$s'"}
            : demand.sources) {
    for (const PortSet::Range& range : demand.need.possible.ranges()) {
      commands.push_back(OpenCommand(is_ufw, zone, source, range));
    }
  }
  if (loop) {
    commands = {absl::StrCat("for s in ", absl::StrJoin(demand.sources, " "),
                             "; do ", absl::StrJoin(commands, " && "),
                             "; done")};
  }
  if (!is_ufw && reload) commands.push_back("firewall-cmd --reload");
  return ToFindingValue(absl::StrJoin(commands, " && "));
}

std::string DisableFix(absl::string_view name) {
  return name == "ufw" ? "ufw disable" : "systemctl disable --now firewalld";
}

// One firewall of one host. Each function returns whether there is a verdict.
struct FirewallCheck {
  const HostView& host;
  const absl::string_view name;
  const FirewallFacts& facts;
  const std::optional<Demand>& demand;  // Unset: no firewall is to run.
  RuleReport& report;

  bool Run() const {
    if (!Knows("whether-installed", facts.installed())) return false;
    if (!facts.installed().value()) return true;
    if (!Knows("whether-active", facts.active())) return false;
    const bool active = facts.active().value();
    if (!active) {
      if (!Knows("whether-at-boot", facts.enabled_at_boot())) return false;
      if (!facts.enabled_at_boot().value()) return true;
    }
    if (demand.has_value()) return RunOpenPorts(active);
    report.Add(host, active ? "is-active" : "starts-at-boot", name,
               DisableFix(name));
    return true;
  }

  // `what`: words with the firewall's name.
  template <typename Fact>
  bool Knows(absl::string_view what, const Fact& fact) const {
    return IsKnown(fact) || report.Knows(host, Worded(what, name), fact);
  }

  FindingValue StateWords(bool active) const {
    return Worded(active ? "firewall-active" : "firewall-at-boot", name);
  }

  // Finds the zone of the host's address, if that is not the default one. True
  // without a zone if firewalld is not active.
  bool FindZone(bool active, const FirewallZone** zone) const {
    if (!active || name == "ufw") return true;
    if (!Knows("firewall-zones", facts.other_zones())) return false;
    if (facts.other_zones().value().zones().empty()) return true;
    if (!report.Knows(host, "interfaces", host.facts->interfaces())) {
      return false;
    }
    const std::string address = host.address ? host.address->ToString() : "";
    const auto found = FindOtherZone(*host.facts, address);
    if (!found.ok()) {
      if (address.empty()) report.Add(host, "no-address");
      if (!address.empty()) report.Add(host, "zone-unclear", address);
      return false;
    }
    *zone = *found;
    return true;
  }

  bool RunOpenPorts(bool active) const {
    const FirewallZone* zone = nullptr;
    if (!FindZone(active, &zone)) return false;
    const AllowedFact& allowed = zone ? zone->allowed() : facts.allowed();
    const AllowedFact& stored =
        zone ? zone->allowed_permanently() : facts.allowed_permanently();
    const std::string zone_name = zone ? zone->name() : "";
    if (!IsKnown(allowed) && !active) {
      report.Add(host, "starts-at-boot-with-what", name, DisableFix(name));
      return true;
    }
    if (!Knows("firewall-rules", allowed)) return false;
    if (!demand->peers_known) {
      report.Add(host, "server-without-address", StateWords(active));
      return false;
    }
    if (!MeetAllowed(active, allowed.value(), stored.value())) return false;
    const Shut shut = FindShut(host, *demand, allowed.value());
    if (!shut.is_any) return !active || StaysOpen(stored, zone_name);
    const FindingValue fix = OpenFix(name, zone_name, *demand, true);
    if (!shut.unread_source.empty()) {
      return Unread(StateWords(active), shut, fix);
    }
    const bool reload_opens = active && IsKnown(stored) &&
                              !FindShut(host, *demand, stored.value()).is_any;
    NamedFinding text = report.Named(
        reload_opens ? "open-after-reload" : "shut", StateWords(active),
        shut.words, demand->need.possible.ToString(), fix);
    if (!active || !shut.certain) text.state = WARN;
    text.by_hand |= demand->need.is_of_job;
    report.Add(host, std::move(text));
    return true;
  }

  // All is open now; the next reload or reboot may close it.
  bool StaysOpen(const AllowedFact& stored, absl::string_view zone_name) const {
    if (name == "ufw") return true;  // It stores what it lets run.
    if (!Knows("firewall-permanent-rules", stored)) return false;
    const Shut shut = FindShut(host, *demand, stored.value());
    if (!shut.is_any) return true;
    if (!shut.unread_source.empty()) {
      return Unread(Worded("by-stored-rules", name), shut,
                    OpenFix(name, zone_name, *demand, true));
    }
    NamedFinding text = report.Named("open-until-reload", name, shut.words,
                                     demand->need.possible.ToString(),
                                     OpenFix(name, zone_name, *demand, false));
    text.by_hand |= demand->need.is_of_job;
    report.Add(host, std::move(text));
    return true;
  }

  // True if no zone for other sources takes the peers' packets. The addresses
  // of an ipset are not known; most have none of the cluster.
  bool MeetAllowed(bool active, const AllowedFact::Allowed& allowed,
                   const AllowedFact::Allowed& stored) const {
    std::set<std::string> sources(allowed.other_sources().begin(),
                                  allowed.other_sources().end());
    sources.insert(stored.other_sources().begin(),
                   stored.other_sources().end());
    bool known = true;
    for (const std::string& source : sources) {
      const std::optional<Ipv4Subnet> subnet = ReadSource(source);
      const bool meets = absl::c_any_of(demand->peers, [&](Ipv4Address peer) {
        return peer != host.address && subnet && subnet->Contains(peer);
      });
      if (subnet.has_value() && !meets) continue;
      NamedFinding text =
          report.Named("source-of-other-zone", StateWords(active),
                       QuotedText(source), demand->need.possible.ToString());
      if (!meets) text.state = WARN;
      report.Add(host, std::move(text));
      known &= !meets;
    }
    return known;
  }

  bool Unread(const FindingValue& state, const Shut& shut,
              const FindingValue& fix) const {
    report.Add(host, "source-not-understood", state,
               QuotedText(shut.unread_source), shut.words, fix);
    return false;
  }
};

// Rules beside the two firewalls that drop what a job needs, or may; other
// rules, sets or marks that pass it are not followed. False if not readable.
bool CheckDropRules(const HostView& host, const HcclPortNeed& need,
                    RuleReport& report) {
  const PortSet& needed = need.possible;
  const DropRulesFact& fact = host.facts->drop_rules();
  if (!report.Knows(host, "packet filter", fact)) return false;
  for (const DropRule& rule : fact.value().rules()) {
    const absl::StatusOr<PortSet> ports = PortSet::Parse(rule.ports());
    const bool elsewhere =
        !rule.ports().empty() && ports.ok() && needed.Minus(*ports) == needed;
    if (elsewhere) continue;
    const PortSet left =
        needed.Minus(PortSet::Parse(rule.surely_ports()).value_or(PortSet()));
    if (left == needed) {
      report.Add(host, "rule-not-understood", QuotedText(rule.text()),
                 needed.ToString());
      continue;
    }
    const bool certain = !left.Contains(need.certain);
    NamedFinding text =
        report.Named("rule-drops", QuotedText(rule.text()), needed.ToString(),
                     needed.Minus(left).ToString(), WhyPerhaps(need, certain));
    if (!certain) text.state = WARN;
    report.Add(host, std::move(text));
  }
  return true;
}

}  // namespace

// | policy      | active              | stopped, starts at boot        |
// |-------------|---------------------|--------------------------------|
// | disabled    | fail                | warn                           |
// | open-ports  | fail unless each    | the same as a warning; warn    |
// |             | needed TCP port is  | too if the rules of a stopped  |
// |             | open to every host  | firewall are not known         |
// |             | of the spec         |                                |
// | ignore      | skipped             | skipped                        |
// With the first two, another rule or policy of the packet filter fails if it
// surely drops new connections to a needed port, and is a warning if it may:
// most that are not understood are for others. A spec without a policy means
// disabled. A firewall that is stopped and does not start at boot passes.
//
// firewalld stores rules apart from those that run. With open-ports, active:
// | needed ports are open     | state                                        |
// |---------------------------|----------------------------------------------|
// | now and permanently       | pass                                         |
// | now alone                 | warn: the next reload or reboot shuts them   |
// | permanently alone         | fail: a reload opens them                    |
// | now, permanently unknown  | unknown                                      |
void CheckFirewall(const ClusterView& view, RuleReport& report) {
  const FirewallPolicy policy = view.spec().firewall();
  if (policy == FIREWALL_IGNORE) {
    return report.SkipFor("firewall-ignored");
  }
  std::optional<Demand> demand;
  if (policy == FIREWALL_OPEN_PORTS) demand = MakeDemand(view.spec());
  for (const HostView& host : view.hosts()) {
    const HostFacts& facts = *host.facts;
    HcclPortNeed need = JobPortsOn(view.spec(), facts, view.job());
    if (need.is_any) {
      need.possible.Add(HandedOut(*PortSet::Parse("1-65535"), facts));
      need.is_of_job = true;  // No plan opens all of them.
    }
    if (demand.has_value()) demand->need = need;
    // Both always run: a host can have both.
    const bool ufw =
        FirewallCheck{host, "ufw", facts.ufw(), demand, report}.Run();
    const bool firewalld =
        FirewallCheck{host, "firewalld", facts.firewalld(), demand, report}
            .Run();
    const bool others = CheckDropRules(host, need, report);
    if (facts.ufw().active().value() || facts.firewalld().active().value() ||
        !facts.drop_rules().value().rules().empty()) {
      AddUnclearPorts(host, need, report);
    }
    if (ufw && firewalld && others) report.Judged(host);
  }
}

}  // namespace clusterd
