// What a launch on a host meets beside its devices: the interface that HCCL
// takes, the host's own name, HCCL's variables, a container, clocks.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/hccl/hccl_variables.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/values/host_interfaces.h"
#include "config/words/number_text.h"

namespace clusterd {
namespace {

// Room for a clock that no server sets and that runs ahead for some days; logs
// of hosts can still be laid side by side.
constexpr int64_t kDefaultClockSkewMs = 5000;

std::string VariableText(const EnvironmentVariable& variable) {
  return absl::StrCat(
      PrintableText(variable.name()), "=", PrintableText(variable.value()),
      " (", PrintableText(variable.file()), ":", variable.line(), ")");
}

// Whether a file says the value; if not, adds that nothing is judged.
bool KnowsValue(const HostView& host, const EnvironmentVariable& variable,
                RuleReport& report) {
  if (!variable.computed()) return true;
  report.Add(
      host, "computed", PrintableText(variable.name()),
      absl::StrCat(PrintableText(variable.file()), ":", variable.line()));
  return false;
}

std::string InterfaceText(const HostInterface& interface) {
  return absl::StrCat(PrintableText(interface.name()), " (",
                      PrintableText(absl::StrJoin(interface.addresses(), " ")),
                      ")");
}

// As HCCL goes through them (hcomm, FindLocalHostIPByIfname and -Default):
// where a variable names some, as the kernel lists them; else docker's and lo's
// after all others, each kind by name.
std::vector<const HostInterface*> InHcclOrder(const HostView& host,
                                              bool by_name) {
  const auto rank = [](const HostInterface& interface) {
    if (absl::StartsWith(interface.name(), "lo")) return 2;
    return absl::StartsWith(interface.name(), "docker") ? 1 : 0;
  };
  std::vector<const HostInterface*> order;
  for (const HostInterface& each :
       host.facts->interfaces().value().interfaces()) {
    if (!each.addresses().empty()) order.push_back(&each);
  }
  if (!by_name) return order;
  absl::c_stable_sort(order, [&](const auto* a, const auto* b) {
    return std::make_pair(rank(*a), a->name()) <
           std::make_pair(rank(*b), b->name());
  });
  return order;
}

// Beside those of lo and Docker.
bool HasNoIpv4(const HostView& host) {
  return absl::c_all_of(InHcclOrder(host, false), [](const auto* each) {
    return each->name() == "lo" || absl::StartsWith(each->name(), "docker");
  });
}

// The interface whose first address HCCL takes: of those that
// HCCL_SOCKET_IFNAME means, or of all where that is empty. nullptr: none.
const HostInterface* TakenBy(const HostView& host, absl::string_view ifname) {
  for (const HostInterface* each : InHcclOrder(host, ifname.empty())) {
    if (ifname.empty() || MatchesSocketIfname(ifname, each->name())) {
      return each;
    }
  }
  return nullptr;
}

// By the variables that every login gets, else by the default order.
void JudgeChoice(const HostView& host, const HostInterface& own,
                 RuleReport& report) {
  const std::string address = host.address->ToString();
  if (const EnvironmentVariable* ip = FindVariable(host, "HCCL_IF_IP")) {
    if (!KnowsValue(host, *ip, report)) return;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(ip->value(), absl::MaxSplits('%', 1));
    if (parts.first != address) {
      report.Add(host, "variable-names-another", VariableText(*ip), address);
    }
    return;
  }
  const EnvironmentVariable* const names =
      FindVariable(host, "HCCL_SOCKET_IFNAME");
  if (names != nullptr && !KnowsValue(host, *names, report)) return;
  if (names != nullptr && !MatchesSocketIfname(names->value(), own.name())) {
    report.Add(host, "variable-names-another", VariableText(*names), address);
    return;
  }
  const HostInterface* const taken =
      TakenBy(host, names == nullptr ? "" : names->value());
  if (taken == nullptr || taken->addresses(0) == address) return;
  const std::string name = absl::StrCat("=", own.name());
  const HostInterface* const by_name = TakenBy(host, name);
  const bool name_will_do =
      by_name != nullptr && by_name->addresses(0) == address;
  report.Add(host, "another-first",
             absl::StrCat(PrintableText(taken->addresses(0)), " of ",
                          PrintableText(taken->name())),
             address, PrintableText(own.name()),
             name_will_do
                 ? absl::StrCat("HCCL_SOCKET_IFNAME=", ShellQuoted(name))
                 : absl::StrCat("HCCL_IF_IP=", address));
}

// Values in milliseconds as "1.250s".
std::string SecondsText(int64_t ms) {
  return absl::StrFormat("%.3fs", ms / 1e3);
}

// Midpoints tell which reading stands in the middle.
int64_t Middle(const ClockFact::Clock& clock) {
  return clock.ahead_at_least_ms() / 2 + clock.ahead_at_most_ms() / 2;
}

}  // namespace

// HCCL_IF_IP, then HCCL_SOCKET_IFNAME, then the first interface that is neither
// docker's nor lo by name (HCCL, hccl_env pages of both). A job may set them
// itself, which nobody sees here: so what is chosen without them is a warning.
void CheckHostInterface(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    if (!host.address) {
      report.ExplainSkip("cluster.yaml gives the host no address");
      continue;
    }
    if (!report.Knows(host, "interfaces", host.facts->interfaces()) ||
        !report.Knows(host, "HCCL's variables", host.facts->environment())) {
      continue;
    }
    report.Judged(host);
    const std::string address = host.address->ToString();
    const HostInterface* const own = FindInterface(*host.facts, address);
    if (own == nullptr && HasNoIpv4(host)) {
      report.Add(host, "ipv6-only", address);
    } else if (own == nullptr) {
      std::vector<std::string> all;
      for (const HostInterface* each : InHcclOrder(host, true)) {
        all.push_back(InterfaceText(*each));
      }
      report.Add(host, "not-there", address,
                 all.empty() ? "none has an address" : FirstOf(all, 8));
    } else if (!own->up()) {
      report.Add(host, "link-down", InterfaceText(*own));
    } else {
      JudgeChoice(host, *own, report);
    }
  }
}

void CheckHostName(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    if (!host.address) {
      report.ExplainSkip("cluster.yaml gives the host no address");
      continue;
    }
    const AddressesFact& fact = host.facts->own_name();
    if (!report.Knows(host, "what its name resolves to", fact)) continue;
    if (report.Knows(host, "names of its peers", host.facts->peer_names())) {
      for (const PeerName& peer : host.facts->peer_names().value().names()) {
        if (peer.answered()) continue;
        report.Add(host, "peer-not-answered", PrintableText(peer.address()),
                   ElapsedText(peer.elapsed_ms()));
      }
    }
    report.Judged(host);
    const std::string address = host.address->ToString();
    const auto& found = fact.value().addresses();
    if (absl::c_linear_search(found, address)) continue;
    const std::vector<std::string> all(found.begin(), found.end());
    report.Add(host, "resolves",
               all.empty() ? "no address" : PrintableText(FirstOf(all, 8)),
               address,
               PrintableText(host.facts->identity().hostname().value()));
  }
}

// What a job itself has is not known; what starts it is.
void CheckOpenFiles(const ClusterView& view, RuleReport& report) {
  const uint64_t dialers = RootDialers(view.spec(), view.job());
  if (dialers == 0) {
    return report.ExplainSkip("cluster.yaml plans no devices");
  }
  for (const HostView& host : view.hosts()) {
    const OpenFilesFact& fact = host.facts->open_files();
    if (!report.Knows(host, "limit of open files", fact)) continue;
    if (fact.value().limits().empty()) {
      report.Add(host, "none-runs");
      continue;
    }
    report.Judged(host);
    for (const OpenFilesLimit& each : fact.value().limits()) {
      // Jobs of slurmd bring their soft limit from where they were submitted.
      const bool judges_hard = each.program() == "slurmd";
      const uint64_t limit = judges_hard ? each.hard() : each.soft();
      if (limit > dialers) continue;
      report.Add(host, each.hard() > dialers ? "soft" : "hard",
                 PrintableText(each.program()), LimitText(limit), dialers,
                 LimitText(each.hard()));
    }
  }
}

void CheckHcclEnvironment(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const EnvironmentFact& fact = host.facts->environment();
    if (!report.Knows(host, "HCCL's variables", fact)) continue;
    report.Judged(host);
    if (fact.value().variables().empty()) continue;
    HcclVariables variables;
    for (const EnvironmentVariable& each : fact.value().variables()) {
      variables[each.name()] = each.computed() ? "" : each.value();
      if (!each.computed()) continue;
      if (&each != FindVariable(host, each.name())) continue;
      KnowsValue(host, each, report);
      // Whatever a shell makes of it, it is a path.
      if (each.name() == "HCCL_WHITELIST_FILE") variables[each.name()] = "path";
    }
    for (const HcclMistake& mistake : FindHcclMistakes(variables)) {
      const EnvironmentVariable& set = *FindVariable(host, mistake.name);
      report.Add(host, "wrong",
                 absl::StrCat(mistake.name, " is ", QuotedText(mistake.value)),
                 absl::StrCat(PrintableText(set.file()), ":", set.line()),
                 absl::StrCat(mistake.name, ": ", mistake.expected));
    }
  }
}

// What a container runtime has to bring in; of a host itself it is there or
// another rule says so.
void CheckContainerMounts(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const HostFacts& facts = *host.facts;
    if (!report.Knows(host, "whether it is a container",
                      facts.in_container()) ||
        !report.Knows(host, "what docker -v made", facts.directories())) {
      continue;
    }
    report.Judged(host);
    for (const std::string& path : facts.directories().value().paths()) {
      report.Add(host, "directory", PrintableText(path));
    }
    if (!facts.in_container().value()) continue;
    std::vector<std::string> lacking;
    if (!view.spec().roce_unused() &&
        facts.hccn_conf().missing().reason() == Missing::ABSENT) {
      lacking.push_back("/etc/hccn.conf");
    }
    if (facts.hccn_tool().path().missing().reason() == Missing::ABSENT) {
      lacking.push_back("hccn_tool");
    }
    const DeviceIdsFact& ids = facts.device_ids();
    if (ids.missing().reason() == Missing::ABSENT ||
        (ids.has_value() && ids.value().ids().empty())) {
      lacking.push_back("any device node /dev/davinciN");
    }
    const ServerSpec& spec =
        host.spec ? *host.spec : ServerSpec::default_instance();
    for (const DeviceSpec& planned : spec.devices()) {
      if (ids.has_value() && !ids.value().ids().empty() &&
          !absl::c_linear_search(ids.value().ids(), planned.id())) {
        lacking.push_back(absl::StrCat("/dev/davinci", planned.id()));
      }
    }
    if (lacking.empty()) continue;
    const std::string mistaken = NpuIdsTakenForDevices(view, host);
    report.Add(host, mistaken.empty() ? "lacks" : "lacks-npu-ids",
               FirstOf(lacking, 8), mistaken);
  }
}

// Each host's clock against the one in the middle. What the round trip leaves
// open is no difference: only what is surely beyond the bound counts.
void CheckClockSkew(const ClusterView& view, RuleReport& report) {
  const uint32_t given = view.spec().clock_skew_ms();
  const int64_t bound = given == 0 ? kDefaultClockSkewMs : given;
  std::vector<const HostView*> known;
  for (const HostView& host : view.hosts()) {
    if (host.facts->clock().has_value()) known.push_back(&host);
  }
  if (known.empty()) {
    return report.ExplainSkip(
        "no controller has compared the hosts' clocks with its own");
  }
  const auto clock_of = [](const HostView* host) -> const ClockFact::Clock& {
    return host->facts->clock().value();
  };
  absl::c_stable_sort(known, [&](const HostView* a, const HostView* b) {
    return Middle(clock_of(a)) < Middle(clock_of(b));
  });
  const HostView& reference = *known[(known.size() - 1) / 2];
  const ClockFact::Clock& middle = clock_of(&reference);
  for (const HostView& host : view.hosts()) {
    if (!report.Knows(host, "clock", host.facts->clock())) continue;
    report.Judged(host);
    const ClockFact::Clock& clock = clock_of(&host);
    const int64_t ahead = clock.ahead_at_least_ms() - middle.ahead_at_most_ms();
    const int64_t behind =
        middle.ahead_at_least_ms() - clock.ahead_at_most_ms();
    if (std::max(ahead, behind) <= bound) continue;
    report.Add(host, "apart", SecondsText(std::max(ahead, behind)),
               ahead > behind ? "ahead of" : "behind", reference.name,
               SecondsText(bound));
  }
}

}  // namespace clusterd
