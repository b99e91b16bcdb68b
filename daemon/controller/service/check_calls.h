// The calls that ask hosts for their facts, all at once, and stream the
// progress: checks, also for launches, plans, and what config learn needs.
#ifndef DAEMON_CONTROLLER_SERVICE_CHECK_CALLS_H_
#define DAEMON_CONTROLLER_SERVICE_CHECK_CALLS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/controller/jobs/job_checks.h"
#include "daemon/controller/service/controller_calls.h"
#include "daemon/controller/stream/send_budget.h"

namespace clusterd {

class CheckCalls : public virtual ControllerCalls {
 public:
  CheckCalls(const ControllerParts& parts, JobChecks* jobs,
             std::function<std::vector<std::string>()> notes)
      : ControllerCalls(parts), jobs_(jobs), notes_(std::move(notes)) {}

  // InvalidArgument for hosts that the spec does not name; rules fail as in
  // ValidateSelection; ResourceExhausted when the queue is full. Errors of a
  // job's check are those of JobChecks; InvalidArgument if it also names hosts.
  StreamCall<CheckEvent>* Check(CallContext*, const CheckRequest*) override;

  // NotFound for a check that is not under way, FailedPrecondition for one that
  // is about to end; ResourceExhausted for too many such calls.
  UnaryCall* CheckSoFar(CallContext*, const CheckSoFarRequest*,
                        Report*) override;

  // InvalidArgument for hosts neither attached nor in the spec;
  // FailedPrecondition if none is named or attached; ResourceExhausted as
  // above.
  StreamCall<LearnEvent>* Learn(CallContext*, const LearnRequest*) override;

  // Errors as Check for a job. It is a separate run, because it sends facts.
  StreamCall<LaunchEvent>* PrepareLaunch(CallContext*,
                                         const LaunchRequest*) override;

  // InvalidArgument for hosts that the spec lacks; ResourceExhausted when the
  // queue is full. not_kept says why the history could not keep the plan.
  StreamCall<PlanEvent>* Plan(CallContext*, const PlanRequest*) override;

 private:
  StreamCall<CheckEvent>* CheckJob(CallContext* context,
                                   const CheckRequest& request);

  JobChecks* const jobs_;
  const std::function<std::vector<std::string>()> notes_;
  // Bytes being sent to one user. Changes have their own, so that no reading
  // delays them.
  SendBudget budget_{64 << 20};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_CHECK_CALLS_H_
