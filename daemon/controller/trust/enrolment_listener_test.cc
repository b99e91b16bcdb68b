#include "daemon/controller/trust/enrolment_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/trust/enrolment_process.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "proto/trust.grpc.pb.h"
#include "tests/support/config/ca_dir.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

const SpiffeId kMaker{"demo", IdentityKind::kUser, "ann", Role::kAdmin};

// True if this process listens on that port. A connection would not show it:
// another process may take the port once it is free.
bool ListensOn(int port) {
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(each.path().filename().string());
    int listens = 0;
    socklen_t size = sizeof(listens);
    sockaddr_in address = {};
    socklen_t length = sizeof(address);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
        listens != 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
        ntohs(address.sin_port) == port) {
      return true;
    }
  }
  return false;
}

// True if this process has such a child, also one that has ended.
bool IsChild(pid_t process) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(process), &info,
                WEXITED | WNOHANG | WNOWAIT) == 0;
}

class EnrolmentListenerTest : public testing::Test {
 protected:
  EnrolmentListenerTest() {
    std::ofstream(folder_ + "/cluster.yaml") << kJoinSpec;
    spec_ = SpecHolder::Open(folder_ + "/cluster.yaml", "demo", &scheduler_)
                .value();
    IdentityGateOptions options;
    options.cluster = "demo";
    options.state = folder_;
    gate_ = IdentityGate::Open(options, &scheduler_, &log_).value();
    parts_.spec = spec_.get();
    parts_.scheduler = &scheduler_;
    parts_.pool = &pool_;
    parts_.log = &log_;
    parts_.hosts = &hosts_;
    parts_.gate = gate_.get();
    parts_.audit = audit_.log();
    authority_ =
        CertificateAuthority::Open(MakeCaDir(*root_), absl::Now()).value();
    store_ = TrustStore::Open(folder_).value();
    service_ = std::make_unique<EnrolmentService>(
        parts_, authority_.get(), store_.get(), kDefaultLeafLife);
    const TlsPem own = root_->Issue({"spiffe://demo/controller"});
    options_.listen = "127.0.0.1:0";
    options_.program = std::filesystem::current_path() /
                       "daemon/controller/clusterd-controller";
    options_.tls = {folder_ + "/ca.crt", folder_ + "/own.crt",
                    folder_ + "/own.key"};
    WriteTestFile(options_.tls.ca, own.ca, 0644);
    WriteTestFile(options_.tls.certificate, own.certificate, 0644);
    WriteTestFile(options_.tls.key, own.key, 0600);
  }

  void MakeListener() {
    listener_ =
        std::make_unique<EnrolmentListener>(options_, service_.get(), parts_);
  }
  std::string MakeToken() {
    CreateTokenRequest request;
    request.set_ttl_ms(600'000);
    return service_->CreateToken(request, kMaker).value().entry().id();
  }
  // Records a certificate that ended a day ago.
  void PutEnded(const std::string& host) {
    HostRecord record;
    record.set_name(host);
    record.mutable_held()->set_ends_ms(
        absl::ToUnixMillis(scheduler_.Now() - absl::Hours(24)));
    ASSERT_TRUE(store_->Put(record).ok());
  }
  // Waits for a serving process that is not `before`.
  pid_t WaitForProcess(pid_t before) {
    pid_t process = 0;
    EXPECT_TRUE(WaitUntil([&] {
      process = listener_->process();
      return process != 0 && process != before;
    })) << log_.Lines();
    return process;
  }
  grpc::Status AskForRoots() {
    const auto channel = grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", listener_->port()),
        MakeChannelCredentialsFromRoots(root_->certificate_pem(), "demo"));
    grpc::ClientContext context;
    context.set_deadline(PatientDeadline());
    context.set_wait_for_ready(true);
    RootsResponse roots;
    return Enrolment::NewStub(channel)->Roots(&context, {}, &roots);
  }
  // Work that the clock begins runs on the pool.
  void Advance(absl::Duration by) {
    scheduler_.Advance(by);
    pool_.Drain();
  }

  const std::string folder_ = NewStateFolder();
  const std::unique_ptr<TestAuthority> root_ = TestAuthority::Create();
  ManualScheduler scheduler_;
  CapturedLog log_;
  WorkerPool pool_{1, 16};
  AttachedHosts hosts_{&scheduler_, &log_};
  ControllerParts parts_;
  TestAudit audit_;
  std::unique_ptr<SpecHolder> spec_;
  std::unique_ptr<IdentityGate> gate_;
  std::unique_ptr<CertificateAuthority> authority_;
  std::unique_ptr<TrustStore> store_;
  std::unique_ptr<EnrolmentService> service_;
  EnrolmentListener::Options options_;
  std::unique_ptr<EnrolmentListener> listener_;
};

TEST_F(EnrolmentListenerTest, ClosesWhenTheTokenEndsWithoutAnybodyAsking) {
  MakeListener();
  listener_->Start();
  pool_.Drain();
  EXPECT_FALSE(listener_->is_open());
  MakeToken();
  Advance(options_.interval);
  ASSERT_TRUE(listener_->is_open()) << log_.Lines();
  EXPECT_TRUE(ListensOn(listener_->port()));
  Advance(absl::Minutes(9));
  EXPECT_TRUE(listener_->is_open());
  Advance(absl::Minutes(1));
  EXPECT_FALSE(listener_->is_open());
  EXPECT_FALSE(ListensOn(listener_->port()));
}

// It renews over the port of all other calls.
TEST_F(EnrolmentListenerTest, StaysClosedForAHostWhoseCertificateEnded) {
  PutEnded("node1");
  MakeListener();
  listener_->Start();
  pool_.Drain();
  EXPECT_FALSE(listener_->is_open());
  EXPECT_EQ(listener_->process(), 0);
}

TEST_F(EnrolmentListenerTest, NothingIsLeftOfItWhenItCloses) {
  MakeListener();
  const std::string token = MakeToken();
  ASSERT_TRUE(listener_->Update().ok());
  const pid_t process = WaitForProcess(0);
  ASSERT_TRUE(AskForRoots().ok());
  ASSERT_TRUE(service_->RevokeToken(token).ok());
  ASSERT_TRUE(listener_->Update().ok());
  EXPECT_FALSE(listener_->is_open());
  EXPECT_FALSE(ListensOn(listener_->port()));
  EXPECT_FALSE(IsChild(process));
  MakeToken();
  ASSERT_TRUE(listener_->Update().ok());
  const pid_t next = WaitForProcess(0);
  listener_.reset();
  EXPECT_FALSE(IsChild(next));
}

TEST_F(EnrolmentListenerTest, ProcessThatIsKilledIsStartedAgain) {
  options_.good_life = absl::InfiniteDuration();
  MakeListener();
  MakeToken();
  ASSERT_TRUE(listener_->Update().ok());
  ASSERT_TRUE(AskForRoots().ok());
  pid_t process = WaitForProcess(0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(kill(process, SIGKILL), 0);
    process = WaitForProcess(process);
    // A client that connects in between waits for the next process.
    EXPECT_TRUE(ListensOn(listener_->port()));
    EXPECT_TRUE(AskForRoots().ok());
  }
  EXPECT_NE(log_.Lines().find("has ended (signal 9), started again in 100ms"),
            std::string::npos)
      << log_.Lines();
  EXPECT_NE(log_.Lines().find("started again in 400ms"), std::string::npos)
      << log_.Lines();
}

TEST_F(EnrolmentListenerTest, ProgramThatIsNotThereIsLogged) {
  options_.program = folder_ + "/none";
  MakeListener();
  MakeToken();
  ASSERT_TRUE(listener_->Update().ok());
  EXPECT_TRUE(log_.WaitFor("No such file or directory"));
}

// Its limits in /proc.
TEST_F(EnrolmentListenerTest, ProcessIsBoundByTheKernel) {
  MakeListener();
  MakeToken();
  ASSERT_TRUE(listener_->Update().ok());
  ASSERT_TRUE(AskForRoots().ok());
  const pid_t process = WaitForProcess(0);
  const auto limit = [process](decltype(RLIMIT_DATA) resource) {
    rlimit found = {};
    EXPECT_EQ(prlimit(process, resource, nullptr, &found), 0);
    EXPECT_EQ(found.rlim_cur, found.rlim_max);
    return found.rlim_max;
  };
  if (kBoundsMemory) {
    EXPECT_EQ(limit(RLIMIT_DATA), kEnrolmentMemoryBytes);
  }
  EXPECT_EQ(limit(RLIMIT_CORE), 0u);
  EXPECT_EQ(limit(RLIMIT_NOFILE), 2048u);
  EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(process)),
            std::min(19, getpriority(PRIO_PROCESS, 0) + 10));
  // It inherits only the socket, the port and standard streams.
  std::ifstream environment(absl::StrCat("/proc/", process, "/environ"));
  EXPECT_EQ(environment.peek(), EOF);
}

// Another thread updates all the time, as Poll does now and then.
TEST_F(EnrolmentListenerTest, OldUpdateDoesNotCloseThePort) {
  MakeListener();
  std::atomic<bool> stop{false};
  std::thread updater([&] {
    while (!stop) listener_->Update().IgnoreError();
  });
  for (int i = 0; i < 20; ++i) {
    const std::string id = MakeToken();
    EXPECT_TRUE(!listener_->Update().ok() || listener_->is_open()) << i;
    ASSERT_TRUE(service_->RevokeToken(id).ok());
  }
  stop = true;
  updater.join();
}

TEST_F(EnrolmentListenerTest, ConnectionsEndAfterAWhile) {
  options_.longest_connection = absl::Milliseconds(200);
  options_.longest_idle = absl::Hours(1);
  MakeListener();
  MakeToken();
  ASSERT_TRUE(listener_->Update().ok());
  const auto channel = grpc::CreateChannel(
      absl::StrCat("127.0.0.1:", listener_->port()),
      MakeChannelCredentialsFromRoots(root_->certificate_pem(), "demo"));
  grpc::ClientContext context;
  context.set_deadline(PatientDeadline());
  context.set_wait_for_ready(true);
  RootsResponse roots;
  const grpc::Status asked =
      Enrolment::NewStub(channel)->Roots(&context, {}, &roots);
  ASSERT_TRUE(asked.ok()) << asked.error_message();
  EXPECT_TRUE(
      channel->WaitForStateChange(GRPC_CHANNEL_READY, PatientDeadline()));
}

}  // namespace
}  // namespace clusterd
