#include "client/print/logs_table.h"

#include <map>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/error_codes.h"
#include "config/values/text_form.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int kHostColumns = 40;

std::string HostsOf(const LogCode& code) {
  return HostsText({code.hosts().begin(), code.hosts().end()}, kHostColumns);
}

void PrintCode(const LogCode& code, const LogsAnswer& answer, Page& page) {
  page.Wrapped(
      absl::StrCat(page.Strong(code.code()), "  "),
      absl::StrCat(Count(code.lines(), "line"), " on ",
                   page.Safe(HostsOf(code)), code.meaning().empty() ? "" : ": ",
                   code.meaning()));
  for (const LogsOfHost& host : answer.hosts()) {
    const LogHit* const first =
        FirstWith(host.logs().hits(), &LogHit::code, code.code());
    if (first == nullptr) continue;
    page.Whole(
        "  first  ",
        page.Safe(absl::StrCat(
            host.host(), ":", first->file(),
            first->line() == 0 ? "" : absl::StrCat(":", first->line()))));
    page.Wrapped("         ", page.Safe(first->text()));
    break;
  }
  for (const std::string& detail : code.details()) {
    page.Wrapped("  ends   ", page.Safe(detail));
  }
  const std::string rules = absl::StrJoin(code.rules(), ", ");
  if (code.rules().empty() && code.meaning().empty()) return;
  page.Wrapped("  rules  ",
               absl::StrCat(rules.empty() ? "none covers it" : rules,
                            "; `clusterctl explain ", code.code(), "`"));
}

// What hosts had to say besides, hosts that say the same folded.
void PrintNotes(const LogsAnswer& answer, Page& page) {
  std::map<std::string, std::vector<std::string>> by_text;
  for (const LogsOfHost& host : answer.hosts()) {
    if (!host.error().empty()) by_text[host.error()].push_back(host.host());
    if (host.logs().has_missing()) {
      by_text[host.logs().missing().detail()].push_back(host.host());
    }
    for (const std::string& note : host.logs().notes()) {
      by_text[note].push_back(host.host());
    }
  }
  page.PrintNotes(Each<std::string>(by_text, [](const auto& note) {
    return absl::StrCat(HostsText(note.second, kHostColumns), ": ", note.first);
  }));
}

constexpr size_t kMaxDetails = 16;
constexpr int kMaxRanks = 8;

// Addresses of the cluster and ranks of the hosts asked as hosts and devices.
class Ends {
 public:
  Ends(const ClusterSpec& spec, const LogsAnswer& answer) {
    std::set<std::string> asked;
    for (const LogsOfHost& host : answer.hosts()) asked.insert(host.host());
    for (const ServerSpec& server : spec.servers()) {
      names_[server.address()] = server.host();
      for (const DeviceSpec& device : server.devices()) {
        std::string& name = names_[device.address()];
        name = absl::StrCat(server.host(), " device ", device.id());
        if (asked.count(server.host()) > 0) by_rank_.push_back(name);
      }
    }
  }

  std::string Text(const LogDetail& detail) const {
    if (detail.kind() == LogDetail::LINK) {
      return absl::StrCat(
          End(detail.here(), detail.here_rank()), " waited for ",
          End(detail.there(), detail.there_rank()), ": ", detail.status(),
          Part(", TLS ", detail.tls()),
          "; look at the log of the second one first, then ping that pair");
    }
    if (detail.kind() == LogDetail::SAME_DEVICE) {
      return absl::StrCat("both ends are ", Named(detail.here()),
                          ": two ranks on one device");
    }
    std::vector<std::string> ranks;
    for (const uint32_t rank : detail.ranks()) {
      ranks.push_back(absl::StrCat(
          rank, rank < by_rank_.size() ? absl::StrCat(" (", by_rank_[rank], ")")
                                       : ""));
    }
    if (ranks.empty()) return "";
    return absl::StrCat("ranks that did not come: ", FirstOf(ranks, kMaxRanks),
                        by_rank_.empty() ? ""
                                         : ", if the job has the order of "
                                           "cluster.yaml");
  }

 private:
  std::string Named(const std::string& address) const {
    const auto known = names_.find(address);
    return known == names_.end() || address.empty()
               ? address
               : absl::StrCat(known->second, " (", address, ")");
  }
  std::string End(const std::string& address, uint32_t rank) const {
    return absl::StrCat("rank ", rank, " on ", Named(address));
  }

  std::map<std::string, std::string> names_;
  std::vector<std::string> by_rank_;
};

void AddDetails(const LogHit& hit, const Ends& ends, std::set<std::string>* tls,
                LogCode* code) {
  for (const LogDetail& detail : hit.details()) {
    if (!detail.tls().empty()) tls->insert(detail.tls());
    std::string text = ends.Text(detail);
    if (code->details_size() < static_cast<int>(kMaxDetails) && !text.empty() &&
        !absl::c_linear_search(code->details(), text)) {
      code->add_details(std::move(text));
    }
  }
}

// Every host was read, and none has a log file.
bool AreNone(const LogsAnswer& answer) {
  return CountUnread(answer) == 0 &&
         absl::c_all_of(answer.hosts(), [](const LogsOfHost& host) {
           return host.logs().files().empty();
         });
}

}  // namespace

void AddCodes(const ClusterSpec& spec, LogsAnswer* answer) {
  // A host may send anything.
  static const LazyRE2 kCode = {R"(E[A-Z]\d{4})"};
  const Ends ends(spec, *answer);
  std::map<std::string, std::set<std::string>> tls;
  std::map<std::string, LogCode> codes;
  for (const LogsOfHost& host : answer->hosts()) {
    for (const LogHit& hit : host.logs().hits()) {
      if (!HasForm(hit.code(), *kCode) && FindRule(hit.code()) == nullptr) {
        continue;
      }
      LogCode& code = codes[hit.code()];
      code.set_code(hit.code());
      code.set_lines(code.lines() + hit.count());
      if (code.hosts().empty() || *code.hosts().rbegin() != host.host()) {
        code.add_hosts(host.host());
      }
      AddDetails(hit, ends, &tls[hit.code()], &code);
    }
  }
  std::vector<LogCode> sorted;
  for (auto& [name, code] : codes) {
    code.set_meaning(std::string(ErrorCodeMeaning(name)));
    if (tls[name].size() > 1) {
      code.add_details("TlsStatus differs between rows: see tls-uniform");
    }
    for (const Rule* rule : RulesOfErrorCode(name)) {
      code.add_rules(std::string(rule->name));
    }
    sorted.push_back(std::move(code));
  }
  absl::c_stable_sort(sorted, [](const LogCode& a, const LogCode& b) {
    return a.lines() < b.lines();
  });
  for (LogCode& code : sorted) *answer->add_codes() = std::move(code);
}

size_t CountUnread(const LogsAnswer& answer) {
  return static_cast<size_t>(
      absl::c_count_if(answer.hosts(), [](const LogsOfHost& host) {
        return !host.error().empty() || host.logs().has_missing();
      }));
}

void PrintLogsTable(const LogsAnswer& answer, const LogsQuery& asked,
                    const Style& style, std::ostream& out) {
  Page page(style, out);
  size_t files = 0;
  uint64_t bytes = 0;
  for (const LogsOfHost& host : answer.hosts()) {
    files += static_cast<size_t>(host.logs().files_size());
    bytes += host.logs().read_bytes();
  }
  for (const LogCode& code : answer.codes()) {
    PrintCode(code, answer, page);
    out << "\n";
  }
  PrintNotes(answer, page);
  const size_t hosts = static_cast<size_t>(answer.hosts_size());
  if (AreNone(answer)) {
    return page.Wrapped(
        "",
        absl::StrCat(
            "there are no logs on ", Count(hosts, "host"),
            asked.user().empty() ? "; --user NAME reads those of one user" : "",
            asked.since_ms() > 0 ? "; an earlier --since takes in older files"
                                 : ""));
  }
  page.Wrapped(
      "", absl::StrCat(
              answer.codes().empty()
                  ? "no code of HCCL stands in what was read"
                  : Count(static_cast<size_t>(answer.codes_size()), "code"),
              "; ", Count(files, "file"), ", ", bytes >> 20, " MiB, of ",
              hosts - CountUnread(answer), " of ", Count(hosts, "host")));
}

std::string LogsShort(const LogsAnswer& answer) {
  std::vector<std::string> parts;
  for (const LogCode& code : answer.codes()) {
    parts.push_back(
        absl::StrCat(code.code(), " ", code.lines(), " on ", HostsOf(code)));
  }
  if (parts.empty()) {
    parts.push_back(AreNone(answer) ? "no logs" : "no code found");
  }
  if (const size_t unread = CountUnread(answer); unread > 0) {
    parts.push_back(absl::StrCat(Count(unread, "host"), " not read"));
  }
  return SafeText(absl::StrJoin(parts, "; "), /*utf8=*/true);
}

}  // namespace clusterd
