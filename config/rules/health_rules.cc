// Reports of npu-smi and the driver about the chips: health and fault codes,
// memory errors, HCCS links, the place in a super pod, and whether driver and
// firmware are compatible.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/ballot.h"
#include "config/rules/view/cluster_view.h"
#include "config/values/ipv4.h"
#include "config/values/number_list.h"
#include "config/values/text_form.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr std::pair<absl::string_view, absl::string_view> kFaultLevels[] = {
#include "config/rules/texts/fault_levels.inc"
};

// Not a fault by the table: the vendor's scheduler leaves the device in use.
constexpr absl::string_view kNoFault = "not-handle";

// The vendor's level of the code, which is the name of its finding.
absl::string_view LevelOf(absl::string_view code) {
  const auto* const row = absl::c_find_if(
      kFaultLevels, [&](const auto& each) { return each.first == code; });
  return row == std::end(kFaultLevels) ? "not-in-table" : row->second;
}

// More than a chip's own software takes: idle ones were seen to show 3,412 MB
// (A3) and 1,853 MB (310P).
constexpr uint64_t kIdleMemoryMb = 4096;

// True if a healthy host may lack the fact: npu-smi is missing or does not
// support the query.
bool MayLack(const Missing* missing) {
  return missing != nullptr && (missing->reason() == Missing::ABSENT ||
                                missing->reason() == Missing::NOT_SUPPORTED ||
                                missing->reason() == Missing::NOT_QUERIED);
}

// One query of npu-smi about devices. Facts that healthy devices may lack cost
// no verdict; the summary names them.
class Question {
 public:
  // `unknown`: the finding for a missing answer.
  Question(absl::string_view what, absl::string_view unknown,
           RuleReport& report)
      : what_(what), unknown_(unknown), report_(report) {}

  template <typename Fact>
  bool Reported(const DeviceView& device, const Fact& fact) {
    if (IsKnown(fact)) return true;
    const Missing* const missing = MissingOf(fact);
    if (MayLack(missing)) {
      NoteLack(missing);
    } else {
      report_.Add(device, unknown_, Term(what_), MissingWords(missing),
                  LearnWords(missing));
    }
    return false;
  }

  void NoteLack(const Missing* missing) {
    if (lacking_++ == 0) why_ = MissingWords(missing);
  }

  void Finish() const {
    if (lacking_ == 0) return;
    report_.SkipFor("not-reported", Term(what_), why_);
    report_.Note("not-reported-by", Term(what_), Counted(lacking_, "device"),
                 why_);
  }

 private:
  const absl::string_view what_;
  const absl::string_view unknown_;
  RuleReport& report_;
  size_t lacking_ = 0;
  FindingValue why_;
};

// Adds a finding for the codes of each level, and for the tool's word unless a
// code is equally bad.
void JudgeHealth(const DeviceView& device, const ChipHealth& health,
                 RuleReport& report) {
  if (health.health() == ChipHealth::OK && health.error_codes().empty()) return;
  std::map<absl::string_view, std::vector<std::string>> codes_of;
  for (const std::string& code : health.error_codes()) {
    codes_of[LevelOf(code)].push_back(PrintableText(code));
  }
  const std::string vendor_words = PrintableText(health.information());
  const FindingValue words = vendor_words.empty()
                                 ? FindingValue()
                                 : Worded("fault-words", vendor_words);
  State worst = PASS;
  for (const auto& [level, codes] : codes_of) {
    if (level == kNoFault) continue;
    NamedFinding text =
        report.Named(level, absl::StrJoin(codes, " "),
                     codes.size() == 1 ? words : FindingValue());
    worst = std::max(worst, text.state);
    report.Add(device, std::move(text));
  }
  if (health.health() == ChipHealth::OK) return;
  const std::string codes = absl::StrJoin(codes_of[kNoFault], " ");
  NamedFinding text = report.Named(
      FindingName(ChipHealth::Health_Name(health.health())),
      codes.empty() ? FindingValue() : Worded("fault-codes", codes));
  if (text.state > worst) report.Add(device, std::move(text));
}

void JudgeMemory(const DeviceView& device, const MemoryErrors& errors,
                 RuleReport& report) {
  if (errors.double_bit() > 0) {
    report.Add(device, "double-bit", errors.double_bit(),
               errors.isolated_pages());
  }
  if (errors.next_isolated_pages() > 0) {
    report.Add(device, "pages-to-isolate", errors.next_isolated_pages());
  }
}

using VersionNumbers = std::vector<uint64_t>;

// Empty if it is not a version.
VersionNumbers NumbersOf(absl::string_view version) {
  VersionNumbers numbers;
  for (const absl::string_view part : absl::StrSplit(version, '.')) {
    uint64_t number = 0;
    if (!ParseDigits(part, &number)) return {};
    numbers.push_back(number);
  }
  return numbers;
}

// True if "7.5.0.1.129" lies in "[6.4.0,6.4.99],[7.0.0,8.9.9]", compared to a
// bound's length. None: one of them does not have that form.
std::optional<bool> IsInside(absl::string_view version,
                             absl::string_view intervals) {
  static const LazyRE2 kForm = {R"(\[([\d.]+),([\d.]+)\])"};
  const VersionNumbers numbers = NumbersOf(version);
  const auto upto = [&](const VersionNumbers& bound) {
    return VersionNumbers(numbers.begin(), numbers.begin() + bound.size());
  };
  bool inside = false;
  for (const absl::string_view interval :
       absl::StrSplit(absl::StrReplaceAll(intervals, {{"],", "]\n"}}), '\n')) {
    absl::string_view low_text, high_text;
    if (!HasForm(interval, *kForm, &low_text, &high_text)) return {};
    const VersionNumbers low = NumbersOf(low_text);
    const VersionNumbers high = NumbersOf(high_text);
    if (low.empty() || high.empty() ||
        numbers.size() < std::max(low.size(), high.size())) {
      return {};
    }
    if (upto(low) >= low && upto(high) <= high) inside = true;
  }
  return inside;
}

// A later one counts for more.
enum class Answer { kNotReported, kNotKnown, kReported };

// Results by firmware and intervals: nearly all hosts have the same.
using Compared = std::map<std::pair<absl::string_view, absl::string_view>,
                          std::optional<bool>>;

// Judges by the driver's own file.
Answer JudgeFirmware(const HostView& host, Compared* compared,
                     RuleReport& report) {
  const VersionFacts& versions = host.facts->versions();
  for (const auto& [what, fact] :
       {std::pair("firmware", &versions.firmware()),
        std::pair("firmware of the driver", &versions.firmware_of_driver())}) {
    if (MayLack(MissingOf(*fact))) return Answer::kNotReported;
    if (!report.Knows(host, what, *fact)) return Answer::kNotKnown;
  }
  const std::string& firmware = versions.firmware().value();
  const std::string& intervals = versions.firmware_of_driver().value();
  const auto [found, is_new] = compared->try_emplace({firmware, intervals});
  if (is_new) found->second = IsInside(firmware, intervals);
  const std::optional<bool>& inside = found->second;
  if (!inside.has_value()) return Answer::kNotReported;
  if (!*inside) {
    report.Add(host, "outside", PrintableText(firmware),
               PrintableText(intervals),
               PrintableText(versions.driver().value()));
  }
  return Answer::kReported;
}

// Judges by npu-smi's answers about the host's devices.
Answer JudgeCompatibility(const HostView& host, RuleReport& report) {
  Answer answer = Answer::kNotReported;
  for (const DeviceView& device : host.devices) {
    const TextFact& fact = device.facts->compatibility();
    const Missing* const missing = MissingOf(fact);
    if (!IsKnown(fact) && !MayLack(missing)) {
      report.Add(device, "no-value", Term("compatibility"),
                 MissingWords(missing), LearnWords(missing));
      answer = std::max(answer, Answer::kNotKnown);
    }
    const absl::string_view word = fact.value();
    if (word == "NOK") report.Add(device, "nok");
    if (word == "NOK" || word == "OK") answer = Answer::kReported;
  }
  return answer;
}

// Prefers the most lanes on a tie: a port loses lanes, and never gains any.
uint32_t MostCommonLanes(const Ballot<uint32_t>& ballot) {
  const auto most =
      absl::c_max_element(ballot, [](const auto& a, const auto& b) {
        return std::make_pair(a.second.live, a.first) <
               std::make_pair(b.second.live, b.first);
      });
  return most->first;
}

// Compares each port with the same one of all devices of the same id.
void CompareLanes(const ClusterView& view, RuleReport& report) {
  std::map<std::pair<uint32_t, int>, Ballot<uint32_t>> ballots;
  for (const DeviceView& device : view.devices()) {
    const HccsLinks& links = device.facts->hccs().value();
    for (int port = 0; port < links.lanes_size(); ++port) {
      ++ballots[{device.id, port}][links.lanes(port)].live;
    }
  }
  for (const DeviceView& device : view.devices()) {
    const HccsLinks& links = device.facts->hccs().value();
    for (int port = 0; port < links.lanes_size(); ++port) {
      const Ballot<uint32_t>& ballot = ballots[{device.id, port}];
      const uint32_t right = MostCommonLanes(ballot);
      if (links.lanes(port) >= right) continue;
      report.Add(device, "fewer-lanes", port, links.lanes(port), right,
                 device.id, Counted(ballot.at(right).live, "device"));
    }
  }
}

// Owners of a virtual NIC's address.
using NicOwners = FirstSeen<std::string, std::vector<const DeviceView*>>;

// False: not known.
bool JudgeNic(const DeviceView& device, Question* question, NicOwners* owners,
              RuleReport& report) {
  static const Ipv4Subnet pod(Ipv4Address(0xc0000000), 8);
  const Missing* const missing = device.vnic.missing;
  if (missing != nullptr && missing->reason() == Missing::NOT_SUPPORTED) {
    question->NoteLack(missing);
    return false;
  }
  if (!report.Knows(device, "virtual NIC", device.vnic)) return false;
  const Ipv4Setting& setting = (*device.vnic)->setting();
  const auto address = Ipv4Address::Parse(setting.address());
  if (!address.ok() || !pod.Contains(*address)) {
    report.Add(device, "outside", PrintableText(setting.address()));
  } else if (!(*device.vnic)->up()) {
    report.Add(device, "down");
  }
  if (address.ok() && !address->IsUnset()) {
    (*owners)[setting.address()].push_back(&device);
  }
  return true;
}

// Values that several devices share, grouped by their hosts: one finding for
// the same hosts, whatever they have twice.
class Doubles {
 public:
  void Add(absl::Span<const DeviceView* const> owners, std::string what) {
    const auto hosts = Each<const HostView*>(owners, &DeviceView::host);
    Doubled& doubled = found_[hosts];
    doubled.devices.insert(doubled.devices.end(), owners.begin(), owners.end());
    doubled.what.push_back(std::move(what));
  }

  template <typename... Values>
  void Report(absl::string_view finding, RuleReport& report,
              const Values&... values) const {
    constexpr size_t kMaxListed = 8;
    for (const auto& [hosts, doubled] : found_) {
      report.Add(doubled.devices, finding, Listed(doubled.what, kMaxListed),
                 values...);
    }
  }

 private:
  struct Doubled {
    std::vector<const DeviceView*> devices;
    std::vector<std::string> what;
  };
  FirstSeen<std::vector<const HostView*>, Doubled> found_;
};

std::optional<uint32_t> PodOf(const DeviceView& device) {
  if (!IsKnown(device.facts->super_pod())) return {};
  return device.facts->super_pod().value().super_pod_id();
}

bool AreOfOneHost(absl::Span<const DeviceView* const> devices) {
  return absl::c_all_of(devices, [&](const DeviceView* device) {
    return device->host == devices.front()->host;
  });
}

// Different super pods may have the same addresses.
void AddSharedNics(const NicOwners& owners, RuleReport& report) {
  Doubles of_pod, perhaps;
  for (const auto& [address, devices] : owners) {
    if (devices.size() < 2) continue;
    std::map<const HostView*, std::vector<const DeviceView*>> by_host;
    std::map<std::optional<uint32_t>, std::vector<const DeviceView*>> by_pod;
    for (const DeviceView* device : devices) {
      by_host[device->host].push_back(device);
      by_pod[PodOf(*device)].push_back(device);
    }
    for (const auto& [host, own] : by_host) {
      if (own.size() < 2) continue;
      const auto ids = Each<uint32_t>(own, &DeviceView::id);
      report.Add(own, "twice", PrintableText(address), FoldIds(ids));
    }
    for (const auto& [pod, own] : by_pod) {
      if (pod && !AreOfOneHost(own)) of_pod.Add(own, PrintableText(address));
    }
    if (by_pod.count(std::nullopt) > 0 && !AreOfOneHost(devices)) {
      perhaps.Add(by_pod[std::nullopt], PrintableText(address));
    }
  }
  of_pod.Report("twice-in-pod", report);
  perhaps.Report("twice-perhaps", report);
}

// Devices whose place in a super pod is known.
using Seats = std::vector<std::pair<const DeviceView*, const SuperPodPlace*>>;

// Adds the finding about those that differ from most.
void JudgeAlike(const Seats& seats, uint32_t (SuperPodPlace::*number)() const,
                absl::string_view finding, RuleReport& report) {
  Ballot<uint32_t> ballot;
  for (const auto& [device, place] : seats) ++ballot[(place->*number)()].live;
  if (ballot.size() < 2) return;
  const std::optional<uint32_t> right = Majority(ballot);
  for (const auto& [device, place] : seats) {
    const uint32_t own = (place->*number)();
    if (own == right) continue;
    NamedFinding text =
        report.Named(finding, own, right.value_or(own),
                     Counted(ballot[right.value_or(own)].live, "device"));
    if (!right.has_value()) {
      text.expects = TiedText(report, {text.state, "", "device"}, ballot, own,
                              [](uint32_t each) { return absl::StrCat(each); })
                         .expects;
    }
    report.Add(*device, std::move(text));
  }
}

// Judges the seats of one pod.
void JudgeSdids(Seats seats, RuleReport& report) {
  const auto less = [](const auto& a, const auto& b) {
    return a.second->sdid() < b.second->sdid();
  };
  absl::c_stable_sort(seats, less);
  Doubles doubles;
  for (auto begin = seats.begin(), end = begin; begin != seats.end();
       begin = end) {
    end = std::upper_bound(begin, seats.end(), *begin, less);
    if (end - begin == 1) continue;
    std::vector<const DeviceView*> owners;
    for (auto it = begin; it != end; ++it) owners.push_back(it->first);
    doubles.Add(owners, absl::StrCat(begin->second->sdid()));
  }
  doubles.Report("sdid-twice", report, seats.front().second->super_pod_id());
}

void JudgePlaces(const ClusterView& view, RuleReport& report) {
  std::map<uint32_t, Seats> pods;
  for (const HostView& host : view.hosts()) {
    Seats seats;
    for (const DeviceView& device : host.devices) {
      if (!IsKnown(device.facts->super_pod())) continue;
      const SuperPodPlace& place = device.facts->super_pod().value();
      if (place.super_pod_id() == kOfNoSuperPod) {
        report.Add(device, "of-no-pod", place.super_pod_id());
        continue;
      }
      seats.push_back({&device, &place});
      pods[place.super_pod_id()].push_back(seats.back());
    }
    JudgeAlike(seats, &SuperPodPlace::super_pod_id, "other-pod", report);
    JudgeAlike(seats, &SuperPodPlace::server_index, "other-index", report);
  }
  for (auto& [id, seats] : pods) {
    JudgeAlike(seats, &SuperPodPlace::size, "other-size", report);
    JudgeSdids(std::move(seats), report);
  }
}

}  // namespace

void CheckDeviceHealth(const ClusterView&, RuleReport& report) {
  Question health("health", "not-known", report);
  Question memory("memory errors", "not-known", report);
  report.ForEachDevice([&](const DeviceView& device) {
    const MemoryErrorsFact& errors = device.facts->memory_errors();
    const bool reported = health.Reported(device, device.facts->health());
    if (reported) {
      report.Judged(device);
      JudgeHealth(device, device.facts->health().value(), report);
    }
    // If neither fact is known, only one is reported.
    if (IsKnown(errors) || (reported && memory.Reported(device, errors))) {
      JudgeMemory(device, errors.value(), report);
    }
  });
  memory.Finish();
  health.Finish();
}

// Warns: only the driver knows the owner of memory.
void CheckDeviceMemory(const ClusterView&, RuleReport& report) {
  Question memory("memory in use", "no-value", report);
  report.ForEachDevice([&](const DeviceView& device) {
    const DeviceMemoryFact& fact = device.facts->memory();
    if (!memory.Reported(device, fact)) return;
    const NpuProcessesFact& processes = device.host->facts->npu_processes();
    const DeviceMemory& use = fact.value();
    const bool has_process =
        !use.pids().empty() ||
        absl::c_any_of(processes.value().processes(), [&](const auto& each) {
          return absl::c_linear_search(each.devices(), device.id);
        });
    report.Judged(device);
    if (use.used_mb() < kIdleMemoryMb || has_process) return;
    if (IsKnown(processes))
      return report.Add(device, "left", use.used_mb(), use.total_mb());
    report.Add(device, "perhaps-left", use.used_mb(), use.total_mb(),
               MissingWords(MissingOf(processes)));
  });
  memory.Finish();
}

void CheckDriverCompat(const ClusterView& view, RuleReport& report) {
  size_t not_reported = 0;
  Compared compared;
  for (const HostView& host : view.hosts()) {
    const Answer answer = std::max(JudgeFirmware(host, &compared, report),
                                   JudgeCompatibility(host, report));
    if (answer == Answer::kReported) report.Judged(host);
    if (answer == Answer::kNotReported) ++not_reported;
  }
  if (not_reported == 0) return;
  report.SkipFor("no-firmware-range");
  report.Note("no-firmware-range-on", Counted(not_reported, "host"));
}

void CheckHccs(const ClusterView& view, RuleReport& report) {
  // A healthy cluster has no differences, and skips the counting.
  std::map<uint32_t, const HccsLinks*> first_of;
  bool differ = false;
  Question question("HCCS", "no-value", report);
  report.ForEachDevice([&](const DeviceView& device) {
    const HccsFact& fact = device.facts->hccs();
    if (!question.Reported(device, fact)) return;
    report.Judged(device);
    if (!fact.value().ok()) report.Add(device, "nok");
    const HccsLinks* const first =
        first_of.try_emplace(device.id, &fact.value()).first->second;
    if (!absl::c_equal(first->lanes(), fact.value().lanes())) differ = true;
  });
  question.Finish();
  if (differ) CompareLanes(view, report);
}

// Checks the network of a super pod, and the places that its chips report.
// Driver and BMC set both: nothing is planned.
void CheckSubnetSuperpod(const ClusterView& view, RuleReport& report) {
  if (!view.profile().in_super_pod) {
    return report.SkipFor("no-such-rule", Term(view.profile().title));
  }
  Question nics("virtual NIC", "no-value", report);
  Question places("place in the super pod", "no-value", report);
  NicOwners owners;
  report.ForEachDevice([&](const DeviceView& device) {
    const bool has_nic = JudgeNic(device, &nics, &owners, report);
    const bool has_place = places.Reported(device, device.facts->super_pod());
    if (has_nic || has_place) report.Judged(device);
  });
  AddSharedNics(owners, report);
  JudgePlaces(view, report);
  places.Finish();
  nics.Finish();
}

}  // namespace clusterd
