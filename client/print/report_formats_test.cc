#include "client/print/report_formats.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/report/message_json.h"
#include "config/words/quoted_text.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "pugixml.hpp"
#include "tests/support/client/golden.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using google::protobuf::Value;
using ::testing::HasSubstr, ::testing::Not, ::testing::StartsWith;
using Lines = std::vector<std::string>;

const char* const kReports[] = {"pass", "fail", "hostile", "job", "no_verdict"};

// Texts with a special meaning in one of the formats.
std::vector<std::string> EvilTexts() {
  std::vector<std::string> texts = {
      "a: b",       "# no comment", " - item",      "-",         "- item",
      "yes",        "No",           "null",         "~",         "1e3",
      "0x10",       "017",          "1_000",        "12:30:45",  "2025-01-01",
      ".inf",       ".5",           "true",         "y",         "",
      " ",          "trailing ",    "two  spaces",  "tab\there", "line\nbreak",
      "cr\rlf\r\n", "it's",         "say \"hi\"",   "---",       "...",
      "&anchor",    "*alias*",      "!tag",         "%percent",  "@at",
      "`tick``s`",  "{flow}",       "[flow, list]", "a,b",       "? key",
      "| literal",  "> folded",     "a #b"};
  // Longer ones apart, since a list is as wide as its widest text.
  texts.insert(
      texts.end(),
      {"back\\slash \\ud83d\\", "bell\a esc\x1b[31m del\x7f",
       "\xc2\x85 nel \xc2\x9b", "\u202edrow \u2028 \ufeff",
       "caf\xc3\xa9 \xf0\x9f\x98\x80",
       "\xf3\xa0\x80\x81\xf3\xa0\x81\x81 plane 14", "<b>&amp;</b> ]]> '\"",
       "[x](http://evil.example) ![i](http://evil.example/i.png)",
       "<script>alert(1)</script> @all www.evil.example a@evil.example",
       "cell | cell |\n|---|---|\n| row \\| end\\", "_em_ *em* ~~gone~~ #1"});
  return texts;
}

// A report with this text wherever untrusted text may occur.
Report ReportWith(const std::string& text) {
  Report report = GoldenMessage<Report>("reports/fail");
  report.set_cluster(text);
  report.add_notes(text);
  report.set_network_namespace(text);
  report.mutable_hosts(0)->set_host(text);
  report.mutable_hosts(3)->set_no_facts_reason(text);
  for (RuleResult& rule : *report.mutable_rules()) {
    for (Finding& finding : *rule.mutable_findings()) {
      finding.set_observed(text);
      finding.set_expected(text);
      finding.set_fix(text);
      finding.set_why(text);
      finding.add_subjects()->set_host(text);
    }
  }
  RuleResult& skipped = *report.add_rules();
  skipped.set_rule(text);
  skipped.set_category(text);
  skipped.set_state(SKIPPED);
  skipped.set_skip_reason(text);
  return report;
}

std::vector<Report> AllReports() {
  std::vector<Report> reports;
  for (const char* name : kReports) {
    reports.push_back(GoldenMessage<Report>(absl::StrCat("reports/", name)));
  }
  for (const auto& text : EvilTexts()) reports.push_back(ReportWith(text));
  return reports;
}

TEST(ReportFormatsTest, PrintAsInTheFiles) {
  for (const char* name : {"fail", "hostile"}) {
    const std::string path = absl::StrCat("reports/", name);
    const Report report = GoldenMessage<Report>(path);
    ExpectGolden(absl::StrCat(path, ".yaml"), MessageYaml(report));
    ExpectGolden(absl::StrCat(path, ".jsonl"), ReportLines(report));
    ExpectGolden(absl::StrCat(path, ".junit"), ReportJunit(report));
    ExpectGolden(absl::StrCat(path, ".markdown"),
                 ReportMarkdown(report, /*verbose=*/false));
  }
}

TEST(ReportFormatsTest, HoldNothingThatATerminalObeys) {
  for (const Report& report : AllReports()) {
    for (const std::string& text :
         {MessageYaml(report), ReportLines(report), ReportJunit(report),
          ReportMarkdown(report, /*verbose=*/true)}) {
      for (const absl::string_view line : absl::StrSplit(text, '\n')) {
        ASSERT_EQ(SafeText(line, /*utf8=*/true), line);
      }
    }
  }
}

// ---- YAML ----

// A YAML reader, by the rules of 1.1 and 1.2, takes the scalar for a text.
bool IsReadAsText(const YAML::Node& node) {
  if (node.Tag() == "!") return true;
  bool as_bool = false;
  double as_double = 0;
  int64_t as_number = 0;
  return node.IsScalar() && !node.Scalar().empty() &&
         !YAML::convert<bool>::decode(node, as_bool) &&
         !YAML::convert<double>::decode(node, as_double) &&
         !YAML::convert<int64_t>::decode(node, as_number);
}

// The place of the first difference; empty if there is none.
std::string Difference(const YAML::Node& yaml, const Value& json) {
  switch (json.kind_case()) {
    case Value::kStructValue: {
      const auto& fields = json.struct_value().fields();
      if (!yaml.IsMap() || yaml.size() != fields.size()) return "a map's size";
      for (const auto& [key, value] : fields) {
        const std::string why =
            yaml[key] ? Difference(yaml[key], value) : "missing";
        if (!why.empty()) return absl::StrCat(key, ": ", why);
      }
      return "";
    }
    case Value::kListValue: {
      const auto& list = json.list_value().values();
      if (!yaml.IsSequence() || static_cast<int>(yaml.size()) != list.size()) {
        return "a list's size";
      }
      for (int i = 0; i < list.size(); ++i) {
        const std::string why = Difference(yaml[i], list[i]);
        if (!why.empty()) return absl::StrCat(i, ": ", why);
      }
      return "";
    }
    case Value::kStringValue:
      if (!IsReadAsText(yaml)) return "no text";
      return yaml.Scalar() == json.string_value() ? "" : yaml.Scalar();
    case Value::kNumberValue:
      return !IsReadAsText(yaml) && yaml.as<double>() == json.number_value()
                 ? ""
                 : "no such number";
    case Value::kBoolValue:
      return !IsReadAsText(yaml) && yaml.as<bool>() == json.bool_value()
                 ? ""
                 : "no such bool";
    default:
      return "a null";
  }
}

TEST(MessageYamlTest, ParsesBackToTheValuesOfJson) {
  for (const Report& report : AllReports()) {
    Value json;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(
                    MessageJson(report), json.mutable_struct_value())
                    .ok());
    const std::string yaml = MessageYaml(report);
    ASSERT_EQ(Difference(YAML::Load(yaml), json), "") << yaml;
  }
}

// ---- Lines of JSON ----

Value ParseLine(const std::string& line) {
  Value value;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(
                  line, value.mutable_struct_value())
                  .ok())
      << line;
  return value;
}

template <typename Message>
Message FromLine(const std::string& line) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  Message message;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage(line, &message, options)
          .ok());
  return message;
}

TEST(ReportLinesTest, HasALineForTheReportEachFindingRuleAndHost) {
  for (const Report& report : AllReports()) {
    Lines expected = {"report"};
    for (const RuleResult& rule : report.rules()) {
      expected.insert(expected.end(), rule.findings_size(), "finding");
    }
    expected.insert(expected.end(), report.rules_size(), "rule");
    expected.insert(expected.end(), report.hosts_size(), "host");
    const std::string text = ReportLines(report);
    ASSERT_EQ(text.back(), '\n');
    Lines kinds;
    for (const std::string& line :
         Lines(absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
      const Value parsed = ParseLine(line);
      const auto& fields = parsed.struct_value().fields();
      kinds.push_back(fields.at("kind").string_value());
      EXPECT_EQ(fields.at("cluster").string_value(), report.cluster());
      EXPECT_EQ(fields.at("started_at_ms").string_value(),
                absl::StrCat(report.started_at_ms()));
    }
    ASSERT_EQ(kinds, expected);
  }
}

TEST(ReportLinesTest, KeepsAllOfEachPartAndTellsFindingsWhatTheirRuleSays) {
  Report report = GoldenMessage<Report>("reports/fail");
  report.set_spec_digest("\"rules\": [],\"findings\": [],");
  // A waiver of every host, whose empty list stays.
  report.mutable_rules(4)->mutable_findings(0)->mutable_waiver();
  const Lines lines = absl::StrSplit(ReportLines(report), '\n');
  EXPECT_EQ(FromLine<Report>(lines[0]).spec_digest(), report.spec_digest());
  EXPECT_EQ(FromLine<Report>(lines[0]).rule_counts().fail(), 2u);
  EXPECT_FALSE(absl::StrContains(lines[0], "\"hosts\""));
  const Value line = ParseLine(lines[5]);
  const RuleResult& rule = report.rules(4);
  Finding expected = rule.findings(0);
  EXPECT_EQ(expected.why(), "");
  expected.set_why(rule.why());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(
      FromLine<Finding>(lines[5]), expected))
      << lines[5];
  const auto& fields = line.struct_value().fields();
  EXPECT_EQ(fields.at("waiver").struct_value().fields().count("hosts"), 1u);
  EXPECT_EQ(fields.at("source").string_value(), "HCCL user guide");
  EXPECT_EQ(fields.at("category").string_value(), "device");
}

// ---- JUnit ----

struct Sums {
  int tests = 0;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  int64_t ms = 0;

  bool operator==(const Sums& other) const {
    return tests == other.tests && failures == other.failures &&
           errors == other.errors && skipped == other.skipped && ms == other.ms;
  }
};

int64_t Milliseconds(const char* seconds) {
  int64_t ms = -1;
  EXPECT_TRUE(absl::SimpleAtoi(absl::StrReplaceAll(seconds, {{".", ""}}), &ms));
  return ms;
}

Sums Declared(const pugi::xml_node& node) {
  return {
      node.attribute("tests").as_int(-1), node.attribute("failures").as_int(-1),
      node.attribute("errors").as_int(-1), node.attribute("skipped").as_int(-1),
      Milliseconds(node.attribute("time").value())};
}

Sums Counted(const pugi::xpath_node_set& cases) {
  Sums sums;
  for (const pugi::xpath_node& found : cases) {
    const pugi::xml_node node = found.node();
    ++sums.tests;
    sums.failures += node.child("failure") ? 1 : 0;
    sums.errors += node.child("error") ? 1 : 0;
    sums.skipped += node.child("skipped") ? 1 : 0;
    sums.ms += Milliseconds(node.attribute("time").value());
  }
  return sums;
}

class Junit {
 public:
  explicit Junit(const Report& report) : text_(ReportJunit(report)) {
    const auto parsed = document_.load_string(text_.c_str());
    EXPECT_TRUE(parsed) << parsed.description() << "\n" << text_;
  }

  const std::string& text() const { return text_; }
  const pugi::xml_document& document() const { return document_; }

  // The result of the case with this name: "pass" or the name of its child.
  std::string Of(const char* name) const {
    const pugi::xml_node found = Case(name);
    if (!found) return "none";
    return found.first_child() ? found.first_child().name() : "pass";
  }
  std::string Text(const char* name) const {
    return Case(name).first_child().text().get();
  }
  std::string Message(const char* name) const {
    return Case(name).first_child().attribute("message").value();
  }

 private:
  pugi::xml_node Case(const char* name) const {
    for (const auto& found : document_.select_nodes("//testcase")) {
      if (std::string(found.node().attribute("name").value()) == name) {
        return found.node();
      }
    }
    return {};
  }

  std::string text_;
  pugi::xml_document document_;
};

TEST(ReportJunitTest, CountsWhatItsCasesAre) {
  for (const Report& report : AllReports()) {
    const Junit junit(report);
    const pugi::xml_node all = junit.document().child("testsuites");
    EXPECT_TRUE(Declared(all) == Counted(all.select_nodes(".//testcase")))
        << junit.text();
    EXPECT_EQ(Declared(all).ms, static_cast<int64_t>(report.elapsed_ms()));
    for (const pugi::xml_node& suite : all.children("testsuite")) {
      EXPECT_TRUE(Declared(suite) == Counted(suite.select_nodes("testcase")))
          << junit.text();
    }
  }
}

TEST(ReportJunitTest, HasACaseForEachResultOfARule) {
  Report report = GoldenMessage<Report>("reports/fail");
  report.set_clusterd_version("0.1.0");
  report.set_spec_digest("ab12");
  MergeText("rule: 'optics' state: SKIPPED skip_reason: 'not asked for'",
            report.add_rules());
  const Junit junit(report);
  EXPECT_EQ(junit.Of("link: server1 device 3"), "failure");
  EXPECT_EQ(junit.Message("link: server1 device 3"), "DOWN");
  EXPECT_THAT(junit.Text("link: server1 device 3"),
              HasSubstr("expected: UP\nwhy: No collective"));
  EXPECT_EQ(junit.Of("link: server2 devices 0-7"), "error");
  EXPECT_EQ(junit.Of("link: server0"), "pass");
  EXPECT_EQ(junit.Of("listen-backlog: server[0-1]"), "system-out");
  EXPECT_THAT(junit.Text("listen-backlog: server[0-1]"),
              HasSubstr("warn: net.core.somaxconn = 4096\ndowngraded"));
  // The host without facts did not pass.
  EXPECT_EQ(junit.Of("ports-reserved: server[0-2]"), "pass");
  EXPECT_EQ(junit.Of("answer: server3"), "error");
  EXPECT_EQ(junit.Of("optics"), "skipped");
  EXPECT_EQ(junit.Message("optics"), "not asked for");
  const pugi::xml_node suite =
      junit.document().select_node("//testsuite[@name='device']").node();
  EXPECT_STREQ(suite.attribute("timestamp").value(), "2025-01-01T00:00:00");
  std::map<std::string, std::string> properties;
  for (const auto& node : suite.child("properties").children()) {
    properties[node.attribute("name").value()] =
        node.attribute("value").value();
  }
  EXPECT_EQ(properties["cluster"], "demo");
  EXPECT_EQ(properties["clusterd_version"], "0.1.0");
  EXPECT_EQ(properties["spec_digest"], "ab12");
}

TEST(ReportJunitTest, SaysOfNobodyThatItPassedWhatTheClusterFailed) {
  Report report = GoldenMessage<Report>("reports/fail");
  report.mutable_rules(5)->set_state(FAIL);
  report.mutable_rules(5)->mutable_findings(0)->set_state(FAIL);
  const Junit junit(report);
  EXPECT_EQ(junit.Of("cluster-size-power: cluster"), "failure");
  EXPECT_EQ(Counted(junit.document().select_nodes(
                        "//testcase[contains(@name,'cluster-size-power')]"))
                .tests,
            1);
}

TEST(ReportJunitTest, IsNoPassWhereTheReportIsNone) {
  Report report = GoldenMessage<Report>("reports/pass");
  report.clear_notes();
  EXPECT_EQ(Junit(report).Of("run"), "pass");
  Report failed = report;
  failed.mutable_rules(0)->set_state(FAIL);
  failed.mutable_rules(0)->set_summary("worse");
  EXPECT_EQ(Junit(failed).Of(failed.rules(0).rule().c_str()), "failure");
  Report doubted = report;
  doubted.set_verdict(UNKNOWN);
  EXPECT_EQ(Junit(doubted).Of("run"), "error");
  doubted.set_verdict(FAIL);
  EXPECT_EQ(Junit(doubted).Of("run"), "failure");
  Report partial = report;
  partial.set_partial(true);
  partial.add_notes("partial: stopped");
  EXPECT_EQ(Junit(partial).Of("run"), "error");
  EXPECT_EQ(Junit(partial).Text("run"), "partial: stopped");
  Report none;
  none.set_error("controller away");
  EXPECT_EQ(Junit(none).Message("run"), "controller away");
}

TEST(ReportJunitTest, GivesCasesOfOneRuleNamesOfTheirOwn) {
  Report report = GoldenMessage<Report>("reports/fail");
  *report.mutable_rules(4)->add_findings() = report.rules(4).findings(0);
  const Junit junit(report);
  EXPECT_EQ(junit.Of("link: server1 device 3"), "failure");
  EXPECT_EQ(junit.Of("link: server1 device 3 (2)"), "failure");
}

TEST(ReportJunitTest, HoldsOnlyCharactersThatXmlHas) {
  const Junit junit(
      ReportWith("\x01\x1b]]>\"'<&\xef\xbf\xbf\xef\xbf\xbe\ttab"));
  EXPECT_EQ(junit.Message("answer: server3"),
            "\\x01\\x1b]]>\"'<&\xef\xbf\xbd\xef\xbf\xbd\\ttab");
  // Only an attribute may have the text.
  EXPECT_THAT(junit.text(), HasSubstr(">found: \\x01\\x1b]]&gt;\"'&lt;&amp;"));
  EXPECT_THAT(junit.text(), Not(HasSubstr("\xef\xbf\xbf")));
}

// ---- Markdown ----

// A line without its code spans, as CommonMark finds them: a span ends at the
// next run of as many backticks as began it.
std::string WithoutCode(absl::string_view line) {
  std::string rest;
  for (size_t at = 0; at < line.size();) {
    if (line[at] != '`') {
      rest += line[at++];
      continue;
    }
    const auto run_at = [&line](size_t from) {
      const size_t end = line.find_first_not_of('`', from);
      return (end == absl::string_view::npos ? line.size() : end) - from;
    };
    const size_t run = run_at(at);
    size_t end = line.find('`', at + run);
    while (end != absl::string_view::npos && run_at(end) != run) {
      end = line.find('`', end + run_at(end));
    }
    if (end == absl::string_view::npos) return absl::StrCat(rest, "UNENDED");
    at = end + run;
    rest += "C";
  }
  return rest;
}

TEST(ReportMarkdownTest, QuotesEverythingThatAStrangerMayHaveSaid) {
  for (const std::string& text : EvilTexts()) {
    const std::string markdown =
        ReportMarkdown(ReportWith(text), /*verbose=*/true);
    int rows = 0;
    for (const std::string& line : Lines(absl::StrSplit(markdown, '\n'))) {
      const std::string own = WithoutCode(line);
      for (const char* sign :
           {"`", "<", "[", "*", "_", "\\", "://", "@", "UNENDED", "www", "~"}) {
        ASSERT_THAT(own, Not(HasSubstr(sign))) << line;
      }
      if (absl::StartsWith(line, "|")) {
        // A "|" within code ends a cell, too.
        ASSERT_EQ(std::count(line.begin(), line.end(), '|'), 6) << line;
        ++rows;
      }
    }
    ASSERT_EQ(rows, 2 + 6) << markdown;
  }
}

TEST(ReportMarkdownTest, SaysInWordsHowItStands) {
  const auto head = [](const Report& report) {
    const std::string text = ReportMarkdown(report, false);
    return text.substr(0, text.find('\n'));
  };
  Report report = GoldenMessage<Report>("reports/pass");
  report.set_cluster("demo");
  EXPECT_EQ(head(report), "## PASS: `demo` is ready");
  report.set_verdict(WARN);
  EXPECT_EQ(head(report), "## WARN: `demo` is ready, with warnings");
  report.set_verdict(UNKNOWN);
  report.set_partial(true);
  EXPECT_THAT(head(report), StartsWith("## UNKNOWN (partial): `demo` may "));
  report.set_job_id("slurm:7");
  report.set_error("away\nand gone");
  EXPECT_EQ(head(report),
            "## NO VERDICT (partial): `job slurm:7` on `demo` was not checked");
  EXPECT_THAT(ReportMarkdown(report, false),
              HasSubstr("- `away`\n- `and gone`\n"));
}

TEST(ReportMarkdownTest, NamesHostsAndRulesThatWereNotChecked) {
  Report report = GoldenMessage<Report>("reports/fail");
  for (const char* rule : {"optics", "speed"}) {
    RuleResult& skipped = *report.add_rules();
    MergeText("state: SKIPPED skip_reason: 'not asked for'", &skipped);
    skipped.set_rule(rule);
  }
  EXPECT_THAT(ReportMarkdown(report, false),
              HasSubstr("### Not looked at\n\n- `server3`: `never attached`\n"
                        "- 2 rules (`optics, speed`): `not asked for`\n"));
}

TEST(ReportMarkdownTest, FoldsTheManyFindingsOfARuleUnlessVerbose) {
  Report report = GoldenMessage<Report>("reports/fail");
  RuleResult& link = *report.mutable_rules(4);
  for (int i = 0; i < 6; ++i) {
    Finding& finding = *link.add_findings();
    finding = link.findings(0);
    finding.mutable_subjects(0)->set_host(absl::StrCat("node", i));
  }
  EXPECT_THAT(ReportMarkdown(report, false),
              HasSubstr("| × fail | `link` | `node[3-5] device 3` | 3 more "
                        "findings (--verbose has all) |  |\n"));
  EXPECT_THAT(ReportMarkdown(report, false),
              HasSubstr("- fails: `node[0-5],server1`\n"));
  EXPECT_THAT(ReportMarkdown(report, true), Not(HasSubstr("more findings")));
}

}  // namespace
}  // namespace clusterd
