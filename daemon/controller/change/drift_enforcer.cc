#include "daemon/controller/change/drift_enforcer.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/spec/host_names.h"
#include "config/words/fact_text.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "daemon/controller/change/apply_end.h"
#include "daemon/controller/hosts/fact_run.h"

namespace clusterd {
namespace {

// The most steps, and ignored settings, in one log line.
constexpr size_t kShownLines = 8;

std::vector<std::string> EnforcedBy(const ClusterSpec& spec) {
  return {spec.enforce().begin(), spec.enforce().end()};
}

std::string StepTexts(const HostPlan& plan) {
  std::vector<std::string> texts;
  for (const PlanStep& step : plan.steps()) {
    if (texts.size() == kShownLines) break;
    texts.push_back(StepText(step));
  }
  const size_t more = static_cast<size_t>(plan.steps_size()) - texts.size();
  return absl::StrCat(absl::StrJoin(texts, "; "),
                      more > 0 ? absl::StrCat("; and ", more, " more") : "");
}

// The result of the run on its one host; empty: it succeeded.
std::string ResultText(const absl::StatusOr<ApplyReport>& report) {
  if (!report.ok()) return std::string(report.status().message());
  if (report->outcome() == ApplyReport::SUCCEEDED) return "";
  if (report->hosts().empty()) return "it did not begin";
  const ApplyResult& result = report->hosts(0);
  const std::string error = ErrorText(result);
  return error.empty() ? ApplyResult::Outcome_Name(result.outcome()) : error;
}

}  // namespace

void DriftEnforcer::Stop() {
  gate_.Close();
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, host] : hosts_) parts_.scheduler->Cancel(host.timer);
  hosts_.clear();
}

void DriftEnforcer::OnDrift(const std::string& host,
                            const DriftReport& report) {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return;
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec();
  const bool drifted = HasEnforcedDrift(report.drift(), EnforcedBy(*spec));
  if (drifted && !NamesHost(*spec, host)) return;
  absl::Time next;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = parts_.scheduler->Now();
    const auto found = hosts_.find(host);
    if (!drifted) {
      // The restored value has held for the current wait, so reset it.
      if (found != hosts_.end() && !found->second.queued &&
          found->second.timer == 0 && report.drift().has_value() &&
          now >= found->second.not_before) {
        hosts_.erase(found);
      }
      return;
    }
    Host& state = hosts_[host];
    if (state.queued || state.timer != 0) return;
    next = state.not_before;
    if (now < next) {
      state.timer = parts_.scheduler->RunAfter(
          next - now, gate_.Wrap([this, host] { Enqueue(host); }));
    } else {
      next = absl::InfinitePast();
    }
  }
  if (next == absl::InfinitePast()) return Enqueue(host);
  Say(host, "it has drifted again; the next try is not before ", UtcText(next));
}

void DriftEnforcer::Enqueue(const std::string& host) {
  {
    absl::MutexLock lock(&mutex_);
    hosts_[host].timer = 0;
    if (std::exchange(hosts_[host].queued, true)) return;
    queue_.push_back(host);
  }
  StartNext();
}

void DriftEnforcer::StartNext() {
  std::string host;
  {
    absl::MutexLock lock(&mutex_);
    if (at_work_ || queue_.empty()) return;
    at_work_ = true;
    host = queue_.front();
    queue_.pop_front();
  }
  // Planning is slow and applying blocks: not on the thread with the facts.
  parts_.observe(
      ObservationOf(*parts_.spec(), host),
      gate_.Wrap([this, host](HostFacts facts) {
        const auto held = std::make_shared<const HostFacts>(std::move(facts));
        const bool taken = parts_.pool->TryRun(
            gate_.Wrap([this, host, held] { PutBack(host, *held); }));
        if (!taken) Finish(host, End::kLater);
      }));
}

void DriftEnforcer::PutBack(const std::string& host, const HostFacts& facts) {
  if (facts.has_missing()) {
    Say(host, "it gives no facts: ", WhyMissing(&facts.missing()));
    return Finish(host, End::kLater);
  }
  // The drift report is older than these facts, and the spec may have been
  // re-read: only the current state counts.
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec();
  const std::vector<std::string> enforced = EnforcedBy(*spec);
  if (!HasEnforcedDrift(facts.drift(), enforced)) {
    return Finish(host, End::kNothing);
  }
  ClusterPlan plan = MakePlan(*spec, {&facts});
  DriftRepair repair =
      PlanDriftRepair(plan.hosts(0), facts.drift().value(), enforced);
  for (size_t i = 0; i < std::min(repair.left.size(), kShownLines); ++i) {
    Say(host, "left alone: ", repair.left[i]);
  }
  if (repair.left.size() > kShownLines) {
    Say(host, "left alone: ", repair.left.size() - kShownLines, " more");
  }
  if (repair.plan.steps().empty()) return Finish(host, End::kTried);
  *plan.mutable_hosts(0) = std::move(repair.plan);
  plan.set_created_at_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
  plan.set_created_by(ControllerActor(plan.cluster()));
  plan.set_digest(PlanDigest(plan));
  const End end = Begin(host, std::move(plan));
  if (end != End::kNothing) Finish(host, end);
}

// kNothing: begun; it finishes later.
DriftEnforcer::End DriftEnforcer::Begin(const std::string& host,
                                        ClusterPlan plan) {
  Say(host, "puts back what drifted: ", StepTexts(plan.hosts(0)));
  const absl::Status begun = parts_.apply(
      std::make_shared<const ClusterPlan>(std::move(plan)),
      gate_.Wrap([this, host](const absl::StatusOr<ApplyReport>& report) {
        const std::string why = ResultText(report);
        const std::string run =
            report.ok() ? absl::StrCat("apply ", report->run_id()) : "apply";
        Say(host, why.empty() ? absl::StrCat(run, ": put back")
                              : absl::StrCat(run, " failed: ", why));
        Finish(host, End::kTried);
      }));
  if (begun.ok()) return End::kNothing;
  Say(host, "not begun: ", begun.message());
  return absl::IsUnavailable(begun) ? End::kLater : End::kTried;
}

void DriftEnforcer::Finish(const std::string& host, End end) {
  {
    absl::MutexLock lock(&mutex_);
    Host& state = hosts_[host];
    state.queued = false;
    at_work_ = false;
    if (end == End::kTried) {
      state.wait = state.wait == absl::ZeroDuration()
                       ? kFirstEnforceWait
                       : std::min(2 * state.wait, kLongestEnforceWait);
    }
    // Wait even after a success: a value that drifts back at once would make
    // the controller change the host endlessly.
    state.not_before =
        parts_.scheduler->Now() + std::max(state.wait, kFirstEnforceWait);
    if (end == End::kNothing && state.wait == absl::ZeroDuration()) {
      hosts_.erase(host);
    }
  }
  // A host that answers at once would overflow this stack by nesting.
  parts_.scheduler->RunAfter(absl::ZeroDuration(),
                             gate_.Wrap([this] { StartNext(); }));
}

}  // namespace clusterd
