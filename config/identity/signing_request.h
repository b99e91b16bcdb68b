// A host's own key, and its certificate request (PKCS #10, RFC 2986). The key
// never leaves the host; the request proves that its sender has the key, and
// all other fields of it are ignored.
#ifndef CONFIG_IDENTITY_SIGNING_REQUEST_H_
#define CONFIG_IDENTITY_SIGNING_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// A new P-256 key, as unencrypted PEM. Internal if OpenSSL fails.
absl::StatusOr<std::string> MakePrivateKey();

// A request for the key, as PEM, without a name. InvalidArgument without a key.
absl::StatusOr<std::string> MakeSigningRequest(absl::string_view key_pem);

struct RequestedKey {
  std::string public_key_der;  // SubjectPublicKeyInfo.
  std::string spki_sha256;     // Hex, as SpkiSha256 of its certificate.
};

// The requested key. InvalidArgument unless the text is a request of at most 16
// KiB, of a key on P-256 or Ed25519, which has signed it.
absl::StatusOr<RequestedKey> ReadSigningRequest(absl::string_view pem);

// The same digest of a private key's public half; empty for another text.
std::string SpkiOfPrivateKey(absl::string_view key_pem);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_SIGNING_REQUEST_H_
