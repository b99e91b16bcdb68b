#include "daemon/controller/hosts/fact_run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/plan/settings.h"
#include "config/rules/catalogue.h"
#include "config/rules/judge.h"
#include "config/values/network_namespace.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/controller/hosts/fact_limits.h"

namespace clusterd {
namespace {

std::vector<const HostFacts*> PointersTo(const std::vector<HostFacts>& facts) {
  return Each<const HostFacts*>(facts,
                                [](const HostFacts& host) { return &host; });
}

// The settings and goals of steps.
struct Goals {
  std::set<SettingId> settings;
  std::set<FactKey> goals;
};

// True if one of "address/gateway" is set, on this device if it has devices.
bool SetsOneOf(const Goals& goals, absl::string_view names,
               std::optional<uint32_t> device) {
  const std::vector<std::string> each = absl::StrSplit(names, '/');
  return absl::c_any_of(each, [&](const std::string& name) {
    const Setting* const setting = FindSetting(ParseSettingName(name));
    if (setting == nullptr) {
      return goals.goals.count(KernelFact(name, SETTING_RUNNING)) > 0;
    }
    return device && setting->device != nullptr
               ? goals.goals.count(DeviceFact(*device, setting->id)) > 0
               : goals.settings.count(setting->id) > 0;
  });
}

// The finding's state after the steps of its host, `own`, and of all hosts;
// PASS: the steps fix it, directly or through its cause.
State StateAfter(const Finding& finding, const Subject& subject,
                 const Goals& own, const Goals& all) {
  const Rule& rule = *FindRule(finding.rule());
  const Rule* const cause = FindRule(finding.caused_by());
  std::vector<std::optional<uint32_t>> where(subject.devices().begin(),
                                             subject.devices().end());
  if (where.empty()) where.push_back(std::nullopt);
  const auto is_fixed = [&own](absl::string_view names) {
    return [&own, names](const std::optional<uint32_t>& device) {
      return SetsOneOf(own, names, device);
    };
  };
  if (absl::c_all_of(where, is_fixed(rule.fixed_by))) return PASS;
  // The cause is on one of the finding's devices.
  if (cause != nullptr && absl::c_any_of(where, is_fixed(cause->fixed_by))) {
    return PASS;
  }
  const Goals& others = rule.scope == RuleScope::kCluster ? all : own;
  return SetsOneOf(others, rule.possible_causes, std::nullopt)
             ? std::min(finding.state(), UNKNOWN)
             : finding.state();
}

// The task for all hosts of the order.
HostTask ForAnyHost(const FactOrder& order) {
  HostTask observation =
      ObservationOf(*order.spec, "", order.network_namespace, order.job.get(),
                    order.selection ? &*order.selection : nullptr);
  if (observation.task.observe().has_ssh()) {
    observation.task.mutable_observe()->mutable_ssh()->set_actor(order.actor);
  }
  return observation;
}

// Adds to each host the findings that its steps do not fix, by cause.
void AddUnfixed(const Report& report, ClusterPlan* plan) {
  std::map<std::string, Goals> goals;
  Goals all;
  for (const HostPlan& host : plan->hosts()) {
    Goals& own = goals[host.host()];
    for (const PlanStep& step : host.steps()) {
      own.settings.insert(step.setting());
      own.goals.insert(GoalOf(step));
    }
    all.settings.insert(own.settings.begin(), own.settings.end());
    all.goals.insert(own.goals.begin(), own.goals.end());
  }
  std::set<std::pair<std::string, std::string>> found;  // Rule, host.
  for (const RuleResult& result : report.rules()) {
    for (const Finding& finding : result.findings()) {
      for (const Subject& subject : finding.subjects()) {
        found.emplace(result.rule(), subject.host());
      }
    }
  }
  std::map<std::string, std::map<std::string, State>> left;  // By host, rule.
  for (const RuleResult& result : report.rules()) {
    for (const Finding& finding : result.findings()) {
      if (finding.state() == SKIPPED) continue;
      for (const Subject& subject : finding.subjects()) {
        // A finding about two hosts has its cause on one of them.
        const bool caused =
            found.count({finding.caused_by(), subject.host()}) > 0;
        State& state =
            left[subject.host()][caused ? finding.caused_by() : finding.rule()];
        state = std::max(
            state, StateAfter(finding, subject, goals[subject.host()], all));
      }
    }
  }
  for (HostPlan& host : *plan->mutable_hosts()) {
    const bool blocked_whole =
        !host.blocked().empty() && host.blocked(0).kind() == CHANGE_OBSERVE;
    for (const auto& [rule, state] : left[host.host()]) {
      if (state == PASS || blocked_whole) continue;
      UnfixedRule* const unfixed = host.add_unfixed();
      unfixed->set_rule(rule);
      unfixed->set_state(state);
    }
  }
  plan->set_digest(PlanDigest(*plan));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SelectHosts(
    const ClusterSpec& spec,
    const google::protobuf::RepeatedPtrField<std::string>& names) {
  if (spec.servers().empty()) {
    return InvalidWords("msg-hub-spec-without-hosts");
  }
  std::set<std::string> wanted(names.begin(), names.end());
  std::vector<std::string> selected;
  for (const ServerSpec& server : spec.servers()) {
    if (names.empty() || wanted.erase(server.host()) > 0) {
      selected.push_back(server.host());
    }
  }
  if (wanted.empty()) return selected;
  const auto hosts = Each<absl::string_view>(spec.servers(), &ServerSpec::host);
  return InvalidWords("msg-hub-hosts-not-in-spec", spec.name(),
                      NameList({wanted.begin(), wanted.end()}),
                      wanted.size() == 1
                          ? DidYouMeanWords(*wanted.begin(), hosts)
                          : FindingValue());
}

std::string NewRunId() {
  // Random, so not guessable. The kernel cannot fail for so few bytes.
  uint64_t id = 0;
  if (getentropy(&id, sizeof(id)) != 0) std::abort();
  return absl::StrCat(absl::Hex(id, absl::kZeroPad16));
}

// The host answers before our deadline, and its observation ends even before
// that, so that partial facts arrive here.
HostTask ObservationOf(const ClusterSpec& spec, const std::string& host,
                       const NetworkNamespace& target, const JobSpec* job,
                       const RuleSelection* selection) {
  const uint64_t total_ms = spec.deadlines().host_ms();
  const auto percent = [total_ms](uint64_t part) {
    return static_cast<uint32_t>(std::max<uint64_t>(1, total_ms * part / 100));
  };
  HostTask task;
  task.host = host;
  task.deadline = absl::Milliseconds(total_ms);
  task.task.set_deadline_ms(percent(95));
  *task.task.mutable_observe() =
      MakeObserveRequest(spec, target, job, selection);
  task.task.mutable_observe()->set_host_ms(percent(90));
  return task;
}

// The host first read its clock after our question, and last before its answer;
// a monotonic clock measured the time in between.
ClockFact CompareClocks(const HostFacts& facts, absl::Time asked,
                        absl::Time answered) {
  const absl::Time began = absl::FromUnixMillis(facts.observed_at_ms());
  const absl::Time ended = began + absl::Milliseconds(facts.elapsed_ms());
  ClockFact fact;
  // One millisecond more, since the host's times are rounded. Setting its clock
  // meanwhile may swap the two.
  const int64_t least = absl::ToInt64Milliseconds(ended - answered) - 1;
  const int64_t most = absl::ToInt64Milliseconds(began - asked) + 1;
  fact.mutable_value()->set_ahead_at_least_ms(std::min(least, most));
  fact.mutable_value()->set_ahead_at_most_ms(std::max(least, most));
  return fact;
}

Report MakeCheckReport(const FactOrder& order, const RuleSelection& selection,
                       const std::vector<HostFacts>& facts, absl::Time now) {
  JudgeOptions options;
  options.now = now;
  options.selection = selection;
  options.network_namespace = NetworkNamespaceText(order.network_namespace);
  options.job = order.job.get();
  Report report = BuildReport(*order.spec, PointersTo(facts), options);
  if (order.job != nullptr) report.set_job_id(order.job->id());
  report.set_run_id(order.run_id);
  report.set_started_at_ms(absl::ToUnixMillis(order.started_at));
  report.set_elapsed_ms(ToMs<uint64_t>(now - order.started_at));
  report.set_clusterd_version(kClusterdVersion);
  return report;
}

ClusterPlan MakeHostsPlan(const FactOrder& order,
                          const std::vector<HostFacts>& facts, absl::Time now) {
  ClusterPlan plan = MakePlan(*order.spec, PointersTo(facts),
                              order.network_namespace, order.steps);
  const Report report = MakeCheckReport(order, {}, facts, now);
  AddUnfixed(report, &plan);
  if (!plan.only().empty()) {
    ClusterPlan whole =
        MakePlan(*order.spec, PointersTo(facts), order.network_namespace);
    AddUnfixed(report, &whole);
    for (int i = 0; i < plan.hosts_size(); ++i) {
      const auto stays =
          Each<std::string>(whole.hosts(i).unfixed(), &UnfixedRule::rule);
      for (auto& rule : *plan.mutable_hosts(i)->mutable_unfixed()) {
        rule.set_left_out(!absl::c_linear_search(stays, rule.rule()));
      }
    }
    plan.set_digest(PlanDigest(plan));
  }
  plan.set_plan_id(order.run_id);
  plan.set_created_at_ms(absl::ToUnixMillis(now));
  plan.set_created_by(order.actor);
  return plan;
}

FactRun::FactRun(std::shared_ptr<const FactOrder> order,
                 const ControllerParts& parts, Callbacks callbacks)
    : order_(std::move(order)),
      parts_(parts),
      observation_(ForAnyHost(*order_)),
      callbacks_(std::move(callbacks)),
      facts_(order_->hosts.size()) {
  for (size_t i = 0; i < order_->hosts.size(); ++i) {
    pending_[i] = 0;
    unasked_.insert(i);
  }
}

absl::Duration FactRun::run_deadline() const {
  return absl::Milliseconds(order_->spec->deadlines().run_ms());
}

// Asking 10,000 hosts takes a while, so not on the thread of the call.
absl::Status FactRun::Start() {
  if (parts_.pool->TryRun([run = shared_from_this()] { run->AskAll(); })) {
    return absl::OkStatus();
  }
  return ExhaustedWords("msg-hub-too-many-runs");
}

void FactRun::AskAll() {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    timer_ =
        parts_.scheduler->RunAfter(run_deadline(), [weak = weak_from_this()] {
          if (const auto run = weak.lock()) run->OnDeadline();
        });
  }
  if (!order_->held.empty()) {
    parts_.scheduler->RunAfter(order_->hold_for, [weak = weak_from_this()] {
      if (const auto run = weak.lock()) run->GiveUpHeld();
    });
  }
  for (size_t i = 0; i < order_->hosts.size(); ++i) {
    if (!order_->held.contains(order_->hosts[i])) Ask(i);
  }
}

void FactRun::Ask(size_t index) {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || unasked_.erase(index) == 0) return;
  }
  HostTask observation = observation_;
  observation.host = order_->hosts[index];
  const AttachedHosts::TaskId task = parts_.hosts->Observe(
      observation, [run = shared_from_this(), index](HostFacts facts) {
        run->OnFacts(index, std::move(facts));
      });
  bool too_late;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = pending_.find(index);
    if (found != pending_.end()) found->second = task;
    too_late = closed_;
  }
  // The run was cancelled or timed out while hosts were being asked.
  if (too_late) parts_.hosts->Cancel(task);
}

void FactRun::AskHeld(const std::string& host) {
  const auto found = absl::c_find(order_->hosts, host);
  if (found == order_->hosts.end()) return;
  Ask(static_cast<size_t>(found - order_->hosts.begin()));
}

void FactRun::AskAllHeld() {
  for (const std::string& host : order_->held) AskHeld(host);
}

void FactRun::GiveUpHeld() {
  std::set<size_t> given_up;
  {
    absl::MutexLock lock(&mutex_);
    for (const size_t index : unasked_) {
      if (order_->held.contains(order_->hosts[index])) given_up.insert(index);
    }
    for (const size_t index : given_up) unasked_.erase(index);
  }
  for (const size_t index : given_up) {
    OnFacts(index, MissingFacts(order_->hosts[index], Missing::NOT_QUERIED,
                                order_->why_held));
  }
}

void FactRun::OnFacts(size_t index, HostFacts facts) {
  bool all;
  std::function<void()> on_progress;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || pending_.erase(index) == 0) return;
    if (facts.has_missing()) ++failed_;
    facts_[index] = std::move(facts);
    all = pending_.empty();
    closed_ = all;
    on_progress = callbacks_.on_progress;
    if (all) parts_.scheduler->Cancel(timer_);
  }
  // A copy, since Cancel may drop the callbacks meanwhile.
  if (on_progress) on_progress();
  if (all) HandOverSoon();
}

void FactRun::OnDeadline() {
  std::vector<AttachedHosts::TaskId> overdue;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    closed_ = true;
    for (const auto& [index, task] : pending_) {
      facts_[index] = MissingFacts(
          order_->hosts[index], Missing::TIMED_OUT,
          Worded(
              "hub-deadline",
              Worded("msg-hub-no-answer", absl::FormatDuration(run_deadline())),
              "deadlines.run"));
      overdue.push_back(task);
      ++failed_;
    }
    pending_.clear();
  }
  for (const AttachedHosts::TaskId task : overdue) parts_.hosts->Cancel(task);
  HandOverSoon();
}

void FactRun::Cancel() {
  std::vector<AttachedHosts::TaskId> waiting;
  Callbacks dropped;
  {
    absl::MutexLock lock(&mutex_);
    dropped = std::move(callbacks_);
    callbacks_ = Callbacks{};
    closed_ = true;
    for (const auto& [index, task] : pending_) waiting.push_back(task);
    pending_.clear();
    parts_.scheduler->Cancel(timer_);
  }
  for (const AttachedHosts::TaskId task : waiting) parts_.hosts->Cancel(task);
}

CheckProgress FactRun::progress() const {
  absl::MutexLock lock(&mutex_);
  CheckProgress progress =
      ProgressOf(order_->hosts, pending_.size(), failed_, pending_);
  progress.set_run_id(order_->run_id);
  return progress;
}

absl::StatusOr<std::vector<HostFacts>> FactRun::FactsSoFar(
    std::vector<std::string>* awaited) const {
  absl::MutexLock lock(&mutex_);
  if (closed_) {
    return PreconditionWords("msg-hub-check-ends", order_->run_id);
  }
  std::vector<HostFacts> facts = facts_;
  for (const auto& [index, task] : pending_) {
    const std::string& host = order_->hosts[index];
    facts[index] =
        MissingFacts(host, Missing::NO_ANSWER, Worded("hub-still-awaited"));
    awaited->push_back(host);
  }
  return facts;
}

void FactRun::HandOverSoon() {
  gate_.RunSoon(parts_.pool, parts_.scheduler, [run = shared_from_this()] {
    std::vector<HostFacts> facts;
    std::function<void(std::vector<HostFacts>)> on_facts;
    {
      absl::MutexLock lock(&run->mutex_);
      // The facts of a cluster are large: move them out of the run.
      facts.swap(run->facts_);
      on_facts = std::move(run->callbacks_.on_facts);
      run->callbacks_ = Callbacks{};
    }
    if (on_facts) on_facts(std::move(facts));
  });
}

}  // namespace clusterd
