#include "config/launch/rank_table_writer.h"

#include <map>

#include "absl/strings/str_join.h"
#include "config/launch/rank_table.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"
#include "config/values/status_macros.h"
#include "config/words/fact_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr absl::string_view kNotInSuperPod = "1.0";
constexpr absl::string_view kInSuperPod = "1.2";

// Nothing in it needs an escape: addresses are parsed, ids are numbers.
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

  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  template <typename... Parts>
  void Refuse(const Parts&... parts) {
    reasons_.push_back(absl::StrCat(parts...));
  }

  // Of version 1.2: the servers of each pod.
  void FindPods() {
    std::string last;
    for (int s = 0; s < job_.servers_size(); ++s) {
      const std::string pod = PodOf(job_.servers(s), *facts_[s]);
      if (pod.empty()) continue;
      std::vector<int>& servers = pods_[pod];
      if (!servers.empty() && pod != last) {
        Refuse(job_.servers(s).host(), ": is in super pod ", pod, " as ",
               job_.servers(servers.back()).host(),
               " is, and others stand between them, expected the job's servers "
               "pod by pod");
      }
      servers.push_back(s);
      last = pod;
    }
  }

  // The id of its super pod; "": refused.
  std::string PodOf(const ServerSpec& server, const HostFacts& host) {
    const SuperPodPlace* first = nullptr;
    for (const DeviceSpec& planned : server.devices()) {
      const DeviceFacts* const device = FindDevice(host, planned.id());
      // Of those the addresses tell.
      if (host.has_missing() || device == nullptr) continue;
      const std::string name =
          absl::StrCat(server.host(), " device ", planned.id());
      if (!IsKnown(device->super_pod())) {
        Refuse(name, ": its super pod id and SDID are not known: ",
               WhyMissing(MissingOf(device->super_pod())),
               ", expected them for version 1.2");
        return "";
      }
      const SuperPodPlace& place = device->super_pod().value();
      if (first == nullptr) first = &place;
      if (place.super_pod_id() == kOfNoSuperPod ||
          place.super_pod_id() != first->super_pod_id()) {
        Refuse(name, ": has super pod id ", place.super_pod_id(),
               ", expected one that its server has (rule subnet-superpod)");
        return "";
      }
    }
    return first == nullptr ? "" : absl::StrCat(first->super_pod_id());
  }

  // What to do is what the check advises: this is not another diagnosis.
  std::string DeviceIp(const ServerSpec& server, const HostFacts& host,
                       const DeviceSpec& planned) {
    const std::string name =
        absl::StrCat(server.host(), " device ", planned.id());
    const DeviceFacts* const device = FindDevice(host, planned.id());
    if (device == nullptr) {
      Refuse(name, ": the host has no such device (rule device-count)");
      return "";
    }
    if (!IsKnown(device->address())) {
      Refuse(name, ": its address is not known: ",
             WhyMissing(MissingOf(device->address())));
      return "";
    }
    const auto& settings = device->address().value().settings();
    // Only between servers, or with HCCL_INTRA_ROCE_ENABLE, HCCL asks for one;
    // within a super pod it uses the virtual NICs.
    if (settings.empty() &&
        (job_.roce_unused() || (in_super_pod_ && pods_.size() < 2) ||
         job_.servers_size() == 1)) {
      return "";
    }
    if (settings.size() != 1) {
      Refuse(name, ": has ",
             settings.empty() ? "no address" : "several addresses",
             ", expected one (rule device-ip-set)");
      return "";
    }
    return LiveIp(name, settings[0].address(), planned.address());
  }

  std::string LiveIp(const std::string& name, const std::string& live,
                     const std::string& planned) {
    if (!Ipv4Address::Parse(live).ok()) {
      Refuse(name, ": address ", QuotedText(live),
             ", expected an IPv4 address");
      return "";
    }
    if (!planned.empty() && live != planned) {
      Refuse(name, ": has ", live, ", cluster.yaml plans ", planned,
             " (rule device-ip-planned)");
    }
    const auto [first, is_new] = owners_.emplace(live, name);
    if (!is_new) {
      Refuse(name, ": has ", live, ", which ", first->second,
             " has too (rule ip-unique, EI0014)");
    }
    return live;
  }

  std::string Server(int index) {
    const ServerSpec& server = job_.servers(index);
    const HostFacts& host = *facts_[index];
    if (!Ipv4Address::Parse(server.address()).ok()) {
      Refuse(server.host(), ": cluster.yaml gives it no address, expected one ",
             "for server_id");
    }
    const bool silent = host.has_missing();
    if (silent) {
      Refuse(server.host(), ": no facts: ", WhyMissing(host.missing()));
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

  // REQUIRES: the host has the device, and the fact is known, or something is
  // refused.
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
  FirstMet<std::string, std::vector<int>> pods_;
  size_t next_rank_ = 0;
  std::map<std::string, std::string> owners_;  // Device by address.
  std::vector<std::string> reasons_;
};

}  // namespace

absl::StatusOr<std::string> RankTableVersionOf(const ClusterSpec& job) {
  // A table of the wrong generation is refused with EI0014 (HCCL user guide,
  // docs/zh/user_guide/cluster_info_config).
  if (job.product() == "ascend-950") {
    return absl::UnimplementedError(
        "rank table: the Ascend 950 reads version 2.0, which is not written, "
        "expected a product of version 1.0 or 1.2");
  }
  return std::string(job.product() == "atlas-a3-superpod" ? kInSuperPod
                                                          : kNotInSuperPod);
}

absl::StatusOr<std::string> WriteRankTable(
    const ClusterSpec& job, absl::Span<const HostFacts* const> facts,
    absl::string_view version) {
  if (version != kNotInSuperPod && version != kInSuperPod) {
    return InvalidArgument("version: ", QuotedText(version),
                           " is not written, expected 1.0 or 1.2");
  }
  if (facts.size() != static_cast<size_t>(job.servers_size())) {
    return FailedPrecondition(
        "facts: of ", Count(facts.size(), "host"), ", expected those of the ",
        Count(job.servers_size(), "server"), " of the job");
  }
  for (int s = 0; s < job.servers_size(); ++s) {
    if (facts[s]->host() == job.servers(s).host()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "facts: ", QuotedText(facts[s]->host()), " stands in place of ",
        job.servers(s).host(), ", expected the servers' order"));
  }
  Writer writer(job, facts);
  std::string text = writer.Write(version);
  if (!writer.reasons().empty()) {
    return absl::FailedPreconditionError(absl::StrJoin(writer.reasons(), "\n"));
  }
  // What HCCL would refuse never leaves here, whatever this forgets.
  const absl::StatusOr<RankTable> read = ParseRankTable(text);
  if (!read.ok()) return absl::FailedPreconditionError(read.status().message());
  return text;
}

}  // namespace clusterd
