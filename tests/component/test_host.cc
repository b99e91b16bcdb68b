#include "tests/component/test_host.h"

#include <utility>

#include "config/identity/grpc_status.h"
#include "config/identity/plain_messages.h"
#include "config/identity/tls_credentials.h"
#include "config/values/version.h"
#include "gtest/gtest.h"
#include "tests/component/test_controller.h"
#include "tests/support/wait/patience.h"

namespace clusterd {

HostFacts MemoryObserver::ObserveFor(const std::string& host,
                                     const ObserveRequest&, const Asker&) {
  HostFacts facts;
  absl::Notification* gate;
  {
    absl::MutexLock lock(&mutex_);
    ++begun_;
    facts = facts_;
    gate = gate_;
  }
  if (gate != nullptr) gate->WaitForNotification();
  facts.set_host(host);
  return facts;
}

void MemoryObserver::HoldUntil(absl::Notification* gate) {
  absl::MutexLock lock(&mutex_);
  gate_ = gate;
}

bool MemoryObserver::WaitForBegun(int count) {
  absl::MutexLock lock(&mutex_);
  const auto reached = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return begun_ >= count;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&reached), kPatience);
}

Scheduler::TimerId PatientScheduler::RunAfter(absl::Duration delay,
                                              std::function<void()> run) {
  const bool is_a_limit = delay >= absl::Seconds(1);
  return threads_.RunAfter(is_a_limit ? delay + kPatience : delay,
                           std::move(run));
}

TestHost::TestHost(const Options& options, HostObserver* observer) {
  const absl::StatusOr<TlsPem> pem = ReadTlsFiles(options.tls);
  // Also takes certificates that a daemon refuses at its start.
  const auto credentials =
      pem.ok() ? MakeChannelCredentialsFromPem(*pem, options.cluster) : nullptr;
  EXPECT_TRUE(pem.ok()) << pem.status();
  AgentStreamOptions stream;
  stream.dial = options.dial;
  stream.dial.controller = options.controller;
  stream.cluster = options.cluster;
  stream.host = options.name;
  stream.tls = options.tls;
  stream.hello.set_machine_id(options.machine_id);
  stream.hello.set_boot_id(options.boot_id);
  stream.backoff.min = absl::Milliseconds(1);
  stream.backoff.initial = absl::Milliseconds(10);
  stream.backoff.max = absl::Milliseconds(100);
  stream.on_change = [this](bool attached) {
    absl::MutexLock lock(&mutex_);
    attached_ = attached;
  };
  AgentStreamParts parts{observer, &loop_, &scheduler_,
                         &pool_,   &log_,  [] { return 0.5; }};
  parts.audit = options.audit;
  stream.credentials = [credentials] { return credentials; };
  stream_ = std::make_shared<AgentStream>(std::move(stream), parts);
  stream_->Start();
}

TestHost::~TestHost() { stream_->Stop(); }

bool TestHost::WaitAttached(bool attached) {
  absl::MutexLock lock(&mutex_);
  const auto reached = [this, attached]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return attached_ == attached;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&reached), kPatience);
}

RawHost::RawHost(const std::string& controller, const TlsFiles& tls,
                 const std::string& cluster)
    : context_(NewStreamContext()) {
  const auto pem = ReadTlsFiles(tls);
  EXPECT_TRUE(pem.ok()) << pem.status();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Small windows: a few messages that the host does not read fill them.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1024);
  stub_ = AgentHub::NewStub(OpenChannel(
      controller, MakeChannelCredentialsFromPem(*pem, cluster), arguments));
  stream_ = stub_->Attach(context_.get());
}

RawHost::~RawHost() {
  if (ended_) return;
  Kill();
  End().IgnoreError();
}

AgentMessage RawHost::Hello(const std::string& machine_id,
                            const std::string& boot_id) {
  AgentMessage message;
  message.mutable_hello()->set_protocol_version(kProtocolVersion);
  message.mutable_hello()->set_clusterd_version("raw");
  message.mutable_hello()->set_machine_id(machine_id);
  message.mutable_hello()->set_boot_id(boot_id);
  return message;
}

bool RawHost::Attach() {
  HubMessage message;
  return Send(Hello()) && Receive(&message) && message.has_welcome();
}

uint64_t RawHost::ReceiveTask() {
  HubMessage message;
  return Receive(&message) ? message.task().task_id() : 0;
}

absl::Status RawHost::End() {
  HubMessage message;
  while (Receive(&message)) message.Clear();
  ended_ = true;
  return ToAbslStatus(stream_->Finish());
}

}  // namespace clusterd
