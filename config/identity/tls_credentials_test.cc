// The checks of the files; handshakes are tested in tests/component.
#include "config/identity/tls_credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/ssl.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

std::string WriteFile(const std::string& name, const std::string& text,
                      mode_t mode) {
  const std::string path = testing::TempDir() + "/" + name;
  unlink(path.c_str());
  std::ofstream(path) << text;
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
  return path;
}

TlsFiles WriteFiles(const TlsPem& pem) {
  return TlsFiles{WriteFile("ca.pem", pem.ca, 0644),
                  WriteFile("own.pem", pem.certificate, 0644),
                  WriteFile("own.key", pem.key, 0600)};
}

// Files of a host "a" of the cluster "demo".
TlsFiles HostFiles(const IssueOptions& options = {}) {
  return WriteFiles(
      TestAuthority::Create()->Issue({"spiffe://demo/host/a"}, options));
}

TEST(ReadTlsFilesTest, TakesFilesThatBelongTogether) {
  const auto authority = TestAuthority::Create();
  const TlsPem pem = authority->Issue({"spiffe://demo/host/a"});
  const absl::StatusOr<TlsPem> read = ReadTlsFiles(WriteFiles(pem));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->certificate, pem.certificate);
  // Names the missing file.
  TlsFiles files = HostFiles();
  files.certificate = testing::TempDir() + "/nowhere.pem";
  EXPECT_THAT(ReadTlsFiles(files), Fails(absl::StatusCode::kNotFound,
                                         HasText("/nowhere.pem: No such")));
}

TEST(ReadTlsFilesTest, RefusesKeyThatOthersMayRead) {
  const TlsFiles files = HostFiles();
  ASSERT_EQ(chmod(files.key.c_str(), 0644), 0);
  const absl::Status status = ReadTlsFiles(files).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(status, Tells("msg-trust-key-open", files.key, "0644"));
}

TEST(ReadTlsFilesTest, RefusesFolderAndFifoInTheKeysPlace) {
  TlsFiles files = HostFiles();
  files.key = testing::TempDir();
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTlsFiles(files).status()));
  files.key = testing::TempDir() + "/fifo";
  ASSERT_EQ(mkfifo(files.key.c_str(), 0600), 0);
  const absl::Status status = ReadTlsFiles(files).status();
  unlink(files.key.c_str());
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a regular file"));
}

TEST(ReadTlsFilesTest, RefusesKeyOfAnotherCertificate) {
  const auto authority = TestAuthority::Create();
  TlsPem pem = authority->Issue({"spiffe://demo/host/a"});
  pem.key = authority->Issue({"spiffe://demo/host/a"}).key;
  const absl::Status status = ReadTlsFiles(WriteFiles(pem)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("own.key: the key is"));
}

TEST(ReadTlsFilesTest, SaysWhenCertificateIsValid) {
  IssueOptions past;
  past.valid_from = -absl::Hours(2);
  past.valid_until = -absl::Hours(1);
  const absl::Status status = ReadTlsFiles(HostFiles(past)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("own.pem: not valid"));
}

TEST(ReadOwnIdentityTest, RefusesAnotherKindOrCluster) {
  const TlsFiles files = HostFiles();
  const auto host = ReadOwnIdentity(files, "demo", IdentityKind::kHost).value();
  EXPECT_EQ(host.name, "a");
  EXPECT_TRUE(absl::IsPermissionDenied(
      ReadOwnIdentity(files, "demo", IdentityKind::kController).status()));
  EXPECT_THAT(ReadOwnIdentity(files, "prod", IdentityKind::kHost).status(),
              Tells("msg-trust-other-kind", "host", "prod"));
}

TEST(ReadOwnIdentityTest, TakesTheClustersNameFromTheCertificate) {
  const TlsFiles files = HostFiles();
  const auto host = ReadOwnIdentity(files, "", IdentityKind::kHost).value();
  EXPECT_EQ(host.cluster, "demo");
  // The kind must match.
  EXPECT_THAT(ReadOwnIdentity(files, "", IdentityKind::kController).status(),
              Tells("msg-trust-other-kind", "spiffe://demo/host/a",
                    "controller", "demo"));
}

TEST(MakeChannelCredentialsTest, NeedsFilesAndClusterName) {
  const TlsFiles files = HostFiles();
  EXPECT_TRUE(MakeChannelCredentials(files, "demo").ok());
  EXPECT_TRUE(MakeServerCredentials(files).ok());
  EXPECT_FALSE(MakeChannelCredentials(files, "").ok());
  EXPECT_FALSE(MakeChannelCredentials(TlsFiles{}, "demo").ok());
  EXPECT_FALSE(MakeServerCredentials(TlsFiles{}).ok());
}

// OpenSSL versions differ in when they call back for a new SSL.
TEST(MakeServerCredentialsTest, SetsUpEachContextBeforeGrpcHasIt) {
  ASSERT_TRUE(MakeServerCredentials(WriteFiles(TestAuthority::Create()->Issue(
                                        {"spiffe://demo/controller"})))
                  .ok());
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
      SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  EXPECT_NE(SSL_CTX_get_mode(context.get()) & SSL_MODE_RELEASE_BUFFERS, 0);
}

// RequirePeer for a host of "demo" with these URI names; tests/component tests
// real connections.
absl::StatusOr<CertificateInfo> RequireHost(
    const std::vector<std::string>& uris) {
  return RequirePeer(TestAuthority::Create()->Issue(uris).certificate, "demo",
                     IdentityKind::kHost);
}

TEST(RequirePeerTest, TakesHostOfTheClusterAndRefusesPeerWithoutCertificate) {
  EXPECT_EQ(RequireHost({"spiffe://demo/host/a"}).value().id.name, "a");
  EXPECT_EQ(RequirePeer("", "demo", IdentityKind::kHost).status().code(),
            absl::StatusCode::kUnauthenticated);
  // Refuses two identities in one certificate.
  EXPECT_TRUE(absl::IsUnauthenticated(
      RequireHost({"spiffe://demo/host/a", "spiffe://demo/host/b"}).status()));
}

TEST(RequirePeerTest, RefusesAnotherClusterAndAnotherKind) {
  EXPECT_THAT(
      RequireHost({"spiffe://other/host/a"}),
      Fails(absl::StatusCode::kPermissionDenied,
            Tells("msg-trust-other-cluster", "spiffe://other/host/a", "demo")));
  EXPECT_THAT(RequireHost({"spiffe://demo/user/eve"}),
              Fails(absl::StatusCode::kPermissionDenied,
                    Tells("msg-trust-wrong-kind", "spiffe://demo/user/eve",
                          "user", "host")));
}

TEST(EndingCertificatesTest, SpeaksThirtyDaysBeforeTheEnd) {
  IssueOptions options;
  options.valid_until = absl::Hours(1000);
  const TlsFiles files = HostFiles(options);
  const absl::Time now = absl::Now();
  EXPECT_TRUE(EndingCertificates(files, now + absl::Hours(279)).empty());
  EXPECT_THAT(
      EnglishText(EndingCertificates(files, now + absl::Hours(281)).at(0)),
      HasSubstr(" ends in 29 days, at 2"));
  const auto lines = EndingCertificates(files, now + absl::Hours(953));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], Tells("msg-trust-certificate-ends",
                              "spiffe://demo/host/a", files.certificate,
                              "make-certificate", "noticed-within-a-minute"));
  EXPECT_THAT(EnglishText(lines[0]), HasSubstr("h, at 2"));
  EXPECT_THAT(
      EnglishText(EndingCertificates(files, now + absl::Hours(1001)).at(0)),
      HasSubstr(" ended at 2"));
}

TEST(EndingCertificatesTest, SpeaksOfTheCaToo) {
  const TlsFiles files = HostFiles();
  const auto lines =
      EndingCertificates(files, absl::Now() + absl::Hours(24 * 364));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[1],
              Tells("msg-trust-certificate-ends", "CN=clusterd test authority",
                    files.ca, "make-ca"));
  EXPECT_TRUE(EndingCertificates({}, absl::Now()).empty());
}

TEST(FirstEndsTest, AreTheEarliestWhereverTheyStandInTheFile) {
  const auto authority = TestAuthority::Create();
  IssueOptions options;
  options.valid_until = absl::Hours(5);
  const absl::Time expected = absl::Now() + absl::Hours(5);
  const std::string early =
      authority->Issue({"spiffe://demo/host/a"}, options).certificate;
  const std::string& late = authority->certificate_pem();
  for (const std::string& text : {early + "\n" + late, late + "\n" + early}) {
    const auto ends = FirstEnds({{"host", WriteFile("two.pem", text, 0644)}});
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].first, "host");
    EXPECT_LT(absl::AbsDuration(ends[0].second - expected), absl::Minutes(1));
  }
  // Leaves out a file that is missing or has no certificate.
  EXPECT_TRUE(FirstEnds({{"ca", testing::TempDir() + "/nowhere.pem"},
                         {"host", WriteFile("none.pem", "hello\n", 0644)}})
                  .empty());
}

SpiffeId User(Role role) {
  return {"demo", IdentityKind::kUser, "alice", role};
}

// The refusal of whole certificates is tested in tests/component.

TEST(RequireRoleTest, EachRoleIncludesTheOnesBeforeIt) {
  const Role roles[] = {Role::kHook, Role::kViewer, Role::kOperator,
                        Role::kAdmin};
  for (const Role has : roles) {
    for (const Role needed : roles) {
      EXPECT_EQ(RequireRole(User(has), needed, "ApplyPlan").ok(), has >= needed)
          << RoleName(has) << " for " << RoleName(needed);
    }
  }
  // Names the role needed and the callers.
  const absl::Status refused =
      RequireRole(User(Role::kOperator), Role::kAdmin, "ApplyPlan with force");
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(refused, Tells("msg-trust-role", "ApplyPlan with force",
                             "spiffe://demo/user/alice/role/operator",
                             "operator", "admin"));
}

// The message of gRPC 1.51 in Debian 12.
absl::Status Failed(absl::string_view why) {
  return ExplainUnavailable(
      absl::UnavailableError(absl::StrCat(
          "failed to connect to all addresses; last error: UNKNOWN: "
          "ipv4:10.0.0.1:7443: ",
          why)),
      {"/etc/ca.crt", "/etc/host.crt", "/etc/host.key"});
}

TEST(ExplainUnavailableTest, NamesTheFileThatMayBeWrong) {
  EXPECT_THAT(Failed("Tls handshake failed: SSL_ERROR_SSL: error:06880006:asn1 "
                     "encoding routines::EVP lib"),
              Tells("msg-call-not-signed", "/etc/ca.crt"));
  // The message depends on how soon the other end closes.
  for (const char* const closed :
       {"Socket closed", "Connection reset by peer", "Broken pipe"}) {
    EXPECT_THAT(Failed(closed),
                Tells("msg-call-closed", closed, "/etc/host.crt"));
  }
  // Keeps the system's reason.
  EXPECT_THAT(Failed("Failed to connect to remote host: Connection refused"),
              Tells("msg-call-not-reachable", "Connection refused"));
  const absl::Status stops = UnavailableWords("msg-call-interrupted");
  EXPECT_EQ(ExplainUnavailable(stops, {}), stops);
}

TEST(CheckOneClusterTest, LeavesFilesThatCannotBeReadToOthers) {
  EXPECT_TRUE(
      CheckOneCluster({"/nowhere/ca", "/nowhere/crt", "/nowhere/key"}).ok());
}

}  // namespace
}  // namespace clusterd
