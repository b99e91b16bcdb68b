#include "client/print/plan_table.h"

#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/plan/settings.h"
#include "config/values/setting.h"
#include "config/words/number_text.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/client/golden.h"
#include "tests/support/client/sample_plan.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

std::string Printed(const ClusterPlan& plan, const Style& style = Utf8(),
                    bool verbose = false) {
  std::ostringstream out;
  PrintPlanTable(plan, style, verbose, out);
  return out.str();
}

std::vector<std::string> Nodes(int count) {
  std::vector<std::string> nodes;
  for (int i = 1; i <= count; ++i) {
    nodes.push_back(absl::StrCat("node", i < 10 ? "0" : "", i));
  }
  return nodes;
}

// Two steps for each host but node12; one change of node03 is blocked.
ClusterPlan FoldedPlan() {
  ClusterPlan plan = SysctlPlan(Nodes(12));
  plan.mutable_hosts(11)->clear_steps();
  MergeText(R"(
      blocked {kind: CHANGE_DEVICE_ADDRESS devices: [1, 0]
               what: "gateway 10.0.0.254" reason: "it is outside 10.20.0.0/24"
               fix: "correct the gateway in cluster.yaml"})",
            plan.mutable_hosts(2));
  for (HostPlan& host : *plan.mutable_hosts()) {
    host.add_notes("host and container are one");
  }
  plan.set_digest("6f1b0c9d2e3a4b5c");
  return plan;
}

TEST(PlanTableTest, FoldsHostsThatAgree) {
  ExpectGoldenInBoth("tables/plan", [] {
    const ClusterPlan plan = FoldedPlan();
    return absl::StrCat(Printed(plan), PlanShort(plan), "\n");
  });
}

TEST(PlanTableTest, SeparatesWhatOnlyLeavesOutFromWhatNoStepFixes) {
  ClusterPlan plan = SysctlPlan(Nodes(2));
  for (HostPlan& host : *plan.mutable_hosts()) host.clear_steps();
  for (const char* rule : {"firewall", "link", "listen-backlog"}) {
    for (HostPlan& host : *plan.mutable_hosts()) {
      UnfixedRule& unfixed = *host.add_unfixed();
      unfixed.set_rule(rule);
      unfixed.set_state(FAIL);
      unfixed.set_left_out(unfixed.rule() != "link");
    }
  }
  plan.mutable_hosts(1)->mutable_unfixed(0)->set_left_out(false);
  const std::string printed = Printed(plan);
  for (const char* part : {"node[01-02]\n"
                           "  left out by --only  listen-backlog\n"
                           "  no step fixes   link\n",
                           "node01\n"
                           "  left out by --only  firewall\n",
                           "node02\n"
                           "  no step fixes   firewall\n"}) {
    EXPECT_THAT(printed, HasSubstr(part));
  }
}

TEST(PlanTableTest, FoldsWhatNoStepFixesAndCallsOnlyOthersInOrder) {
  ClusterPlan plan = SysctlPlan(Nodes(4));
  for (HostPlan& host : *plan.mutable_hosts()) host.clear_steps();
  for (const int host : {2, 3}) {
    for (const char* rule : {"link", "tls-uniform"}) {
      UnfixedRule& unfixed = *plan.mutable_hosts(host)->add_unfixed();
      unfixed.set_rule(rule);
      unfixed.set_state(FAIL);
    }
  }
  MergeText("unfixed {rule: 'lldp' state: UNKNOWN}", plan.mutable_hosts(1));
  plan.set_digest("6f1b0c9d2e3a4b5c");
  ExpectGolden("tables/plan-unfixed.txt",
               absl::StrCat(Printed(plan), PlanShort(plan), "\n"));
}

TEST(PlanTableTest, FoldsBlockedStepsAsItFoldsChanges) {
  ClusterPlan plan = SysctlPlan(Nodes(4));
  for (HostPlan& host : *plan.mutable_hosts()) {
    host.clear_steps();
    if (host.host() < "node03") continue;
    for (uint32_t i = 0; i < 16; ++i) {
      BlockedChange& blocked = *host.add_blocked();
      MergeText(
          "kind: CHANGE_DEVICE_ADDRESS reason: 'not allowed' fix: 'allow it'",
          &blocked);
      blocked.add_devices(i / 2);
      blocked.set_what(absl::StrCat(host.host(), ": address ", i));
    }
  }
  const std::string folded = Printed(plan);
  EXPECT_THAT(folded,
              HasSubstr(absl::StrCat(
                  "\nnode[03-04]\n  blocked         ",
                  Say("plan-changes-on", Count(32, "change"), "devices 0-7"),
                  "\n                  reason  not allowed\n                  "
                  "fix     allow it\n")));
  EXPECT_THAT(folded, Not(HasSubstr("address 15")));
  EXPECT_THAT(Printed(plan, Utf8(), /*verbose=*/true),
              HasSubstr("node04: address 15"));
}

TEST(PlanTableTest, SaysOnceWhatIsTrueOfBothHostsAndApartWhatIsNot) {
  ClusterPlan plan = SysctlPlan(Nodes(2));
  for (HostPlan& host : *plan.mutable_hosts()) {
    host.mutable_steps()->RemoveLast();
  }
  *plan.mutable_hosts(0)->add_steps() =
      DeviceStep(0, SETTING_DETECT_ADDRESS, "0.0.0.0", "10.0.0.254");
  plan.mutable_hosts(1)->add_blocked()->set_what("ufw");
  const std::string printed = Printed(plan);
  EXPECT_THAT(printed,
              HasSubstr(absl::StrCat("\nnode[01-02]\n  sysctl          ",
                                     StepText(plan.hosts(0).steps(0)), "\n")));
  EXPECT_THAT(printed,
              HasSubstr(absl::StrCat("\nnode01\n  device-address  ",
                                     StepText(plan.hosts(0).steps(1)), "\n")));
  EXPECT_THAT(printed, HasSubstr("\nnode02\n  blocked"));
}

TEST(PlanTableTest, TellsStepsWithOtherConsequencesApart) {
  ClusterPlan plan = SysctlPlan(Nodes(2));
  plan.mutable_hosts(1)->mutable_steps(0)->set_id(9);
  EXPECT_THAT(Printed(plan), Not(HasSubstr("\nnode01\n")));
  plan.mutable_hosts(1)->mutable_steps(0)->add_consequences(
      "something is lost");
  EXPECT_THAT(Printed(plan), HasSubstr("\nnode01\n"));
  EXPECT_THAT(Printed(plan), HasSubstr("\nnode02\n"));
}

TEST(PlanTableTest, AddsPreconditionAndUndoOnRequest) {
  const std::string printed = Printed(FoldedPlan(), Utf8(), /*verbose=*/true);
  EXPECT_THAT(printed,
              HasSubstr("4096 -> 65535\n"
                        "                  if      net.core.somaxconn is 4096\n"
                        "                  undo    write 4096\n"));
}

TEST(PlanTableTest, NamesTheDevicesOfAConsequence) {
  ClusterPlan plan = SysctlPlan({"node01"});
  HostPlan& host = *plan.mutable_hosts(0);
  host.clear_steps();
  for (const uint32_t device : {0, 1, 2}) {
    PlanStep& step = *host.add_steps();
    step = DeviceStep(device, SETTING_TLS, "on", "off");
    step.add_consequences("lost");
  }
  EXPECT_THAT(Printed(plan), HasSubstr("  also: devices 0-2: lost\n"));
}

TEST(PlanTableTest, SaysThatThereIsNothingToDo) {
  ClusterPlan plan = SysctlPlan(Nodes(2));
  for (HostPlan& host : *plan.mutable_hosts()) host.clear_steps();
  plan.set_digest("6f1b0c9d2e3a4b5c");
  ExpectGolden("tables/plan-nothing.txt", Printed(plan));
}

TEST(PlanTableTest, NamesTheNamespaceThatItIsFor) {
  ClusterPlan plan = SysctlPlan(Nodes(2));
  for (HostPlan& host : *plan.mutable_hosts()) {
    host.mutable_network_namespace()->set_container("train-1");
  }
  EXPECT_EQ(NamespaceOfPlan(plan), "container:train-1");
  EXPECT_THAT(Printed(plan),
              HasSubstr("\nnetwork namespace container:train-1\n"));
  plan.mutable_hosts(0)->clear_network_namespace();
  EXPECT_EQ(NamespaceOfPlan(plan), "several");
}

TEST(PlanTableTest, StaysReadableWhenEveryHostDiffers) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 1152; ++i) nodes.push_back(absl::StrCat("node", i));
  ClusterPlan plan = SysctlPlan(nodes);
  for (int i = 0; i < plan.hosts_size(); ++i) {
    plan.mutable_hosts(i)->mutable_steps(0)->mutable_from()->set_number(i);
    plan.mutable_hosts(i)->add_notes(absl::StrCat("note ", i));
  }
  const std::string printed = Printed(plan);
  EXPECT_LT(std::vector<std::string>(absl::StrSplit(printed, '\n')).size(),
            300u);
  EXPECT_THAT(printed,
              HasSubstr(Say("plan-more-groups", Count(1113, "more group"),
                            Count(1113, "host"))));
  EXPECT_THAT(printed, HasSubstr(Say("plan-more-notes", 1112)));
  EXPECT_THAT(Printed(plan, Utf8(), /*verbose=*/true),
              HasSubstr("net.core.somaxconn: 1151 -> 65535"));
}

TEST(PlanTableTest, IsSafeForATerminalAndAsciiWhereAsked) {
  ClusterPlan plan = FoldedPlan();
  HostPlan& host = *plan.mutable_hosts(0);
  host.set_host("\x1b[2J");
  *host.mutable_steps(0)->mutable_from() = TextsValue({"\x1b\n"});
  host.mutable_steps(0)->set_consequences(0, "\x1b");
  host.set_notes(0, "\x1b");
  plan.mutable_hosts(2)->mutable_blocked(0)->set_reason("\x1b");
  plan.mutable_hosts(2)->mutable_blocked(0)->set_fix("\x1b");
  plan.set_cluster("\x1b");
  plan.set_digest("\x1b");
  EXPECT_EQ(Printed(plan, Utf8(), /*verbose=*/true).find('\x1b'),
            std::string::npos);
  EXPECT_EQ(PlanShort(plan).find('\x1b'), std::string::npos);
  plan.set_cluster("d\xc3\xa9mo");
  for (const char c : Printed(plan, Style(), /*verbose=*/true)) {
    EXPECT_GT(c, 0);
  }
}

TEST(PlanTableTest, KeepsToTheWindow) {
  Style style = Utf8();
  style.width = 60;
  for (const absl::string_view line :
       absl::StrSplit(Printed(FoldedPlan(), style), '\n')) {
    EXPECT_LE(line.size(), 60u) << line;
  }
}

TEST(PlanTableTest, SaysInTheUsersLanguageWhatAStepNeedsAndHowItIsUndone) {
  const InLanguage chinese(Language::kChinese);
  const std::string text =
      Printed(SysctlPlan({"node01"}), Utf8(), /*verbose=*/true);
  EXPECT_THAT(text, HasSubstr("net.core.somaxconn 为 4096"));
  EXPECT_THAT(text, HasSubstr("写回 4096"));
}

TEST(PlanShortTest, NamesNoClusterWhereNoneIsSet) {
  ClusterPlan plan = FoldedPlan();
  plan.clear_cluster();
  EXPECT_EQ(PlanShort(plan).rfind("PLAN ", 0), 0u) << PlanShort(plan);
}

TEST(PlanTableTest, SaysThatApplyAsksForTheNameWhereManyAddressesChange) {
  ClusterPlan plan = SysctlPlan(Nodes(2));
  *plan.mutable_hosts(1)->add_steps() = DeviceStep(
      0, SETTING_ADDRESS, "10.0.0.3/255.255.255.0", "10.0.0.2/255.255.255.0");
  plan.set_cluster_hosts(4);
  EXPECT_THAT(
      Printed(plan),
      HasSubstr(absl::StrCat(
          "\nAddresses: ",
          Say("plan-asks-name", Say("plan-readdressed", 1, Count(4, "host"))),
          "\nPLAN: ")));
  plan.set_cluster_hosts(10);
  EXPECT_THAT(Printed(plan), Not(HasSubstr("Addresses: ")));
}

}  // namespace
}  // namespace clusterd
