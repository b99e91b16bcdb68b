// Lists of hosts as texts. Many groups have the same hosts, so that each list
// is folded once.
#ifndef CONFIG_RULES_SEEN_HOST_SETS_H_
#define CONFIG_RULES_SEEN_HOST_SETS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/rules/view/cluster_view.h"

namespace clusterd {

// Places in ClusterView::hosts, ascending, each once.
using HostPlaces = std::vector<uint32_t>;

// The last place may come again and again.
inline void AddPlace(uint32_t host, HostPlaces* places) {
  if (places->empty() || places->back() != host) places->push_back(host);
}

// The view must outlive it. Lives for one report.
class HostSets {
 public:
  explicit HostSets(const ClusterView& view) : view_(view) {}

  // HostsText of at most so many columns.
  const std::string& Text(const HostPlaces& places, int columns);

 private:
  const ClusterView& view_;
  std::map<std::pair<int, HostPlaces>, std::string> texts_;
};

void AddValueGroups(const ClusterView& view, HostSets* sets, Report* report);
void AddSwitches(const ClusterView& view, HostSets* sets, Report* report);

}  // namespace clusterd

#endif  // CONFIG_RULES_SEEN_HOST_SETS_H_
