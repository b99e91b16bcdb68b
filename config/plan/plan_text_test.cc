#include "config/plan/plan_text.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

TEST(StepTextTest, ShowsNoneWhereNothingWasSet) {
  PlanStep step;
  step.mutable_device_address()->set_device(3);
  step.mutable_device_address()->mutable_to()->set_address("10.20.0.17");
  step.mutable_device_address()->mutable_to()->set_netmask("255.255.255.0");
  EXPECT_EQ(StepText(step), "device 3: address none -> 10.20.0.17/24");
}

TEST(StepTextTest, SaysWhenAGatewayIsOnlyPutBack) {
  PlanStep step;
  step.mutable_gateway()->set_device(3);
  step.mutable_gateway()->set_from("10.0.0.254");
  step.mutable_gateway()->set_to("10.0.0.254");
  step.mutable_gateway()->set_put_back(true);
  EXPECT_EQ(StepText(step), "device 3: gateway 10.0.0.254 put back");
}

TEST(StepTextTest, ShowsAnEmptyListAsEmpty) {
  PlanStep step;
  step.mutable_sysctl()->set_key("net.ipv4.ip_local_reserved_ports");
  step.mutable_sysctl()->set_to("60000-60015");
  EXPECT_EQ(StepText(step),
            "net.ipv4.ip_local_reserved_ports: empty -> 60000-60015");
}

void AddRepair(HccnConf::Problem::Kind kind, uint32_t line, PlanStep* step) {
  HccnConf::Problem* problem = step->mutable_hccn_conf_repair()->add_problems();
  problem->set_kind(kind);
  problem->set_line(line);
}

TEST(StepTextTest, FoldsTheLinesOfARepairIntoRuns) {
  PlanStep step;
  for (const uint32_t line : {1, 2, 3}) {
    AddRepair(HccnConf::Problem::CARRIAGE_RETURN, line, &step);
  }
  AddRepair(HccnConf::Problem::DUPLICATE_KEY, 3, &step);
  AddRepair(HccnConf::Problem::CARRIAGE_RETURN, 4, &step);
  AddRepair(HccnConf::Problem::CARRIAGE_RETURN, 7, &step);
  AddRepair(HccnConf::Problem::NO_FINAL_NEWLINE, 0, &step);
  EXPECT_EQ(StepText(step),
            "/etc/hccn.conf: lines 1-4,7: remove carriage returns, line 3: "
            "remove the repeated key, add the final newline");
  // Another repair has another text: by it hosts are folded together.
  PlanStep other = step;
  other.mutable_hccn_conf_repair()->mutable_problems(1)->set_line(5);
  EXPECT_NE(StepText(other), StepText(step));
}

TEST(StepTextTest, SaysThatTheWholeFileIsRepairedWhereTheListMayBeCut) {
  PlanStep step;
  for (uint32_t line = 1; line <= 63; ++line) {
    AddRepair(HccnConf::Problem::CARRIAGE_RETURN, line, &step);
  }
  EXPECT_EQ(StepText(step),
            "/etc/hccn.conf: lines 1-63: remove carriage returns");
  for (uint32_t line = 64; line <= 100; ++line) {
    AddRepair(HccnConf::Problem::CARRIAGE_RETURN, line, &step);
  }
  EXPECT_EQ(StepText(step),
            "/etc/hccn.conf: lines 1-100: remove carriage returns; the whole "
            "file is repaired so, also after line 100");
}

TEST(StepTextTest, NeverLeavesAnUnknownChangeBlank) {
  EXPECT_EQ(StepText(PlanStep()), "a change that this version does not know");
}

TEST(BlockedTextTest, NamesDevicesReasonAndFix) {
  BlockedChange blocked;
  blocked.add_devices(1);
  blocked.add_devices(4);
  blocked.set_what("device addresses");
  blocked.set_reason("hccn_tool: absent");
  blocked.set_fix("install it");
  EXPECT_EQ(BlockedText(blocked),
            "devices 1,4: device addresses cannot be planned: hccn_tool: "
            "absent; install it");
}

TEST(DevicesOfTest, IsEmptyForWhatConcernsTheHost) {
  PlanStep step;
  step.mutable_sysctl();
  EXPECT_TRUE(DevicesOf(step).empty());
  step.mutable_hccn_conf_rewrite()->set_device(5);
  EXPECT_EQ(DevicesOf(step), std::vector<uint32_t>{5});
}

}  // namespace
}  // namespace clusterd
