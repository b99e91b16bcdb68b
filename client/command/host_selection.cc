#include "client/command/host_selection.h"

#include <iterator>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command/command.h"
#include "client/files/user_files.h"
#include "config/spec/host_names.h"
#include "config/values/hostlist.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxHostfileBytes = 32 << 20;
// How many unknown hosts get their own line; the rest share one.
constexpr size_t kNamedUnknown = 10;
constexpr int kHostsColumns = 200;

// Adds the names of one hostlist. `where` names its source.
void Expand(const std::string& where, absl::string_view text,
            std::vector<std::string>& names,
            std::vector<FindingValue>& mistakes) {
  const absl::string_view list = absl::StripAsciiWhitespace(text);
  if (list.empty()) {
    mistakes.push_back(Worded("msg-hosts-empty", where));
  } else if (absl::StrContains(list, '@')) {
    mistakes.push_back(Worded("msg-host-group", where, list));
  } else if (const auto expanded = ExpandHostlist(list); expanded.ok()) {
    names.insert(names.end(), expanded->begin(), expanded->end());
  } else {
    AddMistakes(absl::StrCat(where, ": "), expanded.status(), mistakes);
  }
}

void ExpandHostfile(const std::string& path, std::vector<std::string>& names,
                    std::vector<FindingValue>& mistakes) {
  const absl::StatusOr<std::string> text =
      ReadTextFile(path, kMaxHostfileBytes);
  if (!text.ok()) return AddMistakes("--hostfile ", text.status(), mistakes);
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
    mistakes.push_back(Worded("msg-hostfile-empty", path));
  }
}

void AddUnknownHosts(const std::vector<std::string>& unknown,
                     absl::Span<const std::string> spec_hosts,
                     std::vector<FindingValue>& mistakes) {
  const std::vector<absl::string_view> candidates(spec_hosts.begin(),
                                                  spec_hosts.end());
  for (size_t i = 0; i < unknown.size() && i < kNamedUnknown; ++i) {
    mistakes.push_back(Worded("msg-host-not-in-spec", unknown[i],
                              DidYouMeanWords(unknown[i], candidates)));
  }
  if (unknown.size() <= kNamedUnknown) return;
  mistakes.push_back(
      Worded("msg-more-hosts-not-in-spec", unknown.size() - kNamedUnknown,
             HostsValue({unknown.begin() + kNamedUnknown, unknown.end()},
                        kHostsColumns)));
}

}  // namespace

void ExpandHosts(const Environment& environment, HostSelection& selection,
                 std::vector<FindingValue>& mistakes) {
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
    mistakes.push_back(Worded("msg-options-conflict", "--all",
                              Worded("ctl-or", "HOSTS", "--hostfile")));
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

std::vector<std::string> ResolveHosts(HostSelection selection,
                                      const ClusterSpec& spec,
                                      std::vector<FindingValue>& mistakes) {
  const std::map<std::string, std::string> by_name = HostsByAnyName(spec);
  std::set<std::string> unknown_names;
  std::vector<std::string> unknown;
  for (auto* list : {&selection.hosts, &selection.exclude}) {
    for (std::string& name : *list) {
      const auto host = by_name.find(name);
      if (host != by_name.end()) {
        name = host->second;
      } else if (unknown_names.insert(name).second) {
        unknown.push_back(name);
      }
    }
  }
  const std::set<std::string> wanted(selection.hosts.begin(),
                                     selection.hosts.end());
  const std::set<std::string> excluded(selection.exclude.begin(),
                                       selection.exclude.end());
  const auto spec_hosts = Each<std::string>(spec.servers(), &ServerSpec::host);
  AddUnknownHosts(unknown, spec_hosts, mistakes);

  std::vector<std::string> hosts;
  absl::c_copy_if(spec_hosts, std::back_inserter(hosts), [&](const auto& host) {
    return (selection.all || wanted.count(host) > 0) &&
           excluded.count(host) == 0;
  });
  if (hosts.empty() && unknown.empty()) {
    mistakes.push_back(Worded(spec_hosts.empty() ? "msg-no-host-in-spec"
                                                 : "msg-no-host-left"));
  }
  return hosts;
}

}  // namespace clusterd
