#include "config/learn/spec_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "absl/algorithm/container.h"
#include "config/learn/address_layout.h"
#include "config/rules/judge.h"
#include "config/spec/mistakes.h"
#include "config/spec/network_keys.h"
#include "config/spec/spec_loader.h"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// The rules of the settings of a whole host that the file has.
constexpr const char* kHostRules[] = {
    "ports-reserved",  "listen-backlog", "syn-backlog",    "sysctl-persistent",
    "backlog-uniform", "firewall",       "version-uniform"};

class ExceptionFinder {
 public:
  explicit ExceptionFinder(const ClusterSpec& spec)
      : spec_(spec), generation_(MakeObserveRequest(spec).generation()) {}

  // Folds equal exceptions, in the current language. An exception of the host
  // itself uses the words of the rules, and needs the host's facts. REQUIRES:
  // `hosts` are the servers of the file, in their order.
  std::vector<SpecException> Find(absl::Span<const SeenHost* const> hosts) {
    for (size_t s = 0; s < hosts.size(); ++s) {
      CompareHost(*hosts[s], spec_.servers(static_cast<int>(s)));
    }
    JudgeHosts(hosts);
    FirstSeen<std::pair<std::string, std::string>, std::vector<std::string>>
        folded;
    for (const auto& [key, ids] : found_) {
      folded[{DevicesText(ids), key.second}].push_back(key.first);
    }
    return Each<SpecException>(folded, [](const auto& each) {
      return SpecException{each.second, each.first.first, each.first.second};
    });
  }

 private:
  void CompareHost(const SeenHost& host, const ServerSpec& server) {
    if (host.silent) return Add(host, Say("spec-gave-no-facts"));
    if (host.facts != nullptr) {
      if (host.facts->hccn_tool().generation() != generation_) {
        Add(host, Say("spec-has-other-tool"));
      }
      if (host.facts->device_ids().has_missing()) {
        return Add(host, Say("spec-ids-not-known"));
      }
    }
    for (const DeviceSpec& device : server.devices()) {
      const SeenDevice* const seen = FindDevice(host, device.id());
      if (seen == nullptr) {
        Add(host, Say("spec-is-not-there"), device.id());
      } else {
        CompareDevice(host, *seen, device);
      }
    }
    const auto planned = Each<uint32_t>(server.devices(), &DeviceSpec::id);
    for (const SeenDevice& seen : host.devices) {
      if (!seen.HasAddress() || absl::c_linear_search(planned, seen.id))
        continue;
      Add(host, Say("spec-has-unplanned-address"), seen.id);
    }
  }

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
        const std::string what = PrintableText(
            Say("spec-observed", finding.observed(), finding.expected()));
        for (const Subject& subject : finding.subjects()) {
          if (!subject.host().empty()) found_[{subject.host(), what}];
        }
      }
    }
  }

  void Add(const SeenHost& host, const std::string& what,
           std::optional<uint32_t> id = std::nullopt) {
    auto& ids = found_[{host.name, what}];
    if (id.has_value()) ids.push_back(*id);
  }

  void CompareDevice(const SeenHost& host, const SeenDevice& seen,
                     const DeviceSpec& planned) {
    const FindingValue none = Worded("spec-none");
    const auto compare = [&](absl::string_view name, const std::string& live,
                             const std::string& wanted) {
      // Rule gateway compares devices without a planned one.
      if (live == wanted || (wanted.empty() && name != "gateway")) return;
      Add(host,
          Say(live.empty() ? "spec-has-none" : "spec-has", Term(name),
              wanted.empty() ? none : ToFindingValue(wanted), live),
          seen.id);
    };
    const auto text = [](const auto& address) {
      return address.IsUnset() ? "" : address.ToString();
    };
    const auto wanted =
        Ipv4Interface::Parse(planned.address(), planned.netmask());
    if (wanted.ok() && seen.address.has_value()) {
      compare("address", seen.HasAddress() ? seen.address->ToString() : "",
              wanted->ToString());
    } else if (wanted.ok()) {
      Add(host, Say("spec-address-not-known"), seen.id);
    }
    if (seen.gateway && wanted.ok()) {
      compare("gateway", text(*seen.gateway), planned.gateway());
    }
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
  // Device ids, keyed by host and difference.
  std::map<std::pair<std::string, std::string>, std::vector<uint32_t>> found_;
};

constexpr char kFile[] = "cluster.yaml";
constexpr size_t kMaxShown = 200;          // Exceptions, as comments.
constexpr uint64_t kKernelBacklog = 4096;  // Linux since 5.4; before, 128.

using Field = const std::string& (DeviceSpec::*)() const;

class Writer {
 public:
  explicit Writer(const SeenCluster& seen) : seen_(seen) {}

  absl::StatusOr<WrittenSpec> Write() {
    written_.notes = seen_.notes;
    ASSIGN_OR_RETURN(hosts_, OrderHosts(seen_.hosts, &written_.notes));
    ChooseIds();
    std::string servers = Servers();
    if (ids_.empty()) return WithoutAddresses(servers);
    std::vector<std::string> patterns;
    for (const AddressLayout& layout : FindLayouts(placed_, ids_)) {
      if (2 * layout.explained > known_) patterns.push_back(layout.rails);
    }
    if (!Choose(servers, patterns).ok()) {
      RETURN_IF_ERROR(DropUnlisted());
      servers = Servers();
      RETURN_IF_ERROR(Choose(servers, {ListedAddresses()}));
      written_.pattern = Say("spec-each-is-listed");
    }
    if (!refused_.empty()) {
      Note("spec-note-refused", refused_);
    }
    AddSources();
    return Settle();
  }

 private:
  template <typename... Values>
  void Note(absl::string_view row, const Values&... values) {
    written_.notes.push_back(Worded(row, values...));
  }

  // Does not plan devices that have an address on at most half of their hosts,
  // unless this is true of all: two hosts, one of them not set up.
  void ChooseIds() {
    std::vector<uint32_t> some, unused;
    for (const uint32_t id : MajorityIds(seen_.hosts)) {
      size_t known = 0, used = 0;
      for (const SeenHost* host : hosts_) {
        const SeenDevice& device = DeviceOf(*host, id);
        known += device.address.has_value();
        used += device.HasAddress();
      }
      (2 * used > known ? ids_ : used > 0 ? some : unused).push_back(id);
    }
    if (ids_.empty()) {
      ids_.swap(some);
      is_tied_ = !ids_.empty();
    }
    unused.insert(unused.end(), some.begin(), some.end());
    if (!unused.empty() && !ids_.empty()) {
      Note("spec-note-not-planned", DevicesValue(unused));
    }
  }

  std::string Servers() {
    placed_.clear();
    const std::string text = GroupHosts(hosts_, &placed_);
    for (size_t s = 0; s < hosts_.size(); ++s) {
      for (const uint32_t id : ids_) {
        const SeenDevice& device = DeviceOf(*hosts_[s], id);
        placed_[s].addresses.push_back(device.HasAddress() ? device.address
                                                           : std::nullopt);
        known_ += device.HasAddress();
      }
    }
    return text;
  }

  std::string Head(const ProductProfile& profile) const {
    return absl::StrCat(
        "version: 1\nname: ", YamlName(seen_.name), "\nproduct: ", profile.name,
        "\n",
        profile.mode.empty() ? "" : absl::StrCat("mode: ", profile.mode, "\n"),
        "\n");
  }

  // True if every device reported that it has no address.
  bool AllAreUnset() const {
    bool any = false;
    for (const SeenHost* host : hosts_) {
      for (const SeenDevice& device : host->devices) {
        if (!device.address.has_value()) return false;
        any = true;
      }
    }
    return any;
  }

  // For a super pod without addresses: the file says that jobs need none.
  absl::StatusOr<WrittenSpec> WithoutAddresses(const std::string& servers) {
    const ProductProfile& profile = *seen_.profiles[0];
    if (profile.in_super_pod && AllAreUnset()) {
      written_.pattern = Say("spec-roce-is-unused");
      body_ = absl::StrCat(Head(profile), servers, "\nroce: unused\n");
      return Settle();
    }
    Note("spec-note-fill-in");
    ids_ = profile.device_ids;
    if (ids_.empty()) ids_ = {0, 1, 2, 3, 4, 5, 6, 7};
    const auto plans = ExampleRails(profile, ids_, hosts_.size());
    const bool found = Choose(servers, plans).ok() && refused_.empty();
    written_.pattern.clear();
    body_ = found ? AsExample(body_)
                  : absl::StrCat(Head(profile), servers,
                                 "\ndevices:\n  # Fill in\n");
    return Finish();
  }

  // Takes the first of `devices` whose file loads and passes the product's
  // rules, otherwise the first whose file loads. Returns why none loads.
  absl::Status Choose(const std::string& servers,
                      const std::vector<std::string>& devices) {
    absl::Status why;
    for (const std::string& text : devices) {
      for (const ProductProfile* profile : seen_.profiles) {
        const std::string body = absl::StrCat(Head(*profile), servers, "\n",
                                              DevicesHead(*profile), text);
        absl::StatusOr<ClusterSpec> spec = LoadSpec(kFile, body);
        why.Update(spec.status());
        if (!spec.ok()) continue;
        const std::string problem = Refusal(*spec);
        if (!body_.empty() && !problem.empty()) continue;
        refused_ = problem;
        body_ = body;
        spec_ = *std::move(spec);
        written_.pattern = ValueText(PatternWords(text));
        if (problem.empty()) return absl::OkStatus();
      }
    }
    if (!body_.empty()) return absl::OkStatus();
    return why.ok() ? absl::NotFoundError("no pattern") : why;
  }

  static std::string Refusal(const ClusterSpec& spec) {
    const InLanguage english(Language::kEnglish);  // The file's language.
    for (const Finding& finding : JudgePlannedAddresses(spec)) {
      if (finding.state() != FAIL) continue;
      return absl::StrCat(SubjectsText(finding.subjects(), 1, 60), ": ",
                          finding.observed(), ", expected ", finding.expected(),
                          " (rule ", finding.rule(), ")");
    }
    return "";
  }

  std::string DevicesHead(const ProductProfile& profile) const {
    return absl::StrCat("devices:\n",
                        profile.device_ids == ids_
                            ? ""
                            : absl::StrCat("  ids: ", FoldIds(ids_), "\n"));
  }

  // Lists only hosts whose addresses are all known and on no other device.
  absl::Status DropUnlisted() {
    std::vector<const SeenHost*> kept;
    FirstSeen<std::string, std::vector<std::string>> dropped;
    std::set<uint32_t> taken;
    for (size_t s = 0; s < hosts_.size(); ++s) {
      std::set<uint32_t> own;
      bool has_twice = false;
      for (const auto& address : placed_[s].addresses) {
        if (!address.has_value()) continue;
        const uint32_t bits = address->address().bits();
        if (taken.count(bits) == 0) has_twice |= !own.insert(bits).second;
      }
      if (own.size() == ids_.size()) {
        taken.insert(own.begin(), own.end());
        kept.push_back(hosts_[s]);
      } else {
        dropped[has_twice ? "spec-note-one-address" : "spec-note-not-listed"]
            .push_back(hosts_[s]->name);
      }
    }
    for (const auto& [row, names] : dropped) Note(row, HostsValue(names, 100));
    hosts_ = std::move(kept);
    if (!hosts_.empty()) return absl::OkStatus();
    return InvalidWords("msg-learn-no-pattern", written_.notes.back());
  }

  std::string ListedAddresses() const {
    std::map<std::string, size_t> masks;
    std::string text;
    for (const PlacedServer& server : placed_) {
      std::vector<std::string> addresses;
      for (const auto& address : server.addresses) {
        if (!address.has_value()) continue;
        ++masks[address->subnet().netmask().ToString()];
        addresses.push_back(address->address().ToString());
      }
      absl::StrAppend(
          &text, "    ",
          YamlName(hosts_[static_cast<size_t>(server.inputs.n)]->name), ": ",
          ListText(addresses), "\n");
    }
    return absl::StrCat("  netmask: ", Majority(masks).value_or(""),
                        "\n  addresses:\n", text);
  }

  using Source = std::optional<Ipv4Address> SeenDevice::*;

  // Gateways, then detect addresses, which may depend on them.
  void AddSources() {
    const Source gateway = &SeenDevice::gateway;
    const std::string whole = HostParts(gateway, true);
    Try("gateway", {whole, HostParts(gateway, false)}, &DeviceSpec::gateway,
        gateway);
    const bool is_shared = seen_.profiles[0]->one_gateway_per_four;
    if (!is_shared && whole.find("none") < whole.size())
      Note("spec-note-some-gateways", whole);
    const Source detect = &SeenDevice::detect_address;
    Try("detect_address",
        {"gateway", hosts_.size() == 2 ? "peer(1 - n, d)" : "",
         "peer((n+1) % servers, d)", HostParts(detect, true),
         HostParts(detect, false)},
        &DeviceSpec::detect_address, detect);
  }

  // The address that most have, for each device: "10.20.0.254", "[10.20.0.254,
  // none]"; unless `whole`, inside of a device's own subnet only its host part,
  // "254", which hosts with other subnets can share. Empty if all are `none`.
  std::string HostParts(Source member, bool whole) const {
    std::vector<std::string> items;
    for (const uint32_t id : ids_) {
      std::map<std::string, size_t> votes;
      for (const SeenHost* host : hosts_) {
        const SeenDevice& device = DeviceOf(*host, id);
        if (!device.HasAddress() || !(device.*member).has_value()) continue;
        const Ipv4Address value = *(device.*member);
        const Ipv4Subnet subnet = device.address->subnet();
        ++votes[value.IsUnset() ? "none"
                : !whole && subnet.Contains(value)
                    ? absl::StrCat(value.bits() - subnet.network().bits())
                    : value.ToString()];
      }
      items.push_back(Majority(votes).value_or("none"));
    }
    if (absl::c_count(items, items[0]) < static_cast<int64_t>(items.size())) {
      return ListText(items);
    }
    return items[0] == "none" ? "" : items[0];
  }

  // Writes the key with the most common text, if the file still loads.
  void Try(absl::string_view key, const std::vector<std::string>& texts,
           Field planned, Source live) {
    size_t best = Agreeing(spec_, planned, live);
    const std::string body = body_;
    for (const std::string& text : texts) {
      if (text.empty()) continue;
      const std::string tried = absl::StrCat(body, "  ", key, ": ", text, "\n");
      absl::StatusOr<ClusterSpec> spec = LoadSpec(kFile, tried);
      if (!spec.ok()) continue;
      const size_t agreeing = Agreeing(*spec, planned, live);
      if (agreeing <= best) continue;
      best = agreeing;
      body_ = tried;
      spec_ = *std::move(spec);
    }
  }

  size_t Agreeing(const ClusterSpec& spec, Field planned, Source live) const {
    size_t agreeing = 0;
    for (size_t s = 0; s < hosts_.size(); ++s) {
      for (const DeviceSpec& device :
           spec.servers(static_cast<int>(s)).devices()) {
        const auto& seen = DeviceOf(*hosts_[s], device.id()).*live;
        if (!seen.has_value()) continue;
        agreeing +=
            (device.*planned)() == (seen->IsUnset() ? "" : seen->ToString());
      }
    }
    return agreeing;
  }

  // The value that most hosts, or most of their devices, have. If there is no
  // majority, a note names the key.
  template <typename Value, typename Owner>
  std::optional<Value> Most(absl::string_view key,
                            std::optional<Value> Owner::*member) {
    std::map<Value, size_t> votes;
    size_t all = 0;
    const auto count = [&](const Owner& owner) {
      if (!(owner.*member).has_value()) return;
      ++votes[*(owner.*member)];
      ++all;
    };
    for (const SeenHost* host : hosts_) {
      if constexpr (std::is_same_v<Owner, SeenHost>) {
        count(*host);
      } else {
        for (const uint32_t id : ids_) count(DeviceOf(*host, id));
      }
    }
    const std::optional<Value> chosen = Majority(votes);
    if (chosen.has_value() && 2 * votes.at(*chosen) <= all) {
      is_tied_ = true;
      Note("spec-note-no-majority", key, votes.at(*chosen), all);
    }
    return chosen;
  }

  // Writes a value that most hosts run if an administrator raised it.
  void AddKernel() {
    std::string kernel;
    const auto add = [&](absl::string_view key, std::optional<uint64_t> value) {
      if (!value.has_value()) return;
      if (*value > kKernelBacklog && *value <= 2147483647) {
        absl::StrAppend(&kernel, "  ", key, ": ", *value, "\n");
      } else {
        Note("spec-note-kernel", key, *value);
      }
    };
    add("somaxconn", Most("kernel.somaxconn", &SeenHost::somaxconn));
    add("tcp_max_syn_backlog",
        Most("kernel.tcp_max_syn_backlog", &SeenHost::syn_backlog));
    if (Most("kernel.persistent", &SeenHost::persistent).value_or(false)) {
      absl::StrAppend(&kernel, "  persistent: true\n");
    }
    if (!kernel.empty()) absl::StrAppend(&body_, "kernel:\n", kernel);
  }

  void AddSettings() {
    absl::StrAppend(&body_, "\n");
    AddKernel();
    const auto say = [&](absl::string_view key, std::optional<bool> value,
                         absl::string_view yes, absl::string_view no) {
      if (!value.has_value()) return;
      absl::StrAppend(&body_, key, ": ", *value ? yes : no, "\n");
    };
    say("firewall", Most("firewall", &SeenHost::firewall_runs), "open-ports",
        "disabled");
    say("tls", Most("tls", &SeenDevice::tls), "true", "false");
    const auto mtu = Most("mtu", &SeenDevice::mtu);
    if (mtu.has_value() && *mtu >= 1280 && *mtu <= 9702) {
      absl::StrAppend(&body_, "mtu: ", *mtu, "\n");
    }
    absl::StrAppend(&body_, LosslessText(seen_.lossless));
  }

  // Writes the rest of a file whose devices are planned.
  absl::StatusOr<WrittenSpec> Settle() {
    AddSettings();
    ASSIGN_OR_RETURN(const ClusterSpec spec, LoadSpec(kFile, body_));
    written_.exceptions = ExceptionFinder(spec).Find(hosts_);
    const InLanguage english(Language::kEnglish);
    exceptions_ = ExceptionFinder(spec).Find(hosts_);
    examples_ = DeviceComments(spec);
    return Finish();
  }

  // The file is English.
  WrittenSpec Finish() {
    const InLanguage english(Language::kEnglish);
    written_.servers = hosts_.size();
    std::string& yaml = written_.yaml;
    const auto reported = absl::c_count_if(
        hosts_, [](const SeenHost* host) { return !host->silent; });
    absl::StrAppend(&yaml, "# Written by clusterctl from ", seen_.source,
                    ". Read it before it is used: what it says\n# is what ",
                    WhoseText(reported),
                    ", and an apply brings the others there.\n");
    for (const FindingValue& note : written_.notes) {
      absl::StrAppend(&yaml, "# Note: ", SafeText(ValueText(note), true), "\n");
    }
    yaml += examples_;
    const std::vector<SpecException>& all = exceptions_;
    if (!all.empty()) yaml += "# Exceptions, which a check finds:\n";
    const size_t shown = std::min(all.size(), kMaxShown);
    for (size_t i = 0; i < shown; ++i) {
      absl::StrAppend(&yaml, "#   ", ExceptionText(all[i]), "\n");
    }
    if (shown < all.size()) {
      absl::StrAppend(&yaml, "#   and ", all.size() - shown, " more\n");
    }
    absl::StrAppend(&yaml, body_);
    return std::move(written_);
  }

  // Says "most" only if over half of the hosts gave their values.
  std::string WhoseText(size_t reported) const {
    if (2 * reported > hosts_.size()) {
      return is_tied_ ? "most have, or one of as many" : "most have";
    }
    return absl::StrCat(reported, " of ", Count(hosts_.size(), "host"),
                        reported == 1 ? " has" : " have");
  }

  const SeenCluster& seen_;
  std::vector<const SeenHost*> hosts_;  // In file order.
  std::vector<uint32_t> ids_;
  std::vector<PlacedServer> placed_;  // As hosts_.
  size_t known_ = 0;                  // Addresses.
  std::string body_;
  ClusterSpec spec_;                       // The body's.
  bool is_tied_ = false;                   // A value has no majority.
  std::string refused_;                    // By a product rule; or empty.
  std::string examples_;                   // DeviceComments of the file.
  std::vector<SpecException> exceptions_;  // In English.
  WrittenSpec written_;
};

}  // namespace

std::string ExceptionText(const SpecException& exception) {
  return absl::StrCat(FoldHostlist(exception.hosts),
                      Part(" ", exception.devices), ": ", exception.what);
}

absl::StatusOr<WrittenSpec> WriteSpec(const SeenCluster& seen) {
  return Writer(seen).Write();
}

}  // namespace clusterd
