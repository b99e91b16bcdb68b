#include "config/launch/rank_table_writer.h"

#include <map>

#include "absl/strings/str_join.h"
#include "config/launch/rank_table.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"
#include "config/values/status_macros.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr absl::string_view kNotInSuperPod = "1.0";
constexpr absl::string_view kInSuperPod = "1.2";

// Values need no escapes: addresses are parsed, ids are numbers.
class Writer {
 public:
  Writer(const ClusterSpec& job, absl::Span<const HostFacts* const> facts)
      : job_(job), facts_(facts) {}

  std::string Write(absl::string_view version) {
    in_super_pod_ = version == kInSuperPod;
    if (in_super_pod_) FindPods();
    std::vector<std::string> servers;
    for (int s = 0; s < job_.servers_size(); ++s) servers.push_back(Server(s));
    return absl::StrCat("{\n    \"server_count\":\"", job_.servers_size(),
                        "\",\n    \"server_list\":[\n",
                        absl::StrJoin(servers, ",\n"),
                        "\n    ],\n    \"status\":\"completed\",\n",
                        in_super_pod_ && reasons_.empty() ? SuperPods() : "",
                        "    \"version\":\"", version, "\"\n}\n");
  }

  const std::vector<FindingValue>& reasons() const { return reasons_; }

 private:
  template <typename... Values>
  void Refuse(absl::string_view row, const Values&... values) {
    reasons_.push_back(Worded(row, values...));
  }

  // Finds the servers of each pod, for version 1.2.
  void FindPods() {
    std::string last;
    for (int s = 0; s < job_.servers_size(); ++s) {
      const std::string pod = PodOf(job_.servers(s), *facts_[s]);
      if (pod.empty()) continue;
      std::vector<int>& servers = pods_[pod];
      if (!servers.empty() && pod != last) {
        Refuse("msg-job-table-pods-mixed", job_.servers(s).host(), pod,
               job_.servers(servers.back()).host());
      }
      servers.push_back(s);
      last = pod;
    }
  }

  // The id of its super pod; "" if it was refused.
  std::string PodOf(const ServerSpec& server, const HostFacts& host) {
    const SuperPodPlace* first = nullptr;
    for (const DeviceSpec& planned : server.devices()) {
      const DeviceFacts* const device = FindDevice(host, planned.id());
      // The checks of addresses report these hosts and devices.
      if (host.has_missing() || device == nullptr) continue;
      const FindingValue name =
          Worded("table-device", server.host(), planned.id());
      if (!IsKnown(device->super_pod())) {
        Refuse("msg-job-table-place-not-known", name,
               MissingWords(MissingOf(device->super_pod())));
        return "";
      }
      const SuperPodPlace& place = device->super_pod().value();
      if (first == nullptr) first = &place;
      if (place.super_pod_id() == kOfNoSuperPod ||
          place.super_pod_id() != first->super_pod_id()) {
        Refuse("msg-job-table-pod-differs", name, place.super_pod_id());
        return "";
      }
    }
    return first == nullptr ? "" : absl::StrCat(first->super_pod_id());
  }

  // The check suggests repairs; this only reports the reason.
  std::string DeviceIp(const ServerSpec& server, const HostFacts& host,
                       const DeviceSpec& planned) {
    const FindingValue name =
        Worded("table-device", server.host(), planned.id());
    const DeviceFacts* const device = FindDevice(host, planned.id());
    if (device == nullptr) {
      Refuse("msg-job-table-no-device", name);
      return "";
    }
    if (!IsKnown(device->address())) {
      Refuse("msg-job-table-address-not-known", name,
             MissingWords(MissingOf(device->address())));
      return "";
    }
    const auto& settings = device->address().value().settings();
    // HCCL needs a device IP only between servers, or with
    // HCCL_INTRA_ROCE_ENABLE; within a super pod it uses the virtual NICs.
    if (settings.empty() &&
        (job_.roce_unused() || (in_super_pod_ && pods_.size() < 2) ||
         job_.servers_size() == 1)) {
      return "";
    }
    if (settings.size() != 1) {
      Refuse(settings.empty() ? "msg-job-table-no-address"
                              : "msg-job-table-several-addresses",
             name);
      return "";
    }
    return LiveIp(name, settings[0].address(), planned.address());
  }

  std::string LiveIp(const FindingValue& name, const std::string& live,
                     const std::string& planned) {
    if (!Ipv4Address::Parse(live).ok()) {
      Refuse("msg-job-table-live-not-ipv4", name, QuotedText(live));
      return "";
    }
    if (!planned.empty() && live != planned) {
      Refuse("msg-job-table-not-planned", name, live, planned);
    }
    const auto [first, is_new] = owners_.emplace(live, name);
    if (!is_new) {
      Refuse("msg-job-table-address-twice", name, live, first->second);
    }
    return live;
  }

  std::string Server(int index) {
    const ServerSpec& server = job_.servers(index);
    const HostFacts& host = *facts_[index];
    if (!Ipv4Address::Parse(server.address()).ok()) {
      Refuse("msg-job-host-without-address", server.host(), "server_id");
    }
    const bool silent = host.has_missing();
    if (silent) {
      Refuse("msg-job-host-without-facts", server.host(),
             MissingWords(&host.missing()));
    }
    std::vector<std::string> lines;
    for (int d = 0; d < server.devices_size(); ++d) {
      const DeviceSpec& device = server.devices(d);
      const std::string ip = silent ? "" : DeviceIp(server, host, device);
      lines.push_back(absl::StrCat(
          "                { \"device_id\":\"", device.id(), "\", ",
          ip.empty() ? "" : absl::StrCat("\"device_ip\":\"", ip, "\", "),
          "\"rank_id\":\"", next_rank_++, "\"",
          in_super_pod_ ? SuperDeviceId(host, device.id()) : "", " }"));
    }
    return absl::StrCat("        {\n            \"device\":[\n",
                        absl::StrJoin(lines, ",\n"),
                        "\n            ],\n            \"server_id\":\"",
                        server.address(), "\"\n        }");
  }

  // REQUIRES: the host has the device, and the fact is known or was refused.
  static std::string SuperDeviceId(const HostFacts& host, uint32_t id) {
    const DeviceFacts* const device = FindDevice(host, id);
    if (device == nullptr) return "";
    return absl::StrCat(", \"super_device_id\":\"",
                        device->super_pod().value().sdid(), "\"");
  }

  std::string SuperPods() const {
    std::vector<std::string> texts;
    for (const auto& [id, servers] : pods_) {
      std::vector<std::string> lines;
      for (const int server : servers) {
        lines.push_back(absl::StrCat("                { \"server_id\":\"",
                                     job_.servers(server).address(), "\" }"));
      }
      texts.push_back(
          absl::StrCat("        {\n            \"server_list\":[\n",
                       absl::StrJoin(lines, ",\n"),
                       "\n            ],\n            \"super_pod_id\":\"", id,
                       "\"\n        }"));
    }
    return absl::StrCat("    \"super_pod_list\":[\n",
                        absl::StrJoin(texts, ",\n"), "\n    ],\n");
  }

  const ClusterSpec& job_;
  const absl::Span<const HostFacts* const> facts_;
  bool in_super_pod_ = false;
  // Numbers of servers by super pod.
  FirstSeen<std::string, std::vector<int>> pods_;
  size_t next_rank_ = 0;
  std::map<std::string, FindingValue> owners_;  // Device by address.
  std::vector<FindingValue> reasons_;
};

}  // namespace

absl::StatusOr<std::string> RankTableVersionOf(const ClusterSpec& job) {
  // A table of the wrong generation is refused with EI0014 (HCCL user guide,
  // docs/zh/user_guide/cluster_info_config).
  if (job.product() == "ascend-950") {
    return UnimplementedWords("msg-job-table-ascend-950");
  }
  return std::string(job.product() == "atlas-a3-superpod" ? kInSuperPod
                                                          : kNotInSuperPod);
}

absl::StatusOr<std::string> WriteRankTable(
    const ClusterSpec& job, absl::Span<const HostFacts* const> facts,
    absl::string_view version) {
  if (version != kNotInSuperPod && version != kInSuperPod) {
    return InvalidWords("msg-job-table-version-not-written",
                        QuotedText(version));
  }
  if (facts.size() != static_cast<size_t>(job.servers_size())) {
    return PreconditionWords("msg-job-facts-count",
                             Counted(facts.size(), "host"),
                             Counted(job.servers_size(), "server"));
  }
  for (int s = 0; s < job.servers_size(); ++s) {
    if (facts[s]->host() == job.servers(s).host()) continue;
    return PreconditionWords("msg-job-facts-order",
                             QuotedText(facts[s]->host()),
                             job.servers(s).host());
  }
  Writer writer(job, facts);
  std::string text = writer.Write(version);
  if (!writer.reasons().empty()) {
    return WithWords(absl::FailedPreconditionError(""),
                     Lines(writer.reasons()));
  }
  // Parses the result, so that a table that HCCL would refuse is an error.
  const absl::StatusOr<RankTable> read = ParseRankTable(text);
  if (!read.ok()) {
    return WithWords(absl::FailedPreconditionError(""),
                     MessageWords(read.status()));
  }
  return text;
}

}  // namespace clusterd
