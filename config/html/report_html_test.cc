#include "config/html/report_html.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/rules/finding_words.h"
#include "config/values/sha256.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "pugixml.hpp"
#include "tests/support/client/golden.h"
#include "tests/support/report/sample_reports.h"

namespace clusterd {
namespace {

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

TEST(ReportHtmlTest, SaysWhatFailedAndAsLargeWhatWasNotChecked) {
  const PageTree page(Html(GoldenMessage<Report>("reports/fail")));
  EXPECT_THAT(page.Texts("//h1"), ElementsAre("F FAIL: demo is not ready"));
  EXPECT_THAT(page.Texts("//title"), ElementsAre("FAIL: demo"));
  const auto boxes = page.Texts("//section[contains(@class,'box')]");
  ASSERT_THAT(boxes, SizeIs(4));
  EXPECT_THAT(boxes[0], HasSubstr("2 rules on 1 host of 4server1"));
  EXPECT_THAT(boxes[1], HasSubstr("1 host without facts, 2 rules unknown"));
  EXPECT_THAT(boxes[1], HasSubstr("server3: never attached"));
  EXPECT_THAT(boxes[1], HasSubstr("hccn-tool: unknown: server2"));
  EXPECT_THAT(boxes[2], HasSubstr("2 rules"));
  EXPECT_THAT(boxes[3], HasSubstr("ports-reserved"));
  EXPECT_THAT(page.Texts("//*[@class='figure']"), SizeIs(4));
}

TEST(ReportHtmlTest, NeverLooksBetterThanItsRulesAndHostsAre) {
  Report report = GoldenMessage<Report>("reports/fail");
  report.set_verdict(PASS);
  EXPECT_THAT(PageTree(Html(report)).Texts("//h1"),
              ElementsAre("F FAIL: demo is not ready"));
  const PageTree none(Html(GoldenMessage<Report>("reports/no_verdict")));
  EXPECT_THAT(none.Texts("//h1"),
              ElementsAre(HasSubstr("NO VERDICT: demo was not checked")));
  EXPECT_THAT(none.Texts("//section[contains(@class,'box')]")[1],
              HasSubstr("the whole check"));
  const PageTree empty(Html(Report()));
  EXPECT_THAT(empty.Texts("//h1"), ElementsAre(HasSubstr("U UNKNOWN")));
  EXPECT_THAT(empty.Texts("//section[contains(@class,'box')]")[1],
              HasSubstr("no rule was judged"));
}

TEST(ReportHtmlTest, HasCausesWorstFirstWithTheCommandToCopy) {
  const PageTree page(Html(SmallBrokenReport()));
  const auto causes = page.Texts("//section[@id='causes']//tbody/tr");
  ASSERT_THAT(causes, Not(IsEmpty()));
  EXPECT_EQ(causes[0][0], 'F');
  EXPECT_THAT(causes[0], HasSubstr("server1 device 3"));
  EXPECT_THAT(causes[0], HasSubstr("link"));
  // A button to copy stands only behind the text that it copies.
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
  EXPECT_THAT(
      page.Texts("//section[@id='rails']//li"),
      ElementsAre("! leaf-010 device 3: server37; other hosts have device 2 on "
                  "this switch",
                  "! leaf-011 device 2: server37; other hosts have device 3 on "
                  "this switch"));
  const auto rows = page.Texts("//section[@id='rails']//tbody/tr");
  EXPECT_THAT(rows, SizeIs(16));
  EXPECT_THAT(rows[0], HasSubstr("1!"));
  EXPECT_THAT(
      PageTree(Html(SmallBrokenReport())).Values("//td[@class='odd']/@class"),
      IsEmpty());
}

TEST(ReportHtmlTest, HasValuesTheRarestFirst) {
  const PageTree page(Html(LargeBrokenReport(72)));
  const auto rows = page.Texts("//section[@id='values']//tbody/tr");
  EXPECT_THAT(rows, Contains(HasSubstr("driver24.1.rc21")));
  EXPECT_THAT(rows, Contains(HasSubstr("MTU102418")));
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
  const PageTree page(Html(report, &before));
  const auto texts = page.Texts("//section[@id='since']//li");
  EXPECT_THAT(texts, Contains("cluster.yaml changed."));
  EXPECT_THAT(texts, Contains("Removed hosts: server9"));
  EXPECT_THAT(texts, Contains(HasSubstr("container:train")));
  EXPECT_THAT(texts, Contains(HasSubstr("in run 1111; now: fail.")));
  const auto rows = page.Texts("//section[@id='since']//tbody/tr");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows[0], HasSubstr("PFlinkserver1 device 3link is DOWN"));
  const PageTree chinese(Html(report, &before), "zh-CN");
  EXPECT_THAT(chinese.Texts("//section[@id='zh-since']//li"),
              Contains("减少的主机：server9"));
  EXPECT_THAT(chinese.Texts("//section[@id='zh-since']//tbody/tr"),
              ElementsAre(HasSubstr("PFlinkserver1 设备 3")));
  EXPECT_THAT(PageTree(Html(report)).Texts("//section[@id='since']//li"),
              ElementsAre("Not compared with an earlier check."));
}

TEST(ReportHtmlTest, HasAPageForEachHostThatDoesNotPass) {
  const PageTree page(Html(SmallBrokenReport()));
  EXPECT_THAT(page.Values("//details[@class='host']/@id"), ElementsAre("h1"));
  EXPECT_THAT(page.Texts("//details[@id='h1']//li"),
              Contains("Flink device 3: link is DOWN"));
  EXPECT_THAT(PageTree(Html(GoldenMessage<Report>("reports/pass")))
                  .Texts("//section[@id='hosts']/p"),
              ElementsAre("Every host passes."));
}

TEST(ReportHtmlTest, EveryLinkLeadsToSomethingInThePage) {
  for (const Report& report : {SmallBrokenReport(), LargeBrokenReport(40),
                               GoldenMessage<Report>("reports/fail"),
                               GoldenMessage<Report>("reports/job")}) {
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
  const std::string english = Html(report);
  const PageTree page(english, "");
  EXPECT_THAT(page.Texts("//h1"), ElementsAre("F FAIL: demo is not ready",
                                              "F 不通过：demo 未就绪"));
  EXPECT_THAT(page.Values("//body/div/@lang"), ElementsAre("en", "zh-CN"));
  EXPECT_THAT(page.Values("//body/input[@checked]/@id"),
              ElementsAre("english"));
  EXPECT_THAT(page.Texts("//title"), ElementsAre("FAIL: demo"));
  EXPECT_THAT(page.style,
              HasSubstr("#english:checked ~ .zh-CN, "
                        "#chinese:checked ~ .en { display: none; }"));
  const InLanguage chinese(Language::kChinese);
  const PageTree other(Html(report), "");
  EXPECT_THAT(other.Values("//body/input[@checked]/@id"),
              ElementsAre("chinese"));
  EXPECT_THAT(other.Values("//html/@lang"), ElementsAre("zh-CN"));
  EXPECT_THAT(other.Texts("//title"), ElementsAre("不通过：demo"));
  EXPECT_EQ(other.json, page.json);
  EXPECT_EQ(other.Texts("//body/div"), page.Texts("//body/div"));
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
  EXPECT_THAT(page.Texts("//section[contains(@class,'box')]")[0],
              HasSubstr("1 台主机（共 2 台）server1"));
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

TEST(ReportHtmlTest, EveryWordOfTheTemplateHasARow) {
  for (const Report& report : {SmallBrokenReport(), LargeBrokenReport(40)}) {
    EXPECT_THAT(Html(report), Not(HasSubstr("html-")));
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
  for (const std::string& text : {page.style, page.script}) {
    EXPECT_THAT(text, Not(HasSubstr("http:")));
    EXPECT_THAT(text, Not(HasSubstr("https:")));
    EXPECT_THAT(text, Not(HasSubstr("url(")));
    EXPECT_THAT(text, Not(HasSubstr("@import")));
    EXPECT_THAT(text, Not(HasSubstr("innerHTML")));
  }
  EXPECT_THAT(page.Values("//@src"), IsEmpty());
  EXPECT_THAT(page.Values("//@style"), IsEmpty());
}

TEST(ReportHtmlTest, TheJsonInItIsTheReport) {
  Report report = SmallBrokenReport();
  report.add_notes("</script><!--<script> & \xe2\x80\xa8\xe2\x80\xa9");
  const PageTree page(Html(report));
  for (const char* text : {"<", ">", "&", "\xe2\x80\xa8", "\xe2\x80\xa9"}) {
    EXPECT_THAT(page.json, Not(HasSubstr(text)));
  }
  Report read;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(page.json, &read).ok());
  EXPECT_EQ(read.DebugString(), report.DebugString());
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
  EXPECT_THAT(expected.Texts("//section[@id='since']//tbody/tr"), SizeIs(4));
  EXPECT_THAT(expected.Texts("//section[@id='zh-since']//tbody/tr"), SizeIs(4));
  EXPECT_THAT(expected.Texts("//section[@id='rails']//tbody/tr"), SizeIs(2));
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
    Report read;
    ASSERT_TRUE(
        google::protobuf::util::JsonStringToMessage(page.json, &read).ok());
    EXPECT_EQ(read.DebugString(), filled.report.DebugString());
  }
}

TEST(ReportHtmlTest, WhatIsNoUtf8IsShownAsItsBytes) {
  Report report = SmallBrokenReport();
  report.set_cluster("a\xff\xc0\xafz");
  report.mutable_hosts(1)->set_rack("r\x80");
  const std::string html = Html(report);
  EXPECT_THAT(html, HasSubstr("a\\xff\\xc0\\xafz is not ready"));
  EXPECT_EQ(html, ValidUtf8(html));
  Report read;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage(PageTree(html).json, &read)
          .ok());
  EXPECT_EQ(read.hosts_size(), 2);
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
  const std::string expected = Html(report);
  std::vector<std::string> pages(4);
  std::vector<std::thread> threads;
  for (std::string& page : pages) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) page = Html(report);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(pages, Each(expected));
}

}  // namespace
}  // namespace clusterd
