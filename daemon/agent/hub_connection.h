// One attempt to attach to the controller, from connecting to its end, and the
// wait before the next one. It moves messages; agent_stream.h interprets them
// and retries. It disconnects from a controller that does not read: unsent
// messages are bounded, and so is the time for each message (scheduler.h).
#ifndef DAEMON_AGENT_HUB_CONNECTION_H_
#define DAEMON_AGENT_HUB_CONNECTION_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/security/credentials.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

// One thread that runs everything of the streams to the controller, so that
// their state needs no lock. It sleeps until gRPC has an event; gRPC's callback
// interface would wake up a process every second. Safe for concurrent use.
class EventLoop {
 public:
  EventLoop();
  // Runs what was posted and ends. REQUIRES: no thread posts any more, and
  // every operation begun on queue() has a tag that will run.
  ~EventLoop() {
    queue_.Shutdown();
    thread_.join();
  }

  // Runs `run` on the loop's thread, soon and in the order of the calls.
  void Post(std::function<void()> run) ABSL_LOCKS_EXCLUDED(mutex_);

  // For operations of asynchronous calls.
  grpc::CompletionQueue* queue() { return &queue_; }

  // The tag of one operation on queue(): `run` is called on the loop's thread
  // when it ends; gRPC says in `ok` if it succeeded.
  static void* Tag(std::function<void(bool ok)> run);

 private:
  void Run();

  grpc::CompletionQueue queue_;
  absl::Mutex mutex_;
  // An own queue, because gRPC's does not keep alarms in order.
  std::deque<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // Last: uses the queue.
};

struct BackoffOptions {
  // The first wait is random, from 0 to `initial`, or to the controller's
  // spread if that is more. Each later one is from 0 to twice the previous
  // bound, at most `max` or the spread. All are at least `min`.
  absl::Duration min = absl::Milliseconds(100);
  absl::Duration initial = absl::Seconds(2);
  absl::Duration max = absl::Seconds(60);
};

// Random waits, so that a thousand hosts do not connect at the same time.
class Backoff {
 public:
  // `random` draws from [0, 1).
  Backoff(BackoffOptions options, std::function<double()> random)
      : options_(options),
        random_(std::move(random)),
        bound_(options.initial) {}

  absl::Duration Next() {
    const absl::Duration wait = bound_ * random_();
    bound_ = std::min(bound_ * 2, std::max(options_.max, spread_));
    return std::max(wait, options_.min);
  }
  // After a success: the next wait is a first one again. A controller's
  // `spread` counts up to kMaxSpread.
  void Reset(absl::Duration spread = absl::ZeroDuration()) {
    spread_ = std::min(spread, kMaxSpread);
    bound_ = std::max(options_.initial, spread_);
  }

  static constexpr absl::Duration kMaxSpread = absl::Minutes(5);

 private:
  const BackoffOptions options_;
  const std::function<double()> random_;
  absl::Duration bound_;
  absl::Duration spread_;
};

// The timeout of a connection, including TLS. gRPC's own 20 s are too short if
// a controller first serves ten thousand other hosts.
inline constexpr absl::Duration kConnectTimeout = absl::Seconds(75);

struct DialOptions {
  std::string controller;  // HOST:PORT
  // A dead connection is noticed after about the sum of both.
  absl::Duration keepalive_time = absl::Seconds(30);
  absl::Duration keepalive_timeout = absl::Seconds(10);
  // Memory limit for received data of a connection: gRPC 1.51 reads a whole
  // message before it checks its size. A stream that needs more ends with
  // ResourceExhausted, "Buffers full".
  size_t wire_memory_bytes = size_t{128} << 20;
};

// A new connection that shares nothing, not even with another channel of this
// process to the same address.
std::shared_ptr<grpc::Channel> Dial(
    const DialOptions& options,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials);

// All members are called on the loop's thread, and call back on it. Keeps
// itself alive until it has ended.
class HubConnection : public std::enable_shared_from_this<HubConnection> {
 public:
  struct Callbacks {
    std::function<void(HubMessage message)> on_message;
    // Called last, once. Never OK: a controller has no reason to end a stream.
    std::function<void(absl::Status why)> on_end;
  };

  // `loop` must outlive the connection.
  HubConnection(const std::shared_ptr<grpc::Channel>& channel, EventLoop* loop,
                Callbacks callbacks)
      : loop_(loop),
        callbacks_(std::move(callbacks)),
        stub_(AgentHub::NewStub(channel)) {}

  // Limits of unsent messages: a controller must not fill this host's memory.
  static constexpr size_t kMaxWaiting = 4096;
  static constexpr size_t kMaxWaitingBytes = 32 << 20;

  // Opens the stream; `first` is its first message.
  void Start(AgentMessage first);
  void Send(AgentMessage message);
  // Ends our half of the stream, and waits for the controller to end its own.
  void HangUp() {
    hanging_up_ = true;
    WriteNext();
  }
  // Ends the stream at once and passes `why` to on_end.
  void Abort(absl::Status why) {
    if (!abort_reason_.ok() || finishing_) return;
    abort_reason_ = std::move(why);
    context_.TryCancel();
  }

 private:
  void Read();
  void WriteNext();
  void EndIfQuiet();

  EventLoop* const loop_;
  Callbacks callbacks_;
  const std::unique_ptr<AgentHub::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<AgentMessage, HubMessage>>
      stream_;
  HubMessage read_;
  std::deque<AgentMessage> to_write_;  // The first one is being written.
  size_t waiting_bytes_ = 0;
  bool writing_ = false;
  bool hanging_up_ = false;  // Ends the stream after the last write.
  bool hung_up_ = false;
  bool reads_ended_ = false;
  bool finishing_ = false;
  absl::Status abort_reason_;
  grpc::Status final_status_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_HUB_CONNECTION_H_
