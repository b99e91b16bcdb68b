// Hosts that join all at once; the lines of a join and a renewal in the host's
// audit file; and clusterd's own renewal.
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "config/audit/audit_chain.h"
#include "config/identity/pem_objects.h"
#include "config/identity/signing_request.h"
#include "daemon/agent/identity/enrolment_call.h"
#include "daemon/agent/identity/leaf_renewal.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/gate/call_roles.h"
#include "daemon/process/signals.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "openssl/param_build.h"
#include "proto/trust.grpc.pb.h"
#include "tests/component/raw_call.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_daemon.h"
#include "tests/component/test_host.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/http/tcp_proxy.h"
#include "tests/support/process/moved_clock.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

BlockedSignals process_signals;

constexpr int kHerd = 200;

class HerdTest : public testing::Test {
 protected:
  HerdTest() : controller_(&certificates_, kHerd, &clock_, Options()) {
    controller_.Start();
  }

  ControllerServerOptions Options() {
    IssueOptions long_life;
    long_life.valid_from = -absl::Hours(24 * 300);
    long_life.valid_until = absl::Hours(24 * 300);
    return TrustedOptions(certificates_, long_life);
  }
  std::unique_ptr<Trust::Stub> Admin() {
    const auto credentials =
        MakeChannelCredentials(certificates_.User("ann", Role::kAdmin), "test");
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return Trust::NewStub(
        grpc::CreateChannel(controller_.address(), *credentials));
  }
  // The join line for all hosts.
  JoinFlags Line() {
    CreateTokenRequest request;
    request.set_ttl_ms(24 * 3600'000);
    request.set_uses(kHerd);
    CreateTokenResponse made;
    const grpc::Status status =
        Admin()->CreateToken(NewContext().get(), request, &made);
    EXPECT_TRUE(status.ok()) << status.error_message();
    JoinFlags flags;
    flags.controller = controller_.address();
    flags.enrol_port = static_cast<int>(made.enrol_port());
    flags.ca_hashes = {made.ca_hash()};
    flags.token = made.token();
    return flags;
  }
  // The line for that host, which has no files yet.
  JoinFlags LineOf(const std::string& name) {
    JoinFlags flags = Line();
    flags.name = name;
    flags.root = NewRoot();
    return flags;
  }
  static std::string NewRoot() {
    std::string root = testing::TempDir() + "/herd.XXXXXX";
    EXPECT_NE(mkdtemp(root.data()), nullptr);
    std::filesystem::create_directories(root + "/etc");
    std::ofstream(root + "/etc/machine-id") << "machine\n";
    return root;
  }
  // A host that has to wait lets the controller's clock advance meanwhile.
  absl::Status Join(const JoinFlags& flags) {
    std::ostringstream out;
    JoinTools parts;
    parts.host_name = "unnamed";
    parts.machine_id = "machine";
    parts.now = [this] { return clock_.Now(); };
    // All hosts wait for the same limit, so one may need many tries.
    parts.patience.tries = 100 * kHerd;
    // The port's process yields to others (nice), so on a busy machine tries
    // may stay unanswered. This test is not about those.
    parts.patience.unanswered = parts.patience.tries;
    parts.patience.wait = [this](absl::Duration wait) {
      ++waits_;
      clock_.Move(wait);
    };
    parts.patience.random = [] { return 0.5; };
    parts.open_audit = [this, &flags] {
      return std::make_unique<AuditLog>(AuditPathOf(flags),
                                        AuditLimits{1 << 20}, "clusterd join",
                                        &clock_, &log_);
    };
    parts.out = &out;
    return JoinCluster(flags, parts);
  }
  static std::string AuditPathOf(const JoinFlags& flags) {
    return flags.root + "/var/lib/clusterd/audit.jsonl";
  }
  // "WHO WHAT SUBJECT: RESULT" of each line about the host itself.
  static std::vector<std::string> Audited(const JoinFlags& flags) {
    std::vector<std::string> lines;
    std::ifstream file(AuditPathOf(flags));
    for (std::string line; std::getline(file, line);) {
      const AuditEntry entry = ReadAuditLine(line).value_or(AuditEntry());
      if (entry.what() == "audit-heads") continue;
      lines.push_back(absl::StrCat(entry.who(), " ", entry.what(), " ",
                                   entry.subject(), ": ", entry.result()));
    }
    return lines;
  }
  static TlsFiles FilesOf(const JoinFlags& flags) {
    const std::string folder = flags.root + flags.folder;
    return {folder + "/ca.crt", folder + "/host.crt", folder + "/host.key"};
  }
  static std::string SerialOf(const JoinFlags& flags) {
    return CertificateSerial(
        TestCertificates::Text(FilesOf(flags).certificate));
  }

  // Joins at an earlier time of the clock, and returns to the present.
  JoinFlags JoinedBefore(absl::Duration age) {
    clock_.Set(-age);
    const JoinFlags flags = LineOf("server0");
    const absl::Status joined = Join(flags);
    EXPECT_TRUE(joined.ok()) << joined;
    clock_.Set(absl::ZeroDuration());
    return flags;
  }
  AgentFlags DaemonFlags(const JoinFlags& joined) {
    AgentFlags flags;
    flags.controller = joined.controller;
    flags.cluster = "test";
    flags.tls = FilesOf(joined);
    flags.socket = certificates_.folder() + "/agent.sock";
    flags.root = joined.root;
    flags.state = "/var/lib/clusterd";
    return flags;
  }
  // Checks the files of a daemon that has renewed its certificate.
  void ExpectRenewed(const JoinFlags& joined, const std::string& before) {
    EXPECT_NE(SerialOf(joined), before);
    const SpiffeId self{"test", IdentityKind::kHost, "server0", Role::kViewer};
    const auto pair = ReadPairOf(self, FilesOf(joined));
    EXPECT_TRUE(pair.ok()) << pair.status();
    const std::string line =
        "spiffe://test/host/server0 renew-certificate server0: ";
    EXPECT_THAT(Audited(joined),
                ElementsAre("clusterd join join server0: begins",
                            StartsWith("clusterd join join server0: done, "
                                       "certificate " +
                                       before + ", roots sha256:"),
                            line + "begins",
                            line + "done, certificate " + SerialOf(joined)));
  }

  TestCertificates certificates_;
  MovedClock clock_;
  CapturedLog log_;
  TestController controller_;
  std::atomic<int> waits_{0};
};

// All ask from one address, for which the controller allows five requests and
// then one a second.
TEST_F(HerdTest, TwoHundredHostsJoinAtOnceWithOneLine) {
  // Waiting may take hours of this clock, and certificates must be valid now.
  clock_.Set(-absl::Hours(20));
  // Only waiting renews the allowance, not a slow machine.
  clock_.Stop();
  const JoinFlags line = Line();
  std::vector<JoinFlags> hosts(kHerd, line);
  std::vector<absl::Status> joined(kHerd);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].name = absl::StrCat("server", i);
    hosts[i].root = NewRoot();
    threads.emplace_back([&, i] { joined[i] = Join(hosts[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> serials;
  for (size_t i = 0; i < hosts.size(); ++i) {
    ASSERT_TRUE(joined[i].ok()) << hosts[i].name << ": " << joined[i];
    const SpiffeId self{"test", IdentityKind::kHost, hosts[i].name,
                        Role::kViewer};
    const auto pair = ReadPairOf(self, FilesOf(hosts[i]));
    EXPECT_TRUE(pair.ok()) << pair.status();
    serials.insert(SerialOf(hosts[i]));
  }
  EXPECT_EQ(serials.size(), hosts.size());
  EXPECT_GT(waits_, 0);
  ListCertificatesResponse list;
  ASSERT_TRUE(Admin()->ListCertificates(NewContext().get(), {}, &list).ok());
  size_t enrolled = 0;
  for (const CertificateEntry& entry : list.certificates()) {
    if (entry.state() == CertificateEntry::ENROLLED) ++enrolled;
    EXPECT_EQ(serials.count(absl::AsciiStrToUpper(entry.serial())), 1u);
  }
  EXPECT_EQ(enrolled, hosts.size());
}

TEST_F(HerdTest, JoinThatIsRunAgainChangesNothingAlsoWhileTheDaemonRuns) {
  const JoinFlags flags = JoinedBefore(absl::ZeroDuration());
  const std::vector<std::string> lines = Audited(flags);
  EXPECT_EQ(lines.size(), 2u);
  const auto target = std::filesystem::read_symlink(
      flags.root + "/etc/clusterd/identity/current");
  AuditLog of_the_daemon(AuditPathOf(flags), {1 << 20}, "clusterd", &clock_,
                         &log_);
  EXPECT_TRUE(Join(flags).ok());
  EXPECT_EQ(Audited(flags), lines);
  EXPECT_EQ(std::filesystem::read_symlink(flags.root +
                                          "/etc/clusterd/identity/current"),
            target);
}

TEST_F(HerdTest, JoinChangesNothingWithoutALineBeforeIt) {
  const JoinFlags flags = LineOf("server0");
  AuditLog of_the_daemon(AuditPathOf(flags), {1 << 20}, "clusterd", &clock_,
                         &log_);
  EXPECT_THAT(Join(flags),
              Fails(absl::StatusCode::kUnavailable, HasText("stop it first")));
  EXPECT_FALSE(std::filesystem::exists(FilesOf(flags).certificate));
}

TEST_F(HerdTest, DaemonRenewsACertificatePastHalfOfItsLife) {
  const JoinFlags joined = JoinedBefore(absl::Hours(24 * 20));
  const std::string before = SerialOf(joined);
  const auto machine = OpenUfwScenario();
  TestDaemon daemon(DaemonFlags(joined), machine.get(), &process_signals);
  ASSERT_TRUE(controller_.log().WaitFor(
      "host server0: has taken up its renewed certificate"))
      << daemon.log().Lines();
  EXPECT_TRUE(daemon.Terminate().ok());
  EXPECT_THAT(daemon.log().Lines(), HasSubstr("certificate is renewed"));
  ExpectRenewed(joined, before);
}

// Over real TLS, with a certificate that has expired by the real clock.
TEST_F(HerdTest, EndedCertificateRenewsAndDoesNothingElse) {
  const JoinFlags joined = JoinedBefore(absl::Hours(24 * 90));
  const TlsFiles files = FilesOf(joined);
  const TlsPem pem = TestCertificates::Pem(files);
  const auto channel = grpc::CreateChannel(
      controller_.address(), MakeChannelCredentialsFromPem(pem, "test"));
  for (const CallRole& row : AllCallRoles()) {
    if (row.caller == Caller::kSocket || row.caller == Caller::kAnybody) {
      continue;
    }
    RawCall call(channel, row, RequestOf(row, false)->SerializeAsString());
    const grpc::Status refused = call.End();
    // The one call that it may make has an empty request here.
    const grpc::StatusCode code =
        row.caller == Caller::kEndedHost ? grpc::StatusCode::INVALID_ARGUMENT
        : row.caller == Caller::kHost    ? grpc::StatusCode::UNAUTHENTICATED
                                         : grpc::StatusCode::PERMISSION_DENIED;
    EXPECT_EQ(refused.error_code(), code)
        << row.method << ": " << refused.error_message();
  }
  ResetHostRequest reset;
  reset.set_name("server0");
  ResetHostResponse done;
  ASSERT_TRUE(Admin()->ResetHost(NewContext().get(), reset, &done).ok());
  // Now neither TLS nor the service behind it accepts the certificate.
  EXPECT_THAT(RenewIfEnded(files, joined.controller, absl::Now()),
              Fails(absl::StatusCode::kUnavailable,
                    HasText("clusterctl certificates reset")));
}

// A key with the certificate's public half and another private half, which an
// attacker can make without the host's key.
std::string KeyWithPublicHalfOf(const std::string& key_pem) {
  const auto read = [](const std::string& pem) {
    const Owned<BIO> text(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    return Owned<EVP_PKEY>(
        PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr));
  };
  const Owned<EVP_PKEY> theirs = read(key_pem);
  const Owned<EVP_PKEY> own = read(*MakePrivateKey());
  unsigned char half[128];
  size_t size = 0;
  BIGNUM* number = nullptr;
  EXPECT_EQ(EVP_PKEY_get_octet_string_param(theirs.get(), "pub", half,
                                            sizeof(half), &size),
            1);
  EXPECT_EQ(EVP_PKEY_get_bn_param(own.get(), "priv", &number), 1);
  OSSL_PARAM_BLD* const build = OSSL_PARAM_BLD_new();
  EXPECT_EQ(OSSL_PARAM_BLD_push_utf8_string(build, "group", "prime256v1", 0) +
                OSSL_PARAM_BLD_push_octet_string(build, "pub", half, size) +
                OSSL_PARAM_BLD_push_BN(build, "priv", number),
            3);
  OSSL_PARAM* const parts = OSSL_PARAM_BLD_to_param(build);
  EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_from_name(
      /*libctx=*/nullptr, "EC", /*propquery=*/nullptr);
  EVP_PKEY* made = nullptr;
  EXPECT_EQ(EVP_PKEY_fromdata_init(context), 1);
  EXPECT_EQ(EVP_PKEY_fromdata(context, &made, EVP_PKEY_KEYPAIR, parts), 1);
  const Owned<EVP_PKEY> key(made);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parts);
  OSSL_PARAM_BLD_free(build);
  BN_free(number);
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0,
                                     nullptr, nullptr),
            1);
  return TextOf(text.get());
}

// Sends the bytes over a new connection, until the other side closes it.
void SendAgain(const std::string& address, const std::string& bytes) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(PortOf(address)));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  char some[4096];
  while (recv(fd, some, sizeof(some), 0) > 0) {
  }
  close(fd);
}

// The request has no nonce: TLS itself verifies the key.
TEST_F(HerdTest, CapturedLateRenewalIsOfNoUseWithoutTheKey) {
  const JoinFlags joined = JoinedBefore(absl::Hours(24 * 90));
  const TlsFiles files = FilesOf(joined);
  const TlsPem pem = TestCertificates::Pem(files);
  TcpProxy wire(PortOf(controller_.address()));
  const auto renewed = AskToRenewLate(wire.address(), "test", pem).value();
  // Replays the bytes of the wire, and then the message in them.
  SendAgain(controller_.address(), wire.Heard());
  RenewLateRequest captured;
  captured.set_signing_request(*MakeSigningRequest(pem.key));
  const auto replay = [&](const TlsPem& shown) {
    Enrolled answer;
    return Trust::NewStub(grpc::CreateChannel(
                              controller_.address(),
                              MakeChannelCredentialsFromPem(shown, "test")))
        ->RenewLate(NewContext().get(), captured, &answer)
        .error_code();
  };
  EXPECT_EQ(replay({pem.ca, pem.certificate, KeyWithPublicHalfOf(pem.key)}),
            grpc::StatusCode::UNAVAILABLE);
  const JoinFlags other = LineOf("server1");
  ASSERT_TRUE(Join(other).ok());
  EXPECT_EQ(replay(TestCertificates::Pem(FilesOf(other))),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(replay(TestCertificates::Pem(certificates_.Host("server0"))),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(
      replay(TestCertificates::Pem(certificates_.User("ann", Role::kAdmin))),
      grpc::StatusCode::PERMISSION_DENIED);
  ListCertificatesResponse list;
  ASSERT_TRUE(Admin()->ListCertificates(NewContext().get(), {}, &list).ok());
  EXPECT_EQ(list.certificates(0).host(), "server0");
  EXPECT_EQ(list.certificates(0).late_renewals(), 1u);
  // With the key the host gets the same bytes of a certificate again.
  const auto again = AskToRenewLate(controller_.address(), "test", pem).value();
  EXPECT_EQ(again.certificate_pem(), renewed.certificate_pem());
}

// More names than the controller writes at a time.
TEST_F(HerdTest, AllNamesSeenByHandInOneBatchNeedAnApproval) {
  constexpr int kByHand = 120;
  {
    absl::Notification gate;
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(
          controller_.pool().TryRun([&] { gate.WaitForNotification(); }));
    }
    std::vector<std::unique_ptr<RawHost>> hosts;
    for (int i = 0; i < kByHand; ++i) {
      hosts.push_back(std::make_unique<RawHost>(
          controller_.address(),
          certificates_.Host(absl::StrCat("server", i))));
      EXPECT_TRUE(hosts.back()->Attach()) << i;
    }
    gate.Notify();
    controller_.pool().Drain();
  }
  controller_.Stop();
  controller_.Start();
  const JoinFlags line = Line();
  for (int i = 0; i <= kByHand; ++i) {
    JoinFlags flags = line;
    flags.name = absl::StrCat("server", i);
    flags.root = NewRoot();
    const absl::Status joined = Join(flags);
    if (i == kByHand) {
      EXPECT_TRUE(joined.ok()) << joined;
      continue;
    }
    EXPECT_TRUE(absl::IsPermissionDenied(joined)) << joined;
    EXPECT_THAT(std::string(joined.message()),
                HasSubstr("clusterctl certificates approve " + flags.name));
  }
}

TEST_F(HerdTest, DaemonRenewsACertificateThatHasEndedBeforeItAttaches) {
  const JoinFlags joined = JoinedBefore(absl::Hours(24 * 90));
  const std::string before = SerialOf(joined);
  EXPECT_FALSE(ReadTlsFiles(FilesOf(joined)).ok());
  const auto machine = OpenUfwScenario();
  TestDaemon daemon(DaemonFlags(joined), machine.get(), &process_signals);
  ASSERT_TRUE(daemon.log().WaitFor("attached to"));
  EXPECT_TRUE(daemon.Terminate().ok());
  ExpectRenewed(joined, before);
}

}  // namespace
}  // namespace clusterd
