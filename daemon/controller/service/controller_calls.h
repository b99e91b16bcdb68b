// The parts that all calls of the service for clusterctl share. Each family of
// calls is a class that overrides its calls; ControllerService is all of them.
#ifndef DAEMON_CONTROLLER_SERVICE_CONTROLLER_CALLS_H_
#define DAEMON_CONTROLLER_SERVICE_CONTROLLER_CALLS_H_

#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/calls/user_calls.h"
#include "proto/controller.grpc.pb.h"

namespace clusterd {

class ControllerCalls : public Controller::CallbackService {
 protected:
  explicit ControllerCalls(const ControllerParts& parts);

  const ControllerParts parts_;
  const UserCalls calls_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_CONTROLLER_CALLS_H_
