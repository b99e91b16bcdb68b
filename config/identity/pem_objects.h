// OpenSSL's objects out of PEM texts, freed by their owner. For the files of
// this folder, and for the issuer of certificates.
#ifndef CONFIG_IDENTITY_PEM_OBJECTS_H_
#define CONFIG_IDENTITY_PEM_OBJECTS_H_

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/words/message.h"
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
  // Frees the list, not its certificates.
  void operator()(STACK_OF(X509) * list) const { sk_X509_free(list); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

// Without a callback OpenSSL would ask for a password on the terminal.
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

// All bytes written into memory.
inline std::string TextOf(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

// "CN=clusterd CA of demo"; `none` for a name that cannot be written.
inline std::string NameText(const X509_NAME* name, const char* none) {
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  if (!text || X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_RFC2253) < 0) {
    return none;
  }
  return TextOf(text.get());
}

// Empty for a null and for what OpenSSL cannot write.
template <typename T>
std::string DerOf(T* thing, int (*write)(const T*, unsigned char**)) {
  unsigned char* bytes = nullptr;
  const int size = thing == nullptr ? 0 : write(thing, &bytes);
  const std::string der(reinterpret_cast<const char*>(bytes),
                        static_cast<size_t>(std::max(size, 0)));
  OPENSSL_free(bytes);
  return der;
}

// The SubjectPublicKeyInfo.
inline std::string PublicKeyDer(EVP_PKEY* key) {
  return DerOf(key, i2d_PUBKEY);
}

// The text that openssl x509 prints; empty if memory is exhausted.
inline std::string PemOf(X509* certificate) {
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  const bool made = text && PEM_write_bio_X509(text.get(), certificate) == 1;
  return made ? TextOf(text.get()) : "";
}

// Empty for null.
inline std::string BytesOf(const ASN1_STRING* text) {
  if (text == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                     static_cast<size_t>(ASN1_STRING_length(text)));
}

// Nothing for a null or malformed time.
inline std::optional<absl::Time> TimeOf(const ASN1_TIME* time) {
  std::tm tm = {};
  if (time == nullptr || ASN1_TIME_to_tm(time, &tm) != 1) return std::nullopt;
  return absl::FromTM(tm, absl::UTCTimeZone());
}

// Lower-case digits of whole bytes, and a zero as "0"; empty for null.
inline std::string SerialText(const ASN1_INTEGER* number) {
  const Owned<BIGNUM> value(
      number == nullptr ? nullptr : ASN1_INTEGER_to_BN(number, nullptr));
  char* const digits = value ? BN_bn2hex(value.get()) : nullptr;
  const std::string hex = digits ? absl::AsciiStrToLower(digits) : "";
  OPENSSL_free(digits);
  return hex;
}

// FirstOf of the text from each place on where it has these words.
template <typename T>
std::vector<Owned<T>> AllOf(absl::string_view pem, absl::string_view begin,
                            T* (*read)(BIO*, T**, pem_password_cb*, void*)) {
  std::vector<Owned<T>> all;
  for (size_t at = pem.find(begin); at != absl::string_view::npos;
       at = pem.find(begin, at + 1)) {
    all.push_back(FirstOf(pem.substr(at), read));
  }
  return all;
}

// A null stands for each that begins and cannot be read to its end.
inline std::vector<Owned<X509>> BegunCertificates(absl::string_view pem) {
  return AllOf(pem, "-----BEGIN CERTIFICATE", PEM_read_bio_X509);
}

// Every certificate in the text that can be read.
inline std::vector<Owned<X509>> AllCertificates(absl::string_view pem) {
  std::vector<Owned<X509>> all = BegunCertificates(pem);
  all.erase(std::remove(all.begin(), all.end(), nullptr), all.end());
  return all;
}

inline absl::Status NoCertificate() {
  return InvalidWords("msg-trust-no-certificate");
}

bool IsMadeBy(EVP_PKEY* key, absl::string_view signature,
              absl::string_view text);

// Why the certificate does not lead to a CA over these at that time, or at any
// time where none is given; empty: it does.
std::string ChainTrouble(X509* certificate,
                         const std::vector<Owned<X509>>& between,
                         const std::vector<Owned<X509>>& authorities,
                         std::optional<absl::Time> now);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_PEM_OBJECTS_H_
