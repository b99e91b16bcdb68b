// Who somebody is, as the one URI in their certificate says it:
//   spiffe://CLUSTER/controller
//   spiffe://CLUSTER/host/NAME               a server; NAME as in cluster.yaml
//   spiffe://CLUSTER/user/NAME               a person or scheduler, viewer
//   spiffe://CLUSTER/user/NAME/role/ROLE     ROLE: viewer, operator or admin
// Strict: no escapes, no empty parts, no query, port or user part, no other
// shape. Text in, value out.
#ifndef CONFIG_IDENTITY_SPIFFE_ID_H_
#define CONFIG_IDENTITY_SPIFFE_ID_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace clusterd {

enum class IdentityKind { kController, kHost, kUser };

// What a user may do; each role includes the ones before it.
enum class Role { kViewer, kOperator, kAdmin };

struct SpiffeId {
  // The trust domain: lower-case letters, digits, '.', '-', '_'; at most 255.
  std::string cluster;
  IdentityKind kind = IdentityKind::kHost;
  // Letters, digits, '.', '-', '_', not "." or ".."; at most 253. Empty for the
  // controller.
  std::string name;
  // Only users have one.
  Role role = Role::kViewer;

  // Parses back to the same value. A viewer is written without a role.
  std::string ToString() const;

  friend bool operator==(const SpiffeId& a, const SpiffeId& b) {
    return a.cluster == b.cluster && a.kind == b.kind && a.name == b.name &&
           a.role == b.role;
  }
};

// "host", "user" or "controller".
absl::string_view KindName(IdentityKind kind);

// InvalidArgument, quoting the text, unless it is one of the shapes above.
absl::StatusOr<SpiffeId> ParseSpiffeId(absl::string_view uri);

// The id among a certificate's URI names. InvalidArgument unless there is
// exactly one and ParseSpiffeId takes it.
absl::StatusOr<SpiffeId> ParseUriNames(absl::Span<const std::string> uri_names);

// Whether `name` can be a cluster's name, which is its trust domain.
bool IsClusterName(absl::string_view name);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_SPIFFE_ID_H_
