#include "client/print/plan_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/print/count_text.h"
#include "client/print/subject_text.h"
#include "client/print/terminal_text.h"
#include "config/plan/plan_fold.h"
#include "config/plan/plan_text.h"
#include "config/spec/change_kind.h"
#include "config/spec/network_namespace.h"

namespace clusterd {
namespace {

constexpr size_t kDigestCharacters = 12;
constexpr int kKeyColumns = 14;
constexpr char kBlockedWord[] = "blocked";

// The items that share a text, in the order first met.
template <typename Item>
class Grouped {
 public:
  void Add(const std::string& text, const Item& item) {
    const auto [found, is_new] = index_.emplace(text, groups_.size());
    if (is_new) groups_.push_back({text, {}});
    groups_[found->second].second.push_back(item);
  }
  const std::vector<std::pair<std::string, std::vector<Item>>>& groups() const {
    return groups_;
  }

 private:
  std::map<std::string, size_t> index_;
  std::vector<std::pair<std::string, std::vector<Item>>> groups_;
};

// Prints one plan; lives for one call.
class PlanPrinter {
 public:
  PlanPrinter(const ClusterPlan& plan, const Style& style,
              const PlanLimits& limits, std::ostream& out)
      : plan_(plan), style_(style), limits_(limits), out_(out) {}

  void Print() {
    PrintHead();
    PrintFolds();
    PrintInOrder();
    PrintNotes();
    PrintSummary();
  }

 private:
  std::string Safe(absl::string_view text) const {
    return SafeText(text, style_.utf8);
  }
  std::string Hosts(const std::vector<std::string>& hosts) const {
    return Safe(HostsText(hosts, limits_.hosts_columns));
  }
  // `text`, which is safe, behind `head`; its further lines stand below it.
  void PrintWrapped(const std::string& head, const std::string& text,
                    Paint paint) {
    const int columns = TextColumns(head);
    std::string before = Painted(style_, paint, head);
    const int width =
        style_.width > 0 ? std::max(style_.width - columns, 20) : 0;
    for (const std::string& line : WrapText(text, width)) {
      out_ << before << line << "\n";
      before = std::string(columns, ' ');
    }
  }

  void PrintHead();
  void PrintFolds();
  void PrintFold(const PlanFold& fold);
  void PrintBlocked(const BlockedChange& blocked);
  void PrintInOrder();
  void PrintNotes();
  void PrintSummary();

  const ClusterPlan& plan_;
  const Style& style_;
  const PlanLimits& limits_;
  std::ostream& out_;
};

void PlanPrinter::PrintHead() {
  std::vector<std::string> hosts;
  for (const HostPlan& host : plan_.hosts()) hosts.push_back(host.host());
  std::vector<std::string> parts;
  if (!plan_.cluster().empty()) {
    parts.push_back(absl::StrCat(
        "Cluster ", Painted(style_, Paint::kBold, Safe(plan_.cluster()))));
  }
  if (!plan_.product().empty()) parts.push_back(Safe(plan_.product()));
  parts.push_back(absl::StrCat(
      "plan for ", CountOf(hosts.size(), "host", "hosts"),
      hosts.empty() ? "" : ": ", hosts.empty() ? "" : Hosts(hosts)));
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
  out_ << "\n" << Painted(style_, Paint::kBold, Hosts(fold.hosts)) << "\n";
  Grouped<std::vector<uint32_t>> consequences;
  for (const PlanStep* step : fold.steps) {
    PrintWrapped(
        absl::StrCat("  ", Padded(ChangeKindName(step->kind()), kKeyColumns),
                     "  "),
        Safe(StepText(*step)), Paint::kYellow);
    for (const std::string& consequence : step->consequences()) {
      consequences.Add(consequence, DevicesOf(*step));
    }
    if (!limits_.verbose) continue;
    const std::string indent(kKeyColumns + 4, ' ');
    PrintWrapped(absl::StrCat(indent, "if    "), Safe(step->precondition()),
                 Paint::kNone);
    PrintWrapped(absl::StrCat(indent, "undo  "), Safe(step->undo()),
                 Paint::kNone);
  }
  for (const auto& [text, steps] : consequences.groups()) {
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
       << CountOf(hosts.size(), "host", "hosts") << "; --verbose has all\n";
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
  if (notes.groups().empty()) return;
  out_ << "\n" << Painted(style_, Paint::kBold, "Notes") << "\n";
  size_t shown = 0;
  for (const auto& [note, hosts] : notes.groups()) {
    if (!limits_.verbose && shown == limits_.groups) break;
    ++shown;
    PrintWrapped("  ", absl::StrCat(Hosts(hosts), ": ", Safe(note)),
                 Paint::kNone);
  }
  if (shown < notes.groups().size()) {
    out_ << "  and " << notes.groups().size() - shown
         << " more; --verbose has all\n";
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
  const std::string hosts = CountOf(counts.hosts, "host", "hosts");
  if (counts.steps == 0 && counts.blocked == 0) {
    return absl::StrCat("nothing to do on ", hosts);
  }
  std::vector<std::string> parts = {"no step"};
  if (counts.steps > 0) {
    parts[0] = absl::StrCat(CountOf(counts.steps, "step", "steps"), " on ",
                            CountOf(counts.hosts_with_steps, "host", "hosts"));
  }
  if (counts.blocked > 0) {
    parts.push_back(absl::StrCat(
        CountOf(counts.blocked, "change", "changes"), " blocked on ",
        CountOf(counts.hosts_with_blocked, "host", "hosts")));
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
