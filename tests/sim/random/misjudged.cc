// Compares the judge's report about a random cluster with the truth.
#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "config/rules/judge.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/random/random_cluster.h"

namespace clusterd {
namespace {

// Findings about several devices together, of which one is broken.
struct AboutSeveral {
  absl::string_view rule;
  absl::string_view finding = "";  // Empty: all of the rule.
};

constexpr AboutSeveral kAboutSeveral[] = {
    {"ip-unique"},
    {"ip-host-part"},
    {"subnet-pairs"},
    {"subnet-distinct"},
    {"subnet-superpod", "sdid-twice"},
};

bool IsAboutSeveral(const Finding& finding) {
  return absl::c_any_of(kAboutSeveral, [&](const AboutSeveral& row) {
    return finding.rule() == row.rule &&
           (row.finding.empty() || finding.finding() == row.finding);
  });
}

// A host, or a device of it; the device -1 stands for the host itself, and the
// host "" for the cluster.
using Place = std::pair<std::string, int64_t>;

const Place& TheCluster() {
  static const auto* const place = new Place("", -1);
  return *place;
}

std::vector<Place> PlacesOf(const Finding& finding) {
  if (finding.subjects().empty()) return {TheCluster()};
  std::vector<Place> places;
  for (const Subject& subject : finding.subjects()) {
    if (subject.devices().empty()) places.push_back({subject.host(), -1});
    for (const uint32_t device : subject.devices()) {
      places.push_back({subject.host(), device});
    }
  }
  return places;
}

// A finding about the host is about its devices, too, and the reverse.
bool AreOnePlace(const Place& a, const Place& b) {
  return a.first == b.first &&
         (a.second == b.second || a.second == -1 || b.second == -1);
}

// The worst state that a fault may cause by the way: its own, unless "=FAIL"
// after the name of the rule says otherwise.
State WorstOf(const FaultKind& kind, State own, absl::string_view rule) {
  for (const absl::string_view name : absl::StrSplit(kind.also, ' ')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(name, absl::MaxSplits('=', 1));
    if (parts.first != rule) continue;
    return parts.second == "FAIL" ? FAIL : own;
  }
  return STATE_UNSPECIFIED;
}

// True if such a finding is about the fault.
bool Explains(const FaultKind& kind, State own, const Finding& finding) {
  const State worst = WorstOf(kind, own, finding.rule());
  if (finding.state() == UNKNOWN) {
    return kind.Is(kHides) &&
           (finding.rule() == kind.rule || worst != STATE_UNSPECIFIED);
  }
  if (finding.rule() == kind.rule && finding.state() == own) return true;
  return finding.state() <= worst;
}

class Comparison {
 public:
  Comparison(const RandomCluster& cluster, const RandomOptions& options)
      : cluster_(cluster), options_(options) {
    JudgeOptions judge;
    if (cluster.job.has_value()) judge.job = &*cluster.job;
    judge.now = absl::UnixEpoch() + absl::Hours(24);
    report_ = BuildReport(cluster.spec, Pointers(cluster.facts), judge);
    for (size_t h = 0; h < cluster.facts.size(); ++h) {
      numbers_[cluster.facts[h].host()] = static_cast<int>(h);
    }
    for (const PlacedFault& fault : cluster.faults) {
      const Place place = PlaceOf(fault);
      faults_[place.first].push_back({fault.kind, place});
    }
    for (const RuleResult& result : report_.rules()) {
      for (const Finding& finding : result.findings()) {
        if (finding.state() == SKIPPED) continue;
        for (const Place& place : PlacesOf(finding)) {
          found_[{finding.rule(), place.first}].push_back({place, &finding});
        }
      }
    }
  }

  std::vector<std::string> Run() {
    for (const auto& [host, faults] : faults_) {
      for (const auto& [kind, place] : faults) LookFor(*kind, place);
    }
    for (const RuleResult& result : report_.rules()) {
      if (options_.without.count(result.rule()) > 0) continue;
      for (const Finding& finding : result.findings()) {
        if (!finding.caused_by().empty()) LookForCause(finding);
        if (finding.state() != SKIPPED) Explain(finding);
      }
    }
    return std::move(wrong_);
  }

 private:
  struct Found {
    Place place;
    const Finding* finding;
  };

  Place PlaceOf(const PlacedFault& fault) const {
    if (fault.host < 0) return TheCluster();
    const HostFacts& host = cluster_.facts[fault.host];
    if (fault.device < 0) return {host.host(), -1};
    return {host.host(), host.devices(fault.device).id()};
  }

  void LookFor(const FaultKind& kind, const Place& place) {
    if (options_.without.count(kind.rule) > 0) return;
    for (const Found& found : found_[{kind.rule, place.first}]) {
      if (AreOnePlace(found.place, place) &&
          found.finding->state() == kind.StateIn(cluster_) &&
          (found.finding->caused_by().empty() ||
           IsCaused(*found.finding, place))) {
        return;
      }
    }
    wrong_.push_back(absl::StrCat("not found: ", kind.name, " at ", place.first,
                                  " ", place.second, " by ", kind.rule));
  }

  // The findings there of the cause that the finding names.
  std::vector<Found> CausesOf(const Finding& finding,
                              const Place& place) const {
    std::vector<Found> causes;
    const auto found = found_.find({finding.caused_by(), place.first});
    if (found == found_.end() || finding.caused_by() == finding.rule()) {
      return causes;
    }
    absl::c_copy_if(
        found->second, std::back_inserter(causes),
        [&](const Found& each) { return AreOnePlace(each.place, place); });
    return causes;
  }

  // True if that cause is found there, with a reason of its own.
  bool IsCaused(const Finding& finding, const Place& place) {
    return absl::c_any_of(CausesOf(finding, place), [&](const Found& found) {
      return HasReason(*found.finding, found.place);
    });
  }

  // A finding names no cause that the report lacks there, whether or not it is
  // itself about a fault.
  void LookForCause(const Finding& finding) {
    const std::vector<Place> places = PlacesOf(finding);
    const auto without = absl::c_count_if(places, [&](const Place& place) {
      return CausesOf(finding, place).empty();
    });
    const auto allowed = IsAboutSeveral(finding) ? places.size() - 1 : 0;
    if (without <= static_cast<int64_t>(allowed)) return;
    wrong_.push_back(absl::StrCat(
        "no cause: ", finding.rule(), " is ", State_Name(finding.state()),
        " at ", places[0].first, " ", places[0].second, " (", without,
        ") caused by ", finding.caused_by(), ": ", finding.observed()));
  }

  // True if a variation leaves open there what is warned of.
  bool IsLeftOpen(const Finding& finding, const Place& place) const {
    if (finding.state() != WARN) return false;
    const auto rule = cluster_.warnings.find(finding.rule());
    if (rule == cluster_.warnings.end()) return false;
    if (place == TheCluster()) return rule->second.count(-1) > 0;
    const auto host = numbers_.find(place.first);
    return host != numbers_.end() && rule->second.count(host->second) > 0;
  }

  // True if a variation or a fault there causes such a finding, or the cause
  // that it names has such a reason. Facts are unknown there only if a fault
  // hides them.
  bool HasReason(const Finding& finding, const Place& place) {
    if (IsLeftOpen(finding, place)) return true;
    const bool caused =
        !finding.caused_by().empty() && IsCaused(finding, place);
    return absl::c_any_of(
               faults_[place.first],
               [&](const auto& fault) {
                 return AreOnePlace(fault.second, place) &&
                        (Explains(*fault.first, fault.first->StateIn(cluster_),
                                  finding) ||
                         (caused && fault.first->Is(kHides)));
               }) ||
           (caused && finding.state() != UNKNOWN);
  }

  void Explain(const Finding& finding) {
    std::vector<Place> without;
    const std::vector<Place> places = PlacesOf(finding);
    absl::c_copy_if(
        places, std::back_inserter(without),
        [&](const Place& place) { return !HasReason(finding, place); });
    const bool explained = IsAboutSeveral(finding)
                               ? without.size() < places.size()
                               : without.empty();
    if (explained) return;
    wrong_.push_back(absl::StrCat(
        "no reason: ", finding.rule(), " is ", State_Name(finding.state()),
        " at ",
        without[0] == TheCluster()
            ? "the cluster"
            : absl::StrCat(without[0].first, " ", without[0].second, " (",
                           without.size(), ")"),
        finding.caused_by().empty() ? "" : " caused by ", finding.caused_by(),
        ": ", finding.observed(), " | ", finding.expected()));
  }

  const RandomCluster& cluster_;
  const RandomOptions& options_;
  Report report_;
  std::map<std::string, std::vector<std::pair<const FaultKind*, Place>>>
      faults_;
  std::map<std::string, int> numbers_;  // By host name.
  // By rule and host.
  std::map<std::pair<std::string, std::string>, std::vector<Found>> found_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> Misjudged(const RandomCluster& cluster,
                                   const RandomOptions& options) {
  return Comparison(cluster, options).Run();
}

}  // namespace clusterd
