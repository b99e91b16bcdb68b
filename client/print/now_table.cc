#include "client/print/now_table.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/print/history_table.h"
#include "config/report/finding_overview.h"
#include "config/report/report_diff.h"
#include "config/report/verdict.h"
#include "config/rules/finding_words.h"
#include "config/words/number_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr int kAwayColumns = 100;
constexpr size_t kChangesOfEach = 5;

// Alternate screen, lines cut at its edge, no cursor; then all is restored.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?7l\x1b[?25l";
constexpr char kLeave[] = "\x1b[?25h\x1b[?7h\x1b[?1049l";

// Prints one ClusterNow.
class NowPage {
 public:
  NowPage(const ClusterNow& now, const Style& style, absl::TimeZone zone,
          std::ostream& out)
      : now_(now), zone_(zone), page_(style, out) {}

  void Print() {
    page_.out() << page_.Strong(now_.cluster()) << "  "
                << absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez",
                                    absl::FromUnixMillis(now_.at_ms()), zone_)
                << "\n";
    PrintHosts();
    for (const std::string& run : now_.running()) Line("now-runs", run);
    for (const ConfirmResponse& each : now_.pending()) PrintPending(each);
    for (const ClusterNow::ScheduleNow& schedule : now_.schedules()) {
      PrintCheck(Say("now-schedule", schedule.name()), schedule);
    }
    if (now_.has_asked()) PrintCheck(Say("now-last-check"), now_.asked());
    if (now_.schedules().empty() && !now_.has_asked()) {
      page_.out() << "\n" << Say("now-no-check-of-all") << "\n";
    }
  }

 private:
  void Line(absl::string_view words, absl::string_view text,
            Paint paint = Paint::kNone) {
    page_.Wrapped(Padded(Say(words), 7), page_.Safe(text), paint);
  }

  // "00:55:00", with the date on another day.
  std::string Moment(int64_t unix_ms) const {
    const absl::Time time = absl::FromUnixMillis(unix_ms);
    const bool today =
        absl::ToCivilDay(time, zone_) ==
        absl::ToCivilDay(absl::FromUnixMillis(now_.at_ms()), zone_);
    return absl::FormatTime(today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", time,
                            zone_);
  }

  void PrintHosts() {
    const uint32_t away =
        now_.hosts_expected() -
        std::min(now_.hosts_expected(), now_.hosts_attached());
    Line("now-hosts",
         JoinParts(
             ", ",
             {Say("now-attached", now_.hosts_attached(), now_.hosts_expected()),
              SayPart("now-count-away", away),
              SayPart("now-drifted", now_.hosts_drifted()),
              SayPart("now-maintenance", now_.hosts_in_maintenance()),
              SayPart("now-unexpected", now_.hosts_unexpected())}),
         away > 0 ? Paint::kYellow : Paint::kGreen);
    if (now_.away().empty()) return;
    const uint32_t named = now_.away_size();
    const uint32_t more = away > named ? away - named : 0;
    const std::string hosts = HostsText(now_.away(), kAwayColumns);
    Line("now-away", more > 0 ? Say("first-of", hosts, more) : hosts,
         Paint::kYellow);
  }

  void PrintPending(const ConfirmResponse& pending) {
    const Confirmation& state = pending.confirmation();
    const bool reverts = state.state() == Confirmation::REVERTING;
    const bool by_check = state.automatic() || state.confirmed_at_ms() > 0;
    Line("now-waits",
         state.state() == Confirmation::CONFIRMED
             ? Say("apply-named", pending.run_id(), ConfirmedWords(state))
             : Say(reverts    ? "now-not-confirmed"
                   : by_check ? "now-reverts"
                              : "now-reverts-unless-confirmed",
                   pending.run_id(), Moment(state.deadline_ms()),
                   SayPart("apply-waits-for", state.waits_for())),
         Paint::kYellow);
  }

  void PrintCheck(absl::string_view title,
                  const ClusterNow::ScheduleNow& check) {
    page_.Title(title);
    const Report& report = check.newest();
    const std::string next = check.next_at_ms() > 0
                                 ? Say("now-next", Moment(check.next_at_ms()))
                                 : "";
    if (!check.has_newest()) {
      return page_.Whole("", JoinParts("; ", {Say("now-no-check"), next}));
    }
    const State verdict = KnownState(report.verdict());
    page_.Wrapped(
        absl::StrCat(StateSymbol(verdict, page_.style().utf8), " "),
        page_.Safe(JoinParts(
            "; ", {Say("now-verdict", VerdictWord(report),
                       Moment(report.started_at_ms()),
                       report.error().empty() ? CountsText(report.rule_counts())
                                              : report.error()),
                   next})),
        StatePaint(verdict));
    for (const std::string& note : report.notes()) {
      page_.Wrapped("  ", page_.Safe(note));
    }
    if (check.has_changes()) PrintSince(check.changes());
    Report wrong;
    wrong.set_product(report.product());
    *wrong.mutable_rules() = check.wrong();
    RenderReport(&wrong);
    for (const RuleResult& rule : wrong.rules()) PrintWrong(rule);
    if (check.more_wrong() > 0) {
      page_.Whole("  ",
                  Say("now-more-rules", Count(check.more_wrong(), "more rule"),
                      page_.Safe(report.run_id())));
    }
    if (!check.has_changes()) return;
    ReportDiff changes = check.changes();
    RenderDiff(report.product(), &changes);
    PrintChanges(changes, kChangesOfEach, page_);
  }

  void PrintSince(const ReportDiff& changes) {
    const std::string summary = DiffSummary(changes);
    page_.Wrapped(
        "  ",
        page_.Safe(Say("now-since", Moment(changes.before_at_ms()),
                       summary.empty() ? Say("history-unchanged") : summary)));
  }

  static std::string SeenText(const Finding& finding) {
    const auto& values = finding.values();
    const bool is_cut =
        !values.empty() && values.rbegin()->name() == kAllSubjects;
    return is_cut ? Say("now-in-all", finding.observed(), *values.rbegin())
                  : finding.observed();
  }

  void PrintWrong(const RuleResult& rule) {
    const bool is_one = rule.findings_size() == 1;
    page_.Wrapped(
        absl::StrCat("  ", StateSymbol(rule.state(), page_.style().utf8), " "),
        page_.Safe(
            JoinParts(": ", {absl::StrCat(rule.rule(), " ", rule.summary()),
                             is_one ? SeenText(rule.findings(0)) : ""})),
        StatePaint(KnownState(rule.state())));
    for (const Finding& each : rule.findings()) {
      if (!is_one) {
        page_.Wrapped(
            "    ",
            page_.Safe(JoinParts(
                ": ", {SubjectsText(each.subjects(), 2, 60), SeenText(each)})));
      }
      if (each.fix().empty()) continue;
      page_.Whole(Say("list-fix"), page_.SafeLines(each.fix()));
    }
  }

  const ClusterNow& now_;
  const absl::TimeZone zone_;
  Page page_;
};

}  // namespace

void PrintClusterNow(const ClusterNow& now, const Style& style,
                     absl::TimeZone zone, std::ostream& out) {
  NowPage(now, style, zone, out).Print();
}

LiveScreen::LiveScreen(std::ostream& out) : out_(out) { out_ << kEnter; }

LiveScreen::~LiveScreen() { out_ << kLeave << std::flush; }

void LiveScreen::Show(absl::string_view text, int rows) {
  std::vector<std::string> lines =
      absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  const size_t most = static_cast<size_t>(std::max(rows, 2));
  if (lines.size() > most) {
    const size_t more = lines.size() - most + 1;
    lines.resize(most);
    lines.back() = absl::StrCat("... ", Count(more, "more line"));
  }
  // Overwrites each line and clears the rest, so that nothing flickers.
  out_ << "\x1b[H";
  for (size_t i = 0; i < lines.size(); ++i) {
    out_ << (i > 0 ? "\n" : "") << lines[i] << "\x1b[K";
  }
  out_ << "\x1b[J" << std::flush;
}

}  // namespace clusterd
