// The identity of a peer, from the one URI in its certificate:
//   spiffe://CLUSTER/controller
//   spiffe://CLUSTER/host/NAME               a server; NAME as in cluster.yaml
//   spiffe://CLUSTER/user/NAME               a person or program, viewer
//   spiffe://CLUSTER/user/NAME/role/ROLE     ROLE: hook, viewer, operator or
//                                            admin
// Strict: no escapes, no empty parts, no query, port or user part, no other
// shape. Text in, value out. Does not check signatures: TLS does that.
#ifndef CONFIG_IDENTITY_CERTIFICATE_H_
#define CONFIG_IDENTITY_CERTIFICATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace clusterd {

enum class IdentityKind { kController, kHost, kUser };

// Each role includes the permissions of the ones before it. A hook is a
// scheduler's identity. See daemon/controller/gate/call_roles.h for the calls.
enum class Role { kHook, kViewer, kOperator, kAdmin };

struct SpiffeId {
  // The trust domain: lower-case letters, digits, '.', '-', '_'; at most 255.
  std::string cluster;
  IdentityKind kind = IdentityKind::kHost;
  // Letters, digits, '.', '-', '_', not "." or ".."; at most 253. Empty for the
  // controller. A user's differs from our programs' names in histories.
  std::string name;
  // Meaningful for users only.
  Role role = Role::kViewer;

  // Parses back to the same value. A viewer is written without a role.
  std::string ToString() const;

  friend bool operator==(const SpiffeId& a, const SpiffeId& b) {
    return a.cluster == b.cluster && a.kind == b.kind && a.name == b.name &&
           a.role == b.role;
  }
};

absl::string_view KindName(IdentityKind kind);

absl::string_view RoleName(Role role);

// InvalidArgument, quoting the text, unless it is one of the shapes above.
absl::StatusOr<SpiffeId> ParseSpiffeId(absl::string_view uri);

// The id among a certificate's URI names. InvalidArgument unless there is
// exactly one and ParseSpiffeId takes it.
absl::StatusOr<SpiffeId> ParseUriNames(absl::Span<const std::string> uri_names);

// True if `name` can be a cluster's name, which is its trust domain.
bool IsClusterName(absl::string_view name);

struct TlsPem {
  std::string ca;
  std::string certificate;
  std::string key;
  // For a host that has joined: the signed text that contained `ca`
  // (root_bundle.h); empty: there was none.
  std::string roots_bundle = {};

  friend bool operator==(const TlsPem& a, const TlsPem& b) {
    return a.ca == b.ca && a.certificate == b.certificate && a.key == b.key &&
           a.roots_bundle == b.roots_bundle;
  }
};

struct CertificateInfo {
  SpiffeId id;
  absl::Time not_before;
  absl::Time not_after;
  std::string serial;       // Lower-case hex.
  std::string spki_sha256;  // The same; which key it names.
};

// Reads the first certificate in the text. InvalidArgument if there is none, or
// if it does not carry exactly one URI that is a SPIFFE id of ours.
absl::StatusOr<CertificateInfo> ParseCertificate(absl::string_view pem);

// The serial number of the first certificate in the text, in hex as openssl
// prints it; empty: there is none.
std::string CertificateSerial(absl::string_view pem);

struct CertificateEnd {
  // The SPIFFE id, otherwise the X.509 name: "CN=clusterd CA of demo".
  std::string subject;
  absl::Time not_after;
};

// The ends of all certificates in the text.
std::vector<CertificateEnd> CertificateEnds(absl::string_view pem);

// InvalidArgument if the text holds no private key (an encrypted one does not
// count, since it needs a password), or the key is not the first certificate's.
absl::Status CheckKeyBelongs(absl::string_view certificate_pem,
                             absl::string_view key_pem);

// True if a certificate in `ca_pem` signed one in `certificate_pem`, which may
// be a chain. For explaining a refusal, never for trust.
bool IsSignedBy(absl::string_view certificate_pem, absl::string_view ca_pem);

struct NamedCertificate {
  std::string pem;
  std::string spki_sha256;  // Lower-case hex.
};

// Every certificate in the text, alone, with the SHA-256 of its public key, as
//   openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | sha256sum
std::vector<NamedCertificate> SplitCertificates(absl::string_view pem);

// OK if the first certificate of the text, with what follows it in the chain,
// was issued by `ca_pem` and all of them are valid at `now`; PermissionDenied,
// "the certificate: ..." otherwise, and InvalidArgument if there is none.
absl::Status CheckChain(absl::string_view certificate_pem,
                        absl::string_view ca_pem, absl::Time now);

// InvalidArgument if the text holds no certificate, or one that begins and
// cannot be read to its end.
absl::Status CheckHasCertificate(absl::string_view pem);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_CERTIFICATE_H_
