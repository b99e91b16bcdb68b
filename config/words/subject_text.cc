#include "config/words/subject_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/words/terminal.h"

namespace clusterd {
namespace {

constexpr char kControllerName[] = "clusterd-controller";

// Hosts that share one set of devices, in order of appearance, keyed by whether
// they are the cluster, which never folds with hosts, and the devices' words.
using SubjectGroups =
    FirstSeen<std::pair<bool, std::string>,
              std::pair<FindingValue, std::vector<std::string>>>;

SubjectGroups GroupSubjects(const Subjects& subjects) {
  FirstSeen<std::string, std::vector<uint32_t>> devices_of;
  for (const Subject& subject : subjects) {
    std::vector<uint32_t>& ids = devices_of[subject.host()];
    ids.insert(ids.end(), subject.devices().begin(), subject.devices().end());
  }
  SubjectGroups groups;
  for (const auto& [host, ids] : devices_of) {
    const FindingValue devices = DevicesValue(ids);
    auto& group = groups[{host.empty(), ValueText(devices)}];
    group.first = devices;
    group.second.push_back(host);
  }
  return groups;
}

}  // namespace

FindingValue DevicesValue(std::vector<uint32_t> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.empty()) return {};
  return Worded(ids.size() == 1 ? "devices-one" : "devices-several",
                FoldIds(ids));
}

FindingValue HostsValue(const std::vector<std::string>& hosts, int columns,
                        absl::string_view one) {
  std::string folded = FoldHostlist(hosts);
  if (TextColumns(folded) <= columns) return ToFindingValue(folded);
  // Halving keeps the work small however many names there are.
  size_t shown = hosts.size();
  while (shown > 1 && TextColumns(folded) > columns) {
    shown /= 2;
    folded = FoldHostlist({hosts.begin(), hosts.begin() + shown});
  }
  const size_t rest = hosts.size() - shown;
  if (rest == 0) return ToFindingValue(folded);
  return Worded("hosts-and-more", folded,
                Counted(rest, absl::StrCat("more ", one)));
}

FindingValue SubjectsValue(const Subjects& subjects, int groups, int columns) {
  if (subjects.empty()) return Worded("cluster");
  FindingValue all;
  int shown = 0;
  const auto add = [&](const FindingValue& next) {
    all = shown++ == 0 ? next : Worded("subjects-and", all, next);
  };
  size_t hidden_hosts = 0;
  for (const auto& [key, group] : GroupSubjects(subjects)) {
    const auto& [devices, hosts] = group;
    if (shown == groups) {
      hidden_hosts += hosts.size();
      continue;
    }
    const FindingValue who =
        key.first ? Worded("cluster") : HostsValue(hosts, columns);
    add(key.second.empty() ? who : Worded("subject-devices", who, devices));
  }
  if (hidden_hosts > 0) {
    add(Worded("and-more", Counted(hidden_hosts, "more host")));
  }
  return all;
}

FindingValue HostNetworkNote(absl::string_view network_namespace,
                             const std::vector<std::string>& hosts) {
  const std::pair<absl::string_view, absl::string_view> target =
      absl::StrSplit(network_namespace, absl::MaxSplits(':', 1));
  return Worded(target.first == "path"  ? "shared-namespace"
                : target.first == "pid" ? "shared-process"
                                        : "shared-container",
                target.second, FoldHostlist(hosts));
}

std::string ActorName(absl::string_view actor) {
  const std::vector<absl::string_view> parts = absl::StrSplit(actor, '/');
  // spiffe: "" CLUSTER KIND NAME …
  if (parts.size() < 4 || parts[0] != "spiffe:") return std::string(actor);
  if (parts.size() == 4) {
    return std::string(parts[3] == "controller" ? kControllerName : actor);
  }
  if (parts[3] == "user") return std::string(parts[4]);
  if (parts[3] == "host") return absl::StrCat("host ", parts[4]);
  return std::string(actor);
}

std::string ControllerActor(absl::string_view cluster) {
  return absl::StrCat("spiffe://", cluster, "/controller");
}

bool IsController(absl::string_view actor) {
  return ActorName(actor) == kControllerName &&
         !absl::StrContains(actor, "/user/");
}

}  // namespace clusterd
