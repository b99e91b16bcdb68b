// Clusterctl in Chinese; JSON and the like are the same in every language.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/rules/finding_words.h"
#include "config/words/message.h"
#include "config/words/terminal.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

using Arguments = std::vector<std::string>;

// The text has a Chinese character.
bool IsChinese(absl::string_view text) {
  return absl::c_any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xe4 && byte <= 0xe9;  // From U+4000 to U+9FFF.
  });
}

ProgramOutput RunInChinese(const Arguments& arguments,
                           ProgramWorld world = ProgramWorld()) {
  world.environment["CLUSTERD_LANG"] = "zh";
  return RunProgram(arguments, world);
}

std::string HelpOf(Arguments command, bool in_chinese) {
  command.insert(command.begin(), "help");
  return (in_chinese ? RunInChinese(command) : RunProgram(command)).out;
}

TEST(ChineseHelpTest, HasATitleAndEveryOptionOfEveryCommand) {
  EXPECT_GT(EveryCommand().size(), 35u);
  EXPECT_THAT(RunInChinese({"--help"}).out, Not(HasSubstr("Subcommands:")));
  for (const Arguments& command : EveryCommand()) {
    const std::string help = HelpOf(command, true);
    const std::string name = absl::StrJoin(command, " ");
    EXPECT_TRUE(IsChinese(help.substr(0, help.find('\n')))) << name;
    for (const char* word :
         {"Usage", "Options:", "Positionals", "REQUIRED", "Connection:"}) {
      EXPECT_THAT(help, Not(HasSubstr(word))) << name;
    }
    // An option begins a line; its text follows it or is below.
    const std::vector<std::string> lines = absl::StrSplit(help, '\n');
    for (size_t i = 0; i + 1 < lines.size(); ++i) {
      if (!absl::StartsWith(lines[i], "  -")) continue;
      EXPECT_TRUE(IsChinese(lines[i]) || IsChinese(lines[i + 1]))
          << name << ": " << lines[i];
    }
  }
}

TEST(ChineseHelpTest, HasTheExamplesOfTheEnglishOne) {
  const auto examples = [](const std::string& help) {
    std::vector<std::string> found;
    for (absl::string_view line : absl::StrSplit(help, '\n')) {
      if (!absl::StartsWith(line, "  clusterctl ")) continue;
      line = line.substr(0, line.find(" #"));
      found.emplace_back(absl::StripAsciiWhitespace(line));
    }
    return found;
  };
  for (const Arguments& command : EveryCommand()) {
    EXPECT_EQ(examples(HelpOf(command, true)), examples(HelpOf(command, false)))
        << absl::StrJoin(command, " ");
  }
}

TEST(ChineseHelpTest, LinesUpTextsByColumns) {
  const std::string help = HelpOf({"hook"}, true);
  const size_t text = help.find("要运行的 hook");
  ASSERT_NE(text, help.npos);
  const size_t line = help.rfind('\n', text) + 1;
  EXPECT_EQ(TextColumns(help.substr(line, text - line)), 30) << help;
}

TEST(ChineseHelpTest, TakesNoMoreThanEightyColumns) {
  for (const Arguments& command : EveryCommand()) {
    for (const absl::string_view line :
         absl::StrSplit(HelpOf(command, true), '\n')) {
      EXPECT_LE(TextColumns(line), 80)
          << absl::StrJoin(command, " ") << ": " << line;
    }
  }
}

TEST(LanguageOptionTest, GoesBeforeTheEnvironmentAndIsOneOfTwo) {
  EXPECT_EQ(RunProgram({"help", "check", "--lang", "zh"}).out,
            HelpOf({"check"}, true));
  EXPECT_EQ(RunInChinese({"help", "check", "--lang", "en"}).out,
            HelpOf({"check"}, false));
  EXPECT_THAT(RunProgram({"explain", "--lang", "de"}),
              Ends(3, Err(HasSubstr("\"de\" is not known, expected en, zh"))));
}

TEST(LanguageOptionTest, IsEnglishAndAsciiWhereTheLocaleIsNotUtf8) {
  ProgramWorld world;
  world.environment["LC_ALL"] = "zh_CN.GB18030";
  for (const char c :
       RunInChinese({"explain", "link", "--lang", "zh"}, world).out) {
    EXPECT_GT(static_cast<signed char>(c), 0);
  }
}

// A cluster with a DOWN link, and a host with a missing fact, as judged.
ProgramWorld BrokenWorld() {
  TestCluster cluster("atlas-training");
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  SetMissing(Missing::NOT_PERMITTED, "open /proc/sys/net/core/somaxconn",
             cluster.facts[1].mutable_kernel()->mutable_somaxconn());
  ProgramWorld world;
  *world.script.spec.mutable_spec() = cluster.spec;
  world.script.check_events = {EventOf(cluster.MakeReport())};
  return world;
}

TEST(ChineseCheckTest, SaysWhatWasFoundAndWhatToDo) {
  const ProgramOutput output = RunInChinese({"check"}, BrokenWorld());
  EXPECT_EQ(output.status, 1);
  for (const char* text :
       {"× 不通过", "link", "server0 设备 3", "实测", "期望", "影响", "修复",
        "hccn_tool -i 3 -link_stat -g", "没有权限：open /proc/sys",
        "详情：clusterctl explain link", "待修复项", "不通过：", "台主机"}) {
    EXPECT_THAT(output.out, HasSubstr(text));
  }
  for (const char* text : {"found ", "expected", "Repairs", "Hosts"}) {
    EXPECT_THAT(output.out, Not(HasSubstr(text)));
  }
}

TEST(ChineseCheckTest, TranslatesEveryHeadingOfMarkdown) {
  const ProgramOutput output =
      RunInChinese({"check", "-o", "markdown"}, BrokenWorld());
  int headings = 0;
  for (const absl::string_view line : absl::StrSplit(output.out, '\n')) {
    if (line.substr(0, 2) != "##") continue;
    ++headings;
    EXPECT_TRUE(IsChinese(line)) << line;
  }
  EXPECT_GE(headings, 3) << output.out;
  EXPECT_THAT(output.out, HasSubstr("### 待修复，最严重的在前\n"));
}

TEST(ChineseCheckTest, SaysWhyAHostIsSilent) {
  TestCluster cluster("atlas-training");
  HostFacts& facts = cluster.facts[1];
  const std::string host = facts.host();
  facts.Clear();
  facts.set_host(host);
  facts.mutable_missing()->set_reason(Missing::NO_ANSWER);
  SetDetail(Worded("msg-hub-never-attached"), facts.mutable_missing());
  ProgramWorld world;
  *world.script.spec.mutable_spec() = cluster.spec;
  world.script.check_events = {EventOf(cluster.MakeReport())};
  const std::string json = RunProgram({"check", "-o", "json"}, world).out;
  EXPECT_THAT(json, HasSubstr("never attached"));
  EXPECT_EQ(RunInChinese({"check", "-o", "json"}, world).out, json);
  const std::string table = RunInChinese({"check"}, world).out;
  EXPECT_THAT(table, HasSubstr("无应答：自此控制器启动以来从未连接"));
  EXPECT_THAT(table, Not(HasSubstr("never attached")));
}

TEST(ChineseCheckTest, PrintsTheSameForProgramsInBothLanguages) {
  for (const char* format : {"json", "yaml", "jsonl", "junit"}) {
    const ProgramOutput english =
        RunProgram({"check", "-o", format}, BrokenWorld());
    EXPECT_FALSE(IsChinese(english.out));
    EXPECT_EQ(RunInChinese({"check", "-o", format}, BrokenWorld()).out,
              english.out)
        << format;
  }
  const std::string file = TestFile("kept.json", "");
  RunInChinese({"check", "--report", file}, BrokenWorld());
  EXPECT_FALSE(IsChinese(FileContent(file)));
}

TEST(ChineseMistakesTest, AreInChineseForPeopleAndUnchangedForPrograms) {
  const std::string old = TestFile("old.yaml", "");
  for (const Arguments& line : std::vector<Arguments>{
           {"chekc"},
           {"check", "--onyl", "link", "-o", "json"},
           {"check", "--report"},
           {"check", "--all=x"},
           {"check", "--only", "", "-ojson"},
           {"check", "--only", "lnk,weather", "-ojson"},
           {"check", "node[1-", "-ojson"},
           {"check", "--netns", "contaner:train-1", "-ojson"},
           {"check", "--only", "link", "--skip", "link", "-ojson"},
           {"plan", "--only", "sysclt,link"},
           {"config"},
           {"describe"},
           {"describe", "a", "b"},
           {"check", "nowhere", "-x", "@a", "-o", "json"},
           {"check", "--wait", "1s", "--watch", "1s", "-o", "json"},
           {"check", "--max-age", "1h", "-o", "json"},
           {"check", "--local", "--only", "link", "-o", "json"},
           {"check", "--watch", "2s", "-o", "junit"},
           {"check", "-o", "xml"},
           {"plan", "--out", "-", "-o", "json"},
           {"plan", "-o", "html"},
           {"apply", "-o", "json"},
           {"apply", "a.json", "--abort", "3fa2c4d5", "-o", "json"},
           {"apply", "--no-confirm", "--auto-confirm", "-o", "json"},
           {"rollback", "x", "-o", "json"},
           {"hosts", "--forget", "a,b", "-o", "json"},
           {"history", "-o", "short"},
           {"explain", "nothing"},
           {"explain", "EI9999"},
           {"help", "chekc"},
           {"logs", "--bytes", "x", "-o", "json"},
           {"config", "import", old, "--out", old}}) {
    const std::string text = absl::StrJoin(line, " ");
    const ProgramOutput english = RunProgram(line);
    const ProgramOutput chinese = RunInChinese(line);
    EXPECT_EQ(chinese.status, 3) << text;
    EXPECT_EQ(english.status, 3) << text;
    EXPECT_EQ(chinese.out, english.out) << text;
    EXPECT_FALSE(IsChinese(english.err)) << english.err;
    // A document for programs may stand there if stdout is the plan's.
    const std::string words = chinese.err.substr(0, chinese.err.find("{\n"));
    EXPECT_EQ(chinese.err.substr(words.size()),
              english.err.substr(
                  std::min(english.err.find("{\n"), english.err.size())))
        << text;
    for (const absl::string_view said :
         absl::StrSplit(words, '\n', absl::SkipEmpty())) {
      EXPECT_TRUE(IsChinese(said)) << said;
    }
  }
}

TEST(ChineseExplainTest, SaysOfEveryRuleWhatItIs) {
  const std::string link = RunInChinese({"explain", "link"}).out;
  for (const char* key : {"含义", "不通过条件", "级别", "修复", "来源"}) {
    EXPECT_THAT(link, HasSubstr(key));
  }
  for (const Rule& rule : RuleCatalogue()) {
    EXPECT_TRUE(
        IsChinese(RunInChinese({"explain", std::string(rule.name)}).out))
        << rule.name;
  }
}

}  // namespace
}  // namespace clusterd
