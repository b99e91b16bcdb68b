#include "daemon/controller/status/cluster_metrics.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "config/report/metrics_text.h"
#include "config/values/version.h"

namespace clusterd {
namespace {

// So that whoever asks for an increase has one from the start.
constexpr const char* kOutcomes[] = {"succeeded", "stopped", "cancelled",
                                     "interrupted"};
constexpr int kNotAttached = 4;

double UnixSeconds(absl::Time time) {
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

bool HasDrifted(const HostEntry& host) {
  return !host.drift().value().drifts().empty();
}

void AddHosts(const std::vector<HostEntry>& hosts, MetricsText* text) {
  const auto count = [&hosts](bool (*is)(const HostEntry& host)) {
    return static_cast<double>(std::count_if(hosts.begin(), hosts.end(), is));
  };
  text->Begin("clusterd_hosts", "gauge",
              "Hosts that the spec expects, of them attached and drifted; "
              "attached without being in the spec (unexpected); and names that "
              "a second machine wants and is refused (refused).");
  text->Add(count([](const HostEntry& host) { return host.in_spec(); }),
            {{"state", "expected"}});
  text->Add(count([](const HostEntry& host) {
              return host.in_spec() && host.attached();
            }),
            {{"state", "attached"}});
  text->Add(count([](const HostEntry& host) {
              return host.in_spec() && HasDrifted(host);
            }),
            {{"state", "drifted"}});
  text->Add(count([](const HostEntry& host) {
              return !host.in_spec() && host.attached();
            }),
            {{"state", "unexpected"}});
  text->Add(
      count([](const HostEntry& host) { return !host.conflict().empty(); }),
      {{"state", "refused"}});
}

// How far from fine; a host of which the newest check has nothing is unknown.
int NumberOf(State state) {
  switch (state) {
    case PASS:
    case SKIPPED:
      return 0;
    case WARN:
      return 1;
    case FAIL:
      return 3;
    default:
      return 2;
  }
}

void AddHostStates(const ClusterNumbers& numbers, MetricsText* text) {
  absl::flat_hash_map<absl::string_view, State> states;
  if (numbers.newest != nullptr) {
    for (const HostStatus& host : numbers.newest->hosts()) {
      states[host.host()] = host.state();
    }
  }
  text->Begin("clusterd_host_state", "gauge",
              "A host of the spec: 0 passed the newest check of all, 1 warns, "
              "2 is not known, 3 failed; 4 is not attached.");
  for (const HostEntry& host : numbers.hosts) {
    if (!host.in_spec()) continue;
    const auto state = states.find(host.host());
    const int number = !host.attached()        ? kNotAttached
                       : state == states.end() ? NumberOf(UNKNOWN)
                                               : NumberOf(state->second);
    text->Add(number, {{"host", host.host()}});
  }
}

// How many hosts are in each state by this rule. What is found about the
// cluster is so of all of them.
std::map<State, int> HostsByState(const RuleResult& rule, int hosts) {
  std::map<State, int> counts;
  if (rule.state() == SKIPPED) {
    counts[SKIPPED] = hosts;
    return counts;
  }
  absl::flat_hash_map<absl::string_view, State> worst;
  State of_all = PASS;
  for (const Finding& finding : rule.findings()) {
    for (const Subject& subject : finding.subjects()) {
      State& state = subject.host().empty() ? of_all : worst[subject.host()];
      state = std::max(state, finding.state());
    }
  }
  int named = 0;
  for (const auto& [host, state] : worst) {
    ++counts[std::max(state, of_all)];
    ++named;
  }
  counts[of_all] += std::max(hosts - named, 0);
  return counts;
}

void AddRules(const Report& report, MetricsText* text) {
  text->Begin("clusterd_rule_state", "gauge",
              "Hosts by their state in a rule of the newest check of all.");
  for (const RuleResult& rule : report.rules()) {
    if (rule.not_run()) continue;
    std::map<State, int> counts = HostsByState(rule, report.hosts_size());
    for (const auto& [state, name] : MetricStates()) {
      text->Add(counts[state], {{"rule", rule.rule()}, {"state", name}});
    }
  }
  text->AddGauge("clusterd_check_duration_seconds",
                 "How long the newest check of all took.",
                 static_cast<double>(report.elapsed_ms()) / 1000);
  text->AddGauge(
      "clusterd_check_last_success_timestamp_seconds",
      "When the newest check of all had its report, whatever that says.",
      static_cast<double>(report.started_at_ms() +
                          static_cast<int64_t>(report.elapsed_ms())) /
          1000);
}

// The first to end of those that somebody has to look after.
std::optional<absl::Time> FirstHostToEnd(const ClusterNumbers& numbers) {
  std::optional<absl::Time> first;
  for (const HostEntry& host : numbers.hosts) {
    if (!host.attached() || host.certificate_ends_ms() == 0) continue;
    const absl::Time end = absl::FromUnixMillis(host.certificate_ends_ms());
    if (host.certificate_renews() && end - numbers.now > numbers.late_renewal) {
      continue;
    }
    if (!first || end < *first) first = end;
  }
  return first;
}

void AddCertificates(const ClusterNumbers& numbers, MetricsText* text) {
  text->Begin("clusterd_certificate_expiry_timestamp_seconds", "gauge",
              "When the first certificate of its kind ends; of attached hosts "
              "only those that nobody renews, or that are late with it.");
  for (const auto& [kind, end] : numbers.certificate_ends) {
    text->Add(UnixSeconds(end), {{"kind", kind}});
  }
  if (const auto end = FirstHostToEnd(numbers)) {
    text->Add(UnixSeconds(*end), {{"kind", "host"}});
  }
}

}  // namespace

std::string ClusterMetrics(const ClusterNumbers& numbers) {
  MetricsText text;
  text.Begin("clusterd_build_info", "gauge", "1, by the controller's version.");
  text.Add(1, {{"version", kClusterdVersion}});
  AddHosts(numbers.hosts, &text);
  AddHostStates(numbers, &text);
  if (numbers.newest != nullptr) AddRules(*numbers.newest, &text);
  text.Begin("clusterd_apply_total", "counter",
             "Applies and rollbacks that have ended, by what came of them.");
  std::map<std::string, uint64_t> applies = numbers.applies;
  for (const char* const outcome : kOutcomes) applies[outcome];
  for (const auto& [outcome, count] : applies) {
    text.Add(static_cast<double>(count), {{"result", outcome}});
  }
  text.Begin(
      "clusterd_attach_wait_seconds", "histogram",
      "From a connection's arrival at the port of hosts and users to its "
      "first call: its turn, and TLS.");
  text.AddHistogram(numbers.attach_waits);
  AddCertificates(numbers, &text);
  return std::move(text).Take();
}

}  // namespace clusterd
