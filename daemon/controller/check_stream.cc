#include "daemon/controller/check_stream.h"

#include <utility>

#include "config/identity/grpc_status.h"
#include "grpcpp/server_context.h"

namespace clusterd {
namespace {

constexpr absl::Duration kProgressInterval = absl::Milliseconds(50);
constexpr absl::Duration kFlushTimeout = absl::Minutes(1);

}  // namespace

CheckStream* CheckStream::Create(const MakeRun& make_run,
                                 grpc::CallbackServerContext* context,
                                 Scheduler* scheduler,
                                 std::function<void()> on_end) {
  const std::shared_ptr<CheckStream> stream(
      new CheckStream(context, scheduler, std::move(on_end)));
  stream->Begin(make_run);
  return stream.get();
}

void CheckStream::Begin(const MakeRun& make_run) {
  const std::weak_ptr<CheckStream> weak = weak_from_this();
  CheckRun::Callbacks callbacks;
  callbacks.on_progress = [weak] {
    if (const auto stream = weak.lock()) stream->OnProgress();
  };
  callbacks.on_report = [weak](Report report) {
    if (const auto stream = weak.lock()) stream->OnReport(std::move(report));
  };
  const std::shared_ptr<CheckRun> run = make_run(std::move(callbacks));
  {
    absl::MutexLock lock(&mutex_);
    self_ = shared_from_this();
    run_ = run;
  }
  const absl::Status started = run->Start();
  if (started.ok()) {
    Advance();
  } else {
    End(started);
  }
}

void CheckStream::OnProgress() {
  {
    absl::MutexLock lock(&mutex_);
    if (timer_set_ || end_.has_value()) return;
    timer_set_ = true;
  }
  scheduler_->RunAfter(kProgressInterval, [weak = weak_from_this()] {
    if (const auto stream = weak.lock()) stream->OnProgressDue();
  });
}

void CheckStream::OnProgressDue() {
  {
    absl::MutexLock lock(&mutex_);
    timer_set_ = false;
    progress_due_ = true;
  }
  Advance();
}

void CheckStream::OnReport(Report report) {
  {
    absl::MutexLock lock(&mutex_);
    progress_due_ = true;  // The last one: nobody is awaited any more.
    report_ = std::move(report);
    flush_timer_ =
        scheduler_->RunAfter(kFlushTimeout, [weak = weak_from_this()] {
          if (const auto stream = weak.lock()) stream->BreakOff();
        });
  }
  Advance();
}

void CheckStream::BreakOff() {
  {
    absl::MutexLock lock(&mutex_);
    if (finishing_ || !writing_) return;
    // The context lives until the call has finished: that has to wait.
    cancelling_ = true;
  }
  context_->TryCancel();
  {
    absl::MutexLock lock(&mutex_);
    cancelling_ = false;
  }
  Advance();
}

void CheckStream::End(const absl::Status& why) {
  std::shared_ptr<CheckRun> run;
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    end_ = why;
    run = run_;
  }
  run->Cancel();
  Advance();
}

void CheckStream::Advance() {
  bool write = false;
  std::optional<absl::Status> finish;
  {
    absl::MutexLock lock(&mutex_);
    if (writing_ || finishing_ || cancelling_) return;
    if (end_.has_value()) {
      finishing_ = true;
      finish = end_;
      scheduler_->Cancel(flush_timer_);
    } else if (progress_due_) {
      progress_due_ = false;
      writing_ = write = true;
      *write_.mutable_progress() = run_->progress();
    } else if (report_.has_value()) {
      writing_ = write = true;
      *write_.mutable_report() = *std::move(report_);
      report_.reset();
      end_ = absl::OkStatus();
    }
  }
  if (write) StartWrite(&write_);
  if (finish.has_value()) Finish(ToGrpcStatus(*finish));
}

void CheckStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
  }
  if (!ok) End(absl::CancelledError("the client went away"));
  Advance();
}

void CheckStream::OnCancel() {
  End(absl::CancelledError("the client went away"));
}

void CheckStream::OnDone() {
  std::shared_ptr<CheckStream> self;
  {
    absl::MutexLock lock(&mutex_);
    self.swap(self_);
  }
  on_end_();
}

}  // namespace clusterd
