#include "config/rules/texts/rule_rows.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace clusterd {
namespace {

// "{name}" and the words that take its place, as they stand in a string.
using Phrases = std::vector<std::pair<std::string, std::string>>;

// Keeps the first mistake of a file that is no text of the message.
class FirstMistake : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text.empty()) return;
    text = absl::StrCat(line + 1, ":", column + 1, ": ", message);
  }

  std::string text;
};

absl::Status Mistake(const RowFile& file, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file.path, ":", what));
}

// "config/rules/texts/host.textproto" is "host".
std::string Stem(absl::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  return std::string(path.substr(0, path.find('.')));
}

// "device-ip-set" is "DeviceIpSet", "NAMESPACE" is "Namespace".
std::string CamelCase(absl::string_view words) {
  std::string name;
  for (const absl::string_view word : absl::StrSplit(words, '-')) {
    name += absl::ascii_toupper(word[0]);
    name += absl::AsciiStrToLower(word.substr(1));
  }
  return name;
}

std::string LevelWord(const RuleRow& row) {
  return absl::AsciiStrToLower(RuleRow::Level_Name(row.level()));
}

// Without "levels" the level's own word.
std::string LevelText(const RuleRow& row) {
  return row.text().has_levels() ? row.text().levels() : LevelWord(row);
}

// Strings of C++, one per line.
std::string Strings(const std::vector<std::string>& texts) {
  return absl::StrJoin(texts, ",\n      ",
                       [](std::string* out, const std::string& text) {
                         absl::StrAppend(out, "\"", absl::CEscape(text), "\"");
                       });
}

std::string TextRow(const RuleRow& row, const RowText& text) {
  return absl::StrCat("{",
                      Strings({text.title(), text.fails_when(), text.why(),
                               text.fix(), LevelText(row), text.source()}),
                      "}");
}

using Findings = google::protobuf::RepeatedPtrField<RowFinding>;

// `constexpr RuleFinding NAME[]` with those findings.
std::string FindingTable(absl::string_view name, const Findings& findings) {
  std::string rows;
  for (const RowFinding& finding : findings) {
    absl::StrAppend(
        &rows, "    {", Strings({finding.name()}), ", ",
        RuleRow::Level_Name(finding.level()), ",\n      ",
        Strings({finding.observed(), finding.expected(), finding.why(),
                 finding.fix(), finding.device_command(),
                 finding.fix_without_command(), finding.caused_by(),
                 absl::StrJoin(finding.explained_by(), "/")}),
        finding.by_hand() ? ", true" : ", false",
        finding.holds_alone() ? ", true},\n" : ", false},\n");
  }
  return absl::StrCat("\nconstexpr RuleFinding ", name, "[] = {\n", rows,
                      "};\n");
}

// The first value of a finding is $0 in its texts, as absl::Substitute has it.
void NumberValues(Findings* findings) {
  for (RowFinding& finding : *findings) {
    std::vector<std::pair<std::string, std::string>> numbers = {{"$", "$$"}};
    for (const std::string& value : finding.value()) {
      numbers.emplace_back(absl::StrCat("{", value, "}"),
                           absl::StrCat("$", numbers.size() - 1));
    }
    for (std::string* text :
         {finding.mutable_observed(), finding.mutable_expected(),
          finding.mutable_why(), finding.mutable_fix(),
          finding.mutable_device_command(),
          finding.mutable_fix_without_command(), finding.mutable_caused_by()}) {
      *text = absl::StrReplaceAll(*text, numbers);
    }
  }
}

bool MayFail(const RuleRow& row) {
  return row.level() == RuleRow::FAIL ||
         absl::c_any_of(row.finding(), [](const RowFinding& finding) {
           return finding.level() == RuleRow::FAIL;
         });
}

// One host alone can judge it, and it may fail.
bool NeedsAloneWhy(const RuleRow& row) {
  const bool judges_one_host =
      row.scope() == RuleRow::NAMESPACE || row.scope() == RuleRow::HOST ||
      row.scope() == RuleRow::DEVICE ||
      (row.scope() == RuleRow::SPEC && (row.needs_job() || row.holds_alone()));
  return judges_one_host && MayFail(row);
}

bool SomeHoldAlone(const RuleRow& row) {
  return row.holds_alone() || absl::c_any_of(row.finding(), [](const auto& f) {
           return f.holds_alone();
         });
}

// What a hook does when the rule fails about its host.
struct HookWords {
  std::string with_controller;
  std::string alone;
  std::string why;
};

HookWords WordsForHooks(const RuleRow& row) {
  if (!MayFail(row)) {
    return {"let through", "let through", "It never fails."};
  }
  const bool drains = !row.of_job() && row.scope() != RuleRow::SPEC;
  HookWords words = {drains ? "refuse and drain" : "refuse", "let through",
                     "Only the controller, with all hosts, can judge it."};
  if (SomeHoldAlone(row)) {
    words.alone = absl::StrCat(row.holds_alone() ? "" : "in part: ",
                               words.with_controller);
  }
  if (NeedsAloneWhy(row)) words.why = row.alone_why();
  return words;
}

// Whether no phrase and no value is left in any text.
bool IsWhole(const google::protobuf::Message& message) {
  return !absl::StrContains(message.ShortDebugString(), "{");
}

}  // namespace

absl::StatusOr<std::vector<RuleCategory>> ReadRuleRows(
    absl::Span<const RowFile> files) {
  std::vector<RuleCategory> categories;
  Phrases phrases;
  std::string all_texts;
  for (const RowFile& file : files) {
    absl::StrAppend(&all_texts, file.text);
    RuleRows rows;
    FirstMistake mistake;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&mistake);
    if (!parser.ParseFromString(absl::StrReplaceAll(file.text, phrases),
                                &rows)) {
      return Mistake(file, mistake.text);
    }
    for (const Phrase& phrase : rows.phrase()) {
      phrases.emplace_back(
          absl::StrCat("{", phrase.name(), "}"),
          absl::StrReplaceAll(absl::CEscape(phrase.text()), phrases));
    }
    for (RuleRow& row : *rows.mutable_rule()) {
      NumberValues(row.mutable_finding());
      if (NeedsAloneWhy(row) != row.has_alone_why() ||
          (SomeHoldAlone(row) && !row.has_alone_why())) {
        return Mistake(
            file, absl::StrCat(" rule \"", row.name(), "\": alone_why is ",
                               row.has_alone_why() ? "not expected: no host "
                                                     "alone sees it fail"
                                                   : "missing"));
      }
      if (IsWhole(row.text()) && absl::c_all_of(row.finding(), IsWhole)) {
        continue;
      }
      return Mistake(file,
                     absl::StrCat(" rule \"", row.name(),
                                  "\": no such phrase or value after a {"));
    }
    NumberValues(rows.mutable_finding());
    if (!absl::c_all_of(rows.finding(), IsWhole)) {
      return Mistake(file, " finding: no such phrase or value after a {");
    }
    categories.push_back({Stem(file.path), std::move(rows)});
  }
  for (const auto& [name, words] : phrases) {
    if (absl::StrContains(all_texts, name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("phrase ", name, " is used by no rule"));
  }
  return categories;
}

std::string RuleTable(absl::Span<const RuleCategory> categories) {
  std::string declarations =
      "// Written by config/rules/texts/write_rules.cc.\n";
  std::string findings;
  std::string table = "\nconstexpr Rule kRules[] = {\n";
  Findings shared;
  for (const RuleCategory& category : categories) {
    shared.MergeFrom(category.rows.finding());
    for (const RuleRow& row : category.rows.rule()) {
      const std::string check = absl::StrCat("Check", CamelCase(row.name()));
      const std::string rows = absl::StrCat("kFindingsOf", check);
      const HookWords hook = WordsForHooks(row);
      absl::StrAppend(&declarations, "void ", check,
                      "(const ClusterView& view, RuleReport& report);\n");
      absl::StrAppend(
          &table, "    {\"", row.name(), "\", \"", category.name,
          "\", RuleScope::k", CamelCase(RuleRow::Scope_Name(row.scope())),
          ",\n     ", RuleRow::Level_Name(row.level()), ", ", check, ",\n     ",
          TextRow(row, row.text()), ",\n     ",
          row.finding().empty() ? "{}" : rows, ",\n     \"",
          absl::StrJoin(row.mended_by(), "/"), "\", \"",
          absl::StrJoin(row.perhaps_by(), "/"), "\", ",
          row.needs_roce() ? "true" : "false", ", ",
          row.needs_job() ? "true" : "false", ", ",
          row.of_job() ? "true" : "false", ", ",
          row.holds_alone() ? "true" : "false", ",\n     ",
          Strings({hook.with_controller, hook.alone, hook.why}), "},\n");
      if (row.finding().empty()) continue;
      absl::StrAppend(&findings, FindingTable(rows, row.finding()));
    }
  }
  absl::StrAppend(&findings, FindingTable("kSharedFindings", shared));
  return absl::StrCat(declarations, findings, table, "};\n");
}

std::string RulePage(absl::Span<const RuleCategory> categories) {
  std::string list =
      "| rule | scope | level | what holds |\n|---|---|---|---|\n";
  std::string texts;
  for (const RuleCategory& category : categories) {
    if (category.rows.rule().empty()) continue;
    absl::StrAppend(&texts, "\n## Category ", category.name, "\n");
    for (const RuleRow& row : category.rows.rule()) {
      const RowText& text = row.text();
      absl::StrAppend(&list, "| [`", row.name(), "`](#", row.name(), ") | ",
                      absl::AsciiStrToLower(RuleRow::Scope_Name(row.scope())),
                      " | ", LevelWord(row), " | ", text.title(), " |\n");
      absl::StrAppend(&texts, "\n### ", row.name(),
                      "\n\n- **Fails when**: ", text.fails_when(),
                      "\n- **Level**: ", LevelText(row),
                      "\n- **Why**: ", text.why(), "\n- **Fix**: ", text.fix(),
                      "\n- **Source**: ", text.source(), "\n");
    }
  }
  return absl::StrCat(list, texts);
}

}  // namespace clusterd
