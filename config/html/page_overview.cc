// The overview of a report: verdict, failures and what was not checked; and its
// maps: hosts by rack, devices by leaf switch, hosts by value.
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "config/html/page_sections.h"
#include "config/report/verdict.h"
#include "config/values/hostlist.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

void AddAbout(const char* name, absl::string_view value, PageDictionary* page) {
  if (value.empty()) return;
  PageDictionary* const row = page->AddSectionDictionary("ABOUT_ROW");
  SetText("NAME", Say(name), row);
  SetText("VALUE", value, row);
}

size_t HostsWithoutFacts(const Report& report) {
  return absl::c_count_if(report.hosts(), [](const HostStatus& host) {
    return !host.no_facts_reason().empty();
  });
}

using RulesByState = std::map<State, std::vector<const RuleResult*>>;

// One of the boxes with results.
class Box {
 public:
  Box(State state, const char* title, const PageFindings& findings,
      PageDictionary* page)
      : findings_(findings), box_(page->AddSectionDictionary("BOX")) {
    SetText("LETTER", StateLetter(state), box_);
    SetText("TITLE", Say(title), box_);
  }

  void Figure(absl::string_view text) { SetText("FIGURE", text, box_); }
  void Figure(size_t rules) {
    Figure(rules == 0 ? Say("html-nothing") : Count(rules, "rule"));
  }
  void Line(absl::string_view what, absl::string_view why) {
    PageDictionary* const line = box_->AddSectionDictionary("LINE");
    ShowText("WHAT", what, line);
    ShowText("WHY", why, line);
  }
  void Rules(const std::vector<std::string>& rules, absl::string_view why) {
    if (rules.empty()) return;
    PageDictionary* const line = box_->AddSectionDictionary("LINE");
    findings_.AddLinks(rules, line);
    ShowText("WHY", why, line);
  }

 private:
  const PageFindings& findings_;
  PageDictionary* const box_;
};

// "16 devices on 2 hosts" of a rule's findings of a state.
std::string WhereText(const RuleResult& rule) {
  Subjects subjects;
  for (const Finding& finding : rule.findings()) {
    if (finding.state() == rule.state()) subjects.MergeFrom(finding.subjects());
  }
  return SubjectsText(subjects, 4, 60);
}

void AddFailed(const Report& report,
               const std::vector<const RuleResult*>& rules,
               const PageFindings& findings, PageDictionary* page) {
  Box box(FAIL, "html-failed", findings, page);
  const std::vector<std::string> hosts = FailingHosts(report);
  if (rules.empty() && hosts.empty()) return box.Figure(rules.size());
  box.Figure(Say("html-failed-on", Count(rules.size(), "rule"),
                 Count(hosts.size(), "host"), report.hosts_size()));
  if (!hosts.empty()) box.Line(HostsText(hosts, 240), "");
  for (const RuleResult* rule : rules) {
    box.Rules({rule->rule()}, WhereText(*rule));
  }
}

std::string CountedAs(const char* words, size_t number,
                      absl::string_view noun) {
  return number == 0 ? "" : Say(words, Count(number, noun));
}

void AddNotChecked(const Report& report, RulesByState& rules,
                   const PageFindings& findings, PageDictionary* page) {
  Box box(UNKNOWN, "html-not-checked", findings, page);
  const auto silent = SilentHosts(report);
  FirstSeen<std::string, std::vector<std::string>> skipped;
  for (const RuleResult* rule : rules[SKIPPED]) {
    skipped[rule->skip_reason()].push_back(rule->rule());
  }
  const std::string figure = JoinParts(
      Say("html-comma"),
      {CountedAs("html-hosts-silent", HostsWithoutFacts(report), "host"),
       CountedAs("html-rules-unknown", rules[UNKNOWN].size(), "rule"),
       CountedAs("html-rules-skipped", rules[SKIPPED].size(), "rule"),
       report.error().empty() ? "" : Say("html-whole-check"),
       report.rules().empty() ? Say("counts-none") : ""});
  box.Figure(figure.empty() ? Say("html-all-checked") : figure);
  for (const absl::string_view line :
       absl::StrSplit(report.error(), '\n', absl::SkipEmpty())) {
    box.Line("", line);
  }
  for (const auto& [why, hosts] : silent) box.Line(HostsText(hosts, 240), why);
  if (report.awaited_size() > 0) {
    box.Line(HostsText(report.awaited(), 240), Say("html-awaited"));
  }
  for (const RuleResult* rule : rules[UNKNOWN]) {
    box.Rules({rule->rule()}, Say("html-unknown-on", WhereText(*rule)));
  }
  for (const auto& [why, names] : skipped) box.Rules(names, why);
}

constexpr size_t kHostsOfRow = 32;  // Without racks.
// A port is an odd one where its switch has so many times as many of another.
constexpr uint32_t kOddShare = 4;

// Racks with their hosts; then hosts without one, in rows without a name.
std::vector<std::pair<std::string, std::vector<int>>> RackRows(
    const Report& report) {
  FirstSeen<std::string, std::vector<int>> rows;
  std::vector<std::vector<int>> others;
  absl::string_view prefix;  // "node" of "node0012".
  for (int at = 0; at < report.hosts_size(); ++at) {
    const HostStatus& host = report.hosts(at);
    if (!host.rack().empty()) {
      rows[host.rack()].push_back(at);
      continue;
    }
    const absl::string_view name = host.host();
    const auto own = name.substr(0, name.find_last_not_of("0123456789") + 1);
    if (others.empty() || own != prefix ||
        others.back().size() >= kHostsOfRow) {
      others.emplace_back();
    }
    prefix = own;
    others.back().push_back(at);
  }
  for (auto& hosts : others) rows.items().emplace_back("", std::move(hosts));
  return std::move(rows.items());
}

void AddLegend(const Report& report, PageDictionary* page) {
  std::map<State, size_t> counts;
  for (const HostStatus& host : report.hosts()) ++counts[HostStateOf(host)];
  for (const State state : {FAIL, UNKNOWN, WARN, PASS, SKIPPED}) {
    PageDictionary* const entry = page->AddSectionDictionary("LEGEND");
    SetText("LETTER", StateLetter(state), entry);
    SetText("WORD", StateWord(state), entry);
    entry->SetIntValue("COUNT", static_cast<long>(counts[state]));
  }
}

bool IsOdd(const SwitchPorts& leaf, const SwitchPorts::Ports& ports) {
  return ports.host_count() > 0 &&
         absl::c_any_of(leaf.ports(), [&](const SwitchPorts::Ports& other) {
           return ports.host_count() * kOddShare <= other.host_count();
         });
}

std::string SwitchName(const SwitchPorts& leaf) {
  if (leaf.more_switches() > 0) {
    return Say("html-more-switches", leaf.more_switches());
  }
  return leaf.name().empty() ? Say("html-no-switch") : leaf.name();
}

std::string SeenText(const ValueGroups::Group& group) {
  if (group.unknown()) return Say("hosts-value-unknown");
  if (group.other_values() > 0) {
    return Say("html-other-values", group.other_values());
  }
  return ValueText(Term(group.value()));
}

void AddSwitch(const SwitchPorts& leaf, const std::set<uint32_t>& devices,
               PageDictionary* rails) {
  PageDictionary* const row = rails->AddSectionDictionary("SWITCH");
  SetText("NAME", SwitchName(leaf), row);
  for (const uint32_t device : devices) {
    PageDictionary* const port = row->AddSectionDictionary("PORT");
    const auto* const ports =
        FirstWith(leaf.ports(), &SwitchPorts::Ports::device, device);
    if (ports == nullptr) {
      port->ShowSection("EMPTY");
      continue;
    }
    const bool odd = !leaf.name().empty() && IsOdd(leaf, *ports);
    PageDictionary* const cell = port->AddSectionDictionary("CABLED");
    SetText("CLASS", odd ? "odd" : "many", cell);
    SetText("HOSTS", ports->hosts(), cell);
    cell->SetIntValue("COUNT", ports->host_count());
    SetText("MARK", odd ? "!" : "", cell);
  }
}

void AddOddPorts(const std::vector<const SwitchPorts*>& leaves,
                 PageDictionary* rails) {
  PageDictionary* list = nullptr;
  for (const SwitchPorts* leaf : leaves) {
    if (leaf->name().empty()) continue;
    for (const SwitchPorts::Ports& ports : leaf->ports()) {
      if (!IsOdd(*leaf, ports)) continue;
      if (list == nullptr) list = rails->AddSectionDictionary("ODD_PORTS");
      std::vector<uint32_t> usual;
      for (const SwitchPorts::Ports& other : leaf->ports()) {
        if (!IsOdd(*leaf, other)) usual.push_back(other.device());
      }
      ShowText("ODD",
               Say("html-odd-port", leaf->name(), DevicesText({ports.device()}),
                   ports.hosts(), DevicesText(usual)),
               list);
    }
  }
}

void AddHead(const Report& report, PageDictionary* page) {
  SetText("LETTER", StateLetter(report.verdict()), page);
  SetText("HEADLINE", Headline(report, "html-headline"), page);
  const size_t answered = report.hosts_size() - HostsWithoutFacts(report);
  SetText("SUMMARY",
          Say("html-summary", CountsText(CountStates(report.rules())),
              Count(report.rules_size(), "rule"), answered,
              Count(report.hosts_size(), "host")),
          page);
  const absl::Time began = absl::FromUnixMillis(report.started_at_ms());
  AddAbout("html-began", report.started_at_ms() == 0 ? "" : UtcMinute(began),
           page);
  AddAbout("html-took", ElapsedText(report.elapsed_ms()), page);
  AddAbout("html-run", report.run_id(), page);
  AddAbout("html-schedule", report.schedule(), page);
  AddAbout("html-job", JobText(report), page);
  AddAbout("html-product", report.product(), page);
  AddAbout("html-namespace", report.network_namespace(), page);
  AddAbout("html-spec", report.spec_digest(), page);
  AddAbout("html-version", report.clusterd_version(), page);
  SetText("FOOTER", Say("html-footer", Part(" ", report.clusterd_version())),
          page);
  if (report.notes().empty()) return;
  PageDictionary* const notes = page->AddSectionDictionary("NOTES");
  for (const std::string& note : report.notes()) ShowText("NOTE", note, notes);
}

// Boxes for failures and, as large, unchecked rules; warnings and passes.
void AddBoxes(const Report& report, const PageFindings& findings,
              PageDictionary* page) {
  RulesByState rules;
  for (const RuleResult& rule : report.rules()) {
    rules[KnownState(rule.state())].push_back(&rule);
  }
  AddFailed(report, rules[FAIL], findings, page);
  AddNotChecked(report, rules, findings, page);
  Box warned(WARN, "html-warned", findings, page);
  warned.Figure(rules[WARN].size());
  for (const RuleResult* rule : rules[WARN]) {
    warned.Rules({rule->rule()}, WhereText(*rule));
  }
  Box passed(PASS, "html-passed", findings, page);
  passed.Figure(rules[PASS].size());
  passed.Rules(Each<std::string>(rules[PASS], &RuleResult::rule), "");
}

// A row for each rack, or for 32 hosts of one kind of name, with a cell a host.
void AddRacks(const Report& report, PageDictionary* page) {
  AddLegend(report, page);
  if (report.hosts().empty()) page->ShowSection("NO_HOSTS");
  for (const auto& [rack, hosts] : RackRows(report)) {
    PageDictionary* const row = page->AddSectionDictionary("RACK");
    std::vector<std::string> names;
    State worst = PASS;
    size_t not_passing = 0;
    for (const int at : hosts) {
      const HostStatus& host = report.hosts(at);
      const State state = HostStateOf(host);
      PageDictionary* const cell = row->AddSectionDictionary("HOST");
      cell->SetIntValue("AT", at);
      SetText("NAME", host.host(), cell);
      SetText("LETTER", StateLetter(state), cell);
      SetText("WORD", StateWord(state), cell);
      names.push_back(host.host());
      worst = WorseState(worst, state);
      if (state != PASS) ++not_passing;
    }
    SetText("NAME", rack.empty() ? FoldHostlist(names) : rack, row);
    SetText("LETTER", StateLetter(worst), row);
    SetText("COUNT",
            not_passing == 0
                ? Say("html-rack-passes")
                : Say("html-rack-fails", not_passing, names.size()),
            row);
  }
}

// A row for each leaf switch, with a column a device index.
void AddRails(const Report& report, PageDictionary* page) {
  if (report.switches().empty()) return page->ShowSection("NO_RAILS");
  PageDictionary* const rails = page->AddSectionDictionary("RAILS");
  std::set<uint32_t> devices;
  std::vector<const SwitchPorts*> leaves;
  for (const SwitchPorts& leaf : report.switches()) {
    leaves.push_back(&leaf);
    for (const SwitchPorts::Ports& ports : leaf.ports()) {
      devices.insert(ports.device());
    }
  }
  absl::c_stable_partition(leaves, [](const SwitchPorts* leaf) {
    return absl::c_any_of(leaf->ports(), [leaf](const auto& ports) {
      return IsOdd(*leaf, ports);
    });
  });
  for (const uint32_t device : devices) {
    rails->AddSectionDictionary("COLUMN")->SetIntValue("DEVICE", device);
  }
  for (const SwitchPorts* leaf : leaves) AddSwitch(*leaf, devices, rails);
  AddOddPorts(leaves, rails);
}

void AddValues(const Report& report, PageDictionary* page) {
  if (report.value_groups().empty()) return page->ShowSection("NO_VALUES");
  PageDictionary* const values = page->AddSectionDictionary("VALUES");
  for (const ValueGroups& fact : report.value_groups()) {
    for (const ValueGroups::Group& group : fact.groups()) {
      PageDictionary* const row = values->AddSectionDictionary("VALUE");
      const bool is_last = &group == &*fact.groups().rbegin();
      SetText("CLASS", is_last ? "usual" : "rare", row);
      SetText("NAME", ValueText(Term(fact.name())), row);
      SetText("TEXT", SeenText(group), row);
      row->SetIntValue("HOSTS", group.host_count());
      SetText(
          "DEVICES",
          group.device_count() == 0 ? "" : absl::StrCat(group.device_count()),
          row);
      SetText("WHERE", group.hosts(), row);
    }
  }
}

}  // namespace

std::string StateLetter(State state) {
  return State_Name(KnownState(state)).substr(0, 1);
}

void SetText(const char* name, absl::string_view text, PageDictionary* in) {
  in->SetValue(name, SafeText(text, /*utf8=*/true));
}

void ShowText(const char* section, absl::string_view text, PageDictionary* in,
              const char* words) {
  if (text.empty()) return;
  SetText("TEXT", words == nullptr ? std::string(text) : Say(words, text),
          in->AddSectionDictionary(section));
}

PageDictionary* ShowLines(const char* section, absl::string_view text,
                          PageDictionary* in) {
  if (text.empty()) return nullptr;
  PageDictionary* const shown = in->AddSectionDictionary(section);
  shown->SetValue("TEXT", SafeLines(text, /*utf8=*/true));
  return shown;
}

std::string Headline(const Report& report, const char* words) {
  const std::string about = ReportSubject(
      report, [](absl::string_view name) { return std::string(name); });
  return Say(words, VerdictWord(report), about, VerdictSentence(report));
}

void AddOverview(const Report& report, const PageFindings& findings,
                 PageDictionary* page) {
  AddHead(report, page);
  AddBoxes(report, findings, page);
  AddRacks(report, page);
  AddRails(report, page);
  AddValues(report, page);
}

}  // namespace clusterd
