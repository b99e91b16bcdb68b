#include "config/rules/finding_words.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "config/spec/product_profile.h"
#include "config/words/number_text.h"
#include "config/words/state_word.h"
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
  Writer(Language language, const Report& report)
      : is_chinese_(language == Language::kChinese), language_(language) {
    const auto profile = FindProductProfile(report.product(), "");
    is_950_ =
        profile.ok() && (*profile)->generation == NpuToolFacts::ASCEND_950;
  }

  void Write(const Rule* rule, Finding* finding) const {
    const RuleFinding* const row =
        rule == nullptr ? nullptr : FindRuleFinding(*rule, finding->finding());
    if (row == nullptr) {
      finding->set_observed(absl::StrCat(
          finding->finding(), Part(": ", NamedValuesText(finding->values()))));
      return;
    }
    const FindingText& texts = is_chinese_ ? row->chinese : row->english;
    const auto text = [&](absl::string_view with_values) {
      return WithValuesIn(with_values, finding->values(), language_);
    };
    std::string expected = finding->has_expects()
                               ? ValueText(finding->expects(), language_)
                               : text(texts.expected);
    if (expected.empty()) expected = std::string(rule->In(language_).title);
    const std::string command = CommandFor(
        *finding, WithValuesIn(row->device_command, finding->values()));
    const bool has_other_fix =
        command.empty() && !texts.fix_without_command.empty();
    WriteFix(text(has_other_fix ? texts.fix_without_command : texts.fix),
             command, finding);
    std::string why = text(texts.why);
    if (finding->has_weighed()) {
      if (why.empty()) why = std::string(rule->In(language_).why);
      why.insert(0, ValueText(finding->weighed(), language_));
    }
    finding->set_observed(text(texts.observed) + WaiverOf(*finding));
    finding->set_expected(std::move(expected));
    finding->set_why(std::move(why));
  }

 private:
  void WriteFix(std::string fix, std::string command, Finding* finding) const {
    if (!fix.empty() && !command.empty()) fix += is_chinese_ ? "：" : ": ";
    fix += command;
    if (is_950_ && absl::StrContains(fix, "hccn_tool -i ")) {
      // Nothing public gives every command of that generation's spelling.
      fix.insert(0, Say(language_, "spelled-for-950"));
      command.clear();
    }
    finding->set_fix(std::move(fix));
    finding->set_command(std::move(command));
  }

  std::string WaiverOf(const Finding& finding) const {
    if (!finding.has_waiver() || finding.rule() == kMaintenanceRule) return "";
    const Waiver& waiver = finding.waiver();
    return Say(language_,
               waiver.rule() == kMaintenanceRule ? "in-maintenance" : "waived",
               StateWord(waiver.waived_from()), WaiverText(waiver));
  }

  const bool is_chinese_;
  const Language language_;
  bool is_950_ = false;
};

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

void RenderReport(Language language, Report* report) {
  const Writer writer(language, *report);
  for (RuleResult& result : *report->mutable_rules()) {
    const Rule* const rule = FindRule(result.rule());
    for (Finding& finding : *result.mutable_findings()) {
      writer.Write(rule, &finding);
    }
    if (rule == nullptr || result.findings().empty()) continue;
    result.set_why(std::string(rule->In(language).why));
    result.set_source(std::string(rule->In(language).source));
    if (result.state() == SKIPPED && result.skip_reason().empty()) {
      result.set_skip_reason(result.findings(0).observed());
    }
  }
}

}  // namespace clusterd
