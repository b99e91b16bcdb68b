// One host's stream on the controller's side, from the first byte to the last.
#ifndef DAEMON_CONTROLLER_HOST_STREAM_H_
#define DAEMON_CONTROLLER_HOST_STREAM_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/attached_hosts.h"
#include "daemon/process/scheduler.h"
#include "grpcpp/support/server_callback.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

struct HostStreamOptions {
  std::string cluster;
  std::string host;  // From the certificate.
  std::string peer;
  absl::Duration hello_timeout;
  size_t max_queued = 0;
};

// gRPC calls the On... members; it owns the object from Create to OnDone, and
// AttachedHosts may hold it longer. Safe for concurrent use.
class HostStream final
    : public grpc::ServerBidiReactor<AgentMessage, HubMessage>,
      public HostLink,
      public std::enable_shared_from_this<HostStream> {
 public:
  // The reactor to hand to gRPC. `context` is the call's; both pointers after
  // it must outlive the call.
  static HostStream* Create(HostStreamOptions options,
                            grpc::CallbackServerContext* context,
                            AttachedHosts* hosts, Scheduler* scheduler);

  void Send(HubMessage message) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(const absl::Status& why) override ABSL_LOCKS_EXCLUDED(mutex_);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  HostStream(HostStreamOptions options, grpc::CallbackServerContext* context,
             AttachedHosts* hosts, Scheduler* scheduler);

  void Begin();
  absl::Status OnMessage() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status OnHello(const Hello& hello) ABSL_LOCKS_EXCLUDED(mutex_);
  // Starts what is due next: a write, or the end. Calls gRPC unlocked.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels a call whose last write is not taken.
  void BreakOff() ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveHosts(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  const HostStreamOptions options_;
  grpc::CallbackServerContext* const context_;
  AttachedHosts* const hosts_;
  Scheduler* const scheduler_;

  AgentMessage read_;  // Only touched between OnReadDone and StartRead.
  HubMessage write_;   // Only touched by who set writing_.

  absl::Mutex mutex_;
  std::shared_ptr<HostStream> self_ ABSL_GUARDED_BY(mutex_);  // Until OnDone.
  std::deque<HubMessage> queue_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  // Set: no more is sent, and the stream ends with this.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  std::optional<AttachedHosts::SessionId> session_ ABSL_GUARDED_BY(mutex_);
  bool greeted_ ABSL_GUARDED_BY(mutex_) = false;   // The hello is here.
  bool welcomed_ ABSL_GUARDED_BY(mutex_) = false;  // Writes may begin.
  bool cancelling_ ABSL_GUARDED_BY(mutex_) = false;
  // Waits for the hello, or for the last write.
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOST_STREAM_H_
