// Collects and folds the findings of one rule: findings that read the same
// become one with many subjects, devices of one host one subject. Also counts
// what was judged, because a rule that judged nothing has not passed.
#ifndef CONFIG_RULES_RULE_REPORT_H_
#define CONFIG_RULES_RULE_REPORT_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/rules/catalogue.h"
#include "config/rules/finding_words.h"
#include "config/rules/view/cluster_view.h"
#include "config/words/fact_text.h"
#include "config/words/words.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The limit of findings of one rule; others are gathered into one more per
// state. More than the devices of the largest supported cluster (1,152 x 16).
inline constexpr size_t kMaxFindings = 20000;

// A finding without its subjects.
struct NamedFinding {
  State state = UNKNOWN;
  absl::string_view name = {};
  FindingValues values = {};   // In the order of the row.
  std::string caused_by = {};  // Another rule, which says it too.
  FindingValue expects = {};   // Replaces the row's.
  const RuleFinding* row = nullptr;
  bool has_command = false;        // For each device, as the row says.
  bool by_hand = false;            // No plan sets it right.
  const Waiver* waiver = nullptr;  // In force for all subjects.
};

// Findings of rules so far, and those that addresses may explain and that
// remain once every device has its planned one.
struct FoundSoFar {
  Causes as_is;
  Causes as_planned;
  // Only the notes in `as_is` are used.
  bool causes_only = false;
};

// Not safe for concurrent use; its arguments must outlive it. Notes its
// findings in `found->as_is`, and reads causes there; null: neither.
class RuleReport {
 public:
  RuleReport(const Rule& rule, const ClusterView& view,
             FoundSoFar* found = nullptr)
      : rule_(rule), view_(view), found_(found) {}
  RuleReport(const RuleReport&) = delete;
  RuleReport& operator=(const RuleReport&) = delete;

  // Counts a host, or a device of it, about which there is a verdict, good or
  // bad. Hosts come one after the other.
  void Judged(const HostView& host);
  void Judged(const DeviceView& device);
  // The same for a rule about the cluster as a whole.
  void JudgedCluster(FindingValue seen) { seen_ = std::move(seen); }

  // The finding of that name among the shared ones and the rule's, otherwise
  // the rule's one without a name, with the values that its row in texts/ asks
  // for. REQUIRES: there is one.
  template <typename... Values>
  NamedFinding Named(absl::string_view name, const Values&... values) const {
    FindingValues made;
    (void(*made.Add() = ToFindingValue(values)), ...);
    return WithValues(name, std::move(made));
  }

  // About the cluster, a host, a device.
  void Add(NamedFinding finding);
  void Add(const HostView& host, NamedFinding finding) {
    Add(host, absl::Span<const uint32_t>(), std::move(finding));
  }
  void Add(const DeviceView& device, NamedFinding finding) {
    Add(*device.host, {device.id}, std::move(finding));
  }
  // About devices by their ids, which the host need not have; none: the host.
  void Add(const HostView& host, absl::Span<const uint32_t> devices,
           NamedFinding finding);
  // About devices of any hosts; none: the cluster.
  void Add(absl::Span<const DeviceView* const> devices, NamedFinding finding);
  // The same with the finding of that name.
  template <typename Whom, typename... Values>
  void Add(const Whom& whom, absl::string_view name, const Values&... values) {
    Add(whom, Named(name, values...));
  }

  // True if the fact has a value; otherwise adds that `what` of the host, a
  // term or words, is not known, why, and how to learn it.
  template <typename What, typename Fact>
  bool Knows(const HostView& host, const What& what, const Fact& fact) {
    if (IsKnown(fact)) return true;
    const Missing* missing = MissingOf(fact);
    Add(host, "not-known", Term(what), MissingWords(missing),
        LearnWords(missing));
    return false;
  }
  // The same for a device. Hosts and devices without answers of hccn_tool are
  // folded under rule hccn-tool, dead devices under device-count.
  template <typename What, typename Value>
  bool Knows(const DeviceView& device, const What& what,
             const Reading<Value>& reading) {
    if (reading.has_value()) return true;
    AddUnknown(device, Term(what), reading.missing, reading.Why());
    return false;
  }
  // Calls visit(device) for every device; a host without one gets its unknown.
  template <typename Visit>
  void ForEachDevice(Visit visit) {
    for (const HostView& host : view_.hosts()) {
      if (host.devices.empty()) AddNoDevices(host);
      for (const DeviceView& device : host.devices) visit(device);
    }
  }
  // The same for devices of which `reading`, a member, is known; the others get
  // their unknown, in which it is called `what`.
  template <typename Member, typename Visit>
  void ForEachKnown(absl::string_view what, Member DeviceView::*reading,
                    Visit visit) {
    ForEachDevice([&](const DeviceView& device) {
      if (Knows(device, what, device.*reading)) visit(device);
    });
  }
  // The same for devices with an address; the others get their finding.
  template <typename Visit>
  void ForEachAddress(Visit visit) {
    ForEachKnown("address", &DeviceView::addresses, [&](const DeviceView& d) {
      if (d.HasAddress()) return visit(d);
      AddSkipped(d, "no address is set", "device-ip-set");
    });
  }
  // Skips a device of another rule's finding; `observed` is a term or words.
  template <typename What>
  void AddSkipped(const DeviceView& device, const What& observed,
                  absl::string_view caused_by) {
    counts_devices_ = true;
    Add(device, "judged-elsewhere", Term(observed), caused_by);
  }

  // The reason that Finish gives if nothing was judged and nothing found: words
  // of texts/ with their values.
  template <typename... Values>
  void SkipFor(absl::string_view name, const Values&... values) {
    skip_ = Worded(name, values...);
  }
  // Adds words to the summary, behind what was judged.
  template <typename... Values>
  void Note(absl::string_view name, const Values&... values) {
    *notes_.Add() = Worded(name, values...);
  }

  // PASS only if something was judged and nothing found; SKIPPED findings do
  // not count beside a verdict.
  RuleResult Finish() &&;
  // The result of a rule that did not run.
  RuleResult Skip(FindingValue reason) const;

 private:
  struct Member {
    // Sorts by spec order; a host itself before its devices.
    bool operator<(const Member& other) const {
      return std::tie(order, device) < std::tie(other.order, other.device);
    }
    bool operator==(const Member& other) const {
      return order == other.order && device == other.device;
    }

    const HostFacts* host = nullptr;  // Null: the cluster.
    uint32_t order = 0;
    std::optional<uint32_t> device = std::nullopt;
  };
  using Members = absl::InlinedVector<Member, 1>;
  struct Group {
    NamedFinding finding;
    Members members;
  };

  NamedFinding WithValues(absl::string_view name, FindingValues values) const;
  Group* GroupOf(NamedFinding&& finding);
  void AddMembers(absl::Span<const Member> members, NamedFinding&& finding);
  void AddNoDevices(const HostView& host);
  void AddUnknown(const DeviceView& device, const FindingValue& what,
                  const Missing* missing, const FindingValue& reason);
  void WriteGroup(Group* group, RuleResult* result) const;
  void WriteMembers(NamedFinding&& named, absl::Span<const Member> members,
                    RuleResult* result) const;
  void WriteFinding(NamedFinding&& named, absl::Span<const Member> members,
                    RuleResult* result) const;
  FindingValue Seen() const;

  const Rule& rule_;
  const ClusterView& view_;
  FoundSoFar* const found_;
  std::deque<Group> groups_;
  absl::flat_hash_map<std::string, size_t> group_of_;  // By KeyOf.
  absl::flat_hash_set<const HostView*> judged_hosts_;
  size_t judged_devices_ = 0;
  bool counts_devices_ = false;
  FindingValue seen_;  // The whole cluster's.
  FindingValues notes_;
  FindingValue skip_;
};

// Changes each finding. The result then has the state of its worst one.
void ChangeEach(RuleResult* result,
                absl::FunctionRef<void(Finding* finding)> change);

// The name of the finding about a value of an enum, "socket-fail".
std::string FindingName(absl::string_view enum_name);

// The arguments of hccn_tool after `-i N` to set an address, e.g. "-ip -s
// address A netmask M".
std::string SetCommand(const Ipv4Interface& interface);
std::string SetCommand(const AddressKind& kind, Ipv4Address address);

// The same with the planned values; empty without a plan.
std::string SetPlanned(const DeviceView& device);
std::string SetPlanned(const AddressKind& kind, const DeviceView& device);

// The number of addresses, gateways and detect addresses that a plan sets on a
// host whose device network was never configured: every device has an address
// planned and nothing set, and hccn.conf is absent or has the tool's own lines
// alone. Assumes that the file exists and all changes are allowed. Otherwise 0.
size_t ValuesNeverSet(const ClusterSpec& spec, const HostView& host);

}  // namespace clusterd

#endif  // CONFIG_RULES_RULE_REPORT_H_
