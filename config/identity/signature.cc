#include "config/identity/signature.h"

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/identity/certificate.h"
#include "config/identity/pem_objects.h"

namespace clusterd {
namespace {

// What the controller signs with this key in a TLS handshake is partly of the
// peer's choice. As TLS 1.3 tells its own signatures apart (RFC 8446, 4.4.3):
// longer than the 32 bytes that a client of TLS 1.2 chooses at the front.
std::string Framed(absl::string_view text) {
  return absl::StrCat(std::string(64, ' '), "clusterd, signed text",
                      absl::string_view("\0", 1), text);
}

// A chain is the leaf and a few intermediates.
constexpr size_t kMaxCertificateBytes = 64 << 10;
constexpr size_t kMaxSignatureBytes = 4096;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

absl::Status Refused(absl::string_view why) {
  return absl::PermissionDeniedError(absl::StrCat("signature: ", why));
}

// Why the first of the certificates does not lead to the CA; empty: it does.
std::string ChainTrouble(const std::vector<Owned<X509>>& chain,
                         const std::vector<Owned<X509>>& authorities,
                         absl::Time now) {
  const Owned<X509_STORE> store(X509_STORE_new());
  const Owned<STACK_OF(X509)> between(sk_X509_new_null());
  const Owned<X509_STORE_CTX> check(X509_STORE_CTX_new());
  if (!store || !between || !check) return "no memory";
  for (const Owned<X509>& authority : authorities) {
    X509_STORE_add_cert(store.get(), authority.get());
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    sk_X509_push(between.get(), chain[i].get());
  }
  if (X509_STORE_CTX_init(check.get(), store.get(), chain[0].get(),
                          between.get()) != 1) {
    return "cannot be checked";
  }
  // The bundle may hold an intermediate without the root above it.
  X509_VERIFY_PARAM* const how = X509_STORE_CTX_get0_param(check.get());
  X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_time(how, absl::ToTimeT(now));
  if (X509_verify_cert(check.get()) == 1) return "";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()));
}

}  // namespace

absl::StatusOr<std::string> SignText(absl::string_view key_pem,
                                     absl::string_view text) {
  const Owned<EVP_PKEY> key = FirstOf(key_pem, PEM_read_bio_PrivateKey);
  if (!key) {
    return absl::InvalidArgumentError(
        "signature: no private key, expected unencrypted PEM text with \"BEGIN "
        "PRIVATE KEY\"");
  }
  const std::string framed = Framed(text);
  const Owned<EVP_MD_CTX> digest(EVP_MD_CTX_new());
  std::string signature;
  size_t size = 0;
  bool good = digest &&
              EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr,
                                 key.get()) == 1 &&
              EVP_DigestSign(digest.get(), nullptr, &size, Bytes(framed),
                             framed.size()) == 1;
  if (good) {
    signature.resize(size);
    good = EVP_DigestSign(digest.get(),
                          reinterpret_cast<unsigned char*>(&signature[0]),
                          &size, Bytes(framed), framed.size()) == 1;
  }
  ERR_clear_error();
  if (!good) {
    return absl::InvalidArgumentError(
        "signature: the private key cannot sign with SHA-256, expected one of "
        "RSA or of an elliptic curve");
  }
  signature.resize(size);
  return signature;
}

absl::Status VerifySignature(absl::string_view text,
                             absl::string_view signature,
                             absl::string_view certificate_pem,
                             absl::string_view ca_pem,
                             absl::string_view cluster, absl::Time now) {
  if (certificate_pem.size() > kMaxCertificateBytes ||
      signature.size() > kMaxSignatureBytes) {
    return Refused("longer than any of ours");
  }
  const absl::StatusOr<CertificateInfo> info =
      ParseCertificate(certificate_pem);
  if (!info.ok()) return Refused(info.status().message());
  if (info->id.kind != IdentityKind::kController ||
      info->id.cluster != cluster) {
    return Refused(absl::StrCat("of ", info->id.ToString(),
                                ", expected spiffe://", cluster,
                                "/controller"));
  }
  const std::vector<Owned<X509>> chain = AllCertificates(certificate_pem);
  const std::string trouble = ChainTrouble(chain, AllCertificates(ca_pem), now);
  ERR_clear_error();
  if (!trouble.empty()) {
    return Refused(absl::StrCat("the certificate: ", trouble));
  }
  const std::string framed = Framed(text);
  const Owned<EVP_MD_CTX> digest(EVP_MD_CTX_new());
  const bool good =
      digest &&
      EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr,
                           X509_get0_pubkey(chain[0].get())) == 1 &&
      EVP_DigestVerify(digest.get(), Bytes(signature), signature.size(),
                       Bytes(framed), framed.size()) == 1;
  ERR_clear_error();
  return good ? absl::OkStatus()
              : Refused("not made over this text by the certificate's key");
}

}  // namespace clusterd
