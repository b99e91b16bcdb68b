#include "config/rules/catalogue.h"

#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "config/values/nearest_word.h"
#include "config/words/state_word.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
    // It fits into one line under a heading.
    EXPECT_LE(TextColumns(rule.english.title), 72) << rule.name;
    EXPECT_LE(TextColumns(rule.chinese.title), 72) << rule.name;
  }
}

TEST(RuleCatalogueTest, NamesEachFindingOfARuleOnce) {
  std::set<absl::string_view> shared;
  for (const RuleFinding& finding : SharedFindings()) {
    EXPECT_TRUE(!finding.name.empty() && shared.insert(finding.name).second)
        << finding.name;
  }
  for (const Rule& rule : RuleCatalogue()) {
    std::set<absl::string_view> names = shared;
    for (const RuleFinding& finding : rule.findings) {
      EXPECT_EQ(names.count(""), 0u) << rule.name << ": none stands last";
      EXPECT_TRUE(names.insert(finding.name).second)
          << rule.name << ": " << finding.name;
    }
  }
}

TEST(RuleCatalogueTest, SaysTheRowsLevelInWords) {
  for (const Rule& rule : RuleCatalogue()) {
    EXPECT_THAT(std::string(rule.english.level),
                testing::HasSubstr(StateWord(rule.level)))
        << rule.name;
  }
}

TEST(RuleCatalogueTest, IsThePageForPeople) {
  const std::string made = ReadFile("config/rules/texts/rules.md");
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made == ReadFile("config/rules/README.md"))
      << "config/rules/README.md is not what the rules are now. Write it anew:"
         "\n  bazel build //config/rules/texts:page && cp "
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

TEST(RuleCatalogueTest, NamesRulesInLowerCaseWordsOnce) {
  std::set<absl::string_view> names;
  for (const Rule& rule : RuleCatalogue()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    for (const char c : rule.name) {
      EXPECT_TRUE(absl::ascii_islower(c) || c == '-') << rule.name;
    }
  }
}

TEST(RuleCatalogueTest, KeepsTheNamesThatUsersType) {
  const std::set<std::string> promised = {
      "ports-reserved",      "ports-free",
      "listen-backlog",      "syn-backlog",
      "sysctl-persistent",   "firewall",
      "hccn-tool",           "device-count",
      "hccn-conf",           "device-ip-set",
      "device-ip-planned",   "device-ip-persistent",
      "device-ip-allowed",   "gateway",
      "detect-address",      "link",
      "net-health",          "lldp",
      "subnet-pairs",        "subnet-distinct",
      "subnet-across-hosts", "subnet-shared",
      "ip-unique",           "ip-host-part",
      "netmask-uniform",     "tls-uniform",
      "mtu-uniform",         "version-uniform",
      "cluster-size",        "cluster-size-power",
      "host-identity",       "drift",
      "gateway-persistent",  "detect-address-persistent",
      "mtu-persistent",      "tls-persistent",
      "pfc-persistent",      "dscp-persistent",
      "tls-certificates",    "roce-port-persistent",
      "lldp-rail",           "speed-uniform",
      "subnet-superpod"};
  for (const std::string& name : promised) {
    EXPECT_NE(FindRule(name), nullptr) << name;
  }
  EXPECT_GE(RuleCatalogue().size(), promised.size());
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

TEST(FindRuleTest, FindsByWholeNameOnly) {
  ASSERT_NE(FindRule("link"), nullptr);
  EXPECT_EQ(FindRule("link")->name, "link");
  EXPECT_EQ(FindRule("lin"), nullptr);
  EXPECT_EQ(FindRule(""), nullptr);
}

TEST(RuleNamesTest, HaveTheOneThatWasMeant) {
  EXPECT_EQ(NearestWord("ports-reserve", RuleNames()), "ports-reserved");
  EXPECT_EQ(NearestWord("net-helth", RuleNames()), "net-health");
  EXPECT_EQ(NearestWord("weather", RuleNames()), "");
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
  EXPECT_THAT(ReadFile("deploy/slurm/README.md"), testing::HasSubstr(table))
      << "deploy/slurm/README.md is not what the rules are now, expected:\n"
      << table;
  // Those hooks never ask the controller (config/launch/hook_table.h).
  EXPECT_THAT(ReadFile("deploy/slurm/README.md"),
              testing::HasSubstr("`HealthCheckProgram` and `Epilog` judge this "
                                 "node alone, also while the controller is"));
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

TEST(SelectStepsTest, TakesKindsAndRulesThatStepsMend) {
  const auto selection =
      SelectSteps({"firewall", "gateway", "listen-backlog", "hccn-conf"});
  ASSERT_TRUE(selection.ok()) << selection.status();
  EXPECT_THAT(selection->words,
              testing::ElementsAre("firewall", "gateway", "listen-backlog",
                                   "hccn-conf"));
  EXPECT_THAT(selection->kinds,
              testing::ElementsAre(CHANGE_FIREWALL, CHANGE_HCCN_CONF));
  EXPECT_THAT(selection->settings,
              testing::ElementsAre("gateway", "net.core.somaxconn"));
  EXPECT_TRUE(SelectSteps({})->words.empty());
}

TEST(SelectStepsTest, NamesTheNearestForEachWordThatNoStepIsOf) {
  const absl::Status refused =
      SelectSteps({"sysclt", "link", "sysctl", "ssh-login", "gatewya"})
          .status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(),
            "only: \"sysclt\" is not a kind of change that plans have, or a "
            "rule that a step fixes, did you mean \"sysctl\"?\n"
            "only: \"link\" is not a kind of change that plans have, or a rule "
            "that a step fixes\n"
            "only: \"ssh-login\" is not a kind of change that plans have, or a "
            "rule that a step fixes\n"
            "only: \"gatewya\" is not a kind of change that plans have, or a "
            "rule that a step fixes, did you mean \"gateway\"?");
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
