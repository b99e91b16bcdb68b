#include "client/print/logs_table.h"

#include <map>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/catalogue.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int kHostColumns = 40;
constexpr int kKeyColumns = 5;

std::string Head(absl::string_view words) {
  return absl::StrCat("  ", Padded(Say(words), kKeyColumns), "  ");
}

void PrintCode(const LogCode& code, const LogsAnswer& answer, Page& page) {
  page.Wrapped(
      absl::StrCat(page.Strong(code.code()), "  "),
      JoinParts(": ", {Say("logs-lines-on", Count(code.lines(), "line"),
                           page.Safe(HostsText(code.hosts(), kHostColumns))),
                       code.meaning()}));
  for (const LogsOfHost& host : answer.hosts()) {
    const LogHit* const first =
        FirstWith(host.logs().hits(), &LogHit::code, code.code());
    if (first == nullptr) continue;
    page.Whole(
        Head("logs-first"),
        page.Safe(absl::StrCat(
            host.host(), ":", first->file(),
            first->line() == 0 ? "" : absl::StrCat(":", first->line()))));
    page.Wrapped("         ", page.Safe(first->text()));
    break;
  }
  for (const std::string& detail : code.details()) {
    page.Wrapped(Head("logs-ends"), page.Safe(detail));
  }
  if (code.rules().empty() && code.meaning().empty()) return;
  page.Wrapped(Head("logs-rules"),
               Say("logs-explain",
                   code.rules().empty() ? Say("logs-no-rule")
                                        : absl::StrJoin(code.rules(), ", "),
                   code.code()));
}

// Prints the hosts' notes; hosts with the same notes share a line.
void PrintNotes(const LogsAnswer& answer, Page& page) {
  std::map<std::string, std::vector<std::string>> by_text;
  for (const LogsOfHost& host : answer.hosts()) {
    if (!host.error().empty()) by_text[host.error()].push_back(host.host());
    if (host.logs().has_missing()) {
      by_text[ValueText(DetailOf(host.logs().missing()))].push_back(
          host.host());
    }
    for (const std::string& note :
         TextsOf(host.logs().notes_words(), host.logs().notes())) {
      by_text[note].push_back(host.host());
    }
  }
  page.PrintNotes(Each<std::string>(by_text, [](const auto& note) {
    return JoinParts(": ", {HostsText(note.second, kHostColumns), note.first});
  }));
}

constexpr size_t kMaxDetails = 16;
constexpr int kMaxRanks = 8;

// Resolves addresses of the cluster and ranks to hosts and devices.
class Ends {
 public:
  Ends(const ClusterSpec& spec, const LogsAnswer& answer) {
    std::set<std::string> asked;
    for (const LogsOfHost& host : answer.hosts()) asked.insert(host.host());
    for (const ServerSpec& server : spec.servers()) {
      names_[server.address()] = server.host();
      for (const DeviceSpec& device : server.devices()) {
        std::string& name = names_[device.address()];
        name = Say("logs-device", server.host(), device.id());
        if (asked.count(server.host()) > 0) by_rank_.push_back(name);
      }
    }
  }

  std::string Text(const LogDetail& detail) const {
    if (detail.kind() == LogDetail::LINK) {
      return Say("logs-waited", End(detail.here(), detail.here_rank()),
                 End(detail.there(), detail.there_rank()), detail.status(),
                 SayPart("logs-tls", detail.tls()));
    }
    if (detail.kind() == LogDetail::SAME_DEVICE) {
      return Say("logs-same-device", Named(detail.here()));
    }
    std::vector<std::string> ranks;
    for (const uint32_t rank : detail.ranks()) {
      ranks.push_back(rank < by_rank_.size()
                          ? Say("logs-place", rank, by_rank_[rank])
                          : absl::StrCat(rank));
    }
    if (ranks.empty()) return "";
    return Say(by_rank_.empty() ? "logs-missing-ranks" : "logs-ranks-by-spec",
               FirstOf(ranks, kMaxRanks));
  }

 private:
  std::string Named(const std::string& address) const {
    const auto known = names_.find(address);
    return known == names_.end() || address.empty()
               ? address
               : Say("logs-place", known->second, address);
  }
  std::string End(const std::string& address, uint32_t rank) const {
    return Say("logs-end", rank, Named(address));
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

// True if every host was read, and none has a log file.
bool AreNone(const LogsAnswer& answer) {
  return CountUnread(answer) == 0 &&
         absl::c_all_of(answer.hosts(), [](const LogsOfHost& host) {
           return host.logs().files().empty();
         });
}

}  // namespace

void AddCodes(const ClusterSpec& spec, LogsAnswer* answer) {
  // A host may send any text as a code.
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
  answer->clear_codes();
  for (auto& [name, code] : codes) {
    code.set_meaning(ErrorCodeMeaning(name));
    if (tls[name].size() > 1) code.add_details(Say("logs-tls-differs"));
    for (const Rule* rule : RulesOfErrorCode(name)) {
      code.add_rules(std::string(rule->name));
    }
    *answer->add_codes() = std::move(code);
  }
  absl::c_stable_sort(
      *answer->mutable_codes(),
      [](const LogCode& a, const LogCode& b) { return a.lines() < b.lines(); });
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
        JoinParts("; ", {Say("logs-none-on", Count(hosts, "host")),
                         asked.user().empty() ? Say("logs-try-user") : "",
                         asked.since_ms() > 0 ? Say("logs-try-since") : ""}));
  }
  page.Wrapped(
      "", Say("logs-summary",
              answer.codes().empty() ? Say("logs-no-code")
                                     : Count(answer.codes_size(), "code"),
              Count(files, "file"), bytes >> 20, hosts - CountUnread(answer),
              Count(hosts, "host")));
}

std::string LogsShort(const LogsAnswer& answer) {
  std::vector<std::string> parts;
  for (const LogCode& code : answer.codes()) {
    parts.push_back(Say("logs-short-code", code.code(), code.lines(),
                        HostsText(code.hosts(), kHostColumns)));
  }
  if (parts.empty()) {
    parts.push_back(
        Say(AreNone(answer) ? "logs-short-none" : "logs-short-no-code"));
  }
  if (const size_t unread = CountUnread(answer); unread > 0) {
    parts.push_back(Say("logs-unread", Count(unread, "host")));
  }
  return SafeText(absl::StrJoin(parts, Say("list-semicolon")), /*utf8=*/true);
}

}  // namespace clusterd
