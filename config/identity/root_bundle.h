// The roots that a host trusts, and the only way to replace them: a bundle, a
// text that a root's key has signed where no network reaches it
// (deploy/certificates.sh roots):
//
//   clusterd roots of mycluster
//   number 2
//   -----BEGIN CERTIFICATE-----     every root of the new set
//   …
//   -----END CERTIFICATE-----
//   signature MEUCIQDx…             of the lines above: ECDSA or RSA, SHA-256
//
// A controller keeps all bundles, oldest first, and passes them on. It has an
// intermediate's key and no root's, so it cannot make one: an attacker on the
// controller adds and removes no root. (A site that leaves a root's key there
// loses this protection.) A host takes a bundle only if
//   its cluster is the host's
//   its number is above that of the bundle that the host holds: none comes back
//   a root that the host holds signed it: self-signed, and not past its end
// and then has exactly the bundle's roots, so that removals arrive, too. It
// applies all bundles in order: a host that was away while the old and the new
// root counted gets from one to the other. A host without such a path reports
// that it has to join again, with the roots that --ca-hash proves.
#ifndef CONFIG_IDENTITY_ROOT_BUNDLE_H_
#define CONFIG_IDENTITY_ROOT_BUNDLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/words/words.h"

namespace clusterd {

// The limit of all bundles together.
inline constexpr size_t kMaxBundleBytes = 256 << 10;

struct RootBundle {
  std::string text;
  std::string cluster;
  uint64_t number = 0;  // 1 and up.
  std::string roots_pem;
  std::string signature;  // Binary; not verified.
};

// Every bundle of the text, in its order; none for an empty one.
// InvalidArgument for a text above kMaxBundleBytes, for another line, and for a
// certificate that is not a self-signed CA's.
absl::StatusOr<std::vector<RootBundle>> ReadRootBundles(absl::string_view text);

struct Roots {
  std::string pem;
  // The text of the bundle that they came in; empty: --ca-hash proved them.
  std::string bundle;
  // Changes for log and audit, one line each: "root added sha256:…", "root
  // removed sha256:…", "roots not taken: " why and what to do.
  std::vector<FindingValue> news = {};
};

// The roots of a host of `cluster` that holds `held` after these bundles, from
// any sender. Takes none of `unsigned_pem`, the roots beside them, and reports
// those that it does not have.
Roots TakeRootBundles(const Roots& held, absl::string_view bundles,
                      absl::string_view unsigned_pem, absl::string_view cluster,
                      absl::Time now);

// "sha256:" and the digest of the public key, as --ca-hash has it, of every
// certificate in the text: sorted, each once.
std::vector<std::string> RootHashes(absl::string_view pem);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_ROOT_BUNDLE_H_
