// BuildReport and MakeObserveRequest of judge.h: what goes around a judgement.
#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/rules/cluster_view.h"
#include "config/rules/fact_text.h"
#include "config/rules/job_ports.h"
#include "config/rules/judge.h"
#include "config/rules/judge_view.h"
#include "config/spec/namespace_facts.h"

namespace clusterd {
namespace {

constexpr uint32_t kSchemaVersion = 1;

// About the spec alone: they say nothing about any host.
bool JudgesHosts(const RuleResult& result) {
  return result.state() != SKIPPED && result.rule() != "cluster-size" &&
         result.rule() != "cluster-size-power";
}

void CountRules(Report* report) {
  Counts* counts = report->mutable_rule_counts();
  for (const RuleResult& result : report->rules()) {
    switch (result.state()) {
      case PASS:
        counts->set_pass(counts->pass() + 1);
        break;
      case WARN:
        counts->set_warn(counts->warn() + 1);
        break;
      case FAIL:
        counts->set_fail(counts->fail() + 1);
        break;
      case SKIPPED:
        counts->set_skipped(counts->skipped() + 1);
        break;
      default:
        counts->set_unknown(counts->unknown() + 1);
    }
  }
}

// Worst state per host, from every finding that names it.
absl::flat_hash_map<std::string, State> WorstStates(const Report& report) {
  absl::flat_hash_map<std::string, State> worst;
  for (const RuleResult& result : report.rules()) {
    for (const Finding& finding : result.findings()) {
      if (finding.state() == SKIPPED) continue;
      for (const Subject& subject : finding.subjects()) {
        if (subject.host().empty()) continue;
        State& state = worst[subject.host()];
        state = std::max(state, finding.state());
      }
    }
  }
  return worst;
}

void AddHosts(const ClusterView& view, Report* report) {
  const auto worst = WorstStates(*report);
  const bool any_judged =
      std::any_of(report->rules().begin(), report->rules().end(), JudgesHosts);
  // Spec order again: answered and silent hosts lie in two lists.
  std::vector<const HostFacts*> hosts(view.host_count());
  for (const HostView& host : view.hosts()) hosts[host.order] = host.facts;
  for (const SilentHost& host : view.silent()) hosts[host.order] = host.facts;
  for (const HostFacts* facts : hosts) {
    HostStatus* status = report->add_hosts();
    status->set_host(facts->host());
    status->set_elapsed_ms(facts->elapsed_ms());
    status->set_simulation(facts->simulation());
    const auto found = worst.find(facts->host());
    if (facts->has_missing()) {
      status->set_state(UNKNOWN);
      status->set_no_facts_reason(WhyMissing(&facts->missing()));
    } else if (found != worst.end()) {
      status->set_state(found->second);
    } else {
      status->set_state(any_judged ? PASS : SKIPPED);
    }
  }
}

void AddNotes(const ClusterView& view, Report* report) {
  std::map<std::string, size_t> simulations;
  std::vector<std::string> shared;
  for (const HostView& host : view.hosts()) {
    if (SharesHostNetwork(*host.facts)) shared.emplace_back(host.name);
    if (!host.facts->simulation().empty()) {
      ++simulations[host.facts->simulation()];
    }
  }
  for (const auto& [simulation, hosts] : simulations) {
    report->add_notes(absl::StrCat(Count(hosts, "host"),
                                   " simulated: ", Printable(simulation)));
  }
  if (!shared.empty()) {
    report->add_notes(HostNetworkNote(report->network_namespace(), shared));
  }
  if (!view.silent().empty()) {
    report->add_notes(absl::StrCat("no facts from ", view.silent().size(),
                                   " of ", Count(view.host_count(), "host")));
  }
  if (!view.product_known() && !report->product().empty()) {
    report->add_notes(absl::StrCat("product ", Quoted(report->product()),
                                   " is not known: its rules were skipped"));
  }
}

State Verdict(const ClusterView& view, const Report& report) {
  bool any_judged = false;
  State worst = PASS;
  for (const RuleResult& result : report.rules()) {
    if (result.state() != SKIPPED) worst = std::max(worst, result.state());
    any_judged = any_judged || JudgesHosts(result);
  }
  const bool complete =
      any_judged && !view.hosts().empty() && view.silent().empty();
  return complete ? worst : std::max(worst, UNKNOWN);
}

}  // namespace

Report BuildReport(const ClusterSpec& spec,
                   absl::Span<const HostFacts* const> hosts,
                   const JudgeOptions& options) {
  Report report;
  report.set_schema_version(kSchemaVersion);
  report.set_cluster(spec.name());
  report.set_product(spec.product());
  report.set_spec_digest(spec.digest());
  report.set_network_namespace(options.network_namespace);
  const NamespaceFacts asked(options.network_namespace, hosts);
  const ClusterView view(spec, asked.hosts());
  for (RuleResult& result : JudgeView(view, options)) {
    *report.add_rules() = std::move(result);
  }
  CountRules(&report);
  AddHosts(view, &report);
  AddNotes(view, &report);
  report.set_verdict(Verdict(view, report));
  return report;
}

ObserveRequest MakeObserveRequest(const ClusterSpec& spec) {
  ObserveRequest request;
  const PortSet ports = JobPorts(spec);
  for (const PortSet::Range& range : ports.ranges()) {
    ObserveRequest::PortRange* ports = request.add_socket_ports();
    ports->set_first(range.first);
    ports->set_last(range.second);
  }
  request.set_command_ms(spec.deadlines().command_ms());
  request.set_host_ms(spec.deadlines().host_ms());
  request.set_ask_tls(spec.has_tls());
  request.set_allow_tls_query(spec.allow_tls_query());
  const absl::StatusOr<const ProductProfile*> profile =
      FindProductProfile(spec.product(), spec.mode());
  request.set_generation(profile.ok() ? (*profile)->generation
                                      : NpuToolFacts::CLASSIC);
  return request;
}

ObserveRequest MakeObserveRequest(const ClusterSpec& spec,
                                  const NetworkNamespace& network_namespace) {
  ObserveRequest request = MakeObserveRequest(spec);
  if (network_namespace.target_case() != NetworkNamespace::TARGET_NOT_SET) {
    *request.mutable_network_namespace() = network_namespace;
  }
  return request;
}

}  // namespace clusterd
