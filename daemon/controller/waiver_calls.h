// Makes and ends waivers: they are kept beside the history and stand in the
// spec, so that every check heeds them from then on. Both wait for the disk.
#ifndef DAEMON_CONTROLLER_WAIVER_CALLS_H_
#define DAEMON_CONTROLLER_WAIVER_CALLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "proto/controller.pb.h"

namespace clusterd {

// InvalidArgument with every mistake of the request, a line each; the history's
// errors.
absl::StatusOr<WaiverResponse> AddWaiver(const ControllerParts& parts,
                                         const WaiveRequest& request,
                                         const std::string& owner);
// NotFound for an id that none has; the history's errors.
absl::StatusOr<WaiverResponse> RemoveWaiver(const ControllerParts& parts,
                                            const std::string& id);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_WAIVER_CALLS_H_
