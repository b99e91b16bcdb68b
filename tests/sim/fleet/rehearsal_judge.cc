#include "tests/sim/fleet/rehearsal_judge.h"

#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/plan/waves.h"
#include "config/rules/catalogue.h"
#include "config/words/number_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int kHostColumns = 40;
constexpr size_t kMostLines = 12;

using Hosts = std::set<std::string>;

// Lines about hosts; those of several hosts with the same text are one.
class Lines {
 public:
  void Add(const std::string& host, const std::string& text) {
    if (by_text_.count(text) == 0) order_.push_back(text);
    by_text_[text].push_back(host);
  }
  void AddTo(std::vector<std::string>* lines) const {
    for (size_t i = 0; i < order_.size() && i < kMostLines; ++i) {
      lines->push_back(absl::StrCat(
          HostsText(by_text_.at(order_[i]), kHostColumns), ": ", order_[i]));
    }
    if (order_.size() > kMostLines) {
      lines->push_back(
          absl::StrCat("and ", order_.size() - kMostLines, " more"));
    }
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, std::vector<std::string>> by_text_;
};

bool IsWrong(State state) {
  return state == WARN || state == FAIL || state == UNKNOWN;
}
bool IsBad(State state) { return state == FAIL || state == UNKNOWN; }

std::string FindingText(const Finding& finding,
                        const std::vector<uint32_t>& devices) {
  std::string text =
      absl::StrCat(StateWord(finding.state()), " ", finding.rule());
  if (!devices.empty()) absl::StrAppend(&text, ", ", DevicesText(devices));
  absl::StrAppend(&text, ": ", finding.observed());
  if (!finding.expected().empty()) {
    absl::StrAppend(&text, ", expected ", finding.expected());
  }
  return text;
}

// A check's findings for each host: the finding's key, and its text. Findings
// that another one explains are left out.
using Said = std::map<std::string, std::map<std::string, std::string>>;

Said SaidOf(const Report& report, bool with_observed) {
  Said said;
  for (const RuleResult& rule : report.rules()) {
    for (const Finding& finding : rule.findings()) {
      if (!finding.caused_by().empty() || !IsWrong(finding.state())) continue;
      // It measures the machine that rehearses, and how busy that is.
      if (finding.finding() == "peer-not-answered") continue;
      for (const Subject& subject : finding.subjects()) {
        const std::vector<uint32_t> devices(subject.devices().begin(),
                                            subject.devices().end());
        const std::string text = FindingText(finding, devices);
        const std::string key =
            with_observed ? text
                          : absl::StrCat(finding.rule(), " ", finding.state(),
                                         " ", absl::StrJoin(devices, ","));
        said[subject.host()].emplace(key, text);
      }
    }
  }
  return said;
}

// Lines that are in `some` and not in `all`.
std::vector<std::string> Beyond(const std::map<std::string, std::string>& some,
                                const std::map<std::string, std::string>& all) {
  std::vector<std::string> texts;
  for (const auto& [key, text] : some) {
    if (all.count(key) == 0) texts.push_back(text);
  }
  return texts;
}

std::string OutcomeText(const ApplyResult& result) {
  std::string text = absl::AsciiStrToLower(absl::StrReplaceAll(
      ApplyResult::Outcome_Name(result.outcome()), {{"_", " "}}));
  if (!result.error().empty()) absl::StrAppend(&text, ": ", result.error());
  for (const std::string& residue : result.residues()) {
    absl::StrAppend(&text, "; left over: ", residue);
  }
  return text;
}

bool EndedWell(const ApplyResult& result) {
  return result.outcome() == ApplyResult::APPLIED ||
         result.outcome() == ApplyResult::NOTHING_TO_DO ||
         result.outcome() == ApplyResult::ROLLED_BACK;
}

// True if a server with faults may end so: it is as it was before.
bool IsContained(const ApplyResult& result) {
  return result.residues().empty() &&
         (EndedWell(result) || result.outcome() == ApplyResult::UNDONE ||
          result.outcome() == ApplyResult::REFUSED ||
          result.outcome() == ApplyResult::NOT_STARTED);
}

const ApplyResult* Find(const ApplyReport& report, const std::string& host) {
  for (const ApplyResult& result : report.hosts()) {
    if (result.host() == host) return &result;
  }
  return nullptr;
}

void JudgeFresh(const Rehearsal& of, RehearsalVerdict* verdict) {
  Lines silent;
  for (const HostStatus& host : of.fresh.hosts()) {
    if (host.no_facts_reason().empty()) continue;
    silent.Add(host.host(),
               absl::StrCat("no facts at first: ", host.no_facts_reason()));
  }
  silent.AddTo(&verdict->wrong);
  if (of.fresh.hosts_size() == 0) {
    verdict->wrong.push_back(
        absl::StrCat("the first check: no report ", of.fresh.error()));
  }
}

// Steps that the plan leaves out do not matter if the servers pass.
void TellBlocked(const Rehearsal& of, RehearsalVerdict* verdict) {
  Lines blocked;
  for (const HostPlan& host : of.plan.hosts()) {
    for (const BlockedChange& change : host.blocked()) {
      blocked.Add(host.host(), absl::StrCat("plan: ", change.what(),
                                            " is blocked: ", change.reason()));
    }
  }
  blocked.AddTo(&verdict->notes);
}

void JudgeApply(const Rehearsal& of, RehearsalVerdict* verdict) {
  const auto count = static_cast<size_t>(of.apply.hosts_size());
  const Waves waves(count, of.apply.canary(), of.apply.wave_size());
  Lines wrong;
  bool stopped = false;
  for (size_t wave = 0; wave < waves.count(); ++wave) {
    bool stops = false;
    for (size_t i = waves.begin(wave); i < waves.begin(wave + 1); ++i) {
      const ApplyResult& host = of.apply.hosts(static_cast<int>(i));
      const bool not_started = host.outcome() == ApplyResult::NOT_STARTED;
      const bool faulted = of.faulted.count(host.host()) > 0;
      stops = stops || !EndedWell(host);
      if (stopped ? not_started
                  : EndedWell(host) ||
                        (faulted && IsContained(host) && !not_started)) {
        continue;
      }
      wrong.Add(host.host(),
                absl::StrCat("apply: ", OutcomeText(host),
                             stopped ? ", behind a wave that failed" : ""));
    }
    stopped = stopped || stops;
  }
  wrong.AddTo(&verdict->wrong);
}

// Servers that need not pass: those with faults, and those that the apply did
// not reach.
Hosts ExcusedHosts(const Rehearsal& of) {
  Hosts excused = of.faulted;
  for (const ApplyResult& host : of.apply.hosts()) {
    if (!EndedWell(host)) excused.insert(host.host());
  }
  return excused;
}

// True if it is about excused hosts. A rule about one host names each for its
// own sake; one across hosts may name innocent ones beside the others.
bool IsExcused(const Finding& finding, const Hosts& excused) {
  const Rule* const rule = FindRule(finding.rule());
  const auto about = [&excused](const Subject& subject) {
    return excused.count(subject.host()) > 0;
  };
  if (rule == nullptr || !rule->JudgesHosts()) return false;
  if (rule->JudgesOneHost()) {
    return absl::c_all_of(finding.subjects(), about);
  }
  return absl::c_any_of(finding.subjects(), about);
}

void JudgeAfter(const Rehearsal& of, RehearsalVerdict* verdict) {
  const Hosts excused = ExcusedHosts(of);
  bool explained = !excused.empty();
  for (const RuleResult& rule : of.after.rules()) {
    for (const Finding& finding : rule.findings()) {
      if (!IsBad(finding.state()) || !finding.caused_by().empty() ||
          IsExcused(finding, excused)) {
        continue;
      }
      explained = true;
      verdict->wrong.push_back(
          absl::StrCat(SubjectsText(finding.subjects(), 2, kHostColumns),
                       ": after the apply: ", FindingText(finding, {})));
    }
  }
  if (of.after.rules_size() == 0) {
    verdict->wrong.push_back(absl::StrCat(
        "the check after the apply: no report ", of.after.error()));
  } else if (IsBad(of.after.verdict()) && !explained) {
    verdict->wrong.push_back(
        absl::StrCat("after the apply: ", StepText(of.after)));
  }
}

void JudgeRollback(const Rehearsal& of, RehearsalVerdict* verdict) {
  Lines wrong;
  const bool applied =
      absl::c_any_of(of.apply.hosts(), [](const ApplyResult& host) {
        return host.outcome() == ApplyResult::APPLIED;
      });
  if (applied && of.rollback.hosts_size() == 0) {
    verdict->wrong.push_back(
        absl::StrCat("rollback: no report ", of.rollback.error()));
  }
  for (const ApplyResult& host : of.rollback.hosts()) {
    const bool faulted = of.faulted.count(host.host()) > 0;
    if (EndedWell(host)) continue;
    const std::string text = absl::StrCat("rollback: ", OutcomeText(host));
    if (faulted) {
      verdict->notes.push_back(absl::StrCat(host.host(), ": ", text));
    } else {
      wrong.Add(host.host(), text);
    }
  }
  wrong.AddTo(&verdict->wrong);
}

void JudgeBack(const Rehearsal& of, RehearsalVerdict* verdict) {
  if (of.back.rules_size() == 0) {
    verdict->wrong.push_back(
        absl::StrCat("the last check: no report ", of.back.error()));
    return;
  }
  Said before = SaidOf(of.faulty, /*with_observed=*/false);
  Said now = SaidOf(of.back, /*with_observed=*/false);
  Lines wrong;
  for (const HostStatus& each : of.back.hosts()) {
    const std::string& host = each.host();
    if (of.faulted.count(host) > 0) continue;
    for (const std::string& text : Beyond(now[host], before[host])) {
      wrong.Add(host, absl::StrCat("new after the rollback: ", text));
    }
    for (const std::string& text : Beyond(before[host], now[host])) {
      wrong.Add(host, absl::StrCat("gone after the rollback: ", text));
    }
  }
  wrong.AddTo(&verdict->wrong);
}

void JudgeFault(const std::string& host, const Rehearsal& of,
                RehearsalVerdict* verdict) {
  const auto tell = [&](const std::string& text) {
    verdict->notes.push_back(absl::StrCat(host, ": ", text));
  };
  Said fresh = SaidOf(of.fresh, /*with_observed=*/true);
  Said faulty = SaidOf(of.faulty, /*with_observed=*/true);
  Said after = SaidOf(of.after, /*with_observed=*/true);
  const std::vector<std::string> named = Beyond(faulty[host], fresh[host]);
  for (size_t i = 0; i < named.size() && i < kMostLines; ++i) {
    tell("the check says: " + named[i]);
  }
  const ApplyResult* const result = Find(of.apply, host);
  if (result != nullptr && !EndedWell(*result)) {
    tell("apply: " + OutcomeText(*result));
    return;
  }
  const std::vector<std::string> now = Beyond(after[host], fresh[host]);
  for (const std::string& text : now) tell("after the apply: " + text);
  if (!now.empty()) return;
  if (named.empty()) {
    verdict->wrong.push_back(
        absl::StrCat(host, ": nothing noticed its faults"));
  } else {
    tell("fixed by the apply");
  }
}

}  // namespace

std::string StepText(const Report& report) {
  if (report.rules_size() == 0) {
    return absl::StrCat("no report ", report.error());
  }
  const Counts counts = CountStates(report.rules());
  std::vector<std::string> parts;
  const auto add = [&parts](uint32_t count, const char* what) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", what));
  };
  add(counts.fail(), "fail");
  add(counts.unknown(), "unknown");
  add(counts.warn(), "warn");
  add(counts.pass(), "pass");
  return absl::StrCat(StateWord(report.verdict()), ": ",
                      absl::StrJoin(parts, ", "), " of its rules, on ",
                      Count(static_cast<size_t>(report.hosts_size()), "host"));
}

std::string StepText(const ApplyReport& report) {
  if (report.hosts_size() == 0) {
    return absl::StrCat("not begun ", report.error());
  }
  const auto well = absl::c_count_if(report.hosts(), &EndedWell);
  const auto never =
      absl::c_count_if(report.hosts(), [](const ApplyResult& host) {
        return host.outcome() == ApplyResult::NOT_STARTED;
      });
  const Waves waves(static_cast<size_t>(report.hosts_size()), report.canary(),
                    report.wave_size());
  std::string text = absl::StrCat(
      well, " of ", Count(static_cast<size_t>(report.hosts_size()), "host"),
      report.rollback() ? " rolled back" : " succeeded", " in ",
      Count(waves.count(), "wave"));
  if (never > 0) absl::StrAppend(&text, ", ", never, " not started");
  return text;
}

RehearsalVerdict JudgeRehearsal(const Rehearsal& rehearsal) {
  RehearsalVerdict verdict;
  JudgeFresh(rehearsal, &verdict);
  TellBlocked(rehearsal, &verdict);
  JudgeApply(rehearsal, &verdict);
  JudgeAfter(rehearsal, &verdict);
  JudgeRollback(rehearsal, &verdict);
  JudgeBack(rehearsal, &verdict);
  for (const std::string& host : rehearsal.faulted) {
    JudgeFault(host, rehearsal, &verdict);
  }
  return verdict;
}

}  // namespace clusterd
