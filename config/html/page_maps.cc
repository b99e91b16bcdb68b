// The maps of a report: hosts by rack, devices by leaf switch, hosts by value.
#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "config/html/page_sections.h"
#include "config/values/hostlist.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kHostsOfRow = 32;  // Where no rack is known.
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
  std::string prefix;  // Of its hosts, where no rack is known.
  std::vector<int> hosts;
};

std::vector<RackRow> RackRows(const Report& report) {
  FirstMet<std::string, RackRow> racks;
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
    entry->AddSectionDictionary("COUNTED")->SetIntValue(
        "COUNT", static_cast<long>(counts[state]));
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

bool HasOdd(const SwitchPorts& leaf) {
  return std::any_of(
      leaf.ports().begin(), leaf.ports().end(),
      [&](const SwitchPorts::Ports& ports) { return IsOdd(leaf, ports); });
}

std::string LeafName(const SwitchPorts& leaf) {
  return leaf.name().empty() ? "no switch known" : leaf.name();
}

void AddSwitch(const SwitchPorts& leaf, const std::set<uint32_t>& devices,
               PageDictionary* rails) {
  PageDictionary* const row = rails->AddSectionDictionary("SWITCH");
  SetText("NAME", LeafName(leaf), row);
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
      PageDictionary* const odd = list->AddSectionDictionary("ODD");
      std::vector<uint32_t> usual;
      for (const SwitchPorts::Ports& other : leaf->ports()) {
        if (!IsOdd(*leaf, other)) usual.push_back(other.device());
      }
      SetText("NAME", LeafName(*leaf), odd);
      odd->SetIntValue("DEVICE", ports.device());
      SetText("HOSTS", ports.hosts(), odd);
      SetText("OTHERS", DevicesText(usual), odd);
    }
  }
}

}  // namespace

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
            not_passing == 0 ? "all pass"
                             : absl::StrCat(not_passing, " of ", names.size()),
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
  std::stable_partition(leaves.begin(), leaves.end(),
                        [](const SwitchPorts* leaf) { return HasOdd(*leaf); });
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
