#include "config/rules/catalogue.h"

#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/nearest_word.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/state_word.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file),
                     std::istreambuf_iterator<char>());
}

TEST(RuleCatalogueTest, TellsEverythingAboutEveryRuleInBothLanguages) {
  for (const Rule& rule : RuleCatalogue()) {
    EXPECT_NE(rule.check, nullptr) << rule.name;
    for (const RuleText* text : {&rule.english, &rule.chinese}) {
      for (const absl::string_view part :
           {text->title, text->fails_when, text->why, text->fix, text->level,
            text->source, text->with_controller, text->alone,
            text->alone_why}) {
        EXPECT_FALSE(part.empty()) << rule.name;
      }
    }
    EXPECT_THAT(std::string(rule.english.level),
                testing::HasSubstr(StateWord(rule.level)))
        << rule.name;
    // It fits into one line under a heading.
    EXPECT_LE(TextColumns(rule.english.title), 72) << rule.name;
    EXPECT_LE(TextColumns(rule.chinese.title), 72) << rule.name;
  }
}

TEST(RuleCatalogueTest, NamesEachRuleAndEachFindingOfARuleOnce) {
  std::set<absl::string_view> shared;
  for (const RuleFinding& finding : SharedFindings()) {
    EXPECT_TRUE(!finding.name.empty() && shared.insert(finding.name).second)
        << finding.name;
  }
  std::set<absl::string_view> rules;
  for (const Rule& rule : RuleCatalogue()) {
    EXPECT_TRUE(rules.insert(rule.name).second) << rule.name;
    for (const char c : rule.name) {
      EXPECT_TRUE(absl::ascii_islower(c) || c == '-') << rule.name;
    }
    std::set<absl::string_view> names = shared;
    for (const RuleFinding& finding : rule.findings) {
      EXPECT_EQ(names.count(""), 0u) << rule.name << ": none stands last";
      EXPECT_TRUE(names.insert(finding.name).second)
          << rule.name << ": " << finding.name;
    }
  }
}

// All texts of the rule and its findings, but for what is observed.
std::string ProseOf(const Rule& rule) {
  std::string texts = absl::StrCat(rule.english.title, rule.english.fails_when,
                                   rule.english.why, rule.english.fix);
  for (const RuleFinding& finding : rule.findings) {
    absl::StrAppend(&texts, finding.english.why, finding.english.fix);
  }
  return texts;
}

TEST(RuleCatalogueTest, HasTheCodesAndTheCommandsThatItsTextsName) {
  static const LazyRE2 kCode = {R"(\b(E[A-Z]\d{4}|[25]07\d{3})\b)"};
  for (const Rule& rule : RuleCatalogue()) {
    const std::vector<std::string> codes =
        absl::StrSplit(rule.codes, '/', absl::SkipEmpty());
    const std::string texts = ProseOf(rule);
    for (const std::string& code : codes) {
      EXPECT_THAT(texts, testing::HasSubstr(code)) << rule.name;
      EXPECT_NE(ErrorCodeMeaning(code), "") << rule.name;
    }
    re2::StringPiece rest(texts);
    std::string code;
    while (RE2::FindAndConsume(&rest, *kCode, &code)) {
      EXPECT_THAT(codes, testing::Contains(code)) << rule.name;
    }
    for (const RuleFinding& finding : rule.findings) {
      EXPECT_EQ(absl::StrContains(finding.english.fix, "hccn_tool -i "),
                finding.fix_names_tool)
          << rule.name << " " << finding.name;
    }
  }
}

TEST(RuleCatalogueTest, IsThePageForPeople) {
  const std::string made = ReadFile("config/rules/texts/rules.md");
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made == ReadFile("config/rules/README.md"))
      << "bazel build //config/rules/texts:page && cp "
         "bazel-bin/config/rules/texts/rules.md config/rules/README.md";
}

TEST(RuleTest, NeedsWhatItsScopeSays) {
  const Rule& port = *FindRule("ports-free");
  EXPECT_TRUE(port.JudgesOneHost() && port.JudgesNamespaces());
  const Rule& link = *FindRule("link");
  EXPECT_TRUE(link.JudgesOneHost() && !link.JudgesNamespaces());
  const Rule& unique = *FindRule("ip-unique");
  EXPECT_TRUE(!unique.JudgesOneHost() && unique.JudgesHosts());
  EXPECT_FALSE(FindRule("cluster-size")->JudgesHosts());
  EXPECT_FALSE(FindRule("cluster-size")->JudgesOneHost());
  const Rule& dtype = *FindRule("job-dtype");
  EXPECT_TRUE(dtype.JudgesOneHost() && !dtype.JudgesHosts());
  const Rule& identity = *FindRule("host-identity");
  EXPECT_TRUE(!identity.JudgesOneHost() && identity.JudgesNamespaces());
}

TEST(RuleCatalogueTest, KeepsTheNamesThatUsersType) {
  for (const absl::string_view name : absl::StrSplit(
           "ports-reserved ports-free listen-backlog syn-backlog "
           "sysctl-persistent firewall hccn-tool device-count hccn-conf "
           "device-ip-set device-ip-planned device-ip-persistent "
           "device-ip-allowed gateway detect-address link net-health lldp "
           "subnet-pairs subnet-distinct subnet-across-hosts subnet-shared "
           "ip-unique ip-host-part netmask-uniform tls-uniform mtu-uniform "
           "version-uniform cluster-size cluster-size-power host-identity "
           "drift gateway-persistent detect-address-persistent mtu-persistent "
           "tls-persistent pfc-persistent dscp-persistent tls-certificates "
           "roce-port-persistent lldp-rail speed-uniform subnet-superpod",
           ' ')) {
    EXPECT_NE(FindRule(name), nullptr) << name;
  }
}

TEST(RuleCatalogueTest, KeepsTheRulesOfACategoryTogether) {
  std::vector<std::string> categories;
  for (const Rule& rule : RuleCatalogue()) {
    if (categories.empty() || categories.back() != rule.category) {
      categories.emplace_back(rule.category);
    }
  }
  EXPECT_THAT(categories, testing::ElementsAre("host", "device", "health",
                                               "address", "cluster", "job"));
}

TEST(FindRuleTest, FindsByWholeNameOnlyAndNamesTheNearest) {
  ASSERT_NE(FindRule("link"), nullptr);
  EXPECT_EQ(FindRule("link")->name, "link");
  for (const auto& [wrong, meant] :
       {std::pair("ports-reserve", "ports-reserved"),
        std::pair("net-helth", "net-health"), std::pair("weather", "")}) {
    EXPECT_EQ(FindRule(wrong), nullptr);
    EXPECT_EQ(NearestWord(wrong, RuleNames()), meant);
  }
  EXPECT_EQ(FindRule(""), nullptr);
  EXPECT_EQ(NearestWord(std::string(100000, 'x'), RuleNames()), "");
}

// The table of deploy/slurm/README.md: hooks' actions for rules that may fail.
TEST(RuleCatalogueTest, IsTheTableOfHooks) {
  std::string table =
      "| rule | controller there | controller away | why "
      "|\n|---|---|---|---|\n";
  for (const Rule& rule : RuleCatalogue()) {
    if (rule.english.with_controller == "allow") continue;
    table += "| `" + std::string(rule.name) + "` | " +
             std::string(rule.english.with_controller) + " | " +
             std::string(rule.english.alone) + " | " +
             std::string(rule.english.alone_why) + " |\n";
  }
  const std::string page = ReadFile("deploy/slurm/README.md");
  EXPECT_THAT(page, testing::HasSubstr(table));
  // Those hooks never ask the controller (config/launch/hook_table.h).
  EXPECT_THAT(page, testing::HasSubstr("`HealthCheckProgram` and `Epilog` "));
}

TEST(RuleTest, HoldsAloneOnlyWhereOneHostCanTell) {
  for (const Rule& rule : RuleCatalogue()) {
    if (rule.holds_alone) {
      EXPECT_TRUE(rule.JudgesOneHost()) << rule.name;
    }
    EXPECT_FALSE(rule.english.alone_why.empty()) << rule.name;
  }
  EXPECT_EQ(FindRule("link")->english.alone, "refuse and drain");
  EXPECT_EQ(FindRule("hccn-conf")->english.alone, "in part: refuse and drain");
  EXPECT_EQ(FindRule("firewall")->english.alone, "allow");
  EXPECT_EQ(FindRule("rank-table")->english.with_controller, "refuse");
  EXPECT_EQ(FindRule("optics")->english.with_controller, "allow");
}

TEST(SelectStepsTest, TakesKindsAndRulesThatStepsFix) {
  const auto selection =
      SelectSteps({"firewall", "gateway", "listen-backlog", "hccn-conf"});
  ASSERT_TRUE(selection.ok()) << selection.status();
  EXPECT_THAT(selection->words,
              testing::ElementsAre("firewall", "gateway", "listen-backlog",
                                   "hccn-conf"));
  EXPECT_THAT(selection->kinds,
              testing::ElementsAre(CHANGE_FIREWALL, CHANGE_HCCN_CONF));
  EXPECT_THAT(selection->settings, testing::ElementsAre(SETTING_GATEWAY));
  EXPECT_THAT(selection->kernel_parameters,
              testing::ElementsAre("net.core.somaxconn"));
  EXPECT_TRUE(SelectSteps({})->words.empty());
}

TEST(SelectStepsTest, NamesTheNearestForEachWordThatNoStepIsOf) {
  const auto refused = [](const char* word, const FindingValue& nearest) {
    return Worded("msg-plan-only", word, nearest);
  };
  EXPECT_EQ(
      SelectSteps({"sysclt", "link", "sysctl", "ssh-login", "gatewya"})
          .status(),
      WithWords(
          absl::InvalidArgumentError(""),
          Lines({refused("sysclt", Worded("did-you-mean", "sysctl")),
                 refused("link", {}), refused("ssh-login", {}),
                 refused("gatewya", Worded("did-you-mean", "gateway"))})));
}

TEST(StepWordsTest, AreTheKindsOfPlansAndNoOthers) {
  const std::vector<std::string> words = StepWords();
  EXPECT_THAT(words, testing::IsSupersetOf({"sysctl", "device-address",
                                            "firewall", "tls", "hccn-conf",
                                            "mtu-persistent", "drift"}));
  for (const char* word : {"observe", "logs", "ssh-login", "link"}) {
    EXPECT_THAT(words, testing::Not(testing::Contains(word)));
  }
}

}  // namespace
}  // namespace clusterd
