// Whether the hosts of a job have what its requirements.txt asks for, alike.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/hccl/python_packages.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxShown = 6;
constexpr int kHostsColumns = 48;
constexpr char kTorch[] = "torch";
constexpr char kTorchNpu[] = "torch-npu";

// CANN, and what the vendor publishes torch_npu of for it; the first three
// numbers are PyTorch's (sources: the rule's row).
constexpr std::pair<absl::string_view, absl::string_view> kPublished[] = {
    {"9.1.0", "2.12.0 2.11.0 2.10.0.post4 2.9.0.post6 2.7.1.post8"},
    {"9.0.0", "2.9.0.post2 2.8.0.post4 2.7.1.post4"},
    {"8.5.0", "2.9.0 2.8.0.post2 2.7.1.post2 2.6.0.post5"},
    {"8.3.RC1", "2.8.0 2.7.1 2.6.0.post3 2.1.0.post17"},
    {"8.2.RC1", "2.6.0 2.5.1.post1 2.1.0.post13"},
    {"8.1.RC1", "2.5.1 2.4.0.post4 2.3.1.post6 2.1.0.post12"},
    {"8.0.0", "2.4.0.post2 2.3.1.post4 2.1.0.post10"},
    {"8.0.RC3", "2.4.0 2.3.1.post2 2.1.0.post8"},
    {"8.0.RC2", "2.3.1 2.2.0.post2 2.1.0.post6 1.11.0.post14"},
    {"8.0.RC1", "2.2.0 2.1.0.post4 2.1.0.post3 1.11.0.post11"},
    {"7.0.0", "2.1.0 2.0.1.post1 1.11.0.post8"},
    {"7.0.RC1", "2.1.0.rc1 2.0.1 1.11.0.post4"},
    {"6.3.RC3.1", "1.11.0.post3"},
    {"6.3.RC3", "1.11.0.post2"},
    {"6.3.RC2", "2.0.1.rc1 1.11.0.post1 1.8.1.post2"},
    {"6.3.RC1", "1.11.0 1.8.1.post1"},
    {"6.0.1", "1.11.0.rc2 1.8.1 1.5.0.post8"},
    {"6.0.RC1", "1.11.0.rc1 1.8.1.rc3 1.5.0.post7"}};

class PythonJudge {
 public:
  PythonJudge(const JobSpec& job, RuleReport& report)
      : job_(job),
        report_(report),
        wanted_(ParseRequirements(job.requirements())),
        unread_(wanted_.unread) {}

  void Judge(const HostView& host) {
    const PythonFact& fact = host.facts->python();
    if (fact.missing().reason() == Missing::ABSENT) {
      return report_.Add(host, "no-interpreter",
                         PrintableText(fact.missing().detail()));
    }
    if (!report_.Knows(host, "packages of its Python", fact)) return;
    report_.Judged(host);
    Versions found;
    for (const PythonPackage& package : fact.value().packages()) {
      found[package.name()].insert(package.version().empty()
                                       ? "without a version"
                                       : PrintableText(package.version()));
    }
    JudgeRequirements(host, found);
    JudgePair(host, found);
    found["Python"].insert(PrintableText(fact.value().version()));
    for (const auto& [name, versions] : found) {
      hosts_[name][absl::StrJoin(versions, " and ")].emplace_back(host.name);
    }
  }

  // After all hosts.
  void Conclude() {
    for (const auto& [name, versions] : hosts_) {
      if (versions.size() < 2) continue;
      std::vector<std::string> texts;
      for (const auto& [version, hosts] : versions) {
        texts.push_back(
            absl::StrCat(version, " on ", HostsText(hosts, kHostsColumns)));
      }
      report_.Add(report_.Text("differs", PrintableText(name),
                               FirstOf(texts, kMaxShown)));
    }
    if (!unread_.empty()) {
      report_.Add(report_.Text("not-judged", FirstOf(unread_, kMaxShown)));
    }
    if (!wanted_.ignored.empty()) {
      report_.AddNote("not judged: ", FirstOf(wanted_.ignored, kMaxShown));
    }
    if (pairs_.empty()) return;
    report_.AddNote(
        "not published: ",
        FirstOf(std::vector<std::string>(pairs_.begin(), pairs_.end()),
                kMaxShown));
  }

 private:
  using Versions = std::map<std::string, std::set<std::string>>;

  void JudgeRequirements(const HostView& host, const Versions& found) {
    std::vector<std::string> lacking, others, unclear;
    const PythonPlatform platform = {
        host.facts->python().value().version(),
        host.facts->identity().architecture().value()};
    for (const Requirement& each : wanted_.packages) {
      if (!each.marker.empty()) {
        const auto applies = MeetsMarker(each.marker, platform);
        if (!applies) AddUnread(each);
        if (applies != true) continue;
      }
      const auto versions = found.find(each.name);
      if (versions == found.end()) {
        lacking.push_back(absl::StrCat(each.name, each.specifiers));
        continue;
      }
      const std::string& version = *versions->second.begin();
      const auto meets = versions->second.size() > 1
                             ? std::nullopt
                             : MeetsSpecifiers(version, each.specifiers);
      const std::string text = absl::StrCat(
          each.name, " ", absl::StrJoin(versions->second, " and "));
      if (!meets) {
        unclear.push_back(text);
      } else if (!*meets) {
        others.push_back(absl::StrCat(text, " (", each.specifiers, ")"));
      }
    }
    for (const auto& [name, list] :
         {std::pair("lacks", &lacking), std::pair("other-version", &others),
          std::pair("unclear", &unclear)}) {
      if (list->empty()) continue;
      report_.Add(host, name, PrintableText(FirstOf(*list, kMaxShown), 400),
                  PrintableText(job_.python()));
    }
  }

  void AddUnread(const Requirement& each) {
    const std::string text = absl::StrCat("line ", each.line, ": ", each.name,
                                          " ; ", PrintableText(each.marker));
    if (!absl::c_linear_search(unread_, text)) unread_.push_back(text);
  }

  void JudgePair(const HostView& host, const Versions& found) {
    static const LazyRE2 kNumbers = {R"((\d+\.\d+\.\d+).*)"};
    const auto npu = found.find(kTorchNpu);
    if (npu == found.end() || npu->second.size() > 1) return;
    const std::string& version = *npu->second.begin();
    const std::string& cann = host.facts->versions().cann().value();
    for (const auto& [published, versions] : kPublished) {
      for (const absl::string_view each : absl::StrSplit(versions, ' ')) {
        if (MeetsSpecifiers(version, absl::StrCat("==", each)) != true)
          continue;
        std::string torch;
        HasForm(each, *kNumbers, &torch);
        const auto there = found.find(kTorch);
        const std::string has =
            there == found.end() ? "" : *there->second.begin();
        if (!has.empty() && MeetsSpecifiers(has, "==" + torch) == false) {
          report_.Add(host, "pair", version, has, torch);
        }
        if (!absl::EqualsIgnoreCase(cann, published)) {
          pairs_.insert(absl::StrCat(
              "torch_npu ", version, " with CANN ",
              cann.empty() ? "that is not known" : PrintableText(cann),
              ", but with ", published));
        }
        return;
      }
    }
    pairs_.insert(absl::StrCat("torch_npu ", version));
  }

  const JobSpec& job_;
  RuleReport& report_;
  const Requirements wanted_;
  std::vector<std::string> unread_;
  std::set<std::string> pairs_;
  // By package and version.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> hosts_;
};

}  // namespace

PythonQuestion MakePythonQuestion(const JobSpec& job) {
  PythonQuestion question;
  question.set_user(job.user());
  question.set_interpreter(job.python());
  for (const EnvironmentVariable& each : job.environment()) {
    if (each.name() == "PYTHONPATH") question.set_path(each.value());
  }
  std::set<std::string> names = {kTorch, kTorchNpu};
  for (const Requirement& each :
       ParseRequirements(job.requirements()).packages) {
    names.insert(each.name);
  }
  question.mutable_names()->Assign(names.begin(), names.end());
  return question;
}

void CheckJobPython(const ClusterView& view, RuleReport& report) {
  const JobSpec& job = *view.job();
  if (job.python().empty() && job.requirements().empty()) {
    return report.ExplainSkip("the job names no python and no requirements");
  }
  if (job.python().empty() || job.user().empty()) {
    return report.Add(
        report.Text("not-asked", job.python().empty() ? "python" : "user"));
  }
  PythonJudge judge(job, report);
  for (const HostView& host : view.hosts()) judge.Judge(host);
  judge.Conclude();
}

}  // namespace clusterd
