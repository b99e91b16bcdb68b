// Certificates that a site's own PKI has revoked: lists as RFC 5280 defines
// them (CRLs), in PEM.
//   -----BEGIN X509 CRL-----
// A list counts if it is signed by a CA that we trust, or by one below it whose
// certificate stands beside the list. The newest list of each CA counts: the
// highest cRLNumber, which rises with every list (5.2.3); without numbers, or
// with equal ones, the latest lastUpdate. A CA is a name and a key: two keys
// under one name have a list each. Lists that cover only a part (delta lists,
// any issuingDistributionPoint, critical or not) or speak for other CAs
// (indirect ones) are refused, since the rest would pass unseen.
//
// Every defect of a list is an error:
//   not PEM, no list in it, no end (nextUpdate), signed   Parse fails: nothing
//   by none of our CAs, partial, or critical words not    of it is taken
//   understood
//   older than one of its CA that was seen before         CheckNotOlder fails
//   not begun, or ended                                   Check fails for every
//                                                         certificate of its CA
//   no list of a certificate's own CA                     Check fails for it
#ifndef CONFIG_IDENTITY_REVOCATION_LIST_H_
#define CONFIG_IDENTITY_REVOCATION_LIST_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace clusterd {

// The fields by which a list names a certificate.
struct CertificateKey {
  std::string issuer;         // DER of its name.
  std::string issuer_key_id;  // authorityKeyIdentifier; empty: none.
  std::string issuer_text;    // "CN=clusterd CA of demo"
  std::string serial;         // Hex digits.
};

// Reads the first certificate in the text; InvalidArgument if there is none.
absl::StatusOr<CertificateKey> ReadCertificateKey(absl::string_view pem);

// The age of a list. Without a number, the other fields are compared.
struct ListAge {
  std::string number;  // cRLNumber: hex digits, none leading; empty: none.
  absl::Time begins;   // lastUpdate.
  size_t entries = 0;  // Orders lists of one second: they only grow.
};
bool IsOlder(const ListAge& list, const ListAge& than);
// Keyed by the name of the CA in DER and the SHA-256 of its public key.
using ListAges = std::map<std::string, ListAge>;

// A value; safe for concurrent reading.
class RevocationLists {
 public:
  // Parses PEM texts that hold lists, and certificates of CAs that signed some.
  // `ca_pem`: the trusted CAs. InvalidArgument for a text that is not an
  // understood list, PermissionDenied for a wrong signature.
  static absl::StatusOr<RevocationLists> Parse(
      const std::vector<std::string>& texts, absl::string_view ca_pem);

  // PermissionDenied if a list names the certificate, or its CA's;
  // FailedPrecondition if its CA has no list in force.
  absl::Status Check(const CertificateKey& key, absl::Time now) const;

  // "the list of CN=…: ended at …" of each that is not in force, a line each.
  std::string NotInForce(absl::Time now) const;

  // FailedPrecondition, naming both, if a list is older than one seen of its
  // CA: it would admit again those that the newer one revoked.
  absl::Status CheckNotOlder(const ListAges& seen) const;
  // The newer of those seen and these.
  ListAges Newest(ListAges seen) const;

  size_t lists() const { return lists_.size(); }
  size_t revoked() const;

 private:
  struct List {
    std::string issuer;
    std::string issuer_key_id;  // subjectKeyIdentifier; empty: none.
    std::string issuer_text;
    ListAge age;
    absl::Time ends;
    absl::flat_hash_set<std::string> serials;
    bool issuer_is_revoked = false;
  };

  // True if a CA of that name and, if both ends state it, key signed the list.
  static bool Covers(const List& list, const CertificateKey& key) {
    return list.issuer == key.issuer &&
           (list.issuer_key_id.empty() || key.issuer_key_id.empty() ||
            list.issuer_key_id == key.issuer_key_id);
  }
  static absl::Status CheckInForce(const List& list, absl::Time now);

  std::map<std::string, List> lists_;  // By the same keys as ListAges.
};

// The texts of a file, or of every regular file of a folder whose name ends in
// ".pem" or ".crl". Errors as ReadRegularFile; NotFound for an empty folder.
absl::StatusOr<std::vector<std::string>> ReadRevocationTexts(
    const std::string& path);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_REVOCATION_LIST_H_
