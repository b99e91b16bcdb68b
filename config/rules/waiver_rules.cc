// The rule about waivers themselves: hosts in maintenance, and waivers that
// have ended or that nobody heeds. What a waiver covers, rule_report.cc marks.
#include "config/rules/waiver_rules.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "config/rules/catalogue.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "config/values/nearest_word.h"
#include "config/words/quoted_text.h"
#include "config/words/waiver_text.h"

namespace clusterd {
namespace {

bool IsAboutHosts(const Waiver& waiver, const ClusterView& view) {
  return waiver.hosts().empty() ||
         absl::c_any_of(view.spec().servers(), [&](const ServerSpec& server) {
           return absl::c_linear_search(waiver.hosts(), server.host());
         });
}

}  // namespace

void CheckMaintenance(const ClusterView& view, RuleReport& report) {
  if (view.spec().waivers().empty() || view.now() == absl::InfiniteFuture()) {
    return report.ExplainSkip("no waiver is known");
  }
  size_t in_force = 0;
  for (const Waiver& waiver : view.spec().waivers()) {
    if (IsInForce(waiver, view.now())) {
      ++in_force;
    } else if (IsAboutHosts(waiver, view)) {
      const bool ended = absl::FromUnixMillis(waiver.until_ms()) <= view.now();
      report.Add(report.Text(
          ended ? "ended" : "too-long", WaivedText(waiver), WaiverText(waiver),
          waiver.id().empty()
              ? "correct waivers in cluster.yaml"
              : absl::StrCat("clusterctl unwaive ", waiver.id())));
    }
  }
  report.JudgedCluster(absl::StrCat(Count(in_force, "waiver"), " in force"));
  for (const auto* const hosts : {&view.hosts(), &view.silent()}) {
    for (const HostView& host : *hosts) {
      const Waiver* const waiver = view.MaintenanceOf(host.name);
      if (waiver == nullptr) continue;
      report.Add(host, view.job() == nullptr ? "in-maintenance" : "of-job",
                 WaiverText(*waiver));
    }
  }
}

std::vector<std::string> WaiverMistakes(const Waiver& waiver, absl::Time now) {
  std::vector<std::string> mistakes;
  if (FindRule(waiver.rule()) == nullptr) {
    mistakes.push_back(absl::StrCat("rule ", QuotedText(waiver.rule()),
                                    " does not exist",
                                    DidYouMean(waiver.rule(), RuleNames()),
                                    "; clusterctl explain lists all rules"));
  }
  const size_t bytes = absl::StripAsciiWhitespace(waiver.reason()).size();
  if (bytes == 0 || bytes > kMaxWaiverReason) {
    mistakes.push_back(absl::StrCat(
        "reason: has ", bytes, " bytes, expected 1 to ", kMaxWaiverReason));
  }
  if (!IsInForce(waiver, now)) {
    mistakes.push_back(absl::StrCat(
        "until: is not a moment in the 90 days after ",
        absl::FormatTime(absl::RFC3339_sec, now, absl::UTCTimeZone())));
  }
  return mistakes;
}

}  // namespace clusterd
