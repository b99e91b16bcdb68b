#include "config/words/subject_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/hostlist.h"
#include "config/words/number_text.h"
#include "config/words/terminal_text.h"

namespace clusterd {
namespace {

// Hosts that share one set of devices, in the order first seen.
struct SubjectGroup {
  std::string devices;
  std::vector<std::string> hosts;
};

std::vector<SubjectGroup> GroupSubjects(
    const google::protobuf::RepeatedPtrField<Subject>& subjects) {
  std::vector<std::string> order;
  std::map<std::string, std::set<uint32_t>> devices_of;
  for (const Subject& subject : subjects) {
    const auto [it, added] = devices_of.try_emplace(subject.host());
    if (added) order.push_back(subject.host());
    it->second.insert(subject.devices().begin(), subject.devices().end());
  }
  std::vector<SubjectGroup> groups;
  std::map<std::string, size_t> group_of;
  for (const std::string& host : order) {
    const std::set<uint32_t>& ids = devices_of[host];
    const std::string devices = DevicesText({ids.begin(), ids.end()});
    // The cluster itself never folds with hosts.
    const std::string key = absl::StrCat(host.empty(), devices);
    const auto [it, added] = group_of.try_emplace(key, groups.size());
    if (added) groups.push_back({devices, {}});
    groups[it->second].hosts.push_back(host);
  }
  return groups;
}

std::string GroupText(const SubjectGroup& group, int columns) {
  const std::string hosts =
      group.hosts.front().empty() ? "cluster" : HostsText(group.hosts, columns);
  return group.devices.empty() ? hosts
                               : absl::StrCat(hosts, " ", group.devices);
}

}  // namespace

std::string FoldIds(absl::Span<const uint32_t> ids) {
  if (ids.empty()) return "none";
  std::string text;
  for (size_t first = 0; first < ids.size();) {
    size_t last = first;
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", ids[first]);
    if (last > first) absl::StrAppend(&text, "-", ids[last]);
    first = last + 1;
  }
  return text;
}

std::string DevicesText(std::vector<uint32_t> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.empty()) return "";
  return absl::StrCat(ids.size() == 1 ? "device " : "devices ", FoldIds(ids));
}

std::string HostsText(absl::Span<const std::string> hosts, int columns) {
  std::string folded = FoldHostlist(hosts);
  if (TextColumns(folded) <= columns) return folded;
  // Halving keeps the work small however many names there are.
  size_t shown = hosts.size();
  while (shown > 1 && TextColumns(folded) > columns) {
    shown /= 2;
    folded = FoldHostlist(hosts.subspan(0, shown));
  }
  const size_t rest = hosts.size() - shown;
  if (rest == 0) return folded;
  return absl::StrCat(folded, " and ", Count(rest, "more host"));
}

std::string SubjectsText(
    const google::protobuf::RepeatedPtrField<Subject>& subjects, int groups,
    int columns) {
  if (subjects.empty()) return "cluster";
  std::vector<std::string> texts;
  size_t hidden_hosts = 0;
  for (const SubjectGroup& group : GroupSubjects(subjects)) {
    if (static_cast<int>(texts.size()) < groups) {
      texts.push_back(GroupText(group, columns));
    } else {
      hidden_hosts += group.hosts.size();
    }
  }
  if (hidden_hosts > 0) {
    texts.push_back(absl::StrCat("and ", Count(hidden_hosts, "more host")));
  }
  return absl::StrJoin(texts, "; ");
}

}  // namespace clusterd
