// The intermediate CA with which a controller issues its hosts' certificates.
// deploy/certificates.sh ca-dir makes its folder:
//   root.crt          trusted by hosts that join; its key is elsewhere
//   intermediate.crt  signed by the root, for this cluster's names, pathlen:0
//   intermediate.key  only for the controller's user, mode 0600 or 0400
//   roots.bundle      after a change of roots: signed bundles, for hosts
//                     that have joined (root_bundle.h)
// No other user reads the key, and it is never sent.
#ifndef DAEMON_CONTROLLER_TRUST_CERTIFICATE_AUTHORITY_H_
#define DAEMON_CONTROLLER_TRUST_CERTIFICATE_AUTHORITY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/identity/certificate.h"
#include "config/identity/root_bundle.h"
#include "config/identity/tls_credentials.h"

struct evp_pkey_st;  // EVP_PKEY of OpenSSL, and its X509.
struct x509_st;

namespace clusterd {

// How late a host's clock may be for the host to accept a new certificate.
inline constexpr absl::Duration kClockAllowance = absl::Minutes(5);
// The longest root.crt: each joining host gets it in one packet with the
// bundles (enrolment_process.h).
inline constexpr size_t kMaxRootsBytes = 128 << 10;

// Safe for concurrent use.
class CertificateAuthority {
 public:
  // Reads the folder. An error names the file: NotFound if it does not exist;
  // PermissionDenied if it cannot be read, if the key is not this user's (or
  // root's), or if other users have access to it; InvalidArgument if it is not
  // a PEM or bundle, or too long, if key and certificate do not match, or if
  // the certificate is not a CA; FailedPrecondition if the root did not issue
  // it, or if it is not valid at `now`.
  static absl::StatusOr<std::unique_ptr<CertificateAuthority>> Open(
      const std::string& folder, absl::Time now);

  // A certificate for this id and public key, PEM, without the intermediate's.
  // Valid from five minutes before `now` until `life` after it, but never
  // longer than the intermediate. FailedPrecondition if that has ended;
  // Internal if OpenSSL cannot sign.
  absl::StatusOr<std::string> Issue(const SpiffeId& id,
                                    absl::string_view public_key_der,
                                    absl::Time now, absl::Duration life) const;

  // True if this intermediate signed the first certificate in the text.
  bool HasIssued(absl::string_view certificate_pem) const;

  // FailedPrecondition if the newest bundle is not of `cluster`, or if hosts
  // with it would refuse the controller of `tls` or issued certificates.
  absl::Status CheckBundle(const TlsFiles& tls, const std::string& cluster,
                           absl::Time now) const;

  const std::string& intermediate_pem() const { return intermediate_pem_; }
  // All roots of the file.
  const std::string& roots_pem() const { return roots_pem_; }
  // All bundles, unverified; empty if there are none.
  const std::string& root_bundles() const { return root_bundles_; }
  uint64_t newest_bundle() const { return newest_bundle_.number; }
  // "sha256:" and the digest of the public key of the root that issued the
  // intermediate: the value that joining hosts must expect.
  const std::string& ca_hash() const { return ca_hash_; }
  absl::Time not_after() const { return not_after_; }

 private:
  CertificateAuthority() = default;

  std::shared_ptr<x509_st> certificate_;
  std::shared_ptr<evp_pkey_st> key_;
  std::string intermediate_pem_;
  std::string roots_pem_;
  std::string root_bundles_;
  RootBundle newest_bundle_;
  std::string ca_hash_;
  absl::Time not_after_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_CERTIFICATE_AUTHORITY_H_
