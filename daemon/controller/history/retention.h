// Which entries of a history go, so that one more fits. Pure.
#ifndef DAEMON_CONTROLLER_HISTORY_RETENTION_H_
#define DAEMON_CONTROLLER_HISTORY_RETENTION_H_

#include <cstdint>
#include <vector>

#include "daemon/controller/history/history_store.h"
#include "proto/controller.pb.h"

namespace clusterd {

struct KeptEntry {
  int64_t place = 0;  // Goes up with every entry that is added.
  HistoryKind kind = HISTORY_KIND_UNSPECIFIED;
  bool running = false;
  int64_t bytes = 0;  // Of the detail.
};

// Places of those to drop so that `kept`, oldest first, and `coming` are within
// the limits together; as HistoryLimits says. Fewer than that would take if the
// rest is running.
std::vector<int64_t> ChooseForRemoval(const std::vector<KeptEntry>& kept,
                                      const KeptEntry& coming,
                                      const HistoryLimits& limits);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_RETENTION_H_
