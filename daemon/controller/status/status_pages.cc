#include "daemon/controller/status/status_pages.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "config/report/message_json.h"
#include "config/report/metrics_text.h"
#include "config/values/version.h"
#include "daemon/process/scheduler.h"

namespace clusterd {
namespace {

// Each series exists from the start, so that increases are visible.
constexpr const char* kOutcomes[] = {"succeeded", "stopped", "cancelled",
                                     "interrupted"};
constexpr int kNotAttached = 4;

double UnixSeconds(absl::Time time) {
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

void AddHosts(const ClusterNumbers& numbers, MetricsText* text) {
  // Hosts of the spec, except those in maintenance that need no alert.
  std::map<absl::string_view, int> counts = {
      {"expected", 0}, {"attached", 0},   {"drifted", 0},
      {"refused", 0},  {"unexpected", 0}, {"maintenance", 0}};
  for (const HostEntry& host : numbers.hosts) {
    const bool serves = !host.maintenance();
    counts["expected"] += host.in_spec() && (serves || host.attached());
    counts["attached"] += host.in_spec() && host.attached();
    counts["drifted"] +=
        host.in_spec() && serves && !host.drift().value().drifts().empty();
    counts["unexpected"] += !host.in_spec() && host.attached();
    counts["refused"] += host.has_conflict_words();
    counts["maintenance"] += host.in_spec() && !serves;
  }
  text->Begin("clusterd_hosts", "gauge",
              "Hosts that the spec expects, of them attached and drifted; "
              "attached without being in the spec (unexpected); and names that "
              "a second machine wants and is refused (refused). One in "
              "maintenance is neither expected while it is away nor drifted.");
  for (const auto& [state, count] : counts) {
    text->Add(count, {{"state", std::string(state)}});
  }
}

// The distance from PASS; a host that the newest check lacks is unknown.
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

// The number of hosts in each state by this rule. A finding about the cluster
// counts for all hosts.
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
  for (const auto& [host, state] : worst) ++counts[std::max(state, of_all)];
  counts[of_all] += std::max(hosts - static_cast<int>(worst.size()), 0);
  return counts;
}

void AddRules(const Report& report, MetricsText* text) {
  text->Begin("clusterd_rule_state", "gauge",
              "Hosts by their state in a rule of the newest check of all.");
  for (const RuleResult& rule : report.rules()) {
    if (rule.not_run()) continue;
    std::map<State, int> counts = HostsByState(rule, report.hosts_size());
    for (const auto& [state, name] : kMetricStates) {
      text->Add(counts[state], {{"rule", rule.rule()}, {"state", name}});
    }
  }
  text->Begin("clusterd_waived_findings", "gauge",
              "Findings of the newest check of all that a waiver covers, by "
              "rule; clusterd_rule_state has them as warn.");
  for (const RuleResult& rule : report.rules()) {
    const auto waived = std::count_if(
        rule.findings().begin(), rule.findings().end(),
        [](const Finding& finding) { return finding.has_waiver(); });
    if (waived > 0) {
      text->Add(static_cast<double>(waived), {{"rule", rule.rule()}});
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

// The earliest end among certificates that need an administrator.
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
              "only those that are not renewed, or late with it.");
  for (const auto& [kind, end] : numbers.certificate_ends) {
    text->Add(UnixSeconds(end), {{"kind", kind}});
  }
  if (const auto end = FirstHostToEnd(numbers)) {
    text->Add(UnixSeconds(*end), {{"kind", "host"}});
  }
}

using Clock = std::chrono::steady_clock;

constexpr char kHtmlType[] = "text/html; charset=utf-8";
constexpr char kJsonType[] = "application/json";
constexpr absl::Duration kMetricsAge = absl::Seconds(1);

// Names of clusters are letters, digits, ".", "-" and "_".
constexpr char kIndex[] = R"(<!DOCTYPE html>
<html lang="en"><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<title>clusterd: %s</title>
<h1>clusterd, cluster %s</h1>
<ul>
<li><a href="/report">/report</a>: the newest check of all hosts
<li><a href="/report.json">/report.json</a>: the same for programs
<li><a href="/metrics">/metrics</a>: for Prometheus
<li><a href="/healthz">/healthz</a>: whether this controller gets on
</ul>
)";

HttpAnswer AnswerOf(const char* type, std::string body) {
  HttpAnswer answer;
  answer.type = type;
  answer.body = std::make_shared<const std::string>(std::move(body));
  return answer;
}

// Rebuilt only for another report. One call at a time, so no lock.
HttpPage ReportPage(
    std::function<std::shared_ptr<const Report>()> newest, const char* type,
    std::function<absl::StatusOr<std::string>(const Report&)> make) {
  struct Made {
    std::shared_ptr<const Report> of;
    HttpAnswer answer;
  };
  const auto made = std::make_shared<Made>();
  return {[newest = std::move(newest), type, make = std::move(make), made] {
    std::shared_ptr<const Report> report = newest();
    if (report == nullptr) {
      return TextAnswer(404,
                        "no check of the whole cluster has ended yet; "
                        "clusterctl check begins one");
    }
    if (made->of != report) {
      absl::StatusOr<std::string> body = make(*report);
      if (!body.ok()) return TextAnswer(500, body.status().message());
      made->answer = AnswerOf(type, *std::move(body));
      made->of = std::move(report);
    }
    return made->answer;
  }};
}

// Rebuilt only after `age`. One call at a time, so no lock.
HttpPage PageKeptFor(absl::Duration age, std::function<HttpAnswer()> make,
                     bool is_apart) {
  struct Made {
    Clock::time_point at;
    HttpAnswer answer;
  };
  const auto made = std::make_shared<Made>();
  return {[age, make = std::move(make), made] {
            if (made->answer.body == nullptr ||
                Clock::now() - made->at >= absl::ToChronoNanoseconds(age)) {
              made->answer = make();
              made->at = Clock::now();
            }
            return made->answer;
          },
          is_apart};
}

class HealthCheck {
 public:
  HealthCheck(std::vector<WatchdogPart> parts, absl::Duration patience)
      : parts_(std::move(parts)), patience_(patience) {}
  ~HealthCheck() {
    for (const WatchdogPart& part : parts_) part.gate.Close();
  }

  HttpAnswer Ask() const {
    // A part may answer after the page has stopped waiting.
    std::vector<std::shared_ptr<MonotonicNotification>> answers;
    for (const WatchdogPart& part : parts_) {
      answers.push_back(std::make_shared<MonotonicNotification>());
      part.ask([answer = answers.back()] { answer->Notify(); });
    }
    const Clock::time_point end =
        Clock::now() + absl::ToChronoNanoseconds(patience_);
    const std::string stuck =
        absl::StrCat("no answer in ", absl::FormatDuration(patience_));
    bool all_answer = true;
    std::vector<std::string> lines;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const bool answers_now =
          answers[i]->WaitFor(absl::FromChrono(end - Clock::now()));
      all_answer = all_answer && answers_now;
      lines.push_back(
          absl::StrCat(parts_[i].name, ": ", answers_now ? "ok" : stuck));
    }
    return TextAnswer(all_answer ? 200 : 503, absl::StrJoin(lines, "\n"));
  }

 private:
  const std::vector<WatchdogPart> parts_;
  const absl::Duration patience_;
};

}  // namespace

std::string ClusterMetrics(const ClusterNumbers& numbers) {
  MetricsText text;
  text.Begin("clusterd_build_info", "gauge", "1, by the controller's version.");
  text.Add(1, {{"version", kClusterdVersion}});
  AddHosts(numbers, &text);
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
      "first call: its place in the queue, and TLS.");
  text.AddHistogram(numbers.attach_waits);
  AddCertificates(numbers, &text);
  return std::move(text).Take();
}

std::map<std::string, HttpPage> MakeStatusPages(const StatusSources& sources) {
  const auto health =
      std::make_shared<HealthCheck>(sources.parts, sources.patience);
  std::map<std::string, HttpPage> pages;
  pages["/"] = {
      [answer = AnswerOf(
           kHtmlType, absl::StrReplaceAll(kIndex, {{"%s", sources.cluster}}))] {
        return answer;
      }};
  pages["/healthz"] = PageKeptFor(
      sources.patience, [health] { return health->Ask(); }, /*is_apart=*/true);
  pages["/metrics"] = PageKeptFor(
      kMetricsAge,
      [numbers = sources.numbers] {
        return AnswerOf(kMetricsType, ClusterMetrics(numbers()));
      },
      /*is_apart=*/false);
  pages["/report"] = ReportPage(sources.newest, kHtmlType, sources.html);
  pages["/report.json"] =
      ReportPage(sources.newest, kJsonType,
                 [](const Report& report) { return MessageJson(report); });
  return pages;
}

}  // namespace clusterd
