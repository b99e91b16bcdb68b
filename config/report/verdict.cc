#include "config/report/verdict.h"

#include <set>

#include "absl/strings/ascii.h"
#include "config/change/host_state.h"
#include "config/report/finding_overview.h"
#include "config/values/version.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {

State SupportedVerdict(const Report& report) {
  if (!report.error().empty()) return UNKNOWN;
  if (report.schema_version() != kReportSchemaVersion) return UNKNOWN;
  State verdict = KnownState(report.verdict());
  if (verdict == SKIPPED) verdict = UNKNOWN;
  bool judged = false;
  for (const RuleResult& rule : report.rules()) {
    if (rule.state() == SKIPPED) continue;
    judged = true;
    verdict = WorseState(verdict, rule.state());
  }
  if (!judged || report.hosts().empty()) verdict = WorseState(verdict, UNKNOWN);
  for (const HostStatus& host : report.hosts()) {
    if (host.no_facts_reason().empty() || host.maintenance()) continue;
    verdict = WorseState(verdict, UNKNOWN);
  }
  return verdict;
}

std::vector<std::string> FailingHosts(const Report& report) {
  std::set<std::string> named;
  ForEachTrouble(report, [&](const Finding& finding, const Subject& subject) {
    if (finding.state() == FAIL && !subject.host().empty()) {
      named.insert(subject.host());
    }
  });
  std::vector<std::string> hosts;
  for (const HostStatus& host : report.hosts()) {
    if (named.erase(host.host()) > 0 || host.state() == FAIL) {
      hosts.push_back(host.host());
    }
  }
  hosts.insert(hosts.end(), named.begin(), named.end());
  return hosts;
}

FindingValue CountsWords(const Counts& counts) {
  std::vector<FindingValue> texts;
  for (const auto& [count, words] :
       {std::pair(counts.fail(), "counts-failed"),
        std::pair(counts.unknown(), "counts-unknown"),
        std::pair(counts.warn(), "counts-warned"),
        std::pair(counts.pass(), "counts-passed"),
        std::pair(counts.skipped(), "counts-skipped")}) {
    if (count > 0) texts.push_back(Worded(words, count));
  }
  return texts.empty() ? Worded("counts-none") : Listed(texts, texts.size());
}

Standing StandingOf(const ApplyReport& report) {
  if (report.rollback() || report.outcome() == ApplyReport::RUNNING) return {};
  bool taken_back = false, stays = false;
  for (const ApplyResult& host : report.hosts()) {
    taken_back |= EventOf(/*rollback=*/false, host) == HostEvent::kTakenBack;
    stays |=
        MayHold(host.outcome()) || OutcomeWordsName(host.outcome()) == nullptr;
  }
  if (taken_back) {
    return stays ? Standing::kPartlyRolledBack : Standing::kRolledBack;
  }
  const Confirmation& confirmation = report.confirmation();
  const bool confirmed = report.outcome() == ApplyReport::SUCCEEDED &&
                         confirmation.state() == Confirmation::CONFIRMED;
  return !confirmed                       ? Standing()
         : confirmation.pending().empty() ? Standing::kConfirmed
                                          : Standing::kNotConfirmedEverywhere;
}

std::string OutcomeName(Standing standing, ApplyReport::Outcome outcome) {
  constexpr const char* kNames[] = {"", "rolled back", "partly rolled back",
                                    "confirmed", "not confirmed everywhere"};
  // A run that ended has an outcome.
  if (outcome == ApplyReport::OUTCOME_UNSPECIFIED) {
    outcome = ApplyReport::INTERRUPTED;
  }
  return standing == Standing::kAsTheRunEnded
             ? absl::AsciiStrToLower(ApplyReport::Outcome_Name(outcome))
             : kNames[static_cast<int>(standing)];
}

FindingValue ConfirmedWords(const Confirmation& confirmation) {
  return Worded(confirmation.pending().empty()    ? "apply-confirmed"
                : confirmation.deadlines_passed() ? "apply-confirmed-reverts"
                                                  : "apply-confirmed-partly",
                ActorName(confirmation.confirmed_by()),
                HostsText(confirmation.pending(), 60));
}

ExitStatus ExitStatusOf(State verdict, FailOn fail_on) {
  constexpr State kLowest[] = {WARN, UNKNOWN, FAIL};  // By FailOn.
  State state = KnownState(verdict);
  if (state == SKIPPED) state = UNKNOWN;
  if (state >= kLowest[static_cast<size_t>(fail_on)]) return kExitFail;
  return state == UNKNOWN ? kExitNoVerdict : kExitPass;
}

ExitStatus ExitStatusOf(const absl::Status& failure) {
  const bool usage =
      absl::IsInvalidArgument(failure) || absl::IsNotFound(failure);
  return usage ? kExitUsage : kExitNoVerdict;
}

}  // namespace clusterd
