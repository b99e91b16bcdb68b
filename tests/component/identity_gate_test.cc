// The gate refuses admitted clients later: over resumed TLS sessions, and over
// open streams.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "config/audit/audit_chain.h"
#include "config/identity/grpc_status.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/x509v3.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;

constexpr char kAdmin[] = "spiffe://test/user/eve/role/admin";

// A clock that runs, and jumps when a test asks for it.
class JumpingClock {
 public:
  absl::Time Now() {
    absl::MutexLock lock(&mutex_);
    return absl::Now() + ahead_;
  }
  void Jump(absl::Duration by) {
    absl::MutexLock lock(&mutex_);
    ahead_ += by;
  }

 private:
  absl::Mutex mutex_;
  absl::Duration ahead_ ABSL_GUARDED_BY(mutex_);
};

class IdentityGateTest : public testing::Test {
 protected:
  IdentityGateTest() : controller_(&certificates_, 2, &scheduler_) {}

  void Start(const std::string& crl = "") {
    options_.state = state_;
    options_.now = [this] { return clock_.Now(); };
    options_.ca = certificates_.Write(
        "gate.ca", certificates_.authority().certificate_pem() + other_root_);
    options_.crl = crl;
    controller_.OpenGate(options_, &sweeps_);
    controller_.Start();
  }
  // The number of audit lines about such an end of a stream of `who`.
  int AuditedEnds(const std::string& who, const std::string& call,
                  const std::string& result) {
    controller_.Stop();
    int ends = 0;
    for (const absl::string_view line :
         absl::StrSplit(TestCertificates::Text(controller_.audit_path()), '\n',
                        absl::SkipEmpty())) {
      const AuditEntry entry = ReadAuditLine(line).value_or(AuditEntry());
      if (entry.who() == who && entry.what() == call &&
          absl::StartsWith(entry.result(), "refused: " + result)) {
        ++ends;
      }
    }
    return ends;
  }
  void Sweep() { sweeps_.Advance(IdentityGate::kSweepInterval); }

  TlsFiles Files(const std::string& label, const std::string& uri,
                 absl::Duration valid) {
    return certificates_.Issue(label, {uri}, {-absl::Hours(1), valid});
  }
  absl::StatusOr<LockResponse> Lock(const std::string& identity,
                                    const std::string& reason = "stolen") {
    LockRequest request;
    request.set_identity(identity);
    request.set_reason(reason);
    LockResponse response;
    const grpc::Status status =
        controller_.Client(Role::kAdmin)
            ->Lock(NewContext().get(), request, &response);
    if (!status.ok()) return ToAbslStatus(status);
    return response;
  }
  absl::Status Unlock(const std::string& identity) {
    UnlockRequest request;
    request.set_identity(identity);
    UnlockResponse response;
    return ToAbslStatus(controller_.Client(Role::kAdmin)
                            ->Unlock(NewContext().get(), request, &response));
  }
  absl::Status ListAs(const TlsFiles& files) {
    ListHostsResponse response;
    return ToAbslStatus(controller_.ClientAs(files)->ListHosts(
        NewContext().get(), {}, &response));
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  ManualScheduler sweeps_;
  JumpingClock clock_;
  const std::string state_ = NewStateFolder();
  IdentityGateOptions options_;
  std::string other_root_;  // The gate trusts it, too.
  TestController controller_;
};

// A check that a host keeps open, since it never answers.
class OpenCheck {
 public:
  OpenCheck(TestController* controller, const TlsFiles& user)
      : client_(controller->ClientAs(user)), context_(NewStreamContext()) {
    CheckRequest request;
    request.add_hosts("server0");
    stream_ = client_->Check(context_.get(), request);
    CheckEvent event;
    EXPECT_TRUE(stream_->Read(&event));
  }

  absl::Status End() {
    CheckEvent event;
    while (stream_->Read(&event)) EXPECT_FALSE(event.has_report());
    return ToAbslStatus(stream_->Finish());
  }

 private:
  const std::unique_ptr<Controller::Stub> client_;
  const std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<CheckEvent>> stream_;
};

TEST_F(IdentityGateTest, ExpiryEndsOpenStreams) {
  Start();
  const TlsFiles user = Files("eve", "spiffe://test/user/eve", absl::Hours(1));
  RawHost host(controller_.address(),
               Files("short", "spiffe://test/host/server0", absl::Hours(3)));
  ASSERT_TRUE(host.Attach());
  OpenCheck check(&controller_, user);
  clock_.Jump(absl::Hours(2));
  Sweep();
  const absl::Status ended = check.End();
  EXPECT_EQ(ended.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ended.message(),
              Tells("msg-hub-certificate-ended", "spiffe://test/user/eve"));
  EXPECT_TRUE(controller_.Entry("server0").attached());
  clock_.Jump(absl::Hours(2));
  Sweep();
  const absl::Status host_ended = host.End();
  EXPECT_EQ(host_ended.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(host_ended.message(), Tells("msg-hub-certificate-ended",
                                          absl::StrCat(kAny, "host/server0")));
  const HostEntry entry = controller_.Entry("server0");
  EXPECT_FALSE(entry.attached());
  EXPECT_THAT(entry.detached_reason(), Tells("msg-hub-certificate-ended"));
  EXPECT_EQ(AuditedEnds("spiffe://test/user/eve", "Check", "UNAUTHENTICATED: "),
            1);
  EXPECT_EQ(
      AuditedEnds("spiffe://test/host/server0", "Attach", "UNAUTHENTICATED: "),
      1);
}

TEST_F(IdentityGateTest, LockEndsOpenStreamsAtOnce) {
  Start();
  RawHost host(controller_.address(), certificates_.Host("server0"));
  ASSERT_TRUE(host.Attach());
  RawHost other(controller_.address(), certificates_.Host("server1"));
  ASSERT_TRUE(other.Attach());
  OpenCheck check(&controller_, certificates_.User("eve"));
  const auto user_lock = Lock("user/eve").value();
  EXPECT_EQ(user_lock.ended(), 1u);
  EXPECT_EQ(check.End().code(), absl::StatusCode::kPermissionDenied);
  const auto host_lock = Lock("server0").value();
  EXPECT_EQ(host_lock.lock().identity(), "host/server0");
  EXPECT_EQ(host_lock.ended(), 1u);
  const absl::Status ended = host.End();
  EXPECT_EQ(ended.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(
      ended.message(),
      Tells("msg-hub-locked-because", absl::StrCat(kAny, "host/server0"), kAny,
            "spiffe://test/user/tester/role/admin", "stolen"));
  EXPECT_FALSE(controller_.Entry("server0").attached());
  EXPECT_TRUE(controller_.Entry("server1").attached());
  RawHost again(controller_.address(), certificates_.Host("server0"));
  EXPECT_FALSE(again.Attach());
  EXPECT_EQ(again.End().code(), absl::StatusCode::kPermissionDenied);
  ASSERT_TRUE(Unlock("server0").ok());
  RawHost back(controller_.address(), certificates_.Host("server0"));
  EXPECT_TRUE(back.Attach());
}

TEST_F(IdentityGateTest, LockOutlivesTheController) {
  Start();
  const TlsFiles eve = Files("eve", kAdmin, absl::Hours(1));
  EXPECT_TRUE(ListAs(eve).ok());
  ASSERT_TRUE(Lock("user/eve").ok());
  controller_.Stop();
  Start();
  EXPECT_EQ(ListAs(eve).code(), absl::StatusCode::kPermissionDenied);
  ListLocksResponse locks;
  ASSERT_TRUE(controller_.Client(Role::kAdmin)
                  ->ListLocks(NewContext().get(), {}, &locks)
                  .ok());
  ASSERT_EQ(locks.locks_size(), 1);
  EXPECT_EQ(locks.locks(0).identity(), "user/eve");
  EXPECT_EQ(locks.locks(0).reason(), "stolen");
  EXPECT_EQ(locks.locks(0).by(), "spiffe://test/user/tester/role/admin");
}

// Acts as a full disk: no file of this process grows.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit none = {0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~FullDisk() { EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0); }

 private:
  rlimit before_ = {};
};

TEST_F(IdentityGateTest, LockHoldsAtOnceWhereTheDiskIsFull) {
  Start();
  EXPECT_TRUE(controller_.log().WaitFor("locked identities: 0"));
  RawHost host(controller_.address(), certificates_.Host("server0"));
  ASSERT_TRUE(host.Attach());
  const TlsFiles eve = Files("eve", kAdmin, absl::Hours(1));
  OpenCheck check(&controller_, eve);
  const auto admin = controller_.Client(Role::kAdmin);
  LockRequest request;
  request.set_identity("user/eve");
  LockResponse locked;
  grpc::Status status;
  {
    const FullDisk full;
    status = admin->Lock(NewContext().get(), request, &locked);
  }
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(locked.ended(), 1u);
  EXPECT_THAT(
      Rendered(locked).not_on_disk(),
      Tells("hub-lock-in-memory", absl::StrCat(kAny, state_, "/locks.")));
  EXPECT_EQ(check.End().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ListAs(eve).code(), absl::StatusCode::kPermissionDenied);
  // The disk has space again.
  Sweep();
  ASSERT_TRUE(
      controller_.log().WaitFor("locks that held in memory alone are on disk"));
  controller_.Stop();
  Start();
  EXPECT_TRUE(controller_.log().WaitFor("locked identities: 1"));
  EXPECT_EQ(ListAs(eve).code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(IdentityGateTest, ControllerDoesNotStartWithoutTheLocksThatItHad) {
  Start();
  ASSERT_TRUE(Lock("user/eve").ok());
  controller_.Stop();
  controller_.OpenGate({}, &sweeps_);  // The old gate has its files open.
  std::remove((state_ + "/locks.db").c_str());
  options_.cluster = "test";
  options_.crl = "";
  CapturedLog log;
  EXPECT_THAT(IdentityGate::Open(options_, &sweeps_, &log).status(),
              Fails(absl::StatusCode::kDataLoss, HasText("restore locks.db")));
}

TEST_F(IdentityGateTest, NobodyLocksThemselvesOrWhatIsNoIdentity) {
  Start();
  for (const std::string self : {"user/tester", "user/tester/role/viewer",
                                 "spiffe://test/user/tester"}) {
    const auto lock = Lock(self);
    EXPECT_EQ(lock.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(lock.status().message(), Tells("msg-hub-lock-own"));
  }
  EXPECT_EQ(Lock("noed07").status().code(), absl::StatusCode::kNotFound);
  for (const std::string wrong :
       {"spiffe://test/controller", "spiffe://other/host/server0", "group/a",
        "host/a b"}) {
    EXPECT_EQ(Lock(wrong).status().code(), absl::StatusCode::kInvalidArgument)
        << wrong;
  }
  EXPECT_EQ(Lock("server0", std::string(201, 'x')).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Unlock("user/nobody").code(), absl::StatusCode::kNotFound);
  // A host that has never attached can be locked.
  EXPECT_TRUE(Lock("host/server99").ok());
  EXPECT_TRUE(Unlock("spiffe://test/host/server99").ok());
}

TEST_F(IdentityGateTest, RevocationEndsOpenStreams) {
  const TestAuthority& ca = certificates_.authority();
  Start(certificates_.Write("list.crl", ca.RevocationList({})));
  const TlsFiles user = certificates_.User("eve");
  const TlsFiles tls = certificates_.Host("server0");
  RawHost host(controller_.address(), tls);
  ASSERT_TRUE(host.Attach());
  OpenCheck check(&controller_, user);
  certificates_.Write(
      "list.crl", ca.RevocationList({TestCertificates::Text(tls.certificate),
                                     TestCertificates::Text(user.certificate)},
                                    {-absl::Minutes(1)}));
  Sweep();
  EXPECT_EQ(host.End().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(check.End(), Fails(absl::StatusCode::kPermissionDenied,
                                 HasText("is revoked")));
  EXPECT_EQ(
      AuditedEnds("spiffe://test/user/eve", "Check", "PERMISSION_DENIED: "), 1);
  EXPECT_EQ(AuditedEnds("spiffe://test/host/server0", "Attach",
                        "PERMISSION_DENIED: "),
            1);
}

// While a list is not usable, new clients are refused, and connected ones stay.
TEST_F(IdentityGateTest, ListThatIsMissingOrWrongLetsNobodyIn) {
  const TestAuthority& ca = certificates_.authority();
  const std::string path =
      certificates_.Write("list.crl", ca.RevocationList({}));
  Start(path);
  RawHost host(controller_.address(), certificates_.Host("server0"));
  ASSERT_TRUE(host.Attach());
  const TlsFiles user = certificates_.User("eve");
  ASSERT_TRUE(ListAs(user).ok());
  const auto stranger = TestAuthority::Create();
  const std::pair<const char*, std::string> wrongs[] = {
      {"is signed by none of our CAs", stranger->RevocationList({})},
      {"no list, expected PEM text", "nonsense"},
  };
  for (const auto& [why, text] : wrongs) {
    certificates_.Write("list.crl", text);
    Sweep();
    ASSERT_TRUE(controller_.log().WaitFor(why));
    EXPECT_THAT(ListAs(user), Fails(absl::StatusCode::kFailedPrecondition,
                                    AllOf(HasText("revocation lists (--crl)"),
                                          HasText(why))));
  }
  ASSERT_EQ(std::remove(path.c_str()), 0);
  Sweep();
  ASSERT_TRUE(controller_.log().WaitFor("No such file"));
  EXPECT_EQ(ListAs(user).code(), absl::StatusCode::kFailedPrecondition);
  certificates_.Write("list.crl", ca.RevocationList({}, {-absl::Minutes(2)}));
  sweeps_.Advance(IdentityGate::kSweepInterval);
  // The list is read again, after the reading at the start.
  absl::Status status = absl::UnknownError("not asked yet");
  EXPECT_TRUE(WaitUntil([&] {
    status = ListAs(user);
    return status.ok();
  })) << status;
  EXPECT_TRUE(controller_.Entry("server0").attached());
}

// As from a stale mirror, or an attacker who can write the folder of lists.
TEST_F(IdentityGateTest, OlderOrPartialListDoesNotLetTheRevokedInAgain) {
  const TestAuthority& ca = certificates_.authority();
  const TlsFiles bad = certificates_.User("eve");
  const TlsFiles good = certificates_.User("ann");
  const std::string older =
      ca.RevocationList({}, {-absl::Hours(1)}, {{NID_crl_number, "1"}});
  const std::string newer =
      ca.RevocationList({TestCertificates::Text(bad.certificate)},
                        {-absl::Minutes(1)}, {{NID_crl_number, "2"}});
  const std::string path = certificates_.Write("list.crl", older);
  Start(path);
  EXPECT_TRUE(ListAs(bad).ok());
  certificates_.Write("list.crl", newer);
  Sweep();
  ASSERT_TRUE(controller_.log().WaitFor("with 1 certificates"));
  EXPECT_EQ(ListAs(bad).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(ListAs(good).ok());
  const std::string part =
      ca.RevocationList({}, {},
                        {{NID_crl_number, "3"},
                         {NID_issuing_distribution_point, "onlyuser:TRUE"}});
  const std::pair<const char*, std::string> wrongs[] = {
      {"is number 0x1 of ", older},
      {"expected a whole list of its CA", part},
  };
  for (const auto& [why, text] : wrongs) {
    certificates_.Write("list.crl", text);
    Sweep();
    ASSERT_TRUE(controller_.log().WaitFor(why));
    EXPECT_EQ(ListAs(bad).code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(ListAs(good).code(), absl::StatusCode::kFailedPrecondition);
  }
  controller_.Stop();
  controller_.OpenGate({}, &sweeps_);  // The old gate has its files open.
  // The same after a restart, which can only compare with the state folder.
  CapturedLog log;
  certificates_.Write("list.crl", older);
  const absl::Status behind =
      IdentityGate::Open(options_, &sweeps_, &log).status();
  EXPECT_EQ(behind.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(behind.message(),
              Tells("msg-trust-crl-older", kAny,
                    Worded("crl-age-with-number", kAny, kAny, "1"),
                    Worded("crl-age-with-number", kAny, kAny, "2")));
  certificates_.Write("list.crl", newer);
  Start(path);
  EXPECT_EQ(ListAs(bad).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(ListAs(good).ok());
}

// A CA with a new key under its old name has two lists, each with own numbers.
TEST_F(IdentityGateTest, ListOfAnotherKeyUnderTheNameHidesNone) {
  const TestAuthority& ca = certificates_.authority();
  const auto other = TestAuthority::Create();
  other_root_ = other->certificate_pem();
  const TlsFiles bad = certificates_.User("eve");
  const TlsFiles good = certificates_.User("ann");
  const std::string revoked = TestCertificates::Text(bad.certificate);
  const auto write = [&](const std::string& number,
                         const std::vector<std::string>& own,
                         const std::string& others) {
    return certificates_.Write(
        "list.crl",
        ca.RevocationList(own, {-absl::Hours(1)}, {{NID_crl_number, number}}) +
            other->RevocationList({}, {-absl::Hours(1)},
                                  {{NID_crl_number, others}}));
  };
  const std::string path = write("2", {revoked}, "9");
  Start(path);
  EXPECT_EQ(ListAs(bad).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(ListAs(good).ok());
  write("1", {}, "10");
  Sweep();
  ASSERT_TRUE(controller_.log().WaitFor("is number 0x1 of "));
  EXPECT_EQ(ListAs(bad).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ListAs(good).code(), absl::StatusCode::kFailedPrecondition);
  controller_.Stop();
  controller_.OpenGate({}, &sweeps_);  // The old gate has its files open.
  CapturedLog log;
  EXPECT_EQ(IdentityGate::Open(options_, &sweeps_, &log).status().code(),
            absl::StatusCode::kFailedPrecondition);
  Start(write("2", {revoked}, "10"));
  EXPECT_EQ(ListAs(bad).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(ListAs(good).ok());
}

TEST_F(IdentityGateTest, ListThatHasEndedLetsNobodyIn) {
  const TestAuthority& ca = certificates_.authority();
  Start(certificates_.Write(
      "list.crl", ca.RevocationList({}, {-absl::Hours(1), absl::Hours(1)})));
  RawHost host(controller_.address(), certificates_.Host("server0"));
  ASSERT_TRUE(host.Attach());
  const TlsFiles user = certificates_.User("eve");
  EXPECT_TRUE(ListAs(user).ok());
  clock_.Jump(absl::Hours(2));
  const absl::Status refused = ListAs(user);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused,
              HasText("the list of CN=clusterd test authority: ended at "));
  Sweep();
  EXPECT_TRUE(controller_.log().WaitFor("peers of that CA are refused"));
  certificates_.Write(
      "list.crl", ca.RevocationList({}, {-absl::Minutes(1), absl::Hours(3)}));
  Sweep();
  absl::Status status = refused;
  EXPECT_TRUE(WaitUntil([&] {
    status = ListAs(user);
    return status.ok();
  })) << status;
  EXPECT_TRUE(controller_.Entry("server0").attached());
}

TEST_F(IdentityGateTest, ControllerDoesNotStartWithoutAListThatCanBeTrusted) {
  options_.cluster = "test";
  options_.state = state_;
  options_.ca = certificates_.Controller().ca;
  options_.crl = certificates_.folder() + "/nowhere.crl";
  CapturedLog log;
  EXPECT_EQ(IdentityGate::Open(options_, &sweeps_, &log).status().code(),
            absl::StatusCode::kNotFound);
  options_.crl = certificates_.Write(
      "stranger.crl", TestAuthority::Create()->RevocationList({}));
  const absl::Status wrong =
      IdentityGate::Open(options_, &sweeps_, &log).status();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(wrong.message(), Tells("msg-trust-crl-not-signed"));
}

}  // namespace
}  // namespace clusterd
