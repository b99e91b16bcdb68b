// Where a host that has joined keeps its key and certificates: every pair is a
// folder of its own, and one link says which of them counts.
//   /etc/clusterd/host.key -> identity/current/host.key   as host.crt, ca.crt
//   /etc/clusterd/identity/current -> 000002
//   /etc/clusterd/identity/000001/{ca.crt,host.crt,host.key}  the one before
//   /etc/clusterd/identity/000002/{ca.crt,host.crt,host.key,roots.bundle}
//   /etc/clusterd/identity/pending.key   of a join that has not ended
// roots.bundle is there where ca.crt came in one (root_bundle.h), so that roots
// and their number change with the pair, at once.
// A new pair is written beside the others and synced, and then the link is
// replaced by one rename: whatever happens in between, a crash or a full disk,
// who opens the three files finds one whole pair, the old or the new one. Only
// the first join over files that somebody put there by hand is three renames;
// a join that is run again finishes it.
#ifndef DAEMON_HOST_IDENTITY_IDENTITY_FOLDER_H_
#define DAEMON_HOST_IDENTITY_IDENTITY_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/identity/certificate.h"

namespace clusterd {

// What writes waits for whoever else writes there, in this process or another.
// Errors are those of the system calls, named after the path: NotFound,
// PermissionDenied, ResourceExhausted for a full disk; PermissionDenied also
// where the folder or identity/ is a link, is another user's, or may be written
// by others.
class IdentityFolder {
 public:
  // "/etc/clusterd"; made, with what is above it, when something is written.
  explicit IdentityFolder(std::string folder) : folder_(std::move(folder)) {}

  // Whether host.crt there is a link of ours.
  bool HasJoined() const;

  // Makes this the pair that counts, and takes off all but the one before.
  // REQUIRES: it was checked; here it is only written.
  absl::Status Install(const TlsPem& pair) const;

  // Of the pair that counts; empty: none.
  absl::StatusOr<std::string> ReadRootsBundle() const;

  // NotFound if there is none.
  absl::StatusOr<std::string> ReadPendingKey() const;
  absl::Status WritePendingKey(const std::string& key_pem) const;

  // Writes agent.yaml if there is none; false if there is.
  absl::StatusOr<bool> WriteAgentConfig(const std::string& text) const;

  std::string PathOf(absl::string_view name) const;

 private:
  // Writes a file beside, synced, and renames it to `path`.
  absl::Status Replace(const std::string& path, absl::string_view text,
                       unsigned mode) const;
  absl::Status PointTo(const std::string& target,
                       const std::string& link) const;

  const std::string folder_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_IDENTITY_IDENTITY_FOLDER_H_
