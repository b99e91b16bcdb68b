// The rank table of a job: whether HCCL takes it, and whether it is correct.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/hccl/job_variables.h"
#include "config/launch/rank_table.h"
#include "config/rules/job/job_network.h"
#include "config/rules/rule_report.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// The limit of mistakes of the file with a finding each.
constexpr size_t kMaxMistakes = 20;
// The limit of servers or devices in one finding.
constexpr size_t kMaxListed = 8;
constexpr int kNobody = -1;

void AddMistakes(const absl::Status& status, RuleReport& report) {
  if (status.code() == absl::StatusCode::kUnimplemented) {
    return report.Add(report.Named("not-read", MessageWords(status)));
  }
  const std::vector<FindingValue> lines = MessageLines(status);
  for (size_t i = 0; i < lines.size() && i < kMaxMistakes; ++i) {
    report.Add(report.Named("mistake", lines[i]));
  }
  if (lines.size() <= kMaxMistakes) return;
  report.Add(report.Named(
      "mistake", Counted(lines.size() - kMaxMistakes, "more mistake")));
}

template <typename Devices, typename Id>
std::set<uint32_t> IdsOf(const Devices& devices, Id id) {
  const auto ids = Each<uint32_t>(devices, id);
  return {ids.begin(), ids.end()};
}

FindingValue IdsWords(const std::set<uint32_t>& ids) {
  if (ids.size() > kMaxDevicesOfHost) return Counted(ids.size(), "device");
  return DevicesValue({ids.begin(), ids.end()});
}

// A good table against the job and its devices.
class TableJudge {
 public:
  TableJudge(const ClusterView& view, const RankTable& table,
             RuleReport& report)
      : view_(view),
        table_(table),
        report_(report),
        needs_roce_(NetworkOfJob(view).need == JobNetwork::Need::kRoce) {}

  void Judge() {
    Match();
    JudgeServers();
    JudgeStringOrder();
    JudgeRanks();
    for (size_t i = 0; i < table_.servers.size(); ++i) {
      if (server_of_[i] == kNobody) continue;
      JudgeIds(i);
      JudgeHostIp(i);
      if (!view_.spec().roce_unused()) JudgeAddresses(i);
      if (table_.version == "1.2") JudgePlaces(i);
    }
    JudgePods();
    for (const auto& [name, texts] : found_) {
      report_.Add(report_.Named(name, Listed(texts, kMaxListed)));
    }
  }

 private:
  std::string NameOf(size_t entry) const {
    return absl::StrCat("server_list[", entry, "] ",
                        QuotedText(table_.servers[entry].server_id));
  }

  // Every name that identifies one server.
  void LearnNames() {
    for (int i = 0; i < view_.spec().servers_size(); ++i) {
      const ServerSpec& server = view_.spec().servers(i);
      known_.emplace(server.host(), i);
      if (!server.address().empty()) known_.emplace(server.address(), i);
      number_of_.emplace(server.host(), i);
    }
    for (const HostView& host : view_.hosts()) {
      hosts_.emplace(host.name, &host);
      const auto number = number_of_.find(host.name);
      if (number == number_of_.end()) continue;
      for (const DeviceView& device : host.devices) {
        for (const Ipv4Interface& interface : device.interfaces()) {
          known_.emplace(interface.address().ToString(), number->second);
        }
      }
    }
  }

  // The job's server that an entry refers to: by its host_ip or server_id if
  // one is a host's address or name, otherwise by its devices' addresses.
  int Meant(const RankTableServer& entry) const {
    for (const std::string* name : {&entry.host_ip, &entry.server_id}) {
      const auto found = known_.find(*name);
      if (found != known_.end()) return found->second;
    }
    if (!entry.host_ip.empty() || Ipv4Address::Parse(entry.server_id).ok()) {
      return kNobody;
    }
    for (const RankTableDevice& device : entry.devices) {
      for (const std::string& ip : device.device_ips) {
        const auto found = known_.find(ip);
        if (found != known_.end()) return found->second;
      }
    }
    return kNobody;
  }

  void Match() {
    LearnNames();
    std::set<int> taken;
    for (const RankTableServer& entry : table_.servers) {
      const int meant = Meant(entry);
      server_of_.push_back(taken.insert(meant).second ? meant : kNobody);
    }
    taken.erase(kNobody);
    // An entry with an id of its own and without a known address is matched by
    // its place, if no other entry names the job's server there.
    for (size_t i = 0; i < server_of_.size(); ++i) {
      const RankTableServer& entry = table_.servers[i];
      const int place = static_cast<int>(i);
      if (server_of_[i] != kNobody || !entry.host_ip.empty() ||
          Ipv4Address::Parse(entry.server_id).ok() ||
          place >= view_.spec().servers_size()) {
        continue;
      }
      if (taken.insert(place).second) server_of_[i] = place;
    }
    for (int i = 0; i < view_.spec().servers_size(); ++i) {
      if (taken.count(i) == 0) {
        lacking_.push_back(view_.spec().servers(i).host());
      }
    }
    all_have_theirs_ = lacking_.empty();
    for (size_t i = 0; i < server_of_.size() && all_have_theirs_; ++i) {
      all_have_theirs_ = server_of_[i] != kNobody &&
                         static_cast<int>(table_.servers[i].devices.size()) ==
                             view_.spec().servers(server_of_[i]).devices_size();
    }
  }

  // True for an address of Docker's default bridge or a bridge of a job's host.
  bool IsOfDocker(const std::string& server_id) const {
    constexpr int kBridgeBits = 16;
    static const LazyRE2 kBridge = {
        R"(docker.*|br-[0-9a-f]{12}|(?:cni-)?podman\d+)"};
    const auto address = Ipv4Address::Parse(server_id);
    if (!address.ok()) return false;
    if (IsOfDockerBridge(server_id)) return true;
    const Ipv4Subnet subnet(*address, kBridgeBits);
    for (const auto& [name, host] : hosts_) {
      for (const HostInterface& each :
           host->facts->interfaces().value().interfaces()) {
        if (!HasForm(each.name(), *kBridge)) continue;
        for (const std::string& own : each.addresses()) {
          const auto bridge = Ipv4Address::Parse(own);
          if (bridge.ok() && subnet.Contains(*bridge)) return true;
        }
      }
    }
    return false;
  }

  void JudgeServers() {
    for (size_t i = 0; i < server_of_.size(); ++i) {
      if (server_of_[i] != kNobody) continue;
      const bool bridged = IsOfDocker(table_.servers[i].server_id);
      found_[bridged ? "docker-bridge" : "not-in-job"].push_back(
          ToFindingValue(NameOf(i)));
    }
    if (!lacking_.empty()) {
      report_.Add(report_.Named("lacks-servers", HostsValue(lacking_, 200)));
    }
  }

  // MindSpore gives ranks out by server_id as texts: 10.0.0.10 before 10.0.0.9
  // (https://www.mindspore.cn/tutorials, rank table startup).
  void JudgeStringOrder() {
    if (view_.job()->framework() != "mindspore") return;
    for (size_t i = 1; i < table_.servers.size(); ++i) {
      if (table_.servers[i - 1].server_id < table_.servers[i].server_id) {
        continue;
      }
      report_.Add(report_.Named("string-order", NameOf(i), NameOf(i - 1)));
      return;
    }
  }

  // The first rank of each of the job's servers, in the launch's order.
  std::vector<uint32_t> FirstRanks() const {
    const auto& servers = view_.job()->servers();
    std::vector<int> order(servers.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const bool is_said = absl::c_all_of(
        servers, [](const JobServer& each) { return each.has_node_rank(); });
    if (is_said) {
      absl::c_stable_sort(order, [&](int a, int b) {
        return servers[a].node_rank() < servers[b].node_rank();
      });
    }
    std::vector<uint32_t> first(order.size());
    uint32_t next = 0;
    for (const int i : order) {
      first[i] = next;
      next += view_.spec().servers(i).devices_size();
    }
    return first;
  }

  void JudgeRanks() {
    const std::vector<uint32_t> expected = FirstRanks();
    bool is_elsewhere = false, ascends = true;
    uint32_t next = 0;
    for (size_t i = 0; i < table_.servers.size(); ++i) {
      uint32_t lowest = UINT32_MAX;
      for (const RankTableDevice& device : table_.servers[i].devices) {
        lowest = std::min(lowest, device.rank_id);
        ascends = ascends && device.rank_id == next++;
      }
      const int server = server_of_[i];
      // A server with too many or too few devices moves all after it.
      if (server == kNobody || lowest == expected[server] ||
          !all_have_theirs_) {
        continue;
      }
      is_elsewhere = true;
      found_["other-ranks"].push_back(
          Worded("table-first-rank", NameOf(i), lowest, expected[server],
                 view_.spec().servers(server).host()));
    }
    if (!ascends && !is_elsewhere) report_.Add(report_.Named("order"));
  }

  void JudgeIds(size_t entry) {
    const ServerSpec& server = view_.spec().servers(server_of_[entry]);
    const std::set<uint32_t> listed =
        IdsOf(table_.servers[entry].devices, &RankTableDevice::device_id);
    const std::set<uint32_t> wanted = IdsOf(server.devices(), &DeviceSpec::id);
    if (listed == wanted) return;
    found_["other-devices"].push_back(Worded("table-devices", NameOf(entry),
                                             IdsWords(listed), IdsWords(wanted),
                                             server.host()));
  }

  void JudgeHostIp(size_t entry) {
    const std::string& ip = table_.servers[entry].host_ip;
    const ServerSpec& server = view_.spec().servers(server_of_[entry]);
    const auto host = hosts_.find(server.host());
    if (ip.empty() || ip == server.address() || host == hosts_.end()) return;
    const InterfacesFact& fact = host->second->facts->interfaces();
    const bool has = absl::c_any_of(
        fact.value().interfaces(), [&ip](const HostInterface& each) {
          return absl::c_linear_search(each.addresses(), ip);
        });
    if (has || !IsKnown(fact)) return;
    found_["other-host-ip"].push_back(
        Worded("table-host-ip", NameOf(entry), ip, server.host()));
  }

  void JudgeAddresses(size_t entry) {
    const std::string& name = view_.spec().servers(server_of_[entry]).host();
    const auto host = hosts_.find(name);
    // Rule host-identity reports a silent host.
    if (host == hosts_.end()) return;
    const auto& devices = table_.servers[entry].devices;
    for (const RankTableDevice& listed : devices) {
      const FindingValue where =
          Worded("table-device", NameOf(entry), listed.device_id);
      // HCCL takes the other die of the card for the backup (version 1.2).
      const DeviceView* const sibling =
          host->second->Find(listed.device_id ^ 1);
      if (!listed.backup_device_ips.empty() && sibling != nullptr &&
          report_.Knows(*sibling, Worded("address"), sibling->addresses)) {
        for (const std::string& ip : listed.backup_device_ips) {
          JudgeAddress(where, "backup_device_ip", ip, *sibling);
        }
      }
      if (listed.device_ips.empty()) {
        if (needs_roce_) {
          found_["other-address"].push_back(Worded("table-no-address", where));
        }
        continue;
      }
      const DeviceView* const device = host->second->Find(listed.device_id);
      const ServerSpec* const planned = host->second->spec;
      if (device == nullptr) {
        // A device of another job, or a missing one.
        if (planned != nullptr &&
            FirstWith(planned->devices(), &DeviceSpec::id, listed.device_id)) {
          report_.Add(*host->second, {listed.device_id},
                      report_.Named("no-device"));
        }
      } else if (report_.Knows(*device, Worded("address"), device->addresses)) {
        for (const std::string& ip : listed.device_ips) {
          JudgeAddress(where, "device_ip", ip, *device);
        }
      }
    }
  }

  // Rule subnet-superpod reports chips that do not show it.
  void JudgePlaces(size_t entry) {
    const auto host =
        hosts_.find(view_.spec().servers(server_of_[entry]).host());
    if (host == hosts_.end()) return;
    for (const RankTableDevice& listed : table_.servers[entry].devices) {
      const DeviceView* const device = host->second->Find(listed.device_id);
      if (device == nullptr || !IsKnown(device->facts->super_pod())) continue;
      const SuperPodPlace& place = device->facts->super_pod().value();
      pod_of_.emplace(table_.servers[entry].server_id, place.super_pod_id());
      if (listed.super_device_id == place.sdid()) continue;
      found_["other-sdid"].push_back(Worded(
          "table-sdid", Worded("table-device", NameOf(entry), listed.device_id),
          listed.super_device_id, host->second->name, place.sdid()));
    }
  }

  void JudgePods() {
    for (const RankTableSuperPod& pod : table_.super_pods) {
      std::map<uint32_t, std::string> first_of;  // Server by real super pod.
      for (const std::string& server : pod.server_ids) {
        const auto found = pod_of_.find(server);
        if (found != pod_of_.end()) first_of.emplace(found->second, server);
      }
      if (first_of.size() < 2) continue;
      const auto servers = Each<FindingValue>(first_of, [](const auto& each) {
        return Worded("table-server-of-pod", QuotedText(each.second),
                      each.first);
      });
      found_["mixed-pods"].push_back(Worded("table-pod",
                                            QuotedText(pod.super_pod_id),
                                            Listed(servers, kMaxListed)));
    }
  }

  void JudgeAddress(const FindingValue& where, absl::string_view key,
                    const std::string& ip, const DeviceView& device) {
    const auto address = Ipv4Address::Parse(ip);
    if (!address.ok()) {
      found_["ipv6"].push_back(
          Worded("table-address", where, PrintableText(ip)));
      return;
    }
    const bool is_own = key == "device_ip";
    if (FirstWith(device.interfaces(), &Ipv4Interface::address, *address))
      return;
    const bool is_used = needs_roce_ || !is_own;
    found_[is_used ? "other-address" : "other-unused-address"].push_back(
        Worded(is_own ? "table-other-address" : "table-other-backup", where, ip,
               device.host->name,
               device.HasAddress()
                   ? ToFindingValue(device.Address().address().ToString())
                   : Worded("no-address"),
               device.id));
  }

  const ClusterView& view_;
  const RankTable& table_;
  RuleReport& report_;
  const bool needs_roce_;
  absl::flat_hash_map<std::string, int> known_;  // By name or address.
  absl::flat_hash_map<absl::string_view, int> number_of_;
  absl::flat_hash_map<absl::string_view, const HostView*> hosts_;
  std::vector<int> server_of_;  // By entry of the table.
  std::vector<std::string> lacking_;
  // Every entry is a server of the job with as many devices.
  bool all_have_theirs_ = false;
  // Real super pods, by server_id of the table.
  std::map<std::string, uint32_t> pod_of_;
  // The parts of each finding, by its name.
  FirstSeen<std::string, std::vector<FindingValue>> found_;
};

}  // namespace

void CheckRankTable(const ClusterView& view, RuleReport& report) {
  const std::string& text = view.job()->rank_table();
  if (text.empty()) {
    report.SkipFor("job-no-rank-table");
    for (const HostView& host : view.hosts()) {
      const EnvironmentVariable* const set =
          FindVariable(*host.facts, view.job(), "RANK_TABLE_FILE");
      if (set == nullptr) continue;
      report.SkipFor("rank-table-not-read", PlaceWords(*set),
                     PrintableText(host.name));
    }
    return;
  }
  if (!view.HasWholeJob()) {
    return report.SkipFor("job-is-elsewhere");
  }
  const std::string& file = view.job()->rank_table_file();
  if (!file.empty() && !IsRankTableName(file)) {
    report.Add(report.Named("name", PrintableText(file)));
  }
  const absl::StatusOr<RankTable> table = ParseRankTable(text);
  if (!table.ok()) {
    report.JudgedCluster(Worded("table-refused"));
    return AddMistakes(table.status(), report);
  }
  size_t ranks = 0;
  for (const RankTableServer& entry : table->servers) {
    ranks += entry.devices.size();
  }
  report.JudgedCluster(Worded("table-seen", table->version,
                              Counted(table->servers.size(), "server"),
                              Counted(ranks, "rank")));
  if (view.profile().generation == NpuToolFacts::ASCEND_950) {
    report.Add(report.Named("generation", table->version));
  }
  if (table->behind_line != 0) {
    report.Add(report.Named("behind", table->behind_line));
  }
  if (table->status != "completed") {
    report.Add(report.Named("not-completed", QuotedText(table->status)));
  }
  TableJudge(view, *table, report).Judge();
}

}  // namespace clusterd
