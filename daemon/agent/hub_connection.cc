#include "daemon/agent/hub_connection.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/identity/plain_messages.h"
#include "config/words/number_text.h"
#include "daemon/process/scheduler.h"
#include "grpc/support/time.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/support/channel_arguments.h"

namespace clusterd {
namespace {

// The largest message is the plan of one host. A valid one has at most 8192
// steps and 65536 facts (config/plan/make_plan.h): at 600 bytes a step and 150
// bytes a fact that is 15 MB. Real ones have some hundred steps.
constexpr int kMaxFromController = 16 << 20;

// The target of a tag. gRPC passes it from the thread that makes it to the
// loop's; the flag shows that to a race detector that cannot see into gRPC.
struct OperationEnd {
  explicit OperationEnd(std::function<void(bool)> run) : run(std::move(run)) {
    made.store(true, std::memory_order_release);
  }

  const std::function<void(bool)> run;
  std::atomic<bool> made{false};
};

}  // namespace

EventLoop::EventLoop() : thread_([this] { Run(); }) {}

void* EventLoop::Tag(std::function<void(bool ok)> run) {
  return new OperationEnd(std::move(run));  // Run() takes it back.
}

void EventLoop::Post(std::function<void()> run) {
  {
    absl::MutexLock lock(&mutex_);
    posted_.push_back(std::move(run));
  }
  auto alarm = std::make_shared<grpc::Alarm>();
  grpc::Alarm* const set = alarm.get();
  set->Set(&queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC),
           Tag([this, alarm = std::move(alarm)](bool) {
             std::function<void()> first;
             {
               absl::MutexLock lock(&mutex_);
               first = std::move(posted_.front());
               posted_.pop_front();
             }
             first();
           }));
}

void EventLoop::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    const std::unique_ptr<OperationEnd> end(static_cast<OperationEnd*>(tag));
    if (end->made.load(std::memory_order_acquire)) end->run(ok);
  }
}

std::shared_ptr<grpc::Channel> Dial(
    const DialOptions& options,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS,
                   ToMs<int>(options.keepalive_time));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                   ToMs<int>(options.keepalive_timeout));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   ToMs<int>(kConnectTimeout));
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(kMaxFromController);
  grpc::ResourceQuota memory("hub");
  memory.Resize(options.wire_memory_bytes);
  arguments.SetResourceQuota(memory);
  return OpenChannel(options.controller, credentials, arguments);
}

void HubConnection::Start(AgentMessage first) {
  stream_ = stub_->PrepareAsyncAttach(&context_, loop_->queue());
  waiting_bytes_ = first.ByteSizeLong();
  to_write_.push_back(std::move(first));
  writing_ = true;  // Holds writes back until the stream is there.
  stream_->StartCall(EventLoop::Tag([self = shared_from_this()](bool ok) {
    self->writing_ = false;
    if (ok) {
      self->WriteNext();
      self->Read();
    } else {
      self->reads_ended_ = true;
      self->EndIfQuiet();
    }
  }));
}

void HubConnection::Read() {
  stream_->Read(&read_, EventLoop::Tag([self = shared_from_this()](bool ok) {
    if (!ok) {
      self->reads_ended_ = true;
      return self->EndIfQuiet();
    }
    if (self->abort_reason_.ok()) {
      self->callbacks_.on_message(std::move(self->read_));
    }
    self->read_.Clear();
    self->Read();
  }));
}

void HubConnection::Send(AgentMessage message) {
  if (hanging_up_ || reads_ended_ || !abort_reason_.ok()) return;
  const size_t bytes = message.ByteSizeLong();
  if (to_write_.size() >= kMaxWaiting ||
      waiting_bytes_ + bytes > kMaxWaitingBytes) {
    return Abort(absl::ResourceExhaustedError(
        absl::StrCat("send buffer full, the controller is not reading (",
                     kMaxWaiting, " messages, ", kMaxWaitingBytes, " bytes)")));
  }
  waiting_bytes_ += bytes;
  to_write_.push_back(std::move(message));
  WriteNext();
}

void HubConnection::WriteNext() {
  if (writing_ || reads_ended_ || hung_up_) return;
  if (to_write_.empty() && !hanging_up_) return;
  writing_ = true;
  if (to_write_.empty()) {
    hung_up_ = true;
    stream_->WritesDone(EventLoop::Tag([self = shared_from_this()](bool) {
      self->writing_ = false;
      self->EndIfQuiet();
    }));
    return;
  }
  const size_t bytes = to_write_.front().ByteSizeLong();
  const absl::Duration time = WriteTimeFor(bytes);
  // Aborts the connection unless it is cancelled in time.
  const auto watch = std::make_shared<grpc::Alarm>();
  watch->Set(
      loop_->queue(),
      gpr_time_add(
          gpr_now(GPR_CLOCK_MONOTONIC),
          gpr_time_from_millis(absl::ToInt64Milliseconds(time), GPR_TIMESPAN)),
      EventLoop::Tag([self = shared_from_this(), watch, time](bool is_late) {
        if (!is_late) return;
        self->Abort(absl::DeadlineExceededError(
            absl::StrCat("the controller did not take a message in ",
                         absl::FormatDuration(time))));
      }));
  stream_->Write(to_write_.front(), EventLoop::Tag([self = shared_from_this(),
                                                    watch, bytes](bool ok) {
                   watch->Cancel();
                   self->writing_ = false;
                   self->waiting_bytes_ -= bytes;
                   self->to_write_.pop_front();
                   // If a write fails, the read will report why.
                   if (!ok) self->to_write_.clear();
                   if (ok) self->WriteNext();
                   self->EndIfQuiet();
                 }));
}

void HubConnection::EndIfQuiet() {
  if (!reads_ended_ || writing_ || finishing_) return;
  finishing_ = true;
  stream_->Finish(
      &final_status_, EventLoop::Tag([self = shared_from_this()](bool) {
        absl::Status why = self->abort_reason_.ok()
                               ? ToAbslStatus(self->final_status_)
                               : self->abort_reason_;
        if (why.ok()) {
          why = absl::UnavailableError("the controller ended the stream");
        }
        // The callbacks may hold this object's owner.
        const Callbacks callbacks = std::move(self->callbacks_);
        callbacks.on_end(std::move(why));
      }));
}

}  // namespace clusterd
