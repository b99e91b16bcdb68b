#include "config/identity/signing_request.h"

#include <string>

#include "config/identity/certificate.h"
#include "config/identity/pem_objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/rsa.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::StartsWith;

std::string PemOf(const Owned<EVP_PKEY>& key) {
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0,
                                     nullptr, nullptr),
            1);
  return TextOf(text.get());
}

TEST(SigningRequestTest, NamesTheKeyThatSignedIt) {
  const auto key = MakePrivateKey().value();
  EXPECT_THAT(key, StartsWith("-----BEGIN PRIVATE KEY-----"));
  const auto request = MakeSigningRequest(key).value();
  const auto asked = ReadSigningRequest(request).value();
  EXPECT_EQ(asked.spki_sha256, SpkiOfPrivateKey(key));
  EXPECT_EQ(asked.spki_sha256.size(), 64u);
  EXPECT_NE(*MakePrivateKey(), key);
}

TEST(SigningRequestTest, Ed25519IsTakenToo) {
  const Owned<EVP_PKEY> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const auto request = MakeSigningRequest(PemOf(key));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(ReadSigningRequest(*request).ok());
  // Other kinds of keys are refused.
  const Owned<EVP_PKEY> rsa(EVP_RSA_gen(2048));
  const Owned<EVP_PKEY> p384(EVP_EC_gen("P-384"));
  for (const auto* key : {&rsa, &p384}) {
    EXPECT_THAT(ReadSigningRequest(MakeSigningRequest(PemOf(*key)).value()),
                Fails(absl::StatusCode::kInvalidArgument,
                      HasText("of another kind of key")));
  }
}

// The request names one key, and another one has signed it.
TEST(SigningRequestTest, SignatureOfAnotherKeyIsRefused) {
  const Owned<EVP_PKEY> named(EVP_EC_gen("P-256"));
  const Owned<EVP_PKEY> other(EVP_EC_gen("P-256"));
  const Owned<X509_REQ> request(X509_REQ_new());
  ASSERT_EQ(X509_REQ_set_pubkey(request.get(), named.get()), 1);
  ASSERT_GT(X509_REQ_sign(request.get(), other.get(), EVP_sha256()), 0);
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  ASSERT_EQ(PEM_write_bio_X509_REQ(text.get(), request.get()), 1);
  EXPECT_THAT(ReadSigningRequest(TextOf(text.get())).status(),
              HasText("not signed by its key"));
  // Text that is none is refused.
  const std::string good = *MakeSigningRequest(*MakePrivateKey());
  for (const std::string& text :
       {std::string(), std::string("hello"), good.substr(0, good.size() / 2),
        std::string(20000, 'x')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadSigningRequest(text).status()));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(MakeSigningRequest("no key").status()));
  EXPECT_EQ(SpkiOfPrivateKey("no key"), "");
}

}  // namespace
}  // namespace clusterd
