// Collects what one rule finds and folds it: findings that read the same become
// one with many subjects, devices of one host one subject. Also keeps count of
// what was judged, because a rule that judged nothing has not passed.
#ifndef CONFIG_RULES_RULE_REPORT_H_
#define CONFIG_RULES_RULE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/rules/catalogue.h"
#include "config/rules/cluster_view.h"
#include "config/rules/fact_text.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Findings of one rule that are written out; what reads differently from all of
// them is gathered into one more per state. More than the devices of the
// largest supported cluster (1,152 x 16).
inline constexpr size_t kMaxFindings = 20000;

// A finding without its subjects.
struct FindingText {
  State state = FAIL;
  std::string observed = {};
  std::string expected = {};  // Empty: the rule's title.
  // Plain words, or a command.
  std::string fix = {};
  // Part of hccn_tool's command line after `-i N`, e.g. "-link -g"; the fix
  // then ends in that command for the subject's devices.
  std::string device_command = {};
  std::string why = {};     // Empty: the catalogue's.
  std::string source = {};  // Empty: the catalogue's.
  std::string caused_by = {};

  bool operator==(const FindingText& other) const;
};

// Not safe for concurrent use; `info` and `view` must outlive it.
class RuleReport {
 public:
  RuleReport(const RuleInfo& info, const ClusterView& view)
      : info_(info), view_(view) {}
  RuleReport(const RuleReport&) = delete;
  RuleReport& operator=(const RuleReport&) = delete;

  const RuleInfo& info() const { return info_; }

  // Counts a host, or a device of it, about which there is a verdict, good or
  // bad. Hosts come one after the other.
  void Judged(const HostView& host);
  void Judged(const HostView& host, size_t devices);
  // The same for a rule about the cluster as a whole.
  void JudgedCluster(std::string summary);

  // About the cluster, a host, a device, some devices of a host.
  void Add(FindingText text);
  void Add(const HostView& host, FindingText text);
  void Add(const SilentHost& host, FindingText text);
  void Add(const HostView& host, uint32_t device, FindingText text);
  void Add(const HostView& host, absl::Span<const uint32_t> devices,
           FindingText text);
  // One finding about devices of several hosts, whatever else reads the same.
  // REQUIRES: not empty.
  void AddTogether(absl::Span<const std::pair<const HostView*, uint32_t>> where,
                   FindingText text);

  // `what` of the host is not known.
  template <typename Fact>
  void AddUnknown(const HostView& host, absl::string_view what,
                  const Fact& fact) {
    AddUnknownHostFact(host, what, MissingOf(fact), WhyUnknown(fact));
  }
  // `what` of the device, which hccn_tool tells, is not known. Hosts and
  // devices on which the tool gives no answer are folded under rule hccn-tool.
  template <typename Fact>
  void AddUnknown(const HostView& host, const DeviceView& device,
                  absl::string_view what, const Fact& fact) {
    AddUnknownDevice(host, device, what, MissingOf(fact), WhyUnknown(fact));
  }
  void AddUnknownAddress(const HostView& host, const DeviceView& device);
  // A gateway or detect address that is missing or is no address.
  void AddUnknownAddress(const HostView& host, const DeviceView& device,
                         absl::string_view what, const TextFact& fact);
  // No device of the host can be judged because none was found.
  void AddNoDevices(const HostView& host);
  // The device is not judged since another rule says what is wrong with it.
  void AddSkipped(const HostView& host, const DeviceView& device,
                  std::string observed, std::string caused_by);

  // The reason that Finish gives if nothing was judged and nothing found.
  void ExplainSkip(std::string reason) { skip_reason_ = std::move(reason); }
  // Added to the summary.
  void AddNote(absl::string_view note);

  // PASS only if something was judged and nothing found; SKIPPED findings do
  // not count beside a verdict.
  RuleResult Finish() &&;

 private:
  struct Member {
    const HostFacts* host = nullptr;  // Null: the cluster.
    uint32_t order = 0;
    uint32_t device = 0;
    bool has_device = false;
  };
  struct Group {
    FindingText text;
    std::vector<Member> members;
  };

  void AddMember(FindingText text, const Member& member);
  Group* GroupOf(FindingText text);
  void AddUnknownHostFact(const HostView& host, absl::string_view what,
                          const Missing* missing, const std::string& reason);
  void AddUnknownDevice(const HostView& host, const DeviceView& device,
                        absl::string_view what, const Missing* missing,
                        const std::string& reason);
  void WriteGroup(Group* group, RuleResult* result) const;
  void WriteFinding(const FindingText& text, absl::Span<const Member> members,
                    RuleResult* result) const;
  std::string FixText(const FindingText& text,
                      absl::Span<const uint32_t> devices) const;
  std::string Summary() const;

  const RuleInfo& info_;
  const ClusterView& view_;
  std::vector<Group> groups_;
  // From the hash of a text to the last group that has it.
  absl::flat_hash_map<size_t, size_t> group_of_;
  absl::flat_hash_map<int, size_t> overflow_of_;
  size_t judged_hosts_ = 0;
  size_t judged_devices_ = 0;
  const HostView* last_judged_ = nullptr;
  bool counts_devices_ = false;
  std::string cluster_summary_;
  std::string notes_;
  std::string skip_reason_;
};

// Calls visit(host, device) for every device; a host without one gets its
// unknown.
template <typename Visit>
void ForEachDevice(const ClusterView& view, RuleReport& report, Visit visit) {
  for (const HostView& host : view.hosts()) {
    if (host.devices.empty()) report.AddNoDevices(host);
    for (const DeviceView& device : host.devices) visit(host, device);
  }
}

// The same for devices with an address; the others get their finding.
template <typename Visit>
void ForEachAddress(const ClusterView& view, RuleReport& report, Visit visit) {
  ForEachDevice(
      view, report, [&](const HostView& host, const DeviceView& device) {
        if (device.address_known == Known::kYes) {
          visit(host, device);
        } else if (device.address_known == Known::kUnset) {
          report.AddSkipped(host, device, "no address is set", "device-ip-set");
        } else {
          report.AddUnknownAddress(host, device);
        }
      });
}

// "-ip -s address A netmask M" with the planned values; empty without a plan.
std::string SetPlannedAddress(const DeviceView& device);

// "hccn_tool -i 3 …"; empty if `arguments` is.
std::string ToolCommand(uint32_t device, absl::string_view arguments);

}  // namespace clusterd

#endif  // CONFIG_RULES_RULE_REPORT_H_
