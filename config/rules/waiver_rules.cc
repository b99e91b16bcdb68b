// The rule about waivers: hosts in maintenance, and waivers that have ended or
// end too late. judge.cc marks waived findings.
#include "config/rules/catalogue.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "config/words/waiver_text.h"

namespace clusterd {
void CheckMaintenance(const ClusterView& view, RuleReport& report) {
  if (!view.spec().waivers().empty() && view.now() == absl::InfiniteFuture()) {
    return report.SkipFor("no-clock");
  }
  size_t in_force = 0;
  for (const Waiver& waiver : view.spec().waivers()) {
    if (IsInForce(waiver, view.now())) {
      ++in_force;
    } else if (view.job() == nullptr) {
      const bool ended = absl::FromUnixMillis(waiver.until_ms()) <= view.now();
      report.Add(report.Named(
          ended ? "ended" : "too-long", WaivedWords(waiver),
          WaiverWords(waiver),
          waiver.id().empty()
              ? Worded("correct-waivers")
              : ToFindingValue("clusterctl unwaive " + waiver.id())));
    }
  }
  if (in_force > 0) report.Note("in-force", Counted(in_force, "waiver"));
  for (const HostView& host : view.hosts()) report.Judged(host);
  for (const auto* const hosts : {&view.hosts(), &view.silent()}) {
    for (const HostView& host : *hosts) {
      const Waiver* const waiver = view.MaintenanceOf(host.name);
      if (waiver == nullptr) continue;
      report.Add(host, view.job() == nullptr ? "in-maintenance" : "of-job",
                 WaiverWords(*waiver));
    }
  }
}

}  // namespace clusterd
