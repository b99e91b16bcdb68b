#include "client/print/apply_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/print/apply_verdict.h"
#include "client/print/count_text.h"
#include "client/print/duration_text.h"
#include "client/print/state_word.h"
#include "client/print/subject_text.h"
#include "client/print/terminal_text.h"

namespace clusterd {
namespace {

constexpr int kKeyColumns = 7;

// "2 steps, 1 was so already"; empty if no step was done.
std::string StepsText(const ApplyResult& result) {
  size_t done = 0;
  size_t already = 0;
  for (const StepOutcome& step : result.steps()) {
    if (step.state() == StepOutcome::DONE) ++done;
    if (step.state() == StepOutcome::ALREADY_SO) ++already;
  }
  std::vector<std::string> parts;
  if (done > 0) parts.push_back(CountOf(done, "step", "steps"));
  if (already > 0) parts.push_back(absl::StrCat(already, " was so already"));
  return absl::StrJoin(parts, ", ");
}

// What stands behind the host: why it did not end well, else what was done. The
// daemon names its host in front, which would keep hosts from folding.
std::string EndText(const ApplyResult& result) {
  if (result.error().empty()) return StepsText(result);
  absl::string_view error = result.error();
  absl::ConsumePrefix(&error, absl::StrCat(result.host(), ": "));
  return std::string(error);
}

struct Detail {
  const char* key;
  std::string text;
};

// What a person must know of one host besides its end.
std::vector<Detail> DetailsOf(const ApplyResult& result) {
  std::vector<Detail> details;
  for (const StepOutcome& step : result.steps()) {
    if (step.detail().empty() ||
        absl::StrContains(result.error(), step.detail()))
      continue;
    details.push_back(
        {"step", absl::StrCat(step.step(), " ", StepWord(step.state()), ": ",
                              step.detail())});
  }
  for (const std::string& residue : result.residues()) {
    details.push_back({"residue", residue});
  }
  for (const std::string& forced : result.forced()) {
    details.push_back({"forced", forced});
  }
  return details;
}

struct HostGroup {
  State state = UNKNOWN;
  std::string word;
  std::string text;
  std::vector<Detail> details;
  std::vector<std::string> hosts;
};

// SKIPPED tells less than PASS, so that what failed stands last.
int Order(State state) {
  return state == SKIPPED ? 0 : static_cast<int>(state);
}

std::vector<HostGroup> GroupHosts(const ApplyReport& report) {
  using Key = std::tuple<int, std::string, std::string, std::string>;
  std::map<Key, size_t> index;
  std::vector<HostGroup> groups;
  for (const ApplyResult& host : report.hosts()) {
    HostGroup group;
    group.state = HostEnd(host.outcome(), report.rollback());
    group.word = OutcomeWord(host.outcome());
    group.text = EndText(host);
    group.details = DetailsOf(host);
    const std::string details = absl::StrJoin(
        group.details, "\n", [](std::string* out, const Detail& detail) {
          absl::StrAppend(out, detail.key, " ", detail.text);
        });
    const auto [found, is_new] =
        index.emplace(Key{Order(group.state), group.word, group.text, details},
                      groups.size());
    if (is_new) groups.push_back(std::move(group));
    groups[found->second].hosts.push_back(host.host());
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const HostGroup& a, const HostGroup& b) {
                     return Order(a.state) < Order(b.state);
                   });
  return groups;
}

// "10 applied, 1 undone of 11 hosts in 12 s".
std::string CountsLine(const ApplyReport& report) {
  std::vector<std::pair<std::string, size_t>> counts;
  for (const HostGroup& group : GroupHosts(report)) {
    const auto known = std::find_if(
        counts.begin(), counts.end(),
        [&](const auto& count) { return count.first == group.word; });
    if (known == counts.end()) {
      counts.push_back({group.word, group.hosts.size()});
    } else {
      known->second += group.hosts.size();
    }
  }
  std::string text =
      absl::StrJoin(counts, ", ", [](std::string* out, const auto& count) {
        absl::StrAppend(out, count.second, " ", count.first);
      });
  const size_t hosts = static_cast<size_t>(report.hosts_size());
  absl::StrAppend(&text, text.empty() ? "" : " of ",
                  CountOf(hosts, "host", "hosts"));
  if (report.elapsed_ms() == 0) return text;
  return absl::StrCat(text, " in ",
                      DurationText(absl::Milliseconds(report.elapsed_ms())));
}

std::string RunText(const ApplyReport& report) {
  std::string text = absl::StrCat(report.rollback() ? "rollback" : "apply");
  if (!report.run_id().empty()) absl::StrAppend(&text, " ", report.run_id());
  if (report.rollback() && !report.apply_id().empty()) {
    absl::StrAppend(&text, " of apply ", report.apply_id());
  } else if (!report.plan_id().empty()) {
    absl::StrAppend(&text, " of plan ", report.plan_id());
  }
  if (!report.actor().empty()) absl::StrAppend(&text, " by ", report.actor());
  if (report.enforced()) absl::StrAppend(&text, " (enforce in the spec)");
  if (report.force()) absl::StrAppend(&text, ", forced");
  return text;
}

// Prints one report; lives for one call.
class ApplyPrinter {
 public:
  ApplyPrinter(const ApplyReport& report, const Style& style,
               const ApplyLimits& limits, std::ostream& out)
      : report_(report), style_(style), limits_(limits), out_(out) {}

  void Print() {
    PrintHead();
    PrintHosts();
    PrintSummary();
  }

 private:
  std::string Safe(absl::string_view text) const {
    return SafeText(text, style_.utf8);
  }
  int ColumnsAfter(int used) const {
    return style_.width > 0 ? std::max(style_.width - used, 20) : 0;
  }

  void PrintHead();
  void PrintHosts();
  void PrintGroup(const HostGroup& group, int word_columns, int host_columns);
  void PrintSummary();

  const ApplyReport& report_;
  const Style& style_;
  const ApplyLimits& limits_;
  std::ostream& out_;
};

void ApplyPrinter::PrintHead() {
  if (!report_.cluster().empty()) {
    out_ << "Cluster " << Painted(style_, Paint::kBold, Safe(report_.cluster()))
         << ", ";
  }
  out_ << Safe(RunText(report_)) << "\n";
  for (const std::string& note : report_.notes()) {
    for (const std::string& line :
         WrapText(absl::StrCat("note: ", Safe(note)), style_.width)) {
      out_ << line << "\n";
    }
  }
}

void ApplyPrinter::PrintGroup(const HostGroup& group, int word_columns,
                              int host_columns) {
  const std::string label = absl::StrCat(StateSymbol(group.state, style_.utf8),
                                         " ", Padded(group.word, word_columns));
  const std::string hosts = Safe(HostsText(group.hosts, limits_.hosts_columns));
  std::string head =
      absl::StrCat("  ", Painted(style_, StatePaint(group.state), label), "  ");
  if (group.text.empty()) {
    out_ << head << hosts << "\n";
  } else {
    absl::StrAppend(&head, Padded(hosts, host_columns), "  ");
    const int used = 8 + word_columns + host_columns;
    for (const std::string& line :
         WrapText(Safe(group.text), ColumnsAfter(used))) {
      out_ << head << line << "\n";
      head = std::string(used, ' ');
    }
  }
  for (size_t i = 0; i < group.details.size() && i < limits_.lines; ++i) {
    std::string indent =
        absl::StrCat("    ", Padded(group.details[i].key, kKeyColumns), "  ");
    for (const std::string& line :
         WrapText(Safe(group.details[i].text), ColumnsAfter(6 + kKeyColumns))) {
      out_ << indent << line << "\n";
      indent = std::string(6 + kKeyColumns, ' ');
    }
  }
  if (group.details.size() > limits_.lines) {
    out_ << "    and " << group.details.size() - limits_.lines
         << " more; -o json has all\n";
  }
}

void ApplyPrinter::PrintHosts() {
  std::vector<HostGroup> groups = GroupHosts(report_);
  if (groups.empty()) return;
  out_ << "\n" << Painted(style_, Paint::kBold, "Hosts") << "\n";
  const size_t hidden = groups.size() - std::min(groups.size(), limits_.groups);
  groups.erase(groups.begin(), groups.begin() + static_cast<long>(hidden));
  if (hidden > 0) out_ << "  " << hidden << " more groups; -o json has all\n";
  int word_columns = 0;
  int host_columns = 0;
  for (const HostGroup& group : groups) {
    word_columns = std::max(word_columns, TextColumns(group.word));
    if (group.text.empty()) continue;
    host_columns = std::max(
        host_columns,
        TextColumns(Safe(HostsText(group.hosts, limits_.hosts_columns))));
  }
  for (const HostGroup& group : groups) {
    PrintGroup(group, word_columns, host_columns);
  }
}

void ApplyPrinter::PrintSummary() {
  const State verdict = SupportedVerdict(report_);
  const std::string word = RunWord(report_);
  std::vector<std::string> lines = WrapText(
      absl::StrCat(word, ": ", Safe(CountsLine(report_))), style_.width);
  if (absl::StartsWith(lines[0], word)) {
    lines[0] = absl::StrCat(Painted(style_, StatePaint(verdict), word),
                            lines[0].substr(word.size()));
  }
  out_ << "\n" << absl::StrJoin(lines, "\n") << "\n";
  if (limits_.rollback_hint && LeftChanges(report_) &&
      !report_.apply_id().empty()) {
    out_ << "take it back with: clusterctl rollback "
         << Safe(report_.apply_id()) << "\n";
  }
}

}  // namespace

void PrintApplyTable(const ApplyReport& report, const Style& style,
                     std::ostream& out, const ApplyLimits& limits) {
  ApplyPrinter(report, style, limits, out).Print();
}

std::string ApplyShort(const ApplyReport& report, bool utf8) {
  return SafeText(
      absl::StrCat(report.cluster().empty() ? "cluster" : report.cluster(),
                   ": ", report.rollback() ? "rollback" : "apply",
                   report.run_id().empty() ? "" : " ", report.run_id(), " ",
                   RunWord(report), ": ", CountsLine(report)),
      utf8);
}

std::string HostEndLine(const ApplyResult& result, bool rollback,
                        const Style& style) {
  const State state = HostEnd(result.outcome(), rollback);
  std::vector<std::string> parts = {SafeText(result.host(), style.utf8)};
  const std::string text = SafeText(EndText(result), style.utf8);
  if (!text.empty()) parts.push_back(text);
  std::string line =
      absl::StrCat(Painted(style, StatePaint(state),
                           absl::StrCat(StateSymbol(state, style.utf8), " ",
                                        OutcomeWord(result.outcome()))),
                   "  ", absl::StrJoin(parts, "  "));
  if (result.elapsed_ms() > 0) {
    absl::StrAppend(&line, " (",
                    DurationText(absl::Milliseconds(result.elapsed_ms())), ")");
  }
  return line;
}

}  // namespace clusterd
