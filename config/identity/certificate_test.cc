#include "config/identity/certificate.h"

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "config/identity/test_authority.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(ParseCertificateTest, ReadsIdentityAndValidity) {
  const auto authority = TestAuthority::Create();
  IssueOptions options;
  options.valid_from = -absl::Hours(3);
  options.valid_until = absl::Hours(5);
  const absl::Time now = absl::Now();
  const TlsPem pem = authority->Issue({"spiffe://demo/host/a"}, options);

  const absl::StatusOr<CertificateInfo> info =
      ParseCertificate(pem.certificate);

  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->id.ToString(), "spiffe://demo/host/a");
  EXPECT_LT(absl::AbsDuration(info->not_before - (now - absl::Hours(3))),
            absl::Minutes(1));
  EXPECT_LT(absl::AbsDuration(info->not_after - (now + absl::Hours(5))),
            absl::Minutes(1));
}

TEST(ParseCertificateTest, RejectsTextWithoutCertificate) {
  const auto authority = TestAuthority::Create();
  const TlsPem pem = authority->Issue({"spiffe://demo/host/a"});
  for (const std::string& text :
       {std::string(), std::string("hello"), pem.key,
        pem.certificate.substr(0, pem.certificate.size() / 2)}) {
    const absl::Status status = ParseCertificate(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("no certificate"));
  }
}

TEST(ParseCertificateTest, RejectsMissingSecondOrForeignUri) {
  const auto authority = TestAuthority::Create();
  EXPECT_FALSE(ParseCertificate(authority->Issue({}).certificate).ok());
  EXPECT_FALSE(
      ParseCertificate(
          authority->Issue({"spiffe://demo/host/a", "spiffe://demo/controller"})
              .certificate)
          .ok());
  EXPECT_FALSE(
      ParseCertificate(authority->Issue({"https://demo/host/a"}).certificate)
          .ok());
}

TEST(ParseCertificateTest, SeesBytesBehindAnEmbeddedZero) {
  const auto authority = TestAuthority::Create();
  const std::string uri("spiffe://demo/host/a\0.evil", 26);
  const absl::Status status =
      ParseCertificate(authority->Issue({uri}).certificate).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad name"));
}

TEST(CheckKeyBelongsTest, TellsPairFromStrangers) {
  const auto authority = TestAuthority::Create();
  const TlsPem one = authority->Issue({"spiffe://demo/host/a"});
  const TlsPem other = authority->Issue({"spiffe://demo/host/a"});
  EXPECT_TRUE(CheckKeyBelongs(one.certificate, one.key).ok());
  const absl::Status strangers = CheckKeyBelongs(one.certificate, other.key);
  EXPECT_EQ(strangers.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(strangers.message()), HasSubstr("not the certifi"));
  EXPECT_THAT(std::string(CheckKeyBelongs(one.certificate, one.ca).message()),
              HasSubstr("no private key"));
}

TEST(TestAuthorityTest, IsTheSameAfterLoadingFromPem) {
  const auto authority = TestAuthority::Create();
  const auto loaded =
      TestAuthority::FromPem(authority->certificate_pem(), authority->KeyPem());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const TlsPem pem = (*loaded)->Issue({"spiffe://demo/host/a"});
  EXPECT_EQ(pem.ca, authority->certificate_pem());
  EXPECT_FALSE(TestAuthority::FromPem(pem.ca, pem.key).ok());
}

}  // namespace
}  // namespace clusterd
