#include <limits>
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

constexpr int kAllNames = std::numeric_limits<int>::max();

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
                     SubjectsText(finding.subjects(), kAllNames, kAllNames),
                     KnownState(finding.state()), finding.observed(),
                     FindingLines(rule, finding)});
    for (const Subject& subject : finding.subjects()) {
      named.insert(subject.host());
    }
    if (finding.subjects().empty()) named.insert("");
  }
  const State worst = WorstOf(cases);
  const bool is_told = WorseState(worst, state) == worst;
  if (!is_told) {
    cases.push_back({rule.rule(), "", state,
                     state == SKIPPED ? rule.skip_reason() : rule.summary(),
                     ""});
  }
  std::vector<std::string> passed;
  for (const std::string& host : answered) {
    if (named.count(host) == 0) passed.push_back(host);
  }
  const bool has_passed = is_told && state != SKIPPED && named.count("") == 0;
  if (cases.empty() || (has_passed && !passed.empty())) {
    cases.push_back({rule.rule(), HostsText(passed, kAllNames), PASS, "", ""});
  }
  return cases;
}

// Cases for answers, and for a verdict without a rule. `worst` of all rules.
TestCases RunCases(const Report& report, State worst,
                   const std::vector<std::string>& answered) {
  const auto absent = SilentHosts(report);
  TestCase whole = {"run",
                    "",
                    PASS,
                    "",
                    absl::StrJoin(report.notes(), "\n"),
                    report.elapsed_ms()};
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
    cases.push_back({"answer", HostsText(hosts, kAllNames), UNKNOWN, why, ""});
  }
  if (!answered.empty()) {
    cases.push_back({"answer", HostsText(answered, kAllNames), PASS, "", ""});
  }
  return cases;
}

// Writes one report; lives for one call.
class JunitWriter {
 public:
  explicit JunitWriter(const Report& report) : report_(report) {}

  std::string Text() {
    pugi::xml_node head = document_.append_child(pugi::node_declaration);
    head.append_attribute("version") = "1.0";
    head.append_attribute("encoding") = "UTF-8";
    pugi::xml_node all = document_.append_child("testsuites");
    const auto suites = Suites();
    TestCases total;
    for (const auto& [name, cases] : suites) {
      total.insert(total.end(), cases.begin(), cases.end());
    }
    WriteCounts(all, report_.cluster(), total);
    for (const auto& [name, cases] : suites) {
      WriteSuite(all.append_child("testsuite"), name, cases);
    }
    std::ostringstream out;
    document_.save(out, " ", pugi::format_default, pugi::encoding_utf8);
    return out.str();
  }

 private:
  FirstSeen<std::string, TestCases> Suites() const {
    std::vector<std::string> answered;
    for (const HostStatus& host : report_.hosts()) {
      if (host.no_facts_reason().empty()) answered.push_back(host.host());
    }
    FirstSeen<std::string, TestCases> suites;
    suites["check"] = {};
    State worst = PASS;
    for (const RuleResult& rule : report_.rules()) {
      const TestCases cases = CasesOf(rule, answered);
      worst = WorseState(worst, WorstOf(cases));
      TestCases& suite =
          suites[rule.category().empty() ? "other" : rule.category()];
      suite.insert(suite.end(), cases.begin(), cases.end());
    }
    const TestCases of_run = RunCases(report_, worst, answered);
    TestCases& first = suites["check"];
    first.insert(first.begin(), of_run.begin(), of_run.end());
    return suites;
  }

  void WriteCounts(pugi::xml_node node, const std::string& name,
                   const TestCases& cases) const {
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
                                  absl::FromUnixMillis(report_.started_at_ms()),
                                  absl::UTCTimeZone()));
  }

  static std::string Seconds(uint64_t ms) {
    return absl::StrFormat("%d.%03d", ms / 1000, ms % 1000);
  }

  void WriteSuite(pugi::xml_node suite, const std::string& name,
                  const TestCases& cases) const {
    WriteCounts(suite, name, cases);
    pugi::xml_node properties = suite.append_child("properties");
    for (const auto& [key, value] : std::map<const char*, std::string>{
             {"cluster", report_.cluster()},
             {"product", report_.product()},
             {"run_id", report_.run_id()},
             {"spec_digest", report_.spec_digest()},
             {"clusterd_version", report_.clusterd_version()},
             {"schema_version", absl::StrCat(report_.schema_version())},
             {"network_namespace", report_.network_namespace()},
             {"job_id", report_.job_id()}}) {
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

  static void WriteCase(pugi::xml_node node, const std::string& suite,
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

  static void WriteText(pugi::xml_node node, const std::string& text) {
    if (!text.empty()) node.text().set(XmlText(text).c_str());
  }

  const Report& report_;
  pugi::xml_document document_;
};

}  // namespace

std::string ReportJunit(const Report& report) {
  return JunitWriter(report).Text();
}

}  // namespace clusterd
