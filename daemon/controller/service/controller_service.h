// The gRPC service for clusterctl: authorisation, threads and the events that a
// client sees. call_roles.h has the role that each call needs.
#ifndef DAEMON_CONTROLLER_SERVICE_CONTROLLER_SERVICE_H_
#define DAEMON_CONTROLLER_SERVICE_CONTROLLER_SERVICE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/controller/service/change_calls.h"
#include "daemon/controller/service/check_calls.h"
#include "daemon/controller/service/host_calls.h"
#include "daemon/controller/service/lock_calls.h"
#include "daemon/controller/service/log_calls.h"
#include "daemon/controller/service/waiver_calls.h"

namespace clusterd {

// Errors of every call: Unauthenticated, PermissionDenied or FailedPrecondition
// unless the gate admits the peer as a user with the needed role, also while a
// stream is open; ResourceExhausted when too many calls run, in total or of
// that user. Calls that change hosts, or read for a change, never wait for
// other reads. A change, or a read of users' logs, is refused if the audit file
// cannot record it first. A learning controller serves only Learn, ListHosts,
// ForgetHost, DescribeHost, GetAuditHeads and the calls about locks: others are
// FailedPrecondition.
class ControllerService final : public CheckCalls,
                                public ChangeCalls,
                                public HostCalls,
                                public LockCalls,
                                public LogCalls,
                                public WaiverCalls {
 public:
  // All must outlive it and its server. `notes`: remarks about the controller
  // itself for every check's report.
  ControllerService(const ControllerParts& parts, ClusterChanges* changes,
                    JobChecks* jobs, ClusterWatch* watch,
                    std::function<std::vector<std::string>()> notes)
      : ControllerCalls(parts),
        CheckCalls(parts, jobs, std::move(notes)),
        ChangeCalls(parts, changes),
        HostCalls(parts, watch),
        LockCalls(parts),
        LogCalls(parts),
        WaiverCalls(parts) {}
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_CONTROLLER_SERVICE_H_
