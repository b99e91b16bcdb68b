#include "daemon/agent/apply/veto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "config/spec/yaml_document.h"
#include "config/values/change_kind.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

// "observe,sysctl".
std::string Allowed(const HostAllows& allows) {
  return absl::StrJoin(allows.kinds(), ",");
}

HostPlan PlanOf(const std::vector<ChangeKind>& kinds) {
  HostPlan plan;
  plan.set_host("node-07");
  for (const ChangeKind kind : kinds) {
    PlanStep* step = plan.add_steps();
    step->set_id(plan.steps_size());
    step->set_kind(kind);
  }
  return plan;
}

absl::StatusOr<HostAllows> Parse(const std::string& yaml) {
  Mistakes mistakes("agent.yaml");
  const auto root = ParseYaml(yaml, YamlLimits(), &mistakes);
  if (!root) return mistakes.ToStatus();
  const YamlMap map(&*root, "", {"controller", "allow"}, &mistakes);
  const HostAllows allows = ReadAllows(map, &mistakes);
  if (!mistakes.empty()) return mistakes.ToStatus();
  return allows;
}

TEST(VetoTest, AllowsNothingThatIsNotSaid) {
  for (const ChangeKind kind : AllChangeKinds()) {
    EXPECT_EQ(CheckAllowed(PlanOf({kind}), AllowsOnly({CHANGE_OBSERVE})).ok(),
              kind == CHANGE_OBSERVE);
  }
  EXPECT_FALSE(
      CheckAllowed(PlanOf({CHANGE_KIND_UNSPECIFIED}), HostAllows()).ok());
}

TEST(VetoTest, RefusesInTheUsersLanguage) {
  const absl::Status refused =
      CheckAllowed(PlanOf({CHANGE_TLS}), AllowsOnly({CHANGE_OBSERVE}));
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(ValueText(MessageWords(refused))
                .find("该主机不允许 tls（步骤 1）；该主机允许 observe"),
            0u);
}

TEST(VetoTest, ReadsTheListAndAllowsOnlyObservingWithoutTheKey) {
  EXPECT_EQ(Allowed(*Parse("controller: head:7443\n")), "observe");
  EXPECT_EQ(Allowed(*Parse("allow: [observe, sysctl, device-address]\n")),
            "observe,sysctl,device-address");
  EXPECT_EQ(Allowed(*Parse("allow: [sysctl]\n")), "sysctl");
}

TEST(VetoTest, RefusesAMistypedWordWithItsPlaceAndTheNearest) {
  const auto allows = Parse("allow: [observe, sysctls]\nalow: 1\n");
  ASSERT_FALSE(allows.ok());
  EXPECT_THAT(allows, Fails(absl::StatusCode::kInvalidArgument,
                            HasText("agent.yaml:1:18")));
  EXPECT_THAT(allows.status(), HasText("did you mean \"sysctl\""));
  EXPECT_THAT(allows.status(), HasText("agent.yaml:2:1"));
}

TEST(VetoTest, RefusesATextInPlaceOfAList) {
  EXPECT_FALSE(Parse("allow: sysctl\n").ok());
  EXPECT_FALSE(Parse("[allow]\n").ok());
}

// Says what is allowed, and how to allow these kinds.
std::string Refusal(const std::string& steps, const HostAllows& allows,
                    const std::set<ChangeKind>& kinds) {
  return Say("msg-step-not-allowed", steps, WhatIsAllowed(allows),
             HowToAllow(allows, kinds));
}

TEST(VetoTest, NamesKindsStepsAndWhatToWriteWhere) {
  const HostAllows allows = AllowsOnly({CHANGE_OBSERVE, CHANGE_SYSCTL});
  EXPECT_TRUE(CheckAllowed(PlanOf({CHANGE_SYSCTL}), allows).ok());
  const absl::Status status = CheckAllowed(
      PlanOf({CHANGE_SYSCTL, CHANGE_FIREWALL, CHANGE_TLS, CHANGE_FIREWALL}),
      allows);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(
      status.message(),
      Refusal("firewall (step 2,4), tls (step 3)", allows,
              {CHANGE_OBSERVE, CHANGE_SYSCTL, CHANGE_FIREWALL, CHANGE_TLS}));
}

TEST(VetoTest, NamesTheFileThatIsReadAndItsMistake) {
  HostAllows allows = AllowsOnly({CHANGE_OBSERVE});
  allows.set_file("/srv/own.yaml");
  const auto check = [&allows] {
    EXPECT_EQ(
        CheckAllowed(PlanOf({CHANGE_SYSCTL}), allows).message(),
        Refusal("sysctl (step 1)", allows, {CHANGE_OBSERVE, CHANGE_SYSCTL}));
  };
  check();
  allows.set_mistake("/srv/own.yaml:1:18: allow is \"sysctll\"");
  check();
}

}  // namespace
}  // namespace clusterd
