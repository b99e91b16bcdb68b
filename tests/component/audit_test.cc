// The controller's audit file over real gRPC. Each change of hosts has a line
// before and after it, and each refusal one. A file that cannot be written only
// refuses changes.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "config/audit/audit_chain.h"
#include "config/identity/certificate.h"
#include "config/identity/grpc_status.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/scripted_host.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kOperator[] = "spiffe://test/user/operator/role/operator";

class AuditTest : public testing::Test {
 protected:
  AuditTest() : controller_(&certificates_, 1, &scheduler_) {}

  // Starts with server0, whose somaxconn is wrong.
  void Start() {
    controller_.Start();
    host_ = std::make_unique<ScriptedHost>(
        LowSomaxconnHost(controller_, certificates_, 0));
  }

  // Makes and applies a plan as an operator.
  absl::Status Apply(const std::string& role) {
    const ClusterPlan plan = PlanOver(*controller_.As("operator")).value();
    digest_ = plan.digest();
    const TlsFiles files = controller_.FilesOf(role);
    serial_ = CertificateSerial(TestCertificates::Text(files.certificate));
    return ApplyOver(*controller_.ClientAs(files), plan).status();
  }

  std::vector<AuditEntry> Entries() {
    std::vector<AuditEntry> entries;
    const std::string text = TestCertificates::Text(controller_.audit_path());
    EXPECT_THAT(
        VerifyAudit(std::vector<AuditText>{{"audit.jsonl", text}}, {}).breaks,
        IsEmpty());
    for (const absl::string_view line :
         absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      entries.push_back(ReadAuditLine(line).value_or(AuditEntry()));
    }
    return entries;
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  TestController controller_;
  std::unique_ptr<ScriptedHost> host_;
  std::string digest_;  // The last applied plan's.
  std::string serial_;  // Its operator's.
};

TEST_F(AuditTest, HasALineBeforeAndAfterAnApplyWithWhoBeganIt) {
  Start();
  ASSERT_TRUE(Apply("operator").ok());
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 2u);
  for (const AuditEntry& entry : entries) {
    EXPECT_EQ(entry.who(), kOperator);
    EXPECT_EQ(entry.certificate(), serial_);
    EXPECT_FALSE(serial_.empty());
    EXPECT_THAT(entry.peer(), HasSubstr("127.0.0.1:"));
    EXPECT_EQ(entry.what(), "ApplyPlan");
    EXPECT_EQ(entry.digest(), digest_);
    EXPECT_EQ(entry.subject(), entries[0].subject());
  }
  EXPECT_EQ(entries[0].result(), kAuditBegins);
  EXPECT_EQ(entries[1].result(), "succeeded: 1 applied");
  // The host receives the line that was written before it was asked.
  const ApplyTask task = host_->tasks().at(0).apply();
  EXPECT_EQ(task.actor(), kOperator);
  EXPECT_EQ(task.actor_certificate(), serial_);
  EXPECT_EQ(task.actor_peer(), entries[0].peer());
  EXPECT_EQ(task.controller_audit().sha256(), entries[0].sha256());
}

TEST_F(AuditTest, HasALineForWhoIsRefusedByRoleOrKind) {
  Start();
  EXPECT_EQ(Apply("viewer").code(), absl::StatusCode::kPermissionDenied);
  CancelResponse cancelled;
  EXPECT_FALSE(controller_.ClientAs(certificates_.Host("server0"))
                   ->Cancel(NewContext().get(), {}, &cancelled)
                   .ok());
  RawHost stranger(controller_.address(), controller_.FilesOf("operator"),
                   "test");
  EXPECT_FALSE(stranger.Attach());
  EXPECT_FALSE(stranger.End().ok());
  controller_.SettleAudit();
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].who(), "spiffe://test/user/viewer/role/viewer");
  EXPECT_EQ(entries[0].what(), "ApplyPlan");
  EXPECT_THAT(entries[0].result(),
              AllOf(HasSubstr("refused: PERMISSION_DENIED"),
                    HasSubstr("expected operator")));
  EXPECT_EQ(entries[1].who(), "spiffe://test/host/server0");
  EXPECT_EQ(entries[1].what(), "Cancel");
  EXPECT_EQ(entries[2].who(), kOperator);
  EXPECT_EQ(entries[2].what(), "Attach");
}

TEST_F(AuditTest, HasLinesForForgottenHostsCancelsAndLogsThatAreRead) {
  Start();
  ForgetHostRequest forget;
  forget.set_host("server0");
  ForgetHostResponse forgotten;
  EXPECT_FALSE(controller_.As("operator")
                   ->ForgetHost(NewContext().get(), forget, &forgotten)
                   .ok());
  CancelRequest cancel;
  cancel.set_id("0123456789abcdef");
  CancelResponse cancelled;
  EXPECT_FALSE(controller_.As("operator")
                   ->Cancel(NewContext().get(), cancel, &cancelled)
                   .ok());
  LogsRequest logs;
  logs.mutable_query()->set_user("ann");
  const auto client = controller_.As("operator");
  const auto context = NewContext();
  const auto stream = client->ReadLogs(context.get(), logs);
  LogsEvent event;
  while (stream->Read(&event)) continue;
  EXPECT_TRUE(stream->Finish().ok());
  controller_.Stop();
  std::vector<std::string> lines;
  for (const AuditEntry& entry : Entries()) {
    if (entry.what() == kAuditHeads) continue;
    EXPECT_EQ(entry.who(), kOperator);
    lines.push_back(
        absl::StrCat(entry.what(), " ", entry.subject(), ": ", entry.result()));
  }
  EXPECT_THAT(lines, testing::ElementsAre(
                         "ForgetHost server0: begins",
                         HasSubstr("ForgetHost server0: "),
                         "Cancel 0123456789abcdef: begins",
                         HasSubstr("Cancel 0123456789abcdef: "),
                         AllOf(HasSubstr("ReadLogs server0, of user \"ann\""),
                               HasSubstr(": begins")),
                         HasSubstr(": ended: ")));
}

TEST_F(AuditTest, ChangesNothingWithoutAFileAndGoesOnReading) {
  std::filesystem::create_directory(controller_.audit_path());
  Start();
  EXPECT_THAT(Apply("operator"),
              Fails(absl::StatusCode::kUnavailable,
                    AllOf(HasText(controller_.audit_path()),
                          HasText("nothing is changed until"))));
  EXPECT_THAT(host_->tasks(), IsEmpty());
  EXPECT_EQ(controller_.ListHosts().hosts_size(), 1);
  EXPECT_THAT(controller_.log().Lines(), HasSubstr("audit.jsonl: "));
  std::filesystem::remove(controller_.audit_path());
  EXPECT_TRUE(Apply("operator").ok());
}

TEST_F(AuditTest, TellsHostsItsNewestLineWhenTheyAttachAndWithoutATask) {
  controller_.Start();
  const auto cancel = [this] {
    CancelRequest request;
    request.set_id("0123456789abcdef");
    CancelResponse response;
    EXPECT_FALSE(controller_.As("operator")
                     ->Cancel(NewContext().get(), request, &response)
                     .ok());
  };
  cancel();
  RawHost host(controller_.address(), certificates_.Host("server0"), "test");
  ASSERT_TRUE(host.Send(RawHost::Hello()));
  HubMessage message;
  ASSERT_TRUE(host.Receive(&message));
  EXPECT_TRUE(message.has_welcome());
  EXPECT_EQ(message.audit_head().sha256(), Entries().back().sha256());
  cancel();
  AgentMessage drift;
  drift.mutable_drift();
  ASSERT_TRUE(host.Send(drift));
  ASSERT_TRUE(host.Receive(&message));
  EXPECT_EQ(message.kind_case(), HubMessage::KIND_NOT_SET);
  EXPECT_EQ(message.audit_head().sequence(), 4u);
  EXPECT_EQ(message.audit_head().sha256(), Entries().back().sha256());
}

// Blocks all workers of the controller until destroyed.
class BusyPool {
 public:
  explicit BusyPool(WorkerPool* pool) : pool_(pool) {
    constexpr int kThreads = 3;
    for (int i = 0; i < kThreads; ++i) {
      EXPECT_TRUE(pool->TryRun(
          [this, go_on = go_on_] {
            begun_.DecrementCount();
            go_on->WaitForNotification();
          },
          WorkerPool::Place::kFirst));
    }
    begun_.Wait();
    for (const auto place :
         {WorkerPool::Place::kFirst, WorkerPool::Place::kInTurn}) {
      while (pool->TryRun([] {}, place)) continue;
    }
  }
  ~BusyPool() {
    go_on_->Notify();
    pool_->Drain();
  }

 private:
  WorkerPool* const pool_;
  absl::BlockingCounter begun_{3};
  const std::shared_ptr<absl::Notification> go_on_ =
      std::make_shared<absl::Notification>();
};

TEST_F(AuditTest, HasALineAtEachRefusalOfAnAdmittedCaller) {
  controller_.Start();
  RawHost silent(controller_.address(), certificates_.Host("server0"), "test");
  AgentMessage hello = RawHost::Hello();
  hello.mutable_hello()->add_tasks("logs");
  HubMessage welcome;
  ASSERT_TRUE(silent.Send(hello));
  ASSERT_TRUE(silent.Receive(&welcome));
  const auto client = controller_.As("operator");
  struct Reading {
    std::unique_ptr<grpc::ClientContext> context = NewContext();
    std::unique_ptr<grpc::ClientReader<LogsEvent>> stream;
  };
  std::vector<Reading> readings(4);
  const auto read = [&](Reading* reading, const std::string& host) {
    LogsRequest request;
    request.add_hosts(host);
    reading->stream = client->ReadLogs(reading->context.get(), request);
    LogsEvent event;
    return reading->stream->Read(&event);
  };
  EXPECT_FALSE(read(&readings[0], "nobody"));
  EXPECT_TRUE(read(&readings[1], "server0"));
  EXPECT_TRUE(read(&readings[2], "server0"));
  EXPECT_FALSE(read(&readings[3], "server0"));
  {
    const BusyPool busy(&controller_.pool());
    ListHostsResponse hosts;
    EXPECT_FALSE(client->ListHosts(NewContext().get(), {}, &hosts).ok());
    CancelResponse cancelled;
    EXPECT_FALSE(client->Cancel(NewContext().get(), {}, &cancelled).ok());
    const auto apply_context = NewContext();
    EXPECT_FALSE(client->ApplyPlan(apply_context.get(), {})->Finish().ok());
    Report report;
    EXPECT_FALSE(controller_.Check({}, &report).ok());
  }
  for (const char* identity : {"user/operator", "host/server0"}) {
    LockRequest lock;
    lock.set_identity(identity);
    lock.set_reason("stolen");
    LockResponse locked;
    EXPECT_TRUE(
        controller_.As("admin")->Lock(NewContext().get(), lock, &locked).ok());
  }
  EXPECT_FALSE(silent.End().ok());
  for (Reading& reading : readings) EXPECT_FALSE(reading.stream->Finish().ok());
  controller_.Stop();

  struct Row {
    const char* exit;
    const char* who;
    const char* what;
    const char* result;
  };
  const Row rows[] = {
      {"an order", "user/operator", "ReadLogs", "INVALID_ARGUMENT: "},
      {"a slot", "user/operator", "ReadLogs", "RESOURCE_EXHAUSTED: 2 calls"},
      {"the pool", "user/operator", "ListHosts", "RESOURCE_EXHAUSTED: the con"},
      {"its first place", "user/operator", "Cancel", "RESOURCE_EXHAUSTED: "},
      {"a change", "user/operator", "ApplyPlan", "RESOURCE_EXHAUSTED: "},
      {"a run", "user/tester", "Check", "RESOURCE_EXHAUSTED: "},
      {"a user's stream", "user/operator", "ReadLogs", "PERMISSION_DENIED: "},
      {"a host's stream", "host/server0", "Attach", "PERMISSION_DENIED: "}};
  const auto entries = Entries();
  for (const Row& row : rows) {
    EXPECT_EQ(
        absl::c_count_if(entries,
                         [&row](const AuditEntry& entry) {
                           return entry.times() == 0 &&
                                  absl::StrContains(entry.who(), row.who) &&
                                  entry.what() == row.what &&
                                  absl::StartsWith(
                                      entry.result(),
                                      absl::StrCat("refused: ", row.result));
                         }),
        1)
        << row.exit;
  }
}

TEST_F(AuditTest, KeepsTheNewestLineThatAHostTellsForOperators) {
  controller_.Start();
  RawHost host(controller_.address(), certificates_.Host("server0"), "test");
  ASSERT_TRUE(host.Attach());
  AgentMessage message;
  message.mutable_past_applies();
  message.mutable_audit_head()->set_of("server9");
  message.mutable_audit_head()->set_sequence(12);
  message.mutable_audit_head()->set_sha256(std::string(64, 'a'));
  ASSERT_TRUE(host.Send(message));
  GetAuditHeadsResponse heads;
  const auto client = controller_.As("operator");
  ASSERT_TRUE(WaitUntil([&] {
    EXPECT_TRUE(client->GetAuditHeads(NewContext().get(), {}, &heads).ok());
    return heads.heads_size() >= 2;
  }));
  EXPECT_EQ(heads.heads(0).of(), kControllerFile);
  // The name comes from the certificate alone.
  EXPECT_EQ(heads.heads(1).of(), "server0");
  EXPECT_EQ(heads.heads(1).sequence(), 12u);
  EXPECT_TRUE(absl::IsPermissionDenied(
      ToAbslStatus(controller_.As("viewer")->GetAuditHeads(NewContext().get(),
                                                           {}, &heads))));
  controller_.Stop();
  const auto findings = VerifyAudit(
      std::vector<AuditText>{
          {"a", TestCertificates::Text(controller_.audit_path())}},
      {});
  EXPECT_EQ(findings.known.newest.at("server0").sequence(), 12u);
}

TEST_F(AuditTest, ClosesTheStreamOfAHostWhoseHeadIsNone) {
  controller_.Start();
  RawHost host(controller_.address(), certificates_.Host("server0"), "test");
  ASSERT_TRUE(host.Attach());
  AgentMessage message;
  message.mutable_past_applies();
  message.mutable_audit_head()->set_sequence(1);
  message.mutable_audit_head()->set_sha256("not a hash");
  host.Send(message);
  EXPECT_EQ(host.End().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace clusterd
