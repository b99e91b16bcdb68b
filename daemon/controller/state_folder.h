// The folder that a controller keeps its history in.
#ifndef DAEMON_CONTROLLER_STATE_FOLDER_H_
#define DAEMON_CONTROLLER_STATE_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace clusterd {

// Makes it, mode 0700, if it is not there; one that is there stays as it is.
// NotFound if its parent is not there, PermissionDenied if it cannot be made,
// FailedPrecondition if something else has its name. Messages name --state.
absl::Status MakeStateFolder(const std::string& path);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STATE_FOLDER_H_
