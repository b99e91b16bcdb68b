#include "client/print/hosts_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/print/duration_text.h"
#include "client/print/fact_value.h"
#include "client/print/subject_text.h"
#include "client/print/terminal_text.h"

namespace clusterd {
namespace {

constexpr int kHostsColumns = 60;
// Lines of one table; a cluster where every host differs stays readable.
constexpr size_t kMaxGroups = 40;

// In the order in which they are printed, worst last.
enum class Presence { kAttached, kNotInSpec, kNotAttached, kConflict };

const char* PresenceWord(Presence presence) {
  switch (presence) {
    case Presence::kAttached:
      return "attached";
    case Presence::kNotInSpec:
      return "not in spec";
    case Presence::kNotAttached:
      return "not attached";
    case Presence::kConflict:
      return "conflict";
  }
  return "";
}

Paint PresencePaint(Presence presence) {
  switch (presence) {
    case Presence::kAttached:
      return Paint::kGreen;
    case Presence::kNotInSpec:
      return Paint::kYellow;
    default:
      return Paint::kRed;
  }
}

Presence PresenceOf(const HostEntry& host) {
  if (!host.conflict().empty()) return Presence::kConflict;
  if (!host.attached()) return Presence::kNotAttached;
  return host.in_spec() ? Presence::kAttached : Presence::kNotInSpec;
}

int DriftCount(const HostEntry& host) {
  return host.drift().value().drifts_size();
}

// "2 drifted"; empty: none, or the host never said.
std::string DriftRemark(const DriftFact& drift) {
  if (drift.has_missing()) {
    return absl::StrCat("drift not known: ", MissingWords(drift.missing()));
  }
  const DriftFact::Drifts& drifts = drift.value();
  std::vector<std::string> parts;
  if (!drifts.drifts().empty()) {
    parts.push_back(absl::StrCat(drifts.drifts_size(), " drifted"));
  }
  if (!drifts.untold().empty()) {
    parts.push_back(
        absl::StrCat(drifts.untold_size(), " whose drift cannot be told"));
  }
  if (drifts.left_out() > 0) {
    parts.push_back(absl::StrCat(drifts.left_out(), " more not listed"));
  }
  return absl::StrJoin(parts, ", ");
}

std::string Remark(const HostEntry& host) {
  std::vector<std::string> parts;
  if (!host.conflict().empty()) parts.push_back(host.conflict());
  if (!host.attached() && !host.detached_reason().empty()) {
    parts.push_back(host.detached_reason());
  }
  if (!host.in_spec() && !host.attached()) parts.push_back("not in spec");
  if (!host.simulation().empty()) parts.push_back(host.simulation());
  const std::string drift = DriftRemark(host.drift());
  if (!drift.empty()) parts.push_back(drift);
  return absl::StrJoin(parts, "; ");
}

struct HostGroup {
  Presence presence = Presence::kAttached;
  std::string version;
  std::string remark;
  bool never_seen = false;
  std::vector<std::string> hosts;
  int64_t earliest_ms = 0;
  int64_t latest_ms = 0;
};

std::vector<HostGroup> GroupHosts(const ListHostsResponse& response) {
  using Key = std::tuple<Presence, std::string, std::string, bool>;
  std::map<Key, HostGroup> groups;
  for (const HostEntry& host : response.hosts()) {
    const int64_t since_ms =
        host.attached() ? host.attached_since_ms() : host.last_seen_ms();
    const Key key{PresenceOf(host), host.clusterd_version(), Remark(host),
                  since_ms == 0};
    HostGroup& group = groups[key];
    if (group.hosts.empty()) {
      std::tie(group.presence, group.version, group.remark, group.never_seen) =
          key;
      group.earliest_ms = group.latest_ms = since_ms;
    }
    group.hosts.push_back(host.host());
    group.earliest_ms = std::min(group.earliest_ms, since_ms);
    group.latest_ms = std::max(group.latest_ms, since_ms);
  }
  std::vector<HostGroup> result;
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  return result;
}

std::string SinceText(const HostGroup& group, absl::Time now) {
  const std::string shortest = AgeText(group.latest_ms, now);
  const std::string longest = AgeText(group.earliest_ms, now);
  return shortest == longest ? shortest : absl::StrCat(shortest, "-", longest);
}

using Row = std::array<std::string, 5>;

void PrintRow(const Row& row, const std::array<int, 5>& columns,
              const Style& style, Paint first, std::ostream& out) {
  std::string line = Painted(style, first, Padded(row[0], columns[0]));
  for (size_t i = 1; i < row.size(); ++i) {
    absl::StrAppend(&line, "  ", Padded(row[i], columns[i]));
  }
  out << absl::StripTrailingAsciiWhitespace(line) << "\n";
}

std::string CountsLine(const ListHostsResponse& response) {
  std::map<Presence, int> counts;
  for (const HostEntry& host : response.hosts()) ++counts[PresenceOf(host)];
  std::vector<std::string> parts;
  for (const auto& [presence, count] : counts) {
    parts.push_back(absl::StrCat(count, " ", PresenceWord(presence)));
  }
  const auto drifted =
      std::count_if(response.hosts().begin(), response.hosts().end(),
                    [](const HostEntry& host) { return DriftCount(host) > 0; });
  if (drifted > 0) parts.push_back(absl::StrCat(drifted, " with drift"));
  return parts.empty() ? "no hosts" : absl::StrJoin(parts, ", ");
}

// "net.core.somaxconn is 128, applied was 65535 (apply 3fa2c4d5e6f70812 by
// ann)".
std::string DriftText(const AppliedDrift& drift) {
  return absl::StrCat(drift.why().empty() ? drift.change() : drift.why(),
                      " (apply ", drift.apply_id(),
                      drift.applied_by().empty() ? "" : " by ",
                      drift.applied_by(), ")");
}

// Both values of everything that drifted, folded over hosts that agree.
void PrintDrift(const ListHostsResponse& response, const Style& style,
                std::ostream& out) {
  std::map<std::string, std::vector<std::string>> hosts_of;
  for (const HostEntry& host : response.hosts()) {
    const DriftFact::Drifts& drifts = host.drift().value();
    for (const AppliedDrift& drift : drifts.drifts()) {
      hosts_of[DriftText(drift)].push_back(host.host());
    }
    for (const AppliedDrift& drift : drifts.untold()) {
      hosts_of[absl::StrCat("cannot be told: ", DriftText(drift))].push_back(
          host.host());
    }
  }
  if (hosts_of.empty()) return;
  out << "\n" << Painted(style, Paint::kBold, "Drift") << "\n";
  size_t shown = 0;
  for (const auto& [text, hosts] : hosts_of) {
    if (shown++ == kMaxGroups) break;
    out << "  "
        << SafeText(absl::StrCat(HostsText(hosts, kHostsColumns), ": ", text),
                    style.utf8)
        << "\n";
  }
  if (hosts_of.size() > kMaxGroups) {
    out << "  and " << hosts_of.size() - kMaxGroups
        << " more; -o json has all\n";
  }
}

}  // namespace

void PrintHostsTable(const ListHostsResponse& response, const Style& style,
                     absl::Time now, std::ostream& out) {
  std::vector<HostGroup> groups = GroupHosts(response);
  // The worst stand last and are the ones to keep.
  const size_t hidden = groups.size() - std::min(groups.size(), kMaxGroups);
  groups.erase(groups.begin(), groups.begin() + hidden);
  std::vector<Row> rows = {{"STATE", "HOSTS", "SINCE", "VERSION", ""}};
  for (const HostGroup& group : groups) {
    rows.push_back({PresenceWord(group.presence),
                    SafeText(HostsText(group.hosts, kHostsColumns), style.utf8),
                    SinceText(group, now), SafeText(group.version, style.utf8),
                    SafeText(group.remark, style.utf8)});
  }
  std::array<int, 5> columns = {};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      columns[i] = std::max(columns[i], TextColumns(row[i]));
    }
  }
  PrintRow(rows[0], columns, style, Paint::kBold, out);
  for (size_t i = 0; i < groups.size(); ++i) {
    PrintRow(rows[i + 1], columns, style, PresencePaint(groups[i].presence),
             out);
  }
  if (hidden > 0) out << hidden << " more groups; -o json has all\n";
  PrintDrift(response, style, out);
  out << "\n"
      << (response.cluster().empty()
              ? ""
              : absl::StrCat(SafeText(response.cluster(), style.utf8), ": "))
      << CountsLine(response) << "\n";
}

std::string HostsShort(const ListHostsResponse& response, bool utf8) {
  std::map<Presence, std::vector<std::string>> hosts_of;
  std::vector<std::string> drifted;
  int in_spec = 0;
  int attached = 0;
  for (const HostEntry& host : response.hosts()) {
    hosts_of[PresenceOf(host)].push_back(host.host());
    if (DriftCount(host) > 0) drifted.push_back(host.host());
    if (!host.in_spec()) continue;
    ++in_spec;
    if (host.attached()) ++attached;
  }
  std::string line =
      absl::StrCat(response.cluster().empty() ? "cluster" : response.cluster(),
                   ": ", attached, " of ", in_spec,
                   in_spec == 1 ? " host" : " hosts", " attached");
  for (const auto& [presence, hosts] : hosts_of) {
    if (presence == Presence::kAttached) continue;
    absl::StrAppend(&line, "; ", PresenceWord(presence), ": ",
                    HostsText(hosts, kHostsColumns));
  }
  if (!drifted.empty()) {
    absl::StrAppend(&line, "; drifted: ", HostsText(drifted, kHostsColumns));
  }
  return SafeText(line, utf8);
}

}  // namespace clusterd
