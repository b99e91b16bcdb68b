// Cuts off a call whose peer does not take what is written to it
// (write_time.h): a window that stays shut would hold the message, and whatever
// waits behind it, for ever.
#ifndef DAEMON_CONTROLLER_HOSTS_WRITE_DEADLINE_H_
#define DAEMON_CONTROLLER_HOSTS_WRITE_DEADLINE_H_

#include <cstddef>
#include <memory>

#include "daemon/process/scheduler.h"
#include "daemon/process/write_time.h"
#include "grpc/grpc.h"
#include "grpcpp/server_context.h"

namespace clusterd {

// Of one call, which has one write under way at a time. Both members under the
// lock of the call's owner, or otherwise one after the other.
class WriteDeadline {
 public:
  // Both must outlive the call.
  WriteDeadline(grpc::ServerContextBase* context, Scheduler* scheduler)
      : context_(context), scheduler_(scheduler) {}

  // A message of that size is about to be written. The call has not ended.
  void Begin(size_t bytes) {
    // The context goes when the call is done, perhaps while the timer runs; the
    // call itself stays as long as it is referred to.
    grpc_call* const call = context_->c_call();
    grpc_call_ref(call);
    timer_ = scheduler_->RunAfter(
        WriteTimeFor(bytes),
        [call = std::shared_ptr<grpc_call>(call, &grpc_call_unref)] {
          grpc_call_cancel(call.get(), nullptr);
        });
  }
  // It was taken, or never will be. After each Begin, at the latest when the
  // call is done.
  void End() {
    scheduler_->Cancel(timer_);
    timer_ = 0;
  }

 private:
  grpc::ServerContextBase* const context_;
  Scheduler* const scheduler_;
  Scheduler::TimerId timer_ = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_WRITE_DEADLINE_H_
