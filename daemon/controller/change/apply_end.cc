#include "daemon/controller/change/apply_end.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/rules/catalogue.h"
#include "config/values/fact_key.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/fact_run.h"

namespace clusterd {
namespace {

// These notes are valid until the last host is rolled back.
constexpr char kKeptIt[] = "hub-hosts-kept-it";
constexpr char kCancelledKeptIt[] = "hub-cancelled-kept-it";

FindingValue WhyNotStarted(const ApplyReport& report) {
  // Also if the controller stopped: no further wave would have begun.
  if (report.has_cancelled() && report.outcome() != ApplyReport::STOPPED) {
    return Worded("hub-cancelled-after-wave",
                  ActorName(report.cancelled().actor()),
                  report.cancelled().wave());
  }
  return Worded(report.outcome() == ApplyReport::INTERRUPTED
                    ? "hub-controller-ended-before-wave"
                    : "hub-earlier-wave-failed");
}

// The worst state that the plan allows each rule on each host.
using Meant = std::map<std::pair<std::string, std::string>, State>;

Meant MeantBy(const ClusterPlan& plan) {
  Meant meant;
  for (const HostPlan& host : plan.hosts()) {
    for (const UnfixedRule& left : host.unfixed()) {
      // Other steps might fix it, but the plan did not promise that.
      const Rule* const rule = FindRule(left.rule());
      const bool in_doubt = rule != nullptr && !rule->possible_causes.empty() &&
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
  // A refused rollback leaves the apply in place.
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
                       const FindingValue& why) {
  ApplyResult result;
  result.set_apply_id(head.apply_id());
  result.set_host(host);
  result.set_outcome(ApplyResult::LOST);
  *result.mutable_error_words() = why;
  return result;
}

ApplyResult AsReported(const ApplyReport& head, const ApplyOrder::Host& host,
                       const ClusterPlan* plan, ApplyResult reported) {
  reported.set_host(host.name);
  // Only the host's own drift needs the facts; those of 10,000 hosts would be
  // most of the report. The report itself says if it is a rollback.
  reported.clear_facts_after();
  reported.clear_of_rollback();
  if (!head.rollback() || !reported.no_journal()) return reported;
  if (host.was_lost) {
    reported.set_outcome(ApplyResult::NOTHING_TO_DO);
    return reported;
  }
  reported.set_outcome(ApplyResult::REFUSED);
  *reported.mutable_error_words() =
      Worded("hub-settings-stay", ErrorWords(reported),
             plan == nullptr ? Worded("hub-old-values-gone")
                             : Worded("hub-old-values-in", plan->plan_id()));
  return reported;
}

ApplyResult ResultOfAnswer(const ApplyReport& head,
                           const ApplyOrder::Host& host,
                           const ClusterPlan* plan,
                           absl::StatusOr<TaskResult> answer) {
  if (answer.ok() && answer->has_apply()) {
    ApplyResult result = std::move(*answer->mutable_apply());
    if (result.apply_id() != head.apply_id()) {
      return LostResult(head, host.name,
                        Worded("hub-other-apply", result.apply_id()));
    }
    // A rollback has nothing to do if the apply was undone or rolled back.
    if (!SettlesHost(head.rollback(), result) &&
        result.outcome() != ApplyResult::NOTHING_TO_DO) {
      return LostResult(
          head, host.name,
          Worded("hub-answer-not-expected", OutcomeWords(result.outcome())));
    }
    return AsReported(head, host, plan, std::move(result));
  }
  ApplyResult result =
      LostResult(head, host.name,
                 !answer.ok()          ? MessageWords(answer.status())
                 : answer->has_error() ? MessageWords(answer->error())
                                       : Worded("hub-other-question"));
  if (answer.ok()) {
    if (answer->has_error()) result.set_outcome(ApplyResult::REFUSED);
  } else if (absl::IsUnimplemented(answer.status())) {
    result.set_outcome(ApplyResult::REFUSED);
    // With these two errors, nothing was sent to the host.
  } else if (absl::IsFailedPrecondition(answer.status()) ||
             absl::IsResourceExhausted(answer.status())) {
    result.set_outcome(ApplyResult::NOT_STARTED);
  }
  return result;
}

int ExplainNotStarted(ApplyReport* report) {
  int not_started = 0;
  for (ApplyResult& host : *report->mutable_hosts()) {
    if (host.outcome() != ApplyResult::NOT_STARTED || host.has_error_words()) {
      continue;
    }
    ++not_started;
    *host.mutable_error_words() = WhyNotStarted(*report);
  }
  return not_started;
}

void NoteCancellation(size_t wave, const Waves& waves, ApplyReport* report) {
  AddNote(
      Worded(wave + 1 == waves.count() ? "hub-cancelled-in-last-wave"
                                       : "hub-cancelled-in-wave",
             ActorName(report->cancelled().actor()), wave + 1, waves.count()),
      report);
}

void NoteReverts(absl::Time asked, absl::Time now, ApplyResult* result,
                 ApplyReport* report) {
  if (result->reverts_in_ms() == 0 || !report->has_confirmation()) return;
  Confirmation* const confirm = report->mutable_confirmation();
  const int64_t most = std::max(1u, confirm->within_ms());
  const int64_t least = std::clamp<int64_t>(
      absl::ToInt64Milliseconds(asked - now - kRevertGrace) + most, 1, most);
  result->set_reverts_in_ms(static_cast<uint32_t>(
      std::clamp<int64_t>(result->reverts_in_ms(), least, most)));
  const int64_t at = absl::ToUnixMillis(now) + result->reverts_in_ms();
  if (confirm->deadline_ms() == 0 || at < confirm->deadline_ms()) {
    confirm->set_deadline_ms(at);
  }
}

void CloseConfirmation(absl::Time now, ApplyReport* report) {
  if (!report->has_confirmation()) return;
  Confirmation* const confirm = report->mutable_confirmation();
  const bool any = absl::c_any_of(report->hosts(), [](const ApplyResult& host) {
    return host.reverts_in_ms() > 0 || host.outcome() == ApplyResult::LOST;
  });
  confirm->set_state(any ? Confirmation::PENDING : Confirmation::NOT_NEEDED);
  if (!any) return;
  // It is unknown when a lost host began, so count from now.
  if (confirm->deadline_ms() == 0) {
    confirm->set_deadline_ms(absl::ToUnixMillis(now) + confirm->within_ms());
  }
  if (report->outcome() != ApplyReport::SUCCEEDED) {
    confirm->set_automatic(false);
  }
}

FindingValue ChangeWords(const ApplyReport& head) {
  return Worded(head.rollback() ? "hub-rollback-of" : "hub-apply-of",
                head.run_id(), ActorName(head.actor()));
}

FindingValue ErrorWords(const ApplyResult& result) {
  return result.has_error_words() ? result.error_words()
                                  : ToFindingValue(result.error());
}

std::string EndOfConfirmation(const Confirmation& over) {
  return absl::StrCat(
      over.state() == Confirmation::CONFIRMED
          ? absl::StrCat("confirmed by ", ActorName(over.confirmed_by()))
          : "not confirmed in time, its hosts roll back",
      over.pending().empty()
          ? ""
          : absl::StrCat("; never notified: ",
                         ValueText(NameList(
                             {over.pending().begin(), over.pending().end()}))));
}

void ForgetPendingHosts(ApplyReport* report) {
  std::set<std::string> gone;
  for (const ApplyResult& host : report->hosts()) {
    if (host.outcome() != ApplyResult::LOST &&
        host.outcome() != ApplyResult::APPLIED)
      gone.insert(host.host());
  }
  if (report->confirmation().pending().empty()) return;
  DropIf(report->mutable_confirmation()->mutable_pending(),
         [&gone](const std::string& host) { return gone.count(host) > 0; });
}

void CloseReport(ApplyReport::Outcome outcome, size_t wave, const Waves& waves,
                 absl::Time now, ApplyReport* report) {
  report->set_outcome(outcome);
  const int not_started = ExplainNotStarted(report);
  if (not_started > 0) {
    AddNote(Worded("hub-ended-in-wave", not_started, wave + 1, waves.count()),
            report);
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
  AddNote(Worded(outcome == ApplyReport::CANCELLED ? kCancelledKeptIt : kKeptIt,
                 report->run_id()),
          report);
}

void DropKeptNote(ApplyReport* report) {
  DropIf(report->mutable_notes_words()->mutable_values(),
         [](const FindingValue& note) {
           return note.words() == kKeptIt || note.words() == kCancelledKeptIt;
         });
}

RuleSelection TouchedRules(const ClusterPlan& plan) {
  // Names of settings and kernel parameters.
  std::set<std::string> set;
  for (const HostPlan& host : plan.hosts()) {
    for (const PlanStep& step : host.steps()) {
      set.insert(SettingName(step.setting()));
      set.insert(step.target().kernel_parameter());
    }
  }
  RuleSelection selection;
  for (const Rule& rule : RuleCatalogue()) {
    const std::vector<std::string> fixes =
        absl::StrSplit(rule.fixed_by, '/', absl::SkipEmpty());
    const bool is_touched = absl::c_any_of(
        fixes,
        [&set](const std::string& setting) { return set.count(setting) > 0; });
    if (is_touched && !rule.needs_job)
      selection.add_only(std::string(rule.name));
  }
  return selection;
}

FindingValue WhatIsWrong(const ClusterPlan& plan,
                         const std::set<std::string>& hosts,
                         const Report& check) {
  const Meant meant = MeantBy(plan);
  const auto is_meant = [&meant](const std::string& host,
                                 const std::string& rule, State state) {
    const auto left = meant.find({host, rule});
    return left != meant.end() && state <= left->second;
  };
  FindingValue first;
  std::set<std::pair<std::string, std::string>> wrong;
  // Rules do not report a host that does not answer.
  std::set<std::string> silent = hosts;
  for (const HostStatus& host : check.hosts()) {
    if (!host.has_no_facts()) silent.erase(host.host());
  }
  for (const std::string& host : silent) {
    wrong.emplace(host, "");
    if (first.words().empty()) first = Worded("hub-no-facts-of", host);
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
        if (!first.words().empty()) continue;
        first = Worded("hub-rule-on", result.rule(), host,
                       StateWords(finding.state()));
      }
    }
  }
  if (wrong.size() < 2) return first;
  return Worded("hub-and-more", first, wrong.size() - 1);
}

}  // namespace clusterd
