#include "client/print/trust_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int kNamesColumns = 60;
constexpr size_t kMaxCertificateGroups = 40;
// A certificate that nobody renews is spoken of this long before its end.
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
                 ? absl::StrCat("renews itself; late ", entry.late_renewals(),
                                " times")
                 : "renews itself";
    case CertificateEntry::ENDED:
      return "renews itself when the host is back";
    case CertificateEntry::BY_HAND:
      return end - now <= kByHandNotice ? "nobody renews it: clusterd join, or "
                                          "deploy/certificates.sh"
                                        : "nobody renews it";
    case CertificateEntry::WAITS_FOR_APPROVAL:
      return absl::StrCat(
          entry.serial().empty() ? "" : "enrolled; ", "machine ",
          entry.waiting_machine_id(), " from ", entry.waiting_peer(),
          entry.approved()
              ? ": approved, it has to join once more"
              : absl::StrCat(
                    " asks for the name: clusterctl certificates approve ",
                    entry.host(), " ", entry.waiting_key(), ", or refuse ",
                    entry.host(), " ", entry.waiting_key()));
    default:
      return "has not attached yet";
  }
}

}  // namespace

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
  const size_t hidden =
      groups.size() - std::min(groups.size(), kMaxCertificateGroups);
  std::vector<Row> rows = {
      {{"STATE", Paint::kBold}, {"HOSTS"}, {"ENDS"}, {"SERIAL"}, {""}}};
  for (auto it = std::next(groups.begin(), hidden); it != groups.end(); ++it) {
    const auto& [state, end, remark] = it->first;
    const auto hosts = Each<std::string>(it->second, &CertificateEntry::host);
    const std::string serial =
        it->second.size() == 1 ? it->second.front()->serial() : "";
    rows.push_back({{kTrustStates[state].words, kTrustStates[state].paint},
                    {page.Safe(HostsText(hosts, kNamesColumns))},
                    {end},
                    {page.Safe(serial)},
                    {page.Safe(remark)}});
  }
  page.PrintTable(rows, {});
  if (hidden > 0) out << hidden << " more groups; -o json has all\n";
  for (const OwnCertificate& own : certificates.own()) {
    const absl::Time end = absl::FromUnixMillis(own.ends_ms());
    out << page.Safe(
               absl::StrCat(own.what(), ": ends ",
                            own.ends_ms() == 0 ? "at a time that is not known"
                                               : UntilText(own.ends_ms()),
                            own.ends_ms() != 0 && end - now <= kByHandNotice
                                ? "; nobody renews it: deploy/certificates.sh"
                                : ""))
        << "\n";
  }
  out << "\n"
      << JoinParts(": ", {page.Safe(certificates.cluster()),
                          CertificatesShort(certificates)})
      << "\n";
}

std::string CertificatesShort(const ListCertificatesResponse& certificates) {
  std::map<size_t, int> counts;
  for (const CertificateEntry& entry : certificates.certificates()) {
    ++counts[TrustRowOf(entry.state())];
  }
  std::vector<std::string> parts;
  for (const auto& [row, count] : counts) {
    parts.push_back(absl::StrCat(count, " ", kTrustStates[row].words));
  }
  return parts.empty() ? "no hosts" : absl::StrJoin(parts, ", ");
}

}  // namespace clusterd
