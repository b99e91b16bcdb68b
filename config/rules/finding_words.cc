#include "config/rules/finding_words.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "config/spec/product_profile.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/waiver_text.h"

namespace clusterd {
namespace {

std::string CommandFor(const Finding& finding, const std::string& arguments) {
  if (arguments.empty() || finding.subjects().empty()) return "";
  const auto& devices = finding.subjects(0).devices();
  if (devices.size() == 1) return ToolCommand(devices[0], arguments);
  return absl::StrCat("for i in ", absl::StrJoin(devices, " "),
                      "; do hccn_tool -i $i ", arguments, "; done");
}

// Puts findings of one report into words.
class Writer {
 public:
  explicit Writer(absl::string_view product) {
    const auto profile = FindProductProfile(product, "");
    is_950_ =
        profile.ok() && (*profile)->generation == NpuToolFacts::ASCEND_950;
  }

  void Write(const Rule* rule, Finding* finding) const {
    if (finding->finding().empty()) return;  // In words already.
    const RuleFinding* const row =
        rule == nullptr ? nullptr : FindRuleFinding(*rule, finding->finding());
    if (row == nullptr) {
      finding->set_observed(absl::StrCat(
          finding->finding(), Part(": ", NamedValuesText(finding->values()))));
      return;
    }
    const FindingText& texts = row->text();
    const auto text = [&](absl::string_view with_values) {
      return WithValuesIn(with_values, finding->values());
    };
    finding->set_observed(text(texts.observed) +
                          ValueText(WaivedEnd(*finding)));
    finding->set_expected(finding->has_expects() ? ValueText(finding->expects())
                                                 : text(texts.expected));
    if (finding->expected().empty()) {
      finding->set_expected(std::string(rule->text().title));
    }
    std::string why = text(texts.why);
    if (finding->has_weighed()) {
      if (why.empty()) why = std::string(rule->text().why);
      why.insert(0, ValueText(finding->weighed()));
    }
    finding->set_why(std::move(why));
    std::string command = CommandFor(*finding, text(row->device_command));
    std::string words =
        text(command.empty() && !row->english.fix_without_command.empty()
                 ? texts.fix_without_command
                 : texts.fix);
    if (is_950_ && (!command.empty() || row->fix_names_tool)) {
      // The spelling of that generation's commands is not fully published.
      words = Say("spelled-for-950", WordsAndCommand(words, command));
      command.clear();
    }
    if (!words.empty()) finding->set_short_fix(text(texts.short_fix));
    finding->set_fix(WordsAndCommand(words, command));
    finding->set_fix_words(std::move(words));
    finding->set_command(std::move(command));
  }

 private:
  static std::string WordsAndCommand(const std::string& words,
                                     const std::string& command) {
    if (words.empty() || command.empty()) return words + command;
    return Say("fix-and-command", words, command);
  }

  bool is_950_ = false;
};

// Renders the words about the rule as a whole.
void RenderAround(RuleResult* result) {
  if (!result->has_seen()) return;
  std::string summary = ValueText(result->seen());
  for (const FindingValue& note : result->notes()) {
    summary = Say("summary-and-note", summary, note);
  }
  result->set_summary(std::move(summary));
}

}  // namespace

const RuleFinding* FindRuleFinding(const Rule& rule, absl::string_view name) {
  for (const auto rows : {SharedFindings(), rule.findings}) {
    for (const RuleFinding& row : rows) {
      if (row.name == name || row.name.empty()) return &row;
    }
  }
  return nullptr;
}

std::string ToolCommand(uint32_t device, absl::string_view arguments) {
  if (arguments.empty()) return "";
  return absl::StrCat("hccn_tool -i ", device, " ", arguments);
}

void RenderRule(absl::string_view product, RuleResult* result) {
  const Writer writer(product);
  const Rule* const rule = FindRule(result->rule());
  for (Finding& finding : *result->mutable_findings()) {
    writer.Write(rule, &finding);
  }
  RenderAround(result);
  if (rule == nullptr || result->findings().empty()) return;
  result->set_why(std::string(rule->text().why));
  result->set_source(std::string(rule->text().source));
  if (result->state() == SKIPPED && result->skip_is_finding()) {
    result->set_skip_reason(result->findings(0).observed());
  }
}

void RenderReport(Report* report) {
  RenderWords(report);
  for (RuleResult& result : *report->mutable_rules()) {
    RenderRule(report->product(), &result);
  }
}

void RenderDiff(absl::string_view product, ReportDiff* diff) {
  const Writer writer(product);
  for (ReportDiff::Change& change : *diff->mutable_changes()) {
    if (!change.has_finding()) continue;
    Finding finding = change.finding();
    writer.Write(FindRule(finding.rule()), &finding);
    change.set_observed(finding.observed());
    if (!change.fix().empty()) change.set_fix(finding.fix());
  }
}

void DropTexts(Report* report) {
  // Other code may have added notes behind those.
  for (int i = 0; i < std::min(report->said_size(), report->notes_size());
       ++i) {
    report->mutable_notes(i)->clear();
  }
  for (HostStatus& host : *report->mutable_hosts()) {
    if (host.has_no_facts()) host.clear_no_facts_reason();
  }
  for (RuleResult& result : *report->mutable_rules()) {
    if (result.has_seen()) result.clear_summary();
    if (result.has_skip_words() || result.skip_is_finding()) {
      result.clear_skip_reason();
    }
    const Rule* const rule = FindRule(result.rule());
    if (rule == nullptr) continue;
    if (!result.findings().empty()) {
      result.clear_why();
      result.clear_source();
    }
    for (Finding& finding : *result.mutable_findings()) {
      if (finding.finding().empty() ||
          FindRuleFinding(*rule, finding.finding()) == nullptr) {
        continue;
      }
      finding.clear_observed();
      finding.clear_expected();
      finding.clear_why();
      finding.clear_fix();
      finding.clear_fix_words();
      finding.clear_short_fix();
      finding.clear_command();
    }
  }
}

Report Rendered(Report report) {
  RenderReport(&report);
  return report;
}

}  // namespace clusterd
