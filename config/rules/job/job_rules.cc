// The documents limit a job: how many servers and devices, which data types,
// and where its ranks meet. A finding here is about the job and not about a
// host, so that no server is drained over a wrong job file.
#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/numeric/bits.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/hccl/job_ports.h"
#include "config/hccl/job_variables.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int kHostsColumns = 200;
// The limit of values, groups of servers and the like in a text.
constexpr size_t kMaxListed = 8;

// "8 devices on server[0-2]" for each number, the first server's first.
FindingValue CountsWords(
    const FirstSeen<uint32_t, std::vector<std::string>>& servers) {
  const auto each = Each<FindingValue>(servers, [](const auto& some) {
    return Worded("on-hosts", Counted(some.first, "device"),
                  HostsValue(some.second, kHostsColumns));
  });
  return Listed(each, kMaxListed);
}

// Groups servers by their number of devices.
FirstSeen<uint32_t, std::vector<std::string>> ByCount(const ClusterSpec& spec) {
  FirstSeen<uint32_t, std::vector<std::string>> servers;
  for (const ServerSpec& server : spec.servers()) {
    servers[static_cast<uint32_t>(server.devices_size())].push_back(
        server.host());
  }
  return servers;
}

// "1 to 8", or "1, 2, 4 or 8". REQUIRES: not empty, ascending.
FindingValue ChoiceWords(const std::vector<uint32_t>& counts) {
  const uint32_t first = counts.front();
  const uint32_t last = counts.back();
  if (counts.size() == 1) return ToFindingValue(last);
  if (counts.size() > 2 && last - first + 1 == counts.size()) {
    return Worded("job-from-to", first, last);
  }
  return Worded("job-one-of",
                absl::StrJoin(counts.begin(), counts.end() - 1, ", "), last);
}

FindingValue ServersOf(const ClusterView& view) {
  return Counted(view.job()->servers_size(), "server");
}

// Every value that servers of a job got, with its hosts, in their order.
template <typename Get>
auto Given(const JobSpec& job, Get get) {
  using Value = std::decay_t<decltype(std::invoke(get, job.servers(0)))>;
  FirstSeen<Value, std::vector<std::string>> values;
  for (const JobServer& server : job.servers()) {
    const Value value = std::invoke(get, server);
    if (value != Value()) values[value].push_back(server.host());
  }
  return values;
}

bool IsLoopback(absl::string_view address) {
  return address == "localhost" || absl::StartsWith(address, "127.");
}

void JudgeMasterAddress(const ClusterView& view, RuleReport& report) {
  const auto given = Given(*view.job(), &JobServer::master_addr);
  if (given.empty()) return;
  const ServerSpec& first = view.spec().servers(0);
  if (given.size() > 1) {
    return report.Add(report.Named("addresses-differ", ByHosts(given),
                                   first.address(), first.host()));
  }
  const std::string& address = given.begin()->first;
  const bool is_first =
      address == first.address() || address == first.host() ||
      absl::StartsWith(address, absl::StrCat(first.host(), ".")) ||
      (IsLoopback(address) && view.spec().servers_size() == 1);
  if (is_first || first.address().empty()) return;
  // A name that the spec does not know may have any address.
  const bool is_name =
      !Ipv4Address::Parse(address).ok() && !IsLoopback(address) &&
      !FirstWith(view.spec().servers(), &ServerSpec::host, address);
  report.Add(report.Named(is_name ? "name-not-known" : "not-first",
                          PrintableText(address), first.address(),
                          first.host()));
}

void JudgeMasterPort(const ClusterView& view, RuleReport& report) {
  const auto given = Given(*view.job(), &JobServer::master_port);
  if (given.size() > 1) {
    report.Add(report.Named("ports-differ", ByHosts(given)));
  }
  const std::string& master = view.spec().servers(0).host();
  const HostView* const host = FirstWith(view.hosts(), &HostView::name, master);
  const bool is_there = host != nullptr;
  const HcclPortNeed need = HcclPortsOn(
      view.spec(), is_there ? *host->facts : HostFacts::default_instance(),
      view.job());
  const PortSet& hccl = need.possible;
  const PortSet services = ServicePortsOf(view.spec());
  const PortSet shared = services.Minus(services.Minus(hccl));
  // HCCL takes a free port of a range that is not pinned.
  if (need.is_pinned && !shared.empty()) {
    report.Add(
        report.Named("service-of-hccl", shared.ToString(), hccl.ToString()));
  }
  // Rule host-identity reports a silent host.
  const bool knows =
      is_there && !given.empty() &&
      report.Knows(*host, Worded("sockets"), host->facts->sockets());
  for (const auto& [port, hosts] : given) {
    if (hccl.Contains(port)) {
      report.Add(report.Named("port-of-hccl", port, hccl.ToString()));
    }
    const auto holder = knows ? HolderOfPort(*host, port) : std::nullopt;
    if (holder) report.Add(report.Named("taken", port, *holder, master));
  }
}

// The mistake in the servers' node ranks; no words: none.
FindingValue WrongNodeRanks(const JobSpec& job) {
  const auto servers = static_cast<uint32_t>(job.servers_size());
  std::set<uint32_t> seen;
  for (const JobServer& server : job.servers()) {
    if (!server.has_node_rank()) continue;
    const uint32_t rank = server.node_rank();
    const bool is_new = seen.insert(rank).second;
    if (rank < servers && is_new) continue;
    return Worded(rank >= servers ? "node-rank" : "node-rank-twice", rank,
                  PrintableText(server.host()));
  }
  if (seen.empty()) return {};
  if (seen.size() < servers) {
    return Worded("no-node-rank", Counted(servers - seen.size(), "server"));
  }
  const JobServer& first = job.servers(0);
  if (first.node_rank() == 0) return {};
  return Worded("first-node-rank", first.node_rank(),
                PrintableText(first.host()));
}

}  // namespace

void CheckJobDeviceCount(const ClusterView& view, RuleReport& report) {
  const std::vector<uint32_t>& legal = view.profile().job_device_counts;
  if (legal.empty()) {
    return report.SkipFor("job-devices-unpublished",
                          Term(view.profile().title));
  }
  auto servers = ByCount(view.spec());
  report.JudgedCluster(CountsWords(servers));
  for (const auto& [count, hosts] : servers) {
    if (absl::c_linear_search(legal, count)) continue;
    report.Add(report.Named("no-such-number", Counted(count, "device"),
                            HostsValue(hosts, kHostsColumns),
                            ChoiceWords(legal), Term(view.profile().title)));
  }
}

void CheckJobDeviceGroup(const ClusterView& view, RuleReport& report) {
  constexpr uint32_t kFour = 4;
  if (!view.profile().job_in_one_four) {
    return report.SkipFor("job-takes-any-devices");
  }
  if (view.job()->servers_size() != 1 || view.spec().servers().empty()) {
    return report.SkipFor("job-takes-servers", ServersOf(view));
  }
  const auto ids =
      Each<uint32_t>(view.spec().servers(0).devices(), &DeviceSpec::id);
  report.JudgedCluster(DevicesValue(ids));
  if (ids.size() != 2 && ids.size() != kFour) return;
  const size_t low = absl::c_count_if(ids, [](auto id) { return id < kFour; });
  if (low == 0 || low == ids.size()) return;
  report.Add(report.Named("across", DevicesValue(ids)));
}

void CheckJobUniform(const ClusterView& view, RuleReport& report) {
  if (view.profile().job_device_counts.empty()) {
    return report.SkipFor("job-uniform-unpublished",
                          Term(view.profile().title));
  }
  if (!view.HasWholeJob()) {
    return report.SkipFor("job-is-elsewhere");
  }
  const auto servers = ByCount(view.spec());
  const FindingValue counts = CountsWords(servers);
  report.JudgedCluster(counts);
  if (servers.size() < 2) return;
  report.Add(
      report.Named(view.profile().job_equal_counts ? "demanded" : "advised",
                   counts, Term(view.profile().title)));
}

void CheckJobSize(const ClusterView& view, RuleReport& report) {
  const auto servers = static_cast<uint32_t>(view.job()->servers_size());
  const uint32_t most = view.profile().max_servers;
  if (most == 0) {
    return report.SkipFor("job-servers-unpublished",
                          Term(view.profile().title));
  }
  report.JudgedCluster(Worded("job-at-most", ServersOf(view), most));
  if (servers > most) {
    report.Add(report.Named("too-many", ServersOf(view), most,
                            Term(view.profile().title)));
  }
  if ((servers & (servers - 1)) == 0) return;
  const uint32_t below = absl::bit_floor(servers);
  report.Add(report.Named("no-power", ServersOf(view), below, below * 2));
}

void CheckRendezvous(const ClusterView& view, RuleReport& report) {
  const bool is_given =
      absl::c_any_of(view.job()->servers(), [](const JobServer& server) {
        return !server.master_addr().empty() || server.master_port() != 0;
      });
  if (!is_given && view.spec().ports().empty()) {
    return report.SkipFor("job-no-rendezvous");
  }
  if (!view.HasWholeJob()) {
    return report.SkipFor("job-is-elsewhere");
  }
  report.JudgedCluster(Worded("job-on-first", view.spec().servers(0).host()));
  JudgeMasterAddress(view, report);
  JudgeMasterPort(view, report);
}

void CheckRanks(const ClusterView& view, RuleReport& report) {
  const JobSpec& job = *view.job();
  const auto nodes = Given(job, &JobServer::nnodes);
  const auto sizes = Given(job, &JobServer::world_size);
  const bool has_ranks = absl::c_any_of(
      job.servers(), [](const auto& each) { return each.has_node_rank(); });
  // A host alone does not know the devices of the other servers.
  const bool says_none = sizes.empty() && nodes.empty();
  const bool judges_sizes = !says_none && view.HasWholeJob();
  if (!has_ranks && !judges_sizes) {
    return report.SkipFor(says_none ? "job-no-ranks" : "job-is-elsewhere");
  }
  report.JudgedCluster(ServersOf(view));
  const FindingValue wrong = WrongNodeRanks(job);
  if (!wrong.words().empty()) {
    report.Add(report.Named("node-ranks", wrong, job.servers_size() - 1));
  }
  if (!judges_sizes) return;
  int count = 0;
  // A range is not judged, and environment-uniform compares the servers.
  if (!nodes.empty() && absl::SimpleAtoi(nodes.begin()->first, &count) &&
      count != job.servers_size()) {
    report.Add(report.Named("nodes", ByHosts(nodes), job.servers_size()));
  }
  const uint64_t dialers = RootDialers(view.spec(), &job);
  const uint64_t ranks =
      dialers - std::min<uint64_t>(dialers, view.spec().servers_size());
  const bool is_right = sizes.size() == 1 && sizes.begin()->first == ranks;
  if (is_right || sizes.empty()) return;
  report.Add(report.Named("world-size", ByHosts(sizes), ranks,
                          CountsWords(ByCount(view.spec())),
                          std::max(1u, job.processes_per_device())));
}

void CheckJobDtype(const ClusterView& view, RuleReport& report) {
  const std::vector<absl::string_view>& legal = view.profile().job_dtypes;
  if (view.job()->dtypes().empty()) {
    return report.SkipFor("job-no-dtypes");
  }
  if (legal.empty()) {
    return report.SkipFor("job-dtypes-unpublished", Term(view.profile().title));
  }
  std::vector<std::string> lacking;
  for (const std::string& type : view.job()->dtypes()) {
    if (!absl::c_linear_search(legal, HcclDataType(type))) {
      lacking.push_back(PrintableText(type));
    }
  }
  report.JudgedCluster(Counted(view.job()->dtypes_size(), "data type"));
  if (lacking.empty()) return;
  report.Add(report.Named("lacks", Listed(lacking, kMaxListed),
                          Term(view.profile().title),
                          absl::StrJoin(legal, ", ")));
}

}  // namespace clusterd
