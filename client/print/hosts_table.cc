#include "client/print/hosts_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/identity/tls_credentials.h"
#include "config/report/facts_table.h"
#include "config/words/fact_text.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "config/words/terminal.h"

namespace clusterd {
namespace {

constexpr int kHostsColumns = 60;
// Lines of one table; a cluster where every host differs stays readable.
constexpr size_t kMaxGroups = 40;

// In the order in which they are printed, worst last.
enum Presence { kAttached, kNotInSpec, kLeft, kNotAttached, kConflict };

// In the order of Presence.
constexpr struct {
  const char* words;
  const char* name;  // As --state takes it.
  Paint paint;
} kPresences[] = {{"attached", "attached", Paint::kGreen},
                  {"not in spec", "not-in-spec", Paint::kYellow},
                  {"left", "left", Paint::kYellow},
                  {"not attached", "away", Paint::kRed},
                  {"conflict", "conflict", Paint::kRed}};

Presence PresenceOf(const HostEntry& host) {
  if (!host.conflict().empty()) return kConflict;
  if (host.attached()) return host.in_spec() ? kAttached : kNotInSpec;
  return host.in_spec() ? kNotAttached : kLeft;
}

bool HasDrift(const HostEntry& host) {
  return !host.drift().value().drifts().empty();
}

// "2 drifted"; empty: none, or the host never said.
std::string DriftRemark(const DriftFact& drift) {
  if (drift.has_missing()) {
    return absl::StrCat("drift not known: ", WhyMissing(drift.missing()));
  }
  const DriftFact::Drifts& drifts = drift.value();
  return JoinParts(", ",
                   {Part(drifts.drifts_size(), "drifted"),
                    Part(drifts.untold_size(), "whose drift cannot be told"),
                    Part(drifts.left_out(), "more not listed")});
}

// What the host's stream was opened with; empty: it does not end soon.
std::string CertificateRemark(const HostEntry& host, absl::Time now) {
  const absl::Time end = absl::FromUnixMillis(host.certificate_ends_ms());
  const absl::Duration notice =
      host.certificate_renews() ? kRenewedNotice : kCertificateNotice;
  const bool told =
      host.attached() && host.certificate_ends_ms() > 0 && end - now <= notice;
  if (!told) return "";
  return absl::StrCat(
      "certificate ends ", UtcMinute(end),
      host.certificate_renews()
          ? ", and should have been renewed: journalctl -u clusterd says why "
            "not"
          : ", make a new one with deploy/certificates.sh and restart "
            "clusterd, or clusterd join");
}

std::string Remark(const HostEntry& host, absl::Time now) {
  const bool attached = host.attached();
  return JoinParts("; ",
                   {host.conflict(), attached ? "" : host.detached_reason(),
                    host.simulation(), DriftRemark(host.drift()),
                    CertificateRemark(host, now)});
}

// Presence, version, remark, and whether the host was never seen.
using GroupKey = std::tuple<Presence, std::string, std::string, bool>;

struct HostGroup {
  std::vector<std::string> hosts;
  std::set<int64_t> since_ms;
};

std::map<GroupKey, HostGroup> GroupHosts(const ListHostsResponse& response,
                                         absl::Time now) {
  std::map<GroupKey, HostGroup> groups;
  for (const HostEntry& host : response.hosts()) {
    const int64_t since_ms =
        host.attached() ? host.attached_since_ms() : host.last_seen_ms();
    HostGroup& group = groups[{PresenceOf(host), host.clusterd_version(),
                               Remark(host, now), since_ms == 0}];
    group.hosts.push_back(host.host());
    group.since_ms.insert(since_ms);
  }
  return groups;
}

std::string SinceText(const HostGroup& group, absl::Time now) {
  const std::string shortest = AgeText(*group.since_ms.rbegin(), now);
  const std::string longest = AgeText(*group.since_ms.begin(), now);
  return shortest == longest ? shortest : absl::StrCat(shortest, "-", longest);
}

std::string CountsLine(const ListHostsResponse& response) {
  std::map<Presence, int> counts;
  for (const HostEntry& host : response.hosts()) ++counts[PresenceOf(host)];
  std::vector<std::string> parts;
  for (const auto& [presence, count] : counts) {
    parts.push_back(absl::StrCat(count, " ", kPresences[presence].words));
  }
  const auto drifted = absl::c_count_if(response.hosts(), HasDrift);
  if (drifted > 0) parts.push_back(absl::StrCat(drifted, " with drift"));
  return parts.empty() ? "no hosts" : absl::StrJoin(parts, ", ");
}

// Both values of everything that drifted, folded over hosts that agree.
void PrintDrift(const ListHostsResponse& response, Page& page) {
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
  page.Title("Drift");
  size_t shown = 0;
  for (const auto& [text, hosts] : hosts_of) {
    if (shown++ == kMaxGroups) break;
    page.Whole("  ", page.Safe(absl::StrCat(HostsText(hosts, kHostsColumns),
                                            ": ", text)));
  }
  if (hosts_of.size() > kMaxGroups) {
    page.out() << "  and " << hosts_of.size() - kMaxGroups
               << " more; -o json has all\n";
  }
}

std::string EntryText(const HostEntry& entry, absl::Time now) {
  std::string presence = "never attached";
  if (entry.attached()) {
    presence =
        absl::StrCat("attached for ", AgeText(entry.attached_since_ms(), now));
  } else if (entry.last_seen_ms() != 0) {
    presence = absl::StrCat("not attached, last seen ",
                            AgeText(entry.last_seen_ms(), now), " ago");
  }
  return JoinParts(", ", {presence, entry.in_spec() ? "" : "not in the spec",
                          entry.attached() ? "" : entry.detached_reason(),
                          Part("clusterd ", entry.clusterd_version()),
                          Part("from ", entry.peer()),
                          Part("conflict: ", entry.conflict())});
}

}  // namespace

void PrintHostsTable(const ListHostsResponse& response, const Style& style,
                     absl::Time now, std::ostream& out) {
  Page page(style, out);
  const std::map<GroupKey, HostGroup> groups = GroupHosts(response, now);
  // The worst stand last and are the ones to keep.
  const size_t hidden = groups.size() - std::min(groups.size(), kMaxGroups);
  std::vector<Row> rows = {
      {{"STATE", Paint::kBold}, {"HOSTS"}, {"SINCE"}, {"VERSION"}, {""}}};
  for (auto it = std::next(groups.begin(), hidden); it != groups.end(); ++it) {
    const auto& [presence, version, remark, never_seen] = it->first;
    rows.push_back({{kPresences[presence].words, kPresences[presence].paint},
                    {page.Safe(HostsText(it->second.hosts, kHostsColumns))},
                    {SinceText(it->second, now)},
                    {page.Safe(version)},
                    {page.Safe(remark)}});
  }
  page.PrintTable(rows, {});
  if (hidden > 0) out << hidden << " more groups; -o json has all\n";
  PrintDrift(response, page);
  out << "\n"
      << JoinParts(": ", {page.Safe(response.cluster()), CountsLine(response)})
      << "\n";
}

std::vector<absl::string_view> HostStateNames() {
  std::vector<absl::string_view> names;
  for (const auto& presence : kPresences) names.push_back(presence.name);
  return names;
}

void KeepHostsInState(size_t state, ListHostsResponse* hosts) {
  auto* const all = hosts->mutable_hosts();
  all->erase(std::remove_if(all->begin(), all->end(),
                            [state](const HostEntry& host) {
                              return PresenceOf(host) != state;
                            }),
             all->end());
}

std::string HostsShort(const ListHostsResponse& response, bool utf8,
                       std::optional<size_t> state) {
  std::map<Presence, std::vector<std::string>> hosts_of;
  std::vector<std::string> drifted;
  int in_spec = 0;
  int attached = 0;
  for (const HostEntry& host : response.hosts()) {
    hosts_of[PresenceOf(host)].push_back(host.host());
    if (HasDrift(host)) drifted.push_back(host.host());
    if (!host.in_spec()) continue;
    ++in_spec;
    if (host.attached()) ++attached;
  }
  if (state.has_value()) {
    const auto& hosts = hosts_of[static_cast<Presence>(*state)];
    return SafeText(JoinParts(": ", {response.cluster(),
                                     absl::StrCat(hosts.size(), " ",
                                                  kPresences[*state].name),
                                     HostsText(hosts, kHostsColumns)}),
                    utf8);
  }
  std::string line = JoinParts(
      ": ",
      {response.cluster(),
       absl::StrCat(attached, " of ", Count(in_spec, "host"), " attached")});
  for (const auto& [presence, hosts] : hosts_of) {
    if (presence == kAttached) continue;
    absl::StrAppend(&line, "; ", kPresences[presence].words, ": ",
                    HostsText(hosts, kHostsColumns));
  }
  return SafeText(absl::StrCat(line, Part("; drifted: ",
                                          HostsText(drifted, kHostsColumns))),
                  utf8);
}

void PrintHostFacts(const DescribeHostResponse& answer, const Style& style,
                    absl::Time now, std::ostream& out) {
  const Page page(style, out);
  const HostFacts& facts = answer.facts();
  const std::string& name =
      answer.entry().host().empty() ? facts.host() : answer.entry().host();
  out << page.Strong(name) << ": " << page.Safe(EntryText(answer.entry(), now))
      << "\n";
  if (answer.has_facts()) {
    PrintFactsTable(facts, style, now, out);
  } else {
    out << "no facts\n";
  }
}

}  // namespace clusterd
