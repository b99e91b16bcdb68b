// Compares the Python packages of a job's hosts with requirements.txt.
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
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxShown = 200;
constexpr char kTorch[] = "torch";
constexpr char kTorchNpu[] = "torch-npu";

// CANN and torch_npu, as the vendor publishes them together.
constexpr std::pair<absl::string_view, absl::string_view> kPublished[] = {
#include "config/rules/texts/torch_npu.inc"
};

void AddOnce(FindingValue words, std::vector<FindingValue>* all) {
  const std::string text = words.SerializeAsString();
  const bool is_there = absl::c_any_of(*all, [&text](const auto& each) {
    return each.SerializeAsString() == text;
  });
  if (!is_there) all->push_back(std::move(words));
}

// Metadata without a version, and the separator of several versions; neither is
// an understood version.
constexpr char kNoVersion[] = "?";
constexpr char kOr[] = "/";

class PythonJudge {
 public:
  PythonJudge(const JobSpec& job, RuleReport& report)
      : job_(job),
        report_(report),
        wanted_(ParseRequirements(job.requirements())) {}

  void Judge(const HostView& host) {
    const PythonFact& fact = host.facts->python();
    // Each has a finding of its own, because the repairs differ.
    for (const auto& [reason, finding] :
         {std::pair(Missing::ABSENT, "no-interpreter"),
          std::pair(Missing::NOT_PERMITTED, "not-readable"),
          std::pair(Missing::NOT_QUERIED, "not-queried")}) {
      if (fact.missing().reason() != reason) continue;
      return report_.Add(host, finding,
                         PrintableWords(DetailOf(fact.missing())),
                         PrintableText(job_.user()));
    }
    if (!report_.Knows(host, Worded("python-packages"), fact)) return;
    report_.Judged(host);
    Versions found;
    for (const PythonPackage& package : fact.value().packages()) {
      const std::string version = package.version().empty()
                                      ? kNoVersion
                                      : PrintableText(package.version());
      std::string& versions = found[package.name()];
      if (versions == version) continue;
      absl::StrAppend(&versions, versions.empty() ? "" : kOr, version);
    }
    JudgeRequirements(host, found);
    JudgePair(host, found[kTorchNpu], found[kTorch]);
    found["Python"] = PrintableText(fact.value().version());
    for (const auto& [name, version] : found) {
      if (version.empty()) continue;
      hosts_[name][version].emplace_back(host.name);
    }
  }

  // After all hosts.
  void Conclude() {
    for (const auto& [name, versions] : hosts_) {
      if (versions.size() < 2) continue;
      report_.Add(
          report_.Named("differs", PrintableText(name), ByHosts(versions)));
    }
    if (!wanted_.unread.empty()) {
      report_.Add(
          report_.Named("not-judged", Listed(wanted_.unread, kMaxShown)));
    }
    for (const auto& [what, texts] :
         {std::pair("python-ignored", &wanted_.ignored),
          std::pair("python-unpublished", &unpublished_)}) {
      if (!texts->empty()) report_.Note(what, Listed(*texts, kMaxShown));
    }
    const PythonQuestion asked = MakePythonQuestion(job_);
    const std::string all = absl::StrCat(asked.path(), ":", asked.user_base());
    std::vector<std::string> relative =
        absl::StrSplit(all, ':', absl::SkipEmpty());
    DropIf(&relative,
           [](const auto& folder) { return absl::StartsWith(folder, "/"); });
    if (relative.empty()) return;
    report_.Note("python-relative",
                 PrintableText(absl::StrJoin(relative, " ")));
  }

 private:
  // Keyed by package; several have kOr between them.
  using Versions = std::map<std::string, std::string>;

  void JudgeRequirements(const HostView& host, const Versions& found) {
    std::map<absl::string_view, std::vector<std::string>> wrong;
    for (const Requirement& each : wanted_.packages) {
      const auto applies =
          each.marker.empty()
              ? true
              : MeetsMarker(each.marker, host.facts->python().value().version(),
                            host.facts->identity().architecture().value());
      if (!applies) {
        const std::string text =
            absl::StrCat(each.name, " ; ", PrintableText(each.marker));
        AddOnce(Worded("line-text", each.line, text), &wanted_.unread);
      }
      if (applies != true) continue;
      const auto there = found.find(each.name);
      if (there == found.end()) {
        wrong["lacks"].push_back(
            absl::StrCat(each.name, PrintableText(each.specifiers)));
        continue;
      }
      const auto meets = MeetsSpecifiers(there->second, each.specifiers);
      if (meets == true) continue;
      const std::string text = absl::StrCat(each.name, " ", there->second);
      if (!meets) {
        wrong["unclear"].push_back(text);
      } else {
        wrong["other-version"].push_back(
            absl::StrCat(text, " (", PrintableText(each.specifiers), ")"));
      }
    }
    for (const auto& [finding, packages] : wrong) {
      report_.Add(host, finding, Listed(packages, kMaxShown),
                  PrintableText(job_.python()));
    }
  }

  // torch_npu is published for the PyTorch of its first three numbers.
  void JudgePair(const HostView& host, const std::string& npu,
                 const std::string& torch) {
    static const LazyRE2 kNumbers = {R"((\d+\.\d+\.\d+).*)"};
    if (npu.empty()) return;
    if (torch.empty()) {
      return report_.Add(host, "no-torch", npu, PrintableText(job_.python()));
    }
    const std::string& cann = host.facts->versions().cann().value();
    const auto row = absl::c_find_if(kPublished, [&](const auto& each) {
      return MeetsSpecifiers(npu, absl::StrCat("==", each.second)) == true;
    });
    if (row == std::end(kPublished)) {
      return AddOnce(ToFindingValue(absl::StrCat("torch_npu ", npu)),
                     &unpublished_);
    }
    std::string wanted;
    HasForm(row->second, *kNumbers, &wanted);
    if (MeetsSpecifiers(torch, "==" + wanted) != true) {
      report_.Add(host, "pair", npu, torch, wanted);
    }
    if (absl::EqualsIgnoreCase(cann, row->first)) return;
    AddOnce(cann.empty() ? Worded("python-npu-cann-not-known", npu, row->first)
                         : Worded("python-npu-other-cann", npu,
                                  PrintableText(cann), row->first),
            &unpublished_);
  }

  const JobSpec& job_;
  RuleReport& report_;
  Requirements wanted_;
  std::vector<FindingValue> unpublished_;
  // Keyed by package and version.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> hosts_;
};

}  // namespace

PythonQuestion MakePythonQuestion(const JobSpec& job) {
  PythonQuestion question;
  question.set_user(job.user());
  question.set_interpreter(job.python());
  for (const EnvironmentVariable& each : job.environment()) {
    if (each.name() == "PYTHONPATH") question.set_path(each.value());
    if (each.name() == "PYTHONUSERBASE") question.set_user_base(each.value());
    if (each.name() != "PYTHONNOUSERSITE") continue;
    question.set_no_user_site(!each.value().empty());
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
    return report.SkipFor("job-no-python");
  }
  if (job.python().empty() || job.user().empty()) {
    return report.Add(
        report.Named("not-asked", job.python().empty() ? "python" : "user"));
  }
  PythonJudge judge(job, report);
  for (const HostView& host : view.hosts()) judge.Judge(host);
  judge.Conclude();
}

}  // namespace clusterd
