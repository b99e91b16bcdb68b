#include "daemon/controller/change/apply_end.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/rules/catalogue.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/hosts/fact_run.h"

namespace clusterd {
namespace {

std::string WhyNotStarted(const ApplyReport& report) {
  // Also of a controller that ended: no further wave would have come.
  if (report.has_cancelled() && report.outcome() != ApplyReport::STOPPED) {
    return absl::StrCat("cancelled by ", ActorName(report.cancelled().actor()),
                        " after wave ", report.cancelled().wave());
  }
  return report.outcome() == ApplyReport::INTERRUPTED
             ? "the controller ended before its wave"
             : "an earlier wave failed";
}

// The worst that each rule may say of each host.
using Meant = std::map<std::pair<std::string, std::string>, State>;

Meant MeantBy(const ClusterPlan& plan) {
  Meant meant;
  for (const HostPlan& host : plan.hosts()) {
    for (const UnmendedRule& left : host.unmended()) {
      // Nobody promised that a failure which steps elsewhere might mend goes.
      const Rule* const rule = FindRule(left.rule());
      const bool in_doubt = rule != nullptr && !rule->perhaps_by.empty() &&
                            left.state() == UNKNOWN;
      meant[{host.host(), left.rule()}] = in_doubt ? FAIL : left.state();
    }
  }
  return meant;
}

}  // namespace

bool IsTakenBack(ApplyResult::Outcome outcome) {
  return outcome == ApplyResult::ROLLED_BACK ||
         outcome == ApplyResult::ROLLED_BACK_WITH_RESIDUES;
}

bool SettlesHost(bool rollback, const ApplyResult& result) {
  const ApplyResult::Outcome outcome = result.outcome();
  if (IsTakenBack(outcome)) return true;
  if (outcome == ApplyResult::NOTHING_TO_DO) {
    return rollback == result.of_rollback();
  }
  // The apply stands where its rollback was refused.
  if (outcome == ApplyResult::REFUSED) return rollback || !result.of_rollback();
  return !rollback &&
         (outcome == ApplyResult::APPLIED || outcome == ApplyResult::UNDONE ||
          outcome == ApplyResult::UNDONE_WITH_RESIDUES);
}

bool IsGoodOutcome(bool rollback, ApplyResult::Outcome outcome) {
  return outcome == ApplyResult::NOTHING_TO_DO ||
         outcome ==
             (rollback ? ApplyResult::ROLLED_BACK : ApplyResult::APPLIED);
}

ApplyResult LostResult(const ApplyReport& head, const std::string& host,
                       const std::string& why) {
  ApplyResult result;
  result.set_apply_id(head.apply_id());
  result.set_host(host);
  result.set_outcome(ApplyResult::LOST);
  result.set_error(why);
  return result;
}

ApplyResult AsReported(const ApplyReport& head, const ApplyOrder::Host& host,
                       const ClusterPlan* plan, ApplyResult told) {
  told.set_host(host.name);
  // Only the host's own drift needs them: the facts of 10,000 hosts would be
  // most of the report. Whether it is a rollback the report says itself.
  told.clear_facts_after();
  told.clear_of_rollback();
  if (!head.rollback() || !told.no_journal()) return told;
  if (host.was_lost) {
    told.set_outcome(ApplyResult::NOTHING_TO_DO);
    return told;
  }
  told.set_outcome(ApplyResult::REFUSED);
  absl::StrAppend(
      told.mutable_error(),
      "; the history has it as in effect here, so its settings stay; ",
      plan == nullptr
          ? "the plan with the old values is no longer in the history"
          : absl::StrCat("the old values are in clusterctl show ",
                         plan->plan_id()),
      "; change the spec to what is wanted and plan again, or set it by hand");
  return told;
}

ApplyResult ResultOfAnswer(const ApplyReport& head,
                           const ApplyOrder::Host& host,
                           const ClusterPlan* plan,
                           absl::StatusOr<TaskResult> answer) {
  const std::string why(answer.status().message());
  if (answer.ok() && answer->has_apply()) {
    ApplyResult result = std::move(*answer->mutable_apply());
    if (result.apply_id() != head.apply_id()) {
      return LostResult(
          head, host.name,
          absl::StrCat("it answered about apply \"", result.apply_id(), "\""));
    }
    // Of a rollback also "nothing to do": it was undone or rolled back before.
    if (!SettlesHost(head.rollback(), result) &&
        result.outcome() != ApplyResult::NOTHING_TO_DO) {
      return LostResult(head, host.name,
                        absl::StrCat("its answer makes no sense: ",
                                     OutcomeWords(result.outcome())));
    }
    return AsReported(head, host, plan, std::move(result));
  }
  ApplyResult result = LostResult(head, host.name, why);
  if (answer.ok() && answer->has_error()) {
    result.set_error(answer->error().message());
    result.set_outcome(ApplyResult::REFUSED);
  } else if (answer.ok()) {
    result.set_error("it answered another question");
  } else if (absl::IsUnimplemented(answer.status())) {
    result.set_outcome(ApplyResult::REFUSED);
    // Of these two nothing has gone to the host.
  } else if (absl::IsFailedPrecondition(answer.status()) ||
             absl::IsResourceExhausted(answer.status())) {
    result.set_outcome(ApplyResult::NOT_STARTED);
  }
  return result;
}

int ExplainNotStarted(ApplyReport* report) {
  int not_started = 0;
  for (ApplyResult& host : *report->mutable_hosts()) {
    if (host.outcome() != ApplyResult::NOT_STARTED || !host.error().empty()) {
      continue;
    }
    ++not_started;
    host.set_error(WhyNotStarted(*report));
  }
  return not_started;
}

void NoteCancellation(size_t wave, const Waves& waves, ApplyReport* report) {
  report->add_notes(
      absl::StrCat("cancelled by ", ActorName(report->cancelled().actor()),
                   " in wave ", wave + 1, " of ", waves.count(),
                   wave + 1 == waves.count()
                       ? ", the last: it is finished, and nothing is left out"
                       : ": it is finished, and no further wave begins"));
}

void NoteGoesBack(absl::Time asked, absl::Time now, ApplyResult* result,
                  ApplyReport* report) {
  if (result->goes_back_in_ms() == 0 || !report->has_confirmation()) return;
  Confirmation* const confirm = report->mutable_confirmation();
  const int64_t most = std::max(1u, confirm->within_ms());
  const int64_t least = std::clamp<int64_t>(
      absl::ToInt64Milliseconds(asked - now - kGoesBackGrace) + most, 1, most);
  result->set_goes_back_in_ms(static_cast<uint32_t>(
      std::clamp<int64_t>(result->goes_back_in_ms(), least, most)));
  const int64_t at = absl::ToUnixMillis(now) + result->goes_back_in_ms();
  if (confirm->deadline_ms() == 0 || at < confirm->deadline_ms()) {
    confirm->set_deadline_ms(at);
  }
}

void CloseConfirmation(absl::Time now, ApplyReport* report) {
  if (!report->has_confirmation()) return;
  Confirmation* const confirm = report->mutable_confirmation();
  const bool any = absl::c_any_of(report->hosts(), [](const ApplyResult& host) {
    return host.goes_back_in_ms() > 0 || host.outcome() == ApplyResult::LOST;
  });
  confirm->set_state(any ? Confirmation::PENDING : Confirmation::NOT_NEEDED);
  if (!any) return;
  // Nobody knows when a lost host began.
  if (confirm->deadline_ms() == 0) {
    confirm->set_deadline_ms(absl::ToUnixMillis(now) + confirm->within_ms());
  }
  if (report->outcome() != ApplyReport::SUCCEEDED) {
    confirm->set_automatic(false);
  }
}

std::string ChangeText(const ApplyReport& head) {
  return absl::StrCat(head.rollback() ? "rollback " : "apply ", head.run_id(),
                      " of ", ActorName(head.actor()));
}

std::string EndOfConfirmation(const Confirmation& over) {
  return absl::StrCat(
      over.state() == Confirmation::CONFIRMED
          ? absl::StrCat("confirmed by ", ActorName(over.confirmed_by()))
          : "not confirmed in time, its hosts go back",
      over.untold().empty()
          ? ""
          : absl::StrCat("; never told: ", NamesText({over.untold().begin(),
                                                      over.untold().end()})));
}

void ForgetUntold(ApplyReport* report) {
  std::set<std::string> gone;
  for (const ApplyResult& host : report->hosts()) {
    if (host.outcome() != ApplyResult::LOST &&
        host.outcome() != ApplyResult::APPLIED)
      gone.insert(host.host());
  }
  if (report->confirmation().untold().empty()) return;
  DropIf(report->mutable_confirmation()->mutable_untold(),
         [&gone](const std::string& host) { return gone.count(host) > 0; });
}

void CloseReport(ApplyReport::Outcome outcome, size_t wave, const Waves& waves,
                 absl::Time now, ApplyReport* report) {
  report->set_outcome(outcome);
  const int not_started = ExplainNotStarted(report);
  if (not_started > 0) {
    report->add_notes(absl::StrCat(
        "it ended in wave ", wave + 1, " of ", waves.count(), ", so ",
        not_started, not_started == 1 ? " host was" : " hosts were",
        " not started"));
  }
  if (report->has_confirmation()) return CloseConfirmation(now, report);
  const bool some_applied =
      absl::c_any_of(report->hosts(), [](const ApplyResult& host) {
        return host.outcome() == ApplyResult::APPLIED;
      });
  if (report->rollback() || outcome == ApplyReport::SUCCEEDED ||
      !some_applied) {
    return;
  }
  report->add_notes(
      absl::StrCat(kHostsKeptIt, "; clusterctl rollback ", report->run_id(),
                   " takes them back",
                   outcome == ApplyReport::CANCELLED
                       ? ", and the same plan applied again goes on"
                       : ""));
}

RuleSelection TouchedRules(const ClusterPlan& plan) {
  std::set<std::string> set;
  for (const HostPlan& host : plan.hosts()) {
    for (const PlanStep& step : host.steps()) {
      set.insert(step.setting());
      set.insert(step.target().kernel_parameter());
    }
  }
  RuleSelection selection;
  for (const Rule& rule : RuleCatalogue()) {
    const std::vector<std::string> mends =
        absl::StrSplit(rule.mended_by, '/', absl::SkipEmpty());
    const bool is_touched = absl::c_any_of(
        mends,
        [&set](const std::string& setting) { return set.count(setting) > 0; });
    if (is_touched && !rule.needs_job)
      selection.add_only(std::string(rule.name));
  }
  return selection;
}

std::string WhatIsWrong(const ClusterPlan& plan,
                        const std::set<std::string>& hosts,
                        const Report& check) {
  const Meant meant = MeantBy(plan);
  const auto is_meant = [&meant](const std::string& host,
                                 const std::string& rule, State state) {
    const auto left = meant.find({host, rule});
    return left != meant.end() && state <= left->second;
  };
  std::string first;
  std::set<std::pair<std::string, std::string>> wrong;
  // No rule says anything about a host that does not answer.
  std::set<std::string> silent = hosts;
  for (const HostStatus& host : check.hosts()) {
    if (host.no_facts_reason().empty()) silent.erase(host.host());
  }
  for (const std::string& host : silent) {
    wrong.emplace(host, "");
    if (first.empty()) first = absl::StrCat("no facts of ", host);
  }
  for (const RuleResult& result : check.rules()) {
    for (const Finding& finding : result.findings()) {
      if (finding.state() == SKIPPED || finding.state() == PASS) continue;
      for (const Subject& subject : finding.subjects()) {
        const std::string& host = subject.host();
        if (hosts.count(host) == 0 ||
            is_meant(host, result.rule(), finding.state()) ||
            is_meant(host, finding.caused_by(), finding.state())) {
          continue;
        }
        wrong.emplace(host, result.rule());
        if (!first.empty()) continue;
        first = absl::StrCat(result.rule(), " on ", host, " (",
                             StateWord(finding.state()), ")");
      }
    }
  }
  if (wrong.size() < 2) return first;
  return absl::StrCat(first, ", and ", wrong.size() - 1, " more");
}

}  // namespace clusterd
