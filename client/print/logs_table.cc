#include "client/print/logs_table.h"

#include <map>
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

std::string HostsOf(const LogCode& code, int columns) {
  return HostsText(
      std::vector<std::string>(code.hosts().begin(), code.hosts().end()),
      columns);
}

void PrintCode(const LogCode& code, const LogsAnswer& answer, Page& page) {
  page.Wrapped(
      absl::StrCat(page.Strong(code.code()), "  "),
      absl::StrCat(Count(code.lines(), "line"), " on ",
                   page.Safe(HostsOf(code, kHostColumns)),
                   code.meaning().empty() ? "" : ": ", code.meaning()));
  for (const LogsOfHost& host : answer.hosts()) {
    const auto first = absl::c_find_if(
        host.logs().hits(),
        [&code](const LogHit& hit) { return hit.code() == code.code(); });
    if (first == host.logs().hits().end()) continue;
    page.Whole(
        "  first  ",
        page.Safe(absl::StrCat(
            host.host(), ":", first->file(),
            first->line() == 0 ? "" : absl::StrCat(":", first->line()))));
    page.Wrapped("         ", page.Safe(first->text()));
    break;
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
  std::vector<std::string> notes;
  for (const auto& [text, hosts] : by_text) {
    notes.push_back(absl::StrCat(HostsText(hosts, kHostColumns), ": ", text));
  }
  page.PrintNotes(notes);
}

}  // namespace

void AddCodes(LogsAnswer* answer) {
  // A host may send anything.
  static const LazyRE2 kCode = {R"(E[A-Z]\d{4})"};
  std::map<std::string, LogCode> codes;
  for (const LogsOfHost& host : answer->hosts()) {
    for (const LogHit& hit : host.logs().hits()) {
      if (!HasForm(hit.code(), *kCode)) continue;
      LogCode& code = codes[hit.code()];
      code.set_code(hit.code());
      code.set_lines(code.lines() + hit.count());
      if (code.hosts().empty() || *code.hosts().rbegin() != host.host()) {
        code.add_hosts(host.host());
      }
    }
  }
  std::vector<LogCode> sorted;
  for (auto& [name, code] : codes) {
    code.set_meaning(std::string(ErrorCodeMeaning(name)));
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

void PrintLogsTable(const LogsAnswer& answer, const Style& style,
                    std::ostream& out) {
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
  page.Wrapped(
      "", absl::StrCat(
              answer.codes().empty()
                  ? "no code of HCCL stands in what was read"
                  : Count(static_cast<size_t>(answer.codes_size()), "code"),
              "; ", Count(files, "file"), ", ", bytes >> 20, " MiB, of ",
              hosts - CountUnread(answer), " of ", Count(hosts, "host")));
}

std::string LogsShort(const LogsAnswer& answer, bool utf8) {
  std::vector<std::string> parts;
  for (const LogCode& code : answer.codes()) {
    parts.push_back(absl::StrCat(code.code(), " ", code.lines(), " on ",
                                 HostsOf(code, kHostColumns)));
  }
  if (parts.empty()) parts.push_back("no code found");
  if (const size_t unread = CountUnread(answer); unread > 0) {
    parts.push_back(absl::StrCat(Count(unread, "host"), " not read"));
  }
  return SafeText(absl::StrJoin(parts, "; "), utf8);
}

}  // namespace clusterd
