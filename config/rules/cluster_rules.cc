// Rules about the whole cluster: the number of servers, the hosts that
// answered, and the switches of the devices of each id.
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/numeric/bits.h"
#include "absl/strings/match.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// The controller's sentence names both machines with two ids each.
constexpr size_t kMaxConflictBytes = 600;

// For a host without facts, or without those of the requested namespace: there
// the host itself answers.
NamedFinding SilentText(const HostFacts& facts, const RuleReport& report) {
  const Missing& missing = facts.missing();
  const FindingValue why = MissingWords(&missing);
  if (!facts.network_namespace().empty()) {
    const bool is_absent = missing.reason() == Missing::ABSENT;
    return report.Named(is_absent ? "no-namespace" : "namespace-not-known",
                        PrintableText(facts.network_namespace()), why,
                        LearnWords(&missing));
  }
  return report.Named(
      missing.reason() == Missing::TIMED_OUT ? "slow" : "silent", why);
}

// The servers of a spec are an inventory, from which jobs take some.
bool IsOneJob(const ClusterView& view, RuleReport& report) {
  if (view.job() != nullptr) {
    report.SkipFor("job-size-judges");
    return false;
  }
  if (!view.spec().one_job()) report.SkipFor("not-one-job");
  return view.spec().one_job();
}

std::string SwitchText(const LldpNeighbour& neighbour) {
  return PrintableText(neighbour.system_name().empty()
                           ? SwitchKey(neighbour)
                           : neighbour.system_name());
}

bool IsCalled(const LldpNeighbour& neighbour, absl::string_view name) {
  return absl::EqualsIgnoreCase(neighbour.system_name(), name) ||
         absl::EqualsIgnoreCase(neighbour.chassis_id(), name) ||
         absl::EqualsIgnoreCase(neighbour.management_address(), name);
}

// The device whose port is planned to reach what `device` reaches, and which
// reaches what `device` should; nullptr: the cables are not exchanged.
const DeviceView* ExchangedWith(const DeviceView& device) {
  for (const DeviceView& other : device.host->devices) {
    if (other.spec == nullptr || !other.neighbour_heard.value_or(false)) {
      continue;
    }
    if (!other.spec->switch_name().empty() &&
        IsCalled(device.facts->lldp().value(), other.spec->switch_name()) &&
        IsCalled(other.facts->lldp().value(), device.spec->switch_name())) {
      return &other;
    }
  }
  return nullptr;
}

// REQUIRES: a neighbour is heard and a switch is planned.
void JudgePlannedSwitch(const DeviceView& device, RuleReport& report) {
  const LldpNeighbour& neighbour = device.facts->lldp().value();
  const std::string& planned = device.spec->switch_name();
  if (neighbour.peer() != LldpNeighbour::NPU &&
      neighbour.system_name().empty() && !IsCalled(neighbour, planned)) {
    // The plan may use its name.
    return report.Add(device, "no-name", SwitchText(neighbour), planned);
  }
  report.Judged(device);
  if (IsCalled(neighbour, planned)) return;
  const DeviceView* const other = ExchangedWith(device);
  if (other == nullptr) {
    report.Add(device, "unlike-plan", SwitchText(neighbour), planned);
  } else {
    report.Add(device, "exchanged-against-plan", SwitchText(neighbour), planned,
               other->id);
  }
}

// One port of a server: device id, and number of the switch that it reaches.
struct Port {
  bool operator<(const Port& other) const {
    return std::tie(device, to) < std::tie(other.device, other.to);
  }

  uint32_t device;
  int to;
};
// The ports of one server, in the order of ids.
using Ports = std::vector<Port>;

// Servers that are cabled alike.
struct Likes {
  const Ports* ports;
  const std::vector<const HostView*>* hosts;
};

// Judges cabling without a plan. In a large cluster a rail has many leaf
// switches, and no rule says which servers share one; a port of two cables may
// report either switch. So it judges only a server that shares all switches
// with others, or all but one, and there the port whose switch no other server
// reaches with that device. The more common way to cable is right.
class RailJudge {
 public:
  explicit RailJudge(RuleReport& report) : report_(report) {}

  // REQUIRES: all devices of a server come in a row.
  void Add(const DeviceView& device) {
    if (host_ != device.host) Flush();
    host_ = device.host;
    const LldpNeighbour& neighbour = device.facts->lldp().value();
    const auto [found, is_new] =
        numbers_.emplace(SwitchKey(neighbour), static_cast<int>(names_.size()));
    if (is_new) names_.push_back(SwitchText(neighbour));
    ports_.push_back({device.id, found->second});
  }

  void Judge() {
    Flush();
    for (const auto& [ports, hosts] : patterns_) {
      for (const Port& port : ports) reached_by_[port] += hosts.size();
    }
    JudgeExchanges();
    JudgeOddOnes();
  }

 private:
  void Flush() {
    if (host_ != nullptr) patterns_[ports_].push_back(host_);
    ports_.clear();
  }

  // A switch that serves most ports of a server does not belong to a rail.
  static bool IsOfRail(const Ports& ports, int to) {
    constexpr size_t kLeastShare = 4;
    const size_t times =
        absl::c_count_if(ports, [to](const Port& p) { return p.to == to; });
    return times == 1 || times * kLeastShare <= ports.size();
  }

  // True if no other server reaches it with that device.
  bool IsAlone(const Likes& likes, const Port& port) const {
    return reached_by_.at(port) == likes.hosts->size();
  }

  static const Likes* MostHosts(const std::vector<Likes>& group) {
    return &*absl::c_max_element(group, [](const Likes& a, const Likes& b) {
      return a.hosts->size() < b.hosts->size();
    });
  }

  static bool AreTied(const Likes& a, const Likes& b) {
    return a.hosts->size() == b.hosts->size();
  }

  // Servers with the same switches on the same devices, in another order.
  void JudgeExchanges() {
    FirstSeen<std::pair<std::vector<uint32_t>, std::vector<int>>,
              std::vector<Likes>>
        groups;
    for (const auto& [ports, hosts] : patterns_) {
      auto switches = Each<int>(ports, &Port::to);
      absl::c_sort(switches);
      groups[{Each<uint32_t>(ports, &Port::device), switches}].push_back(
          {&ports, &hosts});
    }
    for (const auto& [key, group] : groups) {
      const Likes& right = *MostHosts(group);
      for (const Likes& likes : group) {
        if (&likes == &right) continue;
        JudgeExchange(likes, right);
        if (AreTied(likes, right)) JudgeExchange(right, likes);
      }
    }
  }

  void JudgeExchange(const Likes& likes, const Likes& right) {
    std::vector<size_t> others;
    for (size_t k = 0; k < likes.ports->size(); ++k) {
      if ((*likes.ports)[k].to != (*right.ports)[k].to) others.push_back(k);
    }
    // More differences are another plan, not a slip. With one server against
    // one, two cables were exchanged on either: both are named.
    const bool is_pair = others.size() == 2;
    if (!is_pair && others.size() * 2 > likes.ports->size()) return;
    if (AreTied(likes, right) && (!is_pair || likes.hosts->size() > 1)) return;
    for (const size_t k : others) {
      const Port& port = (*likes.ports)[k];
      if (!IsOfRail(*likes.ports, port.to) || !IsAlone(likes, port)) return;
    }
    for (const size_t k : others) {
      const Port& port = (*likes.ports)[k];
      const int wanted = (*right.ports)[k].to;
      const auto with = absl::c_find_if(others, [&](size_t other) {
        return (*likes.ports)[other].to == wanted &&
               (*right.ports)[other].to == port.to;
      });
      AddOther(likes, port, wanted, right.hosts->size(),
               with == others.end() ? nullptr : &(*likes.ports)[*with]);
    }
  }

  // Servers that share all switches but one, of which two or more share that.
  void JudgeOddOnes() {
    constexpr int kAnySwitch = -1;
    FirstSeen<Ports, std::vector<Likes>> groups;
    for (const auto& [ports, hosts] : patterns_) {
      Ports key = ports;
      for (Port& port : key) {
        const int to = port.to;
        port.to = kAnySwitch;
        groups[key].push_back({&ports, &hosts});
        port.to = to;
      }
    }
    for (const auto& [key, group] : groups) {
      const Likes& right = *MostHosts(group);
      if (group.size() < 2 || right.hosts->size() < 2) continue;
      const auto k = FirstWith(key, &Port::to, kAnySwitch) - key.data();
      const int wanted = (*right.ports)[k].to;
      if (!IsOfRail(*right.ports, wanted)) continue;
      for (const Likes& likes : group) {
        const Port& port = (*likes.ports)[k];
        if (likes.hosts->size() > 1 || !IsAlone(likes, port)) continue;
        AddOther(likes, port, wanted, right.hosts->size(), nullptr);
      }
    }
  }

  // `exchanged`: the port that reaches what this one should.
  void AddOther(const Likes& likes, const Port& port, int wanted, size_t others,
                const Port* exchanged) {
    const FindingValue as_on = Counted(others, "other host");
    for (const HostView* host : *likes.hosts) {
      const DeviceView& device = *host->Find(port.device);
      if (exchanged == nullptr) {
        report_.Add(device, "odd", names_[port.to], names_[wanted], port.device,
                    as_on);
      } else {
        const bool is_tie = likes.hosts->size() == others;
        report_.Add(device, is_tie ? "exchanged-somewhere" : "exchanged",
                    names_[port.to], names_[wanted], port.device, as_on,
                    exchanged->device);
      }
    }
  }

  RuleReport& report_;
  const HostView* host_ = nullptr;  // The last one, whose ports_ these are.
  Ports ports_;
  absl::flat_hash_map<std::string, int> numbers_;
  std::vector<std::string> names_;  // By number.
  FirstSeen<Ports, std::vector<const HostView*>> patterns_;
  std::map<Port, size_t> reached_by_;
};

}  // namespace

// Both judge the spec's servers, whichever hosts are asked, for a single job.
void CheckClusterSize(const ClusterView& view, RuleReport& report) {
  if (!IsOneJob(view, report)) return;
  const uint32_t servers = view.spec().servers_size();
  const uint32_t most = view.profile().max_servers;
  if (most == 0) {
    return report.SkipFor("no-bound-known", Term(view.profile().title));
  }
  if (servers == 0) return report.SkipFor("no-servers");
  const FindingValue counted = Counted(servers, "server");
  report.JudgedCluster(Worded("servers-at-most", counted, most));
  if (servers <= most) return;
  report.Add(report.Named("too-many", counted, most, Term(view.profile().title),
                          (servers + most - 1) / most));
}

void CheckClusterSizePower(const ClusterView& view, RuleReport& report) {
  if (!IsOneJob(view, report)) return;
  const uint32_t servers = view.spec().servers_size();
  if (servers == 0) return report.SkipFor("no-servers");
  report.JudgedCluster(Counted(servers, "server"));
  if ((servers & (servers - 1)) == 0) return;
  const uint32_t below = absl::bit_floor(servers);
  report.Add(
      report.Named("no-power", Counted(servers, "server"), below, below * 2));
}

// The only unknown of a silent host; and the failure of a name of two machines.
void CheckHostIdentity(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.silent()) {
    report.Add(host, SilentText(*host.facts, report));
  }
  for (const HostView& host : view.hosts()) {
    report.Judged(host);
    const std::string& notice = host.facts->certificate_notice();
    if (!notice.empty()) {
      report.Add(host, "certificate-ends",
                 PrintableText(notice, kMaxConflictBytes));
    }
    if (host.facts->conflict().empty()) continue;
    report.Add(host, "two-machines",
               host.facts->has_conflict_words()
                   ? PrintableWords(host.facts->conflict_words())
                   : ToFindingValue(PrintableText(host.facts->conflict(),
                                                  kMaxConflictBytes)));
  }
}

// | neighbour heard             | switch planned  | not planned             |
// |-----------------------------|-----------------|-------------------------|
// | a switch                    | fail if another | compared with like hosts|
// | an NPU, most a switch       | fail            | warn                    |
// | an NPU, as most             | fail            | not compared            |
// | a switch, most an NPU       | as above        | warn                    |
// | none                        | skipped         | skipped                 |
// | not known                   | unknown         | unknown                 |
void CheckLldpRail(const ClusterView& view, RuleReport& report) {
  RailJudge judge(report);
  std::vector<const DeviceView*> cabled_to_npus, cabled_to_switches;
  size_t nameless = 0;
  const bool can_compare = view.hosts().size() > 1;
  report.ForEachKnown(
      "LLDP neighbour", &DeviceView::neighbour_heard,
      [&](const DeviceView& device) {
        const LldpNeighbour& neighbour = device.facts->lldp().value();
        if (*device.neighbour_heard && neighbour.peer() != LldpNeighbour::NPU) {
          cabled_to_switches.push_back(&device);
        }
        if (!*device.neighbour_heard) {
          // Rule lldp skips a device whose link is DOWN.
          report.AddSkipped(device, "no neighbour is heard",
                            device.link == LinkFact::DOWN ? "link" : "lldp");
        } else if (device.spec != nullptr &&
                   !device.spec->switch_name().empty()) {
          JudgePlannedSwitch(device, report);
        } else if (neighbour.peer() == LldpNeighbour::NPU) {
          cabled_to_npus.push_back(&device);
        } else if (SwitchKey(neighbour).empty()) {
          ++nameless;
        } else if (can_compare) {
          report.Judged(device);
          judge.Add(device);
        }
      });
  judge.Judge();
  const auto note = [&report](absl::string_view words,
                              const FindingValue& whom) {
    report.Note(words, whom);
    report.SkipFor(words, whom);
  };
  const bool most_on_npus = cabled_to_switches.size() < cabled_to_npus.size();
  for (const DeviceView* device : cabled_to_switches) {
    const bool is_planned =
        device->spec != nullptr && !device->spec->switch_name().empty();
    if (!most_on_npus || is_planned) continue;
    report.Add(*device, "to-switch",
               Counted(cabled_to_npus.size(), "other port"));
  }
  if (!cabled_to_npus.empty() &&
      cabled_to_switches.size() > cabled_to_npus.size()) {
    // Among so many leaves it is a slip, not a way to cable servers.
    for (const DeviceView* device : cabled_to_npus) {
      report.Judged(*device);
      report.Add(*device, "to-npu",
                 Counted(cabled_to_switches.size(), "other port"));
    }
  } else if (!cabled_to_npus.empty()) {
    note("cabled-to-npus", Counted(cabled_to_npus.size(), "device"));
  } else if (nameless > 0) {
    note("nameless-neighbours", Counted(nameless, "neighbour"));
  } else if (!can_compare && !view.hosts().empty()) {
    report.SkipFor("one-host-and-no-switch");
  }
}

}  // namespace clusterd
