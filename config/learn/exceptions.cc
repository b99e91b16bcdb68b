#include "config/learn/exceptions.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/rules/judge.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// What the file says or leaves at what is advised, of a host as a whole.
constexpr const char* kHostRules[] = {
    "ports-reserved",  "listen-backlog", "syn-backlog",    "sysctl-persistent",
    "backlog-uniform", "firewall",       "version-uniform"};

class ExceptionFinder {
 public:
  explicit ExceptionFinder(const ClusterSpec& spec)
      : spec_(spec), generation_(MakeObserveRequest(spec).generation()) {}

  void CompareHost(const SeenHost& host, const ServerSpec& server) {
    if (host.silent) return Add(host, "gave no facts, planned by the pattern");
    if (host.facts != nullptr) {
      if (host.facts->hccn_tool().generation() != generation_) {
        Add(host, "has the hccn_tool of another product");
      }
      if (host.facts->device_ids().has_missing()) {
        return Add(host, "device ids not known, planned by the pattern");
      }
    }
    for (const DeviceSpec& device : server.devices()) {
      const SeenDevice* const seen = FindDevice(host, device.id());
      if (seen == nullptr) {
        Add(host, "is not there", device.id());
      } else {
        CompareDevice(host, *seen, device);
      }
    }
  }

  // In the words of a check.
  void JudgeHosts(absl::Span<const SeenHost* const> hosts) {
    std::vector<const HostFacts*> facts;
    for (const SeenHost* host : hosts) {
      if (host->facts != nullptr && !host->silent) facts.push_back(host->facts);
    }
    JudgeOptions options;
    for (const char* rule : kHostRules) options.selection.add_only(rule);
    const Report report = BuildReport(spec_, facts, options);
    for (const RuleResult& rule : report.rules()) {
      for (const Finding& finding : rule.findings()) {
        if (finding.state() != FAIL && finding.state() != WARN) continue;
        const std::string what = PrintableText(absl::StrCat(
            finding.observed(), ", expected ", finding.expected()));
        for (const Subject& subject : finding.subjects()) {
          if (!subject.host().empty()) found_[{subject.host(), what}];
        }
      }
    }
  }

  std::vector<SpecException> Take() {
    FirstMet<std::pair<std::string, std::string>, std::vector<std::string>>
        folded;
    for (const auto& [key, ids] : found_) {
      folded[{DevicesText(ids), key.second}].push_back(key.first);
    }
    std::vector<SpecException> exceptions;
    for (const auto& [key, hosts] : folded) {
      exceptions.push_back({hosts, key.first, key.second});
    }
    return exceptions;
  }

 private:
  void Add(const SeenHost& host, const std::string& what,
           std::optional<uint32_t> id = std::nullopt) {
    auto& ids = found_[{host.name, what}];
    if (id.has_value()) ids.push_back(*id);
  }

  void CompareDevice(const SeenHost& host, const SeenDevice& seen,
                     const DeviceSpec& planned) {
    const auto compare = [&](absl::string_view name, const std::string& live,
                             const std::string& wanted) {
      if (live == wanted || wanted.empty()) return;
      Add(host,
          absl::StrCat(live.empty() ? "no " : "", name, live.empty() ? "" : " ",
                       live, ", planned ", wanted),
          seen.id);
    };
    const auto text = [](const auto& address) {
      return address.IsUnset() ? "" : address.ToString();
    };
    const auto wanted =
        Ipv4Interface::Parse(planned.address(), planned.netmask());
    if (wanted.ok() && seen.address.has_value()) {
      compare("address",
              seen.address->address().IsUnset() ? "" : seen.address->ToString(),
              wanted->ToString());
    } else if (wanted.ok()) {
      Add(host, "address not known, planned by the pattern", seen.id);
    }
    if (seen.gateway)
      compare("gateway", text(*seen.gateway), planned.gateway());
    if (seen.detect_address) {
      compare("detect address", text(*seen.detect_address),
              planned.detect_address());
    }
    if (seen.mtu && spec_.has_mtu()) {
      compare("mtu", absl::StrCat(*seen.mtu), absl::StrCat(spec_.mtu()));
    }
    if (seen.tls && spec_.has_tls()) {
      compare("TLS switch", *seen.tls ? "on" : "off",
              spec_.tls() ? "on" : "off");
    }
  }

  const ClusterSpec& spec_;
  const NpuToolFacts::Generation generation_;
  // Device ids by host and what is different.
  std::map<std::pair<std::string, std::string>, std::vector<uint32_t>> found_;
};

}  // namespace

std::vector<SpecException> FindExceptions(
    const ClusterSpec& spec, absl::Span<const SeenHost* const> hosts) {
  ExceptionFinder finder(spec);
  for (size_t s = 0; s < hosts.size(); ++s) {
    finder.CompareHost(*hosts[s], spec.servers(static_cast<int>(s)));
  }
  finder.JudgeHosts(hosts);
  return finder.Take();
}

}  // namespace clusterd
