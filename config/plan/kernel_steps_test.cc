#include <gtest/gtest.h>

#include "config/plan/kernel_parameters.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/words/words.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

TEST(ParseSysctlTest, WritesPortsSortedAndRefusesOctalAndForeignKeys) {
  const auto canonical = [](const char* key, const char* text) {
    const auto parameter = OurParameter(key);
    if (!parameter.ok()) return std::string("refused");
    const auto value = ParseSysctl(**parameter, text);
    const PlanStep step = RunningStep(key, "none", text);
    return value.ok() && SettingOf(step)->check(step).ok() ? SysctlText(*value)
                                                           : "refused";
  };
  EXPECT_EQ(canonical(kReservedPortsKey, "60008-60015,8080,60000-60007"),
            "8080,60000-60015");
  EXPECT_EQ(canonical(kReservedPortsKey, ""), "");
  // The kernel reads this as octal.
  EXPECT_EQ(canonical(kReservedPortsKey, "060000"), "refused");
  for (const char* value : {"065535", "0", "-1", "2147483648", "abc", ""}) {
    EXPECT_EQ(canonical(kSomaxconnKey, value), "refused") << value;
  }
  EXPECT_EQ(canonical("kernel.core_pattern", "1"), "refused");
}

TEST(EditSysctlFileTest, SetsOneLineAndKeepsEverythingElse) {
  const std::string heading =
      "# Written by clusterd. Lines that clusterd does not set are kept.\n";
  EXPECT_EQ(EditSysctlFile("", kSomaxconnKey, "65535"),
            heading + "net.core.somaxconn = 65535\n");
  EXPECT_EQ(
      EditSysctlFile("# a\n\nkernel.panic=10\n-net/core/somaxconn=1\n; b\n"
                     "net.core.somaxconn = 2\n",
                     kSomaxconnKey, "65535"),
      "# a\n\nkernel.panic=10\nnet.core.somaxconn = 65535\n; b\n");
  EXPECT_EQ(EditSysctlFile("kernel.panic=10", kSomaxconnKey, "9"),
            "kernel.panic=10\nnet.core.somaxconn = 9\n");
  // Nothing the second time.
  const std::string once = EditSysctlFile("", kReservedPortsKey, "60000-60015");
  EXPECT_EQ(EditSysctlFile(once, kReservedPortsKey, "60000-60015"), once);
}

HostPlan Plan(const ClusterSpec& spec, const HostFacts& facts) {
  HostPlanBuilder builder(facts);
  PlanSysctlSteps(spec, &builder);
  return builder.Finish();
}

TEST(PlanSysctlStepsTest, PlansNothingWhereAllIsGoodEnough) {
  HostFacts other_ports = GoodFacts("node-01");
  other_ports.mutable_kernel()->mutable_reserved_ports()->set_value(
      "60008-60031,1,60000-60007\n");
  HostFacts later_file = GoodFacts("node-01");
  SetAtBoot(later_file.mutable_kernel()->mutable_somaxconn_at_boot(),
            "/etc/sysctl.d/99-sysctl.conf", "70000");
  for (const HostFacts& facts :
       {GoodFacts("node-01"), other_ports, later_file}) {
    const HostPlan plan = Plan(GoodSpec(), facts);
    EXPECT_TRUE(plan.steps().empty()) << plan.ShortDebugString();
    EXPECT_TRUE(plan.blocked().empty()) << plan.ShortDebugString();
  }
}

// Every login has the variable: its jobs use these ports.
TEST(PlanSysctlStepsTest, ReservesTheBasePortOfLogins) {
  HostFacts facts = GoodFacts("node-01");
  EnvironmentVariable* const base =
      facts.mutable_environment()->mutable_value()->add_variables();
  base->set_name("HCCL_IF_BASE_PORT");
  base->set_value("53000");
  ClusterSpec spec = GoodSpec("hccl {base_port_auto: true}");
  spec.mutable_kernel()->set_persistent(false);
  EXPECT_EQ(StepTexts(Plan(spec, facts)),
            StepTexts({RunningStep(kReservedPortsKey, "60000-60015",
                                   "53000-53015,60000-60015")}));
  // The kernel never hands them out.
  base->set_value("27544");
  EXPECT_TRUE(Plan(spec, facts).steps().empty());
}

TEST(PlanSysctlStepsTest, WritesIntoOneFileWhatTheNextBootLacks) {
  HostFacts facts = GoodFacts("node-01");
  KernelFacts* kernel = facts.mutable_kernel();
  kernel->mutable_reserved_ports()->set_value("8080,60000-60015");
  SetAtBoot(kernel->mutable_reserved_ports_at_boot(),
            "/etc/sysctl.d/10-site.conf", "9090");
  SetAtBoot(kernel->mutable_somaxconn_at_boot(), "", "");
  EXPECT_EQ(
      StepTexts(Plan(GoodSpec(), facts)),
      StepTexts({AtBootStep(kReservedPortsKey, "none", "8080,9090,60000-60015"),
                 AtBootStep(kSomaxconnKey, "none", "65535")}));
}

TEST(PlanSysctlStepsTest, ShowsWhatOurOwnFileSaidBefore) {
  HostFacts facts = GoodFacts("node-01");
  SetAtBoot(facts.mutable_kernel()->mutable_somaxconn_at_boot(), kSysctlFile,
            "512");
  EXPECT_EQ(StepTexts(Plan(GoodSpec(), facts)),
            StepTexts({AtBootStep(kSomaxconnKey, "512", "65535")}));
}

TEST(PlanSysctlStepsTest, NamesTheLaterFileThatWouldWin) {
  HostFacts facts = GoodFacts("node-01");
  SetAtBoot(facts.mutable_kernel()->mutable_somaxconn_at_boot(),
            "/etc/sysctl.d/99-sysctl.conf", "128");
  const HostPlan plan = Plan(GoodSpec(), facts);
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).reason(),
            Say("plan-say-applied-after", "/etc/sysctl.d/99-sysctl.conf:3",
                "128", kSysctlFile));
  EXPECT_EQ(plan.blocked(0).fix(),
            Say("plan-say-write-in-line", "net.core.somaxconn = 65535"));
}

TEST(PlanSysctlStepsTest, LeavesTheNextBootAloneUnlessItIsToBePersistent) {
  ClusterSpec spec = GoodSpec("kernel {persistent: false}");
  HostFacts facts = GoodFacts("node-01");
  SetAtBoot(facts.mutable_kernel()->mutable_somaxconn_at_boot(), "", "");
  EXPECT_TRUE(Plan(spec, facts).steps().empty());
}

TEST(PlanSysctlStepsTest, BlocksWhatIsNotKnown) {
  HostFacts facts = GoodFacts("node-01");
  KernelFacts* kernel = facts.mutable_kernel();
  MakeMissing(kernel->mutable_reserved_ports(), Missing::ABSENT,
              "/proc/sys/net/ipv4/ip_local_reserved_ports");
  MakeMissing(kernel->mutable_somaxconn(), Missing::NOT_PERMITTED, "");
  MakeMissing(kernel->mutable_tcp_max_syn_backlog_at_boot(),
              Missing::NOT_PERMITTED, "");
  const HostPlan plan = Plan(GoodSpec(), facts);
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 3);
  EXPECT_EQ(plan.blocked(0).reason(),
            Say("plan-say-running-not-known",
                MissingWords(&kernel->reserved_ports().missing())));
}

TEST(PlanSysctlStepsTest, BlocksValuesThatTheKernelDoesNotTake) {
  ClusterSpec spec = GoodSpec();
  spec.mutable_kernel()->set_somaxconn(4000000000u);
  spec.mutable_hccl()->set_base_port(65530);
  EXPECT_EQ(Plan(spec, GoodFacts("node-01")).blocked_size(), 2);
}

TEST(PlanSysctlStepsTest, SetsOneRunningParameter) {
  const struct {
    const char* name;
    const char* spec;    // Of its kernel.
    const char* kernel;  // Of the facts.
    const char* key;
    const char* from;
    const char* to;
  } kCases[] = {
      {"adds the range to what is reserved", "",
       "reserved_ports {value: '8080,60000-60003'}", kReservedPortsKey,
       "8080,60000-60003", "8080,60000-60015"},
      {"raises numbers and never lowers them", "",
       "somaxconn {value: 4096} tcp_max_syn_backlog {value: 1048576}",
       kSomaxconnKey, "4096", "65535"},
      // Although the kernel's 4096 is enough for two servers.
      {"plans what HCCL advises where the spec names no number",
       "somaxconn_auto: true persistent: false", "somaxconn {value: 4096}",
       kSomaxconnKey, "4096", "65535"},
      {"asks for as many as there are ranks and agents", "somaxconn: 1",
       "somaxconn {value: 2}", kSomaxconnKey, "2", "6"}};
  for (const auto& each : kCases) {
    ClusterSpec spec = GoodSpec();
    MergeText(each.spec, spec.mutable_kernel());
    HostFacts facts = GoodFacts("node-01");
    MergeText(each.kernel, facts.mutable_kernel());
    EXPECT_EQ(StepTexts(Plan(spec, facts)),
              StepTexts({RunningStep(each.key, each.from, each.to)}))
        << each.name;
  }
}

}  // namespace
}  // namespace clusterd
