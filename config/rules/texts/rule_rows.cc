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
std::string LevelText(const RuleRow& row, const RowText& text) {
  return text.has_levels() ? text.levels() : LevelWord(row);
}

// Strings of C++, one per line.
std::string Strings(const std::vector<std::string>& texts) {
  return absl::StrJoin(texts, ",\n      ",
                       [](std::string* out, const std::string& text) {
                         absl::StrAppend(out, "\"", absl::CEscape(text), "\"");
                       });
}

std::string FindingRows(const RuleRow& row) {
  std::string rows;
  for (const RowFinding& finding : row.finding()) {
    absl::StrAppend(
        &rows, "    {", Strings({finding.name()}), ", ",
        RuleRow::Level_Name(finding.level()), ",\n      ",
        Strings({finding.observed(), finding.expected(), finding.why(),
                 finding.fix(), finding.device_command()}),
        "},\n");
  }
  return rows;
}

std::string TextRow(const RuleRow& row, const RowText& text) {
  return absl::StrCat(
      "{",
      Strings({text.title(), text.fails_when(), text.why(), text.fix(),
               LevelText(row, text), text.source()}),
      "}");
}

// Whether no phrase is left in any text.
bool IsWhole(const RuleRow& row) {
  const auto is_whole = [](const google::protobuf::Message& message) {
    return !absl::StrContains(message.ShortDebugString(), "{");
  };
  return is_whole(row.english()) && is_whole(row.chinese()) &&
         absl::c_all_of(row.finding(), is_whole);
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
    for (const RuleRow& row : rows.rule()) {
      if (IsWhole(row)) continue;
      return Mistake(file, absl::StrCat(" rule \"", row.name(),
                                        "\": no such phrase after a {"));
    }
    if (rows.rule().empty()) continue;
    categories.push_back(
        {Stem(file.path), {rows.rule().begin(), rows.rule().end()}});
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
  for (const RuleCategory& category : categories) {
    for (const RuleRow& row : category.rules) {
      const std::string check = absl::StrCat("Check", CamelCase(row.name()));
      const std::string rows = absl::StrCat("kFindingsOf", check);
      absl::StrAppend(&declarations, "void ", check,
                      "(const ClusterView& view, RuleReport& report);\n");
      absl::StrAppend(&table, "    {\"", row.name(), "\", \"", category.name,
                      "\", RuleScope::k",
                      CamelCase(RuleRow::Scope_Name(row.scope())), ",\n     ",
                      RuleRow::Level_Name(row.level()), ", ", check, ",\n     ",
                      TextRow(row, row.english()), ",\n     ",
                      row.has_chinese() ? TextRow(row, row.chinese()) : "{}",
                      ",\n     ", row.finding().empty() ? "{}" : rows, "},\n");
      if (row.finding().empty()) continue;
      absl::StrAppend(&findings, "\nconstexpr RuleFinding ", rows, "[] = {\n",
                      FindingRows(row), "};\n");
    }
  }
  return absl::StrCat(declarations, findings, table, "};\n");
}

std::string RulePage(absl::Span<const RuleCategory> categories) {
  std::string list =
      "| rule | scope | level | what holds |\n|---|---|---|---|\n";
  std::string texts;
  for (const RuleCategory& category : categories) {
    absl::StrAppend(&texts, "\n## Category ", category.name, "\n");
    for (const RuleRow& row : category.rules) {
      const RowText& text = row.english();
      absl::StrAppend(&list, "| [`", row.name(), "`](#", row.name(), ") | ",
                      absl::AsciiStrToLower(RuleRow::Scope_Name(row.scope())),
                      " | ", LevelWord(row), " | ", text.title(), " |\n");
      absl::StrAppend(&texts, "\n### ", row.name(),
                      "\n\n- **Fails when**: ", text.fails_when(),
                      "\n- **Level**: ", LevelText(row, text),
                      "\n- **Why**: ", text.why(), "\n- **Fix**: ", text.fix(),
                      "\n- **Source**: ", text.source(), "\n");
    }
  }
  return absl::StrCat(
      R"(# The rules

Written from `config/rules/texts/*.textproto`, where a rule is one row. After a change there:

```
bazel build //config/rules/texts:page
cp bazel-bin/config/rules/texts/rules.md config/rules/README.md
```

A new rule `some-name` is its row there, its function `CheckSomeName` in a `*_rules.cc` of this folder with its tests, and its
fault in `completeness_test.cc`, which proves that it notices something and passes without it.

The scope is what a rule needs to see: `namespace` and `host` one host, `device` the devices of one host, `cluster` all
hosts, `spec` the spec alone; `answers` tells which hosts could be asked.

)",
      list, texts);
}

}  // namespace clusterd
