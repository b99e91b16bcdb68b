#include "config/rules/job/job_network.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/hccl/job_variables.h"
#include "config/launch/rank_table.h"
#include "config/rules/rule_report.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using Need = JobNetwork::Need;

constexpr size_t kMaxListed = 8;
constexpr int kHostsColumns = 60;
constexpr char kSuperPod[] = "network-super-pod";

// Servers by the super pod to which HCCL assigns them.
using Pods = std::map<std::string, std::vector<std::string>>;

size_t ServersOf(const ClusterView& view) {
  const JobSpec* const job = view.job();
  if (job == nullptr) return view.spec().servers_size();
  return size_t{job->other_servers()} + job->servers_size();
}

// "value of HCCL_X (/etc/profile.d/a.sh:3)", which only a shell knows.
FindingValue ValueOf(const EnvironmentVariable& variable) {
  return Worded("network-value-of", PrintableText(variable.name()),
                PlaceWords(variable));
}

// True if each login of a host gets this value, as HCCL reads it, so that HCCL
// takes RoCE. Otherwise adds the hosts that may get it.
bool Demands(const ClusterView& view, absl::string_view name,
             absl::string_view value, JobNetwork* network) {
  const JobVariable& row = *FindJobVariable(name);
  for (const HostView& host : view.hosts()) {
    const auto lines = VariableLines(*host.facts, view.job(), name);
    for (const EnvironmentVariable* line : lines) {
      const bool is_it =
          ComparableValue(row, line->value()) == ComparableValue(row, value);
      if (is_it && IsSure(*line) && lines.size() == 1) {
        *network = {Need::kRoce,
                    Worded("on-hosts", absl::StrCat(name, "=", value),
                           PrintableText(host.name))};
        return true;
      }
      if (!is_it && !line->computed()) continue;
      network->unknown.emplace_back(&host, ValueOf(*line));
    }
  }
  return false;
}

// The ids that the job takes of its only server.
std::vector<uint32_t> OnlyDevices(const ClusterView& view) {
  auto ids = Each<uint32_t>(view.spec().servers(0).devices(), &DeviceSpec::id);
  if (!ids.empty()) return ids;
  ids = view.profile().device_ids;
  const bool is_said = view.job() != nullptr && !view.job()->servers().empty();
  const uint32_t count = is_said ? view.job()->servers(0).device_count() : 0;
  if (count > 0 && count < ids.size()) ids.resize(count);
  return ids;
}

JobNetwork OfOneServer(const ClusterView& view) {
  const uint32_t ring = view.profile().hccs_ring;
  const std::vector<uint32_t> ids = OnlyDevices(view);
  const size_t low = absl::c_count_if(ids, [&](auto id) { return id < ring; });
  if (ring == 0 || low == 0 || low == ids.size()) {
    return {Need::kNoRoce, Counted(1, "server")};
  }
  return {Need::kRoce, Worded("network-both-rings", ring, DevicesValue(ids))};
}

FindingValue PodsWords(const Pods& pods, absl::string_view what) {
  const FindingValue count = Counted(pods.size(), what);
  if (pods.empty()) return count;
  const auto each = Each<FindingValue>(pods, [](const auto& pod) {
    return Worded("value-at", PrintableText(pod.first),
                  HostsValue(pod.second, kHostsColumns));
  });
  return Worded("network-pods", count, Listed(each, kMaxListed));
}

// The rank table that HCCL accepts overrides chips and variables.
std::optional<JobNetwork> OfRankTable(const ClusterView& view) {
  if (view.job() == nullptr || view.job()->rank_table().empty()) return {};
  const auto table = ParseRankTable(view.job()->rank_table());
  if (!table.ok()) return {};
  if (table->super_pods.empty()) {
    return JobNetwork{Need::kRoce,
                      Worded("network-table-without-pods",
                             Counted(table->servers.size(), "server"))};
  }
  Pods pods;
  for (const RankTableSuperPod& pod : table->super_pods) {
    pods[pod.super_pod_id] = pod.server_ids;
  }
  return JobNetwork{pods.size() == 1 ? Need::kNoRoce : Need::kRoce,
                    PodsWords(pods, "super pod of the rank table")};
}

// The super pod that all chips of the job on this host report.
std::optional<uint32_t> RealPod(const HostView& host) {
  std::optional<uint32_t> pod;
  for (const DeviceView& device : host.devices) {
    if (!IsKnown(device.facts->super_pod())) return {};
    if (!pod) pod = device.facts->super_pod().value().super_pod_id();
  }
  return pod;
}

bool HasNoPod(const HostView& host) {
  return absl::c_any_of(host.devices, [](const DeviceView& device) {
    const Missing::Reason why = device.facts->super_pod().missing().reason();
    return why == Missing::NOT_SUPPORTED || why == Missing::ABSENT;
  });
}

// The super pods from the launch, by the spec's names of servers.
absl::flat_hash_map<absl::string_view, absl::string_view> GivenPods(
    const ClusterView& view) {
  absl::flat_hash_map<absl::string_view, absl::string_view> given;
  if (!view.HasWholeJob()) return given;
  for (int i = 0; i < view.spec().servers_size(); ++i) {
    const std::string& pod = view.job()->servers(i).logic_super_pod();
    if (!pod.empty()) given[view.spec().servers(i).host()] = pod;
  }
  return given;
}

// The super pods of hosts, from every login, otherwise from the chips
// (hccl_env, HCCL_LOGIC_SUPERPOD_ID).
JobNetwork OfSuperPods(const ClusterView& view) {
  if (std::optional<JobNetwork> said = OfRankTable(view)) return *said;
  JobNetwork network;
  Pods pods;
  std::map<std::string, std::set<uint32_t>> real;
  const auto given = GivenPods(view);
  for (const HostView& host : view.hosts()) {
    const auto said = given.find(host.name);
    const EnvironmentVariable* const set =
        FindVariable(*host.facts, view.job(), "HCCL_LOGIC_SUPERPOD_ID");
    const std::optional<uint32_t> own = RealPod(host);
    std::string pod;
    if (said != given.end()) {
      pod = std::string(said->second);
    } else if (set != nullptr ? IsSure(*set) : own.has_value()) {
      pod = set != nullptr ? set->value() : absl::StrCat(*own);
    } else {
      network.unknown.emplace_back(
          &host, set != nullptr ? ValueOf(*set) : Worded(kSuperPod));
      continue;
    }
    pods[pod].emplace_back(host.name);
    if (own) real[pod].insert(*own);
  }
  network.why = PodsWords(pods, "logical super pod");
  for (const auto& [pod, ids] : real) {
    if (ids.size() < 2) continue;
    network.spread.emplace_back(PrintableText(pod),
                                HostsValue(pods[pod], kHostsColumns));
  }
  const bool all_known =
      network.unknown.empty() && view.hosts().size() == ServersOf(view);
  network.need = pods.size() > 1 ? Need::kRoce
                 : all_known     ? Need::kNoRoce
                                 : Need::kNotKnown;
  return network;
}

// Servers with a failure of a rule about RoCE ports.
std::set<std::string> HostsWithoutRoce(const Report& report) {
  std::set<std::string> hosts;
  for (const RuleResult& result : report.rules()) {
    const Rule* const rule = FindRule(result.rule());
    if (rule == nullptr || !rule->needs_roce) continue;
    for (const Finding& finding : result.findings()) {
      if (finding.state() != FAIL) continue;
      for (const Subject& subject : finding.subjects()) {
        if (!subject.host().empty()) hosts.insert(subject.host());
      }
    }
  }
  return hosts;
}

// The number of RoCE ports that are DOWN or have no address.
size_t UnusablePorts(const ClusterView& view) {
  size_t unusable = 0;
  for (const DeviceView& device : view.devices()) {
    const bool is_down = device.link == LinkFact::DOWN;
    const bool is_unset = device.addresses.has_value() && !device.HasAddress();
    if (is_down || is_unset) ++unusable;
  }
  return unusable;
}

// True if the vendor has published which network jobs of the product need.
bool IsPublished(const ClusterView& view) {
  return view.product_known() &&
         view.profile().generation != NpuToolFacts::ASCEND_950;
}

// HCCL may not work in AMP mode, as one page of the vendor says.
bool IsAmp(const ClusterView& view) { return view.profile().mode == "amp"; }

void JudgeNetwork(const ClusterView& view, const JobNetwork& network,
                  RuleReport& report) {
  const bool unused = view.spec().roce_unused();
  const size_t unusable = UnusablePorts(view);
  for (const auto& [pod, hosts] : network.spread) {
    report.Add(report.Named("spread", pod, hosts));
  }
  if (network.need == Need::kRoce && unused) {
    report.Add(report.Named("unused", network.why));
  } else if (network.need == Need::kRoce && unusable > 0 &&
             (view.profile().in_super_pod || ServersOf(view) == 1)) {
    report.Add(
        report.Named("unusable", network.why,
                     Worded("some-of", unusable,
                            Counted(view.devices().size(), "RoCE port"))));
  }
  if (network.need != Need::kNotKnown || (!unused && unusable == 0)) return;
  for (const auto& [host, what] : network.unknown) {
    // No tool of the host has a query for it.
    if (what.words() == kSuperPod && HasNoPod(*host)) continue;
    report.Add(*host, "pod-not-known", what);
  }
}

}  // namespace

JobNetwork NetworkOfJob(const ClusterView& view) {
  const size_t servers = ServersOf(view);
  if (!IsPublished(view) || servers == 0) return {};
  const bool is_one = servers == 1 && !view.spec().servers().empty();
  // One device has no peer, whatever a variable demands.
  if (is_one && OnlyDevices(view).size() == 1)
    return {Need::kNoRoce, Counted(1, "device")};
  JobNetwork demanded;
  if (Demands(view, "HCCL_INTRA_ROCE_ENABLE", "1", &demanded)) return demanded;
  if (!is_one &&
      (!view.profile().in_super_pod ||
       Demands(view, "HCCL_INTER_HCCS_DISABLE", "TRUE", &demanded))) {
    if (demanded.why.words().empty()) demanded.why = Counted(servers, "server");
    return demanded;
  }
  JobNetwork network = is_one ? OfOneServer(view) : OfSuperPods(view);
  if (network.need == Need::kRoce) return network;
  absl::c_move(demanded.unknown, std::back_inserter(network.unknown));
  if (network.unknown.empty()) return network;
  network.need = Need::kNotKnown;
  // Keyed by the unknown value.
  FirstSeen<std::string, std::pair<FindingValue, std::vector<std::string>>> all;
  for (const auto& [host, what] : network.unknown) {
    auto& [same, hosts] = all[what.SerializeAsString()];
    same = what;
    hosts.emplace_back(host->name);
  }
  const auto each = Each<FindingValue>(all, [](const auto& some) {
    return Worded("on-hosts", some.second.first,
                  HostsValue(some.second.second, kHostsColumns));
  });
  network.why =
      Worded("network-known-in-part", network.why, Listed(each, kMaxListed));
  return network;
}

void WeighByNetwork(const JobNetwork& network, RuleResult* result) {
  if (network.need == Need::kRoce) return;
  const bool unused = network.need == Need::kNoRoce;
  ChangeEach(result, [&](Finding* finding) {
    const bool fails = finding->state() == FAIL;
    if (!fails && !(finding->state() == UNKNOWN && unused)) return;
    finding->set_state(unused ? WARN : UNKNOWN);
    *finding->mutable_weighed() = Worded(
        unused ? "roce-unused-by-job" : "roce-of-job-not-known", network.why);
  });
}

std::vector<FindingValue> JobsThatCanRun(const ClusterView& view,
                                         const Report& report) {
  std::vector<FindingValue> lines;
  if (!IsPublished(view)) return lines;
  if (IsAmp(view)) lines.push_back(Worded("jobs-amp"));
  const std::set<std::string> without = HostsWithoutRoce(report);
  const bool unused = view.spec().roce_unused();
  if (without.empty() && !unused) return lines;
  std::vector<std::string> with;
  for (const HostView& host : view.hosts()) {
    if (unused || without.count(std::string(host.name)) > 0) continue;
    with.emplace_back(host.name);
  }
  const bool has_rings = view.profile().hccs_ring != 0;
  const FindingValue place = Worded(view.profile().in_super_pod ? "jobs-in-pod"
                                    : has_rings                 ? "jobs-in-ring"
                                                : "jobs-in-server");
  // One server has both rings.
  const bool too_few = with.size() < (has_rings ? 1 : 2);
  lines.push_back(unused    ? Worded("jobs-roce-unused", place)
                  : too_few ? Worded("jobs-none-across", place)
                            : Worded("jobs-across", place,
                                     HostsValue(with, kHostsColumns)));
  return lines;
}

// | job                          | RoCE unused        | RoCE used             |
// |------------------------------|--------------------|-----------------------|
// | needs none                   | pass               | pass                  |
// | needs it                     | fail               | fail where ports of a |
// |                              |                    | super pod, or of both |
// |                              |                    | rings, cannot be used |
// | a super pod is not known     | unknown            | unknown where ports   |
// |                              |                    | cannot be used        |
// | none, several super pods     | warn; one job: fail | skipped              |
void CheckJobSuperPod(const ClusterView& view, RuleReport& report) {
  if (view.job() != nullptr && !view.HasWholeJob()) {
    return report.SkipFor("job-is-elsewhere");
  }
  const JobNetwork network = NetworkOfJob(view);
  if (network.why.words().empty()) {
    return report.SkipFor("job-network-unpublished",
                          Term(view.profile().title));
  }
  if (view.job() == nullptr) {
    report.SkipFor("rule-no-job");
    if (network.need != Need::kRoce || !view.spec().roce_unused()) return;
    if (view.spec().one_job()) {
      report.Add(report.Named("unused", network.why));
    } else if (view.profile().in_super_pod) {
      report.Add(report.Named("apart", network.why));
    }
    return;
  }
  report.JudgedCluster(Worded(network.need == Need::kRoce ? "job-over-roce"
                              : network.need == Need::kNoRoce
                                  ? "job-over-hccs"
                                  : "job-over-either",
                              network.why));
  JudgeNetwork(view, network, report);
  size_t devices = 0;
  for (const ServerSpec& server : view.spec().servers()) {
    devices += server.devices_size();
  }
  if (IsAmp(view) && devices > 1) report.Add(report.Named("amp"));
}

}  // namespace clusterd
