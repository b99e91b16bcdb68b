// Hosts inside the test: TestHost is clusterd's own stream with facts from
// memory; RawHost sends single messages, also ones that break the protocol.
#ifndef TESTS_COMPONENT_TEST_HOST_H_
#define TESTS_COMPONENT_TEST_HOST_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "daemon/agent/agent_stream.h"
#include "daemon/agent/hub_connection.h"
#include "daemon/host/host_observer.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/agent_hub.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/support/process/captured_log.h"

namespace clusterd {

// Returns the same facts each time; waits for the gate, if set.
class MemoryObserver final : public HostObserver {
 public:
  explicit MemoryObserver(HostFacts facts) : facts_(std::move(facts)) {}

  HostFacts ObserveFor(const std::string& host, const ObserveRequest& request,
                       const Asker&) override;

  // The next observations wait for `gate`; it must outlive them.
  void HoldUntil(absl::Notification* gate);
  // Blocks until `count` observations have begun.
  bool WaitForBegun(int count);
  int begun() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return begun_;
  }

 private:
  absl::Mutex mutex_;
  HostFacts facts_ ABSL_GUARDED_BY(mutex_);
  absl::Notification* gate_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int begun_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Timers of a second and more, which limit the controller, never end a slow
// test; the host's own waits are shorter.
class PatientScheduler final : public Scheduler {
 public:
  absl::Time Now() override { return threads_.Now(); }
  TimerId RunAfter(absl::Duration delay, std::function<void()> run) override;
  void Cancel(TimerId timer) override { threads_.Cancel(timer); }

 private:
  ThreadScheduler threads_;
};

class TestHost {
 public:
  struct Options {
    std::string controller;
    std::string name;
    TlsFiles tls;
    std::string cluster = "test";
    std::string machine_id = "machine";
    std::string boot_id = "boot";
    DialOptions dial;
    AuditLog* audit = nullptr;
  };

  // Begins to attach. `observer` and `audit` must outlive the host.
  TestHost(const Options& options, HostObserver* observer);
  ~TestHost();

  // Blocks until the host is attached, or not; false if that takes too long.
  bool WaitAttached(bool attached = true);

  AgentStatus Status() const { return stream_->Status(); }
  CapturedLog& log() { return log_; }
  AgentStream& stream() { return *stream_; }

 private:
  CapturedLog log_;
  absl::Mutex mutex_;
  bool attached_ ABSL_GUARDED_BY(mutex_) = false;
  EventLoop loop_;
  PatientScheduler scheduler_;
  WorkerPool pool_{2, 16};
  std::shared_ptr<AgentStream> stream_;
};

// One stream, synchronous.
class RawHost {
 public:
  RawHost(const std::string& controller, const TlsFiles& tls,
          const std::string& cluster = "test");
  ~RawHost();

  static AgentMessage Hello(const std::string& machine_id = "machine",
                            const std::string& boot_id = "boot");

  bool Send(const AgentMessage& message) { return stream_->Write(message); }
  // False when the stream has ended.
  bool Receive(HubMessage* message) { return stream_->Read(message); }
  // Sends the hello and reads the welcome.
  bool Attach();
  // The id of the next task; 0 if another message comes.
  uint64_t ReceiveTask();
  // The status with which the controller ended the stream.
  absl::Status End();
  // Acts as a host that loses power, as far as one process can.
  void Kill() { context_->TryCancel(); }

 private:
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<AgentHub::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<AgentMessage, HubMessage>> stream_;
  bool ended_ = false;
};

}  // namespace clusterd

#endif  // TESTS_COMPONENT_TEST_HOST_H_
