#include "config/html/report_html.h"

#include <set>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/report/finding_overview.h"
#include "config/rules/finding_words.h"
#include "config/values/sha256.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "pugixml.hpp"
#include "tests/support/client/golden.h"
#include "tests/support/report/sample_reports.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string Html(const Report& report, const Report* before = nullptr) {
  absl::StatusOr<std::string> html = ReportHtml(report, before);
  EXPECT_TRUE(html.ok()) << html.status();
  return html.value_or("");
}

// Returns the text between the two, and cuts it out of `html`.
std::string Cut(const std::string& from, const std::string& to,
                std::string* html) {
  const size_t begin = html->find(from);
  if (begin == std::string::npos) return "";
  const size_t inner = begin + from.size();
  const size_t end = html->find(to, inner);
  std::string text = html->substr(inner, end - inner);
  html->erase(begin, end + to.size() - begin);
  return text;
}

// The page as its elements, without style and scripts, which are not XML. Keeps
// only the body in that language; "" keeps both.
struct PageTree {
  explicit PageTree(std::string html, const std::string& language = "en") {
    style = Cut("<style>", "</style>", &html);
    json = Cut("<script type=\"application/json\" id=\"report\">", "</script>",
               &html);
    script = Cut("<script>", "</script>", &html);
    rest = html;
    const auto parsed = document.load_string(html.c_str(), pugi::parse_default);
    EXPECT_TRUE(parsed) << parsed.description() << "\n"
                        << html.substr(parsed.offset, 200);
    pugi::xpath_node_set bodies = document.select_nodes("//body/div");
    EXPECT_EQ(bodies.size(), 2u);
    for (const pugi::xpath_node& body : bodies) {
      if (language.empty() || language == body.node().attribute("lang").value())
        continue;
      body.parent().remove_child(body.node());
    }
  }

  // The text of all elements that the path finds.
  std::vector<std::string> Texts(const char* path) const {
    std::vector<std::string> texts;
    for (const pugi::xpath_node& node : document.select_nodes(path)) {
      texts.emplace_back(pugi::xpath_query("string(.)").evaluate_string(node));
    }
    return texts;
  }
  std::vector<std::string> Values(const char* path) const {
    std::vector<std::string> values;
    for (const pugi::xpath_node& node : document.select_nodes(path)) {
      values.emplace_back(node.attribute().value());
    }
    return values;
  }
  std::vector<std::string> Boxes() const {
    return Texts("//section[contains(@class,'box')]");
  }
  // The report in the page.
  Report Read() const {
    Report report;
    EXPECT_TRUE(
        google::protobuf::util::JsonStringToMessage(json, &report).ok());
    return report;
  }
  // The rows, or other elements, of the section of that name.
  std::vector<std::string> Rows(const std::string& section,
                                const char* what = "tbody/tr") const {
    return Texts(("//section[@id='" + section + "']//" + what).c_str());
  }
  // Every element with its attributes' names, in their order.
  std::vector<std::string> Shape() const {
    std::vector<std::string> shape;
    for (const pugi::xpath_node& node : document.select_nodes("//*")) {
      std::string element = node.node().name();
      for (const pugi::xml_attribute& attribute : node.node().attributes()) {
        absl::StrAppend(&element, " ", attribute.name());
      }
      shape.push_back(element);
    }
    return shape;
  }

  std::string style, json, script, rest;
  pugi::xml_document document;
};

// The head of a page about a cluster that fails.
std::string FailedHead() {
  return "F " + Say("html-headline", "FAIL", "demo", Say("sentence-not-ready"));
}

TEST(ReportHtmlTest, SaysWhatFailedAndAsLargeWhatWasNotChecked) {
  const PageTree page(Html(GoldenMessage<Report>("reports/fail")));
  EXPECT_THAT(page.Texts("//h1"), ElementsAre(FailedHead()));
  EXPECT_THAT(page.Texts("//title"), ElementsAre("FAIL: demo"));
  const auto boxes = page.Boxes();
  ASSERT_THAT(boxes, SizeIs(4));
  EXPECT_THAT(boxes[0], HasSubstr(Say("html-failed-on", Counted(2, "rule"),
                                      Counted(1, "host"), 4) +
                                  "server1"));
  EXPECT_THAT(boxes[1],
              AllOf(HasSubstr(Say("html-hosts-silent", Counted(1, "host"))),
                    HasSubstr(Say("html-rules-unknown", Counted(2, "rule"))),
                    HasSubstr("server3: never attached"),
                    HasSubstr("hccn-tool: unknown: server2")));
  EXPECT_THAT(boxes[2], HasSubstr("2 rules"));
  EXPECT_THAT(boxes[3], HasSubstr("ports-reserved"));
  EXPECT_THAT(page.Texts("//*[@class='figure']"), SizeIs(4));
}

TEST(ReportHtmlTest, NeverShowsBetterThanItsRulesAndHostsAre) {
  Report report = GoldenMessage<Report>("reports/fail");
  report.set_verdict(PASS);
  EXPECT_THAT(PageTree(Html(report)).Texts("//h1"), ElementsAre(FailedHead()));
  const PageTree none(Html(GoldenMessage<Report>("reports/no_verdict")));
  EXPECT_THAT(none.Texts("//h1"),
              ElementsAre(HasSubstr(Say("html-headline", Say("verdict-none"),
                                        "demo", Say("sentence-not-checked")))));
  EXPECT_THAT(none.Boxes()[1], HasSubstr(Say("html-whole-check")));
  const PageTree empty(Html(Report()));
  EXPECT_THAT(empty.Texts("//h1"), ElementsAre(HasSubstr("U UNKNOWN")));
  EXPECT_THAT(empty.Boxes()[1], HasSubstr(Say("counts-none")));
}

TEST(ReportHtmlTest, HasCausesWorstFirstWithTheCommandToCopy) {
  const PageTree page(Html(SmallBrokenReport()));
  const auto causes = page.Rows("causes");
  ASSERT_THAT(causes, Not(IsEmpty()));
  EXPECT_EQ(causes[0][0], 'F');
  EXPECT_THAT(causes[0], HasSubstr("server1 device 3"));
  EXPECT_THAT(causes[0], HasSubstr("link"));
  // A button to copy stands only after the text that it copies.
  const auto copied =
      page.Texts("//button[@class='copy']/preceding-sibling::*[1]");
  EXPECT_THAT(copied, Contains(HasSubstr("hccn_tool -i 3 ")));
  EXPECT_THAT(copied, Each(Not("")));
  EXPECT_EQ(page.Texts("//button[@class='copy']").size(),
            page.Texts("//button[@class='copy']/preceding-sibling::*[1]"
                       "[self::pre or self::code or self::span]")
                .size());
}

TEST(ReportHtmlTest, HasACellForEachHostByRack) {
  Report report = GoldenMessage<Report>("reports/fail");
  EXPECT_THAT(PageTree(Html(report)).Texts("//table[@id='map']/tr"),
              ElementsAre("server[0-3]4 of 4WFUU"));
  report.mutable_hosts(0)->set_rack("r07");
  report.mutable_hosts(3)->set_rack("r07");
  report.mutable_hosts(1)->set_state(PASS);
  const PageTree page(Html(report));
  EXPECT_THAT(page.Texts("//table[@id='map']/tr"),
              ElementsAre("r072 of 2WU", "server[1-2]1 of 2PU"));
  EXPECT_THAT(page.Values("//table[@id='map']//a/@href"),
              ElementsAre("#h0", "#h3", "#h1", "#h2"));
  EXPECT_THAT(page.Values("//table[@id='map']//a/@title"),
              Contains("server3: unknown"));
}

TEST(ReportHtmlTest, ADeviceOnAnothersSwitchJumpsOutOfTheRails) {
  const PageTree page(Html(LargeBrokenReport(72)));
  EXPECT_THAT(page.Rows("rails", "li"),
              ElementsAre("! " + Say("html-odd-port", "leaf-010", "device 3",
                                     "server37", "device 2"),
                          "! " + Say("html-odd-port", "leaf-011", "device 2",
                                     "server37", "device 3")));
  ASSERT_THAT(page.Rows("rails"), SizeIs(16));
  EXPECT_THAT(page.Rows("rails")[0], HasSubstr("1!"));
  EXPECT_THAT(
      PageTree(Html(SmallBrokenReport())).Values("//td[@class='odd']/@class"),
      IsEmpty());
  // Values have the rarest first.
  EXPECT_THAT(page.Rows("values"), Contains(HasSubstr("driver24.1.rc21")));
  EXPECT_THAT(page.Rows("values"), Contains(HasSubstr("MTU102418")));
  const PageTree chinese(Html(LargeBrokenReport(72)), "zh-CN");
  EXPECT_THAT(chinese.Texts("//section[@id='zh-values']//tr"),
              Contains(HasSubstr("驱动24.1.rc21")));
}

TEST(ReportHtmlTest, ListsTheChangesSinceAnEarlierCheck) {
  Report report = SmallBrokenReport();
  report.set_spec_digest("one");
  Report before = report;
  before.set_run_id("1111");
  before.set_verdict(WARN);
  before.set_spec_digest("another");
  before.add_hosts()->set_host("server9");
  before.set_network_namespace("container:train");
  for (RuleResult& rule : *before.mutable_rules()) {
    if (rule.rule() != "link") continue;
    rule.clear_findings();
    rule.set_state(PASS);
  }
  const PageTree page(Html(report, &before), "");
  for (const std::string& item :
       {Say("html-spec-changed"), Say("html-hosts-removed", "server9"),
        std::string("container:train"),
        std::string("in run 1111; now: fail.")}) {
    EXPECT_THAT(page.Rows("since", "li"), Contains(HasSubstr(item)));
  }
  EXPECT_THAT(page.Rows("since"),
              ElementsAre(HasSubstr("PFlinkserver1 device 3link is DOWN")));
  EXPECT_THAT(page.Rows("zh-since", "li"), Contains("减少的主机：server9"));
  EXPECT_THAT(page.Rows("zh-since"),
              ElementsAre(HasSubstr("PFlinkserver1 设备 3")));
  EXPECT_THAT(PageTree(Html(report)).Rows("since", "li"),
              ElementsAre(Say("html-not-compared")));
}

TEST(ReportHtmlTest, HasAPageForEachHostThatDoesNotPass) {
  const PageTree page(Html(SmallBrokenReport()));
  EXPECT_THAT(page.Values("//details[@class='host']/@id"), ElementsAre("h1"));
  EXPECT_THAT(page.Texts("//details[@id='h1']//li"),
              Contains("Flink device 3: link is DOWN"));
  const PageTree pass(Html(GoldenMessage<Report>("reports/pass")));
  EXPECT_THAT(pass.Texts("//section[@id='hosts']/p"),
              ElementsAre(Say("html-all-pass")));
}

TEST(ReportHtmlTest, EveryLinkLeadsToSomethingInThePage) {
  for (const Report& report : {SmallBrokenReport(), LargeBrokenReport(40),
                               GoldenMessage<Report>("reports/fail"),
                               GoldenMessage<Report>("reports/job")}) {
    // Every word of the template has a row.
    EXPECT_THAT(Html(report), Not(HasSubstr("html-")));
    const PageTree page(Html(report), "");
    const auto ids = page.Values("//@id");
    const std::set<std::string> known(ids.begin(), ids.end());
    EXPECT_EQ(known.size(), ids.size());
    for (const std::string& link :
         page.Values("//section[not(contains(@id,'racks'))]//a/@href")) {
      EXPECT_EQ(known.count(link.substr(1)), 1u) << link;
    }
  }
}

// ---- Languages ----

TEST(ReportHtmlTest, HasBothLanguagesAndOpensInTheCurrentOne) {
  const Report report = SmallBrokenReport();
  const PageTree page(Html(report), "");
  EXPECT_THAT(page.Texts("//h1"),
              ElementsAre(FailedHead(), "F 不通过：demo 未就绪"));
  EXPECT_THAT(page.Values("//body/div/@lang"), ElementsAre("en", "zh-CN"));
  EXPECT_THAT(page.Values("//input[@checked]/@id"), ElementsAre("english"));
  EXPECT_THAT(page.Texts("//title"), ElementsAre("FAIL: demo"));
  EXPECT_THAT(page.style,
              HasSubstr("#english:checked ~ .zh-CN, "
                        "#chinese:checked ~ .en { display: none; }"));
  const InLanguage chinese(Language::kChinese);
  const PageTree other(Html(report), "");
  EXPECT_THAT(other.Values("//input[@checked]/@id"), ElementsAre("chinese"));
  EXPECT_THAT(other.Values("//html/@lang"), ElementsAre("zh-CN"));
  EXPECT_THAT(other.Texts("//title"), ElementsAre("不通过：demo"));
  EXPECT_EQ(other.json, page.json);
  EXPECT_EQ(other.Texts("//body/div"), page.Texts("//body/div"));
}

TEST(ReportHtmlTest, HasTheWordsOfSimulationsForTheScript) {
  Report report = GoldenMessage<Report>("reports/pass");
  report.mutable_hosts(0)->set_simulation("in memory");
  report.mutable_hosts(1)->set_simulation("of a newer clusterd");
  const std::string html = Html(report);
  const PageTree english(html, "en"), chinese(html, "zh-CN");
  EXPECT_THAT(english.Values("//data/@value"), ElementsAre("in memory"));
  EXPECT_THAT(english.Texts("//data"), ElementsAre(Say("term-in-memory")));
  EXPECT_THAT(chinese.Texts("//data"), ElementsAre("内存中"));
}

TEST(ReportHtmlTest, SaysTheSameInChinese) {
  const Report report = SmallBrokenReport();
  const PageTree page(Html(report), "zh-CN");
  EXPECT_THAT(
      page.Texts("//h2"),
      ElementsAre("F 不通过", "U 未检查或未知", "W 告警", "P 通过",
                  "待修复项（最严重的在最前）", "机柜和主机",
                  "轨道：各 leaf 交换机上的设备",
                  "检查结果项（最严重的在最前）", "取值（最少见的在最前）",
                  "与之前检查相比的变化", "各主机"));
  EXPECT_THAT(page.Boxes()[0], HasSubstr("1 台主机（共 2 台）server1"));
  EXPECT_THAT(page.Texts("//section[@id='zh-findings']//th"), Contains("实测"));
  // Findings are in the messages of the rules.
  InLanguage chinese(Language::kChinese);
  const Report rendered = Rendered(report);
  for (const RuleResult& rule : rendered.rules()) {
    for (const Finding& finding : rule.findings()) {
      if (finding.state() != FAIL) continue;
      EXPECT_THAT(page.Texts("//tr[@class='finding']/td[2]"),
                  Contains(HasSubstr(finding.observed())));
    }
  }
  for (const char* path :
       {"//tr[@class='finding']", "//details", "//section"}) {
    EXPECT_EQ(page.Texts(path).size(),
              PageTree(Html(report)).Texts(path).size())
        << path;
  }
}

// The script shows them on the pages of hosts, and has the JSON only in
// English.
TEST(ReportHtmlTest, HasChineseRowsForUnknownFindingsThatFollowFromOthers) {
  Report report = SmallBrokenReport();
  for (RuleResult& rule : *report.mutable_rules()) {
    for (Finding& finding : *rule.mutable_findings()) {
      if (!finding.caused_by().empty()) finding.set_state(UNKNOWN);
    }
  }
  constexpr char kFound[] = "//tr[@class='follows']/td[2]";
  EXPECT_THAT(PageTree(Html(report)).Texts(kFound), IsEmpty());
  const PageTree page(Html(report), "zh-CN");
  const InLanguage chinese(Language::kChinese);
  const Report rendered = Rendered(report);
  const auto causes = ArrangeFindings(rendered, /*whole=*/true).causes;
  ASSERT_THAT(causes, Not(IsEmpty()));
  for (const auto& [cause, group] : causes) {
    for (const Finding* finding : group.findings) {
      EXPECT_THAT(page.Texts(kFound), Contains(HasSubstr(finding->observed())));
    }
  }
}

TEST(ReportHtmlTest, ItsPolicyAllowsItsOwnScriptAndNothingElse) {
  const PageTree page(Html(SmallBrokenReport()));
  EXPECT_THAT(
      page.Values("//meta[@http-equiv='Content-Security-Policy']/@content"),
      ElementsAre(absl::StrCat(
          "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-",
          absl::Base64Escape(Sha256(page.script)),
          "'; base-uri 'none'; form-action 'none'")));
  EXPECT_THAT(page.script, HasSubstr("'use strict';"));
  EXPECT_THAT(page.rest, Not(HasSubstr("<script")));
  for (const char* foreign :
       {"http:", "https:", "url(", "@import", "innerHTML"}) {
    EXPECT_THAT(page.style + page.script, Not(HasSubstr(foreign)));
  }
  EXPECT_THAT(page.Values("//@src"), IsEmpty());
  EXPECT_THAT(page.Values("//@style"), IsEmpty());
}

// The report without those fields that its JSON leaves out.
std::string InJson(Report report) {
  for (RuleResult& rule : *report.mutable_rules()) {
    for (Finding& finding : *rule.mutable_findings()) {
      finding.clear_fix_words();
      finding.clear_short_fix();
    }
  }
  return report.DebugString();
}

TEST(ReportHtmlTest, TheJsonInItIsTheReport) {
  Report report = SmallBrokenReport();
  report.add_notes("</script><!--<script> & \xe2\x80\xa8\xe2\x80\xa9");
  const PageTree page(Html(report));
  for (const char* text : {"<", ">", "&", "\xe2\x80\xa8", "\xe2\x80\xa9"}) {
    EXPECT_THAT(page.json, Not(HasSubstr(text)));
  }
  EXPECT_EQ(page.Read().DebugString(), InJson(report));
}

// ---- Hostile texts ----

struct Filled {
  explicit Filled(absl::Span<const std::string> texts) {
    FillTexts(texts, &report);
    RenderWords(&report);  // A text is that of the words beside it.
    report.set_schema_version(kReportSchemaVersion);
    report.clear_error();
    report.clear_error_words();
    before = report;
    before.set_network_namespace("another");
    for (RuleResult& rule : *before.mutable_rules()) {
      for (Finding& finding : *rule.mutable_findings()) finding.set_state(WARN);
    }
  }

  Report report, before;
};

TEST(ReportHtmlTest, NoTextBecomesAnythingElseThanText) {
  const std::vector<std::string> harmless(1, "text");
  const Filled plain(harmless);
  const PageTree expected(Html(plain.report, &plain.before), "");
  EXPECT_THAT(expected.Rows("since"), SizeIs(4));
  EXPECT_THAT(expected.Rows("zh-since"), SizeIs(4));
  EXPECT_THAT(expected.Rows("rails"), SizeIs(2));
  for (const std::string& hostile : HostileTexts()) {
    SCOPED_TRACE(absl::CHexEscape(hostile));
    const Filled filled({hostile});
    const PageTree page(Html(filled.report, &filled.before), "");
    // Lines and commands are split; otherwise the elements are the same.
    if (!absl::StrContains(hostile, '`')) {
      EXPECT_EQ(page.Shape(), expected.Shape());
    }
    EXPECT_EQ(page.script, expected.script);
    EXPECT_EQ(page.style, expected.style);
    EXPECT_THAT(page.json, Not(HasSubstr("<")));
    const auto titles = page.Texts("//title");
    ASSERT_THAT(titles, SizeIs(1));
    EXPECT_THAT(titles[0], HasSubstr(SafeText(hostile, true)));
    EXPECT_THAT(page.Values("//a/@href"), Each(testing::StartsWith("#")));
    EXPECT_EQ(page.Read().DebugString(), InJson(filled.report));
  }
}

TEST(ReportHtmlTest, WhatIsNoUtf8IsShownAsItsBytes) {
  Report report = SmallBrokenReport();
  report.set_cluster("a\xff\xc0\xafz");
  report.mutable_hosts(1)->set_rack("r\x80");
  const std::string html = Html(report);
  EXPECT_THAT(html,
              HasSubstr("a\\xff\\xc0\\xafz " + Say("sentence-not-ready")));
  EXPECT_EQ(html, ValidUtf8(html));
  EXPECT_EQ(PageTree(html).Read().hosts_size(), 2);
}

TEST(ReportHtmlTest, TheLargestClusterWithTwoThousandFindingsIsSmall) {
  const Report report = LargeBrokenReport();
  size_t findings = 0;
  for (const RuleResult& rule : report.rules()) {
    findings += rule.findings_size();
  }
  EXPECT_GE(findings, 1800u);
  EXPECT_LE(findings, 2600u);
  const std::string html = Html(report, nullptr);
  EXPECT_LT(html.size(), 5'000'000u);
  const PageTree page(html);
  EXPECT_THAT(page.Values("//table[@id='map']//a/@href"), SizeIs(1152));
  // Some hundred pages of paper are only printed on demand.
  EXPECT_EQ(page.Values("//details[@class='host long']/@id").size(),
            page.Values("//details[@id]/@id").size());
  EXPECT_THAT(page.Texts("//details[@class='block long']/summary"),
              Contains(HasSubstr("device-ip-planned")));
  EXPECT_GE(page.Texts("//tr[@class='finding']").size(), 1800u);
  EXPECT_GE(PageTree(html, "zh-CN").Texts("//tr[@class='finding']").size(),
            1800u);
}

TEST(ReportHtmlTest, SeveralThreadsMakeTheSamePages) {
  const Report report = SmallBrokenReport();
  std::vector<std::string> pages(4);
  std::vector<std::thread> threads;
  for (std::string& page : pages) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) page = Html(report);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(pages, Each(Html(report)));
}

}  // namespace
}  // namespace clusterd
