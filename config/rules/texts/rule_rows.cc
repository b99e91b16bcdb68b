#include "config/rules/texts/rule_rows.h"

#include <algorithm>
#include <set>
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

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::RepeatedPtrField;

// "{name}" and its replacement, as in a string.
using Phrases = std::vector<std::pair<std::string, std::string>>;

// Keeps the first mistake of a file that is not a text of the message.
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

// Strings of C++, one per line.
std::string Strings(const std::vector<std::string>& texts) {
  return absl::StrJoin(texts, ",\n      ",
                       [](std::string* out, const std::string& text) {
                         absl::StrAppend(out, "\"", absl::CEscape(text), "\"");
                       });
}

std::string FindingTexts(const RowFinding& finding) {
  return absl::StrCat(
      "{",
      Strings({finding.observed(), finding.expected(), finding.why(),
               finding.fix(), finding.fix_without_command(),
               finding.short_fix()}),
      "}");
}

using Findings = RepeatedPtrField<RowFinding>;

// `constexpr RuleFinding NAME[]` with those findings.
std::string FindingTable(absl::string_view name, const Findings& findings) {
  std::string rows;
  for (const RowFinding& finding : findings) {
    absl::StrAppend(
        &rows, "    {",
        Strings({finding.name(), absl::StrJoin(finding.value(), "/")}), ", ",
        RuleRow::Level_Name(finding.level()), ",\n      ",
        FindingTexts(finding), ",\n      ", FindingTexts(finding.chinese()),
        ",\n      ",
        Strings({finding.device_command(), finding.caused_by(),
                 absl::StrJoin(finding.explained_by(), "/"),
                 absl::StrJoin(finding.moving(), "/")}),
        finding.by_hand() ? ", true" : ", false",
        finding.holds_alone() ? ", true" : ", false",
        finding.fix_names_tool() ? ", true},\n" : ", false},\n");
  }
  return absl::StrCat("\nconstexpr RuleFinding ", name, "[] = {\n", rows,
                      "};\n");
}

std::vector<const FieldDescriptor*> TextsOf(const Message& row) {
  std::vector<const FieldDescriptor*> fields;
  row.GetReflection()->ListFields(row, &fields);
  const auto is_text = [](const FieldDescriptor* field) {
    return field->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
           !field->is_repeated();
  };
  fields.erase(std::stable_partition(fields.begin(), fields.end(), is_text),
               fields.end());
  return fields;
}

// The first of `values` is $0 in the row's texts, as for absl::Substitute.
void NumberValues(const RepeatedPtrField<std::string>& values, Message* row) {
  Phrases numbers = {{"$", "$$"}};
  for (const std::string& value : values) {
    numbers.emplace_back(absl::StrCat("{", value, "}"),
                         absl::StrCat("$", numbers.size() - 1));
  }
  for (const FieldDescriptor* field : TextsOf(*row)) {
    const std::string text = row->GetReflection()->GetString(*row, field);
    row->GetReflection()->SetString(row, field,
                                    absl::StrReplaceAll(text, numbers));
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

// Texts of the page and `explain` about all rules.
struct CommonWords {
  const char* allow;
  const char* refuse;
  const char* drain;
  const char* in_part;
  const char* never_fails;
  const char* needs_all;
  const char* levels[RuleRow::Level_ARRAYSIZE];
};
constexpr CommonWords kEnglish = {
    "allow",
    "refuse",
    "refuse and drain",
    "in part: ",
    "It never fails.",
    "Only the controller, with all hosts, can judge it.",
    {"", "unknown", "warn", "fail", "skipped"}};
constexpr CommonWords kChinese = {"放行",
                                  "拒绝作业",
                                  "拒绝作业并排空节点",
                                  "部分情况：",
                                  "该规则不会不通过。",
                                  "需要所有主机的信息，只有控制器能判断。",
                                  {"", "未知", "告警", "不通过", "跳过"}};

// The action of a hook when the rule fails about its host: with the
// controller's verdict, alone, and why.
std::vector<std::string> HookTexts(const RuleRow& row, const CommonWords& words,
                                   const std::string& alone_why) {
  if (!MayFail(row)) {
    return {words.allow, words.allow, words.never_fails};
  }
  const bool drains = !row.of_job() && row.scope() != RuleRow::SPEC;
  const char* const acts = drains ? words.drain : words.refuse;
  return {acts,
          SomeHoldAlone(row)
              ? absl::StrCat(row.holds_alone() ? "" : words.in_part, acts)
              : words.allow,
          NeedsAloneWhy(row) ? alone_why : words.needs_all};
}

// `text` in the language of `words`, of the row that is `row` in English.
std::string RuleTexts(const RuleRow& row, const RuleRow& texts,
                      const CommonWords& words) {
  const RowText& text = texts.text();
  std::vector<std::string> all = {
      text.title(),
      text.fails_when(),
      text.why(),
      text.fix(),
      text.has_levels() ? text.levels() : words.levels[row.level()],
      text.has_source() ? text.source() : row.text().source()};
  absl::c_move(HookTexts(row, words, texts.alone_why()),
               std::back_inserter(all));
  return absl::StrCat("{", Strings(all), "}");
}

// Parses a file into `rows`, with the words of phrases in its texts. A
// translation has only texts.
absl::Status ParseRows(const RowFile& file, bool is_translation,
                       Phrases* phrases, RuleRows* rows) {
  FirstMistake mistake;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistake);
  parser.AllowPartialMessage(is_translation);
  if (!parser.ParseFromString(absl::StrReplaceAll(file.text, *phrases), rows)) {
    return Mistake(file, mistake.text);
  }
  for (const Phrase& phrase : rows->phrase()) {
    phrases->emplace_back(
        absl::StrCat("{", phrase.name(), "}"),
        absl::StrReplaceAll(absl::CEscape(phrase.text()), *phrases));
  }
  return absl::OkStatus();
}

// Numbers the values of a row that has some, or none; returns the mistake.
template <typename Row>
std::string NumberRow(const RepeatedPtrField<std::string>& values, Row* row) {
  NumberValues(values, row);
  return absl::StrContains(row->ShortDebugString(), "{")
             ? "no such phrase or value after a {"
             : "";
}

std::string MistakeInRule(RuleRow* row) {
  for (RowFinding& finding : *row->mutable_finding()) {
    const std::string mistake = NumberRow(finding.value(), &finding);
    if (!mistake.empty()) return mistake;
  }
  if (absl::StrContains(row->text().ShortDebugString(), "{")) {
    return "no such phrase or value after a {";
  }
  if (NeedsAloneWhy(*row) == row->has_alone_why() &&
      (row->has_alone_why() || !SomeHoldAlone(*row))) {
    return "";
  }
  return absl::StrCat("alone_why is ",
                      row->has_alone_why()
                          ? "not expected: no host alone sees it fail"
                          : "missing");
}

// The values that a text has: "$0$2" is "02".
std::string ValuesIn(absl::string_view text) {
  std::set<char> values;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '$') continue;
    if (absl::ascii_isdigit(text[++i])) values.insert(text[i]);
  }
  return {values.begin(), values.end()};
}

// The parts that only a translation has, or only its row.
std::string DifferenceOf(const Message& row, const Message& translation) {
  static const auto* const not_translated = new std::set<std::string>(
      {"name", "caused_by", "device_command", "source", "one", "exit_status",
       "cause", "remedy"});
  std::set<const FieldDescriptor*> fields;
  for (const Message* message : {&row, &translation}) {
    for (const FieldDescriptor* field : TextsOf(*message)) fields.insert(field);
  }
  for (const FieldDescriptor* field : fields) {
    if (not_translated->count(field->name()) > 0) continue;
    for (const auto& [is_in, language] :
         {std::pair(&row, "English"), std::pair(&translation, "Chinese")}) {
      if (is_in->GetReflection()->HasField(*is_in, field)) continue;
      return absl::StrCat(field->name(), " is not there in ", language);
    }
    if (ValuesIn(row.GetReflection()->GetString(row, field)) !=
        ValuesIn(row.GetReflection()->GetString(translation, field))) {
      return absl::StrCat(field->name(), " has other values in Chinese");
    }
  }
  return "";
}

bool IsMessage(const RowWords& words) {
  return absl::StartsWith(words.name(), "msg-");
}

std::string MistakeInWords(RowWords* words) {
  const bool is_explained =
      words->has_exit_status() && words->has_cause() && words->has_remedy();
  if (IsMessage(*words) && !is_explained) {
    return "exit_status, cause or remedy is missing";
  }
  return NumberRow(words->value(), words);
}

// A cell of a table, in which "$0" is the name of the first value.
std::string PageCell(absl::string_view text,
                     const RepeatedPtrField<std::string>& values) {
  std::vector<std::pair<std::string, std::string>> marks = {
      {"$$", "$"}, {"|", "\\|"}, {"\n", "<br>"}, {"<", "&lt;"}};
  for (int i = 0; i < values.size(); ++i) {
    marks.emplace_back(absl::StrCat("$", i), absl::StrCat("*", values[i], "*"));
  }
  return absl::StrReplaceAll(text, marks);
}

// Adds the translations to their rows; returns the mistake of one.
template <typename Row>
std::string Merge(RepeatedPtrField<Row>* translations,
                  RepeatedPtrField<Row>* rows) {
  for (int i = 0; i < std::max(rows->size(), translations->size()); ++i) {
    const bool is_row = i < rows->size();
    const bool has_both = is_row && i < translations->size() &&
                          rows->Get(i).name() == translations->Get(i).name();
    if (!has_both) {
      return absl::StrCat("expected in this place: \"",
                          is_row ? rows->Get(i).name() : "", "\"");
    }
    Row& row = (*rows)[i];
    Row& translation = (*translations)[i];
    std::string mistake;
    if constexpr (std::is_same_v<Row, RuleRow>) {
      mistake = Merge(translation.mutable_finding(), row.mutable_finding());
      if (mistake.empty())
        mistake = DifferenceOf(row.text(), translation.text());
    } else {
      mistake = NumberRow(row.value(), &translation);
    }
    if (mistake.empty()) mistake = DifferenceOf(row, translation);
    if (!mistake.empty()) {
      return absl::StrCat("\"", row.name(), "\": ", mistake);
    }
    *row.mutable_chinese() = std::move(translation);
  }
  return "";
}

// A translation, of the category of the same name.
absl::Status AddChinese(const RowFile& file, Phrases* phrases,
                        std::vector<RuleCategory>* categories) {
  RuleRows chinese;
  const absl::Status status = ParseRows(file, true, phrases, &chinese);
  if (!status.ok()) return status;
  for (RuleCategory& category : *categories) {
    if (category.name != Stem(file.path)) continue;
    RuleRows& rows = category.rows;
    for (const std::string& mistake :
         {Merge(chinese.mutable_rule(), rows.mutable_rule()),
          Merge(chinese.mutable_finding(), rows.mutable_finding()),
          Merge(chinese.mutable_words(), rows.mutable_words())}) {
      if (!mistake.empty()) return Mistake(file, " " + mistake);
    }
    return absl::OkStatus();
  }
  return Mistake(file, " there is no English file of this name");
}

absl::Status AddEnglish(const RowFile& file, Phrases* phrases,
                        std::vector<RuleCategory>* categories) {
  RuleRows rows;
  const absl::Status status = ParseRows(file, false, phrases, &rows);
  if (!status.ok()) return status;
  for (RuleRow& row : *rows.mutable_rule()) {
    const std::string mistake = MistakeInRule(&row);
    if (mistake.empty()) continue;
    return Mistake(file, absl::StrCat(" rule \"", row.name(), "\": ", mistake));
  }
  for (RowFinding& finding : *rows.mutable_finding()) {
    const std::string mistake = NumberRow(finding.value(), &finding);
    if (!mistake.empty()) return Mistake(file, " finding: " + mistake);
  }
  for (RowWords& words : *rows.mutable_words()) {
    const std::string mistake = MistakeInWords(&words);
    if (mistake.empty()) continue;
    return Mistake(file,
                   absl::StrCat(" words \"", words.name(), "\": ", mistake));
  }
  categories->push_back({Stem(file.path), std::move(rows)});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<RuleCategory>> ReadRuleRows(
    absl::Span<const RowFile> files) {
  std::vector<RuleCategory> categories;
  Phrases english;
  Phrases chinese;
  std::string all_texts;
  for (const RowFile& file : files) {
    absl::StrAppend(&all_texts, file.text);
    const absl::Status status = absl::StrContains(file.path, "/zh/")
                                    ? AddChinese(file, &chinese, &categories)
                                    : AddEnglish(file, &english, &categories);
    if (!status.ok()) return status;
  }
  // With two rows of one name a program would show the wrong one.
  std::set<std::string> names;
  for (const RuleCategory& category : categories) {
    for (const RowWords& words : category.rows.words()) {
      if (names.insert(words.name()).second) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("words \"", words.name(), "\" have two rows"));
    }
  }
  for (const auto& [name, words] : english) {
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
      absl::StrAppend(&declarations, "void ", check,
                      "(const ClusterView& view, RuleReport& report);\n");
      absl::StrAppend(&table, "    {\"", row.name(), "\", \"", category.name,
                      "\", RuleScope::k",
                      CamelCase(RuleRow::Scope_Name(row.scope())), ",\n     ",
                      RuleRow::Level_Name(row.level()), ", ", check, ",\n     ",
                      RuleTexts(row, row, kEnglish), ",\n     ",
                      RuleTexts(row, row.chinese(), kChinese), ",\n     ",
                      row.finding().empty() ? "{}" : rows, ",\n     \"",
                      absl::StrJoin(row.fixed_by(), "/"), "\", \"",
                      absl::StrJoin(row.possible_causes(), "/"), "\", \"",
                      absl::StrJoin(row.code(), "/"), "\", ",
                      row.needs_roce() ? "true" : "false", ", ",
                      row.needs_job() ? "true" : "false", ", ",
                      row.of_job() ? "true" : "false", ", ",
                      row.holds_alone() ? "true" : "false", "},\n");
      if (row.finding().empty()) continue;
      absl::StrAppend(&findings, FindingTable(rows, row.finding()));
    }
  }
  absl::StrAppend(&findings, FindingTable("kSharedFindings", shared));
  return absl::StrCat(declarations, findings, table, "};\n");
}

std::string WordTable(absl::Span<const RuleCategory> categories) {
  std::string rows;
  for (const RuleCategory& category : categories) {
    for (const RowWords& row : category.rows.words()) {
      absl::StrAppend(
          &rows, "    {",
          Strings({row.name(), row.text(), row.one(), row.chinese().text()}),
          "},\n");
    }
  }
  return absl::StrCat("constexpr WordRow kWordRows[] = {\n", rows, "};\n");
}

std::string MessagePage(absl::Span<const RuleCategory> categories) {
  std::string page;
  for (const RuleCategory& category : categories) {
    std::string rows;
    for (const RowWords& row : category.rows.words()) {
      // These are parts of errors about a value that people write.
      const bool is_part = absl::StartsWith(row.name(), "value-");
      if (!IsMessage(row) && !is_part) continue;
      const auto cell = [&row](absl::string_view text) {
        return absl::StrCat("| ", PageCell(text, row.value()), " ");
      };
      absl::StrAppend(
          &rows, cell(row.text()), cell(is_part ? "3" : row.exit_status()),
          cell(is_part ? "A value in a file or an option is not valid."
                       : row.cause()),
          cell(is_part ? "Correct it at the place that the message names."
                       : row.remedy()),
          "|\n");
    }
    if (rows.empty()) continue;
    absl::StrAppend(&page, "\n## ", category.name, "\n\n",
                    "| message | exit status | cause | what to do |\n",
                    "|---|---|---|---|\n", rows);
  }
  return page;
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
      absl::StrAppend(
          &texts, "\n### ", row.name(),
          "\n\n- **Fails when**: ", text.fails_when(), "\n- **Level**: ",
          row.text().has_levels() ? row.text().levels() : LevelWord(row),
          "\n- **Why**: ", text.why(), "\n- **Fix**: ", text.fix(),
          "\n- **Source**: ", text.source(), "\n");
    }
  }
  return absl::StrCat(list, texts);
}

}  // namespace clusterd
