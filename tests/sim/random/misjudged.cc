// What the judge says about a random cluster, held against what is true.
#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/rules/judge.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/random/random_cluster.h"

namespace clusterd {
namespace {

// Their findings are about several devices together: one of them is broken.
constexpr absl::string_view kAboutSeveral[] = {
    "ip-unique", "ip-host-part", "subnet-pairs", "subnet-distinct"};

// A host, or a device of it; the device -1 stands for the host itself.
using Place = std::pair<std::string, int64_t>;

std::vector<Place> PlacesOf(const Finding& finding) {
  std::vector<Place> places;
  for (const Subject& subject : finding.subjects()) {
    if (subject.devices().empty()) places.push_back({subject.host(), -1});
    for (const uint32_t device : subject.devices()) {
      places.push_back({subject.host(), device});
    }
  }
  return places;
}

// A word about the host is about its devices, too, and the other way round.
bool AreOnePlace(const Place& a, const Place& b) {
  return a.first == b.first &&
         (a.second == b.second || a.second == -1 || b.second == -1);
}

bool Names(absl::string_view rules, absl::string_view rule) {
  const std::vector<absl::string_view> names = absl::StrSplit(rules, ' ');
  return absl::c_linear_search(names, rule);
}

class Comparison {
 public:
  Comparison(const RandomCluster& cluster, const RandomOptions& options)
      : cluster_(cluster), options_(options) {
    report_ = BuildReport(cluster.spec, Pointers(cluster.facts), {});
    for (const PlacedFault& fault : cluster.faults) {
      const HostFacts& host = cluster.facts[fault.host];
      Place place = {host.host(), -1};
      if (fault.device >= 0) place.second = host.devices(fault.device).id();
      faults_[host.host()].push_back({fault.kind, place});
    }
    for (const RuleResult& result : report_.rules()) {
      for (const Finding& finding : result.findings()) {
        if (finding.state() == SKIPPED) continue;
        for (const Place& place : PlacesOf(finding)) {
          found_[{finding.rule(), place.first}].push_back(
              {place, finding.state(), finding.caused_by()});
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
        if (finding.state() != SKIPPED) Explain(finding);
      }
    }
    return std::move(wrong_);
  }

 private:
  struct Found {
    Place place;
    State state;
    std::string caused_by;
  };

  void LookFor(const FaultKind& kind, const Place& place) {
    if (options_.without.count(kind.rule) > 0) return;
    for (const Found& found : found_[{kind.rule, place.first}]) {
      if (AreOnePlace(found.place, place) && found.state >= kind.state &&
          (found.caused_by.empty() || IsFoundAt(found.caused_by, place))) {
        return;
      }
    }
    wrong_.push_back(absl::StrCat("not found: ", kind.name, " at ", place.first,
                                  " ", place.second, " by ", kind.rule));
  }

  bool IsFoundAt(const std::string& rule, const Place& place) {
    return absl::c_any_of(found_[{rule, place.first}], [&](const Found& found) {
      return AreOnePlace(found.place, place);
    });
  }

  // Whether a fault there brings such a finding about.
  bool HasReason(const Finding& finding, const Place& place) {
    if (finding.state() == WARN &&
        cluster_.warnings.count(finding.rule()) > 0) {
      return true;
    }
    const bool caused = !finding.caused_by().empty();
    if (caused && !IsFoundAt(finding.caused_by(), place)) return false;
    return absl::c_any_of(faults_[place.first], [&](const auto& fault) {
      const FaultKind& kind = *fault.first;
      if (!AreOnePlace(fault.second, place)) return false;
      if (finding.state() == UNKNOWN && !kind.hides) return false;
      return caused || finding.rule() == kind.rule ||
             Names(kind.also, finding.rule());
    });
  }

  void Explain(const Finding& finding) {
    std::vector<Place> without;
    const std::vector<Place> places = PlacesOf(finding);
    absl::c_copy_if(
        places, std::back_inserter(without),
        [&](const Place& place) { return !HasReason(finding, place); });
    const bool together = absl::c_linear_search(kAboutSeveral, finding.rule());
    const bool explained =
        together ? without.size() < places.size() : without.empty();
    if (explained) return;
    wrong_.push_back(absl::StrCat(
        "no reason: ", finding.rule(), " is ", State_Name(finding.state()),
        " at ",
        without.empty() ? "the cluster"
                        : absl::StrCat(without[0].first, " ", without[0].second,
                                       " (", without.size(), ")"),
        finding.caused_by().empty() ? "" : " caused by ", finding.caused_by(),
        ": ", finding.observed(), " | ", finding.expected()));
  }

  const RandomCluster& cluster_;
  const RandomOptions& options_;
  Report report_;
  std::map<std::string, std::vector<std::pair<const FaultKind*, Place>>>
      faults_;
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
