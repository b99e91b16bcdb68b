// Issues certificates to hosts, and decides which certificate of a host counts,
// by tokens, cluster.yaml and the record of the host's key:
//   same token, name and key          the same certificate again, or a new one
//                                     if another intermediate issued it
//   another key, name is free         a certificate; the key goes on record,
//                                     and the token is spent for this host
//   another key, one is on record     refused until an admin resets the name
//   key, token from before a reset    refused
//   name of another machine that is   recorded for an hour, and refused until
//   attached now, or that was ever    an admin approves it
//   with a certificate made by hand
//   key on record, certificate ended  a new one, for 180 days, counted, over a
//                                     connection that the key has opened
//   key on record, certificate        refused
//   revoked, host locked or removed
//   from cluster.yaml
// A renewal has two phases: the next certificate is kept beside the current
// one, and replaces it when the host first attaches with it. So a lost answer
// does not lock out a host. No gRPC here.
#ifndef DAEMON_CONTROLLER_TRUST_ENROLMENT_SERVICE_H_
#define DAEMON_CONTROLLER_TRUST_ENROLMENT_SERVICE_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/certificate.h"
#include "config/identity/signing_request.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/trust/certificate_authority.h"
#include "daemon/controller/trust/join_token.h"
#include "daemon/controller/trust/trust_store.h"
#include "proto/audit.pb.h"
#include "proto/trust.pb.h"

namespace clusterd {

inline constexpr absl::Duration kDefaultLeafLife = absl::Hours(30 * 24);
inline constexpr absl::Duration kLateRenewal = absl::Hours(180 * 24);
// How long a machine alone may wait for approval, and then has to join.
inline constexpr absl::Duration kWaitsAlone = absl::Hours(1);

// Safe for concurrent use. Functions that exclude change_mutex_ may wait for
// the disk and return the store's errors, too; the others do not.
class EnrolmentService {
 public:
  // Uses spec, scheduler, pool, log and hosts. All must outlive it.
  EnrolmentService(const ControllerParts& parts,
                   const CertificateAuthority* authority, TrustStore* store,
                   absl::Duration leaf_life)
      : parts_(parts),
        authority_(authority),
        store_(store),
        leaf_life_(leaf_life) {}

  // A token is valid once for one host, for each in the list, or for as many as
  // requested. InvalidArgument for a list with hosts that cluster.yaml lacks, a
  // life out of bounds, or no list while the controller learns;
  // ResourceExhausted for more than kMaxTokens. Does not set ports.
  absl::StatusOr<CreateTokenResponse> CreateToken(
      const CreateTokenRequest& request, const SpiffeId& creator)
      ABSL_LOCKS_EXCLUDED(change_mutex_);
  // Newest last.
  ListTokensResponse ListTokens() const;
  // NotFound for an unknown id.
  absl::StatusOr<RevokeTokenResponse> RevokeToken(const std::string& id)
      ABSL_LOCKS_EXCLUDED(change_mutex_);

  // Errors are for the host to read, each one sentence with the next step:
  //   InvalidArgument     the token, request or host name is malformed
  //   Unauthenticated     the token is unknown to this controller
  //   FailedPrecondition  it has expired: with both clocks
  //   PermissionDenied    the name is not of cluster.yaml or of the token, the
  //                       token is spent, or an admin has to approve
  //   AlreadyExists       the name is enrolled with another key
  // `peer` is the caller, for the log.
  absl::StatusOr<Enrolled> Join(const JoinRequest& request,
                                const std::string& peer)
      ABSL_LOCKS_EXCLUDED(change_mutex_);
  // For `host`, which has proved in its TLS handshake that it holds the key of
  // `certificate_pem`: copied requests are useless. PermissionDenied unless
  // that key is on record and the request's, and cluster.yaml has the host. The
  // recorded one must be unrevoked, and ended at most kLateRenewal ago.
  absl::StatusOr<Enrolled> RenewLate(const std::string& host,
                                     const std::string& certificate_pem,
                                     const RenewLateRequest& request,
                                     const std::string& peer)
      ABSL_LOCKS_EXCLUDED(change_mutex_);
  // True if a certificate is of a host of this cluster whose key is on record:
  // the host may call RenewLate after the certificate's end.
  bool IsKeyOnRecord(const std::string& certificate_pem) const;
  // Renews over the stream that `host` has opened with `certificate_pem`.
  // FailedPrecondition for another issuer's certificate. PermissionDenied for
  // one that is not current, or a host removed from cluster.yaml.
  // InvalidArgument for its present key, ResourceExhausted beyond a few an
  // hour.
  absl::StatusOr<Enrolled> Renew(const std::string& host,
                                 const std::string& certificate_pem,
                                 const std::string& signing_request)
      ABSL_LOCKS_EXCLUDED(change_mutex_);

  // OK if a host may attach, or stay attached, with this certificate, which TLS
  // has verified. It is on record or, if the host has no key on record, was
  // made elsewhere after the last reset. Otherwise PermissionDenied, for the
  // host to read. REQUIRES: it names `host`.
  absl::Status IsCurrent(const std::string& host,
                         const std::string& certificate_pem) const;
  // The same for a host that is attaching; true if its certificate is on
  // record. The last issued one soon replaces the one before. A name that has
  // attached with another certificate needs an approval from then on.
  absl::StatusOr<bool> Admit(const std::string& host,
                             const std::string& certificate_pem);

  // The machine that the name is bound to, if it is another one; otherwise
  // empty. That is the one that joined, otherwise the first that attached with
  // an id, also with a certificate made elsewhere; Reset frees the name. A
  // machine states its own id, and all its users can read it: this only stops a
  // holder of just the copied certificate.
  std::string BoundTo(const std::string& host, const std::string& machine_id);

  // True if a token is valid.
  bool ShouldListen() const;

  // Lists hosts of cluster.yaml, on record or attached; not the controller.
  ListCertificatesResponse ListCertificates() const;
  // Approves the machine with this key, as CertificateEntry.waiting_key, or
  // refuses only that machine. NotFound if no machine waits for the name,
  // Aborted if another one does.
  absl::StatusOr<ApproveHostResponse> Decide(const std::string& name,
                                             const std::string& key,
                                             bool approves)
      ABSL_LOCKS_EXCLUDED(change_mutex_);
  // Forgets the key and the bound machine, and ends the host's stream. Earlier
  // certificates, that key and all present tokens are refused for the name, so
  // that a machine that keeps asking does not get it. Also refuses the waiting
  // machine. NotFound without a record; Aborted if `key` is neither empty nor
  // the recorded one, whole or as CertificateEntry.key.
  absl::StatusOr<ResetHostResponse> Reset(const std::string& name,
                                          const std::string& key = "")
      ABSL_LOCKS_EXCLUDED(change_mutex_);

  const CertificateAuthority& authority() const { return *authority_; }
  const std::string& cluster() const;

 private:
  absl::StatusOr<TokenRecord> LivingToken(const JoinRequest& request) const;
  // PermissionDenied for a host that cluster.yaml does not have.
  absl::Status CheckNamed(const std::string& name) const;
  // The name as in cluster.yaml, if the token is valid for it.
  absl::StatusOr<std::string> NameFor(const TokenRecord& token,
                                      const std::string& name) const;
  SpiffeId IdOf(const std::string& name) const;
  absl::StatusOr<Enrolled> TryJoin(const JoinRequest& request,
                                   const AuditEntry& asked)
      ABSL_LOCKS_EXCLUDED(change_mutex_);
  absl::StatusOr<Enrolled> TryRenewLate(const std::string& name,
                                        const std::string& certificate_pem,
                                        const RenewLateRequest& request,
                                        const AuditEntry& asked)
      ABSL_LOCKS_EXCLUDED(change_mutex_);
  absl::StatusOr<Enrolled> TryRenew(const std::string& host,
                                    const std::string& certificate_pem,
                                    const std::string& signing_request,
                                    const AuditEntry& asked)
      ABSL_LOCKS_EXCLUDED(change_mutex_);
  // True if a machine waits for this name and may still be approved.
  static bool StillWaits(const HostRecord& record, absl::Time now);
  absl::Status CheckUnspent(const TokenRecord& token,
                            const HostRecord& record) const;
  // True if a token suffices for the name.
  bool IsFree(const HostRecord& record) const
      ABSL_LOCKS_EXCLUDED(unkept_mutex_);
  // OK, or why a key that is not on record may not have the name.
  absl::Status CheckFree(const JoinRequest& request, const RequestedKey& key,
                         const std::string& peer, const TokenRecord& token,
                         HostRecord* record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  // Records the machine that asks, for an admin's decision.
  absl::Status WaitForApproval(const JoinRequest& request,
                               const RequestedKey& key, const std::string& peer,
                               HostRecord* record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  absl::StatusOr<HostRecord::Leaf> Issue(const std::string& name,
                                         const RequestedKey& key) const;
  Enrolled AnswerOf(const HostRecord& record,
                    const HostRecord::Leaf& leaf) const;
  // Facts about an attached host that are not on disk yet.
  struct Unkept {
    bool by_hand = false;         // Not our certificate.
    std::string machine_id = {};  // Bind the name to it, if any.

    bool operator==(const Unkept& other) const {
      return by_hand == other.by_hand && machine_id == other.machine_id;
    }
  };
  // Adds the note. Returns the machine to which all notes bind the name.
  std::string NoteUnkept(const std::string& host, const Unkept& note)
      ABSL_LOCKS_EXCLUDED(unkept_mutex_);
  // Keeps some notes, and queues itself for the rest.
  void KeepUnkept() ABSL_LOCKS_EXCLUDED(change_mutex_, unkept_mutex_);
  absl::Status Keep(const std::string& host, const Unkept& note)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  void Promote(const std::string& host, const std::string& serial)
      ABSL_LOCKS_EXCLUDED(change_mutex_);
  CertificateEntry EntryOf(const HostRecord& record, int64_t attached_ends_ms,
                           absl::Time now) const;

  const ControllerParts parts_;
  const CertificateAuthority* const authority_;
  TrustStore* const store_;
  const absl::Duration leaf_life_;
  // Limits by host name.
  JoinLimits renewals_{{/*burst=*/6, /*then_every=*/absl::Minutes(10)}};
  // Held from reading a record until it is written.
  absl::Mutex change_mutex_;
  // Never held while writing to the disk; taken after change_mutex_.
  mutable absl::Mutex unkept_mutex_;
  std::map<std::string, Unkept> unkept_ ABSL_GUARDED_BY(unkept_mutex_);
  // KeepUnkept is queued or running on the pool.
  bool keeps_unkept_ ABSL_GUARDED_BY(unkept_mutex_) = false;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_ENROLMENT_SERVICE_H_
