#include "client/print/plan_table.h"

#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/values/change_kind.h"
#include "config/values/hostlist.h"
#include "config/values/network_namespace.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr size_t kDigestCharacters = 12;
constexpr int kKeyColumns = 14;
constexpr int kRemarkColumns = 6;
// Groups of hosts, and their folded names; --verbose has all groups.
constexpr size_t kGroups = 40;
constexpr int kHostsColumns = 100;

// The words, or the text of an older controller, which sends no words.
std::string Shown(const FindingValue& said, const std::string& text) {
  return IsSaid(said) ? ValueText(said) : text;
}

// Equal for steps that print the same, whatever their host and number.
std::string FoldKey(const PlanStep& step, bool) {
  return absl::StrCat("step\n", ChangeKindName(step.kind()), "\n",
                      StepText(step), "\n",
                      absl::StrJoin(step.consequences(), "\n"));
}

// Changes with a common repair count as one, unless `verbose`.
std::string FoldKey(const BlockedChange& blocked, bool verbose) {
  return absl::StrCat(
      "blocked\n", ChangeKindName(blocked.kind()), "\n",
      verbose ? BlockedText(blocked)
              : absl::StrCat(blocked.reason(), "\n", blocked.fix()));
}

// "link", "lldp (unknown)".
std::string RuleText(const UnfixedRule& rule) {
  if (rule.state() == FAIL) return rule.rule();
  return Say("plan-rule", rule.rule(), StateWord(rule.state()));
}

std::string FoldKey(const UnfixedRule& rule, bool) {
  return absl::StrCat("rule\n", rule.left_out(), "\n", RuleText(rule));
}

// Lines that hosts share: each has those of all hosts that FoldKey takes for
// equal. Pointers into the plan.
template <typename Line>
using Folded = std::vector<std::vector<const Line*>>;
struct PlanFold {
  Folded<PlanStep> steps;
  Folded<BlockedChange> blocked;
  Folded<UnfixedRule> unfixed;
};
using HostNames = std::vector<std::string>;  // In plan order.

// Every step, blocked change and unfixed rule once, by the set of hosts that
// have it. Sets are in the order of their first line, lines in that of
// execution. Omits hosts without any. `plan` must outlive the result.
FirstSeen<HostNames, PlanFold> FoldPlan(const ClusterPlan& plan, bool verbose) {
  FirstSeen<std::string, std::pair<HostNames, PlanFold>> lines;
  const auto add = [&](const std::string& name, const auto& all,
                       auto PlanFold::*kind) {
    for (const auto& each : all) {
      auto& [hosts, line] = lines[FoldKey(each, verbose)];
      (line.*kind).resize(1);
      (line.*kind)[0].push_back(&each);
      if (hosts.empty() || hosts.back() != name) hosts.push_back(name);
    }
  };
  for (const HostPlan& host : plan.hosts()) {
    add(host.host(), host.steps(), &PlanFold::steps);
    add(host.host(), host.blocked(), &PlanFold::blocked);
    add(host.host(), host.unfixed(), &PlanFold::unfixed);
  }
  FirstSeen<HostNames, PlanFold> folds;
  for (const auto& [key, line] : lines) {
    PlanFold& fold = folds[line.first];
    absl::c_copy(line.second.steps, std::back_inserter(fold.steps));
    absl::c_copy(line.second.blocked, std::back_inserter(fold.blocked));
    absl::c_copy(line.second.unfixed, std::back_inserter(fold.unfixed));
  }
  return folds;
}

std::string HostsOf(const HostNames& hosts, const Page& page) {
  return page.Safe(HostsText(hosts, kHostsColumns));
}

void PrintHead(const ClusterPlan& plan, Page& page) {
  const auto hosts = Each<std::string>(plan.hosts(), &HostPlan::host);
  const std::string names =
      JoinParts(": ", {Count(hosts.size(), "host"), HostsOf(hosts, page)});
  page.Whole(
      "",
      JoinParts(", ", {SayPart("report-cluster", page.Strong(plan.cluster())),
                       page.Safe(plan.product()), Say("plan-for", names)}));
  page.Optional("report-namespace", NamespaceOfPlan(plan));
}

// "  sysctl          net.core.somaxconn: 4096 -> 65535"
void PrintLine(absl::string_view word, absl::string_view text, Paint paint,
               Page& page) {
  page.Wrapped(absl::StrCat("  ", Padded(word, kKeyColumns), "  "),
               page.SafeLines(text), paint);
}
// Prints a remark below a line, indented further.
void PrintRemark(absl::string_view key, absl::string_view text, Page& page) {
  page.Wrapped(absl::StrCat(std::string(kKeyColumns + 4, ' '),
                            Padded(Say(key), kRemarkColumns), "  "),
               page.SafeLines(text));
}

// "devices 0-1: gateway 10.0.0.254", or "32 changes on devices 0-7".
std::string BlockedWhat(const std::vector<const BlockedChange*>& blocked) {
  std::vector<uint32_t> ids;
  std::set<std::string> texts;
  for (const BlockedChange* each : blocked) {
    ids.insert(ids.end(), each->devices().begin(), each->devices().end());
    texts.insert(BlockedText(*each));
  }
  const std::string devices = DevicesText(ids);
  if (texts.size() > 1) {
    const std::string changes = Count(blocked.size(), "change");
    return devices.empty() ? changes : Say("plan-changes-on", changes, devices);
  }
  return JoinParts(": ", {devices, Shown(blocked.front()->what_said(),
                                         blocked.front()->what())});
}

void PrintBlocked(const std::vector<const BlockedChange*>& blocked,
                  Page& page) {
  PrintLine(Say("plan-blocked"), BlockedWhat(blocked), Paint::kRed, page);
  const BlockedChange& first = *blocked.front();
  PrintRemark("plan-reason", Shown(first.reason_said(), first.reason()), page);
  PrintRemark("plan-fix", Shown(first.fix_said(), first.fix()), page);
}

void PrintFold(const HostNames& hosts, const PlanFold& fold, bool verbose,
               Page& page) {
  page.Title(HostsText(hosts, kHostsColumns));
  FirstSeen<std::string, std::vector<uint32_t>> consequences;
  for (const auto& steps : fold.steps) {
    const PlanStep* const step = steps[0];
    PrintLine(ChangeKindName(step->kind()), StepText(*step), Paint::kYellow,
              page);
    for (const std::string& consequence :
         TextsOf(step->consequences_said(), step->consequences())) {
      std::vector<uint32_t>& devices = consequences[consequence];
      if (step->target().has_device()) {
        devices.push_back(step->target().device());
      }
    }
    if (!verbose) continue;
    const Setting* const setting = SettingOf(*step);
    PrintRemark("plan-if",
                setting == nullptr ? step->precondition()
                                   : ValueText(setting->condition(*step)),
                page);
    PrintRemark(
        "plan-undo",
        setting == nullptr ? step->undo() : ValueText(setting->undo(*step)),
        page);
  }
  for (const auto& [text, devices] : consequences) {
    page.Wrapped(absl::StrCat("  ", Say("plan-also")),
                 page.Safe(JoinParts(": ", {DevicesText(devices), text})));
  }
  for (const auto& blocked : fold.blocked) PrintBlocked(blocked, page);
  if (fold.unfixed.empty()) return;
  for (const bool left_out : {true, false}) {
    std::vector<std::string> rules;
    for (const auto& equal : fold.unfixed) {
      const UnfixedRule& rule = *equal[0];
      if (rule.left_out() == left_out) rules.push_back(RuleText(rule));
    }
    if (rules.empty()) continue;
    PrintLine(Say(left_out ? "plan-left-out" : "plan-not-fixed"),
              absl::StrJoin(rules, ", "),
              left_out ? Paint::kYellow : Paint::kRed, page);
  }
  PrintRemark("plan-more",
              absl::StrCat("clusterctl check ", FoldHostlist(hosts)), page);
}

void PrintFolds(const ClusterPlan& plan, bool verbose, Page& page) {
  const FirstSeen<HostNames, PlanFold> folds = FoldPlan(plan, verbose);
  size_t shown = 0;
  std::set<std::string> hidden;
  for (const auto& [hosts, fold] : folds) {
    if (verbose || shown < kGroups) {
      PrintFold(hosts, fold, verbose, page);
      ++shown;
    } else {
      hidden.insert(hosts.begin(), hosts.end());
    }
  }
  if (shown == folds.size()) return;
  page.out() << "\n";
  page.Whole("",
             Say("plan-more-groups", Count(folds.size() - shown, "more group"),
                 Count(hidden.size(), "host")));
}

// Lists hosts without steps, blocked changes and findings.
void PrintInOrder(const ClusterPlan& plan, Page& page) {
  HostNames hosts;
  for (const HostPlan& host : plan.hosts()) {
    if (host.steps().empty() && host.blocked().empty() &&
        host.unfixed().empty()) {
      hosts.push_back(host.host());
    }
  }
  if (hosts.empty()) return;
  page.out() << "\n";
  page.Wrapped(Say("plan-in-order"), HostsOf(hosts, page), Paint::kGreen);
}

void PrintNotes(const ClusterPlan& plan, bool verbose, Page& page) {
  FirstSeen<std::string, HostNames> notes;
  for (const HostPlan& host : plan.hosts()) {
    for (const std::string& note : TextsOf(host.notes_said(), host.notes())) {
      notes[note].push_back(host.host());
    }
  }
  if (notes.empty()) return;
  page.Title(Say("plan-notes"));
  size_t shown = 0;
  for (const auto& [note, hosts] : notes) {
    if (!verbose && shown == kGroups) break;
    ++shown;
    page.Wrapped("  ",
                 JoinParts(": ", {HostsOf(hosts, page), page.Safe(note)}));
  }
  if (shown < notes.size()) {
    page.Whole("  ", Say("plan-more-notes", notes.size() - shown));
  }
}

void PrintSummary(const ClusterPlan& plan, Page& page) {
  const PlanCounts counts = CountPlan(plan);
  Paint paint = counts.steps > 0 ? Paint::kYellow : Paint::kGreen;
  if (counts.blocked + counts.hosts_failing > 0) paint = Paint::kRed;
  page.out() << "\n";
  if (counts.readdresses_many()) {
    page.Wrapped(Say("plan-addresses"),
                 Say("plan-asks-name", ReaddressedText(counts)),
                 Paint::kYellow);
  }
  page.Wrapped(Say("plan-verdict"),
               Say("plan-summary", PlanCountsText(counts),
                   page.Safe(plan.digest().substr(0, kDigestCharacters))),
               paint);
}

}  // namespace

std::string NamespaceOfPlan(const ClusterPlan& plan) {
  std::set<std::string> spaces;
  for (const HostPlan& host : plan.hosts()) {
    if (host.steps().empty() && !host.has_network_namespace()) continue;
    spaces.insert(NetworkNamespaceText(host.network_namespace()));
  }
  if (spaces.size() > 1) return Say("plan-several");
  return spaces.empty() ? "" : *spaces.begin();
}

void PrintPlanTable(const ClusterPlan& plan, const Style& style, bool verbose,
                    std::ostream& out) {
  Page page(style, out);
  PrintHead(plan, page);
  PrintFolds(plan, verbose, page);
  PrintInOrder(plan, page);
  PrintNotes(plan, verbose, page);
  PrintSummary(plan, page);
}

std::string PlanShort(const ClusterPlan& plan) {
  return SafeText(
      JoinParts(": ", {absl::StrCat(plan.cluster(),
                                    SayPart("plan-in", NamespaceOfPlan(plan))),
                       Say("plan-short", PlanCountsText(CountPlan(plan)),
                           plan.digest().substr(0, kDigestCharacters))}),
      /*utf8=*/true);
}

}  // namespace clusterd
