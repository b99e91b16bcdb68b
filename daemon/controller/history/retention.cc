#include "daemon/controller/history/retention.h"

#include <algorithm>

namespace clusterd {
namespace {

// The sooner an entry may go, the less: checks, then plans, then what changed
// hosts.
enum Worth { kCheck, kPlan, kChange };

Worth WorthOf(const KeptEntry& entry) {
  if (entry.kind == HISTORY_PLAN) return kPlan;
  const bool changes_hosts =
      entry.kind == HISTORY_APPLY || entry.kind == HISTORY_ROLLBACK;
  return changes_hosts ? kChange : kCheck;
}

// What a set of entries takes.
struct Usage {
  int64_t entries = 0;
  int64_t bytes = 0;

  // `sign`: 1 for one more, -1 for one less.
  void Count(const KeptEntry& entry, int sign) {
    entries += sign;
    bytes += sign * entry.bytes;
  }
  // Whether it takes more than a `share`th of the limits.
  bool Exceeds(const HistoryLimits& limits, int64_t share) const {
    return entries > limits.max_entries / share ||
           bytes > limits.max_bytes / share;
  }
};

}  // namespace

std::vector<int64_t> ChooseForRemoval(const std::vector<KeptEntry>& kept,
                                      const KeptEntry& coming,
                                      const HistoryLimits& limits) {
  Usage all;
  Usage of[kChange + 1];
  const auto count = [&](const KeptEntry& entry, int sign) {
    all.Count(entry, sign);
    of[WorthOf(entry)].Count(entry, sign);
  };
  count(coming, 1);
  std::vector<KeptEntry> left;
  for (const KeptEntry& entry : kept) {
    count(entry, 1);
    if (!entry.running) left.push_back(entry);
  }
  std::vector<int64_t> removed;
  while (all.Exceeds(limits, 1) && !left.empty()) {
    // The oldest of those that are worth no more than this; of more, if there
    // is none.
    int most = of[kChange].Exceeds(limits, 2) ? kChange
               : of[kPlan].Exceeds(limits, 4) ? kPlan
                                              : kCheck;
    auto next = left.end();
    for (; next == left.end(); ++most) {
      next = std::find_if(
          left.begin(), left.end(),
          [most](const KeptEntry& entry) { return WorthOf(entry) <= most; });
    }
    count(*next, -1);
    removed.push_back(next->position);
    left.erase(next);
  }
  return removed;
}

}  // namespace clusterd
