#include "daemon/controller/drift_enforcer.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "config/plan/drift_repair.h"
#include "config/plan/make_plan.h"
#include "config/plan/named_facts.h"
#include "config/plan/plan_digest.h"
#include "config/plan/plan_text.h"
#include "config/rules/judge.h"

namespace clusterd {
namespace {

constexpr size_t kShownLines = 8;

std::vector<std::string> EnforcedBy(const ClusterSpec& spec) {
  return {spec.enforce().begin(), spec.enforce().end()};
}

bool Names(const ClusterSpec& spec, const std::string& host) {
  return std::any_of(
      spec.servers().begin(), spec.servers().end(),
      [&host](const ServerSpec& server) { return server.host() == host; });
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

// How the run ended on its one host.
std::string ResultText(const absl::StatusOr<ApplyReport>& report) {
  if (!report.ok()) return std::string(report.status().message());
  if (report->outcome() == ApplyReport::SUCCEEDED) return "";
  if (report->hosts().empty()) return "it did not begin";
  const ApplyResult& result = report->hosts(0);
  return result.error().empty() ? ApplyResult::Outcome_Name(result.outcome())
                                : result.error();
}

}  // namespace

class DriftEnforcer::Core : public std::enable_shared_from_this<Core> {
 public:
  explicit Core(Parts parts) : parts_(std::move(parts)) {}

  void OnDrift(const std::string& host, const DriftReport& report)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  enum class End {
    kTried,    // The next try waits longer.
    kNothing,  // Nothing was to be done.
    kLater,    // It was not this host's fault.
  };
  struct Host {
    absl::Time not_before = absl::InfinitePast();
    // Since the last try; zero: none yet.
    absl::Duration wait = absl::ZeroDuration();
    bool queued = false;  // Or at work.
    Scheduler::TimerId timer = 0;
  };

  // Runs `work` unless stopped; Stop waits for it.
  void Guarded(const std::function<void()>& work) ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitOver(const std::string& host) ABSL_LOCKS_EXCLUDED(mutex_);
  void EnqueueLocked(const std::string& host)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartNext() ABSL_LOCKS_EXCLUDED(mutex_);
  void Look(const std::string& host);
  void OnFacts(const std::string& host, HostFacts facts);
  void PutBack(const std::string& host, const HostFacts& facts);
  End Begin(const std::string& host, ClusterPlan plan);
  void Finish(const std::string& host, End end) ABSL_LOCKS_EXCLUDED(mutex_);
  void Say(const std::string& host, absl::string_view text) {
    parts_.log->Notice(absl::StrCat("host ", host, ": enforce: ", text));
  }

  const Parts parts_;

  absl::Mutex mutex_;
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> queue_ ABSL_GUARDED_BY(mutex_);
  bool at_work_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
};

void DriftEnforcer::Core::Guarded(const std::function<void()>& work) {
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    ++busy_;
  }
  work();
  absl::MutexLock lock(&mutex_);
  --busy_;
}

void DriftEnforcer::Core::Stop() {
  std::vector<Scheduler::TimerId> timers;
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    stopped_ = true;
    for (const auto& [name, host] : hosts_) timers.push_back(host.timer);
  }
  for (const Scheduler::TimerId timer : timers) parts_.scheduler->Cancel(timer);
  absl::MutexLock lock(&mutex_);
  const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return busy_ == 0;
  };
  mutex_.Await(absl::Condition(&idle));
}

void DriftEnforcer::Core::OnDrift(const std::string& host,
                                  const DriftReport& report) {
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec();
  const bool drifted = HasEnforcedDrift(report.drift(), EnforcedBy(*spec));
  if (drifted && !Names(*spec, host)) return;
  absl::Time next = absl::InfinitePast();
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = parts_.scheduler->Now();
    const auto found = hosts_.find(host);
    if (!drifted) {
      // It has held for as long as a further try would have had to wait.
      if (found != hosts_.end() && !found->second.queued &&
          found->second.timer == 0 && report.drift().has_value() &&
          now >= found->second.not_before) {
        hosts_.erase(found);
      }
      return;
    }
    Host& state = hosts_[host];
    if (stopped_ || state.queued || state.timer != 0) return;
    if (now < state.not_before) {
      next = state.not_before;
      const std::weak_ptr<Core> weak = weak_from_this();
      state.timer = parts_.scheduler->RunAfter(next - now, [weak, host] {
        if (const auto core = weak.lock()) core->WaitOver(host);
      });
    } else {
      EnqueueLocked(host);
    }
  }
  if (next != absl::InfinitePast()) {
    Say(host, absl::StrCat("it has drifted again; the next try is not before ",
                           absl::FormatTime(absl::RFC3339_sec, next,
                                            absl::UTCTimeZone())));
    return;
  }
  StartNext();
}

void DriftEnforcer::Core::WaitOver(const std::string& host) {
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    hosts_[host].timer = 0;
    EnqueueLocked(host);
  }
  StartNext();
}

void DriftEnforcer::Core::EnqueueLocked(const std::string& host) {
  hosts_[host].queued = true;
  queue_.push_back(host);
}

void DriftEnforcer::Core::StartNext() {
  std::string host;
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_ || at_work_ || queue_.empty()) return;
    at_work_ = true;
    host = queue_.front();
    queue_.pop_front();
  }
  Guarded([this, &host] { Look(host); });
}

void DriftEnforcer::Core::Look(const std::string& host) {
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec();
  Observation observation;
  observation.host = host;
  observation.request = MakeObserveRequest(*spec);
  observation.deadline = absl::Milliseconds(spec->deadlines().host_ms());
  const std::weak_ptr<Core> weak = weak_from_this();
  parts_.observe(observation, [weak, host](HostFacts facts) {
    if (const auto core = weak.lock()) core->OnFacts(host, std::move(facts));
  });
}

void DriftEnforcer::Core::OnFacts(const std::string& host, HostFacts facts) {
  Guarded([&] {
    // Planning takes time, and beginning an apply blocks.
    const std::shared_ptr<Core> self = shared_from_this();
    const bool queued = parts_.pool->TryRun(
        [self, host,
         facts = std::make_shared<const HostFacts>(std::move(facts))] {
          self->Guarded([&] { self->PutBack(host, *facts); });
        });
    if (!queued) Finish(host, End::kLater);
  });
}

void DriftEnforcer::Core::PutBack(const std::string& host,
                                  const HostFacts& facts) {
  if (facts.has_missing()) {
    Say(host,
        absl::StrCat("it gives no facts: ", MissingText(facts.missing())));
    return Finish(host, End::kLater);
  }
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec();
  const std::vector<std::string> enforced = EnforcedBy(*spec);
  if (!HasEnforcedDrift(facts.drift(), enforced)) {
    return Finish(host, End::kNothing);
  }
  ClusterPlan plan = MakePlan(*spec, {&facts});
  DriftRepair repair =
      PlanDriftRepair(plan.hosts(0), facts.drift().value(), enforced);
  for (size_t i = 0; i < std::min(repair.left.size(), kShownLines); ++i) {
    Say(host, absl::StrCat("left alone: ", repair.left[i]));
  }
  if (repair.left.size() > kShownLines) {
    Say(host, absl::StrCat("left alone: ", repair.left.size() - kShownLines,
                           " more"));
  }
  if (repair.plan.steps().empty()) return Finish(host, End::kTried);
  *plan.mutable_hosts(0) = std::move(repair.plan);
  plan.set_created_at_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
  plan.set_created_by(kControllerActor);
  plan.set_digest(PlanDigest(plan));
  const End end = Begin(host, std::move(plan));
  if (end != End::kNothing) Finish(host, end);
}

// kNothing: begun; it finishes later.
DriftEnforcer::Core::End DriftEnforcer::Core::Begin(const std::string& host,
                                                    ClusterPlan plan) {
  Say(host, absl::StrCat("puts back what drifted: ", StepTexts(plan.hosts(0))));
  const std::weak_ptr<Core> weak = weak_from_this();
  const absl::Status begun = parts_.apply(
      std::make_shared<const ClusterPlan>(std::move(plan)),
      [weak, host](const absl::StatusOr<ApplyReport>& report) {
        const auto core = weak.lock();
        if (core == nullptr) return;
        core->Guarded([&] {
          const std::string why = ResultText(report);
          const std::string run =
              report.ok() ? absl::StrCat("apply ", report->run_id()) : "apply";
          core->Say(host, why.empty() ? absl::StrCat(run, ": put back")
                                      : absl::StrCat(run, " failed: ", why));
          core->Finish(host, End::kTried);
        });
      });
  if (begun.ok()) return End::kNothing;
  Say(host, absl::StrCat("not begun: ", begun.message()));
  return absl::IsUnavailable(begun) ? End::kLater : End::kTried;
}

void DriftEnforcer::Core::Finish(const std::string& host, End end) {
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
    state.not_before =
        parts_.scheduler->Now() + std::max(state.wait, kFirstEnforceWait);
    if (end == End::kNothing && state.wait == absl::ZeroDuration()) {
      hosts_.erase(host);
    }
  }
  // Not on top of this: a host that answers at once would nest without end.
  const std::weak_ptr<Core> weak = weak_from_this();
  parts_.scheduler->RunAfter(absl::ZeroDuration(), [weak] {
    if (const auto core = weak.lock()) core->StartNext();
  });
}

DriftEnforcer::DriftEnforcer(Parts parts)
    : core_(std::make_shared<Core>(std::move(parts))) {}

DriftEnforcer::~DriftEnforcer() { Stop(); }

void DriftEnforcer::OnDrift(const std::string& host,
                            const DriftReport& report) {
  core_->OnDrift(host, report);
}

void DriftEnforcer::Stop() { core_->Stop(); }

}  // namespace clusterd
