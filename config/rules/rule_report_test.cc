#include "config/rules/rule_report.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RuleReportTest : public testing::Test {
 protected:
  explicit RuleReportTest(int servers = 3)
      : spec_(MakeSpec("atlas-training", "", servers)),
        facts_(MakeHealthyFacts(spec_)),
        view_(spec_, Pointers(facts_)),
        report_(*FindRule("link"), view_) {}

  const HostView& host(int i) { return view_.hosts()[i]; }
  RuleResult Finish() { return std::move(report_).Finish(); }

  ClusterSpec spec_;
  std::vector<HostFacts> facts_;
  ClusterView view_;
  RuleReport report_;
};

FindingText Down() { return {FAIL, "down", "up", "plug it in"}; }

TEST_F(RuleReportTest, FoldsDevicesOfAHostAndHostsWithTheSameText) {
  report_.Add(host(0).devices[3], Down());
  report_.Add(host(0).devices[1], Down());
  report_.Add(host(2).devices[3], Down());
  const RuleResult result = Finish();
  ASSERT_EQ(result.findings_size(), 1);
  const Finding& finding = result.findings(0);
  ASSERT_EQ(finding.subjects_size(), 2);
  EXPECT_EQ(finding.subjects(0).host(), "server0");
  EXPECT_THAT(finding.subjects(0).devices(), ElementsAre(1, 3));
  EXPECT_EQ(finding.subjects(1).host(), "server2");
  EXPECT_THAT(finding.subjects(1).devices(), ElementsAre(3));
}

TEST_F(RuleReportTest, PutsSubjectsInSpecOrder) {
  report_.Add(host(2), Down());
  report_.Add(host(0), Down());
  report_.Add(host(1), Down());
  const RuleResult result = Finish();
  ASSERT_EQ(result.findings(0).subjects_size(), 3);
  EXPECT_EQ(result.findings(0).subjects(0).host(), "server0");
  EXPECT_EQ(result.findings(0).subjects(2).host(), "server2");
}

TEST_F(RuleReportTest, KeepsApartWhatReadsDifferently) {
  report_.Add(host(0).devices[3], Down());
  FindingText other = Down();
  other.fix = "ask the vendor";
  report_.Add(host(0).devices[4], other);
  report_.Add(host(0).devices[5], Down());
  EXPECT_EQ(Finish().findings_size(), 2);
}

TEST_F(RuleReportTest, WritesTheCommandForTheDevicesOfItsSubjects) {
  const FindingText text = {FAIL, "down", "up", "see", "-link -g"};
  report_.Add(host(0).devices[3], text);
  report_.Add(host(1).devices[0], text);
  report_.Add(host(1).devices[2], text);
  report_.Add(host(2).devices[3], text);
  const RuleResult result = Finish();
  ASSERT_EQ(result.findings_size(), 2);
  EXPECT_EQ(result.findings(0).fix(), "see: hccn_tool -i 3 -link -g");
  EXPECT_EQ(result.findings(0).subjects_size(), 2);
  EXPECT_EQ(result.findings(1).fix(),
            "see: for i in 0 2; do hccn_tool -i $i -link -g; done");
}

TEST_F(RuleReportTest, TakesWhatAFindingLeavesOutFromTheCatalogue) {
  report_.Add(host(0), FindingText{FAIL, "down", "", "plug it in"});
  const RuleResult result = Finish();
  EXPECT_EQ(result.findings(0).expected(), FindRule("link")->text.title);
  EXPECT_EQ(result.findings(0).why(), "");
  EXPECT_EQ(result.why(), FindRule("link")->text.why);
  EXPECT_EQ(result.source(), FindRule("link")->text.source);
}

TEST_F(RuleReportTest, TakesWhatIsAlwaysTheSameFromTheRulesRow) {
  const FindingText down = report_.Text("down");
  EXPECT_EQ(down.state, FAIL);
  EXPECT_EQ(down.observed, "link is DOWN");
  EXPECT_EQ(down.device_command, "-link_stat -g");
  RuleReport conf(*FindRule("hccn-conf"), view_);
  EXPECT_EQ(conf.Text("LINE_TOO_LONG", "", "").expected,
            "lines of at most 383 bytes");
  EXPECT_EQ(conf.Text("of a newer host", "", "").state, UNKNOWN);
}

TEST_F(RuleReportTest, FillsInTheValuesOfARow) {
  RuleReport mtu(*FindRule("mtu-uniform"), view_);
  const FindingText text = mtu.Text("unlike-spec", 1500, 4200);
  EXPECT_EQ(text.state, FAIL);
  EXPECT_EQ(text.observed, "MTU is 1500");
  EXPECT_EQ(text.expected, "MTU 4200, as the spec says");
  EXPECT_EQ(text.device_command, "-mtu -s size 4200");
}

TEST_F(RuleReportTest, TakesTheWordsInPlaceOfACommandThatIsNotThere) {
  RuleReport conf(*FindRule("hccn-conf"), view_);
  EXPECT_EQ(conf.Text("DUPLICATE_KEY", 7, "\"address_3\"", "-ip -g").fix, "");
  const FindingText text = conf.Text("DUPLICATE_KEY", 7, "\"address_3\"", "");
  EXPECT_EQ(text.observed, "line 7 repeats \"address_3\"");
  EXPECT_THAT(text.fix, HasSubstr("remove the repeated line"));
}

TEST_F(RuleReportTest, DoesNotPassWhenNothingWasJudged) {
  const RuleResult result = Finish();
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_reason(), "nothing to judge");
}

TEST_F(RuleReportTest, PassesWithWhatWasJudgedBesideSkippedDevices) {
  for (int i = 0; i < 7; ++i) report_.Judged(host(0).devices[i]);
  report_.AddSkipped(host(0).devices[7], "the link is DOWN", "link");
  const RuleResult result = Finish();
  EXPECT_EQ(result.state(), PASS);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).state(), SKIPPED);
  EXPECT_EQ(result.summary(), "7 of 24 devices on 1 of 3 hosts");
}

TEST_F(RuleReportTest, IsSkippedWhenEverythingWas) {
  report_.AddSkipped(host(0).devices[0], "the link is DOWN", "link");
  const RuleResult result = Finish();
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_reason(), "the link is DOWN");
}

TEST_F(RuleReportTest, TakesTheWorstState) {
  report_.Judged(host(0));
  report_.Add(host(0), FindingText{WARN, "a"});
  report_.Add(host(1), FindingText{UNKNOWN, "b"});
  EXPECT_EQ(Finish().state(), UNKNOWN);
}

TEST_F(RuleReportTest, CountsWhatItCovers) {
  for (int i = 0; i < 3; ++i) {
    for (const DeviceView& device : host(i).devices) report_.Judged(device);
  }
  EXPECT_EQ(Finish().summary(), "24 devices on 3 hosts");
}

TEST_F(RuleReportTest, CountsHostsForRulesAboutHosts) {
  report_.Judged(host(0));
  report_.Judged(host(2));
  report_.AddNote("one in another place");
  EXPECT_EQ(Finish().summary(), "2 of 3 hosts; one in another place");
}

TEST_F(RuleReportTest, BlamesTheToolOnceForAHostWithoutIt) {
  facts_[0].mutable_hccn_tool()->clear_path();
  for (DeviceFacts& device : *facts_[0].mutable_devices()) {
    device.mutable_link()->mutable_missing()->set_detail(
        absl::StrCat("device ", device.id(), ": no tool"));
  }
  const ClusterView view(spec_, Pointers(facts_));
  RuleReport report(*FindRule("link"), view);
  for (const DeviceView& device : view.hosts()[0].devices) {
    EXPECT_FALSE(report.Knows(device, "link", device.link));
  }
  const RuleResult result = std::move(report).Finish();
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).caused_by(), "hccn-tool");
  EXPECT_EQ(result.findings(0).subjects(0).devices_size(), 8);
}

TEST_F(RuleReportTest, GivesTheReasonWhereTheToolAnswered) {
  Missing missing;
  missing.set_reason(Missing::UNREADABLE);
  Reading<LinkFact::Link> link;
  link.missing = &missing;
  link.misread =
      absl::UnknownError("not understood: \"link status: SIDEWAYS\"");
  EXPECT_FALSE(report_.Knows(host(0).devices[0], "link", link));
  const RuleResult result = Finish();
  EXPECT_EQ(result.findings(0).caused_by(), "");
  EXPECT_EQ(result.findings(0).observed(),
            "link not known: not understood: \"link status: SIDEWAYS\"");
}

TEST_F(RuleReportTest, FindsNothingInWhatIsKnown) {
  EXPECT_TRUE(
      report_.Knows(host(0).devices[0], "link", host(0).devices[0].link));
  EXPECT_TRUE(report_.Knows(host(0), "hccn.conf", facts_[0].hccn_conf()));
  EXPECT_EQ(Finish().findings_size(), 0);
}

TEST_F(RuleReportTest, SaysOfAHostWhatIsNotKnownAndHowToLearnIt) {
  NumberFact fact;
  fact.mutable_missing()->set_reason(Missing::NOT_PERMITTED);
  EXPECT_FALSE(report_.Knows(host(0), "the backlog", fact));
  EXPECT_FALSE(report_.Knows(host(1), "the backlog", NumberFact()));
  const RuleResult result = Finish();
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_EQ(result.findings(0).observed(),
            "the backlog not known: not permitted");
  EXPECT_THAT(result.findings(0).fix(), HasSubstr("as root"));
  EXPECT_EQ(result.findings(1).observed(),
            "the backlog not known: not asked for");
}

TEST_F(RuleReportTest, WarnsThatAscend950SpellsItsCommandsDifferently) {
  const ClusterSpec spec = MakeSpec("ascend-950", "", 1);
  const std::vector<HostFacts> facts = MakeHealthyFacts(spec);
  const ClusterView view(spec, Pointers(facts));
  RuleReport report(*FindRule("link"), view);
  report.Add(view.hosts()[0].devices[3],
             FindingText{FAIL, "down", "", "", "-link -g"});
  EXPECT_THAT(std::move(report).Finish().findings(0).fix(),
              HasSubstr("Ascend 950 command line's own spelling"));
}

TEST_F(RuleReportTest, GathersWhatIsTooMuchToReadWithoutLosingASubject) {
  const size_t all = kMaxFindings + 5;
  for (size_t i = 0; i < all; ++i) {
    report_.Add(host(i % 3), {static_cast<uint32_t>(i)},
                FindingText{FAIL, absl::StrCat("value ", i), "", "repair it"});
  }
  const RuleResult result = Finish();
  ASSERT_EQ(result.findings_size(), static_cast<int>(kMaxFindings) + 1);
  const Finding& rest = result.findings(kMaxFindings);
  EXPECT_THAT(rest.observed(), HasSubstr("left out after 20000 findings"));
  int devices = 0;
  for (const Subject& subject : rest.subjects()) {
    devices += subject.devices_size();
  }
  EXPECT_EQ(devices, 5);
}

}  // namespace
}  // namespace clusterd
