#include "tests/support/config/test_authority.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "config/identity/signature.h"
#include "openssl/bio.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/rand.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace clusterd {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
  // Also frees times and numbers: OpenSSL has one type for them.
  void operator()(ASN1_STRING* text) const { ASN1_STRING_free(text); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_EXTENSION* extension) const {
    X509_EXTENSION_free(extension);
  }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// These calls fail only without memory or for OpenSSL's own state.
void Require(bool ok) {
  if (!ok) std::abort();
}

std::string Contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

std::string ToPem(X509* certificate) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return Contents(bio.get());
}

std::string ToPem(EVP_PKEY* key) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr,
                                   nullptr) == 1);
  return Contents(bio.get());
}

Owned<BIO> Reader(absl::string_view pem) {
  return Owned<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Owned<X509> FromPemText(absl::string_view pem) {
  return Owned<X509>(
      PEM_read_bio_X509(Reader(pem).get(), nullptr, nullptr, nullptr));
}

Owned<EVP_PKEY> NewKey() {
  Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  Require(key != nullptr);
  return key;
}

void Sign(X509* certificate, EVP_PKEY* key) {
  Require(X509_sign(certificate, key, EVP_sha256()) > 0);
}

void AddExtension(X509* certificate, int nid, const char* value,
                  X509* issuer = nullptr) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer != nullptr ? issuer : certificate,
                 certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  Require(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

void AddListExtension(X509_CRL* list, int nid, absl::string_view value) {
  if (nid == NID_crl_number || nid == NID_delta_crl) {
    // OpenSSL cannot make these from text.
    const bool is_critical = absl::ConsumePrefix(&value, "critical,");
    const Owned<ASN1_INTEGER> number(
        s2i_ASN1_INTEGER(nullptr, std::string(value).c_str()));
    Require(number &&
            X509_CRL_add1_ext_i2d(list, nid, number.get(), is_critical ? 1 : 0,
                                  X509V3_ADD_APPEND) == 1);
    return;
  }
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, nullptr, nullptr, nullptr, list, 0);
  const Owned<X509_EXTENSION> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, std::string(value).c_str()));
  Require(extension && X509_CRL_add_ext(list, extension.get(), -1) == 1);
}

// Sets the structure and not a text, so that a name may hold any bytes of a
// hostile certificate.
void AddUriNames(X509* certificate, const std::vector<std::string>& uris) {
  if (uris.empty()) return;
  const Owned<GENERAL_NAMES> names(GENERAL_NAMES_new());
  for (const std::string& uri : uris) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    ASN1_IA5STRING* text = ASN1_IA5STRING_new();
    Require(ASN1_STRING_set(text, uri.data(), static_cast<int>(uri.size())) ==
            1);
    GENERAL_NAME_set0_value(name, GEN_URI, text);
    Require(sk_GENERAL_NAME_push(names.get(), name) > 0);
  }
  Require(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0,
                            0) == 1);
}

// A certificate of `key` that is not signed yet.
Owned<X509> Draft(EVP_PKEY* key, X509_NAME* issuer, const char* common_name,
                  const IssueOptions& options) {
  Owned<X509> certificate(X509_new());
  Require(X509_set_version(certificate.get(), 2) == 1);
  unsigned char serial[8];
  Require(RAND_bytes(serial, sizeof(serial)) == 1);
  uint64_t number = 0;
  for (const unsigned char byte : serial) number = number << 8 | byte;
  Require(ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()),
                                  number >> 1) == 1);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  Require(X509_NAME_add_entry_by_txt(
              subject, "CN", MBSTRING_ASC,
              reinterpret_cast<const unsigned char*>(common_name), -1, -1,
              0) == 1);
  Require(X509_set_issuer_name(certificate.get(), issuer ? issuer : subject) ==
          1);
  const absl::Time now = absl::Now();
  Require(ASN1_TIME_set(X509_getm_notBefore(certificate.get()),
                        absl::ToTimeT(now + options.valid_from)) != nullptr);
  Require(ASN1_TIME_set(X509_getm_notAfter(certificate.get()),
                        absl::ToTimeT(now + options.valid_until)) != nullptr);
  Require(X509_set_pubkey(certificate.get(), key) == 1);
  return certificate;
}

}  // namespace

struct TestAuthority::Keys {
  Owned<X509> certificate;
  Owned<EVP_PKEY> key;
};

namespace {

void AddAuthorityExtensions(X509* certificate,
                            const char* constraints = "critical,CA:TRUE") {
  AddExtension(certificate, NID_basic_constraints, constraints);
  AddExtension(certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  AddExtension(certificate, NID_subject_key_identifier, "hash");
}

}  // namespace

TestAuthority::TestAuthority(std::unique_ptr<Keys> keys)
    : keys_(std::move(keys)),
      certificate_pem_(ToPem(keys_->certificate.get())) {}

TestAuthority::~TestAuthority() = default;

std::unique_ptr<TestAuthority> TestAuthority::Create(
    const char* name, const IssueOptions& options) {
  auto keys = std::make_unique<Keys>();
  keys->key = NewKey();
  keys->certificate = Draft(keys->key.get(), nullptr, name, options);
  AddAuthorityExtensions(keys->certificate.get());
  Sign(keys->certificate.get(), keys->key.get());
  return std::unique_ptr<TestAuthority>(new TestAuthority(std::move(keys)));
}

absl::StatusOr<std::unique_ptr<TestAuthority>> TestAuthority::FromPem(
    absl::string_view certificate_pem, absl::string_view key_pem) {
  const absl::Status pair = CheckKeyBelongs(certificate_pem, key_pem);
  if (!pair.ok()) return pair;
  auto keys = std::make_unique<Keys>();
  keys->certificate = FromPemText(certificate_pem);
  keys->key.reset(PEM_read_bio_PrivateKey(Reader(key_pem).get(), nullptr,
                                          nullptr, nullptr));
  Require(keys->certificate && keys->key);
  return std::unique_ptr<TestAuthority>(new TestAuthority(std::move(keys)));
}

std::unique_ptr<TestAuthority> TestAuthority::MakeBelow(
    const char* name, const IssueOptions& options) const {
  auto keys = std::make_unique<Keys>();
  keys->key = NewKey();
  keys->certificate =
      Draft(keys->key.get(), X509_get_subject_name(keys_->certificate.get()),
            name, options);
  AddAuthorityExtensions(keys->certificate.get(), "critical,CA:TRUE,pathlen:0");
  Sign(keys->certificate.get(), keys_->key.get());
  return std::unique_ptr<TestAuthority>(new TestAuthority(std::move(keys)));
}

std::string TestAuthority::RevocationList(
    const std::vector<std::string>& revoked_pems, const IssueOptions& options,
    const ListExtensions& extensions) const {
  return SignedList(revoked_pems, options, extensions, /*is_indirect=*/false);
}

std::string TestAuthority::IndirectList(
    const std::vector<std::string>& revoked_pems) const {
  return SignedList(revoked_pems, {}, {}, /*is_indirect=*/true);
}

std::string TestAuthority::SignedList(
    const std::vector<std::string>& revoked_pems, const IssueOptions& options,
    const ListExtensions& extensions, bool is_indirect) const {
  const Owned<X509_CRL> list(X509_CRL_new());
  Require(X509_CRL_set_version(list.get(), 1) == 1);
  Require(X509_CRL_set_issuer_name(
              list.get(), X509_get_subject_name(keys_->certificate.get())) ==
          1);
  const absl::Time now = absl::Now();
  const Owned<ASN1_TIME> begins(
      ASN1_TIME_set(nullptr, absl::ToTimeT(now + options.valid_from)));
  const Owned<ASN1_TIME> ends(
      ASN1_TIME_set(nullptr, absl::ToTimeT(now + options.valid_until)));
  Require(X509_CRL_set1_lastUpdate(list.get(), begins.get()) == 1);
  Require(X509_CRL_set1_nextUpdate(list.get(), ends.get()) == 1);
  for (const std::string& pem : revoked_pems) {
    const Owned<X509> revoked = FromPemText(pem);
    Require(revoked != nullptr);
    X509_REVOKED* const entry = X509_REVOKED_new();
    Require(X509_REVOKED_set_serialNumber(
                entry, X509_get_serialNumber(revoked.get())) == 1);
    Require(X509_REVOKED_set_revocationDate(entry, begins.get()) == 1);
    if (is_indirect) {
      const Owned<GENERAL_NAMES> issuer(GENERAL_NAMES_new());
      GENERAL_NAME* const name = GENERAL_NAME_new();
      GENERAL_NAME_set0_value(
          name, GEN_DIRNAME,
          X509_NAME_dup(X509_get_subject_name(revoked.get())));
      Require(sk_GENERAL_NAME_push(issuer.get(), name) > 0);
      Require(X509_REVOKED_add1_ext_i2d(entry, NID_certificate_issuer,
                                        issuer.get(), 0, 0) == 1);
    }
    Require(X509_CRL_add0_revoked(list.get(), entry) == 1);
  }
  for (const auto& [nid, value] : extensions) {
    AddListExtension(list.get(), nid, value);
  }
  Require(X509_CRL_sort(list.get()) == 1);
  Require(X509_CRL_sign(list.get(), keys_->key.get(), EVP_sha256()) > 0);
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509_CRL(bio.get(), list.get()) == 1);
  return Contents(bio.get());
}

std::string TestAuthority::RootBundle(const std::string& cluster,
                                      const std::string& number,
                                      const std::string& roots_pem) const {
  const std::string text = absl::StrCat("clusterd roots of ", cluster,
                                        "\nnumber ", number, "\n", roots_pem);
  EVP_MD_CTX* const digest = EVP_MD_CTX_new();
  std::string signature(256, '\0');
  size_t size = signature.size();
  Require(EVP_DigestSignInit(digest, nullptr, EVP_sha256(), nullptr,
                             keys_->key.get()) == 1 &&
          EVP_DigestSign(digest,
                         reinterpret_cast<unsigned char*>(&signature[0]), &size,
                         reinterpret_cast<const unsigned char*>(text.data()),
                         text.size()) == 1);
  EVP_MD_CTX_free(digest);
  return absl::StrCat(text, "signature ",
                      absl::Base64Escape(signature.substr(0, size)), "\n");
}

std::string TestAuthority::KeyPem() const { return ToPem(keys_->key.get()); }

TlsPem TestAuthority::Issue(const std::vector<std::string>& uri_names,
                            const IssueOptions& options) const {
  const Owned<EVP_PKEY> key = NewKey();
  const Owned<X509> certificate =
      Draft(key.get(), X509_get_subject_name(keys_->certificate.get()),
            "clusterd test", options);
  AddExtension(certificate.get(), NID_basic_constraints, "critical,CA:FALSE");
  AddExtension(certificate.get(), NID_key_usage, "critical,digitalSignature");
  AddExtension(certificate.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  AddUriNames(certificate.get(), uri_names);
  if (options.names_key) {
    AddExtension(certificate.get(), NID_authority_key_identifier,
                 "keyid:always", keys_->certificate.get());
  }
  Sign(certificate.get(), keys_->key.get());
  return TlsPem{certificate_pem_, ToPem(certificate.get()), ToPem(key.get())};
}

absl::StatusOr<std::string> SignText(absl::string_view key_pem,
                                     absl::string_view text) {
  const auto signer = TextSigner::Create(key_pem);
  return signer.ok() ? signer->Sign(text) : signer.status();
}

}  // namespace clusterd
