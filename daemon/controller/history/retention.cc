#include "daemon/controller/history/retention.h"

#include <algorithm>

namespace clusterd {
namespace {

bool ChangesHosts(const KeptEntry& entry) {
  return entry.kind == HISTORY_APPLY || entry.kind == HISTORY_ROLLBACK;
}

bool IsPlan(const KeptEntry& entry) { return entry.kind == HISTORY_PLAN; }

bool IsCheck(const KeptEntry& entry) {
  return !ChangesHosts(entry) && !IsPlan(entry);
}

struct Usage {
  int64_t entries = 0;
  int64_t bytes = 0;

  void Add(const KeptEntry& entry) {
    ++entries;
    bytes += entry.bytes;
  }
  void Remove(const KeptEntry& entry) {
    --entries;
    bytes -= entry.bytes;
  }
  bool Exceeds(int64_t max_entries, int64_t max_bytes) const {
    return entries > max_entries || bytes > max_bytes;
  }
};

}  // namespace

std::vector<int64_t> ChooseForRemoval(const std::vector<KeptEntry>& kept,
                                      const KeptEntry& coming,
                                      const HistoryLimits& limits) {
  Usage all;
  Usage changes;
  Usage plans;
  const auto count = [&](const KeptEntry& entry) {
    all.Add(entry);
    if (ChangesHosts(entry)) changes.Add(entry);
    if (IsPlan(entry)) plans.Add(entry);
  };
  for (const KeptEntry& entry : kept) count(entry);
  count(coming);
  std::vector<KeptEntry> left;
  for (const KeptEntry& entry : kept) {
    if (!entry.running) left.push_back(entry);
  }
  std::vector<int64_t> removed;
  while (all.Exceeds(limits.max_entries, limits.max_bytes) && !left.empty()) {
    auto next = left.begin();
    if (!changes.Exceeds(limits.max_entries / 2, limits.max_bytes / 2)) {
      auto harmless = std::find_if_not(left.begin(), left.end(), ChangesHosts);
      if (!plans.Exceeds(limits.max_entries / 4, limits.max_bytes / 4)) {
        const auto check = std::find_if(left.begin(), left.end(), IsCheck);
        if (check != left.end()) harmless = check;
      }
      if (harmless != left.end()) next = harmless;
    }
    all.Remove(*next);
    if (ChangesHosts(*next)) changes.Remove(*next);
    if (IsPlan(*next)) plans.Remove(*next);
    removed.push_back(next->place);
    left.erase(next);
  }
  return removed;
}

}  // namespace clusterd
