#include "client/command/host_selection.h"

#include <iterator>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/files/user_files.h"
#include "config/values/hostlist.h"
#include "config/values/nearest_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxHostfileBytes = 32 << 20;
// Unknown hosts that get a line of their own; the rest share one.
constexpr size_t kNamedUnknown = 10;
constexpr int kHostsColumns = 200;

// Adds the names of one hostlist. `where` says where it was given.
void Expand(const std::string& where, absl::string_view text,
            std::vector<std::string>& names,
            std::vector<std::string>& mistakes) {
  const absl::string_view list = absl::StripAsciiWhitespace(text);
  if (list.empty()) {
    mistakes.push_back(absl::StrCat(where, ": is empty, expected host names"));
    return;
  }
  if (list.find('@') != absl::string_view::npos) {
    mistakes.push_back(absl::StrCat(where, ": host groups (\"", list,
                                    "\") are not supported yet, expected names "
                                    "such as node[01-12,15]"));
    return;
  }
  const absl::StatusOr<std::vector<std::string>> expanded =
      ExpandHostlist(list);
  if (!expanded.ok()) {
    mistakes.push_back(absl::StrCat(where, ": ", expanded.status().message()));
    return;
  }
  names.insert(names.end(), expanded->begin(), expanded->end());
}

void ExpandHostfile(const std::string& path, std::vector<std::string>& names,
                    std::vector<std::string>& mistakes) {
  const absl::StatusOr<std::string> text =
      ReadTextFile(path, kMaxHostfileBytes);
  if (!text.ok()) {
    mistakes.push_back(absl::StrCat("--hostfile ", text.status().message()));
    return;
  }
  const size_t names_before = names.size();
  const size_t mistakes_before = mistakes.size();
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    const absl::string_view list =
        absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (list.empty()) continue;
    Expand(absl::StrCat(path, ":", number), list, names, mistakes);
  }
  if (names.size() == names_before && mistakes.size() == mistakes_before) {
    mistakes.push_back(absl::StrCat("--hostfile ", path, ": names no host"));
  }
}

void AddUnknownHosts(const std::vector<std::string>& unknown,
                     absl::Span<const std::string> spec_hosts,
                     std::vector<std::string>& mistakes) {
  const std::vector<absl::string_view> candidates(spec_hosts.begin(),
                                                  spec_hosts.end());
  for (size_t i = 0; i < unknown.size() && i < kNamedUnknown; ++i) {
    mistakes.push_back(absl::StrCat("host \"", unknown[i],
                                    "\" is not in the spec",
                                    DidYouMean(unknown[i], candidates)));
  }
  if (unknown.size() <= kNamedUnknown) return;
  const std::vector<std::string> rest(unknown.begin() + kNamedUnknown,
                                      unknown.end());
  mistakes.push_back(absl::StrCat("nor are ", rest.size(), " more hosts: ",
                                  HostsText(rest, kHostsColumns)));
}

}  // namespace

void ExpandHosts(const Environment& environment, HostSelection& selection,
                 std::vector<std::string>& mistakes) {
  const std::vector<std::string> lists = std::move(selection.hosts);
  selection.hosts.clear();
  for (const std::string& list : lists) {
    Expand("HOSTS", list, selection.hosts, mistakes);
  }
  if (!selection.hostfile.empty()) {
    ExpandHostfile(selection.hostfile, selection.hosts, mistakes);
  }
  const bool is_named = !lists.empty() || !selection.hostfile.empty();
  const auto job = environment.find("SLURM_JOB_ID");
  const auto nodes = environment.find("SLURM_JOB_NODELIST");
  const bool is_in_job = job != environment.end() && nodes != environment.end();
  if (selection.all && is_named) {
    mistakes.push_back(
        "--all: HOSTS or --hostfile are given too, expected one "
        "of them");
  } else if (!selection.all && !is_named && is_in_job) {
    selection.slurm_job = job->second;
    Expand("SLURM_JOB_NODELIST", nodes->second, selection.hosts, mistakes);
  } else {
    selection.all = !is_named;
  }
  std::vector<std::string> excluded;
  for (const std::string& list : selection.exclude) {
    Expand("--exclude", list, excluded, mistakes);
  }
  selection.exclude = std::move(excluded);
}

std::vector<std::string> ResolveHosts(const HostSelection& selection,
                                      absl::Span<const std::string> spec_hosts,
                                      std::vector<std::string>& mistakes) {
  const std::set<std::string> wanted(selection.hosts.begin(),
                                     selection.hosts.end());
  const std::set<std::string> excluded(selection.exclude.begin(),
                                       selection.exclude.end());
  std::set<std::string> known(spec_hosts.begin(), spec_hosts.end());
  std::vector<std::string> unknown;
  for (const auto* list : {&selection.hosts, &selection.exclude}) {
    absl::c_copy_if(*list, std::back_inserter(unknown), [&](const auto& host) {
      return known.insert(host).second;
    });
  }
  AddUnknownHosts(unknown, spec_hosts, mistakes);

  std::vector<std::string> hosts;
  absl::c_copy_if(spec_hosts, std::back_inserter(hosts), [&](const auto& host) {
    return (selection.all || wanted.count(host) > 0) &&
           excluded.count(host) == 0;
  });
  if (hosts.empty() && unknown.empty()) {
    mistakes.push_back(spec_hosts.empty()
                           ? "no host to check: the spec has no servers"
                           : "no host to check: --exclude leaves none");
  }
  return hosts;
}

}  // namespace clusterd
