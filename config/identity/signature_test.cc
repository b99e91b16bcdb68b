#include "config/identity/signature.h"

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "config/identity/certificate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kController[] = "spiffe://demo/controller";

class SignatureTest : public testing::Test {
 protected:
  absl::Status Verify(const TlsPem& signer, absl::string_view text,
                      absl::string_view signature,
                      absl::Time now = absl::Now()) {
    return verifier_.Verify(text, signature, signer.certificate,
                            authority_->certificate_pem(), "demo", now);
  }

  SignatureVerifier verifier_;
  const std::unique_ptr<TestAuthority> authority_ = TestAuthority::Create();
  const TlsPem controller_ = authority_->Issue({kController});
};

TEST_F(SignatureTest, OfTheControllerHoldsForItsTextAlone) {
  const std::string text("a\0verdict", 9);
  const auto signature = SignText(controller_.key, text).value();
  EXPECT_TRUE(Verify(controller_, text, signature).ok())
      << Verify(controller_, text, signature);
  const absl::Status other = Verify(controller_, "another", signature);
  EXPECT_EQ(other.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(other.message()), HasSubstr("not made over this"));
  EXPECT_FALSE(Verify(controller_, text, "").ok());
  EXPECT_FALSE(Verify(controller_, text, std::string(100, 'x')).ok());
  EXPECT_FALSE(Verify(controller_, text, std::string(100000, 'x')).ok());
}

TEST_F(SignatureTest, OfAnotherKeyOfTheSameNameIsRefused) {
  const TlsPem twin = authority_->Issue({kController});
  const auto signature = SignText(twin.key, "text").value();
  EXPECT_FALSE(Verify(controller_, "text", signature).ok());
}

TEST_F(SignatureTest, OfWhoIsNotTheControllerOfTheClusterIsRefused) {
  for (const char* id : {"spiffe://demo/host/node1", "spiffe://demo/user/ann",
                         "spiffe://other/controller"}) {
    const TlsPem signer = authority_->Issue({id});
    const auto signature = SignText(signer.key, "text").value();
    const absl::Status status = Verify(signer, "text", signature);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << id;
    EXPECT_THAT(status, Tells("signature-of", id, "demo"));
  }
}

TEST_F(SignatureTest, OfAnotherAuthorityIsRefused) {
  const auto stranger = TestAuthority::Create();
  const TlsPem signer = stranger->Issue({kController});
  const auto signature = SignText(signer.key, "text").value();
  EXPECT_FALSE(Verify(signer, "text", signature).ok());
  // Sending the authority along does not help.
  TlsPem with_ca = signer;
  with_ca.certificate += stranger->certificate_pem();
  EXPECT_FALSE(Verify(with_ca, "text", signature).ok());
}

TEST_F(SignatureTest, IsRefusedWhenTheCertificateIsNotValidThen) {
  IssueOptions options;
  options.valid_until = absl::Hours(1);
  const TlsPem brief = authority_->Issue({kController}, options);
  const auto signature = SignText(brief.key, "text").value();
  EXPECT_TRUE(Verify(brief, "text", signature).ok());
  const absl::Status late =
      Verify(brief, "text", signature, absl::Now() + absl::Hours(2));
  EXPECT_THAT(std::string(late.message()), HasSubstr("expired"));
  EXPECT_FALSE(
      Verify(brief, "text", signature, absl::Now() - absl::Hours(2)).ok());
}

TEST_F(SignatureTest, GarbageIsRefusedAndSignsNothing) {
  const auto signature = SignText(controller_.key, "text").value();
  for (const std::string& garbage :
       {std::string(), std::string("-----BEGIN CERTIFICATE-----\nxx\n"),
        std::string(200000, 'x'), controller_.key}) {
    EXPECT_EQ(verifier_
                  .Verify("text", signature, garbage,
                          authority_->certificate_pem(), "demo", absl::Now())
                  .code(),
              absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(SignText(garbage.substr(0, 100), "text").status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(verifier_
                   .Verify("text", signature, controller_.certificate, "",
                           "demo", absl::Now())
                   .ok());
}

TEST_F(SignatureTest, IsProvedAnewByWhatWasReadBefore) {
  const auto signature = SignText(controller_.key, "text").value();
  const std::unique_ptr<TestAuthority> other = TestAuthority::Create();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(Verify(controller_, "text", signature).ok());
    EXPECT_FALSE(Verify(controller_, "texts", signature).ok());
    EXPECT_FALSE(Verify(controller_, "text", signature,
                        absl::Now() + absl::Hours(24 * 3650))
                     .ok());
    EXPECT_FALSE(verifier_
                     .Verify("text", signature, controller_.certificate,
                             other->certificate_pem(), "demo", absl::Now())
                     .ok());
  }
}

}  // namespace
}  // namespace clusterd
