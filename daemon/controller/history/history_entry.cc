#include "daemon/controller/history/history_entry.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/change/host_state.h"
#include "config/plan/make_plan.h"
#include "config/plan/waves.h"
#include "config/report/verdict.h"
#include "config/values/network_namespace.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Reasons for a failed start may have many lines.
constexpr size_t kMaxSummaryBytes = 200;
constexpr size_t kMaxIdBytes = 64;

// Cuts the text to one line, between characters.
std::string Shorten(std::string text) {
  text.resize(std::min(text.size(), text.find('\n')));
  return absl::StrCat(CutUtf8(text, kMaxSummaryBytes),
                      text.size() > kMaxSummaryBytes ? "…" : "");
}

FindingValue SummaryOf(const Report& report) {
  if (report.has_error_words()) return report.error_words();
  if (!report.error().empty()) return ToFindingValue(Shorten(report.error()));
  const FindingValue counts =
      Worded("hub-and", Counted(report.hosts_size(), "host"),
             Worded("hub-of-rules", CountsWords(report.rule_counts()),
                    Counted(report.rules_size(), "rule")));
  if (report.job_id().empty()) return counts;
  return Worded("about",
                Worded("hub-job", PrintableText(report.job_id(), kMaxIdBytes)),
                counts);
}

// Empty without a confirmation state.
FindingValue ConfirmationWords(const Confirmation& confirmation, bool is_back) {
  switch (confirmation.state()) {
    case Confirmation::PENDING:
      return Worded("hub-to-be-confirmed");
    case Confirmation::CONFIRMED:
      return ConfirmedWords(confirmation);
    case Confirmation::REVERTING:
      return Worded(is_back ? "hub-not-confirmed"
                            : "hub-not-confirmed-reverts");
    default:
      return {};
  }
}

FindingValue SummaryOf(const ApplyReport& report) {
  const size_t hosts = static_cast<size_t>(report.hosts_size());
  FindingValue text = Counted(hosts, "host");
  const auto add = [&text](const FindingValue& part) {
    if (!part.words().empty()) text = Worded("hub-and", text, part);
  };
  add(HostCounts(report, 0, hosts));
  if (report.enforced()) add(Worded("hub-enforced"));
  if (report.has_cancelled()) {
    const Waves waves(hosts, report.canary(), report.wave_size());
    add(Worded("hub-cancelled-by-in", ActorName(report.cancelled().actor()),
               report.cancelled().wave(), waves.count()));
  }
  add(ConfirmationWords(report.confirmation(),
                        StandingOf(report) == Standing::kRolledBack));
  return text;
}

}  // namespace

FindingValue HistoryKindName(HistoryKind kind) {
  const std::string name = HistoryKind_Name(kind);
  if (kind == HISTORY_KIND_UNSPECIFIED || name.empty()) {
    return Worded("history-other-kind", kind);
  }
  return Worded(absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}}));
}

std::string RunOutcomeName(const ApplyReport& report) {
  return OutcomeName(Standing::kAsTheRunEnded, report.outcome());
}

FindingValue HostCounts(const ApplyReport& report, size_t begin, size_t end) {
  std::map<ApplyResult::Outcome, int> hosts;
  for (size_t i = begin; i < end; ++i) {
    ++hosts[report.hosts(static_cast<int>(i)).outcome()];
  }
  std::vector<FindingValue> counts;
  for (const auto& [outcome, count] : hosts) {
    counts.push_back(Worded("hub-host-count", count,
                            outcome == ApplyResult::NOTHING_TO_DO
                                ? Worded("hub-with-nothing-to-do")
                                : OutcomeWords(outcome)));
  }
  return counts.empty() ? FindingValue() : Listed(counts, counts.size());
}

HistoryRecord RecordOfCheck(Report report, const std::string& actor) {
  HistoryRecord record;
  HistoryEntry* const entry = record.mutable_entry();
  entry->set_id(report.run_id());
  entry->set_kind(HISTORY_CHECK);
  entry->set_actor(actor);
  entry->set_started_at_ms(report.started_at_ms());
  entry->set_elapsed_ms(report.elapsed_ms());
  // A whole check is never skipped, so that verdict is invalid.
  entry->set_outcome(
      StateWord(report.verdict() == SKIPPED ? UNKNOWN : report.verdict()));
  *entry->mutable_summary_words() = SummaryOf(report);
  entry->set_hosts(static_cast<uint32_t>(report.hosts_size()));
  entry->set_job_id(PrintableText(report.job_id(), kMaxIdBytes));
  entry->set_network_namespace(report.network_namespace());
  *record.mutable_report() = std::move(report);
  return record;
}

HistoryRecord RecordOfPlan(ClusterPlan plan, uint64_t elapsed_ms) {
  const PlanCounts counts = CountPlan(plan);
  HistoryRecord record;
  HistoryEntry* const entry = record.mutable_entry();
  entry->set_id(plan.plan_id());
  entry->set_kind(HISTORY_PLAN);
  entry->set_actor(plan.created_by());
  entry->set_started_at_ms(plan.created_at_ms() -
                           static_cast<int64_t>(elapsed_ms));
  entry->set_elapsed_ms(elapsed_ms);
  entry->set_outcome(counts.steps > 0     ? "changes"
                     : counts.blocked > 0 ? "blocked"
                                          : "empty");
  *entry->mutable_summary_words() = PlanCountsWords(counts);
  if (plan.hosts_size() > 0) {
    entry->set_network_namespace(
        NetworkNamespaceText(plan.hosts(0).network_namespace()));
  }
  *record.mutable_plan() = std::move(plan);
  return record;
}

HistoryRecord RecordOfApply(ApplyReport report) {
  HistoryRecord record;
  HistoryEntry* const entry = record.mutable_entry();
  entry->set_id(report.run_id());
  entry->set_kind(report.rollback() ? HISTORY_ROLLBACK : HISTORY_APPLY);
  entry->set_actor(report.actor());
  entry->set_started_at_ms(report.started_at_ms());
  entry->set_elapsed_ms(report.elapsed_ms());
  entry->set_outcome(OutcomeName(StandingOf(report), report.outcome()));
  *entry->mutable_summary_words() = SummaryOf(report);
  entry->set_parent_id(report.rollback() ? report.apply_id()
                                         : report.plan_id());
  entry->set_force(report.force());
  entry->set_network_namespace(report.network_namespace());
  *record.mutable_apply() = std::move(report);
  return record;
}

}  // namespace clusterd
