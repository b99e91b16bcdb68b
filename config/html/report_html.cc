#include "config/html/report_html.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/html/page_sections.h"
#include "config/report/message_json.h"
#include "config/report/repair_list.h"
#include "config/report/report_diff.h"
#include "config/report/verdict.h"
#include "config/rules/finding_words.h"
#include "config/values/sha256.h"
#include "config/words/number_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "ctemplate/template.h"

namespace clusterd {
namespace {

#include "config/html/page_parts.inc"

// Compiled once and kept outside of ctemplate's own cache; several threads may
// expand it at once.
const ctemplate::Template* PageTemplate() {
  static const ctemplate::Template* const page =
      ctemplate::Template::StringToTemplate(kPage_html, sizeof(kPage_html) - 1,
                                            ctemplate::STRIP_WHITESPACE);
  return page;
}

std::string Policy() {
  return absl::StrCat(
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-",
      absl::Base64Escape(Sha256(kPage_js)),
      "'; base-uri 'none'; form-action 'none'");
}

// JSON for the inside of <script>, which no text may end and where "<!--" has a
// meaning: these stand inside JSON strings only. Leaves out fields without a
// value, of which each finding has many.
std::string JsonForScript(const Report& report) {
  return absl::StrReplaceAll(
      OnOneLine(MessageJson(report, /*with_defaults=*/false)),
      {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

// Up to this number failures are open at first.
constexpr size_t kOpenFindings = 20;
// Further entries are folded, and printed only if the reader opens them.
constexpr size_t kPrintedFindings = 100;
constexpr size_t kPrintedHosts = 50;
// The limit of findings on a host's page; with the script it has all.
constexpr size_t kLinesOfHost = 40;
// Bytes of texts in all pages of hosts together. If every host has many, the
// pages name rules, and the texts stand with the findings and in the JSON.
constexpr size_t kHostTextBytes = size_t{1} << 20;
// Unknown findings that follow from others, which the script shows on pages of
// hosts; it shows further ones in English.
constexpr size_t kMaxTranslatedRows = 1000;
// JSON has all of them.
constexpr int kMaxChanges = 1000;

void AddFinding(const FindingBlock& block, const Finding& finding,
                const PageFindings& findings, PageDictionary* in) {
  PageDictionary* const row = in->AddSectionDictionary("FINDING");
  SetText("AT", findings.PlaceOf(&finding), row);
  SetText("WHERE", SubjectsText(finding.subjects(), kUnbounded, kUnbounded),
          row);
  SetText("FOUND", finding.observed(), row);
  SetText("EXPECTED", finding.expected(), row);
  ShowText("BECAUSE", finding.caused_by(), row, "html-because");
  if (finding.why() != block.why) ShowText("OWN_WHY", finding.why(), row);
  PageDictionary* const fix = ShowLines("FIX", FixWords(finding), row);
  if (fix != nullptr && finding.command().empty()) fix->ShowSection("ALONE");
  ShowLines("COMMAND", finding.command(), row);
}

void AddCauses(const Report& report, const PageFindings& findings,
               PageDictionary* page) {
  const std::vector<Repair> repairs = ListRepairs(report);
  if (repairs.empty()) return page->ShowSection("NO_CAUSES");
  PageDictionary* const causes = page->AddSectionDictionary("CAUSES");
  for (const Repair& repair : repairs) {
    PageDictionary* const row = causes->AddSectionDictionary("CAUSE");
    SetText("LETTER", StateLetter(repair.state), row);
    SetText("WHERE", SubjectsText(repair.subjects, 20, 160), row);
    // Every second part was in backquotes.
    bool is_code = false;
    for (const absl::string_view part : absl::StrSplit(repair.how, '`')) {
      PageDictionary* const how = row->AddSectionDictionary("HOW");
      ShowText(is_code ? "CODE" : "WORDS", part, how);
      is_code = !is_code;
    }
    ShowLines("COMMAND", repair.command, row);
    findings.AddLinks(repair.rules, row);
  }
}

void AddFindings(const PageFindings& findings, PageDictionary* page) {
  const FindingOverview& overview = findings.overview();
  if (overview.blocks.empty()) page->ShowSection("NO_FINDINGS");
  std::set<std::string> anchored;
  for (auto block = overview.blocks.rbegin(); block != overview.blocks.rend();
       ++block) {
    PageDictionary* const in = page->AddSectionDictionary("BLOCK");
    const std::string anchor = findings.AnchorOf(block->rule);
    SetText("ANCHOR",
            anchored.insert(anchor).second
                ? anchor
                : absl::StrCat(anchor, ".", StateLetter(block->state)),
            in);
    SetText("LETTER", StateLetter(block->state), in);
    SetText("RULE", block->rule, in);
    SetText("COUNT", Count(block->findings.size(), "finding"), in);
    ShowText("WHY", block->why, in);
    ShowText("SOURCE", block->source, in, "html-source");
    SetText("MORE", Say("report-explain", block->rule), in);
    if (block->state == FAIL && block->findings.size() <= kOpenFindings) {
      in->ShowSection("OPEN");
    }
    if (block->findings.size() > kPrintedFindings) in->ShowSection("LONG");
    for (const Finding* finding : block->findings) {
      AddFinding(*block, *finding, findings, in);
    }
  }
  if (overview.causes.empty()) return;
  PageDictionary* const follows = page->AddSectionDictionary("FOLLOWS");
  size_t rows = 0;
  for (const auto& [cause, group] : overview.causes) {
    PageDictionary* const row = follows->AddSectionDictionary("FOLLOW");
    SetText("LETTER", StateLetter(group.state), row);
    SetText("TEXT", CauseText(cause, group, 40, 400), row);
    SetText("RULES", absl::StrJoin(group.rules, ", "), row);
    // The JSON of the page has them in English.
    if (CurrentLanguage() == Language::kEnglish) continue;
    for (const Finding* finding : group.findings) {
      if (++rows > kMaxTranslatedRows) break;
      AddFinding({finding->rule(), finding->state(), finding->why(), ""},
                 *finding, findings, follows);
    }
  }
}

// The line of one finding on a host's page.
struct HostLine {
  const Finding* finding;
  std::string devices;
};

std::map<absl::string_view, std::vector<HostLine>> LinesByHost(
    const Report& report) {
  std::map<absl::string_view, std::vector<HostLine>> lines;
  ForEachTrouble(report, [&](const Finding& finding, const Subject& subject) {
    const auto& devices = subject.devices();
    lines[subject.host()].push_back(
        {&finding, DevicesText({devices.begin(), devices.end()})});
  });
  for (auto& [host, of_host] : lines) {
    absl::c_stable_sort(of_host, [](const HostLine& a, const HostLine& b) {
      return KnownState(a.finding->state()) > KnownState(b.finding->state());
    });
  }
  return lines;
}

void AddHostPage(const HostStatus& host, int at,
                 const std::vector<HostLine>& lines,
                 const PageFindings& findings, size_t* texts,
                 PageDictionary* page) {
  page->SetIntValue("AT", at);
  SetText("LETTER", StateLetter(host.state()), page);
  SetText("NAME", host.host(), page);
  SetText("ABOUT",
          JoinParts(Say("html-comma"),
                    {host.rack().empty() ? "" : Say("html-rack", host.rack()),
                     lines.empty() ? "" : Count(lines.size(), "finding")}),
          page);
  ShowText("SILENT", host.no_facts_reason(), page, "html-silent");
  const size_t shown = std::min(lines.size(), kLinesOfHost);
  for (size_t i = 0; i < shown; ++i) {
    const Finding& finding = *lines[i].finding;
    PageDictionary* const line = page->AddSectionDictionary("LINE");
    const std::string text = JoinParts(
        Say("html-colon"),
        {lines[i].devices, *texts < kHostTextBytes ? finding.observed() : ""});
    *texts += text.size();
    SetText("LETTER", StateLetter(finding.state()), line);
    SetText("ANCHOR", findings.AnchorOf(finding.rule()), line);
    SetText("RULE", finding.rule(), line);
    SetText("TEXT", text, line);
  }
  if (shown < lines.size()) {
    ShowText("MORE", Count(lines.size() - shown, "more finding"), page);
  }
}

// Pages of hosts that do not pass; the script adds the others.
void AddHostPages(const Report& report, const PageFindings& findings,
                  PageDictionary* page) {
  auto lines = LinesByHost(report);
  std::vector<int> shown;
  for (int at = 0; at < report.hosts_size(); ++at) {
    const HostStatus& host = report.hosts(at);
    if (IsTrouble(HostStateOf(host)) || lines.count(host.host()) > 0) {
      shown.push_back(at);
    }
  }
  size_t texts = 0;
  for (const int at : shown) {
    const HostStatus& host = report.hosts(at);
    PageDictionary* const in = page->AddSectionDictionary("PAGE");
    if (shown.size() > kPrintedHosts) in->ShowSection("LONG");
    AddHostPage(host, at, lines[host.host()], findings, &texts, in);
  }
  if (shown.empty() && report.hosts_size() > 0) page->ShowSection("ALL_PASS");
}

void AddChange(const ReportDiff::Change& change, PageDictionary* in) {
  PageDictionary* const row = in->AddSectionDictionary("CHANGE");
  const auto letter = [](State state) {
    return StateLetter(state == STATE_UNSPECIFIED ? SKIPPED : state);
  };
  SetText("BEFORE", letter(change.before()), row);
  SetText("AFTER", letter(change.after()), row);
  SetText("RULE", change.rule(), row);
  SetText("WHERE", SubjectsText(change.subjects(), 40, 400), row);
  const char* const words =
      change.before() == STATE_UNSPECIFIED  ? "html-not-checked-before"
      : change.after() == STATE_UNSPECIFIED ? "html-no-longer-checked"
      : change.after() == PASS              ? "html-was"
      : change.before() == change.after()   ? "html-now"
                                            : "html-found-now";
  SetText("FOUND", Say(words, change.observed()), row);
  ShowLines("COMMAND", change.fix(), row);
}

void AddSinceTexts(const ReportDiff& since, PageDictionary* page) {
  ShowText("SINCE",
           Say("html-since", StateWord(since.before_verdict()),
               since.before_run_id(), StateWord(since.after_verdict())),
           page);
  const int changes = since.changes_size();
  ShowText("SINCE",
           changes == 0 ? Say("html-no-change") : Count(changes, "change"),
           page);
  if (since.spec_changed()) ShowText("SINCE", Say("html-spec-changed"), page);
  ShowText("SINCE", HostsText(since.hosts_added(), 400), page,
           "html-hosts-added");
  ShowText("SINCE", HostsText(since.hosts_removed(), 400), page,
           "html-hosts-removed");
  for (const std::string& note : DiffNotes(since)) {
    ShowText("SINCE", note, page);
  }
}

// `old`, to compare with, may be null. It is in English.
void AddSince(const Report* old, const Report& report, PageDictionary* page) {
  if (old == nullptr) return ShowText("SINCE", Say("html-not-compared"), page);
  const ReportDiff since = DiffReports(Rendered(*old), report);
  AddSinceTexts(since, page);
  const int shown = std::min(since.changes_size(), kMaxChanges);
  if (shown < since.changes_size()) {
    ShowText("SINCE", Say("html-first-changes", shown), page);
  }
  if (shown == 0) return;
  PageDictionary* const changes = page->AddSectionDictionary("CHANGES");
  for (int i = 0; i < shown; ++i) AddChange(since.changes(i), changes);
}

// The words of the template in the current language: {{SAY_NO_HOSTS}} is the
// row html-no-hosts. The script puts values in the place of {}.
void AddWords(PageDictionary* body) {
  for (const absl::string_view part : absl::StrSplit(kPage_html, "{{")) {
    const std::string name(part.substr(0, part.find("}}")));
    if (!absl::StartsWith(name, "SAY_")) continue;
    const std::string row = absl::AsciiStrToLower(
        absl::StrReplaceAll(name, {{"SAY_", "html-"}, {"_", "-"}}));
    SetText(name.c_str(), Say(row, "{}"), body);
  }
}

// The words of simulations, whose names the JSON has.
void AddSimulations(const Report& report, PageDictionary* body) {
  std::set<std::string> names;
  for (const HostStatus& host : report.hosts()) {
    names.insert(host.simulation());
  }
  for (const std::string& name : names) {
    const FindingValue words = Term(name);
    if (words.words().empty()) continue;
    PageDictionary* const simulation = body->AddSectionDictionary("SIMULATION");
    SetText("NAME", name, simulation);
    SetText("WORDS", ValueText(words), simulation);
  }
}

bool IsEnglish() { return CurrentLanguage() == Language::kEnglish; }

// The whole report in the current language, from one in any.
void AddBody(const Report& kept, const Report* before, PageDictionary* page) {
  const Report report = Rendered(kept);
  PageDictionary* const body = page->AddSectionDictionary("BODY");
  SetText("ID", IsEnglish() ? "" : "zh-", body);
  SetText("LANG", IsEnglish() ? "en" : "zh-CN", body);
  AddWords(body);
  const PageFindings findings(report);
  AddOverview(report, findings, body);
  AddCauses(report, findings, body);
  AddFindings(findings, body);
  AddSince(before, report, body);
  AddSimulations(report, body);
  AddHostPages(report, findings, body);
}

}  // namespace

absl::StatusOr<std::string> ReportHtml(const Report& report,
                                       const Report* before) {
  if (PageTemplate() == nullptr)
    return absl::InternalError("html: bad template");
  PageDictionary page("page");
  SetText("LANG", IsEnglish() ? "en" : "zh-CN", &page);
  Report shown = report;
  shown.set_verdict(SupportedVerdict(report));
  SetText("TITLE", Headline(shown, "html-title"), &page);
  page.ShowSection(IsEnglish() ? "OPENS_ENGLISH" : "OPENS_CHINESE");
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    const InLanguage scope(language);
    AddBody(shown, before, &page);
  }
  page.SetValue("POLICY", Policy());
  page.SetValueWithoutCopy("STYLE", kPage_css);
  page.SetValueWithoutCopy("SCRIPT", kPage_js);
  const std::string json = JsonForScript(report);
  page.SetValueWithoutCopy("JSON", json);
  std::string html;
  if (!PageTemplate()->Expand(&html, &page)) {
    return absl::InternalError("html: the template cannot be expanded");
  }
  return html;
}

PageFindings::PageFindings(const Report& report)
    : overview_(ArrangeFindings(report, /*whole=*/true)) {
  for (const FindingBlock& block : overview_.blocks) {
    std::string& anchor = anchors_[block.rule] = "r-";
    absl::c_copy_if(block.rule, std::back_inserter(anchor),
                    [](char c) { return absl::ascii_isalnum(c) || c == '-'; });
  }
  for (int r = 0; r < report.rules_size(); ++r) {
    for (int f = 0; f < report.rules(r).findings_size(); ++f) {
      places_[&report.rules(r).findings(f)] = absl::StrCat(r, ".", f);
    }
  }
}

std::string PageFindings::AnchorOf(absl::string_view rule) const {
  const auto found = anchors_.find(rule);
  return found == anchors_.end() ? "findings" : found->second;
}

void PageFindings::AddLinks(const std::vector<std::string>& rules,
                            PageDictionary* in) const {
  for (const std::string& rule : rules) {
    PageDictionary* const name = in->AddSectionDictionary("RULE_NAME");
    PageDictionary* const part =
        name->AddSectionDictionary(anchors_.count(rule) > 0 ? "LINK" : "PLAIN");
    SetText("ANCHOR", AnchorOf(rule), part);
    SetText("RULE", rule, part);
    if (&rule != &rules.back()) name->ShowSection("SEPARATOR");
  }
}

}  // namespace clusterd
