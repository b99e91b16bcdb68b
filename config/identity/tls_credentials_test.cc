// The checks of the files; handshakes are tested in tests/component.
#include "config/identity/tls_credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/ssl.h"
#include "tests/support/config/test_authority.h"

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

TEST(ReadTlsFilesTest, TakesFilesThatBelongTogether) {
  const auto authority = TestAuthority::Create();
  const TlsPem pem = authority->Issue({"spiffe://demo/host/a"});
  const absl::StatusOr<TlsPem> read = ReadTlsFiles(WriteFiles(pem));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->certificate, pem.certificate);
}

TEST(ReadTlsFilesTest, NamesTheMissingFile) {
  const auto authority = TestAuthority::Create();
  TlsFiles files = WriteFiles(authority->Issue({"spiffe://demo/host/a"}));
  files.certificate = testing::TempDir() + "/nowhere.pem";
  const absl::Status status = ReadTlsFiles(files).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("/nowhere.pem: No such"));
}

TEST(ReadTlsFilesTest, RefusesKeyThatOthersMayRead) {
  const auto authority = TestAuthority::Create();
  const TlsFiles files = WriteFiles(authority->Issue({"spiffe://demo/host/a"}));
  ASSERT_EQ(chmod(files.key.c_str(), 0644), 0);
  const absl::Status status = ReadTlsFiles(files).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("own.key: others have access to the private key (mode "
                        "0644)"));
}

TEST(ReadTlsFilesTest, RefusesFolderAndFifoInTheKeysPlace) {
  const auto authority = TestAuthority::Create();
  TlsFiles files = WriteFiles(authority->Issue({"spiffe://demo/host/a"}));
  files.key = testing::TempDir();
  EXPECT_EQ(ReadTlsFiles(files).status().code(),
            absl::StatusCode::kInvalidArgument);
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
  const auto authority = TestAuthority::Create();
  IssueOptions past;
  past.valid_from = -absl::Hours(2);
  past.valid_until = -absl::Hours(1);
  const absl::Status status =
      ReadTlsFiles(WriteFiles(authority->Issue({"spiffe://demo/host/a"}, past)))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("own.pem: not valid"));
}

TEST(ReadOwnIdentityTest, RefusesAnotherKindOrCluster) {
  const auto authority = TestAuthority::Create();
  const TlsFiles files = WriteFiles(authority->Issue({"spiffe://demo/host/a"}));
  const auto host = ReadOwnIdentity(files, "demo", IdentityKind::kHost);
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(host->name, "a");
  EXPECT_EQ(
      ReadOwnIdentity(files, "demo", IdentityKind::kController).status().code(),
      absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(ReadOwnIdentity(files, "prod", IdentityKind::kHost)
                              .status()
                              .message()),
              HasSubstr("expected a host of cluster \"prod\""));
}

TEST(ReadOwnIdentityTest, TakesTheClustersNameFromTheCertificate) {
  const auto authority = TestAuthority::Create();
  const TlsFiles files = WriteFiles(authority->Issue({"spiffe://demo/host/a"}));
  const auto host = ReadOwnIdentity(files, "", IdentityKind::kHost);
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(host->cluster, "demo");
  // The kind must match.
  EXPECT_THAT(std::string(ReadOwnIdentity(files, "", IdentityKind::kController)
                              .status()
                              .message()),
              HasSubstr("is spiffe://demo/host/a, expected a controller of "
                        "cluster \"demo\""));
}

TEST(MakeChannelCredentialsTest, NeedsFilesAndClusterName) {
  const auto authority = TestAuthority::Create();
  const TlsFiles files = WriteFiles(authority->Issue({"spiffe://demo/host/a"}));
  EXPECT_TRUE(MakeChannelCredentials(files, "demo").ok());
  EXPECT_TRUE(MakeServerCredentials(files).ok());
  EXPECT_FALSE(MakeChannelCredentials(files, "").ok());
  EXPECT_FALSE(MakeChannelCredentials(TlsFiles{}, "demo").ok());
  EXPECT_FALSE(MakeServerCredentials(TlsFiles{}).ok());
}

// OpenSSL versions differ in when they call back for a new SSL.
TEST(MakeServerCredentialsTest, SetsUpEachContextBeforeGrpcHasIt) {
  const auto authority = TestAuthority::Create();
  ASSERT_TRUE(MakeServerCredentials(
                  WriteFiles(authority->Issue({"spiffe://demo/controller"})))
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

TEST(RequirePeerTest, TakesHostOfTheCluster) {
  const auto peer = RequireHost({"spiffe://demo/host/a"});
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->id.name, "a");
}

TEST(RequirePeerTest, RefusesPeerWithoutCertificate) {
  EXPECT_EQ(RequirePeer("", "demo", IdentityKind::kHost).status().code(),
            absl::StatusCode::kUnauthenticated);
}

TEST(RequirePeerTest, RefusesTwoIdentitiesInOneCertificate) {
  EXPECT_EQ(RequireHost({"spiffe://demo/host/a", "spiffe://demo/host/b"})
                .status()
                .code(),
            absl::StatusCode::kUnauthenticated);
}

TEST(RequirePeerTest, RefusesAnotherCluster) {
  const auto peer = RequireHost({"spiffe://other/host/a"});
  EXPECT_EQ(peer.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(peer.status().message()),
              HasSubstr("not of this cluster"));
}

TEST(RequirePeerTest, RefusesAnotherKind) {
  const auto peer = RequireHost({"spiffe://demo/user/eve"});
  EXPECT_EQ(peer.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(peer.status().message()),
              HasSubstr("is a user, and only a host may do this"));
}

TEST(EndingCertificatesTest, SpeaksThirtyDaysBeforeTheEnd) {
  const auto authority = TestAuthority::Create();
  IssueOptions options;
  options.valid_until = absl::Hours(1000);
  const TlsFiles files =
      WriteFiles(authority->Issue({"spiffe://demo/host/a"}, options));
  const absl::Time now = absl::Now();
  EXPECT_TRUE(EndingCertificates(files, now + absl::Hours(279)).empty());
  EXPECT_THAT(
      EnglishText(EndingCertificates(files, now + absl::Hours(281)).at(0)),
      HasSubstr(" ends in 29 days, at 2"));
  const auto lines = EndingCertificates(files, now + absl::Hours(953));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(EnglishText(lines[0]),
              HasSubstr("certificate spiffe://demo/host/a in " +
                        files.certificate + " ends in 4"));
  EXPECT_THAT(EnglishText(lines[0]), HasSubstr("h, at 2"));
  EXPECT_THAT(EnglishText(lines[0]),
              HasSubstr("make a new one with "
                        "deploy/certificates.sh and put it there"));
  EXPECT_THAT(EnglishText(lines[0]), HasSubstr("noticed within a minute"));
  EXPECT_THAT(
      EnglishText(EndingCertificates(files, now + absl::Hours(1001)).at(0)),
      HasSubstr(" ended at 2"));
}

TEST(EndingCertificatesTest, SpeaksOfTheCaToo) {
  const auto authority = TestAuthority::Create();
  const TlsFiles files = WriteFiles(authority->Issue({"spiffe://demo/host/a"}));
  const auto lines =
      EndingCertificates(files, absl::Now() + absl::Hours(24 * 364));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(EnglishText(lines[1]),
              HasSubstr("certificate CN=clusterd test authority in " +
                        files.ca + " ends in 2"));
  EXPECT_THAT(EnglishText(lines[1]), HasSubstr("make a new CA"));
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
}

TEST(FirstEndsTest, LeavesOutAFileThatIsMissingOrHasNoCertificate) {
  EXPECT_TRUE(FirstEnds({{"ca", testing::TempDir() + "/nowhere.pem"},
                         {"host", WriteFile("none.pem", "hello\n", 0644)}})
                  .empty());
}

}  // namespace
}  // namespace clusterd
