#include "daemon/agent/metrics/metrics_file.h"

#include <map>

#include "config/report/metrics_text.h"
#include "config/values/version.h"

namespace clusterd {
namespace {

constexpr double kSpread = 0.1;

void AddCheck(const CheckSelfResponse& check, MetricsText* text) {
  std::map<State, int> rules;
  for (const RuleResult& rule : check.report().rules()) {
    if (!rule.not_run()) ++rules[rule.state()];
  }
  text->Begin("clusterd_agent_rules", "gauge",
              "Rules that need one host only, by state in its newest look at "
              "itself.");
  for (const auto& [state, name] : kMetricStates) {
    text->Add(rules[state], {{"state", name}});
  }
  text->AddGauge("clusterd_agent_check_timestamp_seconds",
                 "When the host looked at itself last.",
                 static_cast<double>(check.facts().observed_at_ms()) / 1000);
  // Unknown numbers are omitted: they are not zero.
  if (!check.facts().drift().has_value()) return;
  const DriftFact::Drifts& drift = check.facts().drift().value();
  text->AddGauge("clusterd_agent_drifted_settings",
                 "Settings that are not as an apply has left them.",
                 drift.drifts_size() + drift.left_out());
}

}  // namespace

std::string HostMetrics(const HostNumbers& numbers) {
  MetricsText text;
  text.Begin("clusterd_agent_build_info", "gauge", "1, by clusterd's version.");
  text.Add(1, {{"version", kClusterdVersion}});
  text.AddGauge("clusterd_agent_attached",
                "Whether this host has a stream to its controller.",
                numbers.status.attached() ? 1 : 0);
  text.AddGauge("clusterd_agent_unfinished_apply",
                "Whether an apply was cut off and is not taken back yet.",
                numbers.status.unfinished().empty() ? 0 : 1);
  if (numbers.check) AddCheck(*numbers.check, &text);
  text.Begin("clusterd_agent_certificate_expiry_timestamp_seconds", "gauge",
             "When the first certificate of its kind ends.");
  for (const auto& [kind, end] : numbers.certificate_ends) {
    text.Add(absl::ToDoubleSeconds(end - absl::UnixEpoch()), {{"kind", kind}});
  }
  return std::move(text).Take();
}

void MetricsFile::BeginLocked() {
  if (writing_) {
    again_ = true;
    return;
  }
  writing_ = parts_.pool->TryRun(gate_.Wrap([this] { Write(); }));
  // Set the timer even if the pool is full.
  parts_.scheduler->Cancel(timer_);
  timer_ = parts_.scheduler->RunAfter(kWriteInterval,
                                      gate_.Wrap([this] { OnChanged(false); }));
}

void MetricsFile::Write() {
  bool round;
  {
    absl::MutexLock lock(&mutex_);
    round = std::exchange(round_due_, false);
  }
  const absl::Time now = parts_.scheduler->Now();
  if (round || now >= round_at_) {
    numbers_.check = parts_.check();
    round_at_ =
        now + kRoundInterval * (1 - kSpread + 2 * kSpread * parts_.random());
  }
  numbers_.status = parts_.status();
  numbers_.certificate_ends =
      FirstEnds({{"host", parts_.tls.certificate}, {"ca", parts_.tls.ca}});
  const absl::Status status = parts_.write(HostMetrics(numbers_));
  if (!status.ok() && status.message() != reported_) {
    parts_.log->Warning("metrics_file: ", status.message(),
                        "; tried again every minute");
  }
  reported_ = std::string(status.message());
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (std::exchange(again_, false)) BeginLocked();
}

}  // namespace clusterd
