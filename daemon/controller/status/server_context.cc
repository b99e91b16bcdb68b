#include "daemon/controller/status/server_context.h"

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "config/identity/pem_objects.h"
#include "openssl/err.h"

namespace clusterd {
namespace {

struct FreeServerContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

bool TakePair(SSL_CTX* context, const TlsPem& pem) {
  const std::vector<Owned<X509>> chain = AllCertificates(pem.certificate);
  const Owned<EVP_PKEY> key = FirstOf(pem.key, PEM_read_bio_PrivateKey);
  if (chain.empty() || key == nullptr) return false;
  if (SSL_CTX_use_certificate(context, chain[0].get()) != 1) return false;
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) return false;
  }
  return SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
         SSL_CTX_check_private_key(context) == 1;
}

bool TakeAuthorities(SSL_CTX* context, const std::string& ca) {
  const std::vector<Owned<X509>> authorities = AllCertificates(ca);
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  for (const Owned<X509>& each : authorities) {
    // A browser offers certificates by these names.
    if (X509_STORE_add_cert(store, each.get()) != 1 ||
        SSL_CTX_add_client_CA(context, each.get()) != 1) {
      return false;
    }
  }
  return !authorities.empty();
}

}  // namespace

absl::StatusOr<SSL_CTX*> MakeServerContext(const TlsPem& pem) {
  std::unique_ptr<SSL_CTX, FreeServerContext> context(
      SSL_CTX_new(TLS_server_method()));
  ERR_clear_error();
  const bool is_made =
      context != nullptr &&
      SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1 &&
      SSL_CTX_set_num_tickets(context.get(), 0) == 1 &&
      TakePair(context.get(), pem) && TakeAuthorities(context.get(), pem.ca);
  if (!is_made) {
    const char* const why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return absl::InvalidArgumentError(
        absl::StrCat("certificate files: OpenSSL does not take them: ",
                     why == nullptr ? "no certificate or key" : why));
  }
  SSL_CTX_set_verify(context.get(),
                     SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     // OpenSSL's verdict: one of its own keeps those of
                     // hosts that have ended out (AdmitEndedCertificates).
                     [](int is_good, X509_STORE_CTX*) { return is_good; });
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET |
                                         SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_NO_COMPRESSION);
  return context.release();
}

std::string PeerCertificate(const SSL* connection) {
  const Owned<X509> shown(SSL_get1_peer_certificate(connection));
  const Owned<BIO> memory(BIO_new(BIO_s_mem()));
  if (shown == nullptr || memory == nullptr ||
      SSL_get_verify_result(connection) != X509_V_OK ||
      PEM_write_bio_X509(memory.get(), shown.get()) != 1) {
    return "";
  }
  return TextOf(memory.get());
}

}  // namespace clusterd
