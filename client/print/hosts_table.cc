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
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr int kHostsColumns = 60;
// The most lines of one table, for clusters where every host differs.
constexpr size_t kMaxGroups = 40;

// Prints a row for each group. The worst groups are last and are kept.
template <typename Groups, typename RowOf>
void PrintGroups(const Groups& groups, Row head, const RowOf& row_of,
                 Page& page) {
  const size_t hidden = groups.size() - std::min(groups.size(), kMaxGroups);
  std::vector<Row> rows = {std::move(head)};
  for (auto it = std::next(groups.begin(), hidden); it != groups.end(); ++it) {
    rows.push_back(row_of(it->first, it->second));
  }
  page.PrintTable(rows, {});
  if (hidden == 0) return;
  page.Whole("", Say("list-more-groups-json", Count(hidden, "more group")));
}

// "2 attached, 1 left", by the row of each entry in `states`.
template <typename Entries, typename States, typename RowOf>
std::string StatesText(const Entries& entries, const States& states,
                       const RowOf& row_of) {
  std::map<size_t, int> counts;
  for (const auto& entry : entries) ++counts[row_of(entry)];
  if (counts.empty()) return Say("hosts-none");
  return absl::StrJoin(
      counts, Say("list-comma"), [&](std::string* out, auto count) {
        absl::StrAppend(out, Say("hosts-count", count.second,
                                 Say(states[count.first].words)));
      });
}

// Ordered as printed, worst last.
enum Presence { kAttached, kNotInSpec, kLeft, kNotAttached, kConflict };

// Ordered as Presence.
constexpr struct {
  const char* words;
  const char* name;  // As --state takes it.
  Paint paint;
} kPresences[] = {{"hosts-attached", "attached", Paint::kGreen},
                  {"hosts-not-in-spec", "not-in-spec", Paint::kYellow},
                  {"hosts-left", "left", Paint::kYellow},
                  {"hosts-not-attached", "away", Paint::kRed},
                  {"hosts-conflict", "conflict", Paint::kRed}};

Presence PresenceOf(const HostEntry& host) {
  if (!host.conflict().empty()) return kConflict;
  if (host.attached()) return host.in_spec() ? kAttached : kNotInSpec;
  return host.in_spec() ? kNotAttached : kLeft;
}

bool HasDrift(const HostEntry& host) {
  return !host.drift().value().drifts().empty();
}

// "2 drifted"; empty without drift, or before the host's first report.
std::string DriftRemark(const DriftFact& drift) {
  if (drift.has_missing()) {
    return Say("hosts-drift-unknown", WhyMissing(drift.missing()));
  }
  const DriftFact::Drifts& drifts = drift.value();
  return JoinParts(", ", {SayPart("hosts-drifted", drifts.drifts_size()),
                          SayPart("hosts-unknown", drifts.unknown_size()),
                          SayPart("hosts-more-drifts", drifts.left_out())});
}

// About the certificate of the host's stream; empty: it does not expire soon.
std::string CertificateRemark(const HostEntry& host, absl::Time now) {
  const absl::Time end = absl::FromUnixMillis(host.certificate_ends_ms());
  const absl::Duration notice =
      host.certificate_renews() ? kRenewedNotice : kCertificateNotice;
  const bool warns =
      host.attached() && host.certificate_ends_ms() > 0 && end - now <= notice;
  if (!warns) return "";
  return Say(
      host.certificate_renews() ? "hosts-not-renewed" : "hosts-renew-by-hand",
      UtcMinute(end));
}

std::string Remark(const HostEntry& host, absl::Time now) {
  const bool attached = host.attached();
  return JoinParts(
      "; ",
      {host.conflict(), host.maintenance() ? Say("hosts-in-maintenance") : "",
       attached ? "" : host.detached_reason(),
       ValueText(Term(host.simulation())), DriftRemark(host.drift()),
       CertificateRemark(host, now)});
}

// Presence, version, remark, and if the host was never seen.
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
                          SayPart("hosts-with-drift", drifted)});
}

// Prints both values of each drift, folded over hosts that agree.
void PrintDrift(const ListHostsResponse& response, Page& page) {
  std::map<std::string, std::vector<std::string>> hosts_of;
  for (const HostEntry& host : response.hosts()) {
    const DriftFact::Drifts& drifts = host.drift().value();
    for (const AppliedDrift& drift : drifts.drifts()) {
      hosts_of[DriftText(drift)].push_back(host.host());
    }
    for (const AppliedDrift& drift : drifts.unknown()) {
      hosts_of[Say("hosts-step-unknown", DriftText(drift))].push_back(
          host.host());
    }
  }
  if (hosts_of.empty()) return;
  page.Title(Say("hosts-drift"));
  size_t shown = 0;
  for (const auto& [text, hosts] : hosts_of) {
    if (shown++ == kMaxGroups) break;
    page.Whole("  ", page.Safe(JoinParts(
                         ": ", {HostsText(hosts, kHostsColumns), text})));
  }
  if (hosts_of.size() > kMaxGroups) {
    page.Whole("  ", Say("list-more-json", hosts_of.size() - kMaxGroups));
  }
}

std::string EntryText(const HostEntry& entry, absl::Time now) {
  std::string presence = Say("hosts-never-attached");
  if (entry.attached()) {
    presence =
        Say("hosts-attached-for", AgeText(entry.attached_since_ms(), now));
  } else if (entry.last_seen_ms() != 0) {
    presence = Say("hosts-last-seen", AgeText(entry.last_seen_ms(), now));
  }
  return JoinParts(
      ", ", {presence, entry.in_spec() ? "" : Say("hosts-not-in-the-spec"),
             entry.attached() ? "" : entry.detached_reason(),
             SayPart("hosts-clusterd", entry.clusterd_version()),
             SayPart("hosts-from", entry.peer()),
             SayPart("hosts-conflict-with", entry.conflict())});
}

// The list names a certificate that is not renewed this long before its end.
constexpr absl::Duration kByHandNotice = absl::Hours(30 * 24);

// By CertificateEntry::State, worst last.
constexpr struct {
  CertificateEntry::State state;
  const char* words;
  Paint paint;
} kTrustStates[] = {
    {CertificateEntry::ENROLLED, "hosts-enrolled", Paint::kGreen},
    {CertificateEntry::BY_HAND, "hosts-by-hand", Paint::kNone},
    {CertificateEntry::NONE, "hosts-no-certificate", Paint::kYellow},
    {CertificateEntry::ENDED, "hosts-expired", Paint::kRed},
    {CertificateEntry::WAITS_FOR_APPROVAL, "hosts-waits", Paint::kYellow}};

size_t TrustRowOf(CertificateEntry::State state) {
  for (size_t row = 0; row < std::size(kTrustStates); ++row) {
    if (kTrustStates[row].state == state) return row;
  }
  return 2;  // A newer controller's: unknown.
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
                 ? Say("hosts-renewed-late", entry.late_renewals())
                 : Say("hosts-renewed");
    case CertificateEntry::ENDED:
      return Say("hosts-renewed-when-back");
    case CertificateEntry::BY_HAND:
      return Say(end - now <= kByHandNotice ? "hosts-renew-how"
                                            : "hosts-not-renewing");
    case CertificateEntry::WAITS_FOR_APPROVAL:
      return JoinParts("; ",
                       {entry.serial().empty() ? "" : Say("hosts-enrolled"),
                        Say(entry.approved() ? "hosts-approved" : "hosts-asks",
                            Say("hosts-machine", entry.waiting_machine_id(),
                                entry.waiting_peer()),
                            entry.host(), entry.waiting_key())});
    default:
      return Say("hosts-not-yet-attached");
  }
}

}  // namespace

void PrintHostsTable(const ListHostsResponse& response, const Style& style,
                     absl::Time now, std::ostream& out) {
  Page page(style, out);
  PrintGroups(
      GroupHosts(response, now), TitleRow(Say("hosts-titles")),
      [&](const GroupKey& key, const HostGroup& group) -> Row {
        const auto& [presence, version, remark, never_seen] = key;
        return {{Say(kPresences[presence].words), kPresences[presence].paint},
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
    in_spec += host.in_spec();
    attached += host.in_spec() && host.attached();
  }
  if (state.has_value()) {
    const auto& hosts = hosts_of[static_cast<Presence>(*state)];
    return SafeText(JoinParts(": ", {response.cluster(),
                                     Say("hosts-count", hosts.size(),
                                         Say(kPresences[*state].words)),
                                     HostsText(hosts, kHostsColumns)}),
                    /*utf8=*/true);
  }
  std::string line = JoinParts(
      ": ", {response.cluster(),
             Say("hosts-short-attached", attached, Count(in_spec, "host"))});
  for (const auto& [presence, hosts] : hosts_of) {
    if (presence == kAttached) continue;
    absl::StrAppend(&line, Say("list-semicolon"),
                    JoinParts(": ", {Say(kPresences[presence].words),
                                     HostsText(hosts, kHostsColumns)}));
  }
  return SafeText(
      JoinParts("; ", {line, SayPart("hosts-short-drifted",
                                     HostsText(drifted, kHostsColumns))}),
      /*utf8=*/true);
}

void PrintHostFacts(const DescribeHostResponse& answer, const Style& style,
                    absl::Time now, std::ostream& out) {
  const Page page(style, out);
  const HostFacts& facts = answer.facts();
  const std::string& name =
      answer.entry().host().empty() ? facts.host() : answer.entry().host();
  out << page.Strong(name) << Say("list-colon")
      << page.Safe(EntryText(answer.entry(), now)) << "\n";
  if (answer.has_facts()) {
    PrintFactsTable(facts, style, now, out);
  } else {
    out << Say("hosts-no-facts") << "\n";
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
  std::vector<Row> rows = {TitleRow(Say("hosts-token-titles"))};
  for (const TokenEntry& token : tokens.tokens()) {
    const absl::Time end = absl::FromUnixMillis(token.expires_ms());
    rows.push_back(
        {{page.Safe(token.id())},
         {token.hosts().empty() ? Say("hosts-all") : page.Safe(token.hosts())},
         {Say("hosts-used-of", token.used(), token.uses())},
         {now < end ? Say("hosts-expires-in", DurationText(end - now))
                    : Say("hosts-expired"),
          now < end ? Paint::kNone : Paint::kDim},
         {page.Safe(token.creator())}});
  }
  if (rows.size() == 1) return page.Whole("", Say("hosts-no-tokens"));
  page.PrintTable(rows, {});
}

void PrintCertificates(const ListCertificatesResponse& certificates,
                       const Style& style, absl::Time now, std::ostream& out) {
  Page page(style, out);
  // State, end to the minute, serial (if the host is alone), remark.
  using Key = std::tuple<size_t, std::string, std::string>;
  std::map<Key, std::vector<const CertificateEntry*>> groups;
  for (const CertificateEntry& entry : certificates.certificates()) {
    groups[{TrustRowOf(entry.state()), UntilText(entry.ends_ms()),
            TrustRemark(entry, now)}]
        .push_back(&entry);
  }
  PrintGroups(
      groups, TitleRow(Say("hosts-certificate-titles")),
      [&](const Key& key,
          const std::vector<const CertificateEntry*>& entries) -> Row {
        const auto& [state, end, remark] = key;
        const auto hosts = Each<std::string>(entries, &CertificateEntry::host);
        return {{Say(kTrustStates[state].words), kTrustStates[state].paint},
                {page.Safe(HostsText(hosts, kHostsColumns))},
                {end},
                {page.Safe(entries.size() == 1 ? entries[0]->serial() : "")},
                {page.Safe(remark)}};
      },
      page);
  for (const OwnCertificate& own : certificates.own()) {
    const absl::Time end = absl::FromUnixMillis(own.ends_ms());
    const char* const row = own.ends_ms() == 0           ? "hosts-own-unknown"
                            : end - now <= kByHandNotice ? "hosts-own-by-hand"
                                                         : "hosts-own";
    page.Whole("", page.Safe(Say(row, own.what(), UntilText(own.ends_ms()))));
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
