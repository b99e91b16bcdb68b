// Certificates x calls: tests every certificate with every method of the table
// of roles, over full handshakes with the real server.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"
#include "daemon/controller/gate/call_roles.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "gtest/gtest.h"
#include "tests/component/raw_call.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"

namespace clusterd {
namespace {

using Code = grpc::StatusCode;
namespace tls = ::grpc::experimental;

const IssueOptions kEnded = {-absl::Hours(2), -absl::Hours(1)};

// A client that tries to connect.
struct Knocker {
  std::string label;
  // Its identity, if it is admitted at all.
  std::optional<SpiffeId> id;
  // The status of every call, unless it is admitted.
  Code refused = Code::OK;
  TlsPem pem;  // Without a certificate: shows none.
  // For an expired certificate that TLS accepts: the status of the one call for
  // expired hosts.
  std::optional<Code> refused_late = std::nullopt;
};

// Trusts any server: the test is about the client's certificate.
std::shared_ptr<grpc::Channel> ChannelOf(const std::string& address,
                                         const TlsPem& pem) {
  tls::TlsChannelCredentialsOptions options;
  std::vector<tls::IdentityKeyCertPair> pairs;
  if (!pem.certificate.empty()) pairs.push_back({pem.key, pem.certificate});
  options.set_certificate_provider(
      std::make_shared<tls::StaticDataCertificateProvider>(pem.ca, pairs));
  options.watch_root_certs();
  if (!pairs.empty()) options.watch_identity_key_cert_pairs();
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      std::make_shared<tls::NoOpCertificateVerifier>());
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, tls::TlsCredentials(options),
                                   arguments);
}

class RoleMatrixTest : public testing::Test {
 protected:
  RoleMatrixTest() : controller_(&certificates_, 1, &scheduler_) {}

  TlsPem Issue(const std::string& uri, const IssueOptions& options = {}) {
    return certificates_.authority().Issue({uri}, options);
  }
  void Add(std::string label, const std::string& uri) {
    all_.push_back(
        {std::move(label), *ParseSpiffeId(uri), Code::OK, Issue(uri)});
  }
  void AddRefused(std::string label, Code code, TlsPem pem) {
    all_.push_back({std::move(label), std::nullopt, code, std::move(pem)});
  }
  // An expired certificate that TLS accepts.
  void AddEnded(std::string label, Code refused_late, const std::string& uri) {
    AddRefused(std::move(label), Code::UNAUTHENTICATED, Issue(uri, kEnded));
    all_.back().id = *ParseSpiffeId(uri);
    all_.back().refused_late = refused_late;
    on_record_.push_back(CertificateSerial(all_.back().pem.certificate));
  }

  void SetUp() override {
    for (const Role role :
         {Role::kHook, Role::kViewer, Role::kOperator, Role::kAdmin}) {
      Add(absl::StrCat("user in role ", RoleName(role)),
          absl::StrCat("spiffe://test/user/ann/role/", RoleName(role)));
    }
    Add("user without a role", "spiffe://test/user/ann");
    Add("host", "spiffe://test/host/server0");
    const std::string admin = "spiffe://test/user/eve/role/admin";
    AddRefused("controller", Code::PERMISSION_DENIED,
               Issue("spiffe://test/controller"));
    AddRefused("admin of another cluster", Code::PERMISSION_DENIED,
               Issue("spiffe://other/user/eve/role/admin"));
    AddRefused("user with our own name", Code::UNAUTHENTICATED,
               Issue("spiffe://test/user/clusterd-controller/role/admin"));
    AddRefused("locked admin", Code::PERMISSION_DENIED,
               Issue("spiffe://test/user/mallory/role/admin"));
    AddRefused("locked host", Code::PERMISSION_DENIED,
               Issue("spiffe://test/host/server1"));
    const TlsPem revoked = Issue(admin);
    AddRefused("revoked admin", Code::PERMISSION_DENIED, revoked);
    // TLS itself refuses these in a full handshake.
    AddRefused("expired admin", Code::UNAVAILABLE, Issue(admin, kEnded));
    AddRefused("expired host", Code::UNAVAILABLE,
               Issue("spiffe://test/host/server0", kEnded));
    // Identities that TLS accepts, in case it ever accepts too much.
    AddEnded("expired host on record", Code::FAILED_PRECONDITION,
             "spiffe://test/host/server0");
    AddEnded("expired admin on record", Code::PERMISSION_DENIED, admin);
    AddEnded("expired controller on record", Code::PERMISSION_DENIED,
             "spiffe://test/controller");
    AddEnded("expired host on record of another cluster",
             Code::PERMISSION_DENIED, "spiffe://other/host/server0");
    AddEnded("expired host on record that is locked", Code::PERMISSION_DENIED,
             "spiffe://test/host/server1");
    TlsPem strange =
        TestAuthority::Create()->Issue({"spiffe://test/host/server0"}, kEnded);
    strange.ca = revoked.ca;
    AddRefused("expired host on record of another CA", Code::UNAVAILABLE,
               strange);
    on_record_.push_back(CertificateSerial(strange.certificate));
    AdmitEndedCertificates([this](const std::string& pem) {
      return absl::c_linear_search(on_record_, CertificateSerial(pem));
    });
    AddRefused("admin of tomorrow", Code::UNAVAILABLE,
               Issue(admin, {absl::Hours(1), absl::Hours(2)}));
    TlsPem stranger = TestAuthority::Create()->Issue({admin});
    stranger.ca = revoked.ca;
    AddRefused("admin of another CA", Code::UNAVAILABLE, stranger);
    AddRefused("nobody", Code::UNAVAILABLE, TlsPem{revoked.ca, "", ""});

    IdentityGateOptions options;
    options.ca = certificates_.Controller().ca;
    options.crl = certificates_.Write(
        "list.crl",
        certificates_.authority().RevocationList({revoked.certificate}));
    controller_.OpenGate(options, &scheduler_);
    for (const char* identity : {"user/mallory", "host/server1"}) {
      LockEntry lock;
      lock.set_identity(identity);
      controller_.gate().Hold(lock);
    }
    controller_.Start();
  }
  void TearDown() override { AdmitEndedCertificates(nullptr); }

  static bool IsOfHosts(const CallRole& row) {
    return row.caller == Caller::kHost || row.caller == Caller::kEndedHost;
  }

  // The expected result of the row and knocker, without the code under test.
  static bool MayCall(const CallRole& row, bool with_field,
                      const SpiffeId& id) {
    if (IsOfHosts(row)) return id.kind == IdentityKind::kHost;
    return id.kind == IdentityKind::kUser &&
           id.role >= (with_field ? row.role_if_set : row.role);
  }

  static void Compare(const CallRole& row, bool with_field,
                      const Knocker& knocker, const grpc::Status& status) {
    const std::string where = absl::StrCat(
        knocker.label, ", ", row.service, ".", row.method,
        with_field ? " with " : "", with_field ? row.field : "", ": ",
        static_cast<int>(status.error_code()), " ", status.error_message());
    const bool is_served = row.caller == Caller::kUser || IsOfHosts(row);
    const Code code = status.error_code();
    if (knocker.refused == Code::UNAVAILABLE) {
      EXPECT_EQ(code, Code::UNAVAILABLE) << where;
    } else if (!is_served) {
      EXPECT_EQ(code, Code::UNIMPLEMENTED) << where;
    } else if (knocker.refused_late.has_value()) {
      const bool is_kind =
          knocker.id->cluster == "test" &&
          knocker.id->kind ==
              (IsOfHosts(row) ? IdentityKind::kHost : IdentityKind::kUser);
      const Code otherwise =
          is_kind ? Code::UNAUTHENTICATED : Code::PERMISSION_DENIED;
      EXPECT_EQ(code, row.caller == Caller::kEndedHost ? *knocker.refused_late
                                                       : otherwise)
          << where;
    } else if (!knocker.id.has_value()) {
      EXPECT_EQ(code, knocker.refused) << where;
    } else if (!MayCall(row, with_field, *knocker.id)) {
      EXPECT_EQ(code, Code::PERMISSION_DENIED) << where;
    } else {
      // An admitted client; its request may be invalid in itself.
      const Code never[] = {Code::PERMISSION_DENIED, Code::UNAUTHENTICATED,
                            Code::INTERNAL,          Code::UNAVAILABLE,
                            Code::UNIMPLEMENTED,     Code::DEADLINE_EXCEEDED};
      EXPECT_FALSE(absl::c_linear_search(never, code)) << where;
    }
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  TestController controller_;
  std::vector<Knocker> all_;
  std::vector<std::string> on_record_;  // Serials.
};

TEST_F(RoleMatrixTest, EveryCallAllowsOnlyTheRolesOfItsRow) {
  int calls = 0;
  for (const Knocker& knocker : all_) {
    const auto channel = ChannelOf(controller_.address(), knocker.pem);
    for (const CallRole& row : AllCallRoles()) {
      for (const bool with_field : {false, true}) {
        if (with_field && row.field.empty()) continue;
        // On a host stream the controller refuses at once a first message that
        // is not a hello.
        RawCall call(channel, row,
                     RequestOf(row, with_field)->SerializeAsString());
        // A watcher is admitted when it receives the first message.
        const bool is_notified = row.method == "Watch" && call.Read();
        Compare(row, with_field, knocker,
                is_notified ? grpc::Status::OK : call.End());
        ++calls;
      }
    }
  }
  EXPECT_GT(calls, static_cast<int>(all_.size() * AllCallRoles().size()));
}

}  // namespace
}  // namespace clusterd
