#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/print/report_formats.h"
#include "config/report/finding_overview.h"
#include "config/report/verdict.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "pugixml.hpp"

namespace clusterd {
namespace {

struct TestCase {
  std::string rule;
  std::string who;  // Empty: the cluster.
  State state = PASS;
  std::string message;
  std::string text;
  uint64_t elapsed_ms = 0;
};
using TestCases = std::vector<TestCase>;

// Makes each line safe, and replaces two characters that XML forbids.
std::string XmlText(absl::string_view text) {
  return absl::StrReplaceAll(
      SafeLines(text, /*utf8=*/true),
      {{"\xef\xbf\xbe", "\xef\xbf\xbd"}, {"\xef\xbf\xbf", "\xef\xbf\xbd"}});
}

void SetAttribute(pugi::xml_node node, const char* name,
                  absl::string_view text) {
  node.append_attribute(name) = XmlText(SafeText(text, /*utf8=*/true)).c_str();
}

State WorstOf(const TestCases& cases) {
  State worst = PASS;
  for (const TestCase& each : cases) worst = WorseState(worst, each.state);
  return worst;
}

// A line per detail. Observed text may quote a host, but stays on one line.
std::string FindingLines(const RuleResult& rule, const Finding& finding) {
  const auto one = [](absl::string_view text) { return SafeText(text, true); };
  const std::string& why = finding.why().empty() ? rule.why() : finding.why();
  return JoinParts(
      "\n", {finding.downgraded() ? "downgraded from fail" : "",
             Part("found: ", one(finding.observed())),
             Part("expected: ", one(finding.expected())),
             Part("cause: ", one(finding.caused_by())), Part("why: ", why),
             Part("fix: ", finding.fix()), Part("source: ", rule.source()),
             Part("more: clusterctl explain ", one(rule.rule()))});
}

// `answered`: the hosts with facts.
TestCases CasesOf(const RuleResult& rule,
                  const std::vector<std::string>& answered) {
  const State state = KnownState(rule.state());
  TestCases cases;
  std::set<std::string> named;
  for (const Finding& finding : rule.findings()) {
    cases.push_back({rule.rule(),
                     SubjectsText(finding.subjects(), kUnbounded, kUnbounded),
                     KnownState(finding.state()), finding.observed(),
                     FindingLines(rule, finding)});
    for (const Subject& subject : finding.subjects()) {
      named.insert(subject.host());
    }
    if (finding.subjects().empty()) named.insert("");
  }
  const State worst = WorstOf(cases);
  const bool is_shown = WorseState(worst, state) == worst;
  if (!is_shown) {
    cases.push_back({rule.rule(), "", state,
                     state == SKIPPED ? rule.skip_reason() : rule.summary(),
                     ""});
  }
  std::vector<std::string> passed;
  for (const std::string& host : answered) {
    if (named.count(host) == 0) passed.push_back(host);
  }
  const bool has_passed = is_shown && state != SKIPPED && named.count("") == 0;
  if (cases.empty() || (has_passed && !passed.empty())) {
    cases.push_back({rule.rule(), HostsText(passed, kUnbounded), PASS, "", ""});
  }
  return cases;
}

// Cases for answers, and for a verdict without a rule. `worst`: of all rules.
TestCases RunCases(const Report& report, State worst,
                   const std::vector<std::string>& answered) {
  const auto absent = SilentHosts(report);
  TestCase whole;
  whole.rule = "run";
  whole.text = absl::StrJoin(report.notes(), "\n");
  whole.elapsed_ms = report.elapsed_ms();
  const State verdict = SupportedVerdict(report);
  if (!absent.empty()) worst = WorseState(worst, UNKNOWN);
  if (!report.error().empty()) {
    whole.state = UNKNOWN;
    whole.message = report.error();
  } else if (report.partial()) {
    whole.state = UNKNOWN;
    whole.message = "partial: not every host had answered";
  } else if (IsTrouble(verdict) && WorseState(worst, verdict) != worst) {
    whole.state = verdict;
    whole.message = absl::StrCat("the verdict is ", StateWord(verdict));
  }
  TestCases cases = {whole};
  for (const auto& [why, hosts] : absent) {
    cases.push_back({"answer", HostsText(hosts, kUnbounded), UNKNOWN, why, ""});
  }
  if (!answered.empty()) {
    cases.push_back({"answer", HostsText(answered, kUnbounded), PASS, "", ""});
  }
  return cases;
}

FirstSeen<std::string, TestCases> Suites(const Report& report) {
  std::vector<std::string> answered;
  for (const HostStatus& host : report.hosts()) {
    if (host.no_facts_reason().empty()) answered.push_back(host.host());
  }
  FirstSeen<std::string, TestCases> suites;
  suites["check"] = {};
  State worst = PASS;
  for (const RuleResult& rule : report.rules()) {
    const TestCases cases = CasesOf(rule, answered);
    worst = WorseState(worst, WorstOf(cases));
    TestCases& suite =
        suites[rule.category().empty() ? "other" : rule.category()];
    suite.insert(suite.end(), cases.begin(), cases.end());
  }
  const TestCases of_run = RunCases(report, worst, answered);
  TestCases& first = suites["check"];
  first.insert(first.begin(), of_run.begin(), of_run.end());
  return suites;
}

std::string Seconds(uint64_t ms) {
  return absl::StrFormat("%d.%03d", ms / 1000, ms % 1000);
}

void WriteCounts(const Report& report, const std::string& name,
                 const TestCases& cases, pugi::xml_node node) {
  std::map<State, size_t> count;
  uint64_t elapsed_ms = 0;
  for (const TestCase& each : cases) {
    ++count[each.state];
    elapsed_ms += each.elapsed_ms;
  }
  SetAttribute(node, "name", name);
  SetAttribute(node, "tests", absl::StrCat(cases.size()));
  SetAttribute(node, "failures", absl::StrCat(count[FAIL]));
  SetAttribute(node, "errors", absl::StrCat(count[UNKNOWN]));
  SetAttribute(node, "skipped", absl::StrCat(count[SKIPPED]));
  SetAttribute(node, "time", Seconds(elapsed_ms));
  SetAttribute(node, "timestamp",
               absl::FormatTime("%Y-%m-%dT%H:%M:%S",
                                absl::FromUnixMillis(report.started_at_ms()),
                                absl::UTCTimeZone()));
}

void WriteText(pugi::xml_node node, const std::string& text) {
  if (!text.empty()) node.text().set(XmlText(text).c_str());
}

void WriteCase(pugi::xml_node node, const std::string& suite,
               const std::string& title, const TestCase& each) {
  SetAttribute(node, "classname",
               absl::StrCat("clusterd.", suite, ".", each.rule));
  SetAttribute(node, "name", title);
  SetAttribute(node, "time", Seconds(each.elapsed_ms));
  static const std::map<State, const char*> kElements = {
      {FAIL, "failure"}, {UNKNOWN, "error"}, {SKIPPED, "skipped"}};
  const auto element = kElements.find(each.state);
  if (element != kElements.end()) {
    pugi::xml_node result = node.append_child(element->second);
    SetAttribute(result, "message", each.message);
    if (each.state != SKIPPED) {
      SetAttribute(result, "type", StateWord(each.state));
    }
    WriteText(result, each.text);
  } else if (!each.text.empty() || !each.message.empty()) {
    WriteText(node.append_child("system-out"),
              absl::StrCat(StateWord(each.state), Part(": ", each.message),
                           Part("\n", each.text)));
  }
}

void WriteSuite(const Report& report, const std::string& name,
                const TestCases& cases, pugi::xml_node suite) {
  WriteCounts(report, name, cases, suite);
  pugi::xml_node properties = suite.append_child("properties");
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, std::string>>{
           {"cluster", report.cluster()},
           {"product", report.product()},
           {"run_id", report.run_id()},
           {"spec_digest", report.spec_digest()},
           {"clusterd_version", report.clusterd_version()},
           {"schema_version", absl::StrCat(report.schema_version())},
           {"network_namespace", report.network_namespace()},
           {"job_id", report.job_id()}}) {
    if (value.empty()) continue;
    pugi::xml_node property = properties.append_child("property");
    SetAttribute(property, "name", key);
    SetAttribute(property, "value", value);
  }
  std::map<std::string, int> met;
  for (const TestCase& each : cases) {
    std::string title = absl::StrCat(each.rule, Part(": ", each.who));
    const int times = ++met[title];
    // Readers keep only one of the cases with the same name.
    if (times > 1) absl::StrAppend(&title, " (", times, ")");
    WriteCase(suite.append_child("testcase"), name, title, each);
  }
}

}  // namespace

std::string ReportJunit(const Report& report) {
  pugi::xml_document document;
  pugi::xml_node head = document.append_child(pugi::node_declaration);
  head.append_attribute("version") = "1.0";
  head.append_attribute("encoding") = "UTF-8";
  pugi::xml_node all = document.append_child("testsuites");
  const auto suites = Suites(report);
  TestCases total;
  for (const auto& [name, cases] : suites) {
    total.insert(total.end(), cases.begin(), cases.end());
  }
  WriteCounts(report, report.cluster(), total, all);
  for (const auto& [name, cases] : suites) {
    WriteSuite(report, name, cases, all.append_child("testsuite"));
  }
  std::ostringstream out;
  document.save(out, " ", pugi::format_default, pugi::encoding_utf8);
  return out.str();
}

}  // namespace clusterd
