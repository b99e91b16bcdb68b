// clusterd's side of the stream, with a simulated controller.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "config/identity/tls_credentials.h"
#include "config/values/version.h"
#include "gmock/gmock.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_host.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

// Reads the hello, sends its messages, and collects results until the host
// hangs up.
class ScriptedHub final : public AgentHub::Service {
 public:
  explicit ScriptedHub(std::vector<HubMessage> script)
      : script_(std::move(script)) {}

  grpc::Status Attach(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<HubMessage, AgentMessage>* stream) override {
    AgentMessage message;
    stream->Read(&message);
    {
      absl::MutexLock lock(&mutex_);
      hello_ = message.hello();
      ++attached_;
    }
    for (const HubMessage& send : script_) stream->Write(send);
    while (stream->Read(&message)) {
      absl::MutexLock lock(&mutex_);
      results_.push_back(message.result());
    }
    absl::MutexLock lock(&mutex_);
    hung_up_ = true;
    return grpc::Status::OK;
  }

  std::vector<TaskResult> WaitForResults(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto reached = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return results_.size() >= count;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&reached), kPatience));
    return results_;
  }
  bool WaitForAttached(int count) {
    absl::MutexLock lock(&mutex_);
    const auto reached = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return attached_ >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&reached), kPatience);
  }
  bool WaitForHangUp() {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&hung_up_), kPatience);
  }
  Hello hello() {
    absl::MutexLock lock(&mutex_);
    return hello_;
  }

 private:
  const std::vector<HubMessage> script_;
  absl::Mutex mutex_;
  Hello hello_ ABSL_GUARDED_BY(mutex_);
  std::vector<TaskResult> results_ ABSL_GUARDED_BY(mutex_);
  int attached_ ABSL_GUARDED_BY(mutex_) = 0;
  bool hung_up_ ABSL_GUARDED_BY(mutex_) = false;
};

HubMessage WelcomeTo(const std::string& cluster) {
  HubMessage message;
  message.mutable_welcome()->set_cluster(cluster);
  return message;
}

HubMessage ObserveTask(uint64_t id) {
  HubMessage message;
  message.mutable_task()->set_task_id(id);
  message.mutable_task()->set_deadline_ms(600'000);
  message.mutable_task()->mutable_observe();
  return message;
}

// The hub in a server, and one host that connects to it.
class AgentTest : public testing::Test {
 protected:
  void Start(std::vector<HubMessage> script) {
    hub_ = std::make_unique<ScriptedHub>(std::move(script));
    Serve(hub_.get());
  }
  void Serve(AgentHub::Service* hub, const DialOptions& dial = DialOptions()) {
    const auto credentials = MakeServerCredentials(certificates_.Controller());
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port);
    // Windows do not grow, as in the controller.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.RegisterService(hub);
    server_ = builder.BuildAndStart();
    TestHost::Options options;
    options.controller = absl::StrCat("127.0.0.1:", port);
    options.name = "server0";
    options.tls = certificates_.Host("server0");
    options.machine_id = "the machine";
    options.boot_id = "the boot";
    options.dial = dial;
    options.audit = audit_.log();
    host_ = std::make_unique<TestHost>(options, &observer_);
  }
  void TearDown() override {
    host_.reset();
    server_->Shutdown();
  }

  TestCertificates certificates_;
  MemoryObserver observer_{HostFacts()};
  TestAudit audit_;
  std::unique_ptr<ScriptedHub> hub_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<TestHost> host_;
};

// Adds the newest line of the controller's audit file.
HubMessage WithHead(HubMessage message, uint64_t sequence) {
  message.mutable_audit_head()->set_of("server9");
  message.mutable_audit_head()->set_sequence(sequence);
  message.mutable_audit_head()->set_sha256(std::string(64, 'a'));
  return message;
}

TEST_F(AgentTest, KeepsTheControllersNewestLineOfTheWelcomeAndOfEachTask) {
  HubMessage alone;
  Start({WithHead(WelcomeTo("test"), 9), WithHead(ObserveTask(1), 5),
         WithHead(alone, 12), ObserveTask(2)});
  ASSERT_EQ(hub_->WaitForResults(2).size(), 2u);
  const auto heads = audit_.log()->heads();
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0].of(), "controller");
  EXPECT_EQ(heads[0].sequence(), 12u);
  // The welcome's head; the task's was sent after it.
  EXPECT_EQ(heads[1].sequence(), 9u);
  EXPECT_TRUE(heads[1].contradicted());
}

TEST_F(AgentTest, KeepsNoLineOfAControllerOfAnotherCluster) {
  Start({WithHead(WelcomeTo("other"), 9)});
  ASSERT_TRUE(host_->log().WaitFor("the controller is of cluster"));
  EXPECT_TRUE(audit_.log()->heads().empty());
}

TEST_F(AgentTest, SaysWhoAndWhatItIs) {
  Start({WelcomeTo("test")});
  ASSERT_TRUE(host_->WaitAttached());
  EXPECT_EQ(hub_->hello().protocol_version(), kProtocolVersion);
  EXPECT_EQ(hub_->hello().clusterd_version(), kClusterdVersion);
  EXPECT_EQ(hub_->hello().machine_id(), "the machine");
  EXPECT_EQ(hub_->hello().boot_id(), "the boot");
  EXPECT_THAT(hub_->hello().tasks(), ElementsAre("observe"));
}

TEST_F(AgentTest, RefusesTaskBeforeTheWelcome) {
  Start({ObserveTask(1)});
  EXPECT_TRUE(host_->log().WaitFor("first message was not a welcome"));
  // It connects again, as after any other end.
  EXPECT_TRUE(hub_->WaitForAttached(2));
}

TEST_F(AgentTest, HangsUpWhenItStops) {
  Start({WelcomeTo("test")});
  ASSERT_TRUE(host_->WaitAttached());
  host_->stream().Stop();
  EXPECT_TRUE(hub_->WaitForHangUp());
  EXPECT_FALSE(host_->Status().attached());
}

TEST_F(AgentTest, StopsWhileItCannotAttach) {
  Start({});
  ASSERT_TRUE(hub_->WaitForAttached(1));
  host_->stream().Stop();
  EXPECT_FALSE(host_->Status().attached());
}

// Never reads after the hello.
class DeafHub final : public AgentHub::Service {
 public:
  grpc::Status Attach(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<HubMessage, AgentMessage>* stream) override {
    AgentMessage hello;
    stream->Read(&hello);
    stream->Write(WelcomeTo("test"));
    // It never reads, so it does not notice when a host leaves.
    has_to_end.WaitForNotification();
    return grpc::Status::OK;
  }

  absl::Notification has_to_end;
};

// Uses messages that answer no task: on a slow machine, answers would come too
// slowly, and a message that waits for 30 s ends the stream for another reason.
TEST_F(AgentTest, LeavesAControllerThatDoesNotRead) {
  DeafHub deaf;
  Serve(&deaf);
  ASSERT_TRUE(host_->WaitAttached());
  DriftReport report;
  report.mutable_drift()->mutable_value()->set_unfinished(
      std::string(1024, 'a'));
  // The window takes some of them.
  constexpr size_t kOnTheWire = 1024;
  for (size_t i = 0; i < HubConnection::kMaxWaiting + kOnTheWire; ++i) {
    host_->stream().SendDrift(report);
  }
  EXPECT_TRUE(host_->log().WaitFor("the controller is not reading"));
  deaf.has_to_end.Notify();
  host_.reset();
  server_->Shutdown();
  server_->Wait();
}

// Sends one message of that size, and ignores the host when it returns.
class HugeHub final : public AgentHub::Service {
 public:
  explicit HugeHub(size_t bytes) : bytes_(bytes) {}

  grpc::Status Attach(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<HubMessage, AgentMessage>* stream) override {
    AgentMessage message;
    stream->Read(&message);
    stream->Write(WelcomeTo("test"));
    const int before = attached_++;
    if (before == 0) {
      HubMessage huge;
      huge.mutable_task()->mutable_apply()->set_actor(std::string(bytes_, 'a'));
      took_ = stream->Write(huge);
    }
    // It may return more than once.
    if (before == 1) back_.Notify();
    while (stream->Read(&message)) continue;
    return grpc::Status::OK;
  }

  bool WaitForReturn() {
    return back_.WaitForNotificationWithTimeout(kPatience);
  }
  // True if the host took the whole message; valid once the server has ended.
  bool took() const { return took_; }

 private:
  const size_t bytes_;
  std::atomic<int> attached_{0};
  std::atomic<bool> took_{false};
  absl::Notification back_;
};

TEST_F(AgentTest, RefusesAMessageThatIsTooLongAndAttachesAgain) {
  HugeHub hub((16 << 20) + 1);
  Serve(&hub);
  EXPECT_TRUE(host_->log().WaitFor("Received message larger than max"));
  EXPECT_TRUE(hub.WaitForReturn());
  EXPECT_TRUE(host_->WaitAttached());
  host_.reset();
  server_->Shutdown();
  server_->Wait();
}

TEST_F(AgentTest, TakesInNoMoreOfAMessageThanItsMemoryForTheWire) {
  HugeHub hub(64 << 20);
  DialOptions dial;
  dial.wire_memory_bytes = 24 << 20;
  Serve(&hub, dial);
  EXPECT_TRUE(host_->log().WaitFor("Buffers full"));
  EXPECT_TRUE(hub.WaitForReturn());
  host_.reset();
  server_->Shutdown();
  server_->Wait();
  EXPECT_FALSE(hub.took());
}

}  // namespace
}  // namespace clusterd
