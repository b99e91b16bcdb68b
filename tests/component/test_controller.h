// A controller inside the test: the real server on a free port of 127.0.0.1. It
// has mutual TLS, a spec in a file, and clients.
#ifndef TESTS_COMPONENT_TEST_CONTROLLER_H_
#define TESTS_COMPONENT_TEST_CONTROLLER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/identity/tls_credentials.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/controller_server.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/support/channel_arguments.h"
#include "gtest/gtest.h"
#include "proto/controller.grpc.pb.h"
#include "proto/spec.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/support/config/ca_dir.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/held_port.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {

// Options of a controller that hosts may join, with an intermediate CA.
ControllerServerOptions TrustedOptions(const TestCertificates& certificates,
                                       const IssueOptions& intermediate = {});

class TestController {
 public:
  // A spec named "test" with `servers` hosts server0, server1, …, which have
  // more time to answer than any test takes. With 0 it learns. `scheduler` and
  // `certificates` must outlive the controller.
  TestController(TestCertificates* certificates, int servers,
                 Scheduler* scheduler,
                 const ControllerServerOptions& options = {},
                 const HistoryLimits& history = {});
  ~TestController();

  // Gate options from the next Start on; the defaults are the wall clock, no
  // list, and a new folder. `cluster` and an empty `state` are filled in.
  // `gate_scheduler` must outlive the controller.
  void OpenGate(IdentityGateOptions options, Scheduler* gate_scheduler);
  IdentityGate& gate() { return *gate_; }

  // Listens with the controller's certificate, or with `files`; always on the
  // same port.
  void Start();
  void StartAs(const TlsFiles& files,
               unsigned refresh_seconds = kTlsRefreshSeconds);
  void Stop();

  // Like SIGHUP while it runs; expects that the spec is good.
  void ReadSpecAgain();

  // HOST:PORT.
  std::string address() const;
  // 0 unless the options have one.
  int status_port() const { return server_->status_port(); }
  SpecHolder& spec() { return *spec_; }
  const std::string& spec_path() const { return spec_path_; }
  CapturedLog& log() { return log_; }
  // Kept in memory; its content outlives Stop.
  HistoryStore& history() { return *history_; }
  WorkerPool& pool() { return pool_; }
  // The file of the controller that runs, or ran last.
  const std::string& audit_path() const { return audit_path_; }
  // Writes all refusals so far to the file.
  void SettleAudit() { audit_->Settle(); }

  // A new connection of the user "tester".
  std::unique_ptr<Controller::Stub> Client(Role role = Role::kViewer);
  std::unique_ptr<Controller::Stub> ClientAs(const TlsFiles& files) {
    return Controller::NewStub(ChannelAs(files));
  }
  // A new connection with these files and options.
  std::shared_ptr<grpc::Channel> ChannelAs(
      const TlsFiles& files, grpc::ChannelArguments arguments = {});
  // The user whose name is its role.
  TlsFiles FilesOf(const std::string& role);
  std::unique_ptr<Controller::Stub> As(const std::string& role) {
    return ClientAs(FilesOf(role));
  }

  // Each makes one call over a new connection, with a deadline.
  ListHostsResponse ListHosts();
  HostEntry Entry(const std::string& host);
  // Runs a check to its end; `events`, if given, takes all progress.
  absl::Status Check(const CheckRequest& request, Report* report,
                     std::vector<CheckProgress>* events = nullptr);

 private:
  TestCertificates* const certificates_;
  Scheduler* const scheduler_;
  ControllerServerOptions options_;
  std::string spec_path_;
  std::string audit_path_;
  CapturedLog log_;
  WorkerPool pool_{2, 64, 1};
  std::unique_ptr<SpecHolder> spec_;
  std::unique_ptr<HistoryStore> history_;
  // Separate, since `scheduler` may stand still and tests count its timers.
  ThreadScheduler gate_scheduler_;
  std::unique_ptr<IdentityGate> gate_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<ControllerServer> server_;
  const HeldPort port_;
};

// Reads a call to its end; returns the plan and adds to `progress`.
absl::StatusOr<ClusterPlan> PlanOver(
    Controller::Stub& client, const PlanRequest& request = {},
    std::vector<CheckProgress>* progress = nullptr);
ApplyPlanRequest ApplyOf(const ClusterPlan& plan);
// Reads an apply or a rollback to its end; returns the report.
absl::StatusOr<ApplyReport> ReportOf(grpc::ClientReader<ApplyEvent>& stream);
absl::StatusOr<ApplyReport> ApplyOver(Controller::Stub& client,
                                      const ClusterPlan& plan);

// The port of HOST:PORT.
inline int PortOf(const std::string& address) {
  return std::stoi(address.substr(address.rfind(':') + 1));
}

// The process that serves the enrolment port: this process's one child.
std::string EnrolmentProcess();

// A context with a deadline that no call should reach.
std::unique_ptr<grpc::ClientContext> NewContext();
// The same for a stream that stays open while the test waits for others.
std::unique_ptr<grpc::ClientContext> NewStreamContext();

// An answer that is sent but not read: bytes beyond the connection's window
// stay in the controller.
template <typename Answer>
class Unread {
 public:
  // `begin` begins the call.
  template <typename Begin>
  explicit Unread(const Begin& begin)
      : context_(NewContext()), reader_(begin(context_.get(), &queue_)) {
    reader_->ReadInitialMetadata(this);
    WaitForOne();
  }
  ~Unread() {
    context_->TryCancel();
    Answer answer;
    grpc::Status status;
    reader_->Finish(&answer, &status, this);
    WaitForOne();
  }

 private:
  void WaitForOne() {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
  }

  grpc::CompletionQueue queue_;
  const std::unique_ptr<grpc::ClientContext> context_;
  const std::unique_ptr<grpc::ClientAsyncResponseReader<Answer>> reader_;
};

struct UnreadRecord : Unread<HistoryRecord> {
  UnreadRecord(Controller::Stub* client, const std::string& id)
      : Unread([&](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
          GetHistoryRequest request;
          request.set_id(id);
          return client->AsyncGetHistory(context, request, queue);
        }) {}
};

// The report's result of one rule; fails the test if it is missing.
RuleResult RuleOf(const Report& report, const std::string& rule);
HostStatus HostOf(const Report& report, const std::string& host);

}  // namespace clusterd

#endif  // TESTS_COMPONENT_TEST_CONTROLLER_H_
