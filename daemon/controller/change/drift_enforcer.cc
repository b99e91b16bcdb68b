#include "daemon/controller/change/drift_enforcer.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/change/host_state.h"
#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/spec/host_names.h"
#include "config/words/fact_text.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
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
  std::map<std::string, Host> hosts;
  {
    absl::MutexLock lock(&mutex_);
    hosts.swap(hosts_);
  }
  for (const auto& [name, host] : hosts) {
    parts_.scheduler->Cancel(host.timer);
    if (host.ticket != 0) parts_.queue->Leave(host.ticket);
  }
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
      // The value has held for the current wait.
      if (found != hosts_.end() && found->second.ticket == 0 &&
          found->second.timer == 0 && report.drift().has_value() &&
          now >= found->second.not_before) {
        hosts_.erase(found);
      }
      return;
    }
    Host& state = hosts_[host];
    if (state.ticket != 0 || state.timer != 0) return;
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
  const FactQueue::Ticket ticket = parts_.queue->NewTicket();
  {
    absl::MutexLock lock(&mutex_);
    hosts_[host].timer = 0;
    if (hosts_[host].ticket != 0) return;
    hosts_[host].ticket = ticket;
  }
  FactQueue::Question question;
  question.of = CallClass::kEnforce;
  question.key = host;
  FactQueue::Work<void> work;
  work.prepare = [this, host]() -> absl::StatusOr<std::shared_ptr<FactOrder>> {
    auto order = std::make_shared<FactOrder>();
    order->spec = parts_.spec();
    order->actor = ControllerActor(order->spec->name());
    order->hosts = {host};
    return order;
  };
  work.conclude = [this, host, gate = gate_](const Gathered& gathered) {
    const CallbackGate::Pass pass(gate);
    if (pass) PutBack(host, gathered.facts[0]);
    return nullptr;
  };
  FactQueue::Caller<void> caller;
  caller.on_end = gate_.Wrap([this, host](const auto& end) {
    if (!end.ok()) Finish(host, End::kLater);
  });
  parts_.queue->Ask(ticket, question, std::move(work), std::move(caller));
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
  FactQueue::Ticket ticket;
  {
    absl::MutexLock lock(&mutex_);
    Host& state = hosts_[host];
    ticket = std::exchange(state.ticket, 0);
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
  parts_.queue->Leave(ticket);
}

}  // namespace clusterd
