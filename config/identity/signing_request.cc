#include "config/identity/signing_request.h"

#include <cstddef>

#include "config/identity/pem_objects.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "openssl/ec.h"
#include "openssl/obj_mac.h"

namespace clusterd {
namespace {

constexpr size_t kMaxRequestBytes = 16 << 10;

absl::Status Wrong(absl::string_view what) {
  return InvalidWords("msg-trust-signing-request", Worded(what));
}

bool IsAccepted(EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "ED25519") == 1) return true;
  char group[64] = {};
  size_t size = 0;
  return EVP_PKEY_is_a(key, "EC") == 1 &&
         EVP_PKEY_get_group_name(key, group, sizeof(group), &size) == 1 &&
         OBJ_txt2nid(group) == NID_X9_62_prime256v1;
}

}  // namespace

absl::StatusOr<std::string> MakePrivateKey() {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  if (!key || !text ||
      PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0,
                               nullptr, nullptr) != 1) {
    ERR_clear_error();
    return InternalWords("msg-trust-no-new-key");
  }
  return TextOf(text.get());
}

absl::StatusOr<std::string> MakeSigningRequest(absl::string_view key_pem) {
  const Owned<EVP_PKEY> key = FirstOf(key_pem, PEM_read_bio_PrivateKey);
  const Owned<X509_REQ> request(X509_REQ_new());
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  const EVP_MD* const digest =
      key && EVP_PKEY_is_a(key.get(), "ED25519") == 1 ? nullptr : EVP_sha256();
  const bool made = key && request && text &&
                    X509_REQ_set_version(request.get(), 0) == 1 &&
                    X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
                    X509_REQ_sign(request.get(), key.get(), digest) > 0 &&
                    PEM_write_bio_X509_REQ(text.get(), request.get()) == 1;
  ERR_clear_error();
  if (made) return TextOf(text.get());
  return InvalidWords("msg-trust-no-private-key");
}

absl::StatusOr<RequestedKey> ReadSigningRequest(absl::string_view pem) {
  if (pem.size() > kMaxRequestBytes) return Wrong("id-too-long");
  const Owned<X509_REQ> request = FirstOf(pem, PEM_read_bio_X509_REQ);
  if (!request) return Wrong("request-none");
  // Checked before its signature, which could be of a key that takes minutes.
  EVP_PKEY* const key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || !IsAccepted(key)) {
    ERR_clear_error();
    return Wrong("request-other-key");
  }
  const bool signed_by_it = X509_REQ_verify(request.get(), key) == 1;
  ERR_clear_error();
  if (!signed_by_it) return Wrong("request-not-signed");
  RequestedKey asked;
  asked.public_key_der = PublicKeyDer(key);
  asked.spki_sha256 = Sha256Hex(asked.public_key_der);
  return asked;
}

std::string SpkiOfPrivateKey(absl::string_view key_pem) {
  const Owned<EVP_PKEY> key = FirstOf(key_pem, PEM_read_bio_PrivateKey);
  return key ? Sha256Hex(PublicKeyDer(key.get())) : "";
}

}  // namespace clusterd
