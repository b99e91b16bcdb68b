// The roots that a host believes, and the one way in which another set takes
// their place: a bundle, a text that a root's key has signed where no network
// reaches it (deploy/certificates.sh roots):
//
//   clusterd roots of mycluster
//   number 2
//   -----BEGIN CERTIFICATE-----     every root of the new set
//   …
//   -----END CERTIFICATE-----
//   signature MEUCIQDx…             of the lines above: ECDSA or RSA, SHA-256
//
// A controller keeps all bundles, oldest first, and passes them on. It has an
// intermediate's key and no root's, so it can make none: whoever has taken it
// adds no root, and takes none back. (A site that leaves a root's key on the
// controller gives that away with it.) A host takes a bundle only if
//   its cluster is the host's
//   its number is above that of the bundle that the host holds: none comes back
//   a root that the host holds signed it: self-signed, and not past its end
// and then has exactly the bundle's roots, so that removals arrive, too. It
// goes through all bundles in order: a host that was away while the old and the
// new root counted gets from one to the other. One that finds no way says that
// it has to join again, which begins anew with the roots that --ca-hash proves.
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

// Of all bundles together.
inline constexpr size_t kMaxBundleBytes = 256 << 10;

struct RootBundle {
  std::string text;
  std::string cluster;
  uint64_t number = 0;  // 1 and up.
  std::string roots_pem;
  std::string signature;  // Binary; nobody has verified it.
};

// Every bundle of the text, in its order; none of an empty one.
// InvalidArgument for a text above kMaxBundleBytes, for another line, and for a
// certificate that is no self-signed CA's.
absl::StatusOr<std::vector<RootBundle>> ReadRootBundles(absl::string_view text);

struct Roots {
  std::string pem;
  // The text of the bundle that they came in; empty: --ca-hash proved them.
  std::string bundle;
  // What has become of them, for log and audit, one line each: "root added
  // sha256:…", "root removed sha256:…", "roots not taken: " why and what to do.
  std::vector<FindingValue> news = {};
};

// What a host of `cluster` that holds `held` has after these bundles, whoever
// sent them. Of `unsigned_pem`, the roots that came beside them, it takes none,
// and says so of one that it does not have.
Roots TakeRootBundles(const Roots& held, absl::string_view bundles,
                      absl::string_view unsigned_pem, absl::string_view cluster,
                      absl::Time now);

// "sha256:" and the digest of the public key, as --ca-hash has it, of every
// certificate in the text: sorted, each once.
std::vector<std::string> RootHashes(absl::string_view pem);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_ROOT_BUNDLE_H_
