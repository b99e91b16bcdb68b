// Decides which peers are admitted, and for how long. TLS checks a certificate
// only at a full handshake, which resumed sessions and open streams outlive. So
// every call is checked here, and open streams every 20 s:
//   the certificate      a new call                an open stream
//   has ended            refused                   ends within 20 s
//   is not valid yet     refused                   -
//   is locked            refused                   ends at once
//   is revoked           refused                   ends within 20 s after the
//                                                  new list exists
//   its list is missing, refused                   goes on, unless the last
//   has ended, cannot be                           good list named it
//   trusted or is older
//   than one before it
// An apply continues when the streams of its caller end: the controller owns
// it. revocation_list.h reads the lists, only if the site has configured them
// (--crl): then any error in them refuses every peer.
#ifndef DAEMON_CONTROLLER_GATE_IDENTITY_GATE_H_
#define DAEMON_CONTROLLER_GATE_IDENTITY_GATE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "config/identity/certificate.h"
#include "config/identity/revocation_list.h"
#include "daemon/controller/gate/lock_store.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/security/auth_context.h"
#include "proto/controller.pb.h"

namespace clusterd {

struct IdentityGateOptions {
  std::string cluster;
  std::string state;   // The folder of lock_store.h's files.
  bool is_new = true;  // The controller has no history yet.
  std::string ca;      // File: signers of lists.
  std::string crl;     // File or folder; empty: the site has no lists.
  // The clock by which certificates begin and end.
  std::function<absl::Time()> now = absl::Now;
};

// The longest reason for a lock.
inline constexpr size_t kMaxLockReason = 200;

// "host/node07", "user/alice": the end of a SPIFFE id, without the role.
std::string LockName(const SpiffeId& id);

// The certificate, PEM, that the peer showed to TLS; empty: it showed none.
std::string ShownCertificate(const grpc::AuthContext& context);

// Safe for concurrent use. Calls nothing under its locks.
class IdentityGate {
 public:
  static constexpr absl::Duration kSweepInterval = absl::Seconds(20);

  // Both pointers must outlive it. Errors are LockStore's, and those of reading
  // the lists: an unreadable list cannot identify revoked peers.
  static absl::StatusOr<std::unique_ptr<IdentityGate>> Open(
      const IdentityGateOptions& options, Scheduler* scheduler, Log* log);
  ~IdentityGate();

  // Returns the caller. Errors as RequirePeer; Unauthenticated for a
  // certificate outside its validity, PermissionDenied for a locked or revoked
  // one, FailedPrecondition without a usable list. Messages are for the peer.
  absl::StatusOr<SpiffeId> Admit(const grpc::AuthContext& context,
                                 IdentityKind kind) const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    return Admit(PeerOf(context, kind));
  }

  // The same, but also admits an ended certificate: only for RenewLate.
  absl::StatusOr<SpiffeId> AdmitEnded(const grpc::AuthContext& context,
                                      IdentityKind kind) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // As Admit, for a certificate, PEM, that a server verified with the CA.
  absl::StatusOr<SpiffeId> AdmitCertificate(absl::string_view pem,
                                            IdentityKind kind) const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    return Admit(PeerOf(pem, kind));
  }

  // PermissionDenied if the identity is locked. For a peer that shows no
  // certificate because it asks for its first one.
  absl::Status CheckNotLocked(const SpiffeId& id) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for a known certificate, PEM, which may have ended; also Admit's
  // errors if it is revoked or there is no usable list.
  absl::Status CheckNotRevoked(const SpiffeId& id, absl::string_view pem) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // For an admitted call that continues: calls `end` with the reason when its
  // identity is no longer admitted, while `call` lives. May be called from any
  // thread, even before this returns; must not block.
  void Watch(const grpc::AuthContext& context, IdentityKind kind,
             std::weak_ptr<void> call,
             std::function<void(const absl::Status& why)> end)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Refuses the identity from now on; returns how many of its streams it ended.
  // `lock` has all fields. It is lost at a restart unless SaveLocks wrote it.
  size_t Hold(const LockEntry& lock) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes locks that are only in memory; waits for the disk. After an error of
  // LockStore, every sweep and the destructor try again.
  absl::Status SaveLocks() ABSL_LOCKS_EXCLUDED(store_mutex_, mutex_);
  // Waits for the disk. After NotFound or LockStore's errors, it stays locked.
  absl::StatusOr<LockEntry> Unlock(const std::string& identity)
      ABSL_LOCKS_EXCLUDED(store_mutex_, mutex_);
  // Sorted by identity.
  std::vector<LockEntry> Locks() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Peer {
    SpiffeId id;
    absl::Time not_before;
    absl::Time not_after;
    CertificateKey key;  // Used only with lists.
  };
  struct Watched {
    Peer peer;
    std::weak_ptr<void> call;
    std::function<void(const absl::Status&)> end;
  };
  using Lists = std::shared_ptr<const RevocationLists>;

  IdentityGate(const IdentityGateOptions& options,
               std::unique_ptr<LockStore> store, Log* log)
      : options_(options), log_(log), store_(std::move(store)) {}

  absl::StatusOr<Peer> PeerOf(const grpc::AuthContext& context,
                              IdentityKind kind) const;
  absl::StatusOr<Peer> PeerOf(absl::string_view pem, IdentityKind kind) const;
  absl::StatusOr<SpiffeId> Admit(absl::StatusOr<Peer> peer) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status WhyLockedLocked(const SpiffeId& id) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Status WhyRefusedLocked(const Peer& peer, bool is_open) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Status WhyRevokedLocked(const Peer& peer, bool is_open) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void ForgetEndedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends streams that are no longer admitted; returns how many.
  size_t EndRefused() ABSL_LOCKS_EXCLUDED(mutex_);
  void Sweep() ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads the lists, if they have changed.
  void ReadLists() ABSL_LOCKS_EXCLUDED(ages_mutex_, mutex_);
  // FailedPrecondition for lists older than known ones, also after a restart.
  absl::Status CheckNotOlder(const RevocationLists& lists)
      ABSL_LOCKS_EXCLUDED(ages_mutex_);
  // Writes unsaved ages; the next sweep tries again if the disk fails.
  void KeepListAges() ABSL_LOCKS_EXCLUDED(store_mutex_, ages_mutex_);
  // Writes the ages of lists and the locks that are not on disk, if any.
  void Save() ABSL_LOCKS_EXCLUDED(store_mutex_, ages_mutex_, mutex_);

  const IdentityGateOptions options_;
  Log* const log_;

  // Held while writing to the disk.
  absl::Mutex store_mutex_;
  const std::unique_ptr<LockStore> store_ ABSL_PT_GUARDED_BY(store_mutex_);
  ListAges kept_ages_ ABSL_GUARDED_BY(store_mutex_);  // On disk.

  // Never held while writing to the disk: lists are checked even if it hangs.
  absl::Mutex ages_mutex_;
  ListAges seen_ages_ ABSL_GUARDED_BY(ages_mutex_);

  mutable absl::Mutex mutex_;
  std::map<std::string, LockEntry> locks_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> unsaved_ ABSL_GUARDED_BY(mutex_);  // Among locks_.
  // May include ended calls since the last count.
  std::vector<Watched> watched_ ABSL_GUARDED_BY(mutex_);
  size_t count_at_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status lists_status_ ABSL_GUARDED_BY(mutex_);
  Lists lists_ ABSL_GUARDED_BY(mutex_);  // The last readable ones.
  std::string lists_digest_ ABSL_GUARDED_BY(mutex_);
  std::string not_in_force_ ABSL_GUARDED_BY(mutex_);

  CallbackGate callbacks_;
  // Last: they use everything above. The writer may hang with the disk, and the
  // reader of lists never waits for the writer.
  WorkerPool writer_{1, 1};
  WorkerPool reader_{1, 1};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_GATE_IDENTITY_GATE_H_
