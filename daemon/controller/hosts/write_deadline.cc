#include "daemon/controller/hosts/write_deadline.h"

#include <memory>

#include "daemon/process/write_time.h"
#include "grpc/grpc.h"

namespace clusterd {

void WriteDeadline::Begin(size_t bytes) {
  // The context goes when the call is done, which may be while the timer runs;
  // the call itself stays for as long as somebody refers to it.
  grpc_call* const call = context_->c_call();
  grpc_call_ref(call);
  timer_ = scheduler_->RunAfter(
      WriteTimeFor(bytes),
      [call = std::shared_ptr<grpc_call>(call, &grpc_call_unref)] {
        grpc_call_cancel(call.get(), nullptr);
      });
}

void WriteDeadline::End() {
  scheduler_->Cancel(timer_);
  timer_ = 0;
}

}  // namespace clusterd
