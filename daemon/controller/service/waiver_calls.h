// The calls about waivers. Waivers are kept beside the history and added to the
// spec, so that every later check uses them. Making or ending a waiver waits
// for the disk.
#ifndef DAEMON_CONTROLLER_SERVICE_WAIVER_CALLS_H_
#define DAEMON_CONTROLLER_SERVICE_WAIVER_CALLS_H_

#include "daemon/controller/service/controller_calls.h"

namespace clusterd {

class WaiverCalls : public virtual ControllerCalls {
 public:
  explicit WaiverCalls(const ControllerParts& parts) : ControllerCalls(parts) {}

  UnaryCall* Waive(CallContext*, const WaiveRequest*, WaiverResponse*) override;
  UnaryCall* EndWaiver(CallContext*, const EndWaiverRequest*,
                       WaiverResponse*) override;
  UnaryCall* ListWaivers(CallContext*, const ListWaiversRequest*,
                         ListWaiversResponse*) override;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_WAIVER_CALLS_H_
