#include "daemon/controller/host_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/version/version.h"
#include "daemon/controller/fact_limits.h"
#include "grpcpp/server_context.h"

namespace clusterd {
namespace {

// For a last message to be taken by a host that may not be reading any more.
constexpr absl::Duration kFlushTimeout = absl::Seconds(5);

}  // namespace

HostStream* HostStream::Create(HostStreamOptions options,
                               grpc::CallbackServerContext* context,
                               AttachedHosts* hosts, Scheduler* scheduler) {
  const std::shared_ptr<HostStream> stream(
      new HostStream(std::move(options), context, hosts, scheduler));
  stream->Begin();
  return stream.get();
}

HostStream::HostStream(HostStreamOptions options,
                       grpc::CallbackServerContext* context,
                       AttachedHosts* hosts, Scheduler* scheduler)
    : options_(std::move(options)),
      context_(context),
      hosts_(hosts),
      scheduler_(scheduler) {}

void HostStream::Begin() {
  {
    absl::MutexLock lock(&mutex_);
    self_ = shared_from_this();
    timer_ =
        scheduler_->RunAfter(options_.hello_timeout, [weak = weak_from_this()] {
          const std::shared_ptr<HostStream> stream = weak.lock();
          if (stream == nullptr) return;
          stream->Close(absl::DeadlineExceededError(absl::StrCat(
              "no hello in ",
              absl::FormatDuration(stream->options_.hello_timeout))));
        });
  }
  StartRead(&read_);
}

void HostStream::OnReadDone(bool ok) {
  if (!ok) {
    Close(absl::UnavailableError(context_->IsCancelled()
                                     ? "the connection broke"
                                     : "clusterd ended its stream"));
    return;
  }
  const absl::Status status = OnMessage();
  if (!status.ok()) Close(status);
  // Also after Close: gRPC wants the stream read to its end.
  // Not Clear, which would keep the memory of the largest one.
  read_ = AgentMessage();
  StartRead(&read_);
}

absl::Status HostStream::OnMessage() {
  bool greeted;
  std::optional<AttachedHosts::SessionId> session;
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return absl::OkStatus();
    greeted = greeted_;
    session = session_;
  }
  if (!greeted) {
    if (read_.kind_case() != AgentMessage::kHello) {
      return absl::InvalidArgumentError("the first message was no hello");
    }
    return OnHello(read_.hello());
  }
  if (!session.has_value()) return absl::OkStatus();
  switch (read_.kind_case()) {
    case AgentMessage::kResult:
      return hosts_->OnResult(*session, std::move(*read_.mutable_result()));
    case AgentMessage::kProgress:
      return hosts_->OnProgress(*session, std::move(*read_.mutable_progress()));
    case AgentMessage::kDrift:
      return hosts_->OnDrift(*session, std::move(*read_.mutable_drift()));
    case AgentMessage::kPastApplies:
      return hosts_->OnPastApplies(*session,
                                   std::move(*read_.mutable_past_applies()));
    default:
      return absl::InvalidArgumentError(
          "a second hello, or a message of an unknown kind");
  }
}

absl::Status HostStream::OnHello(const Hello& hello) {
  {
    absl::MutexLock lock(&mutex_);
    greeted_ = true;
    scheduler_->Cancel(timer_);
  }
  const absl::Status valid = CheckHello(hello);
  if (!valid.ok()) return valid;
  const absl::StatusOr<AttachedHosts::SessionId> session = hosts_->Attach(
      Attachment{options_.host, options_.peer, hello, shared_from_this()});
  if (!session.ok()) return session.status();
  bool ended;
  {
    absl::MutexLock lock(&mutex_);
    session_ = *session;
    ended = end_.has_value();
    // Ahead of tasks: the stream could be asked as soon as it had attached.
    HubMessage& welcome = queue_.emplace_front();
    welcome.mutable_welcome()->set_cluster(options_.cluster);
    welcome.mutable_welcome()->set_controller_version(kClusterdVersion);
    welcomed_ = true;
  }
  if (ended) {
    LeaveHosts(absl::UnavailableError("the stream ended while it attached"));
  }
  Advance();
  return absl::OkStatus();
}

void HostStream::Send(HubMessage message) {
  bool too_slow;
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    too_slow = queue_.size() >= options_.max_queued;
    if (!too_slow) queue_.push_back(std::move(message));
  }
  if (too_slow) {
    Close(absl::ResourceExhaustedError(absl::StrCat(
        "clusterd does not read: ", options_.max_queued, " messages wait")));
    return;
  }
  Advance();
}

void HostStream::Close(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    end_ = why;
    queue_.clear();
    scheduler_->Cancel(timer_);
    if (writing_) {
      timer_ = scheduler_->RunAfter(kFlushTimeout, [weak = weak_from_this()] {
        if (const auto stream = weak.lock()) stream->BreakOff();
      });
    }
  }
  LeaveHosts(why);
  Advance();
}

void HostStream::BreakOff() {
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

void HostStream::LeaveHosts(const absl::Status& why) {
  std::optional<AttachedHosts::SessionId> session;
  {
    absl::MutexLock lock(&mutex_);
    session.swap(session_);
  }
  if (session.has_value()) hosts_->Detach(*session, why.message());
}

void HostStream::Advance() {
  bool write = false;
  std::optional<absl::Status> finish;
  {
    absl::MutexLock lock(&mutex_);
    if (writing_ || finishing_ || cancelling_) return;
    if (end_.has_value()) {
      finishing_ = true;
      finish = end_;
      scheduler_->Cancel(timer_);
    } else if (welcomed_ && !queue_.empty()) {
      writing_ = true;
      write = true;
      write_ = std::move(queue_.front());
      queue_.pop_front();
    }
  }
  if (write) StartWrite(&write_);
  if (finish.has_value()) Finish(ToGrpcStatus(*finish));
}

void HostStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
  }
  if (!ok) Close(absl::UnavailableError("the connection broke"));
  Advance();
}

void HostStream::OnCancel() {
  Close(absl::UnavailableError("the connection broke"));
}

void HostStream::OnDone() {
  std::shared_ptr<HostStream> self;
  {
    absl::MutexLock lock(&mutex_);
    self.swap(self_);
  }
  // `self` is the last owner, or AttachedHosts is for a moment longer.
}

}  // namespace clusterd
