// A launch on a host depends on more than its devices: the interface that HCCL
// takes, the host's own name, a container, clocks.
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/hccl/job_variables.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/values/text_form.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Allows for a clock without a server that runs ahead for some days; logs of
// hosts can still be compared.
constexpr int64_t kDefaultClockSkewMs = 5000;
constexpr int kMaxHostsColumns = 200;

// The first device that has the address; nullptr: none.
const DeviceView* DeviceWith(const ClusterView& view,
                             absl::string_view address) {
  const auto wanted = Ipv4Address::Parse(address).value_or(Ipv4Address());
  for (const HostView& host : view.hosts()) {
    for (const auto& devices : {host.devices, host.unplanned}) {
      for (const DeviceView& device : devices) {
        if ((device.vnic && (*device.vnic)->setting().address() == address) ||
            (device.planned && device.planned->address() == wanted) ||
            FirstWith(device.interfaces(), &Ipv4Interface::address, wanted)) {
          return &device;
        }
      }
    }
  }
  return nullptr;
}

FindingValue VariableWords(const ClusterView& view,
                           const EnvironmentVariable& variable) {
  const absl::string_view value = variable.value();
  const std::string set =
      absl::StrCat(PrintableText(variable.name()), "=", PrintableText(value));
  const DeviceView* const device =
      DeviceWith(view, value.substr(0, value.find('%')));
  if (device == nullptr) return Worded("value-at", set, PlaceWords(variable));
  return Worded("variable-of-device", set, PlaceWords(variable), device->id,
                PrintableText(device->host->name));
}

// True if a file gives the value; otherwise adds that nothing is judged.
bool KnowsValue(const HostView& host, const EnvironmentVariable& variable,
                RuleReport& report) {
  if (IsSure(variable)) return true;
  report.Add(host, "computed", PrintableText(variable.name()),
             PlaceWords(variable));
  return false;
}

std::string InterfaceText(const HostInterface& interface) {
  return absl::StrCat(PrintableText(interface.name()), " (",
                      PrintableText(absl::StrJoin(interface.addresses(), " ")),
                      ")");
}

// The interfaces in HCCL's order (hcomm, FindLocalHostIPByIfname and -Default):
// if a variable names some, as the kernel lists them; otherwise docker's and
// lo's after all others, each kind by name.
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

// True if only lo and bridges that lead to containers and virtual machines have
// IPv4 addresses; br-ex and the like may have the host's own.
bool HasNoIpv4(const HostView& host) {
  return absl::c_all_of(InHcclOrder(host, false), [](const auto* each) {
    static const LazyRE2 kInside = {
        R"(lo|(?:docker|virbr|cni|(?:cni-)?podman).*|br-[0-9a-f]{12})"};
    return HasForm(each->name(), *kInside);
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

// The address that HCCL takes, from the variables of the job or of every login,
// otherwise by the default order. Empty: none, or not known.
std::string AddressTaken(const ClusterView& view, const HostView& host) {
  const auto find = [&](absl::string_view name) {
    return FindVariable(*host.facts, view.job(), name);
  };
  if (const EnvironmentVariable* const ip = find("HCCL_IF_IP")) {
    return IsSure(*ip) ? ip->value().substr(0, ip->value().find('%')) : "";
  }
  const EnvironmentVariable* const names = find("HCCL_SOCKET_IFNAME");
  if (names != nullptr && !IsSure(*names)) return "";
  const HostInterface* const taken =
      TakenBy(host, names == nullptr ? "" : names->value());
  return taken == nullptr ? "" : taken->addresses(0);
}

// Hosts by the address that HCCL takes.
using HostsByAddress = std::map<std::string, std::vector<std::string>>;

// 198.18.0.0/15 (RFC 2544): proxies such as mihomo give it to their tunnels.
FindingValue TakenWords(const HostInterface& taken) {
  const std::string& address = taken.addresses(0);
  const bool is_tunnel = absl::StartsWith(address, "198.18.") ||
                         absl::StartsWith(address, "198.19.");
  return Worded(is_tunnel ? "address-of-tunnel" : "address-of-interface",
                PrintableText(address), PrintableText(taken.name()));
}

// Judges the choice by variables (job, then logins) or the default order.
void JudgeChoice(const ClusterView& view, const HostView& host,
                 const HostInterface& own, const HostsByAddress& all,
                 RuleReport& report) {
  const std::string address = host.address->ToString();
  const auto find = [&](absl::string_view name) {
    return FindVariable(*host.facts, view.job(), name);
  };
  const EnvironmentVariable* const ip = find("HCCL_IF_IP");
  const EnvironmentVariable* const variable =
      ip != nullptr ? ip : find("HCCL_SOCKET_IFNAME");
  if (variable != nullptr && !KnowsValue(host, *variable, report)) return;
  if (AddressTaken(view, host) == address) return;
  const FindingValue text =
      variable == nullptr ? FindingValue() : VariableWords(view, *variable);
  if (ip != nullptr || (variable != nullptr &&
                        !MatchesSocketIfname(variable->value(), own.name()))) {
    return report.Add(host, FindingOf("variable-names-another", *variable),
                      text, address);
  }
  const HostInterface* const taken =
      TakenBy(host, variable == nullptr ? "" : variable->value());
  if (taken == nullptr) return;
  const FindingValue what = variable == nullptr
                                ? TakenWords(*taken)
                                : Worded("taken-by", TakenWords(*taken), text);
  const std::string name = absl::StrCat("=", own.name());
  const HostInterface* const by_name = TakenBy(host, name);
  const bool name_will_do =
      by_name != nullptr && by_name->addresses(0) == address;
  const std::string advice =
      name_will_do ? absl::StrCat("HCCL_SOCKET_IFNAME=", ShellQuoted(name))
                   : absl::StrCat("HCCL_IF_IP=", address);
  const auto sharing = all.find(taken->addresses(0));
  if (sharing == all.end() || sharing->second.size() < 2) {
    return report.Add(host, "another-first", what, address,
                      PrintableText(own.name()), advice);
  }
  report.Add(host, "one-for-several", what,
             HostsValue(sharing->second, kMaxHostsColumns), advice,
             PrintableText(own.name()));
}

// Launchers take Gloo's and TensorPipe's interface and vLLM's address. One that
// no peer reaches fails if there are peers.
void JudgeLaunchers(const ClusterView& view, const HostView& host,
                    const HostInterface& own, RuleReport& report) {
  for (const char* name :
       {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "VLLM_HOST_IP"}) {
    const EnvironmentVariable* const variable =
        FindVariable(*host.facts, view.job(), name);
    // Rule hccl-environment reports unknown and invalid values.
    if (variable == nullptr || !IsSure(*variable)) continue;
    const bool is_address = absl::EndsWith(name, "_IP");
    const std::string& value = variable->value();
    const std::vector<absl::string_view> names = absl::StrSplit(value, ',');
    bool is_own = false, is_reachable = false;
    for (const HostInterface& each :
         host.facts->interfaces().value().interfaces()) {
      if (is_address ? !absl::c_linear_search(each.addresses(), value)
                     : !absl::c_linear_search(names, each.name())) {
        continue;
      }
      is_own |= each.name() == own.name();
      is_reachable |= !absl::StartsWith(each.name(), "lo");
    }
    if (is_own) continue;
    const bool fails = !is_reachable && view.spec().servers_size() > 1;
    report.Add(
        host,
        FindingOf(fails ? "launcher-unreachable" : "launcher-names-another",
                  *variable),
        VariableWords(view, *variable), InterfaceText(own));
  }
}

// Values in milliseconds as "1.250s".
std::string SecondsText(int64_t ms) {
  return absl::StrFormat("%.3fs", ms / 1e3);
}

}  // namespace

// HCCL_IF_IP, then HCCL_SOCKET_IFNAME, then the first interface that is neither
// docker's nor lo by name (HCCL, hccl_env pages of both). A job may set them
// outside of its job file: a choice without them is a warning, unless it is the
// address of two hosts.
void CheckHostInterface(const ClusterView& view, RuleReport& report) {
  HostsByAddress all;
  for (const HostView& host : view.hosts()) {
    all[AddressTaken(view, host)].emplace_back(host.name);
  }
  for (const HostView& host : view.hosts()) {
    if (!host.address) {
      report.SkipFor("host-has-no-address");
      continue;
    }
    if (!report.Knows(host, Worded("interfaces"), host.facts->interfaces()) ||
        !report.Knows(host, Worded("login-variables"),
                      host.facts->environment())) {
      continue;
    }
    report.Judged(host);
    const std::string address = host.address->ToString();
    const HostInterface* const own = FindInterface(*host.facts, address);
    if (own == nullptr && HasNoIpv4(host)) {
      report.Add(host, "ipv6-only", address);
    } else if (own == nullptr) {
      const auto all = Each<std::string>(
          InHcclOrder(host, true),
          [](const HostInterface* each) { return InterfaceText(*each); });
      report.Add(host, "not-there", address,
                 all.empty() ? Worded("no-interface-has-one") : Listed(all, 8));
    } else if (!own->up()) {
      report.Add(host, "link-down", InterfaceText(*own));
    } else {
      JudgeChoice(view, host, *own, all, report);
      JudgeLaunchers(view, host, *own, report);
    }
  }
}

void CheckHostName(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    if (!host.address) {
      report.SkipFor("host-has-no-address");
      continue;
    }
    const AddressesFact& fact = host.facts->own_name();
    if (!report.Knows(host, Worded("addresses-of-name"), fact)) continue;
    if (report.Knows(host, Worded("names-of-peers"),
                     host.facts->peer_names())) {
      for (const NameOfPeer& peer : host.facts->peer_names().value().names()) {
        if (peer.answered()) continue;
        report.Add(host, "peer-not-answered", PrintableText(peer.address()),
                   Lasting(absl::Milliseconds(peer.elapsed_ms())));
      }
    }
    report.Judged(host);
    const std::string address = host.address->ToString();
    const auto& found = fact.value().addresses();
    if (absl::c_linear_search(found, address)) continue;
    const auto all = Each<std::string>(
        found, [](const std::string& each) { return PrintableText(each); });
    report.Add(host, "resolves",
               all.empty() ? Worded("no-address") : Listed(all, 8), address,
               PrintableText(host.facts->identity().hostname().value()));
  }
}

// The job's own limit is not known, but that of the program that starts it is.
void CheckOpenFiles(const ClusterView& view, RuleReport& report) {
  const auto limit_of = [](uint64_t limit) {
    return limit == UINT64_MAX ? Worded("unlimited") : ToFindingValue(limit);
  };
  const uint64_t dialers = RootDialers(view.spec(), view.job());
  if (dialers == 0) return report.SkipFor("no-devices-planned");
  for (const HostView& host : view.hosts()) {
    const OpenFilesFact& fact = host.facts->open_files();
    if (!report.Knows(host, Worded("open-files-limit"), fact)) continue;
    if (fact.value().limits().empty()) {
      report.Add(host, "none-runs");
      continue;
    }
    report.Judged(host);
    for (const OpenFilesLimit& each : fact.value().limits()) {
      // Jobs of slurmd inherit their soft limit from the submitting host.
      const bool judges_hard = each.program() == "slurmd";
      const uint64_t limit = judges_hard ? each.hard() : each.soft();
      if (limit > dialers) continue;
      report.Add(host, each.hard() > dialers ? "soft" : "hard",
                 PrintableText(each.program()), limit, dialers,
                 limit_of(each.hard()));
    }
  }
}

// A container runtime has to mount these; on a host itself they exist, or
// another rule reports it.
void CheckContainerMounts(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const HostFacts& facts = *host.facts;
    if (!report.Knows(host, Worded("is-container"), facts.in_container()) ||
        !report.Knows(host, Worded("directories-of-docker"),
                      facts.directories())) {
      continue;
    }
    report.Judged(host);
    for (const std::string& path : facts.directories().value().paths()) {
      report.Add(host, "directory", PrintableText(path));
    }
    if (!facts.in_container().value()) continue;
    std::vector<FindingValue> lacking;
    if (!view.spec().roce_unused() &&
        facts.hccn_conf().missing().reason() == Missing::ABSENT) {
      lacking.push_back(ToFindingValue("/etc/hccn.conf"));
    }
    if (facts.hccn_tool().path().missing().reason() == Missing::ABSENT) {
      lacking.push_back(ToFindingValue("hccn_tool"));
    }
    const DeviceIdsFact& ids = facts.device_ids();
    if (ids.missing().reason() == Missing::ABSENT ||
        (ids.has_value() && ids.value().ids().empty())) {
      lacking.push_back(Worded("any-device-node"));
    }
    const ServerSpec& spec =
        host.spec ? *host.spec : ServerSpec::default_instance();
    for (const DeviceSpec& planned : spec.devices()) {
      if (ids.has_value() && !ids.value().ids().empty() &&
          !absl::c_linear_search(ids.value().ids(), planned.id())) {
        lacking.push_back(
            ToFindingValue(absl::StrCat("/dev/davinci", planned.id())));
      }
    }
    if (lacking.empty()) continue;
    const FindingValue mistaken = NpuIdsTakenForDevices(view, host);
    report.Add(host, mistaken.words().empty() ? "lacks" : "lacks-npu-ids",
               Listed(lacking, 8), mistaken);
  }
}

// Compares each host's clock with the median one. Only differences surely
// beyond the bound count, not the uncertainty of the round trip.
void CheckClockSkew(const ClusterView& view, RuleReport& report) {
  const uint32_t given = view.spec().clock_skew_ms();
  const int64_t bound = given == 0 ? kDefaultClockSkewMs : given;
  std::vector<const HostView*> known;
  for (const HostView& host : view.hosts()) {
    if (host.facts->clock().has_value()) known.push_back(&host);
  }
  if (known.empty()) return report.SkipFor("clocks-not-compared");
  const auto lead = [](const HostView& a, const HostView& b) {  // At least.
    return a.facts->clock().value().ahead_at_least_ms() -
           b.facts->clock().value().ahead_at_most_ms();
  };
  // By the middle of each clock's range.
  absl::c_stable_sort(known, [&lead](const HostView* a, const HostView* b) {
    return lead(*a, *b) < lead(*b, *a);
  });
  // Two groups of equal size have no clock in the middle.
  const HostView& low = *known[(known.size() - 1) / 2];
  const HostView& next = *known[known.size() / 2];
  const HostView& high = lead(next, low) > bound ? next : low;
  for (const HostView& host : view.hosts()) {
    if (!report.Knows(host, Worded("clock"), host.facts->clock())) continue;
    report.Judged(host);
    const int64_t ahead = lead(host, low);
    const int64_t behind = lead(high, host);
    if (std::max(ahead, behind) <= bound) continue;
    report.Add(host, ahead > behind ? "ahead" : "behind",
               SecondsText(std::max(ahead, behind)),
               (ahead > behind ? low : high).name, SecondsText(bound));
  }
}

}  // namespace clusterd
