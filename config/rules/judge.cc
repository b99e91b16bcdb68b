#include "config/rules/judge.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_split.h"
#include "config/hccl/job_ports.h"
#include "config/hccl/job_variables.h"
#include "config/rules/catalogue.h"
#include "config/rules/finding_words.h"
#include "config/rules/host_rules.h"
#include "config/rules/job/job_network.h"
#include "config/rules/rule_report.h"
#include "config/rules/seen/seen.h"
#include "config/rules/view/cluster_view.h"
#include "config/values/network_namespace.h"
#include "config/values/version.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;

bool IsIn(const Names& names, absl::string_view rule) {
  return absl::c_linear_search(names, rule);
}

bool IsSelected(const RuleSelection& selection, absl::string_view rule) {
  return (selection.only().empty() || IsIn(selection.only(), rule)) &&
         !IsIn(selection.skip(), rule);
}

// Queries of hccn_tool that few rules need, with those rules. All others serve
// whole groups of rules, or show whether a device answers.
constexpr std::pair<const char*, absl::string_view> kQueries[] = {
    {"-optical", "optics"},
    {"-link_stat", "link-flaps"},
    {"-stat", "link-flaps"},
    {"-prio_tc", "lossless"},
    {"-pfc", "lossless/pfc-persistent/drift"},
    {"-udp", "lossless/roce-port-persistent/drift"},
    {"-dscp_to_tc", "lossless/dscp-persistent/drift"},
    {"-tls", "tls-uniform/tls-persistent/tls-certificates/drift"},
    {"-cfg", "hccn-conf"},
    {"-speed", "speed-uniform"},
    {"-vnic", "subnet-superpod"},
};

void Downgrade(Finding* finding) {
  if (finding->state() != FAIL) return;
  finding->set_state(WARN);
  finding->set_downgraded(true);
}

// A waived finding stays in the report, and its verdict is never a pass.
void Waive(Finding* finding) {
  if (!finding->has_waiver()) return;
  Waiver* const waiver = finding->mutable_waiver();
  waiver->set_waived_from(finding->state());
  if (finding->rule() == kMaintenanceRule) return;
  finding->set_state(WARN);
}

// Empty words: the rule runs.
FindingValue WhySkipped(const Rule& rule, const JudgeOptions& options) {
  if (IsIn(options.selection.skip(), rule.name)) return Worded("rule-skipped");
  if (!IsSelected(options.selection, rule.name))
    return Worded("rule-not-asked");
  if (rule.needs_job && options.job == nullptr) return Worded("rule-no-job");
  if (options.one_host && !rule.JudgesOneHost()) {
    return Worded("rule-needs-all-hosts");
  }
  if (!options.network_namespace.empty() && !rule.JudgesNamespaces()) {
    return Worded("rule-not-of-namespace");
  }
  return FindingValue();
}

// Mistakes in hccn.conf matter only to RoCE ports.
constexpr absl::string_view kPortFileRule = "hccn-conf";

bool Runs(const Rule& rule, const ClusterView& view,
          const JudgeOptions& options) {
  return WhySkipped(rule, options).words().empty() &&
         !(rule.needs_roce && view.spec().roce_unused());
}

RuleResult FinishRule(const Rule& rule, const ClusterView& view,
                      const JudgeOptions& options, const JobNetwork& network,
                      RuleReport&& report) {
  const FindingValue why_skipped = WhySkipped(rule, options);
  if (!why_skipped.words().empty()) {
    RuleResult result = report.Skip(why_skipped);
    result.set_not_run(true);
    return result;
  }
  if (rule.needs_roce && view.spec().roce_unused()) {
    return report.Skip(Worded("roce-unused"));
  }
  RuleResult result = std::move(report).Finish();
  // Reported like other rules about jobs if it has no result without one.
  if (rule.category == "job" && options.job == nullptr &&
      result.state() == SKIPPED) {
    result.set_not_run(true);
  }
  if (rule.needs_roce || rule.name == kPortFileRule) {
    WeighByNetwork(network, &result);
  }
  if (IsIn(options.selection.downgrade(), rule.name)) {
    ChangeEach(&result, Downgrade);
  }
  if (view.HasWaivers()) ChangeEach(&result, Waive);
  return result;
}

constexpr size_t kMaxJobIdBytes = 256;

// Clusters with fewer hosts are judged sooner than threads are started.
constexpr size_t kHostsForThreads = 128;
constexpr size_t kMaxThreads = 4;

// Calls run(i) for every i below count, several at a time in a large cluster.
void RunEach(const ClusterView& view, size_t count,
             absl::FunctionRef<void(size_t)> run) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) run(i);
  };
  std::vector<std::thread> others;
  const size_t threads =
      view.host_count() < kHostsForThreads
          ? 1
          : std::min<size_t>(std::thread::hardware_concurrency(), kMaxThreads);
  try {
    while (others.size() + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {
    // Without further threads the work only takes longer.
  }
  work();
  for (std::thread& other : others) other.join();
}

// The findings that rules still have, and a device's address may explain, once
// every device has the planned address. Not used otherwise.
Causes FoundAsPlanned(const ClusterView& live, const JudgeOptions& options) {
  const ClusterView view(live, ClusterView::Addresses::kPlanned);
  FoundSoFar found;
  found.causes_only = true;
  RunEach(view, RuleCatalogue().size(), [&](size_t i) {
    const Rule& rule = RuleCatalogue()[i];
    if (!IsExplained(rule, kPlannedAddressRule)) return;
    if (!Runs(rule, view, options)) return;
    RuleReport report(rule, view, &found);
    rule.check(view, report);
  });
  return std::move(found.as_is);
}

// Groups of places in the catalogue: rules of a group explain none of each
// other; only those of earlier groups may explain them.
const std::vector<std::vector<size_t>>& RulesByCausesBefore() {
  static const auto* const rules = [] {
    auto* made = new std::vector<std::vector<size_t>>;
    for (size_t i = 0; i < RuleCatalogue().size(); ++i) {
      const auto before = static_cast<size_t>(CausesBefore(RuleCatalogue()[i]));
      if (before >= made->size()) made->resize(before + 1);
      (*made)[before].push_back(i);
    }
    return made;
  }();
  return *rules;
}

// Results are in catalogue order. Rules that explain others run first. A report
// is finished once every rule has run: a finding keeps the cause that its row
// names only if that rule found something there.
void RunRules(const ClusterView& view, const JudgeOptions& options,
              Report* report) {
  const JobNetwork network =
      options.job == nullptr ? JobNetwork() : NetworkOfJob(view);
  FoundSoFar found;
  std::deque<RuleReport> reports;
  for (const Rule& rule : RuleCatalogue()) {
    reports.emplace_back(rule, view, &found);
    report->add_rules();
  }
  bool is_first = true;
  for (const std::vector<size_t>& rules : RulesByCausesBefore()) {
    RunEach(view, rules.size(), [&](size_t i) {
      const Rule& rule = RuleCatalogue()[rules[i]];
      if (Runs(rule, view, options)) rule.check(view, reports[rules[i]]);
    });
    if (is_first && found.as_is.Has(kPlannedAddressRule)) {
      found.as_planned = FoundAsPlanned(view, options);
    }
    is_first = false;
  }
  RunEach(view, reports.size(), [&](size_t i) {
    *report->mutable_rules(static_cast<int>(i)) = FinishRule(
        RuleCatalogue()[i], view, options, network, std::move(reports[i]));
  });
}

bool JudgesHosts(const RuleResult& result) {
  return result.state() != SKIPPED && FindRule(result.rule())->JudgesHosts();
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
  const bool any_judged = absl::c_any_of(report->rules(), JudgesHosts);
  // Spec order again: answered and silent hosts lie in two lists.
  std::vector<const HostView*> hosts(view.host_count());
  for (const HostView& host : view.hosts()) hosts[host.order] = &host;
  for (const HostView& host : view.silent()) hosts[host.order] = &host;
  for (const HostView* host : hosts) {
    const HostFacts* const facts = host->facts;
    HostStatus* status = report->add_hosts();
    if (host->spec != nullptr) status->set_rack(host->spec->rack());
    status->set_host(facts->host());
    status->set_elapsed_ms(facts->elapsed_ms());
    status->set_simulation(facts->simulation());
    const auto found = worst.find(facts->host());
    if (view.MaintenanceOf(facts->host()) != nullptr) {
      status->set_maintenance(true);
    }
    if (facts->has_missing()) {
      status->set_state(status->maintenance() ? WARN : UNKNOWN);
      *status->mutable_no_facts() = MissingWords(&facts->missing());
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
    *report->add_said() = Worded("hosts-simulated", Counted(hosts, "host"),
                                 Term(PrintableText(simulation)));
  }
  if (!shared.empty()) {
    *report->add_said() = HostNetworkNote(report->network_namespace(), shared);
  }
  if (!view.silent().empty()) {
    *report->add_said() = Worded("no-facts-from", view.silent().size(),
                                 Counted(view.host_count(), "host"));
  }
  if (view.job() == nullptr) {
    for (const FindingValue& line : JobsThatCanRun(view, *report)) {
      *report->add_said() = line;
    }
  }
  if (!view.product_known() && !report->product().empty()) {
    *report->add_said() =
        Worded("product-not-known", QuotedText(report->product()));
  }
}

void CountWaived(Report* report) {
  uint32_t waived = 0;
  for (const RuleResult& result : report->rules()) {
    waived += absl::c_count_if(result.findings(), [](const Finding& finding) {
      return finding.has_waiver() && finding.rule() != kMaintenanceRule;
    });
  }
  if (waived == 0) return;
  report->set_waived_findings(waived);
  *report->add_said() = Worded("findings-waived", Counted(waived, "finding"));
}

void AddSeen(const ClusterView& view, Report* report) {
  auto* const values = report->mutable_value_groups();
  auto* const switches = report->mutable_switches();
  RunEach(view, 2, [&](size_t part) {
    if (part == 0) *values = SeenValues(view);
    if (part == 1) *switches = SeenSwitches(view);
  });
}

State Verdict(const ClusterView& view, const Report& report) {
  bool any_judged = false;
  State worst = PASS;
  for (const RuleResult& result : report.rules()) {
    if (result.state() != SKIPPED) worst = std::max(worst, result.state());
    any_judged = any_judged || JudgesHosts(result);
  }
  const bool complete =
      any_judged && !view.hosts().empty() &&
      absl::c_all_of(view.silent(), [&view](const HostView& host) {
        return view.MaintenanceOf(host.name) != nullptr;
      });
  return complete ? worst : std::max(worst, UNKNOWN);
}

// Does what RenderReport does.
void Render(const ClusterView& view, Report* report) {
  RenderWords(report);
  const Language language = CurrentLanguage();
  RunEach(view, report->rules_size(), [&](size_t i) {
    const InLanguage same(language);
    RenderRule(report->product(), report->mutable_rules(static_cast<int>(i)));
  });
}

// REQUIRES: there is one.
void DescribeJob(const ClusterView& view, Report* report) {
  const JobSpec& job = *view.job();
  report->set_job_id(PrintableText(job.id(), kMaxJobIdBytes));
  report->set_job_servers(job.servers_size());
  uint32_t devices = 0;
  for (const ServerSpec& server : view.spec().servers()) {
    devices += server.devices_size();
  }
  if (!view.HasWholeJob()) {
    // The job's own numbers for servers that are not known here.
    devices = 0;
    for (const JobServer& server : job.servers()) {
      devices +=
          server.devices().empty()
              ? std::min<uint32_t>(server.device_count(), kMaxDevicesOfHost)
              : server.devices_size();
    }
  }
  report->set_job_devices(devices);
}

// Fills in launch variables of login files that the view's job lacks.
void AddLogins(const ClusterView& view, JobSpec* job) {
  auto host = view.hosts().begin();
  for (int i = 0; i < job->servers_size() && host != view.hosts().end(); ++i) {
    if (host->spec != &view.spec().servers(i)) continue;
    FillFromVariables(*(host++)->facts, *job, job->mutable_servers(i));
  }
}

constexpr const char* kPlannedRules[] = {
    "subnet-pairs",  "subnet-distinct", "subnet-across-hosts",
    "subnet-shared", "ip-host-part",    "netmask-uniform"};

// The facts of a host with the planned values, and all others unknown.
HostFacts FactsAsPlanned(const ServerSpec& server,
                         NpuToolFacts::Generation generation) {
  HostFacts facts;
  facts.set_host(server.host());
  facts.mutable_hccn_tool()->mutable_path()->set_value("as planned");
  facts.mutable_hccn_tool()->set_generation(generation);
  for (const DeviceSpec& planned : server.devices()) {
    facts.mutable_device_ids()->mutable_value()->add_ids(planned.id());
    DeviceFacts* device = facts.add_devices();
    device->set_id(planned.id());
    Ipv4Setting* setting =
        device->mutable_address()->mutable_value()->add_settings();
    setting->set_address(planned.address());
    setting->set_netmask(planned.netmask());
    if (planned.gateway().empty()) {
      Missing* missing = device->mutable_gateway()->mutable_missing();
      missing->set_reason(Missing::NOT_QUERIED);
      SetDetail(Worded("fact-not-planned"), missing);
    } else {
      device->mutable_gateway()->set_value(planned.gateway());
    }
  }
  return facts;
}

// The first, which is the root of many a job, the last and two between: each
// costs every host a reverse look-up.
void AddPeers(const ClusterSpec& spec, ObserveRequest* request) {
  const int last = spec.servers_size() - 1;
  int before = -1;
  for (const int index : {0, last / 3, last / 3 * 2, last}) {
    if (index <= before || index > last) continue;
    before = index;
    const std::string& address = spec.servers(index).address();
    if (!address.empty()) request->add_peers(address);
  }
}

}  // namespace

absl::Status ValidateSelection(const RuleSelection& selection) {
  std::vector<FindingValue> mistakes;
  for (const auto* names :
       {&selection.only(), &selection.skip(), &selection.downgrade()}) {
    for (const std::string& name : *names) {
      if (FindRule(name) != nullptr) continue;
      const FindingValue meant = DidYouMeanWords(name, RuleNames());
      mistakes.push_back(
          Worded("msg-rule-not-known", name,
                 meant.words().empty() ? Worded("spec-see-explain") : meant));
    }
  }
  if (!mistakes.empty()) {
    return WithWords(absl::NotFoundError(""), Lines(mistakes));
  }
  const bool any_selected = absl::c_any_of(
      RuleCatalogue(),
      [&](const Rule& rule) { return IsSelected(selection, rule.name); });
  if (any_selected) return absl::OkStatus();
  return InvalidWords("msg-no-rule-selected");
}

Report BuildReport(const ClusterSpec& spec,
                   absl::Span<const HostFacts* const> hosts,
                   const JudgeOptions& options) {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_cluster(spec.name());
  report.set_product(spec.product());
  report.set_spec_digest(spec.digest());
  report.set_network_namespace(options.network_namespace);
  const NamespaceFacts asked(options.network_namespace, hosts);
  JobSpec job;
  if (options.job != nullptr) job = *options.job;
  const ClusterView view(spec, asked.hosts(),
                         options.job == nullptr ? nullptr : &job, options.now);
  if (view.HasWholeJob() && !options.one_host) AddLogins(view, &job);
  if (options.job != nullptr) DescribeJob(view, &report);
  RunRules(view, options, &report);
  *report.mutable_rule_counts() = CountStates(report.rules());
  AddHosts(view, &report);
  AddNotes(view, &report);
  CountWaived(&report);
  AddSeen(view, &report);
  report.set_verdict(Verdict(view, report));
  Render(view, &report);
  return report;
}

std::vector<Finding> JudgePlannedAddresses(const ClusterSpec& spec) {
  const NpuToolFacts::Generation generation =
      MakeObserveRequest(spec).generation();
  const auto facts = Each<HostFacts>(spec.servers(), [&](const auto& server) {
    return FactsAsPlanned(server, generation);
  });
  const auto hosts =
      Each<const HostFacts*>(facts, [](const auto& host) { return &host; });
  JudgeOptions options;
  for (const char* rule : kPlannedRules) options.selection.add_only(rule);
  const Report report = BuildReport(spec, hosts, options);
  std::vector<Finding> findings;
  for (const RuleResult& result : report.rules()) {
    absl::c_copy_if(
        result.findings(), std::back_inserter(findings),
        [](const Finding& finding) { return finding.state() != SKIPPED; });
  }
  return findings;
}

ObserveRequest MakeObserveRequest(const ClusterSpec& spec,
                                  const NetworkNamespace& network_namespace,
                                  const JobSpec* job,
                                  const RuleSelection* selection) {
  ObserveRequest request;
  // A host adds what its own files give to HCCL.
  PortSet ports = JobPortsOn(spec, HostFacts::default_instance(), job).possible;
  if (job != nullptr && spec.rendezvous_port() == 0) {
    ports.Add(kFirstMasterPort, kLastMasterPort);
  }
  for (const PortSet::Range& range : ports.ranges()) {
    ObserveRequest::PortRange* ports = request.add_socket_ports();
    ports->set_first(range.first);
    ports->set_last(range.second);
  }
  request.set_command_ms(spec.deadlines().command_ms());
  request.set_host_ms(spec.deadlines().host_ms());
  request.set_ask_tls(true);
  for (const auto& [query, rules] : kQueries) {
    const std::vector<absl::string_view> needing = absl::StrSplit(rules, '/');
    const bool is_needed =
        selection == nullptr ||
        absl::c_any_of(needing, [&](absl::string_view rule) {
          return IsSelected(*selection, rule) &&
                 !(spec.roce_unused() && FindRule(rule)->needs_roce);
        });
    if (!is_needed) request.add_skip_queries(query);
  }
  const absl::StatusOr<const ProductProfile*> profile =
      FindProductProfile(spec.product(), spec.mode());
  request.set_ask_vnic(profile.ok() && (*profile)->in_super_pod);
  if (profile.ok()) request.set_generation((*profile)->generation);
  AddPeers(spec, &request);
  if (network_namespace.target_case() != NetworkNamespace::TARGET_NOT_SET) {
    *request.mutable_network_namespace() = network_namespace;
  } else if (job != nullptr && job->has_ssh()) {
    *request.mutable_ssh() = MakeSshQuestion(spec, job->ssh());
  }
  if (job != nullptr && !job->python().empty() && !job->user().empty() &&
      (selection == nullptr || IsSelected(*selection, "job-python"))) {
    *request.mutable_python() = MakePythonQuestion(*job);
  }
  return request;
}

}  // namespace clusterd
