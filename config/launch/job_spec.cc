#include "config/launch/job_spec.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/hccl/data_type.h"
#include "config/spec/host_names.h"
#include "config/spec/mistakes.h"
#include "config/values/nearest_word.h"
#include "config/values/number_list.h"
#include "config/values/sha256.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr uint32_t kMaxPort = 65535;

class Narrower {
 public:
  Narrower(const ClusterSpec& spec, const JobSpec& job)
      : spec_(spec), job_(job), narrowed_(spec) {
    for (int i = 0; i < spec.servers_size(); ++i) {
      index_.emplace(spec.servers(i).host(), i);
    }
    narrowed_.clear_servers();
    narrowed_.set_one_job(true);
    narrowed_.set_cluster_servers(static_cast<uint32_t>(spec.servers_size()));
  }

  absl::StatusOr<ClusterSpec> Narrow(absl::string_view only_host) {
    if (!job_.product().empty() && job_.product() != spec_.product()) {
      Wrong("product: ", QuoteValue(job_.product()), ", expected ",
            spec_.product(), " as the cluster has");
    }
    CheckWords();
    if (job_.servers().empty()) {
      Wrong("job: has no server, expected at least one");
    }
    bool is_found = only_host.empty();
    for (const JobServer& server : job_.servers()) {
      NarrowPorts(server);
      if (!only_host.empty() && NameOf(server.host()) != only_host) continue;
      is_found = true;
      AddServer(server);
    }
    for (const ObserveRequest::PortRange& each : job_.ports()) {
      ObserveRequest::PortRange range;
      range.set_first(std::min(each.first(), kMaxPort));
      range.set_last(std::clamp(each.last(), range.first(), kMaxPort));
      *narrowed_.add_ports() = range;
    }
    if (job_.ssh().container_port() != 0) {
      narrowed_.set_ssh_port(
          Port(job_.ssh().container_port(), "ssh: container_port"));
    }
    if (count_ > mistakes_.size()) {
      mistakes_.push_back(
          absl::StrCat("job: ", count_ - mistakes_.size(), " more mistakes"));
    }
    if (!mistakes_.empty()) {
      return absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n"));
    }
    if (is_found) return std::move(narrowed_);
    return absl::NotFoundError(absl::StrCat(
        "job: ", QuoteValue(only_host), " is no server of it, expected one"));
  }

 private:
  template <typename... Parts>
  void Wrong(const Parts&... parts) {
    if (count_++ < Mistakes::kMaxShown) {
      mistakes_.push_back(absl::StrCat(parts...));
    }
  }

  void CheckWords() {
    for (const std::string& type : job_.dtypes()) {
      if (!HcclDataType(type).empty()) continue;
      Wrong("dtypes: ", QuoteValue(type), ", expected ",
            absl::StrJoin(HcclDataTypes(), ", "),
            DidYouMean(type, HcclDataTypes()));
    }
    CheckWord("method", job_.method(), kLaunchMethods);
    CheckWord("framework", job_.framework(), kFrameworks);
  }

  void CheckWord(absl::string_view key, const std::string& word,
                 absl::Span<const absl::string_view> words) {
    if (word.empty() || absl::c_linear_search(words, word)) return;
    Wrong(key, ": ", QuoteValue(word), ", expected ",
          absl::StrJoin(words, ", "), DidYouMean(word, words));
  }

  // 0 if it is none, which is recorded.
  uint32_t Port(uint32_t port, absl::string_view subject) {
    if (port <= kMaxPort) return port;
    Wrong(subject, ": ", port, ", expected a port up to ", kMaxPort);
    return 0;
  }

  // The first one counts; rule rendezvous says where others differ.
  void NarrowPorts(const JobServer& server) {
    if (server.master_port() == 0) return;
    const uint32_t port =
        Port(server.master_port(),
             absl::StrCat("host ", QuoteValue(server.host()), ": master_port"));
    if (!has_port_ && port != 0) narrowed_.set_rendezvous_port(port);
    has_port_ = true;
  }

  // What the spec calls it; the name itself if the spec does not know it.
  const std::string& NameOf(const std::string& host) {
    if (index_.contains(host)) return host;
    if (names_.empty()) names_ = HostsByAnyName(spec_);
    const auto found = names_.find(host);
    return found == names_.end() ? host : found->second;
  }

  void AddServer(const JobServer& server) {
    const std::string& name = NameOf(server.host());
    const auto found = index_.find(name);
    if (found == index_.end()) {
      return Wrong(
          "host ", QuoteValue(server.host()),
          " is no server of the cluster, expected a host of cluster.yaml",
          count_ < Mistakes::kMaxShown
              ? DidYouMean(
                    server.host(),
                    Each<absl::string_view>(spec_.servers(), &ServerSpec::host))
              : "");
    }
    if (!seen_.insert(name).second) {
      return Wrong("host ", QuoteValue(server.host()),
                   " stands twice, expected every server once");
    }
    const ServerSpec& planned = spec_.servers(found->second);
    ServerSpec* added = narrowed_.add_servers();
    added->set_host(planned.host());
    added->set_address(planned.address());
    AddDevices(server, planned, added);
  }

  void AddDevices(const JobServer& server, const ServerSpec& planned,
                  ServerSpec* added) {
    if (server.devices().empty()) return AddFirst(server, planned, added);
    std::vector<uint32_t> ids(server.devices().begin(), server.devices().end());
    absl::c_sort(ids);
    if (std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
      Wrong("host ", planned.host(), ": a device stands twice, expected every ",
            "one once");
    }
    std::vector<std::string> strangers;
    for (const uint32_t id : ids) {
      const DeviceSpec* const device =
          FirstWith(planned.devices(), &DeviceSpec::id, id);
      if (device != nullptr) {
        *added->add_devices() = *device;
      } else if (strangers.size() < kMaxStrangers) {
        strangers.push_back(absl::StrCat(id));
      }
    }
    if (strangers.empty()) return;
    Wrong("host ", planned.host(), ": no device ",
          absl::StrJoin(strangers, ", "), ", expected ids of ",
          PlannedText(planned));
  }

  void AddFirst(const JobServer& server, const ServerSpec& planned,
                ServerSpec* added) {
    const auto there = static_cast<uint32_t>(planned.devices_size());
    if (server.device_count() > there || there == 0) {
      return Wrong("host ", planned.host(), ": ", server.device_count(),
                   " devices, expected at most the ", there,
                   " of cluster.yaml (", PlannedText(planned), ")");
    }
    const uint32_t count =
        server.device_count() == 0 ? there : server.device_count();
    // In the order of ids.
    for (uint32_t i = 0; i < count; ++i) {
      *added->add_devices() = planned.devices(static_cast<int>(i));
    }
  }

  static std::string PlannedText(const ServerSpec& planned) {
    return FoldIds(Each<uint32_t>(planned.devices(), &DeviceSpec::id));
  }

  static constexpr size_t kMaxStrangers = 8;

  const ClusterSpec& spec_;
  const JobSpec& job_;
  ClusterSpec narrowed_;
  absl::flat_hash_map<absl::string_view, int> index_;
  std::map<std::string, std::string> names_;  // Made when one is asked for.
  absl::flat_hash_set<std::string> seen_;
  bool has_port_ = false;
  std::vector<std::string> mistakes_;
  size_t count_ = 0;
};

}  // namespace

absl::StatusOr<ClusterSpec> NarrowToJob(const ClusterSpec& spec,
                                        const JobSpec& job,
                                        absl::string_view only_host) {
  return Narrower(spec, job).Narrow(only_host);
}

std::string JobDigest(const JobSpec& job) {
  // All of its servers are not copied to leave out the id, which comes first;
  // there is no map whose order could differ.
  JobSpec id;
  id.set_id(job.id());
  return Sha256Hex(
      absl::string_view(job.SerializeAsString()).substr(id.ByteSizeLong()));
}

}  // namespace clusterd
