// The calls that change hosts, end or confirm such a run, and read the history.
#ifndef DAEMON_CONTROLLER_SERVICE_CHANGE_CALLS_H_
#define DAEMON_CONTROLLER_SERVICE_CHANGE_CALLS_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/service/controller_calls.h"
#include "daemon/controller/stream/send_budget.h"

namespace clusterd {

class ChangeCalls : public virtual ControllerCalls {
 public:
  ChangeCalls(const ControllerParts& parts, ClusterChanges* changes)
      : ControllerCalls(parts), changes_(changes) {}

  // Errors are those of ClusterChanges, for an apply also those of
  // ReadKeptPlan. Only a plan kept by this controller is applied, never a
  // client's copy.
  StreamCall<ApplyEvent>* ApplyPlan(CallContext*,
                                    const ApplyPlanRequest*) override;
  StreamCall<ApplyEvent>* RollBack(CallContext*,
                                   const RollBackRequest*) override;

  // Errors are those of ClusterChanges::Cancel; ResourceExhausted as above.
  UnaryCall* Cancel(CallContext*, const CancelRequest*,
                    CancelResponse*) override;
  // For admins. Errors are those of ClusterChanges::Abort.
  UnaryCall* AbortApply(CallContext*, const AbortApplyRequest*,
                        AbortApplyResponse*) override;
  // Errors are those of ClusterChanges::Confirm and Extend.
  UnaryCall* Confirm(CallContext*, const ConfirmRequest*,
                     ConfirmResponse*) override;
  UnaryCall* Extend(CallContext*, const ExtendRequest*,
                    ConfirmResponse*) override;

  // Errors are the store's; GetHistory also returns ResourceExhausted when too
  // many entries are being sent.
  UnaryCall* ListHistory(CallContext*, const ListHistoryRequest*,
                         ListHistoryResponse*) override;
  UnaryCall* GetHistory(CallContext*, const GetHistoryRequest*,
                        HistoryRecord*) override;

 private:
  template <typename Response>
  using EndOfRun = absl::StatusOr<Response> (ClusterChanges::*)(
      const std::string& id, const std::string& actor, const std::string& from);
  // Ends a run by calling `end`, and logs a failure.
  template <typename Response>
  UnaryCall* EndRun(const UserCall& call, const std::string& id,
                    Response* response, EndOfRun<Response> end);
  // Confirms an apply, or extends it if `by` is set.
  UnaryCall* AnswerConfirm(const UserCall& call, const std::string& id,
                           std::optional<absl::Duration> by,
                           ConfirmResponse* response);
  // Streams a change. A thread of the pool begins it, after `complete` has
  // filled in the request there.
  StreamCall<ApplyEvent>* RunChange(
      const UserCall& call,
      std::function<absl::Status(ChangeRequest* change)> complete);
  void LogRefused(const char* call, const std::string& who,
                  const std::string& from, const absl::Status& why) const;

  ClusterChanges* const changes_;
  SendBudget budget_{64 << 20};  // Bytes being sent to one user.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_CHANGE_CALLS_H_
