// The overview of a report: verdict, failures and what was not checked; and its
// maps: hosts by rack, devices by leaf switch, hosts by value.
#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
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

// The report, with the verdict that its rules and hosts support.
Report HeadOf(const Report& report) {
  Report head;
  head.set_verdict(SupportedVerdict(report));
  head.set_error(report.error());
  head.set_partial(report.partial());
  return head;
}

void AddAbout(const char* name, absl::string_view value, PageDictionary* page) {
  if (value.empty()) return;
  PageDictionary* const row = page->AddSectionDictionary("ABOUT_ROW");
  SetText("NAME", Say(name), row);
  SetText("VALUE", value, row);
}

size_t HostsWithoutFacts(const Report& report) {
  return std::count_if(
      report.hosts().begin(), report.hosts().end(),
      [](const HostStatus& host) { return !host.no_facts_reason().empty(); });
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
  google::protobuf::RepeatedPtrField<Subject> subjects;
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
    box.Line(HostsText({report.awaited().begin(), report.awaited().end()}, 240),
             Say("html-awaited"));
  }
  for (const RuleResult* rule : rules[UNKNOWN]) {
    box.Rules({rule->rule()}, Say("html-unknown-on", WhereText(*rule)));
  }
  for (const auto& [why, names] : skipped) box.Rules(names, why);
}

constexpr size_t kHostsOfRow = 32;  // Without racks.
// A port is an odd one where its switch has so many times as many of another.
constexpr uint32_t kOddShare = 4;

// "node" of "node0012".
absl::string_view NamePrefix(absl::string_view host) {
  while (!host.empty() && absl::ascii_isdigit(host.back())) {
    host.remove_suffix(1);
  }
  return host;
}

struct RackRow {
  std::string name;    // Empty: no rack is known.
  std::string prefix;  // Its hosts' names', without racks.
  std::vector<int> hosts;
};

std::vector<RackRow> RackRows(const Report& report) {
  FirstSeen<std::string, RackRow> racks;
  std::vector<RackRow> others;
  for (int at = 0; at < report.hosts_size(); ++at) {
    const HostStatus& host = report.hosts(at);
    if (!host.rack().empty()) {
      racks[host.rack()].name = host.rack();
      racks[host.rack()].hosts.push_back(at);
      continue;
    }
    const std::string prefix(NamePrefix(host.host()));
    if (others.empty() || others.back().prefix != prefix ||
        others.back().hosts.size() >= kHostsOfRow) {
      others.push_back({"", prefix, {}});
    }
    others.back().hosts.push_back(at);
  }
  std::vector<RackRow> rows;
  for (auto& [name, row] : racks.items()) rows.push_back(std::move(row));
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

// A host's own state, or that of what is known about it, whichever is worse.
State StateOf(const HostStatus& host) {
  const State state = KnownState(host.state());
  return host.no_facts_reason().empty() ? state : WorseState(state, UNKNOWN);
}

void AddLegend(const Report& report, PageDictionary* page) {
  std::map<State, size_t> counts;
  for (const HostStatus& host : report.hosts()) ++counts[StateOf(host)];
  for (const State state : {FAIL, UNKNOWN, WARN, PASS, SKIPPED}) {
    PageDictionary* const entry = page->AddSectionDictionary("LEGEND");
    SetText("LETTER", StateLetter(state), entry);
    SetText("WORD", StateWord(state), entry);
    entry->SetIntValue("COUNT", static_cast<long>(counts[state]));
  }
}

uint32_t MostOf(const SwitchPorts& leaf) {
  uint32_t most = 0;
  for (const SwitchPorts::Ports& ports : leaf.ports()) {
    most = std::max(most, ports.host_count());
  }
  return most;
}

bool IsOdd(const SwitchPorts& leaf, const SwitchPorts::Ports& ports) {
  return ports.host_count() > 0 &&
         ports.host_count() * kOddShare <= MostOf(leaf);
}

void AddSwitch(const SwitchPorts& leaf, const std::set<uint32_t>& devices,
               PageDictionary* rails) {
  PageDictionary* const row = rails->AddSectionDictionary("SWITCH");
  SetText("NAME", leaf.name().empty() ? Say("html-no-switch") : leaf.name(),
          row);
  std::map<uint32_t, const SwitchPorts::Ports*> by_device;
  for (const SwitchPorts::Ports& ports : leaf.ports()) {
    by_device[ports.device()] = &ports;
  }
  for (const uint32_t device : devices) {
    PageDictionary* const port = row->AddSectionDictionary("PORT");
    const auto found = by_device.find(device);
    if (found == by_device.end()) {
      port->ShowSection("EMPTY");
      continue;
    }
    const bool odd = !leaf.name().empty() && IsOdd(leaf, *found->second);
    PageDictionary* const cell = port->AddSectionDictionary("CABLED");
    SetText("CLASS", odd ? "odd" : "many", cell);
    SetText("HOSTS", found->second->hosts(), cell);
    cell->SetIntValue("COUNT", found->second->host_count());
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

}  // namespace

const char* StateLetter(State state) {
  switch (KnownState(state)) {
    case FAIL:
      return "F";
    case WARN:
      return "W";
    case PASS:
      return "P";
    case SKIPPED:
      return "S";
    default:
      return "U";
  }
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
  const Report head = HeadOf(report);
  const std::string about = ReportSubject(
      report, [](absl::string_view name) { return std::string(name); });
  return Say(words, VerdictWord(head), about, VerdictSentence(head));
}

void AddHead(const Report& report, PageDictionary* page) {
  SetText("LETTER", StateLetter(HeadOf(report).verdict()), page);
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

void AddRacks(const Report& report, PageDictionary* page) {
  AddLegend(report, page);
  if (report.hosts().empty()) page->ShowSection("NO_HOSTS");
  for (const RackRow& rack : RackRows(report)) {
    PageDictionary* const row = page->AddSectionDictionary("RACK");
    std::vector<std::string> names;
    State worst = PASS;
    size_t not_passing = 0;
    for (const int at : rack.hosts) {
      const HostStatus& host = report.hosts(at);
      const State state = StateOf(host);
      PageDictionary* const cell = row->AddSectionDictionary("HOST");
      cell->SetIntValue("AT", at);
      SetText("NAME", host.host(), cell);
      SetText("LETTER", StateLetter(state), cell);
      SetText("WORD", StateWord(state), cell);
      names.push_back(host.host());
      worst = WorseState(worst, state);
      if (state != PASS) ++not_passing;
    }
    SetText("NAME", rack.name.empty() ? FoldHostlist(names) : rack.name, row);
    SetText("LETTER", StateLetter(worst), row);
    SetText("COUNT",
            not_passing == 0
                ? Say("html-rack-passes")
                : Say("html-rack-fails", not_passing, names.size()),
            row);
  }
}

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
  std::stable_partition(
      leaves.begin(), leaves.end(), [](const SwitchPorts* leaf) {
        return std::any_of(
            leaf->ports().begin(), leaf->ports().end(),
            [leaf](const auto& ports) { return IsOdd(*leaf, ports); });
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
      SetText("NAME", fact.name(), row);
      SetText("TEXT", group.value(), row);
      row->SetIntValue("HOSTS", group.host_count());
      SetText(
          "DEVICES",
          group.device_count() == 0 ? "" : absl::StrCat(group.device_count()),
          row);
      SetText("WHERE", group.hosts(), row);
    }
  }
}

}  // namespace clusterd
