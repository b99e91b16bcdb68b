// What a report comes down to: verdict, what failed and what was not looked at.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "config/html/page_sections.h"
#include "config/report/verdict.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

std::string MomentText(int64_t unix_ms) {
  if (unix_ms == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC",
                          absl::FromUnixMillis(unix_ms), absl::UTCTimeZone());
}

// The report, with the verdict that its rules and hosts support.
Report HeadOf(const Report& report) {
  Report head;
  head.set_verdict(SupportedVerdict(report));
  head.set_error(report.error());
  head.set_partial(report.partial());
  return head;
}

void AddAbout(const char* name, absl::string_view value, PageDictionary* page) {
  if (value.empty()) return;
  PageDictionary* const row = page->AddSectionDictionary("ABOUT_ROW");
  SetText("NAME", name, row);
  SetText("VALUE", value, row);
}

size_t HostsWithoutFacts(const Report& report) {
  return std::count_if(
      report.hosts().begin(), report.hosts().end(),
      [](const HostStatus& host) { return !host.no_facts_reason().empty(); });
}

using RulesByState = std::map<State, std::vector<const RuleResult*>>;

// One of the boxes that say what was found.
class Box {
 public:
  Box(State state, absl::string_view title, const PageFindings& findings,
      PageDictionary* page)
      : findings_(findings), box_(page->AddSectionDictionary("BOX")) {
    SetText("LETTER", StateLetter(state), box_);
    SetText("TITLE", title, box_);
  }

  void Figure(absl::string_view text) { SetText("FIGURE", text, box_); }
  void Line(absl::string_view what, absl::string_view why) {
    PageDictionary* const line = box_->AddSectionDictionary("LINE");
    ShowText("WHAT", what, line);
    ShowText("WHY", why, line);
  }
  void Rules(const std::vector<std::string>& rules, absl::string_view why) {
    if (rules.empty()) return;
    PageDictionary* const line = box_->AddSectionDictionary("LINE");
    findings_.AddLinks(rules, line);
    ShowText("WHY", why, line);
  }

 private:
  const PageFindings& findings_;
  PageDictionary* const box_;
};

std::vector<std::string> NamesOf(const std::vector<const RuleResult*>& rules) {
  std::vector<std::string> names;
  for (const RuleResult* rule : rules) names.push_back(rule->rule());
  return names;
}

// "16 devices on 2 hosts" of a rule's findings of a state.
std::string WhereText(const RuleResult& rule) {
  google::protobuf::RepeatedPtrField<Subject> subjects;
  for (const Finding& finding : rule.findings()) {
    if (finding.state() == rule.state()) {
      subjects.MergeFrom(finding.subjects());
    }
  }
  return SubjectsText(subjects, 4, 60);
}

void AddFailed(const Report& report,
               const std::vector<const RuleResult*>& rules,
               const PageFindings& findings, PageDictionary* page) {
  Box box(FAIL, "Failed", findings, page);
  const std::vector<std::string> hosts = FailingHosts(report);
  if (rules.empty() && hosts.empty()) {
    box.Figure("nothing");
    return;
  }
  box.Figure(absl::StrCat(Count(rules.size(), "rule"), " on ",
                          Count(hosts.size(), "host"), " of ",
                          report.hosts_size()));
  if (!hosts.empty()) box.Line(HostsText(hosts, 240), "");
  for (const RuleResult* rule : rules) {
    box.Rules({rule->rule()}, WhereText(*rule));
  }
}

// "2 hosts without facts"; empty for none.
std::string Counted(size_t number, absl::string_view noun,
                    absl::string_view what) {
  return number == 0 ? "" : absl::StrCat(Count(number, noun), " ", what);
}

void AddNotLookedAt(const Report& report, RulesByState& rules,
                    const PageFindings& findings, PageDictionary* page) {
  Box box(UNKNOWN, "Not looked at, or not to be told", findings, page);
  FirstMet<std::string, std::vector<std::string>> silent;
  for (const HostStatus& host : report.hosts()) {
    if (host.no_facts_reason().empty()) continue;
    silent[host.no_facts_reason()].push_back(host.host());
  }
  FirstMet<std::string, std::vector<std::string>> skipped;
  for (const RuleResult* rule : rules[SKIPPED]) {
    skipped[rule->skip_reason()].push_back(rule->rule());
  }
  const std::string figure = JoinParts(
      ", ", {Counted(HostsWithoutFacts(report), "host", "without facts"),
             Counted(rules[UNKNOWN].size(), "rule", "not to be told"),
             Counted(rules[SKIPPED].size(), "rule", "not run"),
             report.error().empty() ? "" : "the whole check",
             report.rules().empty() ? "no rule was judged" : ""});
  box.Figure(figure.empty() ? "nothing was left out" : figure);
  for (const absl::string_view line :
       absl::StrSplit(report.error(), '\n', absl::SkipEmpty())) {
    box.Line("", line);
  }
  for (const auto& [why, hosts] : silent) {
    box.Line(HostsText(hosts, 240), why);
  }
  if (report.awaited_size() > 0) {
    const std::vector<std::string> awaited(report.awaited().begin(),
                                           report.awaited().end());
    box.Line(HostsText(awaited, 240),
             "was still awaited when the check was stopped");
  }
  for (const RuleResult* rule : rules[UNKNOWN]) {
    box.Rules({rule->rule()},
              absl::StrCat("could not be told: ", WhereText(*rule)));
  }
  for (const auto& [why, names] : skipped) box.Rules(names, why);
}

}  // namespace

const char* StateLetter(State state) {
  switch (KnownState(state)) {
    case FAIL:
      return "F";
    case WARN:
      return "W";
    case PASS:
      return "P";
    case SKIPPED:
      return "S";
    default:
      return "U";
  }
}

void SetText(const char* name, absl::string_view text, PageDictionary* in) {
  in->SetValue(name, SafeText(text, /*utf8=*/true));
}

void ShowText(const char* section, absl::string_view text, PageDictionary* in) {
  if (text.empty()) return;
  SetText("TEXT", text, in->AddSectionDictionary(section));
}

PageDictionary* ShowLines(const char* section, absl::string_view text,
                          PageDictionary* in) {
  if (text.empty()) return nullptr;
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    lines.push_back(SafeText(line, /*utf8=*/true));
  }
  PageDictionary* const shown = in->AddSectionDictionary(section);
  shown->SetValue("TEXT", absl::StrJoin(lines, "\n"));
  return shown;
}

void AddHead(const Report& report, PageDictionary* page) {
  const Report head = HeadOf(report);
  const bool is_one_host = report.cluster().empty() && report.hosts_size() == 1;
  const std::string where =
      is_one_host ? report.hosts(0).host() : report.cluster();
  const std::string job = JobName(report);
  const std::string about = job.empty()
                                ? (where.empty() ? "the cluster" : where)
                                : absl::StrCat(job, Part(" on ", where));
  SetText("LETTER", StateLetter(head.verdict()), page);
  SetText("VERDICT", VerdictWord(head), page);
  SetText("ABOUT", about, page);
  SetText("SENTENCE", VerdictSentence(head), page);
  const size_t silent = HostsWithoutFacts(report);
  SetText("SUMMARY",
          absl::StrCat(CountsText(CountRules(report)), " of ",
                       Count(report.rules_size(), "rule"), "; ",
                       report.hosts_size() - silent, " of ",
                       Count(report.hosts_size(), "host"), " answered"),
          page);
  AddAbout("Began", MomentText(report.started_at_ms()), page);
  AddAbout("Took", ElapsedText(report.elapsed_ms()), page);
  AddAbout("Run", report.run_id(), page);
  AddAbout("Schedule", report.schedule(), page);
  AddAbout("Job", JobText(report), page);
  AddAbout("Product", report.product(), page);
  AddAbout("Network namespace", report.network_namespace(), page);
  AddAbout("Hosts asked", absl::StrCat(report.hosts_size()), page);
  AddAbout("Answered", absl::StrCat(report.hosts_size() - silent), page);
  AddAbout("Missing", absl::StrCat(silent), page);
  AddAbout("cluster.yaml", report.spec_digest(), page);
  AddAbout("clusterd", report.clusterd_version(), page);
  SetText("FOOTER",
          absl::StrCat("Made by clusterd", Part(" ", report.clusterd_version()),
                       ". Times are UTC. This file asks for nothing outside "
                       "of itself and holds the report as JSON, in the script "
                       "element \"report\"."),
          page);
  if (report.notes().empty()) return;
  PageDictionary* const notes = page->AddSectionDictionary("NOTES");
  for (const std::string& note : report.notes()) {
    ShowText("NOTE", note, notes);
  }
}

void AddBoxes(const Report& report, const PageFindings& findings,
              PageDictionary* page) {
  RulesByState rules;
  for (const RuleResult& rule : report.rules()) {
    rules[KnownState(rule.state())].push_back(&rule);
  }
  AddFailed(report, rules[FAIL], findings, page);
  AddNotLookedAt(report, rules, findings, page);
  Box warned(WARN, "Warned", findings, page);
  warned.Figure(rules[WARN].empty() ? "nothing"
                                    : Count(rules[WARN].size(), "rule"));
  for (const RuleResult* rule : rules[WARN]) {
    warned.Rules({rule->rule()}, WhereText(*rule));
  }
  Box passed(PASS, "Passed", findings, page);
  passed.Figure(rules[PASS].empty() ? "nothing"
                                    : Count(rules[PASS].size(), "rule"));
  passed.Rules(NamesOf(rules[PASS]), "");
}

}  // namespace clusterd
