// The variables that a job gets on a host, from the host's own files and the
// job file: each alone, and compared between hosts.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "config/hccl/job_variables.h"
#include "config/rules/rule_report.h"
#include "config/values/text_form.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxShownNames = 4;
constexpr uint32_t kMaxBasePort = 65520;  // More is not legal.
constexpr uint32_t kMaxPort = 65535;
// Folders, which set_env.sh of CANN sets, and variables of other rules.
constexpr char kNeedsNoForm[] = "ASCEND_\\w+_(?:HOME|PATH)|MASTER_ADDR|NNODES";

std::string SeriesOf(const ClusterView& view) {
  return view.profile().generation == NpuToolFacts::ASCEND_950
             ? "950"
             : view.profile().npu_series;
}

// Words of the form in the table, "env-range|0|7", with their values.
FindingValue ExpectedWords(absl::string_view expected) {
  const std::vector<std::string> parts = absl::StrSplit(expected, '|');
  FindingValue words = Worded(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    words.add_values()->set_text(parts[i]);
  }
  return words;
}

// Judges the lines of one host after the other, and of the job file.
class EnvironmentCheck {
 public:
  EnvironmentCheck(std::string series, RuleReport& report)
      : series_(std::move(series)), report_(report) {}

  // `host` is null for the job file. `job` is as for VariableLines; `winner`'s
  // own variables do not matter.
  void Run(const HostView* host, const HostFacts& facts, const JobSpec* job,
           const JobSpec* winner) {
    host_ = host;
    std::set<std::string> names;
    for (const EnvironmentVariable& each :
         job == nullptr ? facts.environment().value().variables()
                        : job->environment()) {
      const bool loses = winner != nullptr &&
                         FirstWith(winner->environment(),
                                   &EnvironmentVariable::name, each.name());
      if (!loses && HasEffect(each)) names.insert(each.name());
    }
    JobVariables sure;
    for (const std::string& name : names) {
      for (const EnvironmentVariable* each : VariableLines(facts, job, name)) {
        const bool is_good = JudgeLine(*each);
        // A shell may change it, but it is set.
        sure[name] = is_good && IsSure(*each) ? each->value() : kUnclear;
        lines_[name] = each;
      }
    }
    JudgeTogether(std::move(sure));
  }

  void AddNotes() const {
    for (const auto& [why, names] : not_judged_) {
      report_.Note(
          "env-not-judged", Worded(why),
          Listed(Each<FindingValue>(
                     names, [](const auto& each) { return each.second; }),
                 kMaxShownNames));
    }
  }

 private:
  static constexpr char kUnclear[] = "?";

  void Note(absl::string_view why, const EnvironmentVariable& variable) {
    not_judged_[why][PlaceOf(variable) + variable.name()] =
        Worded("value-at",
               variable.has_name_words()
                   ? PrintableWords(variable.name_words())
                   : ToFindingValue(PrintableText(variable.name())),
               PlaceWords(variable));
  }

  template <typename... Values>
  void Add(absl::string_view finding, const EnvironmentVariable& variable,
           const Values&... values) {
    const NamedFinding text =
        report_.Named(finding, PrintableText(variable.name()),
                      PlaceWords(variable), values...);
    if (host_ == nullptr) {
      report_.Add(text);
    } else {
      report_.Add(*host_, text);
    }
  }

  void AddCut(const EnvironmentVariable& variable, const std::string& right) {
    if (variable.cut().empty()) return;
    Add("cut", variable, right, QuotedText(variable.cut()));
  }

  // True if a program reads the line's variable; otherwise adds a finding.
  bool HasEffect(const EnvironmentVariable& variable) {
    if (variable.effect() == EnvironmentVariable::OTHER_FILE) {
      Note("env-in-other-file", variable);
      return false;
    }
    if (variable.effect() == EnvironmentVariable::SOURCED) {
      Note("env-sourced-file", variable);
      return false;
    }
    if (variable.effect() == EnvironmentVariable::UNREADABLE_FILE) {
      Note("env-unreadable-file", variable);
      return false;
    }
    // Other names concern their own programs.
    if (!IsJobVariable(variable.name())) return false;
    const absl::string_view meant = MeantJobVariable(variable.name());
    if (variable.effect() != EnvironmentVariable::SET) {
      const std::string right =
          meant.empty() ? PrintableText(variable.name()) : std::string(meant);
      AddCut(variable, right);
      if (variable.effect() == EnvironmentVariable::NOT_EXPORTED) {
        Add("not-exported", variable, right);
      } else if (variable.effect() == EnvironmentVariable::AFTER_MARK) {
        Add("after-mark", variable, right);
      } else if (variable.cut().empty()) {
        Add("not-read", variable, right);
      }
      return false;
    }
    if (!meant.empty()) {
      Add(FindingOf("misspelt", variable), variable, meant);
      return false;
    }
    return true;
  }

  // True if the value may be judged further.
  bool JudgeLine(const EnvironmentVariable& variable) {
    const std::string value = QuotedText(variable.value());
    if (variable.computed()) {
      Add("not-judged", variable);
      return false;
    }
    AddCut(variable, PrintableText(variable.name()));
    if (variable.value().empty()) return true;
    const JobVariable* const row = FindJobVariable(variable.name(), series_);
    if (variable.carriage_return()) Add("carriage-return", variable, value);
    if (variable.name() == "HCCL_ALGO" &&
        IsOfForm<kExecutors>(variable.value())) {
      Note("env-by-executors", variable);
    } else if (row != nullptr && IsPlaceholder(variable.value())) {
      Add(FindingOf("placeholder", variable), variable, value);
      return false;
    }
    if (row == nullptr ||
        (row->is_legal == nullptr && !IsOfForm<kNeedsNoForm>(row->name))) {
      Note("env-no-form", variable);
    }
    if (!variable.conditional()) return true;
    if (row == nullptr || row->is_legal == nullptr ||
        row->is_legal(variable.value())) {
      Note("env-conditional", variable);
      return true;
    }
    Add("perhaps-wrong", variable, value, ExpectedWords(row->expected),
        row->source);
    return false;
  }

  void JudgeTogether(JobVariables sure) {
    // An unknown one of a pair contradicts nothing.
    constexpr char kRoce[] = "HCCL_INTRA_ROCE_ENABLE";
    for (auto& [name, value] : sure) {
      if (value != kUnclear || !absl::StartsWith(name, "HCCL_INTRA_")) continue;
      const auto beside =
          sure.find(name == kRoce ? "HCCL_INTRA_PCIE_ENABLE" : kRoce);
      const bool is_on =
          beside != sure.end() &&
          ComparableValue(*FindJobVariable(kRoce), beside->second) == "1";
      value = is_on ? "0" : "1";
    }
    for (auto each = sure.begin(); each != sure.end();) {
      // A path, whatever it is.
      const bool is_known =
          each->second != kUnclear || each->first == "HCCL_WHITELIST_FILE";
      each = is_known ? std::next(each) : sure.erase(each);
    }
    for (const JobVariableMistake& mistake :
         FindVariableMistakes(sure, series_)) {
      const EnvironmentVariable& line = *lines_[mistake.name];
      Add(FindingOf(mistake.falls_back ? "falls-back" : "wrong", line), line,
          mistake.beside.empty()
              ? ToFindingValue(QuotedText(mistake.value))
              : Worded(mistake.beside, QuotedText(mistake.value),
                       mistake.other),
          ExpectedWords(mistake.expected), mistake.source);
    }
  }

  const HostView* host_ = nullptr;
  const std::string series_;
  RuleReport& report_;
  // Keyed by the words of the reason, place and name.
  std::map<absl::string_view, std::map<std::string, FindingValue>> not_judged_;
  std::map<std::string, const EnvironmentVariable*> lines_;
};

// CANN shows a process only these devices. Without a job the product decides.
void JudgeVisibleDevices(const ClusterView& view, const HostView& host,
                         RuleReport& report) {
  const EnvironmentVariable* const list =
      FindVariable(*host.facts, view.job(), "ASCEND_RT_VISIBLE_DEVICES");
  if (list == nullptr || !IsSure(*list)) return;
  std::vector<uint32_t> listed;
  for (const absl::string_view part : absl::StrSplit(list->value(), ',')) {
    if (!absl::SimpleAtoi(part, &listed.emplace_back())) return;
  }
  std::vector<uint32_t> hidden;
  if (view.job()) hidden = Each<uint32_t>(host.devices, &DeviceView::id);
  DropIf(&hidden, [&](uint32_t id) { return absl::c_count(listed, id) > 0; });
  const std::vector<uint32_t>& all = view.profile().device_ids;
  DropIf(&listed, [&](uint32_t id) {
    return all.empty() || absl::c_linear_search(all, id) ||
           absl::c_linear_search(host.facts->device_ids().value().ids(), id);
  });
  if (hidden.empty() && listed.empty()) return;
  report.Add(
      host,
      FindingOf(hidden.empty() ? "names-no-device" : "hides-device", *list),
      list->name(), PlaceWords(*list), QuotedText(list->value()),
      DevicesValue(hidden.empty() ? listed : hidden));
}

// HCCL accepts a base port with too few ports after it.
void JudgeBasePort(const ClusterView& view, const HostView& host,
                   RuleReport& report) {
  const EnvironmentVariable* const base =
      FindVariable(*host.facts, view.job(), "HCCL_IF_BASE_PORT");
  const uint32_t count = view.spec().hccl().port_count();
  uint32_t first = 0;
  if (base == nullptr || !IsSure(*base) ||
      !absl::SimpleAtoi(base->value(), &first) || first > kMaxBasePort ||
      first + count <= kMaxPort + 1) {
    return;
  }
  report.Add(host, "ports-end", base->name(), PlaceWords(*base),
             QuotedText(base->value()), count, first + count - 1,
             kMaxPort + 1 - count);
}

// True if hosts of one job must have the same value.
bool IsCompared(const EnvironmentVariable& variable) {
  const JobVariable* const row = FindJobVariable(variable.name());
  return row != nullptr && !row->may_differ &&
         (!absl::StartsWith(row->name, "ASCEND_") ||
          absl::StartsWith(row->name, "ASCEND_RT_"));
}

struct Value {
  // "1", quoted, with its place on the first host; or "not set".
  FindingValue text;
  std::vector<const HostView*> hosts;
};

constexpr char kValueAt[] = "value-at";

// Hosts by the value that a job would get; leaves out values that only a shell
// knows, since hccl-environment reports those.
FirstSeen<std::string, Value> ValuesOf(const ClusterView& view,
                                       const std::string& name) {
  const JobVariable* const row = FindJobVariable(name, SeriesOf(view));
  FirstSeen<std::string, Value> values;
  for (const HostView& host : view.hosts()) {
    if (!IsKnown(host.facts->environment())) continue;
    const EnvironmentVariable* const found =
        FindVariable(*host.facts, view.job(), name);
    if (found != nullptr && !IsSure(*found)) continue;
    Value& value = values[ComparableValue(
        *row, found == nullptr ? row->standard : found->value())];
    value.hosts.push_back(&host);
    if (found == nullptr) {
      if (value.text.words().empty()) value.text = Worded("not-set");
    } else if (value.text.words() != kValueAt) {
      value.text =
          Worded(kValueAt, QuotedText(found->value()), PlaceWords(*found));
    }
  }
  return values;
}

void CompareVariable(const ClusterView& view, const std::string& name,
                     RuleReport& report) {
  FirstSeen<std::string, Value> values = ValuesOf(view, name);
  if (values.size() < 2) return;
  auto& groups = values.items();
  absl::c_stable_sort(groups, [](const auto& a, const auto& b) {
    return a.second.hosts.size() > b.second.hosts.size();
  });
  const bool has_majority =
      groups[0].second.hosts.size() > groups[1].second.hosts.size();
  const auto texts = Each<FindingValue>(groups, [](const auto& group) {
    return Worded("on-hosts", group.second.text,
                  Counted(group.second.hosts.size(), "host"));
  });
  const FindingValue all = Listed(texts, kMaxShownNames);
  for (const auto& [key, value] : groups) {
    if (has_majority && &value == &groups[0].second) continue;
    NamedFinding text =
        report.Named("differs", PrintableText(name), value.text, all);
    if (view.job() == nullptr) text.state = WARN;
    for (const HostView* host : value.hosts) report.Add(*host, text);
  }
}

}  // namespace

// A value that only a shell knows is a warning, because the job gets some value
// and no rule can judge it.
void CheckHcclEnvironment(const ClusterView& view, RuleReport& report) {
  EnvironmentCheck check(SeriesOf(view), report);
  if (view.job() != nullptr) {
    check.Run(nullptr, HostFacts::default_instance(), view.job(), nullptr);
  }
  for (const HostView& host : view.hosts()) {
    const EnvironmentFact& fact = host.facts->environment();
    if (!report.Knows(host, Worded("login-variables"), fact)) continue;
    report.Judged(host);
    check.Run(&host, *host.facts, nullptr, view.job());
    JudgeVisibleDevices(view, host, report);
    JudgeBasePort(view, host, report);
  }
  check.AddNotes();
}

void CheckEnvironmentUniform(const ClusterView& view, RuleReport& report) {
  if (view.hosts().size() < 2) {
    return report.SkipFor("env-one-host");
  }
  std::set<std::string> names;
  for (const HostView& host : view.hosts()) {
    const EnvironmentFact& fact = host.facts->environment();
    if (!report.Knows(host, Worded("login-variables"), fact)) continue;
    report.Judged(host);
    for (const EnvironmentVariable& each : fact.value().variables()) {
      if (IsCompared(each)) names.insert(each.name());
    }
  }
  for (const std::string& name : names) CompareVariable(view, name, report);
}

}  // namespace clusterd
