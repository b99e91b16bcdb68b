// How much of a history is kept, and which entries go, so that one more fits.
// Pure.
#ifndef DAEMON_CONTROLLER_HISTORY_RETENTION_H_
#define DAEMON_CONTROLLER_HISTORY_RETENTION_H_

#include <cstdint>
#include <vector>

#include "proto/controller.pb.h"

namespace clusterd {

// What is kept, whichever bound is met first. Then the oldest go: checks and
// plans as long as applies and rollbacks hold at most half of both bounds, and
// of these checks as long as plans hold at most a quarter, so that checks
// before every job wash away neither who changed what nor a plan that waits for
// its apply. Never one that is running.
struct HistoryLimits {
  int64_t max_entries = 2000;
  // Of the details, serialized.
  int64_t max_bytes = 512 << 20;
};

struct KeptEntry {
  int64_t position = 0;  // Goes up with every entry that is added.
  HistoryKind kind = HISTORY_KIND_UNSPECIFIED;
  bool running = false;
  int64_t bytes = 0;  // Of the detail.
};

// Positions of those to drop so that `kept`, oldest first, and `coming` are
// within the limits together; as HistoryLimits says. Fewer than that would take
// if the rest is running.
std::vector<int64_t> ChooseForRemoval(const std::vector<KeptEntry>& kept,
                                      const KeptEntry& coming,
                                      const HistoryLimits& limits);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_RETENTION_H_
