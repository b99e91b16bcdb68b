// Stores the key and certificates of a host that has joined. Each pair has its
// own folder, and one link names the current one.
//   /etc/clusterd/host.key -> identity/current/host.key   as host.crt, ca.crt
//   /etc/clusterd/identity/current -> 000002
//   /etc/clusterd/identity/000001/{ca.crt,host.crt,host.key}  the one before
//   /etc/clusterd/identity/000002/{ca.crt,host.crt,host.key,roots.bundle}
//   /etc/clusterd/identity/pending.key   of a join that has not ended
// roots.bundle exists if ca.crt came in one (root_bundle.h), so that roots and
// their number change with the pair, at once. A new pair is written beside the
// others and synced, and then one rename replaces the link. Despite a crash or
// a full disk, a reader of the three files finds one whole pair, the old or the
// new one. Only the first join over files that were placed by hand needs three
// renames; running the join again finishes it.
#ifndef DAEMON_HOST_IDENTITY_IDENTITY_FOLDER_H_
#define DAEMON_HOST_IDENTITY_IDENTITY_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/identity/certificate.h"

namespace clusterd {

// Writers wait for other writers of the folder, in this process or another.
// Errors are those of the system calls, named after the path: NotFound,
// PermissionDenied, ResourceExhausted for a full disk; PermissionDenied also
// where the folder or identity/ is a link, is another user's, or may be written
// by others.
class IdentityFolder {
 public:
  // "/etc/clusterd"; the first write creates it and its parents.
  explicit IdentityFolder(std::string folder) : folder_(std::move(folder)) {}

  // Returns whether host.crt there is our own link.
  bool HasJoined() const;

  // Makes this the current pair and removes all but the previous one. REQUIRES:
  // the caller has checked it; it is only written here.
  absl::Status Install(const TlsPem& pair) const;

  // Returns the roots bundle of the current pair; empty if there is none.
  absl::StatusOr<std::string> ReadRootsBundle() const;

  // NotFound if there is none.
  absl::StatusOr<std::string> ReadPendingKey() const;
  absl::Status WritePendingKey(const std::string& key_pem) const;

  // Writes agent.yaml unless it exists; false if it does.
  absl::StatusOr<bool> WriteAgentConfig(const std::string& text) const;

  std::string PathOf(absl::string_view name) const;

 private:
  const std::string folder_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_IDENTITY_IDENTITY_FOLDER_H_
