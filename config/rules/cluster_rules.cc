// The cluster as a whole: how many servers, and who answered.
#include "absl/strings/str_cat.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"

namespace clusterd {
namespace {

// The controller's sentence names both machines with two ids each.
constexpr size_t kMaxConflictBytes = 600;

// Of a host of which nothing is known, or not of the namespace that it was
// asked about: there the host itself answers.
FindingText SilentText(const HostFacts& facts, const RuleReport& report) {
  const Missing& missing = facts.missing();
  const std::string why = WhyMissing(missing);
  if (!facts.network_namespace().empty()) {
    FindingText text = report.Text(
        "no-namespace", PrintableText(facts.network_namespace()), why);
    if (missing.reason() != Missing::ABSENT) text.fix = HowToLearn(&missing);
    return text;
  }
  return report.Text("silent", why,
                     missing.reason() == Missing::TIMED_OUT
                         ? "; if it is only slow, raise deadlines.host or "
                           "deadlines.run in cluster.yaml"
                         : "");
}

// The servers of a spec are an inventory, from which jobs take some.
bool IsOneJob(const ClusterView& view, RuleReport& report) {
  if (!view.spec().one_job()) {
    report.ExplainSkip(
        "the spec does not say that one job takes all servers (job)");
  }
  return view.spec().one_job();
}

}  // namespace

// Both judge the spec's servers, whatever hosts are asked, and only where one
// job takes them all.
void CheckClusterSize(const ClusterView& view, RuleReport& report) {
  if (!IsOneJob(view, report)) return;
  const uint32_t servers = view.spec().servers_size();
  const uint32_t most = view.profile().max_servers;
  if (most == 0) {
    report.ExplainSkip("no bound is known for ", view.profile().title);
    return;
  }
  if (servers == 0) {
    report.ExplainSkip("the spec has no servers");
    return;
  }
  report.JudgedCluster(
      absl::StrCat(Count(servers, "server"), ", at most ", most));
  if (servers <= most) return;
  report.Add(report.Text("too-many", Count(servers, "server"), most,
                         view.profile().title, (servers + most - 1) / most));
}

void CheckClusterSizePower(const ClusterView& view, RuleReport& report) {
  if (!IsOneJob(view, report)) return;
  const uint32_t servers = view.spec().servers_size();
  if (servers == 0) {
    report.ExplainSkip("the spec has no servers");
    return;
  }
  report.JudgedCluster(Count(servers, "server"));
  if ((servers & (servers - 1)) == 0) return;
  uint32_t below = 1;
  while (below * 2 <= servers) below *= 2;
  report.Add(
      report.Text("no-power", Count(servers, "server"), below, below * 2));
}

// The one unknown that a silent host costs; and the failure of a name under
// which two machines came.
void CheckHostIdentity(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.silent()) {
    report.Add(host, SilentText(*host.facts, report));
  }
  for (const HostView& host : view.hosts()) {
    report.Judged(host);
    if (host.facts->conflict().empty()) continue;
    report.Add(host, "two-machines",
               PrintableText(host.facts->conflict(), kMaxConflictBytes));
  }
}

}  // namespace clusterd
