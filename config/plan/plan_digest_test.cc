#include "config/plan/plan_digest.h"

#include <gtest/gtest.h>

#include "config/plan/good_cluster.h"
#include "config/plan/make_plan.h"

namespace clusterd {
namespace {

ClusterPlan Plan() {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  return MakePlan(GoodSpec(), {&facts});
}

TEST(Sha256HexTest, IsTheStandardsDigest) {
  EXPECT_EQ(Sha256Hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(PlanDigestTest, IsTheSameForTheSameSpecAndFacts) {
  EXPECT_EQ(Plan().digest(), Plan().digest());
  EXPECT_TRUE(VerifyPlan(Plan()).ok());
}

TEST(PlanDigestTest, DoesNotCoverWhoKeepsThePlan) {
  ClusterPlan plan = Plan();
  plan.set_plan_id("p7");
  plan.set_created_at_ms(12345);
  plan.set_created_by("ada");
  plan.set_not_kept("the disk is full");
  EXPECT_TRUE(VerifyPlan(plan).ok());
}

TEST(PlanDigestTest, ChangesWithEveryEdit) {
  ClusterPlan value = Plan();
  value.mutable_hosts(0)->mutable_steps(0)->mutable_sysctl()->set_to("1");
  ClusterPlan fact = Plan();
  fact.mutable_hosts(0)->mutable_facts(0)->set_value("129");
  ClusterPlan host = Plan();
  host.mutable_hosts(0)->set_host("node-02");
  ClusterPlan spec = Plan();
  spec.set_spec_sha256("0");
  for (const ClusterPlan& plan : {value, fact, host, spec}) {
    const absl::Status status = VerifyPlan(plan);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("plan again"), absl::string_view::npos);
    EXPECT_EQ(status.message().find(PlanDigest(plan)), absl::string_view::npos);
  }
}

TEST(PlanDigestTest, ChangesWithTheSpecEvenIfTheStepsDoNot) {
  ClusterSpec other = GoodSpec();
  other.mutable_deadlines()->set_run_ms(1);
  HostFacts facts = GoodFacts("node-01");
  EXPECT_NE(MakePlan(other, {&facts}).digest(),
            MakePlan(GoodSpec(), {&facts}).digest());
}

TEST(VerifyPlanTest, RefusesAnotherSchema) {
  ClusterPlan plan = Plan();
  plan.set_schema_version(2);
  plan.set_digest(PlanDigest(plan));
  EXPECT_EQ(VerifyPlan(plan).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace clusterd
