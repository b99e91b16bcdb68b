#include "daemon/agent/hooks/hook_settings.h"

#include <string>

#include "config/rules/catalogue.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Reads a file whose only key is `hooks`.
HookSettings Read(absl::string_view text, Mistakes* mistakes) {
  const auto tree = ParseYaml(text, YamlLimits(), mistakes);
  if (!tree) return HookSettings();
  const YamlMap map(&*tree, "", {"hooks"}, mistakes);
  return ReadHookSettings(map["hooks"]);
}

TEST(ReadHookSettingsTest, ReadsEveryKey) {
  Mistakes mistakes("agent.yaml");
  const HookSettings settings = Read(R"(hooks:
  drain: false
  max_age: 3m
  grace: 5s
  fail_open: [lldp, optics]
  fail_closed: [firewall]
  fail_closed_unknown: [link]
  scontrol: /opt/slurm/bin/scontrol
  slurm_conf: /opt/slurm/etc/slurm.conf
)",
                                     &mistakes);
  EXPECT_TRUE(mistakes.empty()) << mistakes.ToStatus();
  EXPECT_FALSE(settings.drain);
  EXPECT_EQ(settings.max_age, absl::Minutes(3));
  EXPECT_EQ(settings.grace, absl::Seconds(5));
  EXPECT_THAT(settings.fail_open, ElementsAre("lldp", "optics"));
  EXPECT_THAT(settings.fail_closed, ElementsAre("firewall"));
  EXPECT_THAT(settings.fail_closed_unknown, ElementsAre("link"));
  EXPECT_EQ(settings.scontrol, "/opt/slurm/bin/scontrol");
  EXPECT_EQ(settings.slurm_conf, "/opt/slurm/etc/slurm.conf");
}

TEST(ReadHookSettingsTest, HasDefaultsWithoutTheKey) {
  Mistakes mistakes("agent.yaml");
  const HookSettings settings =
      ReadHookSettings(YamlValue(nullptr, "hooks", &mistakes));
  EXPECT_TRUE(mistakes.empty()) << mistakes.ToStatus();
  EXPECT_TRUE(settings.drain);
  EXPECT_EQ(settings.max_age, absl::Minutes(10));
  EXPECT_EQ(settings.scontrol, "/usr/bin/scontrol");
  EXPECT_EQ(settings.slurm_conf, "");
  EXPECT_TRUE(settings.fail_open.empty());
}

TEST(ReadHookSettingsTest, TellsEveryMistakeAtOnce) {
  Mistakes mistakes("agent.yaml");
  Read(R"(hooks:
  drian: true
  max_age: 3 days
  fail_open: [lnik, hccs]
  fail_closed: hccs
  fail_closed_unknown: [hccs]
  scontrol: scontrol
)",
       &mistakes);
  EXPECT_THAT(std::string(mistakes.ToStatus().message()),
              AllOf(HasSubstr("agent.yaml:2:3: "), HasSubstr("\"drain\""),
                    HasSubstr("agent.yaml:3:12: hooks.max_age"),
                    HasSubstr("\"lnik\""), HasSubstr("\"link\""),
                    HasSubstr("agent.yaml:5:16: hooks.fail_closed"),
                    HasSubstr("expected a list of rules"),
                    HasSubstr(Say("msg-hook-fail-open-and-closed",
                                  "hooks.fail_open", "hccs")),
                    HasSubstr(Say("msg-spec-not-absolute", "hooks.scontrol",
                                  "\"scontrol\""))));
}

TEST(HookRulesTest, AreThoseOfTheRows) {
  EXPECT_TRUE(HoldsAlone("link") && !IsOfJob("link"));
  EXPECT_TRUE(HoldsAlone("maintenance") && IsOfJob("maintenance"));
  EXPECT_TRUE(!HoldsAlone("rank-table") && IsOfJob("rank-table"));
  EXPECT_TRUE(!HoldsAlone("verdict") && !IsOfJob("verdict"));
  EXPECT_EQ(ReturnOf("link"), Return::kByItself);
  EXPECT_EQ(ReturnOf("hccn-conf"), Return::kByController);
  EXPECT_EQ(ReturnOf("ip-unique"), Return::kByHand);
}

}  // namespace
}  // namespace clusterd
