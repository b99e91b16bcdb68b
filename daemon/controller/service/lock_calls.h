// The calls about locked identities, and the heads of audit files.
#ifndef DAEMON_CONTROLLER_SERVICE_LOCK_CALLS_H_
#define DAEMON_CONTROLLER_SERVICE_LOCK_CALLS_H_

#include "daemon/controller/service/controller_calls.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {

class LockCalls : public virtual ControllerCalls {
 public:
  explicit LockCalls(const ControllerParts& parts) : ControllerCalls(parts) {}
  ~LockCalls() override { lock_writer_.Drain(); }

  // InvalidArgument for an invalid identity, the caller's own, or a reason that
  // is too long; NotFound for a name without a kind that is not a host's, and
  // by Unlock for an identity that is not locked. Other errors are the gate's.
  // Lock answers even if the disk hangs.
  UnaryCall* Lock(CallContext*, const LockRequest*, LockResponse*) override;
  UnaryCall* Unlock(CallContext*, const UnlockRequest*,
                    UnlockResponse*) override;
  UnaryCall* ListLocks(CallContext*, const ListLocksRequest*,
                       ListLocksResponse*) override;
  // For operators.
  UnaryCall* GetAuditHeads(CallContext*, const GetAuditHeadsRequest*,
                           GetAuditHeadsResponse*) override;

 private:
  WorkerPool lock_writer_{1, 1024};  // May hang with the disk.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_LOCK_CALLS_H_
