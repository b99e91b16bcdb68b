// Clients that were admitted and are then refused. Tests try every call in the
// table of roles, over a full handshake and a resumed TLS session, and every
// open stream.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "config/audit/audit_chain.h"
#include "config/identity/grpc_status.h"
#include "config/words/message.h"
#include "daemon/controller/gate/call_roles.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "openssl/x509v3.h"
#include "tests/component/raw_call.h"
#include "tests/component/scripted_host.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/process/hanging_disk.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

enum class Way { kLocked, kExpired, kRevoked };

// A row, and whether its field is set.
struct Called {
  const CallRole* row;
  bool with_field;
};

std::string NameOf(Way way) {
  return way == Way::kLocked    ? "Locked"
         : way == Way::kExpired ? "Expired"
                                : "Revoked";
}

grpc::StatusCode CodeOf(Way way) {
  return way == Way::kExpired ? grpc::StatusCode::UNAUTHENTICATED
                              : grpc::StatusCode::PERMISSION_DENIED;
}

bool IsOfHosts(const CallRole& row) {
  return row.caller == Caller::kHost || row.caller == Caller::kEndedHost;
}

// True if the refusal applies to this call, too.
bool Holds(Way way, const CallRole& row) {
  return way != Way::kExpired || row.caller != Caller::kEndedHost;
}

// All calls of callers with certificates, or only those that stream to them.
std::vector<Called> Calls(bool only_streams) {
  std::vector<Called> calls;
  for (const CallRole& row : AllCallRoles()) {
    if (row.caller != Caller::kUser && !IsOfHosts(row)) continue;
    const auto* const method =
        google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
            absl::StrCat("clusterd.", row.service, ".", row.method));
    if (only_streams && !method->server_streaming()) continue;
    calls.push_back({&row, false});
    if (!row.field.empty()) calls.push_back({&row, true});
  }
  return calls;
}

// server0 obeys but never answers changes; server1 never answers; server2 is
// the caller if a host calls.
class RefusedIdentityTest : public testing::Test {
 protected:
  RefusedIdentityTest() : controller_(&certificates_, 3, &scheduler_) {
    IdentityGateOptions options;
    options.now = [this] { return absl::Now() + absl::Hours(hours_.load()); };
    options.ca = certificates_.Controller().ca;
    options.crl = certificates_.Write(
        "list.crl", certificates_.authority().RevocationList({}));
    controller_.OpenGate(options, &sweeps_);
    controller_.Start();
    const IssueOptions hour = {-absl::Hours(1), absl::Hours(1)};
    user_ = certificates_.authority().Issue(
        {"spiffe://test/user/eve/role/admin"}, hour);
    host_ =
        certificates_.authority().Issue({"spiffe://test/host/server2"}, hour);
  }

  void AttachHosts() {
    ScriptedHost::Options options =
        LowSomaxconnHost(controller_, certificates_, 0);
    options.is_silent = true;
    changing_ = std::make_unique<ScriptedHost>(options);
    silent_ = std::make_unique<RawHost>(controller_.address(),
                                        certificates_.Host("server1"));
    AgentMessage hello = RawHost::Hello();
    hello.mutable_hello()->add_tasks("logs");
    HubMessage welcome;
    ASSERT_TRUE(silent_->Send(hello) && silent_->Receive(&welcome));
  }

  const TlsPem& CallerOf(const CallRole& row) const {
    return IsOfHosts(row) ? host_ : user_;
  }

  // Refuses both callers from now on, and runs the sweep that ends open
  // streams.
  void Refuse(Way way) {
    if (way == Way::kLocked) {
      for (const char* identity : {"user/eve", "host/server2"}) {
        LockEntry lock;
        lock.set_identity(identity);
        controller_.gate().Hold(lock);
      }
      return;
    }
    if (way == Way::kExpired) hours_ = 2;
    if (way == Way::kRevoked) {
      certificates_.Write(
          "list.crl",
          certificates_.authority().RevocationList(
              {user_.certificate, host_.certificate}, {-absl::Minutes(1)}));
    }
    sweeps_.Advance(IdentityGate::kSweepInterval);
    if (way == Way::kRevoked) {
      ASSERT_TRUE(controller_.log().WaitFor("with 2 certificates"));
    }
  }

  ApplyPlanRequest Planned() {
    PlanRequest plan;
    plan.add_hosts("server0");
    return ApplyOf(
        PlanOver(*controller_.Client(Role::kOperator), plan).value());
  }

  // Applies a plan; returns the id.
  std::string Applied() {
    const auto client = controller_.Client(Role::kOperator);
    const auto context = NewContext();
    const auto stream = client->ApplyPlan(context.get(), Planned());
    EXPECT_TRUE(changing_->WaitForTasks(1));
    changing_->Finish(ApplyResult::APPLIED);
    return ReportOf(*stream).value().run_id();
  }

  // A request whose stream only the gate ends. A stream of a new kind ends
  // early, and its test fails: add it here.
  std::string Lasting(const Called& call) {
    const auto request = RequestOf(*call.row, call.with_field);
    auto* const any = request.get();
    if (auto* check = dynamic_cast<CheckRequest*>(any)) {
      if (call.with_field) {
        check->mutable_job()->add_servers()->set_host("server1");
      } else {
        check->add_hosts("server1");
      }
    } else if (auto* plan = dynamic_cast<PlanRequest*>(any)) {
      plan->add_hosts("server1");
    } else if (auto* learn = dynamic_cast<LearnRequest*>(any)) {
      learn->add_hosts("server1");
    } else if (auto* launch = dynamic_cast<LaunchRequest*>(any)) {
      launch->mutable_job()->add_servers()->set_host("server1");
    } else if (auto* logs = dynamic_cast<LogsRequest*>(any)) {
      logs->add_hosts("server1");
    } else if (auto* apply = dynamic_cast<ApplyPlanRequest*>(any)) {
      apply->MergeFrom(Planned());
    } else if (auto* back = dynamic_cast<RollBackRequest*>(any)) {
      back->set_apply_id(Applied());
    } else if (auto* hello = dynamic_cast<AgentMessage*>(any)) {
      *hello = RawHost::Hello();
    }
    return request->SerializeAsString();
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  ManualScheduler sweeps_;
  std::atomic<int> hours_{0};  // Added to the gate's clock.
  TestController controller_;
  TlsPem user_;
  TlsPem host_;
  std::unique_ptr<ScriptedHost> changing_;
  std::unique_ptr<RawHost> silent_;
};

class RefusedCallTest : public RefusedIdentityTest,
                        public testing::WithParamInterface<Way> {};

TEST_P(RefusedCallTest, IsRefusedWhetherItsSessionIsNewOrResumed) {
  const TlsSessions user(user_);
  const TlsSessions host(host_);
  const auto calls = Calls(/*only_streams=*/false);
  for (const Called& call : calls) {
    const bool is_host = IsOfHosts(*call.row);
    if (!is_host && call.row->method != "ListHosts") continue;
    RawCall first((is_host ? host : user).Connect(controller_.address()),
                  *call.row, "");
    EXPECT_NE(first.End().error_code(), CodeOf(GetParam()));
  }
  Refuse(GetParam());
  for (const bool resumed : {false, true}) {
    for (const Called& call : calls) {
      const TlsSessions fresh(CallerOf(*call.row));
      const TlsSessions& kept = IsOfHosts(*call.row) ? host : user;
      RawCall refused(
          (resumed ? kept : fresh).Connect(controller_.address()), *call.row,
          RequestOf(*call.row, call.with_field)->SerializeAsString());
      const grpc::Status status = refused.End();
      // The controller has no CA.
      EXPECT_EQ(status.error_code(),
                Holds(GetParam(), *call.row)
                    ? CodeOf(GetParam())
                    : grpc::StatusCode::FAILED_PRECONDITION)
          << call.row->method << ": " << status.error_message();
      EXPECT_EQ(TlsSessions::Resumed(refused.context()), resumed)
          << call.row->method;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, RefusedCallTest,
                         testing::Values(Way::kLocked, Way::kExpired,
                                         Way::kRevoked),
                         [](const auto& info) { return NameOf(info.param); });

class OpenStreamTest
    : public RefusedIdentityTest,
      public testing::WithParamInterface<std::tuple<Way, Called>> {};

TEST_P(OpenStreamTest, EndsOnceItsCallerIsRefused) {
  const auto& [way, call] = GetParam();
  AttachHosts();
  const std::string request = Lasting(call);
  const TlsSessions sessions(CallerOf(*call.row));
  RawCall stream(sessions.Connect(controller_.address()), *call.row, request);
  ASSERT_TRUE(stream.Read()) << stream.End().error_message();
  Refuse(way);
  const grpc::Status end = stream.End();
  EXPECT_EQ(end.error_code(), CodeOf(way)) << end.error_message();
}

INSTANTIATE_TEST_SUITE_P(
    Streams, OpenStreamTest,
    testing::Combine(testing::Values(Way::kLocked, Way::kExpired,
                                     Way::kRevoked),
                     testing::ValuesIn(Calls(/*only_streams=*/true))),
    [](const auto& info) {
      const Called& call = std::get<Called>(info.param);
      return absl::StrCat(NameOf(std::get<Way>(info.param)), call.row->service,
                          call.row->method, call.with_field ? "With" : "",
                          call.with_field ? call.row->field : "");
    });

// An intruder may make the disk hang.
class HangingDiskTest : public testing::Test {
 protected:
  // `crl`: the file of revocation lists, if there are any.
  void Start(const std::string& crl = "") {
    options_.ca = certificates_.Controller().ca;
    options_.crl = crl;
    controller_.OpenGate(options_, &sweeps_);
    controller_.Start();
  }
  absl::Status ListAs(const TlsFiles& files) {
    ListHostsResponse response;
    return ToAbslStatus(controller_.ClientAs(files)->ListHosts(
        NewContext().get(), {}, &response));
  }
  // Counts the lines of the audit file about `call` with that result.
  int Audited(const std::string& call, const std::string& result) {
    controller_.Stop();
    int lines = 0;
    for (const absl::string_view line :
         absl::StrSplit(TestCertificates::Text(controller_.audit_path()), '\n',
                        absl::SkipEmpty())) {
      const AuditEntry entry = ReadAuditLine(line).value_or(AuditEntry());
      lines += entry.what() == call && entry.result() == result;
    }
    return lines;
  }

  TestCertificates certificates_;
  // Runs the timer of the answer.
  ManualScheduler clock_;
  ManualScheduler sweeps_;
  IdentityGateOptions options_;
  TestController controller_{&certificates_, 1, &clock_};
};

TEST_F(HangingDiskTest, LockHoldsAtOnceAndIsAnswered) {
  options_.state = NewStateFolder();
  Start();
  const TlsFiles eve = certificates_.User("eve");
  ASSERT_TRUE(ListAs(eve).ok());
  const auto admin = controller_.Client(Role::kAdmin);
  constexpr int kThreads = 3;
  LockResponse locked;
  absl::Status status;
  {
    HangingDisk disk;
    // All threads of the pool hang with the disk.
    for (int i = 0; i < kThreads; ++i) {
      ASSERT_TRUE(controller_.pool().TryRun([] { HangingDisk::Wait(); },
                                            WorkerPool::Place::kFirst));
    }
    ASSERT_TRUE(disk.WaitForWaiting(kThreads));
    std::atomic<bool> answered{false};
    std::thread call([&] {
      LockRequest request;
      request.set_identity("user/eve");
      status = ToAbslStatus(admin->Lock(NewContext().get(), request, &locked));
      answered = true;
    });
    EXPECT_TRUE(disk.WaitForWaiting(kThreads + 1));
    EXPECT_EQ(ListAs(eve).code(), absl::StatusCode::kPermissionDenied);
    EXPECT_TRUE(WaitUntil([&] {
      clock_.Advance(absl::Seconds(1));
      return answered.load();
    }));
    call.join();
    EXPECT_EQ(controller_.gate().Locks().size(), 1u);
  }
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Rendered(locked).not_on_disk(),
              AllOf(Tells("hub-lock-in-memory"),
                    HasSubstr("the disk has not taken it in 3s")));
  // The controller writes delayed entries before it ends.
  EXPECT_EQ(Audited("Lock", "done"), 1);
  Start();
  EXPECT_TRUE(controller_.log().WaitFor("locked identities: 1"));
  EXPECT_EQ(ListAs(eve).code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(HangingDiskTest, ListsAreReadAgainAndAgain) {
  const TestAuthority& ca = certificates_.authority();
  const auto revoke = [&](const std::vector<TlsFiles>& users, int number) {
    std::vector<std::string> revoked;
    for (const TlsFiles& user : users) {
      revoked.push_back(TestCertificates::Text(user.certificate));
    }
    return certificates_.Write(
        "list.crl",
        ca.RevocationList(revoked, {-absl::Minutes(1)},
                          {{NID_crl_number, absl::StrCat(number)}}));
  };
  const TlsFiles eve = certificates_.User("eve");
  const TlsFiles mallory = certificates_.User("mallory");
  Start(revoke({}, 1));
  ASSERT_TRUE(ListAs(eve).ok());
  HangingDisk disk;
  revoke({eve}, 2);
  sweeps_.Advance(IdentityGate::kSweepInterval);
  ASSERT_TRUE(controller_.log().WaitFor("with 1 certificates"));
  EXPECT_EQ(ListAs(eve).code(), absl::StatusCode::kPermissionDenied);
  // The age of that list waits for the disk; the next list is read anyway.
  ASSERT_TRUE(disk.WaitForWaiting(1));
  revoke({eve, mallory}, 3);
  sweeps_.Advance(IdentityGate::kSweepInterval);
  ASSERT_TRUE(controller_.log().WaitFor("with 2 certificates"));
  EXPECT_EQ(ListAs(mallory).code(), absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace clusterd
