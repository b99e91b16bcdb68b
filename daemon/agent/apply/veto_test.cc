#include "daemon/agent/apply/veto.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "config/spec/yaml_document.h"

namespace clusterd {
namespace {

// "observe, sysctl".
std::string Allowed(const Veto& veto) {
  return absl::StrJoin(veto.ToHostAllows().kinds(), ", ");
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

absl::StatusOr<Veto> Parse(const std::string& yaml) {
  Mistakes mistakes("agent.yaml");
  const auto root = ParseYaml(yaml, YamlLimits(), &mistakes);
  if (!root) return mistakes.ToStatus();
  const YamlMap map(&*root, "", {"controller", "allow"}, &mistakes);
  const Veto veto = Veto::Read(map, &mistakes);
  if (!mistakes.empty()) return mistakes.ToStatus();
  return veto;
}

TEST(VetoTest, AllowsOnlyObservingWithoutAFile) {
  EXPECT_TRUE(Veto().Allows(CHANGE_OBSERVE));
  for (const ChangeKind kind :
       {CHANGE_SYSCTL, CHANGE_DEVICE_ADDRESS, CHANGE_FIREWALL, CHANGE_TLS,
        CHANGE_HCCN_CONF, CHANGE_KIND_UNSPECIFIED}) {
    EXPECT_FALSE(Veto().Allows(kind));
  }
}

TEST(VetoTest, AllowsOnlyObservingWithoutTheKey) {
  const auto veto = Parse("controller: head:7443\n");
  ASSERT_TRUE(veto.ok()) << veto.status();
  EXPECT_EQ(Allowed(*veto), "observe");
}

TEST(VetoTest, ReadsTheListAndNothingMoreThanItNames) {
  const auto veto = Parse("allow: [observe, sysctl, device-address]\n");
  ASSERT_TRUE(veto.ok()) << veto.status();
  EXPECT_TRUE(veto->Allows(CHANGE_SYSCTL));
  EXPECT_TRUE(veto->Allows(CHANGE_DEVICE_ADDRESS));
  EXPECT_FALSE(veto->Allows(CHANGE_FIREWALL));
  EXPECT_EQ(Allowed(*veto), "observe, sysctl, device-address");
  EXPECT_FALSE(Parse("allow: [sysctl]\n")->Allows(CHANGE_OBSERVE));
}

TEST(VetoTest, RefusesAMistypedWordWithItsPlaceAndTheNearest) {
  const auto veto = Parse("allow: [observe, sysctls]\nalow: 1\n");
  ASSERT_FALSE(veto.ok());
  EXPECT_EQ(veto.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(veto.status().message().find("agent.yaml:1:18"),
            absl::string_view::npos)
      << veto.status();
  EXPECT_NE(veto.status().message().find("did you mean \"sysctl\""),
            absl::string_view::npos)
      << veto.status();
  EXPECT_NE(veto.status().message().find("agent.yaml:2:1"),
            absl::string_view::npos);
}

TEST(VetoTest, RefusesATextInPlaceOfAList) {
  EXPECT_FALSE(Parse("allow: sysctl\n").ok());
  EXPECT_FALSE(Parse("[allow]\n").ok());
}

TEST(VetoTest, NamesKindsStepsAndWhatToWriteWhere) {
  const Veto veto({CHANGE_OBSERVE, CHANGE_SYSCTL});
  EXPECT_TRUE(veto.Check(PlanOf({CHANGE_SYSCTL})).ok());
  const absl::Status status = veto.Check(
      PlanOf({CHANGE_SYSCTL, CHANGE_FIREWALL, CHANGE_TLS, CHANGE_FIREWALL}));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(),
            "node-07: this host does not allow firewall (step 2,4), tls (step "
            "3); it allows observe, sysctl; start clusterd there with --config "
            "and a file with \"allow: [observe, sysctl, firewall, tls]\" in "
            "it, then ask again");
}

TEST(VetoTest, NamesTheFileThatIsReadAndItsMistake) {
  Veto veto;
  veto.SetFile("/srv/own.yaml", "");
  EXPECT_EQ(veto.Check(PlanOf({CHANGE_SYSCTL})).message(),
            "node-07: this host does not allow sysctl (step 1); it allows "
            "observe; put \"allow: [observe, sysctl]\" into /srv/own.yaml "
            "there, then ask again");
  veto.SetFile("/srv/own.yaml", "/srv/own.yaml:1:18: allow is \"sysctll\"");
  EXPECT_EQ(veto.Check(PlanOf({CHANGE_SYSCTL})).message(),
            "node-07: this host does not allow sysctl (step 1); it allows "
            "observe until its file is right; correct the mistake there "
            "(/srv/own.yaml:1:18: allow is \"sysctll\"), then ask again");
}

}  // namespace
}  // namespace clusterd
