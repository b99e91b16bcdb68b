#include "config/rules/texts/rule_rows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kRow[] = R"(
rule {
  name: "port-free"
  scope: NAMESPACE
  level: FAIL
  alone_why: "a plan says it"
  text {
    title: "a title"
    fails_when: "it fails"
    why: "a \"why\""
    fix: "see {guide}"
    source: "{guide}; more"
  }
}
)";
constexpr char kPhrase[] = "phrase { name: \"guide\" text: \"the guide\" }";

absl::StatusOr<std::vector<RuleCategory>> Read(const std::string& rows) {
  return ReadRuleRows(
      {{"texts/phrases.textproto", kPhrase}, {"texts/host.textproto", rows}});
}

std::string MistakeIn(const std::string& rows) {
  const auto categories = Read(rows);
  return categories.ok() ? "" : std::string(categories.status().message());
}

std::string Row(const char* old_text, const char* new_text) {
  return absl::StrReplaceAll(kRow, {{old_text, new_text}});
}

TEST(ReadRuleRowsTest, TakesTheCategoryFromTheFileAndPhrasesAsWords) {
  const auto categories = Read(kRow);
  ASSERT_TRUE(categories.ok()) << categories.status();
  ASSERT_EQ(categories->size(), 2u);
  EXPECT_EQ((*categories)[1].name, "host");
  ASSERT_EQ((*categories)[1].rows.rule_size(), 1);
  const RowText& text = (*categories)[1].rows.rule(0).text();
  EXPECT_EQ(text.fix(), "see the guide");
  EXPECT_EQ(text.source(), "the guide; more");
}

TEST(ReadRuleRowsTest, RefusesARowThatIsNotWhole) {
  for (const char* line :
       {"  scope: NAMESPACE\n", "  level: FAIL\n", "  name: \"port-free\"\n",
        "    title: \"a title\"\n", "    fails_when: \"it fails\"\n",
        "    why: \"a \\\"why\\\"\"\n", "    source: \"{guide}; more\"\n"}) {
    EXPECT_THAT(MistakeIn(Row(line, "")), HasSubstr("missing required fields"))
        << line;
  }
}

TEST(ReadRuleRowsTest, RefusesWhatItDoesNotKnowAndSaysWhere) {
  EXPECT_THAT(MistakeIn(Row("    why:", "    wyh:")),
              HasSubstr("texts/host.textproto:10:8: "));
  EXPECT_THAT(MistakeIn(Row("NAMESPACE", "PLANET")), HasSubstr("PLANET"));
  EXPECT_THAT(MistakeIn(Row("title:", "title: \"one\" title:")),
              HasSubstr("multiple times"));
  const std::string words = " words { name: \"by\" text: \"by\" }";
  EXPECT_EQ(MistakeIn(kRow + words), "");
  EXPECT_THAT(MistakeIn(kRow + words + words),
              HasSubstr("\"by\" have two rows"));
}

TEST(ReadRuleRowsTest, TakesPhrasesIntoPhrasesAndKeepsTheirQuotes) {
  const auto categories =
      Read(absl::StrCat("phrase { name: \"a\" text: 'say \"{guide}\"' }",
                        Row("it fails", "{a}")));
  EXPECT_FALSE(categories.ok()) << "a phrase is known in later files alone";
  const auto rows = ReadRuleRows(
      {{"phrases.textproto",
        absl::StrCat(kPhrase,
                     " phrase { name: \"a\" text: 'say \"{guide}\"' }")},
       {"host.textproto", Row("it fails", "{a}")}});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ((*rows)[1].rows.rule(0).text().fails_when(), "say \"the guide\"");
}

TEST(ReadRuleRowsTest, RefusesPhrasesThatAreMissingOrLeftOver) {
  EXPECT_EQ(MistakeIn(Row("see {guide}", "see {giude}")),
            "texts/host.textproto: rule \"port-free\": no such phrase or "
            "value after a {");
  EXPECT_EQ(MistakeIn(Row("{guide}", "the guide")),
            "phrase {guide} is used by no rule");
}

// The good row with a finding before its text.
std::string RowWith(const char* finding) {
  return Row("  text {",
             absl::StrCat("  finding { ", finding, " }\n  text {").c_str());
}

TEST(ReadRuleRowsTest, NumbersTheValuesOfAFinding) {
  const auto categories =
      Read(absl::StrCat(RowWith("name: \"held\" value: [\"port\", \"by\"] "
                                "level: WARN observed: \"{by} has {port}\" "
                                "fix: \"see {guide}: $x\""),
                        "finding { level: FAIL value: \"all\" "
                        "observed: \"{all}\" }"));
  ASSERT_TRUE(categories.ok()) << categories.status();
  const RuleRows& rows = (*categories)[1].rows;
  EXPECT_EQ(rows.rule(0).finding(0).observed(), "$1 has $0");
  EXPECT_EQ(rows.rule(0).finding(0).fix(), "see the guide: $$x");
  EXPECT_EQ(rows.finding(0).observed(), "$0");
}

constexpr char kCode[] =
    R"(code { name: "EI0006" form: "a|b" meaning: "m" fix: "f" rule: "link"
              source: "{guide}" })";

TEST(ReadRuleRowsTest, TakesCodesWithTheRulesThatNameThem) {
  const std::string rows = Row("  scope:", "  code: \"EI0006\"\n  scope:");
  const auto categories = Read(absl::StrCat(rows, kCode));
  ASSERT_TRUE(categories.ok()) << categories.status();
  const RowCode& code = (*categories)[1].rows.code(0);
  EXPECT_EQ(code.source(), "the guide");
  EXPECT_THAT(code.rule(), testing::ElementsAre("port-free", "link"));
  EXPECT_THAT(CodeTable(*categories), HasSubstr("port-free/link"));
  EXPECT_THAT(CodePage(*categories), HasSubstr("| `a\\|b` |"));
}

TEST(ReadRuleRowsTest, RefusesACodeThatIsNeitherExplainedNorATitle) {
  const auto with = [](const char* text) {
    return MistakeIn(absl::StrCat(kRow, "code { name: \"EI1\" ", text, " }"));
  };
  EXPECT_EQ(with("title: \"t\""), "");
  EXPECT_THAT(with("meaning: \"m\""), HasSubstr("code \"EI1\""));
  EXPECT_THAT(with("title: \"t\" meaning: \"m\" fix: \"f\" source: \"s\""),
              HasSubstr("code \"EI1\""));
  EXPECT_THAT(with("meaning: \"{m\" fix: \"f\" source: \"s\""),
              HasSubstr("no such phrase"));
  EXPECT_THAT(with("title: \"t\" } code { name: \"EI1\" title: \"t\""),
              HasSubstr("two rows"));
}

TEST(RuleTableTest, HasARowWithItsFunctionAndTexts) {
  const std::string table = RuleTable(*Read(kRow));
  EXPECT_THAT(table, HasSubstr("void CheckPortFree(const ClusterView& view, "
                               "RuleReport& report);"));
  EXPECT_THAT(table,
              HasSubstr("{\"port-free\", \"host\", RuleScope::kNamespace,\n"
                        "     FAIL, CheckPortFree,\n"
                        "     {\"a title\",\n      \"it fails\",\n"
                        "      \"a \\\"why\\\"\",\n      \"see the guide\",\n"
                        "      \"fail\",\n      \"the guide; more\",\n"
                        "      \"refuse and drain\",\n      \"allow\",\n"
                        "      \"a plan says it\"},\n"));
  EXPECT_THAT(table, HasSubstr("     {},\n     \"\", \"\", \"\", false, false, "
                               "false, false},"));
}

TEST(RuleTableTest, HasTheFlagsOfARuleAndTheNamesOfWhatFixesIt) {
  const std::pair<const char*, const char*> kLines[] = {
      {"fixed_by: [\"gateway\", \"at boot\"] possible_causes: \"address\"",
       "\"gateway/at boot\", \"address\", \"\", false, false, false, false"},
      {"code: [\"EI1\", \"EI2\"]",
       "\"\", \"\", \"EI1/EI2\", false, false, false, false"},
      {"needs_roce: true", "\"\", \"\", \"\", true, false, false, false"},
      {"needs_job: true", "\"\", \"\", \"\", false, true, false, false"}};
  for (const auto& [line, fields] : kLines) {
    const std::string row = absl::StrCat("  ", line, "\n  text {");
    EXPECT_THAT(RuleTable(*Read(Row("  text {", row.c_str()))),
                HasSubstr(absl::StrCat("     {},\n     ", fields, "},\n")));
  }
}

TEST(RuleTableTest, HasTheFindingsOfARuleBesideIt) {
  const std::string table = RuleTable(
      *Read(RowWith("name: \"held\" level: WARN observed: \"it is held\" "
                    "fix: \"see {guide}\"")));
  EXPECT_THAT(
      table,
      HasSubstr("constexpr RuleFinding kFindingsOfCheckPortFree[] = {\n"
                "    {\"held\",\n      \"\", WARN,\n      {\"it is held\",\n"
                "      \"\",\n      \"\",\n      \"see the guide\",\n"
                "      \"\",\n      \"\"},\n      {"));
  EXPECT_THAT(table, HasSubstr("     kFindingsOfCheckPortFree,\n"));
}

TEST(RuleTableTest, GathersTheFindingsOfAllRules) {
  EXPECT_THAT(RuleTable(*Read(absl::StrCat(
                  kRow, "finding { level: FAIL observed: \"all\" }"))),
              HasSubstr("constexpr RuleFinding kSharedFindings[] = {\n"
                        "    {\"\",\n      \"\", FAIL,\n      {\"all\",\n"));
}

TEST(ReadRuleRowsTest, RefusesAFindingThatIsNotWhole) {
  EXPECT_THAT(MistakeIn(RowWith("level: WARN observed: \"{giude}\"")),
              HasSubstr("no such phrase"));
  EXPECT_THAT(MistakeIn(RowWith("name: \"held\" observed: \"it is\"")),
              HasSubstr("finding[0].level"));
  EXPECT_THAT(MistakeIn(absl::StrCat(
                  kRow, "finding { level: FAIL observed: \"{port}\" }")),
              HasSubstr("no such phrase or value"));
}

// The row in Chinese, and a finding of it.
constexpr char kChinese[] = R"(
rule {
  name: "port-free"
  alone_why: "来自计划"
  text { title: "标题" fails_when: "不通过" why: "原因" fix: "见 {guide}" }
  finding { name: "held" observed: "{by} 占用 {port}" }
}
)";

std::string ChineseMistake(absl::string_view old_text,
                           absl::string_view new_text) {
  const auto categories = ReadRuleRows(
      {{"texts/phrases.textproto", kPhrase},
       {"texts/host.textproto",
        RowWith("name: \"held\" value: [\"port\", \"by\"] level: WARN "
                "observed: \"{by} has {port}\"")},
       {"texts/zh/phrases.textproto",
        "phrase { name: \"guide\" text: \"指南\" }"},
       {"texts/zh/host.textproto",
        absl::StrReplaceAll(kChinese, {{old_text, new_text}})}});
  if (!categories.ok()) return std::string(categories.status().message());
  EXPECT_EQ((*categories)[1].rows.rule(0).chinese().text().fix(), "见 指南");
  EXPECT_EQ((*categories)[1].rows.rule(0).finding(0).chinese().observed(),
            "$1 占用 $0");
  return "";
}

TEST(ReadRuleRowsTest, RefusesATranslationThatIsNotOfItsRow) {
  const struct {
    const char* old_text;
    const char* new_text;
    const char* mistake;
  } kCases[] = {
      {"why: \"原因\"", "", "why is not there in Chinese"},
      {"alone_why: \"来自计划\"", "", "alone_why is not there in Chinese"},
      {"{by} 占用", "占用", "\"held\": observed has other values in Chinese"},
      {"{by}", "{whom}", "\"held\": no such phrase or value after a {"},
      {"observed:", "fix: \"修复\" observed:",
       "\"held\": fix is not there in English"},
      {"\"held\"", "\"hold\"", "expected in this place: \"held\""}};
  EXPECT_EQ(ChineseMistake("x", "x"), "");
  for (const auto& c : kCases) {
    EXPECT_EQ(
        ChineseMistake(c.old_text, c.new_text),
        absl::StrCat("texts/zh/host.textproto: \"port-free\": ", c.mistake));
  }
}

TEST(WordTableTest, HasTheWordsOfValues) {
  EXPECT_THAT(
      WordTable(*ReadRuleRows(
          {{"phrases.textproto",
            "words { name: \"hosts\" value: \"count\" one: \"1 host\" text: "
            "\"{count} hosts\" }"},
           {"texts/zh/phrases.textproto",
            "words { name: \"hosts\" text: \"{count} 台主机\" }"}})),
      HasSubstr("constexpr WordRow kWordRows[] = {\n"
                "    {\"hosts\",\n      \"$0 hosts\",\n      \"1 host\",\n"
                "      "));
}

TEST(RulePageTest, ListsTheRuleAndItsTexts) {
  const std::string page = RulePage(
      *Read(Row("    source:", "    levels: \"fail, mostly\"\n    source:")));
  EXPECT_THAT(page, HasSubstr("| [`port-free`](#port-free) | namespace | fail "
                              "| a title |\n"));
  EXPECT_THAT(page, HasSubstr("## Category host\n\n### port-free\n\n"
                              "- **Fails when**: it fails\n"
                              "- **Level**: fail, mostly\n"));
}

TEST(ReadRuleRowsTest, WantsAReasonForWhatAHostAloneDoes) {
  const char* const why = "  alone_why: \"a plan says it\"\n";
  EXPECT_THAT(MistakeIn(Row(why, "")), HasSubstr("alone_why is missing"));
  const std::string of_all =
      absl::StrReplaceAll(kRow, {{"NAMESPACE", "CLUSTER"}});
  EXPECT_THAT(MistakeIn(of_all), HasSubstr("alone_why is not expected"));
  EXPECT_EQ(MistakeIn(absl::StrReplaceAll(of_all, {{why, ""}})), "");
}

}  // namespace
}  // namespace clusterd
