#include "client/print/hosts_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/identity/tls_credentials.h"
#include "config/report/facts_table.h"
#include "config/words/fact_text.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int kHostsColumns = 60;
// Lines of one table; a cluster where every host differs stays readable.
constexpr size_t kMaxGroups = 40;

// Prints a row for each group. The worst groups stand last and are kept.
template <typename Groups, typename RowOf>
void PrintGroups(const Groups& groups, Row head, const RowOf& row_of,
                 Page& page) {
  const size_t hidden = groups.size() - std::min(groups.size(), kMaxGroups);
  std::vector<Row> rows = {std::move(head)};
  for (auto it = std::next(groups.begin(), hidden); it != groups.end(); ++it) {
    rows.push_back(row_of(it->first, it->second));
  }
  page.PrintTable(rows, {});
  if (hidden > 0) page.out() << hidden << " more groups; -o json has all\n";
}

// "2 attached, 1 left", by the row of each entry in `states`.
template <typename Entries, typename States, typename RowOf>
std::string StatesText(const Entries& entries, const States& states,
                       const RowOf& row_of) {
  std::map<size_t, int> counts;
  for (const auto& entry : entries) ++counts[row_of(entry)];
  return counts.empty()
             ? "no hosts"
             : absl::StrJoin(counts, ", ", [&](std::string* out, auto count) {
                 absl::StrAppend(out, count.second, " ",
                                 states[count.first].words);
               });
}

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
                   {host.conflict(), host.maintenance() ? "in maintenance" : "",
                    attached ? "" : host.detached_reason(), host.simulation(),
                    DriftRemark(host.drift()), CertificateRemark(host, now)});
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
  const size_t drifted = absl::c_count_if(response.hosts(), HasDrift);
  return JoinParts(", ", {StatesText(response.hosts(), kPresences, PresenceOf),
                          Part(drifted, "with drift")});
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

// The list names a certificate that is not renewed this long before its end.
constexpr absl::Duration kByHandNotice = absl::Hours(30 * 24);

// By CertificateEntry::State, worst last.
constexpr struct {
  CertificateEntry::State state;
  const char* words;
  Paint paint;
} kTrustStates[] = {
    {CertificateEntry::ENROLLED, "enrolled", Paint::kGreen},
    {CertificateEntry::BY_HAND, "by hand", Paint::kNone},
    {CertificateEntry::NONE, "none", Paint::kYellow},
    {CertificateEntry::ENDED, "ended", Paint::kRed},
    {CertificateEntry::WAITS_FOR_APPROVAL, "waits", Paint::kYellow}};

size_t TrustRowOf(CertificateEntry::State state) {
  for (size_t row = 0; row < std::size(kTrustStates); ++row) {
    if (kTrustStates[row].state == state) return row;
  }
  return 2;  // A state of a newer controller: nothing is known.
}

std::string UntilText(int64_t unix_ms) {
  if (unix_ms == 0) return "";
  return UtcMinute(absl::FromUnixMillis(unix_ms));
}

std::string TrustRemark(const CertificateEntry& entry, absl::Time now) {
  const absl::Time end = absl::FromUnixMillis(entry.ends_ms());
  switch (entry.state()) {
    case CertificateEntry::ENROLLED:
      return entry.late_renewals() > 0
                 ? absl::StrCat("renewed automatically; late ",
                                entry.late_renewals(), " times")
                 : "renewed automatically";
    case CertificateEntry::ENDED:
      return "renewed automatically when the host is back";
    case CertificateEntry::BY_HAND:
      return end - now <= kByHandNotice
                 ? "not renewed: clusterd join, or deploy/certificates.sh"
                 : "not renewed";
    case CertificateEntry::WAITS_FOR_APPROVAL:
      return absl::StrCat(
          entry.serial().empty() ? "" : "enrolled; ", "machine ",
          entry.waiting_machine_id(), " from ", entry.waiting_peer(),
          entry.approved()
              ? ": approved, it must join again"
              : absl::StrCat(
                    " asks for the name: clusterctl certificates approve ",
                    entry.host(), " ", entry.waiting_key(), ", or refuse ",
                    entry.host(), " ", entry.waiting_key()));
    default:
      return "has not attached yet";
  }
}

}  // namespace

void PrintHostsTable(const ListHostsResponse& response, const Style& style,
                     absl::Time now, std::ostream& out) {
  Page page(style, out);
  PrintGroups(
      GroupHosts(response, now),
      {{"STATE", Paint::kBold}, {"HOSTS"}, {"SINCE"}, {"VERSION"}, {""}},
      [&](const GroupKey& key, const HostGroup& group) -> Row {
        const auto& [presence, version, remark, never_seen] = key;
        return {{kPresences[presence].words, kPresences[presence].paint},
                {page.Safe(HostsText(group.hosts, kHostsColumns))},
                {SinceText(group, now)},
                {page.Safe(version)},
                {page.Safe(remark)}};
      },
      page);
  PrintDrift(response, page);
  out << "\n"
      << JoinParts(": ", {page.Safe(response.cluster()), CountsLine(response)})
      << "\n";
}

std::vector<absl::string_view> HostStateNames() {
  return Each<absl::string_view>(
      kPresences, [](const auto& presence) { return presence.name; });
}

void KeepHostsInState(size_t state, ListHostsResponse* hosts) {
  DropIf(hosts->mutable_hosts(),
         [state](const HostEntry& host) { return PresenceOf(host) != state; });
}

std::string HostsShort(const ListHostsResponse& response,
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
                    /*utf8=*/true);
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
                  /*utf8=*/true);
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

std::string JoinLine(const CreateTokenResponse& made,
                     const std::string& controller) {
  const size_t colon = controller.rfind(':');
  uint32_t port = 0;
  const bool is_next = colon != std::string::npos &&
                       absl::SimpleAtoi(controller.substr(colon + 1), &port) &&
                       made.enrol_port() == port + 1;
  return absl::StrCat(
      "clusterd join --controller ", controller, " --ca-hash ", made.ca_hash(),
      is_next ? "" : absl::StrCat(" --enrol-port ", made.enrol_port()),
      " --token ", made.token());
}

void PrintTokens(const ListTokensResponse& tokens, const Style& style,
                 absl::Time now, std::ostream& out) {
  Page page(style, out);
  std::vector<Row> rows = {
      {{"TOKEN", Paint::kBold}, {"HOSTS"}, {"USED"}, {"EXPIRES"}, {"MADE BY"}}};
  for (const TokenEntry& token : tokens.tokens()) {
    const absl::Time end = absl::FromUnixMillis(token.expires_ms());
    rows.push_back(
        {{page.Safe(token.id())},
         {token.hosts().empty() ? "all" : page.Safe(token.hosts())},
         {absl::StrCat(token.used(), " of ", token.uses())},
         {now < end ? absl::StrCat("in ", DurationText(end - now)) : "expired",
          now < end ? Paint::kNone : Paint::kDim},
         {page.Safe(token.creator())}});
  }
  if (rows.size() == 1) {
    out << "no tokens\n";
    return;
  }
  page.PrintTable(rows, {});
}

void PrintCertificates(const ListCertificatesResponse& certificates,
                       const Style& style, absl::Time now, std::ostream& out) {
  Page page(style, out);
  // State, end to the minute, serial of a host alone, remark.
  using Key = std::tuple<size_t, std::string, std::string>;
  std::map<Key, std::vector<const CertificateEntry*>> groups;
  for (const CertificateEntry& entry : certificates.certificates()) {
    groups[{TrustRowOf(entry.state()), UntilText(entry.ends_ms()),
            TrustRemark(entry, now)}]
        .push_back(&entry);
  }
  PrintGroups(
      groups, {{"STATE", Paint::kBold}, {"HOSTS"}, {"ENDS"}, {"SERIAL"}, {""}},
      [&](const Key& key,
          const std::vector<const CertificateEntry*>& entries) -> Row {
        const auto& [state, end, remark] = key;
        const auto hosts = Each<std::string>(entries, &CertificateEntry::host);
        return {{kTrustStates[state].words, kTrustStates[state].paint},
                {page.Safe(HostsText(hosts, kHostsColumns))},
                {end},
                {page.Safe(entries.size() == 1 ? entries[0]->serial() : "")},
                {page.Safe(remark)}};
      },
      page);
  for (const OwnCertificate& own : certificates.own()) {
    const absl::Time end = absl::FromUnixMillis(own.ends_ms());
    out << page.Safe(
               absl::StrCat(own.what(), ": ends ",
                            own.ends_ms() == 0 ? "at a time that is not known"
                                               : UntilText(own.ends_ms()),
                            own.ends_ms() != 0 && end - now <= kByHandNotice
                                ? "; not renewed: deploy/certificates.sh"
                                : ""))
        << "\n";
  }
  out << "\n"
      << JoinParts(": ", {page.Safe(certificates.cluster()),
                          CertificatesShort(certificates)})
      << "\n";
}

std::string CertificatesShort(const ListCertificatesResponse& certificates) {
  return StatesText(
      certificates.certificates(), kTrustStates,
      [](const CertificateEntry& entry) { return TrustRowOf(entry.state()); });
}

}  // namespace clusterd
