#include "client/print/apply_table.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/print/history_table.h"
#include "config/plan/waves.h"
#include "config/report/verdict.h"
#include "config/values/hostlist.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr int kKeyColumns = 7;
constexpr int kEndColumns = 60;       // Folded names of one group.
constexpr size_t kMaxEndGroups = 40;  // Keeps the worst.
constexpr size_t kMaxDetails = 8;     // Lines of one group, e.g. residues.
constexpr uint32_t kSchemaVersion = 1;

// "2 steps", "2 steps, 1 already in place"; empty if there are none.
std::string StepsText(const ApplyResult& result) {
  size_t steps = 0;
  size_t already = 0;
  for (const StepOutcome& step : result.steps()) {
    const bool is_so = step.state() == StepOutcome::ALREADY_SO;
    steps += is_so || step.state() == StepOutcome::DONE;
    already += is_so;
  }
  return JoinParts(", ", {steps > 0 ? Count(steps, "step") : "",
                          SayPart("apply-already", already)});
}

// The text after the host: the error, or otherwise the steps.
std::string EndText(const ApplyResult& result) {
  return result.error().empty() ? StepsText(result) : result.error();
}

using Detail = std::pair<std::string, std::string>;  // Its key and its text.

// Remarks about one host in addition to its end.
std::vector<Detail> DetailsOf(const ApplyResult& result) {
  std::vector<Detail> details;
  for (const StepOutcome& step : result.steps()) {
    // The error is that of the step that failed.
    const bool is_error =
        step.state() == StepOutcome::FAILED && !result.error().empty();
    if (is_error || step.detail().empty()) continue;
    details.push_back(
        {Say("apply-step"), Say("apply-step-detail", step.step(),
                                StepWord(step.state()), step.detail())});
  }
  for (const std::string& residue : result.residues()) {
    details.push_back({Say("apply-residue"), residue});
  }
  for (const std::string& forced : result.forced()) {
    details.push_back({Say("apply-forced"), forced});
  }
  return details;
}

// A host's end: its state, its word, the text after the host, and remarks.
using End = std::tuple<State, std::string, std::string, std::vector<Detail>>;
using EndGroup = std::pair<End, std::vector<std::string>>;

// SKIPPED is listed before PASS, so that failures are last.
int Order(const EndGroup& group) {
  const State state = std::get<State>(group.first);
  return state == SKIPPED ? 0 : static_cast<int>(state);
}

std::vector<EndGroup> GroupByEnd(const ApplyReport& report) {
  FirstSeen<End, std::vector<std::string>> groups;
  for (const ApplyResult& host : report.hosts()) {
    const End end{HostEnd(host.outcome(), report.rollback()),
                  OutcomeWord(host.outcome()), EndText(host), DetailsOf(host)};
    groups[end].push_back(host.host());
  }
  absl::c_stable_sort(groups.items(), [](const EndGroup& a, const EndGroup& b) {
    return Order(a) < Order(b);
  });
  return std::move(groups.items());
}

// "10 applied, 1 undone".
std::string OutcomesText(const FirstSeen<std::string, size_t>& counts) {
  return absl::StrJoin(
      counts, Say("list-comma"), [](std::string* out, const auto& count) {
        absl::StrAppend(out, Say("apply-count", count.second, count.first));
      });
}

// The result of the hosts from `begin` up to `end`: "10 applied, 1 undone", or
// only the word if they all ended the same.
std::string WaveResult(const ApplyReport& report, size_t begin, size_t end) {
  FirstSeen<std::string, size_t> counts;
  for (size_t i = begin; i < end; ++i) {
    ++counts[OutcomeWord(report.hosts(static_cast<int>(i)).outcome())];
  }
  if (counts.items().size() == 1) return counts.items().front().first;
  return OutcomesText(counts);
}

// "10 applied, 1 undone of 11 hosts in 12 s".
std::string CountsLine(const ApplyReport& report) {
  FirstSeen<std::string, size_t> counts;
  for (const auto& [end, hosts] : GroupByEnd(report)) {
    counts[std::get<1>(end)] += hosts.size();
  }
  const std::string hosts = Count(report.hosts_size(), "host");
  const std::string text =
      counts.empty() ? hosts : Say("apply-counts", OutcomesText(counts), hosts);
  if (report.elapsed_ms() == 0) return text;
  return Say("apply-counts-in", text, ElapsedText(report.elapsed_ms()));
}

// "apply 3fa2c4d5e6f70812".
std::string RunName(const ApplyReport& report) {
  return absl::StrCat(Say(report.rollback() ? "apply-rollback" : "apply-apply"),
                      Part(" ", report.run_id()));
}

std::string RunText(const ApplyReport& report) {
  const bool of_apply = report.rollback() && !report.apply_id().empty();
  return absl::StrCat(RunName(report),
                      of_apply ? Say("apply-of-apply", report.apply_id())
                               : SayPart("apply-of-plan", report.plan_id()),
                      SayPart("apply-by", ActorName(report.actor())),
                      report.enforced() ? Say("apply-enforced") : "",
                      report.force() ? Say("apply-with-force") : "");
}

std::string EndMark(State state, const std::string& word, bool utf8) {
  return absl::StrCat(StateSymbol(state, utf8), " ", word);
}

void PrintDetails(const std::vector<Detail>& details, Page& page) {
  for (size_t i = 0; i < details.size() && i < kMaxDetails; ++i) {
    page.Wrapped(
        absl::StrCat("    ", Padded(details[i].first, kKeyColumns), "  "),
        page.Safe(details[i].second));
  }
  if (details.size() > kMaxDetails) {
    page.Whole("    ", Say("list-more-json", details.size() - kMaxDetails));
  }
}

void PrintHosts(const ApplyReport& report, Page& page) {
  const std::vector<EndGroup> groups = GroupByEnd(report);
  if (groups.empty()) return;
  page.Title(Say("report-hosts-title"));
  const size_t hidden = groups.size() - std::min(groups.size(), kMaxEndGroups);
  if (hidden > 0) {
    page.Whole("  ", Say("list-more-groups-json", Count(hidden, "more group")));
  }
  std::vector<Row> rows;
  for (size_t i = hidden; i < groups.size(); ++i) {
    const auto& [state, word, text, details] = groups[i].first;
    rows.push_back(
        {{EndMark(state, word, page.style().utf8), StatePaint(state)},
         {page.Safe(HostsText(groups[i].second, kEndColumns))}});
    if (!text.empty()) rows.back().push_back({page.Safe(text)});
  }
  const std::vector<int> columns = ColumnWidths(rows);
  for (size_t i = hidden; i < groups.size(); ++i) {
    page.PrintRow(rows[i - hidden], columns,
                  {/*indent=*/2, TableLayout::Last::kIsWrapped});
    PrintDetails(std::get<std::vector<Detail>>(groups[i].first), page);
  }
}

// Prints waves, if there are several; equal ends share a line: "2-9 of 12".
void PrintWaves(const ApplyReport& report, Page& page) {
  const Waves waves(static_cast<size_t>(report.hosts_size()), report.canary(),
                    report.wave_size());
  if (waves.count() < 2) return;
  const auto result_of = [&](size_t from, size_t to) {
    return WaveResult(report, waves.begin(from), waves.begin(to));
  };
  std::vector<Row> rows;
  for (size_t wave = 0; wave < waves.count();) {
    const size_t first = wave;
    const std::string result = result_of(first, first + 1);
    do {
      ++wave;
    } while (wave < waves.count() && result_of(wave, wave + 1) == result);
    std::vector<std::string> hosts;
    for (size_t i = waves.begin(first); i < waves.begin(wave); ++i) {
      hosts.push_back(report.hosts(static_cast<int>(i)).host());
    }
    rows.push_back(
        {{Say("apply-waves-of",
              absl::StrCat(first + 1,
                           wave > first + 1 ? absl::StrCat("-", wave) : ""),
              waves.count())},
         {page.Safe(HostsText(hosts, kEndColumns))},
         {page.Safe(result_of(first, wave))}});
  }
  page.Title(Say("apply-waves"));
  page.PrintTable(rows, {/*indent=*/2, TableLayout::Last::kIsWrapped});
}

std::string ConfirmationOf(const ApplyReport& report) {
  return ConfirmationText(report.confirmation(), report.apply_id(),
                          StandingOf(report) == Standing::kRolledBack);
}

}  // namespace

std::string OutcomeWord(ApplyResult::Outcome outcome) {
  const char* const words = OutcomeWordsName(outcome);
  return words != nullptr ? Say(words)
                          : Say("apply-outcome", static_cast<int>(outcome));
}

std::string StepWord(StepOutcome::State state) {
  constexpr const char* kWords[] = {"apply-step-unknown", "apply-step-done",
                                    "apply-step-already", "apply-step-failed",
                                    "apply-step-undone",  "apply-step-not-run"};
  const bool known = StepOutcome::State_IsValid(state);
  return Say(kWords[known ? state : StepOutcome::STATE_UNSPECIFIED]);
}

State SupportedVerdict(const ApplyReport& report) {
  State worst = report.hosts().empty() ? UNKNOWN : PASS;
  bool left_out = false;
  for (const ApplyResult& host : report.hosts()) {
    worst = WorseState(worst, HostEnd(host.outcome(), report.rollback()));
    left_out |= host.outcome() == ApplyResult::NOT_STARTED;
  }
  if (worst == FAIL) return FAIL;
  if (worst == UNKNOWN || report.schema_version() != kSchemaVersion) {
    return UNKNOWN;
  }
  if (report.outcome() == ApplyReport::STOPPED) return FAIL;
  if (report.outcome() != ApplyReport::SUCCEEDED) return UNKNOWN;
  return left_out ? FAIL : PASS;
}

std::string RunWord(const ApplyReport& report) {
  const Standing standing = StandingOf(report);
  ApplyReport::Outcome outcome = report.outcome();
  if (standing == Standing::kAsTheRunEnded) {
    const State verdict = SupportedVerdict(report);
    if (outcome == ApplyReport::SUCCEEDED && verdict != PASS) {
      outcome = verdict == FAIL ? ApplyReport::STOPPED
                                : ApplyReport::OUTCOME_UNSPECIFIED;
    }
    if (outcome == ApplyReport::OUTCOME_UNSPECIFIED ||
        !ApplyReport::Outcome_IsValid(outcome)) {
      return Say("apply-no-complete-answer");
    }
  }
  return absl::AsciiStrToUpper(OutcomeText(OutcomeName(standing, outcome)));
}

bool LeftChanges(const ApplyReport& report) {
  return !report.rollback() && report.outcome() != ApplyReport::RUNNING &&
         absl::c_any_of(report.hosts(), [](const ApplyResult& host) {
           return host.outcome() != ApplyResult::OUTCOME_UNSPECIFIED &&
                  MayHold(host.outcome());
         });
}

std::string ConfirmationText(const Confirmation& confirmation,
                             const std::string& apply_id, bool is_back) {
  const std::string deadline = absl::FormatTime(
      "%Y-%m-%d %H:%M:%S UTC", absl::FromUnixMillis(confirmation.deadline_ms()),
      absl::UTCTimeZone());
  switch (confirmation.state()) {
    case Confirmation::PENDING:
      if (confirmation.deadline_ms() == 0) {
        return Say("apply-each-host", ElapsedText(confirmation.within_ms()));
      }
      return Say(confirmation.automatic() || confirmation.confirmed_at_ms() > 0
                     ? "apply-reverts-unless-checked"
                     : "apply-reverts-unless-confirmed",
                 deadline, SayPart("apply-waits-for", confirmation.waits_for()),
                 apply_id);
    case Confirmation::CONFIRMED:
      return ValueText(ConfirmedWords(confirmation));
    case Confirmation::REVERTING:
      return Say(is_back ? "apply-reverted" : "apply-reverts", deadline);
    default:
      return "";
  }
}

void PrintApplyTable(const ApplyReport& report, const Style& style,
                     std::ostream& out, bool rollback_hint) {
  Page page(style, out);
  page.Whole(
      "",
      JoinParts(", ", {SayPart("report-cluster", page.Strong(report.cluster())),
                       page.Safe(RunText(report))}));
  page.PrintNotes(report.notes());
  PrintHosts(report, page);
  PrintWaves(report, page);
  out << "\n";
  page.Sentence(RunWord(report), StatePaint(SupportedVerdict(report)),
                CountsLine(report));
  const std::string confirmation = ConfirmationOf(report);
  if (!confirmation.empty()) page.Whole("", page.Safe(confirmation));
  if (rollback_hint && LeftChanges(report) && !report.apply_id().empty()) {
    page.Whole("", Say("apply-to-roll-back", page.Safe(report.apply_id())));
  }
}

std::string ApplyShort(const ApplyReport& report) {
  return SafeText(
      JoinParts(": ", {report.cluster(),
                       absl::StrCat(RunName(report), " ", RunWord(report)),
                       JoinParts("; ", {CountsLine(report),
                                        ConfirmationOf(report)})}),
      /*utf8=*/true);
}

std::string WaveText(const ApplyWave& wave) {
  const bool begins = wave.result().empty();
  return Say(begins ? "apply-wave-begins" : "apply-wave-ended", wave.wave(),
             wave.waves(),
             begins ? HostsText(wave.hosts(), kEndColumns) : wave.result());
}

std::string CancelText(const CancelResponse& cancelled) {
  return Say(
      cancelled.not_started() == 0 ? "apply-cancelled-last" : "apply-cancelled",
      ActorName(cancelled.cancelled().actor()), cancelled.cancelled().wave(),
      cancelled.waves(), Say("apply-busy", cancelled.at_work()),
      SayPart("apply-rest", cancelled.not_started()));
}

std::string AbortText(const AbortApplyResponse& aborted) {
  const auto& hosts = aborted.given_up();
  return Say(
      aborted.rollback() ? "apply-of-rollback-run" : "apply-of-apply-run",
      aborted.run_id(), ActorName(aborted.actor()),
      JoinParts("; ", {Say("apply-aborted", aborted.aborted_by()),
                       SayPart("apply-given-up",
                               FoldHostlist({hosts.begin(), hosts.end()})),
                       SayPart("apply-rest", aborted.not_started())}));
}

std::string HostEndLine(const ApplyResult& result, bool rollback,
                        const Style& style) {
  const State state = HostEnd(result.outcome(), rollback);
  const std::string line = JoinParts(
      "  ", {Painted(style, StatePaint(state),
                     EndMark(state, OutcomeWord(result.outcome()), style.utf8)),
             SafeText(result.host(), style.utf8),
             SafeText(EndText(result), style.utf8)});
  if (result.elapsed_ms() == 0) return line;
  return Say("apply-took", line, ElapsedText(result.elapsed_ms()));
}

}  // namespace clusterd
