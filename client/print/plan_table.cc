#include "client/print/plan_table.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/settings.h"
#include "config/values/change_kind.h"
#include "config/values/network_namespace.h"
#include "config/words/first_met.h"
#include "config/words/number_text.h"
#include "config/words/page.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/terminal_text.h"

namespace clusterd {
namespace {

constexpr size_t kDigestCharacters = 12;
constexpr int kKeyColumns = 14;
constexpr char kBlockedWord[] = "blocked";

// Hosts that share lines, and these lines. Pointers into the plan: of the first
// host that has them.
struct PlanFold {
  std::vector<std::string> hosts;  // In plan order.
  std::vector<const PlanStep*> steps;
  std::vector<const BlockedChange*> blocked;
};

// Equal for steps that print the same, whatever their host and number.
std::string FoldKey(const PlanStep& step) {
  return absl::StrCat("step\n", ChangeKindName(step.kind()), "\n",
                      StepText(step), "\n",
                      absl::StrJoin(step.consequences(), "\n"));
}

std::string FoldKey(const BlockedChange& blocked) {
  return absl::StrCat("blocked\n", ChangeKindName(blocked.kind()), "\n",
                      BlockedText(blocked));
}

struct Line {
  std::vector<std::string> hosts;
  const PlanStep* step = nullptr;
  const BlockedChange* blocked = nullptr;
};

// Every distinct line, in the order in which it is first met.
std::vector<Line> DistinctLines(const ClusterPlan& plan) {
  std::vector<Line> lines;
  std::map<std::string, size_t> index;
  const auto line_of = [&](const std::string& key) -> Line& {
    const auto [found, is_new] = index.emplace(key, lines.size());
    if (is_new) lines.emplace_back();
    return lines[found->second];
  };
  for (const HostPlan& host : plan.hosts()) {
    for (const PlanStep& step : host.steps()) {
      Line& line = line_of(FoldKey(step));
      if (line.step == nullptr) line.step = &step;
      line.hosts.push_back(host.host());
    }
    for (const BlockedChange& blocked : host.blocked()) {
      Line& line = line_of(FoldKey(blocked));
      if (line.blocked == nullptr) line.blocked = &blocked;
      line.hosts.push_back(host.host());
    }
  }
  return lines;
}

// Every step and every blocked change of every host once, grouped by the set of
// hosts that it is true of; groups in the order of their first line, lines in
// the order of execution. Hosts with nothing to do are in no group.
// `plan` must outlive the result.
std::vector<PlanFold> FoldPlan(const ClusterPlan& plan) {
  std::vector<PlanFold> folds;
  std::map<std::vector<std::string>, size_t> index;
  for (Line& line : DistinctLines(plan)) {
    const auto [found, is_new] = index.emplace(line.hosts, folds.size());
    if (is_new) {
      folds.emplace_back();
      folds.back().hosts = std::move(line.hosts);
    }
    PlanFold& fold = folds[found->second];
    if (line.step != nullptr) fold.steps.push_back(line.step);
    if (line.blocked != nullptr) fold.blocked.push_back(line.blocked);
  }
  return folds;
}

// Hosts with no step and nothing blocked.
std::vector<std::string> HostsInOrder(const ClusterPlan& plan) {
  std::vector<std::string> hosts;
  for (const HostPlan& host : plan.hosts()) {
    if (host.steps().empty() && host.blocked().empty()) {
      hosts.push_back(host.host());
    }
  }
  return hosts;
}

// The items that share a text, in the order first met.
template <typename Item>
struct Grouped : FirstMet<std::string, std::vector<Item>> {
  void Add(const std::string& text, const Item& item) {
    (*this)[text].push_back(item);
  }
};

// Prints one plan; lives for one call.
class PlanPrinter {
 public:
  PlanPrinter(const ClusterPlan& plan, const Style& style,
              const PlanLimits& limits, std::ostream& out)
      : plan_(plan), limits_(limits), page_(style, out), out_(out) {}

  void Print() {
    PrintHead();
    PrintFolds();
    PrintInOrder();
    PrintNotes();
    PrintSummary();
  }

 private:
  std::string Safe(absl::string_view text) const { return page_.Safe(text); }
  std::string Hosts(const std::vector<std::string>& hosts) const {
    return Safe(HostsText(hosts, limits_.hosts_columns));
  }
  void PrintWrapped(const std::string& head, const std::string& text,
                    Paint paint) {
    page_.Wrapped(head, text, paint);
  }

  void PrintHead();
  void PrintFolds();
  void PrintFold(const PlanFold& fold);
  void PrintBlocked(const BlockedChange& blocked);
  void PrintInOrder();
  void PrintNotes();
  void PrintSummary();

  const ClusterPlan& plan_;
  const PlanLimits& limits_;
  Page page_;
  std::ostream& out_;
};

void PlanPrinter::PrintHead() {
  std::vector<std::string> hosts;
  for (const HostPlan& host : plan_.hosts()) hosts.push_back(host.host());
  std::vector<std::string> parts;
  if (!plan_.cluster().empty()) {
    parts.push_back(absl::StrCat("Cluster ", page_.Strong(plan_.cluster())));
  }
  if (!plan_.product().empty()) parts.push_back(Safe(plan_.product()));
  parts.push_back(absl::StrCat("plan for ", Count(hosts.size(), "host"),
                               hosts.empty() ? "" : ": ",
                               hosts.empty() ? "" : Hosts(hosts)));
  out_ << absl::StrJoin(parts, ", ") << "\n";
  const std::string space = PlanNamespace(plan_);
  if (!space.empty()) out_ << "network namespace " << Safe(space) << "\n";
}

void PlanPrinter::PrintBlocked(const BlockedChange& blocked) {
  const std::string devices =
      DevicesText({blocked.devices().begin(), blocked.devices().end()});
  PrintWrapped(
      absl::StrCat("  ", Padded(kBlockedWord, kKeyColumns), "  "),
      Safe(absl::StrCat(devices, devices.empty() ? "" : ": ", blocked.what())),
      Paint::kRed);
  const std::string indent(kKeyColumns + 4, ' ');
  PrintWrapped(absl::StrCat(indent, "reason  "), Safe(blocked.reason()),
               Paint::kNone);
  PrintWrapped(absl::StrCat(indent, "fix     "), Safe(blocked.fix()),
               Paint::kNone);
}

void PlanPrinter::PrintFold(const PlanFold& fold) {
  page_.Title(HostsText(fold.hosts, limits_.hosts_columns));
  Grouped<std::vector<uint32_t>> consequences;
  for (const PlanStep* step : fold.steps) {
    PrintWrapped(
        absl::StrCat("  ", Padded(ChangeKindName(step->kind()), kKeyColumns),
                     "  "),
        Safe(StepText(*step)), Paint::kYellow);
    for (const std::string& consequence : step->consequences()) {
      std::vector<uint32_t> devices;
      if (step->target().has_device()) {
        devices.push_back(step->target().device());
      }
      consequences.Add(consequence, devices);
    }
    if (!limits_.verbose) continue;
    const std::string indent(kKeyColumns + 4, ' ');
    PrintWrapped(absl::StrCat(indent, "if    "), Safe(step->precondition()),
                 Paint::kNone);
    PrintWrapped(absl::StrCat(indent, "undo  "), Safe(step->undo()),
                 Paint::kNone);
  }
  for (const auto& [text, steps] : consequences) {
    std::vector<uint32_t> devices;
    for (const std::vector<uint32_t>& of_step : steps) {
      devices.insert(devices.end(), of_step.begin(), of_step.end());
    }
    const std::string who = DevicesText(devices);
    PrintWrapped(
        "  also: ", Safe(absl::StrCat(who, who.empty() ? "" : ": ", text)),
        Paint::kNone);
  }
  for (const BlockedChange* blocked : fold.blocked) PrintBlocked(*blocked);
}

void PlanPrinter::PrintFolds() {
  const std::vector<PlanFold> folds = FoldPlan(plan_);
  const size_t shown =
      limits_.verbose ? folds.size() : std::min(folds.size(), limits_.groups);
  for (size_t i = 0; i < shown; ++i) PrintFold(folds[i]);
  if (shown == folds.size()) return;
  std::set<std::string> hosts;
  for (size_t i = shown; i < folds.size(); ++i) {
    hosts.insert(folds[i].hosts.begin(), folds[i].hosts.end());
  }
  out_ << "\nand " << folds.size() - shown << " more groups of steps on "
       << Count(hosts.size(), "host") << "; --verbose has all\n";
}

void PlanPrinter::PrintInOrder() {
  const std::vector<std::string> hosts = HostsInOrder(plan_);
  if (hosts.empty()) return;
  out_ << "\n";
  PrintWrapped("In order: ", Hosts(hosts), Paint::kGreen);
}

void PlanPrinter::PrintNotes() {
  Grouped<std::string> notes;
  for (const HostPlan& host : plan_.hosts()) {
    for (const std::string& note : host.notes()) notes.Add(note, host.host());
  }
  if (notes.empty()) return;
  page_.Title("Notes");
  size_t shown = 0;
  for (const auto& [note, hosts] : notes) {
    if (!limits_.verbose && shown == limits_.groups) break;
    ++shown;
    PrintWrapped("  ", absl::StrCat(Hosts(hosts), ": ", Safe(note)),
                 Paint::kNone);
  }
  if (shown < notes.size()) {
    out_ << "  and " << notes.size() - shown << " more; --verbose has all\n";
  }
}

void PlanPrinter::PrintSummary() {
  const PlanCounts counts = CountPlan(plan_);
  Paint paint = counts.steps > 0 ? Paint::kYellow : Paint::kGreen;
  if (counts.blocked > 0) paint = Paint::kRed;
  out_ << "\n";
  PrintWrapped("PLAN: ",
               absl::StrCat(PlanCountsText(counts), "; digest ",
                            Safe(plan_.digest().substr(0, kDigestCharacters))),
               paint);
}

}  // namespace

PlanCounts CountPlan(const ClusterPlan& plan) {
  PlanCounts counts;
  for (const HostPlan& host : plan.hosts()) {
    ++counts.hosts;
    counts.steps += static_cast<size_t>(host.steps_size());
    counts.blocked += static_cast<size_t>(host.blocked_size());
    if (!host.steps().empty()) ++counts.hosts_with_steps;
    if (!host.blocked().empty()) ++counts.hosts_with_blocked;
  }
  return counts;
}

std::string PlanCountsText(const PlanCounts& counts) {
  const std::string hosts = Count(counts.hosts, "host");
  if (counts.steps == 0 && counts.blocked == 0) {
    return absl::StrCat("nothing to do on ", hosts);
  }
  std::vector<std::string> parts = {"no step"};
  if (counts.steps > 0) {
    parts[0] = absl::StrCat(Count(counts.steps, "step"), " on ",
                            Count(counts.hosts_with_steps, "host"));
  }
  if (counts.blocked > 0) {
    parts.push_back(absl::StrCat(Count(counts.blocked, "change"),
                                 " blocked on ",
                                 Count(counts.hosts_with_blocked, "host")));
  }
  parts.push_back(absl::StrCat("of ", hosts));
  return absl::StrJoin(parts, ", ");
}

std::string PlanNamespace(const ClusterPlan& plan) {
  std::set<std::string> spaces;
  for (const HostPlan& host : plan.hosts()) {
    if (host.steps().empty() && !host.has_network_namespace()) continue;
    spaces.insert(NetworkNamespaceText(host.network_namespace()));
  }
  if (spaces.size() > 1) return "several";
  return spaces.empty() ? "" : *spaces.begin();
}

void PrintPlanTable(const ClusterPlan& plan, const Style& style,
                    const PlanLimits& limits, std::ostream& out) {
  PlanPrinter(plan, style, limits, out).Print();
}

std::string PlanShort(const ClusterPlan& plan, bool utf8) {
  const std::string space = PlanNamespace(plan);
  return SafeText(
      absl::StrCat(plan.cluster().empty() ? "cluster" : plan.cluster(),
                   space.empty() ? "" : absl::StrCat(" in ", space), ": PLAN ",
                   PlanCountsText(CountPlan(plan)), "; digest ",
                   plan.digest().substr(0, kDigestCharacters)),
      utf8);
}

}  // namespace clusterd
