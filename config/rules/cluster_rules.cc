// The cluster as a whole: how many servers, and who answered.
#include "absl/strings/str_cat.h"
#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {
namespace {

// The controller's sentence names both machines with two ids each.
constexpr size_t kMaxConflictBytes = 600;

// The host answers; the namespace that it was asked about is the matter.
FindingText NoNamespaceText(const HostFacts& facts) {
  return FindingText(UNKNOWN, "nothing known about ",
                     PrintableText(facts.network_namespace()), ": ",
                     WhyMissing(&facts.missing()))
      .Expected("a network namespace that can be entered")
      .Why(
          "Whether training in that container can start on this host cannot be "
          "told.")
      .Fix(facts.missing().reason() == Missing::ABSENT
               ? "start the container there, or name another target with "
                 "--netns, or leave the host out of the check"
               : HowToLearn(&facts.missing()));
}

FindingText SilentText(const HostFacts& facts) {
  if (!facts.network_namespace().empty()) return NoNamespaceText(facts);
  const Missing& missing = facts.missing();
  FindingText text(UNKNOWN, "no facts: ", WhyMissing(&missing));
  text.fix =
      "on the host: systemctl status clusterd && journalctl -u clusterd "
      "-n 50";
  if (missing.reason() == Missing::TIMED_OUT) {
    absl::StrAppend(&text.fix,
                    "; if it is only slow, raise deadlines.host or "
                    "deadlines.run in cluster.yaml");
  }
  return text;
}

FindingText ConflictText(const HostFacts& facts) {
  return FindingText(FAIL, PrintableText(facts.conflict(), kMaxConflictBytes))
      .Expected("one machine per name")
      .Why(
          "Nobody knows which of the two machines the answers are about, so no "
          "other verdict about this host holds.")
      .Fix(
          "give every machine a certificate with its own name, then systemctl "
          "restart clusterd on both");
}

}  // namespace

// Both judge the spec's servers, whatever hosts are asked.
void CheckClusterSize(const ClusterView& view, RuleReport& report) {
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
  report.Add(
      FindingText(FAIL, Count(servers, "server"))
          .Expected("at most ", most, " servers of ", view.profile().title)
          .Fix("split the cluster in cluster.yaml into ",
               (servers + most - 1) / most, " or more"));
}

void CheckClusterSizePower(const ClusterView& view, RuleReport& report) {
  const uint32_t servers = view.spec().servers_size();
  if (servers == 0) {
    report.ExplainSkip("the spec has no servers");
    return;
  }
  report.JudgedCluster(Count(servers, "server"));
  if ((servers & (servers - 1)) == 0) return;
  uint32_t below = 1;
  while (below * 2 <= servers) below *= 2;
  report.Add(FindingText(WARN, Count(servers, "server"))
                 .Expected("a power of two")
                 .Fix("use ", below, " or ", below * 2,
                      " servers for a job if you can choose"));
}

// The one unknown that a silent host costs; and the failure of a name under
// which two machines came.
void CheckHostIdentity(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.silent()) {
    report.Add(host, SilentText(*host.facts));
  }
  for (const HostView& host : view.hosts()) {
    report.Judged(host);
    if (host.facts->conflict().empty()) continue;
    report.Add(host, ConflictText(*host.facts));
  }
}

}  // namespace clusterd
