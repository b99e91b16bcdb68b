// The answer to one Check call: progress, at most every 50 ms and never faster
// than the client reads it, then the report. A client that goes away ends its
// run; one that does not read its report within a minute is cut off.
#ifndef DAEMON_CONTROLLER_CHECK_STREAM_H_
#define DAEMON_CONTROLLER_CHECK_STREAM_H_

#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/check_run.h"
#include "daemon/process/scheduler.h"
#include "grpcpp/support/server_callback.h"
#include "proto/controller.pb.h"

namespace clusterd {

// gRPC calls the On... members and owns the object until OnDone. Safe for
// concurrent use.
class CheckStream final : public grpc::ServerWriteReactor<CheckEvent>,
                          public std::enable_shared_from_this<CheckStream> {
 public:
  // Makes the run that reports to the given callbacks.
  using MakeRun =
      std::function<std::shared_ptr<CheckRun>(CheckRun::Callbacks callbacks)>;

  // The reactor to hand to gRPC. `on_end` is called once when it has ended.
  static CheckStream* Create(const MakeRun& make_run,
                             grpc::CallbackServerContext* context,
                             Scheduler* scheduler,
                             std::function<void()> on_end);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  CheckStream(grpc::CallbackServerContext* context, Scheduler* scheduler,
              std::function<void()> on_end)
      : context_(context), scheduler_(scheduler), on_end_(std::move(on_end)) {}

  void Begin(const MakeRun& make_run);
  void OnProgress() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnReport(Report report) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnProgressDue() ABSL_LOCKS_EXCLUDED(mutex_);
  void End(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Starts what is due next: a write, or the end. Calls gRPC unlocked.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels a call whose client does not read its report.
  void BreakOff() ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::CallbackServerContext* const context_;
  Scheduler* const scheduler_;
  const std::function<void()> on_end_;
  CheckEvent write_;  // Only touched by who set writing_.

  absl::Mutex mutex_;
  std::shared_ptr<CheckStream> self_ ABSL_GUARDED_BY(mutex_);  // Until OnDone.
  std::shared_ptr<CheckRun> run_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelling_ ABSL_GUARDED_BY(mutex_) = false;
  bool progress_due_ ABSL_GUARDED_BY(mutex_) = true;
  bool timer_set_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId flush_timer_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Report> report_ ABSL_GUARDED_BY(mutex_);
  // Set: the call ends with this.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHECK_STREAM_H_
