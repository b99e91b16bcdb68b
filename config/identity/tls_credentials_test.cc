// The checks of the files; handshakes are tested in tests/component.
#include "config/identity/tls_credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "config/identity/test_authority.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(MakeChannelCredentialsTest, NeedsFilesAndClusterName) {
  const auto authority = TestAuthority::Create();
  const TlsFiles files = WriteFiles(authority->Issue({"spiffe://demo/host/a"}));
  EXPECT_TRUE(MakeChannelCredentials(files, "demo").ok());
  EXPECT_TRUE(MakeServerCredentials(files).ok());
  EXPECT_FALSE(MakeChannelCredentials(files, "").ok());
  EXPECT_FALSE(MakeChannelCredentials(TlsFiles{}, "demo").ok());
  EXPECT_FALSE(MakeServerCredentials(TlsFiles{}).ok());
}

}  // namespace
}  // namespace clusterd
