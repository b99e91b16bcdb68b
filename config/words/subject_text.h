// The subjects of a finding, folded and bounded:
//   server[0-1] device 3; server2 devices 0-3,5; and 17 more
// the author of an action, and the map and list that such folding takes.
#ifndef CONFIG_WORDS_SUBJECT_TEXT_H_
#define CONFIG_WORDS_SUBJECT_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/words.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/finding.pb.h"

namespace clusterd {

// A map that keeps its keys in the order of insertion, for folding equal hosts.
template <typename Key, typename Value>
class FirstSeen {
 public:
  // Makes an empty value for a new key.
  Value& operator[](const Key& key) {
    const auto [found, is_new] = index_.emplace(key, items_.size());
    if (is_new) {
      items_.emplace_back(std::piecewise_construct, std::forward_as_tuple(key),
                          std::tuple<>());
    }
    return items_[found->second].second;
  }
  std::vector<std::pair<Key, Value>>& items() { return items_; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }

 private:
  std::map<Key, size_t> index_;
  std::vector<std::pair<Key, Value>> items_;
};

// The result of `of` for each item: Each<std::string>(hosts, &HostPlan::host).
template <typename Value, typename Items, typename Of>
std::vector<Value> Each(const Items& items, Of of) {
  std::vector<Value> values;
  for (const auto& item : items) values.emplace_back(std::invoke(of, item));
  return values;
}

// Removes the items for which `drops` is true.
template <typename Items, typename Drops>
void DropIf(Items* items, const Drops& drops) {
  items->erase(std::remove_if(items->begin(), items->end(), drops),
               items->end());
}

// The first item for which `of` gives the value, or nullptr. REQUIRES: `items`
// outlive the pointer.
template <typename Items, typename Of, typename Value>
auto FirstWith(Items&& items, Of of, const Value& value)
    -> decltype(&*std::begin(items)) {
  for (auto& item : items) {
    if (std::invoke(of, item) == value) return &item;
  }
  return nullptr;
}

// For a number of groups or columns: all are shown.
inline constexpr int kUnbounded = std::numeric_limits<int>::max();

using Subjects = google::protobuf::RepeatedPtrField<Subject>;

// "device 3", "devices 0-3,5"; empty for none.
FindingValue DevicesValue(std::vector<uint32_t> ids);
inline std::string DevicesText(std::vector<uint32_t> ids) {
  return ValueText(DevicesValue(std::move(ids)));
}

// Folded hosts; if the names would take more than `columns`, as many as fit and
// "and 17 more hosts"; `one` is the singular. Not made safe for a terminal.
FindingValue HostsValue(const std::vector<std::string>& hosts, int columns,
                        absl::string_view one = "host");
inline std::string HostsText(const std::vector<std::string>& hosts, int columns,
                             absl::string_view one = "host") {
  return ValueText(HostsValue(hosts, columns, one));
}
template <typename Names>
std::string HostsText(const Names& hosts, int columns) {
  return HostsText(std::vector<std::string>(hosts.begin(), hosts.end()),
                   columns);
}

// "10.0.0.1 on server0, 10.0.0.2 on server1": texts or numbers of a map and
// their hosts, at most 8 of them, made safe for a terminal.
template <typename Values>
FindingValue ByHosts(const Values& values) {
  return Listed(Each<FindingValue>(
                    values,
                    [](const auto& each) {
                      return Worded("on-hosts",
                                    PrintableText(absl::StrCat(each.first)),
                                    HostsValue(each.second, 60));
                    }),
                8);
}

// The hosts with their devices, hosts of the same devices folded together, at
// most `groups` of them, each bounded as in HostsText. No subject, or one
// without host and device, is "cluster". Not made safe for a terminal.
FindingValue SubjectsValue(const Subjects& subjects, int groups, int columns);
inline std::string SubjectsText(const Subjects& subjects, int groups,
                                int columns) {
  return ValueText(SubjectsValue(subjects, groups, columns));
}

// The name of a finding's last value, where a message has only its first
// subjects: the number of all.
inline constexpr char kAllSubjects[] = "all-subjects";

// "container train-1 on node[01-02] uses the host's network: host and container
// are one". REQUIRES: hosts is not empty.
FindingValue HostNetworkNote(absl::string_view network_namespace,
                             const std::vector<std::string>& hosts);

// The author of an action for a table or a sentence, from the SPIFFE id that is
// kept: "ann" of spiffe://demo/user/ann/role/admin, "host node07", and
// "clusterd-controller". Another text, as older versions kept, stays as it is.
// Not made safe for a terminal.
std::string ActorName(absl::string_view actor);

// The SPIFFE id of actions that a cluster's controller starts automatically,
// and whether an id is a controller's, also as older versions kept it.
std::string ControllerActor(absl::string_view cluster);
bool IsController(absl::string_view actor);

}  // namespace clusterd

#endif  // CONFIG_WORDS_SUBJECT_TEXT_H_
