#include "config/plan/plan_fold.h"

#include <gtest/gtest.h>

#include "config/plan/good_cluster.h"
#include "config/plan/make_plan.h"
#include "config/plan/plan_text.h"

namespace clusterd {
namespace {

TEST(FoldPlanTest, SaysOnceWhatIsTrueOfBothHostsAndApartWhatIsNot) {
  HostFacts first = GoodFacts("node-01");
  HostFacts second = GoodFacts("node-02");
  for (HostFacts* facts : {&first, &second}) {
    facts->mutable_kernel()->mutable_somaxconn()->set_value(4096);
  }
  DeviceOf(&second, 0)->mutable_detect_address()->set_value("0.0.0.0");
  MakeMissing(first.mutable_ufw()->mutable_installed(), Missing::TIMED_OUT, "");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&first, &second});

  const std::vector<PlanFold> folds = FoldPlan(plan);
  ASSERT_EQ(folds.size(), 3u);
  EXPECT_EQ(folds[0].hosts, (std::vector<std::string>{"node-01", "node-02"}));
  ASSERT_EQ(folds[0].steps.size(), 1u);
  EXPECT_EQ(StepText(*folds[0].steps[0]), "net.core.somaxconn: 4096 -> 65535");
  EXPECT_EQ(folds[1].hosts, std::vector<std::string>{"node-01"});
  EXPECT_EQ(folds[1].blocked.size(), 1u);
  EXPECT_EQ(folds[2].hosts, std::vector<std::string>{"node-02"});
  EXPECT_NE(FoldKey(plan.hosts(0)), FoldKey(plan.hosts(1)));
}

TEST(FoldPlanTest, HasNothingToSayAboutHostsInOrder) {
  const HostFacts first = GoodFacts("node-01");
  const HostFacts second = GoodFacts("node-02");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&first, &second});
  EXPECT_TRUE(FoldPlan(plan).empty());
  EXPECT_EQ(HostsInOrder(plan),
            (std::vector<std::string>{"node-01", "node-02"}));
  EXPECT_EQ(FoldKey(plan.hosts(0)), FoldKey(plan.hosts(1)));
}

TEST(FoldKeyTest, TellsStepsWithOtherConsequencesApart) {
  PlanStep a;
  a.mutable_sysctl()->set_key("net.core.somaxconn");
  PlanStep b = a;
  b.set_id(9);
  EXPECT_EQ(FoldKey(a), FoldKey(b));
  b.add_consequences("something is lost");
  EXPECT_NE(FoldKey(a), FoldKey(b));
}

}  // namespace
}  // namespace clusterd
