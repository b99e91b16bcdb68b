#include "config/rules/rule_report.h"

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::StartsWith;

RuleResult RenderedBy(RuleReport&& report,
                      const char* product = "atlas-training",
                      Language language = Language::kEnglish) {
  Report whole;
  whole.set_product(product);
  *whole.add_rules() = std::move(report).Finish();
  const InLanguage in_language(language);
  RenderReport(&whole);
  return whole.rules(0);
}

class RuleReportTest : public testing::Test {
 protected:
  explicit RuleReportTest(int servers = 3)
      : spec_(MakeSpec("atlas-training", "", servers)),
        facts_(MakeHealthyFacts(spec_)),
        view_(spec_, Pointers(facts_)),
        report_(*FindRule("link"), view_) {}

  const HostView& host(int i) { return view_.hosts()[i]; }
  RuleResult Finish() { return RenderedBy(std::move(report_)); }
  // The finding without a command of its own.
  NamedFinding Plain(absl::string_view what = "link") {
    return report_.Named("not-known", what, "no answer", "look");
  }

  ClusterSpec spec_;
  std::vector<HostFacts> facts_;
  ClusterView view_;
  RuleReport report_;
};

TEST_F(RuleReportTest, FoldsDevicesOfAHostAndHostsWithTheSameText) {
  report_.Add(host(0).devices[3], Plain());
  report_.Add(host(0).devices[1], Plain());
  report_.Add(host(2).devices[3], Plain());
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
  for (const int i : {2, 0, 1}) report_.Add(host(i), Plain());
  const RuleResult result = Finish();
  ASSERT_EQ(result.findings(0).subjects_size(), 3);
  EXPECT_EQ(result.findings(0).subjects(0).host(), "server0");
  EXPECT_EQ(result.findings(0).subjects(2).host(), "server2");
}

TEST_F(RuleReportTest, KeepsApartWhatReadsDifferently) {
  report_.Add(host(0).devices[3], Plain());
  report_.Add(host(0).devices[4], Plain("speed"));
  report_.Add(host(0).devices[5], Plain());
  EXPECT_EQ(Finish().findings_size(), 2);
}

TEST_F(RuleReportTest, WritesTheCommandForTheDevicesOfItsSubjects) {
  const NamedFinding text = report_.Named("down");
  report_.Add(host(0).devices[3], text);
  report_.Add(host(1).devices[0], text);
  report_.Add(host(1).devices[2], text);
  report_.Add(host(2).devices[3], text);
  const RuleResult result = Finish();
  ASSERT_EQ(result.findings_size(), 2);
  EXPECT_EQ(result.findings(0).command(), "hccn_tool -i 3 -link_stat -g");
  EXPECT_THAT(result.findings(0).fix(),
              EndsWith(": hccn_tool -i 3 -link_stat -g"));
  EXPECT_EQ(result.findings(0).subjects_size(), 2);
  EXPECT_EQ(result.findings(1).command(),
            "for i in 0 2; do hccn_tool -i $i -link_stat -g; done");
}

TEST_F(RuleReportTest, TakesWhatAFindingLeavesOutFromTheCatalogue) {
  report_.Add(host(0), Plain());
  const RuleResult result = Finish();
  EXPECT_EQ(result.findings(0).expected(), FindRule("link")->english.title);
  EXPECT_EQ(result.findings(0).why(), "");
  EXPECT_EQ(result.why(), FindRule("link")->english.why);
  EXPECT_EQ(result.source(), FindRule("link")->english.source);
}

TEST_F(RuleReportTest, TakesWhatIsAlwaysTheSameFromTheRulesRow) {
  const NamedFinding down = report_.Named("down");
  EXPECT_EQ(down.state, FAIL);
  EXPECT_EQ(down.row, FindRuleFinding(*FindRule("link"), "down"));
  EXPECT_EQ(down.row->device_command, "-link_stat -g");
}

TEST_F(RuleReportTest, FillsInTheValuesOfARow) {
  RuleReport mtu(*FindRule("mtu-uniform"), view_);
  mtu.Add(host(0).devices[3], "unlike-spec", 1500, 4200);
  const Finding finding = RenderedBy(std::move(mtu)).findings(0);
  EXPECT_EQ(finding.state(), FAIL);
  EXPECT_EQ(finding.finding(), "unlike-spec");
  ASSERT_EQ(finding.values_size(), 2);
  EXPECT_EQ(finding.values(0).name(), "mtu");
  EXPECT_EQ(finding.values(0).number(), 1500);
  EXPECT_EQ(finding.observed(), "MTU is 1500");
  const RuleFinding& row =
      *FindRuleFinding(*FindRule("mtu-uniform"), "unlike-spec");
  EXPECT_EQ(finding.expected(),
            WithValuesIn(row.english.expected, finding.values()));
  EXPECT_EQ(finding.command(), "hccn_tool -i 3 -mtu -s size 4200");
}

TEST_F(RuleReportTest, TakesTheWordsInPlaceOfACommandThatIsNotThere) {
  RuleReport conf(*FindRule("hccn-conf"), view_);
  conf.Add(host(0).devices[3], "duplicate-key", 7, "\"address_3\"", "-ip -g");
  conf.Add(host(0).devices[3], "duplicate-key", 7, "\"address_3\"", "");
  const RuleResult result = RenderedBy(std::move(conf));
  EXPECT_EQ(result.findings(0).fix(), "hccn_tool -i 3 -ip -g");
  EXPECT_TRUE(result.findings(0).fixed_by_plan() ||
              FindRule("hccn-conf")->fixed_by.empty());
  EXPECT_EQ(result.findings(1).observed(), "line 7 repeats \"address_3\"");
  EXPECT_THAT(result.findings(1).fix(), HasSubstr("remove the repeated line"));
  EXPECT_FALSE(result.findings(1).fixed_by_plan());
}

TEST_F(RuleReportTest, DoesNotPassWhenNothingWasJudged) {
  const RuleResult result = Finish();
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_words().words(), "nothing-to-judge");
}

TEST_F(RuleReportTest, PassesWithWhatWasJudgedBesideSkippedDevices) {
  for (int i = 0; i < 7; ++i) report_.Judged(host(0).devices[i]);
  report_.AddSkipped(host(0).devices[7], "the link is DOWN", "link");
  const RuleResult result = Finish();
  EXPECT_EQ(result.state(), PASS);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).state(), SKIPPED);
  EXPECT_EQ(result.summary(),
            Say("devices-on-hosts", Say("some-of", 7, Counted(24, "device")),
                Say("some-of", 1, Counted(3, "host"))));
}

TEST_F(RuleReportTest, IsSkippedWhenEverythingWas) {
  report_.AddSkipped(host(0).devices[0], "the link is DOWN", "link");
  const RuleResult result = Finish();
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_reason(), "the link is DOWN");
}

TEST_F(RuleReportTest, TakesTheWorstState) {
  report_.Judged(host(0));
  NamedFinding warning = Plain();
  warning.state = WARN;
  report_.Add(host(0), warning);
  report_.Add(host(1), Plain());
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
  report_.Note("roce-unused");
  EXPECT_EQ(Finish().summary(), "2 of 3 hosts; " + Say("roce-unused"));
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

TEST_F(RuleReportTest, NamesACauseOnlyWhereItWasFound) {
  FoundSoFar found;
  RuleReport report(*FindRule("link"), view_, &found);
  const HostView& first = host(0);
  for (int i = 3; i < 5; ++i) {
    report.Add(first.devices[i], "dead-device", "link");
  }
  found.as_is.Note("device-count", {{first.order, first.devices[3].id}}, FAIL);
  const RuleResult result = std::move(report).Finish();
  ASSERT_EQ(result.findings_size(), 2);
  EXPECT_EQ(result.findings(0).caused_by(), "device-count");
  EXPECT_EQ(result.findings(0).subjects(0).devices(0), 3u);
  EXPECT_EQ(result.findings(1).caused_by(), "");
  EXPECT_EQ(result.findings(1).subjects(0).devices(0), 4u);
}

TEST_F(RuleReportTest, GivesTheReasonWhereTheToolAnswered) {
  Missing missing;
  missing.set_reason(Missing::UNREADABLE);
  Reading<LinkFact::Link> link;
  link.missing = &missing;
  link.misread = absl::UnknownError("\"link status: SIDEWAYS\"");
  EXPECT_FALSE(report_.Knows(host(0).devices[0], "link", link));
  const RuleResult result = Finish();
  EXPECT_EQ(result.findings(0).caused_by(), "");
  EXPECT_EQ(result.findings(0).finding(), "not-known");
  EXPECT_EQ(ValueText(result.findings(0).values(1)),
            "not understood: \"link status: SIDEWAYS\"");
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
  EXPECT_EQ(result.findings(0).values(1).words(), "why-not-permitted");
  EXPECT_THAT(result.findings(0).fix(), HasSubstr("as root"));
  EXPECT_EQ(result.findings(1).values(1).words(), "why-not-asked");
}

TEST_F(RuleReportTest, WarnsThatAscend950SpellsItsCommandsDifferently) {
  const ClusterSpec spec = MakeSpec("ascend-950", "", 1);
  const std::vector<HostFacts> facts = MakeHealthyFacts(spec);
  const ClusterView view(spec, Pointers(facts));
  RuleReport report(*FindRule("link"), view);
  report.Add(view.hosts()[0].devices[3], "down");
  const RuleResult result = RenderedBy(std::move(report), "ascend-950");
  EXPECT_THAT(result.findings(0).fix(), StartsWith(Say("spelled-for-950", "")));
  EXPECT_EQ(result.findings(0).command(), "");
}

TEST_F(RuleReportTest, IsInChineseWhereThatIsAskedFor) {
  NumberFact fact;
  fact.mutable_missing()->set_reason(Missing::NOT_PERMITTED);
  fact.mutable_missing()->set_detail("open /proc/1");
  EXPECT_FALSE(report_.Knows(host(0), "backlog", fact));
  report_.Add(host(1).devices[3], "down");
  const RuleResult result =
      RenderedBy(std::move(report_), "atlas-training", Language::kChinese);
  EXPECT_EQ(result.why(), FindRule("link")->chinese.why);
  EXPECT_THAT(result.findings(0).observed(),
              HasSubstr("没有权限：open /proc/1"));
  EXPECT_THAT(result.findings(1).fix(),
              EndsWith("：hccn_tool -i 3 -link_stat -g"));
}

// The controller is newer than the program that shows its report.
TEST_F(RuleReportTest, NamesAFindingThatIsNotKnownHere) {
  auto report = FromText<Report>(
      "rules {rule: 'link' findings {finding: 'fell-asleep' "
      "values {name: 'hours' number: 8}}}");
  RenderReport(&report);
  EXPECT_EQ(report.rules(0).findings(0).observed(), "fell-asleep: hours 8");
}

TEST_F(RuleReportTest, GathersWhatIsTooMuchToReadWithoutLosingASubject) {
  const size_t all = kMaxFindings + 5;
  for (size_t i = 0; i < all; ++i) {
    report_.Add(host(i % 3), {static_cast<uint32_t>(i)},
                Plain(absl::StrCat("value ", i)));
  }
  const RuleResult result = Finish();
  ASSERT_EQ(result.findings_size(), static_cast<int>(kMaxFindings) + 1);
  const Finding& rest = result.findings(kMaxFindings);
  EXPECT_THAT(rest.observed(), HasSubstr("at most 20000 findings"));
  int devices = 0;
  for (const Subject& subject : rest.subjects()) {
    devices += subject.devices_size();
  }
  EXPECT_EQ(devices, 5);
}

}  // namespace
}  // namespace clusterd
