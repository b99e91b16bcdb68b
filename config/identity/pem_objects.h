// OpenSSL's objects out of PEM texts, freed by who holds them. For the files of
// this folder, and for who issues certificates.
#ifndef CONFIG_IDENTITY_PEM_OBJECTS_H_
#define CONFIG_IDENTITY_PEM_OBJECTS_H_

#include <cstddef>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "openssl/bio.h"
#include "openssl/bn.h"
#include "openssl/err.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509.h"
#include "openssl/x509_vfy.h"
#include "openssl/x509v3.h"

namespace clusterd {

struct FreeOpenssl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(ASN1_INTEGER* number) const { ASN1_INTEGER_free(number); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
  void operator()(X509_REQ* request) const { X509_REQ_free(request); }
  void operator()(X509_EXTENSION* extension) const {
    X509_EXTENSION_free(extension);
  }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* check) const { X509_STORE_CTX_free(check); }
  // Not what is in it.
  void operator()(STACK_OF(X509) * list) const { sk_X509_free(list); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

// OpenSSL asks on the terminal unless it is given somebody who never answers.
inline int NoPassword(char*, int, int, void*) { return -1; }

// The first that `read` finds in the text; null if there is none.
template <typename T>
Owned<T> FirstOf(absl::string_view pem,
                 T* (*read)(BIO*, T**, pem_password_cb*, void*)) {
  if (pem.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return nullptr;
  }
  const Owned<BIO> text(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Owned<T> first;
  if (text) first.reset(read(text.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  return first;
}

// All that was written into memory.
inline std::string TextOf(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

// What i2d_...() writes of the object; empty: nothing.
template <typename T, typename Write>
std::string DerOf(T* object, Write* write) {
  unsigned char* bytes = nullptr;
  const int size = write(object, &bytes);
  if (size <= 0) return "";
  std::string der(reinterpret_cast<const char*>(bytes),
                  static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

// The SubjectPublicKeyInfo.
inline std::string PublicKeyDer(EVP_PKEY* key) {
  return DerOf(key, i2d_PUBKEY);
}

// "CN=clusterd CA of demo"; `none` for a name that cannot be written.
inline std::string NameText(const X509_NAME* name, const char* none) {
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  if (!text || X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_RFC2253) < 0) {
    return none;
  }
  return TextOf(text.get());
}

// Hexadecimal digits in lower case, whole bytes; empty: none could be had.
inline std::string SerialText(const ASN1_INTEGER* serial) {
  const Owned<BIGNUM> number(ASN1_INTEGER_to_BN(serial, nullptr));
  char* const hex = number ? BN_bn2hex(number.get()) : nullptr;
  if (hex == nullptr) return "";
  std::string text = absl::AsciiStrToLower(hex);
  OPENSSL_free(hex);
  return text;
}

// Nothing: null, or not the text of a time.
inline std::optional<absl::Time> TimeOf(const ASN1_TIME* asn1) {
  std::tm tm = {};
  if (asn1 == nullptr || ASN1_TIME_to_tm(asn1, &tm) != 1) return std::nullopt;
  return absl::FromTM(tm, absl::UTCTimeZone());
}

inline constexpr absl::string_view kCertificateBegins =
    "-----BEGIN CERTIFICATE";

// Every certificate in the text that can be read.
inline std::vector<Owned<X509>> AllCertificates(absl::string_view pem) {
  std::vector<Owned<X509>> all;
  for (size_t at = pem.find(kCertificateBegins); at != absl::string_view::npos;
       at = pem.find(kCertificateBegins, at + 1)) {
    Owned<X509> next = FirstOf(pem.substr(at), PEM_read_bio_X509);
    if (next) all.push_back(std::move(next));
  }
  return all;
}

// Whether this key made the signature over the text, with SHA-256.
bool IsMadeBy(EVP_PKEY* key, absl::string_view signature,
              absl::string_view text);

// Why the first of the certificates does not lead to the CA at that time;
// empty: it does. REQUIRES: there is one.
std::string ChainTrouble(const std::vector<Owned<X509>>& chain,
                         const std::vector<Owned<X509>>& authorities,
                         absl::Time now);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_PEM_OBJECTS_H_
