#include "config/plan/host_plan_builder.h"

#include <gtest/gtest.h>

#include "config/plan/good_cluster.h"
#include "config/plan/plan_text.h"

namespace clusterd {
namespace {

TEST(HostPlanBuilderTest, NumbersStepsAndKeepsTheirFactsOnceAndSorted) {
  const HostFacts facts = GoodFacts("node-01");
  HostPlanBuilder builder(facts);
  builder.AddStep(CHANGE_TLS, {"device 1: tls", "device 0: tls"});
  builder.AddStep(CHANGE_TLS, {"device 0: tls"});
  const HostPlan plan = builder.Finish();
  EXPECT_EQ(plan.host(), "node-01");
  EXPECT_EQ(plan.steps(1).id(), 2u);
  ASSERT_EQ(plan.facts_size(), 2);
  EXPECT_EQ(plan.facts(0).name(), "device 0: tls");
  EXPECT_EQ(plan.facts(0).value(), "off");
}

TEST(HostPlanBuilderTest, ReadsTheFirstLineOfAKeyWithoutCarriageReturn) {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "address_0", "10.0.0.1\r");
  const HostPlanBuilder builder(facts);
  EXPECT_EQ(builder.ConfValue("address", 0), "10.0.0.1");
  EXPECT_EQ(builder.ConfValue("address", 9), "");
}

TEST(HostPlanBuilderTest, FindsNoDeviceThatTheHostDidNotSend) {
  const HostFacts facts = GoodFacts("node-01");
  const HostPlanBuilder builder(facts);
  EXPECT_NE(builder.FindDevice(1), nullptr);
  EXPECT_EQ(builder.FindDevice(2), nullptr);
}

// A plan with one step of each of these kinds, on a host that allows some.
class AllowedStepsTest : public testing::Test {
 protected:
  AllowedStepsTest() : facts_(GoodFacts("node-01")) {
    facts_.mutable_allows()->set_file("/etc/clusterd/agent.yaml");
  }

  HostPlan Plan(const std::vector<std::string>& allowed, bool repair = false) {
    for (const std::string& kind : allowed) {
      facts_.mutable_allows()->add_kinds(kind);
    }
    HostPlanBuilder builder(facts_);
    if (repair) {
      builder.AddStep(CHANGE_HCCN_CONF, {"hccn.conf: form"})
          ->mutable_hccn_conf_repair()
          ->add_problems()
          ->set_kind(HccnConf::Problem::NO_FINAL_NEWLINE);
    }
    GatewayChange* gateway =
        builder.AddStep(CHANGE_DEVICE_ADDRESS, {"device 1: gateway"})
            ->mutable_gateway();
    gateway->set_device(1);
    gateway->set_from("10.0.0.9");
    gateway->set_to("10.0.0.254");
    SysctlChange* sysctl =
        builder.AddStep(CHANGE_SYSCTL, {"net.core.somaxconn"})
            ->mutable_sysctl();
    sysctl->set_key("net.core.somaxconn");
    sysctl->set_from("128");
    sysctl->set_to("65535");
    return builder.Finish();
  }

  HostFacts facts_;
};

TEST_F(AllowedStepsTest, KeepsThemAllOnAHostThatDoesNotTell) {
  facts_.clear_allows();
  HostPlanBuilder builder(facts_);
  builder.AddStep(CHANGE_SYSCTL, {"net.core.somaxconn"});
  EXPECT_EQ(builder.Finish().steps_size(), 1);
}

TEST_F(AllowedStepsTest, KeepsThemAllWhereAllIsAllowed) {
  const HostPlan plan = Plan({"observe", "sysctl", "device-address", "newer"});
  EXPECT_EQ(plan.steps_size(), 2);
  EXPECT_TRUE(plan.blocked().empty());
  EXPECT_EQ(plan.facts_size(), 2);
}

TEST_F(AllowedStepsTest, BlocksTheOthersAndRestsOnTheirFactsNoMore) {
  const HostPlan plan = Plan({"observe", "sysctl"});
  ASSERT_EQ(plan.steps_size(), 1);
  EXPECT_EQ(plan.steps(0).id(), 1u);
  EXPECT_TRUE(plan.steps(0).has_sysctl());
  ASSERT_EQ(plan.facts_size(), 1);
  EXPECT_EQ(plan.facts(0).name(), "net.core.somaxconn");
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).kind(), CHANGE_DEVICE_ADDRESS);
  EXPECT_EQ(BlockedText(plan.blocked(0)),
            "device 1: gateway 10.0.0.9 -> 10.0.0.254 cannot be planned: this "
            "host does not allow device-address; it allows observe, sysctl; "
            "put \"allow: [observe, sysctl, device-address]\" into "
            "/etc/clusterd/agent.yaml there, then plan again");
}

TEST_F(AllowedStepsTest, NamesAllThatIsNeededInOneLine) {
  const HostPlan plan = Plan({});
  EXPECT_TRUE(plan.steps().empty());
  EXPECT_TRUE(plan.facts().empty());
  ASSERT_EQ(plan.blocked_size(), 2);
  EXPECT_EQ(plan.blocked(0).fix(), plan.blocked(1).fix());
  EXPECT_EQ(plan.blocked(1).fix(),
            "put \"allow: [sysctl, device-address]\" into "
            "/etc/clusterd/agent.yaml there, then plan again");
  EXPECT_EQ(plan.blocked(1).reason(),
            "this host does not allow sysctl; it allows nothing");
}

TEST_F(AllowedStepsTest, LetsTheToolWriteNoFileThatMayNotBeRepaired) {
  const HostPlan plan = Plan({"observe", "sysctl", "device-address"}, true);
  ASSERT_EQ(plan.steps_size(), 1);
  EXPECT_TRUE(plan.steps(0).has_sysctl());
  EXPECT_EQ(plan.steps(0).id(), 1u);
  ASSERT_EQ(plan.blocked_size(), 2);
  EXPECT_EQ(plan.blocked(0).kind(), CHANGE_HCCN_CONF);
  EXPECT_EQ(plan.blocked(1).kind(), CHANGE_DEVICE_ADDRESS);
  EXPECT_EQ(plan.blocked(1).reason(),
            "hccn_tool would write /etc/hccn.conf, whose repair this host does "
            "not allow; it allows observe, sysctl, device-address");
}

TEST_F(AllowedStepsTest, NamesTheMistakeOrThatThereIsNoFile) {
  facts_.mutable_allows()->set_mistake("agent.yaml:2:1: unknown key");
  const HostPlan wrong = Plan({"observe"});
  EXPECT_EQ(wrong.blocked(0).reason(),
            "this host does not allow device-address; it allows observe until "
            "its file is right");
  EXPECT_EQ(wrong.blocked(0).fix(),
            "correct the mistake there (agent.yaml:2:1: unknown key), then "
            "plan again");
  facts_.mutable_allows()->clear_mistake();
  facts_.mutable_allows()->clear_file();
  EXPECT_EQ(Plan({}).blocked(0).fix(),
            "start clusterd there with --config and a file with \"allow: "
            "[observe, sysctl, device-address]\" in it, then plan again");
}

}  // namespace
}  // namespace clusterd
