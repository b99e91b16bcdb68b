// What the documents allow a job: how many servers and devices, which data
// types, and where its ranks meet. A finding here is about the job and no host:
// nobody should drain a server over what somebody asked for.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/hccl/data_type.h"
#include "config/hccl/job_ports.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int kHostsColumns = 200;
// Values, groups of servers and the like that a text lists.
constexpr size_t kMaxListed = 8;

// "8 devices on server[0-2]" for each number, the first server's first.
std::vector<std::string> CountTexts(
    const FirstMet<uint32_t, std::vector<std::string>>& servers) {
  return Each<std::string>(servers, [](const auto& each) {
    return absl::StrCat(Count(each.first, "device"), " on ",
                        HostsText(each.second, kHostsColumns));
  });
}

// By how many devices they bring.
FirstMet<uint32_t, std::vector<std::string>> ByCount(const ClusterSpec& spec) {
  FirstMet<uint32_t, std::vector<std::string>> servers;
  for (const ServerSpec& server : spec.servers()) {
    servers[static_cast<uint32_t>(server.devices_size())].push_back(
        server.host());
  }
  return servers;
}

// "1 to 8", or "1, 2, 4 or 8". REQUIRES: not empty, ascending.
std::string ChoiceText(const std::vector<uint32_t>& counts) {
  const uint32_t first = counts.front();
  const uint32_t last = counts.back();
  if (counts.size() > 2 && last - first + 1 == counts.size()) {
    return absl::StrCat(first, " to ", last);
  }
  const std::vector<uint32_t> all_but_last(counts.begin(), counts.end() - 1);
  return absl::StrCat(absl::StrJoin(all_but_last, ", "),
                      all_but_last.empty() ? "" : " or ", last);
}

// The document of another product says nothing of this one.
void SkipUnpublished(const ClusterView& view, absl::string_view what,
                     RuleReport& report) {
  report.ExplainSkip(what, " of ", view.profile().title, " is not published");
}

std::string ServersText(const ClusterView& view) {
  return Count(static_cast<size_t>(view.job()->servers_size()), "server");
}

// What the servers of a job were given, those that were given something: every
// value with its hosts, the first server's first.
template <typename Get>
auto Given(const JobSpec& job, Get get) {
  using Value = std::decay_t<decltype(std::invoke(get, job.servers(0)))>;
  FirstMet<Value, std::vector<std::string>> values;
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
    return report.Add(report.Named("addresses-differ", ValuesText(given),
                                   first.address(), first.host()));
  }
  const std::string& address = given.begin()->first;
  const bool is_first =
      address == first.address() || address == first.host() ||
      absl::StartsWith(address, absl::StrCat(first.host(), ".")) ||
      (IsLoopback(address) && view.spec().servers_size() == 1);
  if (is_first || first.address().empty()) return;
  // A name that the spec does not know may lead anywhere.
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
    report.Add(report.Named("ports-differ", ValuesText(given)));
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
  // Of a silent one host-identity tells.
  const bool knows = is_there && !given.empty() &&
                     report.Knows(*host, "sockets", host->facts->sockets());
  for (const auto& [port, hosts] : given) {
    if (hccl.Contains(port)) {
      report.Add(report.Named("port-of-hccl", port, hccl.ToString()));
    }
    const std::string holder = knows ? HolderOfPort(*host, port) : "";
    if (!holder.empty())
      report.Add(report.Named("taken", port, holder, master));
  }
}

// What the servers' node ranks do wrong; empty: nothing.
std::string WrongNodeRanks(const JobSpec& job) {
  const auto servers = static_cast<uint32_t>(job.servers_size());
  std::set<uint32_t> seen;
  for (const JobServer& server : job.servers()) {
    if (!server.has_node_rank()) continue;
    const uint32_t rank = server.node_rank();
    const std::string what =
        absl::StrCat("node rank ", rank, " on ", PrintableText(server.host()));
    if (rank >= servers) return what;
    if (!seen.insert(rank).second) return absl::StrCat(what, " and another");
  }
  if (seen.empty()) return "";
  if (seen.size() < servers) {
    return absl::StrCat("no node rank on ",
                        Count(servers - seen.size(), "server"));
  }
  if (job.servers(0).node_rank() == 0) return "";
  return absl::StrCat("node rank ", job.servers(0).node_rank(), " on ",
                      PrintableText(job.servers(0).host()), ", the first");
}

}  // namespace

void CheckJobDeviceCount(const ClusterView& view, RuleReport& report) {
  const std::vector<uint32_t>& legal = view.profile().job_device_counts;
  if (legal.empty()) {
    return SkipUnpublished(view, "the number of devices for a job", report);
  }
  auto servers = ByCount(view.spec());
  report.JudgedCluster(FirstOf(CountTexts(servers), kMaxListed));
  for (const auto& [count, hosts] : servers) {
    if (absl::c_linear_search(legal, count)) continue;
    report.Add(report.Named("no-such-number", Count(count, "device"),
                            HostsText(hosts, kHostsColumns), ChoiceText(legal),
                            view.profile().title));
  }
}

void CheckJobDeviceGroup(const ClusterView& view, RuleReport& report) {
  constexpr uint32_t kFour = 4;
  if (!view.profile().job_in_one_four) {
    return report.ExplainSkip("a job of this product may take any devices");
  }
  if (view.job()->servers_size() != 1 || view.spec().servers().empty()) {
    return report.ExplainSkip("the job takes ", ServersText(view));
  }
  const auto ids =
      Each<uint32_t>(view.spec().servers(0).devices(), &DeviceSpec::id);
  report.JudgedCluster(DevicesText(ids));
  if (ids.size() != 2 && ids.size() != kFour) return;
  const size_t low = absl::c_count_if(ids, [](auto id) { return id < kFour; });
  if (low == 0 || low == ids.size()) return;
  report.Add(report.Named("across", DevicesText(ids)));
}

void CheckJobUniform(const ClusterView& view, RuleReport& report) {
  if (view.profile().job_device_counts.empty()) {
    return SkipUnpublished(view, "whether servers may differ", report);
  }
  if (!view.HasWholeJob()) {
    return report.ExplainSkip("the job's other servers are not known here");
  }
  const auto servers = ByCount(view.spec());
  const std::vector<std::string> texts = CountTexts(servers);
  report.JudgedCluster(FirstOf(texts, kMaxListed));
  if (servers.size() < 2) return;
  report.Add(
      report.Named(view.profile().job_equal_counts ? "demanded" : "advised",
                   FirstOf(texts, kMaxListed), view.profile().title));
}

void CheckJobSize(const ClusterView& view, RuleReport& report) {
  const auto servers = static_cast<uint32_t>(view.job()->servers_size());
  const uint32_t most = view.profile().max_servers;
  if (most == 0) {
    return SkipUnpublished(view, "the number of servers for a job", report);
  }
  report.JudgedCluster(absl::StrCat(ServersText(view), ", at most ", most));
  if (servers > most) {
    report.Add(report.Named("too-many", ServersText(view), most,
                            view.profile().title));
  }
  if ((servers & (servers - 1)) == 0) return;
  uint32_t below = 1;
  while (below * 2 <= servers) below *= 2;
  report.Add(report.Named("no-power", ServersText(view), below, below * 2));
}

void CheckRendezvous(const ClusterView& view, RuleReport& report) {
  const bool is_given =
      absl::c_any_of(view.job()->servers(), [](const JobServer& server) {
        return !server.master_addr().empty() || server.master_port() != 0;
      });
  if (!is_given && view.spec().ports().empty()) {
    return report.ExplainSkip("the job says no MASTER_ADDR or MASTER_PORT");
  }
  if (!view.HasWholeJob()) {
    return report.ExplainSkip("the job's other servers are not known here");
  }
  report.JudgedCluster(
      absl::StrCat("on ", view.spec().servers(0).host(), ", the first"));
  JudgeMasterAddress(view, report);
  JudgeMasterPort(view, report);
}

void CheckRanks(const ClusterView& view, RuleReport& report) {
  const JobSpec& job = *view.job();
  const auto nodes = Given(job, &JobServer::nnodes);
  const auto sizes = Given(job, &JobServer::world_size);
  const bool has_ranks = absl::c_any_of(
      job.servers(), [](const auto& each) { return each.has_node_rank(); });
  // Of its other servers a host alone does not know the devices.
  const bool says_none = sizes.empty() && nodes.empty();
  const bool judges_sizes = !says_none && view.HasWholeJob();
  if (!has_ranks && !judges_sizes) {
    return report.ExplainSkip(
        says_none ? "the job says no WORLD_SIZE or node ranks"
                  : "the job's other servers are not known here");
  }
  report.JudgedCluster(ServersText(view));
  const std::string wrong = WrongNodeRanks(job);
  if (!wrong.empty()) {
    report.Add(report.Named("node-ranks", wrong, job.servers_size() - 1));
  }
  if (!judges_sizes) return;
  int count = 0;
  // A range is not judged, and environment-uniform compares the servers.
  if (!nodes.empty() && absl::SimpleAtoi(nodes.begin()->first, &count) &&
      count != job.servers_size()) {
    report.Add(report.Named("nodes", ValuesText(nodes), job.servers_size()));
  }
  const uint64_t dialers = RootDialers(view.spec(), &job);
  const uint64_t ranks =
      dialers - std::min<uint64_t>(dialers, view.spec().servers_size());
  const bool is_right = sizes.size() == 1 && sizes.begin()->first == ranks;
  if (is_right || sizes.empty()) return;
  report.Add(report.Named("world-size", ValuesText(sizes), ranks,
                          FirstOf(CountTexts(ByCount(view.spec())), kMaxListed),
                          std::max(1u, job.processes_per_device())));
}

void CheckJobDtype(const ClusterView& view, RuleReport& report) {
  const std::vector<absl::string_view>& legal = view.profile().job_dtypes;
  if (view.job()->dtypes().empty()) {
    return report.ExplainSkip("the job says no data types");
  }
  if (legal.empty()) return SkipUnpublished(view, "what data types", report);
  std::vector<std::string> lacking;
  for (const std::string& type : view.job()->dtypes()) {
    if (!absl::c_linear_search(legal, HcclDataType(type))) {
      lacking.push_back(PrintableText(type));
    }
  }
  report.JudgedCluster(
      Count(static_cast<size_t>(view.job()->dtypes_size()), "data type"));
  if (lacking.empty()) return;
  report.Add(report.Named("lacks", FirstOf(lacking, kMaxListed),
                          view.profile().title, absl::StrJoin(legal, ", ")));
}

}  // namespace clusterd
