#include "daemon/controller/trust/certificate_authority.h"

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "config/identity/signing_request.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/pem.h"
#include "openssl/x509v3.h"
#include "tests/support/config/ca_dir.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::StartsWith;

const SpiffeId kHost{"demo", IdentityKind::kHost, "node07", Role::kViewer};

std::string PublicKeyOf(const std::string& key_pem) {
  return ReadSigningRequest(*MakeSigningRequest(key_pem))->public_key_der;
}

absl::StatusOr<std::unique_ptr<CertificateAuthority>> Open(
    const std::string& folder, absl::Time now = absl::Now()) {
  return CertificateAuthority::Open(folder, now);
}

TEST(CertificateAuthorityTest, IssuesForTheKeyAndTheIdAlone) {
  const auto root = TestAuthority::Create();
  const absl::Time now = absl::Now();
  const auto authority = Open(MakeCaDir(*root), now).value();
  const std::string key = *MakePrivateKey();
  const auto leaf =
      authority->Issue(kHost, PublicKeyOf(key), now, absl::Hours(48)).value();
  const auto info = ParseCertificate(leaf).value();
  EXPECT_EQ(info.id.ToString(), "spiffe://demo/host/node07");
  EXPECT_EQ(info.spki_sha256, SpkiOfPrivateKey(key));
  EXPECT_EQ(info.serial.size(), 32u);
  EXPECT_LT(absl::AbsDuration(info.not_before - (now - kClockAllowance)),
            absl::Seconds(2));
  EXPECT_LT(absl::AbsDuration(info.not_after - (now + absl::Hours(48))),
            absl::Seconds(2));
  const std::string chain = leaf + authority->intermediate_pem();
  EXPECT_TRUE(CheckChain(chain, root->certificate_pem(), now).ok());
  // A peer that trusts the root does not trust the intermediate by itself.
  EXPECT_FALSE(CheckChain(leaf, root->certificate_pem(), now).ok());
  EXPECT_TRUE(authority->HasIssued(leaf));
  EXPECT_FALSE(authority->HasIssued(
      root->Issue({"spiffe://demo/host/node07"}).certificate));
}

// A host never acts as a server.
TEST(CertificateAuthorityTest, LeafIsNoServers) {
  const auto root = TestAuthority::Create();
  const absl::Time now = absl::Now();
  const auto authority = Open(MakeCaDir(*root), now).value();
  const auto leaf =
      authority
          ->Issue(kHost, PublicKeyOf(*MakePrivateKey()), now, absl::Hours(48))
          .value();
  const std::unique_ptr<BIO, int (*)(BIO*)> text(
      BIO_new_mem_buf(leaf.data(), static_cast<int>(leaf.size())), &BIO_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr), &X509_free);
  ASSERT_NE(certificate, nullptr);
  EXPECT_EQ(X509_get_extended_key_usage(certificate.get()),
            static_cast<uint32_t>(XKU_SSL_CLIENT));
}

TEST(CertificateAuthorityTest, BundleThatIsNoneIsAnError) {
  const auto root = TestAuthority::Create();
  const std::string folder = MakeCaDir(*root);
  EXPECT_EQ((*Open(folder))->newest_bundle(), 0u);
  WriteTestFile(folder + "/roots.bundle", "clusterd roots of demo\n", 0644);
  const absl::Status wrong = Open(folder).status();
  EXPECT_TRUE(absl::IsInvalidArgument(wrong)) << wrong;
  EXPECT_THAT(std::string(wrong.message()),
              StartsWith(folder + "/roots.bundle: "));
}

// Otherwise the controller's hosts would refuse it after its start.
TEST(CertificateAuthorityTest, BundleMustNameTheRootsThatAreInUse) {
  const auto root = TestAuthority::Create("old");
  const auto next = TestAuthority::Create("next");
  const std::string folder = MakeCaDir(*root);
  const auto files_of = [&folder](const TestAuthority& issuer) {
    const TlsPem pem = issuer.Issue({"spiffe://demo/controller"});
    WriteTestFile(folder + "/ca.crt", pem.ca, 0644);
    WriteTestFile(folder + "/controller.crt", pem.certificate, 0644);
    WriteTestFile(folder + "/controller.key", pem.key, 0600);
    return TlsFiles{folder + "/ca.crt", folder + "/controller.crt",
                    folder + "/controller.key"};
  };
  const auto check = [&](const std::string& roots, const TestAuthority& own) {
    WriteTestFile(folder + "/roots.bundle",
                  root->RootBundle("demo", "1", roots), 0644);
    const auto authority = Open(folder);
    EXPECT_TRUE(authority.ok()) << authority.status();
    EXPECT_EQ((*authority)->newest_bundle(), 1u);
    return (*authority)->CheckBundle(files_of(own), "demo", absl::Now());
  };
  const std::string both = root->certificate_pem() + next->certificate_pem();
  EXPECT_TRUE(check(both, *root).ok());
  EXPECT_TRUE(check(both, *next).ok());
  // The controller's own, then its intermediate.
  EXPECT_TRUE(
      absl::IsFailedPrecondition(check(root->certificate_pem(), *next)));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(check(next->certificate_pem(), *next)));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      (*Open(folder))->CheckBundle(files_of(*root), "other", absl::Now())));
}

TEST(CertificateAuthorityTest, TellsTheHashOfTheRoot) {
  const auto root = TestAuthority::Create();
  const auto authority = Open(MakeCaDir(*root)).value();
  EXPECT_EQ(authority->ca_hash(),
            "sha256:" +
                SplitCertificates(root->certificate_pem()).front().spki_sha256);
  EXPECT_THAT(authority->ca_hash(), StartsWith("sha256:"));
}

TEST(CertificateAuthorityTest, NoCertificateOutlivesTheIntermediate) {
  const auto root = TestAuthority::Create();
  IssueOptions options;
  options.valid_until = absl::Hours(5);
  const absl::Time now = absl::Now();
  const auto authority = Open(MakeCaDir(*root, options), now).value();
  const std::string key = PublicKeyOf(*MakePrivateKey());
  const auto leaf = authority->Issue(kHost, key, now, absl::Hours(48)).value();
  const std::vector<CertificateEnd> ends =
      CertificateEnds(authority->intermediate_pem());
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ParseCertificate(leaf)->not_after, ends[0].not_after);
  EXPECT_THAT(
      authority->Issue(kHost, key, now + absl::Hours(6), absl::Hours(48)),
      Fails(absl::StatusCode::kFailedPrecondition,
            HasText("certificates.sh ca-dir")));
}

TEST(CertificateAuthorityTest, KeyThatOthersMayReadIsRefused) {
  const auto root = TestAuthority::Create();
  const std::string folder = MakeCaDir(*root);
  for (const mode_t mode : {0640, 0604, 0660}) {
    ASSERT_EQ(chmod((folder + "/intermediate.key").c_str(), mode), 0);
    EXPECT_THAT(Open(folder), Fails(absl::StatusCode::kPermissionDenied,
                                    HasText("expected 0600")));
  }
  ASSERT_EQ(chmod((folder + "/intermediate.key").c_str(), 0400), 0);
  EXPECT_TRUE(Open(folder).ok());
}

TEST(CertificateAuthorityTest, FolderThatIsNoneIsNamed) {
  const auto root = TestAuthority::Create();
  const auto stranger = TestAuthority::Create();
  struct Case {
    std::string file;
    std::string text;
    std::string expected;
  };
  const Case cases[] = {
      {"root.crt", "hello", "root.crt: no certificate"},
      {"root.crt", stranger->certificate_pem(), "intermediate.crt: not issued"},
      {"root.crt", std::string(kMaxRootsBytes + 1, '\n'),
       "root.crt: over 131072 bytes"},
      {"intermediate.key", *MakePrivateKey(), "is not the certificate's"},
      {"intermediate.key", "", "no private key"},
  };
  for (const Case& wrong : cases) {
    const std::string folder = MakeCaDir(*root);
    WriteTestFile(folder + "/" + wrong.file, wrong.text, 0600);
    const absl::Status status = Open(folder).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status, HasText(wrong.expected));
  }
  EXPECT_TRUE(absl::IsNotFound(Open("/nonexistent").status()));
}

TEST(CertificateAuthorityTest, CertificateThatIsNoAuthorityIsRefused) {
  const auto root = TestAuthority::Create();
  const std::string folder = MakeCaDir(*root);
  const TlsPem leaf = root->Issue({"spiffe://demo/controller"});
  WriteTestFile(folder + "/intermediate.crt", leaf.certificate, 0644);
  WriteTestFile(folder + "/intermediate.key", leaf.key, 0600);
  EXPECT_THAT(Open(folder), Fails(absl::StatusCode::kInvalidArgument,
                                  Tells("msg-trust-not-a-ca")));
}

TEST(CertificateAuthorityTest, IntermediateThatEndedIsRefused) {
  const auto root = TestAuthority::Create();
  IssueOptions options;
  options.valid_until = absl::Hours(5);
  EXPECT_THAT(Open(MakeCaDir(*root, options), absl::Now() + absl::Hours(6)),
              Fails(absl::StatusCode::kFailedPrecondition, HasText("expired")));
}

}  // namespace
}  // namespace clusterd
