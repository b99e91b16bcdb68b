// The call that reads the logs that users wrote on hosts: a few hosts at once,
// each sent as soon as it arrives. However slow the client is, at most
// kLogsAtOnce hosts, at 2 MiB each, are asked or unread.
#ifndef DAEMON_CONTROLLER_SERVICE_LOG_CALLS_H_
#define DAEMON_CONTROLLER_SERVICE_LOG_CALLS_H_

#include "daemon/controller/service/controller_calls.h"

namespace clusterd {

class LogCalls : public virtual ControllerCalls {
 public:
  explicit LogCalls(const ControllerParts& parts) : ControllerCalls(parts) {}

  // InvalidArgument for hosts that the spec does not name; ResourceExhausted
  // when too many calls read logs.
  StreamCall<LogsEvent>* ReadLogs(CallContext*, const LogsRequest*) override;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_LOG_CALLS_H_
