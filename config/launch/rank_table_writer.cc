#include "config/launch/rank_table_writer.h"

#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/launch/rank_table.h"
#include "config/values/ipv4.h"
#include "config/words/fact_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr absl::string_view kNotInSuperPod = "1.0";
constexpr absl::string_view kInSuperPod = "1.2";

const DeviceFacts* FindDevice(const HostFacts& host, uint32_t id) {
  const auto found = absl::c_find_if(
      host.devices(),
      [id](const DeviceFacts& device) { return device.id() == id; });
  return found == host.devices().end() ? nullptr : &*found;
}

// Nothing in it needs an escape: addresses are parsed, ids are digits, and a
// super pod's id is checked.
bool IsPlainWord(absl::string_view text) {
  return !text.empty() && absl::c_all_of(text, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '-' || c == '.';
  });
}

class Writer {
 public:
  Writer(const ClusterSpec& job, absl::Span<const HostFacts* const> facts,
         absl::Span<const SuperPodPlace> places)
      : job_(job), facts_(facts), places_(places) {}

  std::string Write(absl::string_view version) {
    in_super_pod_ = version == kInSuperPod;
    if (in_super_pod_) CheckPlaces();
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

  void CheckPlaces() {
    if (places_.size() != static_cast<size_t>(job_.servers_size())) {
      Refuse(
          "super pod: clusterd does not read super pod ids and SDIDs of hosts, "
          "expected them for version 1.2; npu-smi info -t spod-info tells them "
          "on each host");
      places_ = {};
      return;
    }
    for (int s = 0; s < job_.servers_size(); ++s) {
      const ServerSpec& server = job_.servers(s);
      const SuperPodPlace& place = places_[s];
      if (place.super_device_ids.size() ==
              static_cast<size_t>(server.devices_size()) &&
          IsPlainWord(place.super_pod_id) &&
          absl::c_all_of(place.super_device_ids, IsPlainWord)) {
        continue;
      }
      Refuse(server.host(), ": super pod id ", QuotedText(place.super_pod_id),
             " with ", Count(place.super_device_ids.size(), "SDID"),
             ", expected an id and ", Count(server.devices_size(), "number"));
      places_ = {};
      return;
    }
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
    // in a super pod it uses the virtual NICs.
    if (settings.empty() &&
        (job_.roce_unused() || in_super_pod_ || job_.servers_size() == 1)) {
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
          places_.empty()
              ? ""
              : absl::StrCat(", \"super_device_id\":\"",
                             places_[index].super_device_ids[d], "\""),
          " }"));
    }
    return absl::StrCat("        {\n            \"device\":[\n",
                        absl::StrJoin(lines, ",\n"),
                        "\n            ],\n            \"server_id\":\"",
                        server.address(), "\"\n        }");
  }

  std::string SuperPods() const {
    FirstMet<std::string, std::vector<std::string>> pods;
    for (int s = 0; s < job_.servers_size(); ++s) {
      pods[places_[s].super_pod_id].push_back(
          absl::StrCat("                { \"server_id\":\"",
                       job_.servers(s).address(), "\" }"));
    }
    std::vector<std::string> texts;
    for (const auto& [id, servers] : pods) {
      texts.push_back(
          absl::StrCat("        {\n            \"server_list\":[\n",
                       absl::StrJoin(servers, ",\n"),
                       "\n            ],\n            \"super_pod_id\":\"", id,
                       "\"\n        }"));
    }
    return absl::StrCat("    \"super_pod_list\":[\n",
                        absl::StrJoin(texts, ",\n"), "\n    ],\n");
  }

  const ClusterSpec& job_;
  const absl::Span<const HostFacts* const> facts_;
  absl::Span<const SuperPodPlace> places_;  // Empty: none that can be used.
  bool in_super_pod_ = false;
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
    absl::string_view version, absl::Span<const SuperPodPlace> places) {
  if (version != kNotInSuperPod && version != kInSuperPod) {
    return absl::InvalidArgumentError(
        absl::StrCat("version: ", QuotedText(version),
                     " is not written, expected 1.0 or 1.2"));
  }
  if (facts.size() != static_cast<size_t>(job.servers_size())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "facts: of ", Count(facts.size(), "host"), ", expected those of the ",
        Count(job.servers_size(), "server"), " of the job"));
  }
  for (int s = 0; s < job.servers_size(); ++s) {
    if (facts[s]->host() == job.servers(s).host()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "facts: ", QuotedText(facts[s]->host()), " stands in place of ",
        job.servers(s).host(), ", expected the servers' order"));
  }
  Writer writer(job, facts, places);
  std::string text = writer.Write(version);
  if (!writer.reasons().empty()) {
    return absl::FailedPreconditionError(absl::StrJoin(writer.reasons(), "\n"));
  }
  // What HCCL would refuse never leaves here, whatever this forgets.
  const absl::StatusOr<RankTable> read = ParseRankTable(text);
  if (!read.ok()) {
    return absl::FailedPreconditionError(read.status().message());
  }
  return text;
}

}  // namespace clusterd
