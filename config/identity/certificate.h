// Reads X.509 certificates in PEM: whose they are and how long they are valid.
// Text in, value out. Does not check signatures: TLS does that.
#ifndef CONFIG_IDENTITY_CERTIFICATE_H_
#define CONFIG_IDENTITY_CERTIFICATE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/identity/spiffe_id.h"

namespace clusterd {

// The texts of the three PEM files of one identity.
struct TlsPem {
  std::string ca;
  std::string certificate;
  std::string key;
};

struct CertificateInfo {
  SpiffeId id;
  absl::Time not_before;
  absl::Time not_after;
};

// Of the first certificate in the text. InvalidArgument if there is none, or if
// it does not carry exactly one URI that is a SPIFFE id of ours.
absl::StatusOr<CertificateInfo> ParseCertificate(absl::string_view pem);

// InvalidArgument if the text holds no private key (an encrypted one counts as
// none: nobody is there to type a password), or the key is not the first
// certificate's.
absl::Status CheckKeyBelongs(absl::string_view certificate_pem,
                             absl::string_view key_pem);

// InvalidArgument if the text holds no certificate at all.
absl::Status CheckHasCertificate(absl::string_view pem);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_CERTIFICATE_H_
