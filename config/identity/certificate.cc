#include "config/identity/certificate.h"

#include <ctime>
#include <limits>
#include <memory>
#include <vector>

#include "openssl/bio.h"
#include "openssl/err.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace clusterd {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// OpenSSL asks on the terminal unless it is given somebody who never answers.
int NoPassword(char*, int, int, void*) { return -1; }

Owned<BIO> OpenText(absl::string_view text) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return nullptr;
  }
  return Owned<BIO>(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Owned<X509> FirstCertificate(absl::string_view pem) {
  const Owned<BIO> text = OpenText(pem);
  Owned<X509> certificate;
  if (text) {
    certificate.reset(
        PEM_read_bio_X509(text.get(), nullptr, NoPassword, nullptr));
  }
  ERR_clear_error();
  return certificate;
}

std::vector<std::string> UriNames(X509* certificate) {
  std::vector<std::string> uris;
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  if (!names) return uris;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_STRING* uri = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                      static_cast<size_t>(ASN1_STRING_length(uri)));
  }
  return uris;
}

bool ToTime(const ASN1_TIME* asn1, absl::Time* time) {
  std::tm tm = {};
  if (ASN1_TIME_to_tm(asn1, &tm) != 1) return false;
  *time = absl::FromTM(tm, absl::UTCTimeZone());
  return true;
}

absl::Status NoCertificate() {
  return absl::InvalidArgumentError(
      "no certificate, expected PEM text with \"BEGIN CERTIFICATE\"");
}

}  // namespace

absl::StatusOr<CertificateInfo> ParseCertificate(absl::string_view pem) {
  const Owned<X509> certificate = FirstCertificate(pem);
  if (!certificate) return NoCertificate();
  absl::StatusOr<SpiffeId> id = ParseUriNames(UriNames(certificate.get()));
  if (!id.ok()) return id.status();
  CertificateInfo info;
  info.id = *std::move(id);
  if (!ToTime(X509_get0_notBefore(certificate.get()), &info.not_before) ||
      !ToTime(X509_get0_notAfter(certificate.get()), &info.not_after)) {
    return absl::InvalidArgumentError("certificate: malformed validity");
  }
  return info;
}

absl::Status CheckKeyBelongs(absl::string_view certificate_pem,
                             absl::string_view key_pem) {
  const Owned<X509> certificate = FirstCertificate(certificate_pem);
  if (!certificate) return NoCertificate();
  const Owned<BIO> text = OpenText(key_pem);
  Owned<EVP_PKEY> key;
  if (text) {
    key.reset(
        PEM_read_bio_PrivateKey(text.get(), nullptr, NoPassword, nullptr));
  }
  const bool belongs =
      key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!key) {
    return absl::InvalidArgumentError(
        "no private key, expected unencrypted PEM text with \"BEGIN PRIVATE "
        "KEY\"");
  }
  if (!belongs) {
    return absl::InvalidArgumentError(
        "the key is not the certificate's, expected a pair");
  }
  return absl::OkStatus();
}

absl::Status CheckHasCertificate(absl::string_view pem) {
  return FirstCertificate(pem) ? absl::OkStatus() : NoCertificate();
}

}  // namespace clusterd
