// One attempt to attach to the controller, from dialling to its end: moves
// messages, understands none. agent_stream.h decides what they mean and when to
// try again.
#ifndef DAEMON_AGENT_HUB_CONNECTION_H_
#define DAEMON_AGENT_HUB_CONNECTION_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/agent/event_loop.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/security/credentials.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

struct DialOptions {
  std::string controller;  // HOST:PORT
  // A dead connection is noticed after about the sum of both.
  absl::Duration keepalive_time = absl::Seconds(30);
  absl::Duration keepalive_timeout = absl::Seconds(10);
};

// A new connection with nothing shared: not even with another channel of this
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
    // Last, once. Never OK: the controller has no reason to end a stream.
    std::function<void(absl::Status why)> on_end;
  };

  // `loop` must outlive the connection.
  HubConnection(const std::shared_ptr<grpc::Channel>& channel, EventLoop* loop,
                Callbacks callbacks);

  // Opens the stream; `first` is its first message.
  void Start(AgentMessage first);
  void Send(AgentMessage message);
  // Tells the controller that no more will come, and waits for it to end the
  // stream.
  void HangUp();
  // Breaks the stream off; `why` is what on_end will tell.
  void Abort(absl::Status why);

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
  bool writing_ = false;
  bool hanging_up_ = false;  // Once all is written, say so.
  bool hung_up_ = false;
  bool reads_ended_ = false;
  bool finishing_ = false;
  absl::Status abort_reason_;
  grpc::Status final_status_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_HUB_CONNECTION_H_
