// Takes gRPC's own messages, such as handshakes that went wrong, into the
// daemon's log.
#ifndef DAEMON_PROCESS_GRPC_LOG_H_
#define DAEMON_PROCESS_GRPC_LOG_H_

#include "daemon/log/log.h"

namespace clusterd {

// From now on, for the whole process. Only errors; the `log` gets them as
// warnings, since they are about one connection. `log` must live until the
// process ends or this is called with another one; null drops everything.
void SendGrpcLogTo(Log* log);

}  // namespace clusterd

#endif  // DAEMON_PROCESS_GRPC_LOG_H_
