#include "config/launch/job_spec.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/hccl/job_variables.h"
#include "config/spec/host_names.h"
#include "config/spec/mistakes.h"
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
      Wrong("msg-job-product", QuoteValue(job_.product()), spec_.product());
    }
    CheckWords();
    if (job_.servers().empty()) Wrong("msg-job-without-server");
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
      narrowed_.set_ssh_port(Port(job_.ssh().container_port(),
                                  ToFindingValue("ssh: container_port")));
    }
    if (count_ > mistakes_.size()) {
      mistakes_.push_back(
          Worded("more-mistakes", "job", count_ - mistakes_.size()));
    }
    if (!mistakes_.empty()) {
      return WithWords(absl::InvalidArgumentError(""), Lines(mistakes_));
    }
    if (is_found) return std::move(narrowed_);
    return NotFoundWords("msg-job-not-its-host", QuoteValue(only_host));
  }

 private:
  template <typename... Values>
  void Wrong(absl::string_view row, const Values&... values) {
    if (count_++ < Mistakes::kMaxShown) {
      mistakes_.push_back(Worded(row, values...));
    }
  }

  void CheckWords() {
    for (const std::string& type : job_.dtypes()) {
      if (!HcclDataType(type).empty()) continue;
      Wrong("msg-job-word", "dtypes", QuoteValue(type),
            absl::StrJoin(HcclDataTypes(), ", "),
            DidYouMeanWords(type, HcclDataTypes()));
    }
    CheckWord("method", job_.method(), kLaunchMethods);
    CheckWord("framework", job_.framework(), kFrameworks);
  }

  void CheckWord(absl::string_view key, const std::string& word,
                 absl::Span<const absl::string_view> words) {
    if (word.empty() || absl::c_linear_search(words, word)) return;
    Wrong("msg-job-word", key, QuoteValue(word), absl::StrJoin(words, ", "),
          DidYouMeanWords(word, words));
  }

  // Returns 0 for an invalid port, and records it.
  uint32_t Port(uint32_t port, const FindingValue& subject) {
    if (port <= kMaxPort) return port;
    Wrong("msg-job-out-of-range", subject, port, 1, kMaxPort);
    return 0;
  }

  // The first one counts; rule rendezvous reports others that differ.
  void NarrowPorts(const JobServer& server) {
    if (server.master_port() == 0) return;
    const uint32_t port =
        Port(server.master_port(),
             Worded("job-say-master-port-of", QuoteValue(server.host())));
    if (!has_port_ && port != 0) narrowed_.set_rendezvous_port(port);
    has_port_ = true;
  }

  // The spec's name of the host; the name itself if the spec lacks it.
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
      return Wrong("msg-job-host-not-in-cluster", QuoteValue(server.host()),
                   count_ < Mistakes::kMaxShown
                       ? DidYouMeanWords(server.host(), Each<absl::string_view>(
                                                            spec_.servers(),
                                                            &ServerSpec::host))
                       : FindingValue());
    }
    if (!seen_.insert(name).second) {
      return Wrong("msg-job-host-twice", QuoteValue(server.host()));
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
      Wrong("msg-job-device-twice", planned.host());
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
    Wrong("msg-job-no-such-device", planned.host(),
          absl::StrJoin(strangers, ", "), PlannedText(planned));
  }

  void AddFirst(const JobServer& server, const ServerSpec& planned,
                ServerSpec* added) {
    const auto there = static_cast<uint32_t>(planned.devices_size());
    if (server.device_count() > there || there == 0) {
      return Wrong("msg-job-too-few-devices", planned.host(),
                   server.device_count(), there, PlannedText(planned));
    }
    const uint32_t count =
        server.device_count() == 0 ? there : server.device_count();
    // Devices are in the order of ids.
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
  std::map<std::string, std::string> names_;  // Made at the first use.
  absl::flat_hash_set<std::string> seen_;
  bool has_port_ = false;
  std::vector<FindingValue> mistakes_;
  size_t count_ = 0;
};

}  // namespace

absl::StatusOr<ClusterSpec> NarrowToJob(const ClusterSpec& spec,
                                        const JobSpec& job,
                                        absl::string_view only_host) {
  return Narrower(spec, job).Narrow(only_host);
}

std::string JobDigest(const JobSpec& job) {
  // Cuts off the id, which is serialized first, to avoid a copy of all servers.
  // JobSpec has no map whose order could differ.
  JobSpec id;
  id.set_id(job.id());
  return Sha256Hex(
      absl::string_view(job.SerializeAsString()).substr(id.ByteSizeLong()));
}

}  // namespace clusterd
