// What a controller does about its history when it starts.
//   the history                               the controller
//   opens                                     runs
//   is damaged, of a newer controller, or     runs without one: checks and
//   cannot be made or read                    plans are not kept, applies and
//                                             rollbacks are refused; logged
//   is another controller's, or its folder    does not start
//   is not there
#ifndef DAEMON_CONTROLLER_HISTORY_OPEN_HISTORY_H_
#define DAEMON_CONTROLLER_HISTORY_OPEN_HISTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/log/log.h"

namespace clusterd {

// Never null. Unavailable and NotFound: the controller should not start.
absl::StatusOr<std::unique_ptr<HistoryStore>> OpenHistory(
    const std::string& state_folder, Log* log);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_OPEN_HISTORY_H_
