#include "client/print/report_formats.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/report/finding_overview.h"
#include "config/report/message_json.h"
#include "config/report/repair_list.h"
#include "config/report/verdict.h"
#include "config/values/text_form.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "google/protobuf/wrappers.pb.h"

namespace clusterd {
namespace {

// True if every reader of YAML, also 1.1, reads the text without quotes as is.
bool IsPlainYaml(const std::string& text) {
  static const LazyRE2 kWords = {
      R"([A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*)"};
  constexpr absl::string_view kValues[] = {"y",   "yes",  "n",     "no",  "on",
                                           "off", "true", "false", "null"};
  return HasForm(text, *kWords) &&
         !absl::c_linear_search(kValues, absl::AsciiStrToLower(text));
}

// Writes a JSON value in YAML's own layout. A list has one line if its first
// element is a number, or none.
void WriteYaml(const YAML::Node& json, YAML::Emitter& out) {
  const auto is_text = [](const YAML::Node& value) {
    return value.Tag() == "!";  // The value had quotes.
  };
  if (json.IsMap()) {
    out << YAML::BeginMap;
    for (const auto& field : json) {
      WriteYaml(field.first, out);
      WriteYaml(field.second, out);
    }
    out << YAML::EndMap;
  } else if (json.IsSequence()) {
    const bool is_on_one_line =
        json.size() == 0 || (json[0].IsScalar() && !is_text(json[0]));
    out << (is_on_one_line ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
    for (const YAML::Node& element : json) WriteYaml(element, out);
    out << YAML::EndSeq;
  } else if (json.IsNull()) {
    out << YAML::Null;
  } else {
    if (is_text(json) && !IsPlainYaml(json.Scalar())) out << YAML::DoubleQuoted;
    out << json.Scalar();
  }
}

// YAML has no surrogates: a character beyond U+FFFF is one escape there.
std::string WithoutSurrogates(const std::string& json) {
  // MessageJson has both halves or neither, so no other text has this form.
  static const LazyRE2 kPair = {
      R"((?s)(.*?)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2}))"};
  re2::StringPiece rest(json);
  std::string text;
  std::string before;
  uint32_t high = 0;
  uint32_t low = 0;
  while (
      RE2::Consume(&rest, *kPair, &before, RE2::Hex(&high), RE2::Hex(&low))) {
    absl::StrAppend(&text, before);
    absl::StrAppendFormat(&text, "\\U%08x",
                          0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
  }
  return absl::StrCat(text, absl::string_view(rest.data(), rest.size()));
}

// "\"name\": \"text\", "
std::string JsonField(const char* name, const std::string& text) {
  google::protobuf::StringValue value;
  value.set_value(text);
  return absl::StrCat(
      "\"", name,
      "\": ", absl::StripTrailingAsciiWhitespace(MessageJson(value)), ", ");
}

// Limits without verbose.
constexpr size_t kRowsPerRule = 4;
constexpr int kMarkdownRepairs = 18;

// A code span, in which Markdown is not interpreted; empty for no text.
std::string CodeSpan(absl::string_view text) {
  const std::string safe = SafeText(text, /*utf8=*/true);
  if (safe.empty()) return "";
  std::string fence = "`";
  while (absl::StrContains(safe, fence)) fence += '`';
  const char* space = fence.size() > 1 ? " " : "";
  return absl::StrCat(fence, space, safe, space, fence);
}

// A code span for a cell, which a "|" would end even within the span.
std::string CellSpan(absl::string_view text) {
  return CodeSpan(absl::StrReplaceAll(text, {{"|", "\\x7c"}}));
}

// A text with commands in backquotes: a span for each part.
std::string CodeSpans(absl::string_view text) {
  std::vector<std::string> spans;
  for (const absl::string_view part : absl::StrSplit(text, '`')) {
    const absl::string_view bare = absl::StripAsciiWhitespace(part);
    if (!bare.empty()) spans.push_back(CodeSpan(bare));
  }
  return absl::StrJoin(spans, " ");
}

// Writes one report; lives for one call.
class MarkdownWriter {
 public:
  MarkdownWriter(const Report& report, bool verbose)
      : report_(report),
        verbose_(verbose),
        overview_(ArrangeFindings(report, verbose)) {}

  std::string Text() {
    WriteHead();
    WriteNotChecked();
    WriteFindings();
    WriteRepairs();
    return text_;
  }

 private:
  template <typename... Parts>
  void Write(const Parts&... parts) {
    absl::StrAppend(&text_, parts..., "\n");
  }
  std::string Who(const Subjects& subjects) const {
    return verbose_ ? SubjectsText(subjects, kUnbounded, kUnbounded)
                    : SubjectsText(subjects, 4, 100);
  }

  void WriteHead() {
    Write("## ", VerdictWord(report_), ": ", ReportSubject(report_, CodeSpan),
          " ", VerdictSentence(report_), "\n");
    for (const absl::string_view line :
         absl::StrSplit(report_.error(), '\n', absl::SkipEmpty())) {
      Write("- ", CodeSpan(line));
    }
    if (report_.error().empty()) {
      Write(Say("markdown-counts", CountsText(CountStates(report_.rules())),
                Counted(report_.rules_size(), "rule"),
                Counted(report_.hosts_size(), "host"),
                ElapsedText(report_.elapsed_ms()),
                SayPart("markdown-run", CodeSpan(report_.run_id()))),
            "\n");
    }
    for (const std::string& note : report_.notes()) {
      Write("- ", Say("note", CodeSpan(note)));
    }
    if (!report_.network_namespace().empty()) {
      Write("- ", Say("ctl-network-namespace",
                      CodeSpan(report_.network_namespace())));
    }
    const std::vector<std::string> failing = FailingHosts(report_);
    if (failing.empty()) return;
    Write("- ",
          Say("markdown-fails", CodeSpan(HostsText(failing, kUnbounded))));
  }

  void WriteNotChecked() {
    const auto hosts = SilentHosts(report_);
    FirstSeen<std::string, std::vector<std::string>> rules;
    for (const RuleResult& rule : report_.rules()) {
      if (KnownState(rule.state()) != SKIPPED) continue;
      rules[rule.skip_reason()].push_back(rule.rule());
    }
    if (hosts.empty() && rules.empty()) return;
    Write("\n### ", Say("markdown-not-checked"), "\n");
    for (const auto& [why, names] : hosts) {
      Write("- ", CodeSpan(HostsText(names, kUnbounded)),
            Part(": ", CodeSpan(why)));
    }
    for (const auto& [why, names] : rules) {
      Write("- ", Count(names.size(), "rule"), " (",
            CodeSpan(FirstOf(names, verbose_ ? names.size() : 3)), ")",
            Part(": ", CodeSpan(why)));
    }
  }

  void WriteRow(const FindingBlock& block, const std::string& who,
                const std::string& found, const std::string& expected) {
    Write("| ", StateSymbol(block.state, /*utf8=*/true), " ",
          StateWord(block.state), " | ", CellSpan(block.rule), " | ", who,
          " | ", found, " | ", expected, " |");
  }

  void WriteBlock(const FindingBlock& block) {
    const size_t shown = verbose_
                             ? block.findings.size()
                             : std::min(block.findings.size(), kRowsPerRule);
    for (size_t i = 0; i < shown; ++i) {
      const Finding& finding = *block.findings[i];
      WriteRow(block, CellSpan(Who(finding.subjects())),
               CellSpan(finding.observed()), CellSpan(finding.expected()));
    }
    if (shown == block.findings.size()) return;
    Subjects rest;
    for (size_t i = shown; i < block.findings.size(); ++i) {
      rest.MergeFrom(block.findings[i]->subjects());
    }
    WriteRow(block, CellSpan(Who(rest)),
             Say("markdown-more",
                 Counted(block.findings.size() - shown, "more finding")),
             "");
  }

  void WriteFindings() {
    if (!overview_.blocks.empty()) {
      Write("\n### ", Say("markdown-findings"), "\n");
      Write(Say("markdown-titles"));
      Write("|---|---|---|---|---|");
    }
    for (auto block = overview_.blocks.rbegin();
         block != overview_.blocks.rend(); ++block) {
      WriteBlock(*block);
    }
    if (overview_.causes.empty()) return;
    Write("\n### ", Say("markdown-consequences"), "\n");
    for (const auto& [cause, group] : overview_.causes) {
      Write("- ", Say("markdown-cause", StateWord(group.state),
                      Counted(group.rules.size(), "rule"), CodeSpan(cause),
                      CodeSpan(Who(group.subjects)),
                      CodeSpan(absl::StrJoin(group.rules, ", "))));
    }
  }

  void WriteRepairs() {
    const std::vector<Repair> repairs = ListRepairs(report_);
    if (repairs.empty()) return;
    Write("\n### ", Say("markdown-repairs"), "\n");
    size_t left_out = 0;
    for (const Repair& repair : repairs) {
      if (!verbose_ && &repair - &repairs[0] >= kMarkdownRepairs) {
        left_out += repair.causes;
        continue;
      }
      Write("- ", StateWord(repair.state), ": ", CodeSpan(Who(repair.subjects)),
            ": ", CodeSpans(repair.how), " (",
            CodeSpan(absl::StrJoin(repair.rules, ", ")), ")");
    }
    if (left_out > 0) Write("- ", MoreCauses(report_, left_out));
  }

  const Report& report_;
  const bool verbose_;
  const FindingOverview overview_;
  std::string text_;
};

}  // namespace

std::string MessageYaml(const google::protobuf::Message& message) {
  // Converts JSON, which defines the content and is YAML except for surrogates.
  YAML::Emitter out;
  out << YAML::BeginDoc;
  WriteYaml(YAML::Load(WithoutSurrogates(MessageJson(message))), out);
  // Control characters are in double quotes, with SafeText's escapes as YAML's.
  return absl::StrCat(
      SafeLines(absl::string_view(out.c_str(), out.size()), /*utf8=*/true),
      "\n");
}

std::string KindLine(const char* kind, const std::string& head,
                     const google::protobuf::Message& message) {
  // These lists have their own lines.
  const std::string line = OnOneLine(MessageJson(
      message, /*with_defaults=*/true, {"rules", "hosts", "findings"}));
  return absl::StrCat("{", JsonField("kind", kind), head, line.substr(1));
}

std::string ReportLines(const Report& report) {
  Report whole = report;
  whole.clear_rules();
  whole.clear_hosts();
  whole.clear_value_groups();
  whole.clear_switches();
  *whole.mutable_rule_counts() = CountStates(report.rules());
  std::string lines = KindLine("report", "", whole);
  const std::string of_run = absl::StrCat(
      JsonField("cluster", report.cluster()),
      JsonField("run_id", report.run_id()),
      JsonField("started_at_ms", absl::StrCat(report.started_at_ms())));
  for (const RuleResult& rule : report.rules()) {
    const std::string of_rule =
        absl::StrCat(of_run, JsonField("category", rule.category()),
                     JsonField("source", rule.source()));
    for (Finding finding : rule.findings()) {
      if (finding.why().empty()) finding.set_why(rule.why());
      lines += KindLine("finding", of_rule, finding);
    }
  }
  for (const RuleResult& rule : report.rules()) {
    lines += KindLine("rule", of_run, rule);
  }
  for (const HostStatus& host : report.hosts()) {
    lines += KindLine("host", of_run, host);
  }
  return lines;
}

std::string ReportMarkdown(const Report& report, bool verbose) {
  return MarkdownWriter(report, verbose).Text();
}

}  // namespace clusterd
