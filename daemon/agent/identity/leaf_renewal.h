// Keeps the certificate of a host that has joined good, without anybody's help:
// at half of its life, a tenth sooner or later so that a cluster does not do it
// at once, it asks over the stream for the next one, with a new key; and when
// it has ended, because the host was off or its controller away, over a
// connection by the pair that has ended (Trust.RenewLate). What comes is
// checked, then swapped in whole (identity_folder.h), and shown by the next
// connection, which is opened as soon as the host has nothing else to do: while
// the certificate before is still good. A signed bundle of roots
// (root_bundle.h) comes with it: a controller that has a newer one than the
// host says so when the host attaches, and the host then renews at once, at
// most every five minutes until it has an answer, whether it can take the
// bundle or not. Where the files were put there by hand it does
// nothing.
#ifndef DAEMON_AGENT_IDENTITY_LEAF_RENEWAL_H_
#define DAEMON_AGENT_IDENTITY_LEAF_RENEWAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/tls_credentials.h"
#include "daemon/audit/audit_log.h"
#include "daemon/host/identity/identity_folder.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/security/credentials.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"

namespace clusterd {

// The key and certificate that this host shows: the last pair of its files that
// was good. Files that are not, however they came to be so, are refused with
// their mistake named, and the pair before stays in use:
//   cut short, no PEM, not a pair, of another host or cluster, not valid now,
//   without a way to the CA, a key that others may read
// The files are looked at before every connection.
// Safe for concurrent use.
class HeldIdentity {
 public:
  // `first`: what ReadPairOf gave. `log` must outlive it.
  HeldIdentity(TlsFiles files, SpiffeId self, TlsPem first, Log* log)
      : files_(std::move(files)),
        self_(std::move(self)),
        log_(log),
        pair_(std::move(first)) {}

  // Takes the files up if they are good; else says why not, once for each
  // reason.
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, and what a connection that is opened now shows.
  std::shared_ptr<grpc::ChannelCredentials> ForDial()
      ABSL_LOCKS_EXCLUDED(mutex_);

  TlsPem pair() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the last connection was opened with another pair.
  bool IsNewerThanDialled() const ABSL_LOCKS_EXCLUDED(mutex_);
  const SpiffeId& self() const { return self_; }

 private:
  const TlsFiles files_;
  const SpiffeId self_;
  Log* const log_;
  mutable absl::Mutex mutex_;
  TlsPem pair_ ABSL_GUARDED_BY(mutex_);
  std::string dialled_ ABSL_GUARDED_BY(mutex_);  // The certificate.
  std::string told_ ABSL_GUARDED_BY(mutex_);
};

// When a certificate is renewed: `draw`, from [0, 1), spreads it from 0.4 to
// 0.6 of the life.
absl::Time RenewalTime(const CertificateInfo& certificate, double draw);

// Whether this host has joined and its certificate has ended at `now`.
bool HasEnded(const TlsFiles& files, absl::Time now);

// Asks for a new certificate for a key whose certificate has ended, and puts it
// in place: for a daemon that begins. OK at once unless HasEnded. Errors as
// AskToRenewLate and CheckedPair, and those of `audit`, unless that is null;
// `name` and cluster are those of the old certificate.
absl::Status RenewIfEnded(const TlsFiles& files, const std::string& controller,
                          absl::Time now, AuditLog* audit = nullptr,
                          Log* log = nullptr);

// Those of the CA file, and the number of their bundle where the host has
// joined; missing if one cannot be read.
RootsFact ReadRoots(const TlsFiles& files);

class LeafRenewal {
 public:
  using Answered = std::function<void(absl::StatusOr<HubMessage>)>;
  // All must outlive it.
  struct Parts {
    HeldIdentity* held = nullptr;
    TlsFiles files;
    std::string controller;  // HOST:PORT.
    // Asks the controller over the stream; as AgentStream::Ask.
    std::function<void(AgentMessage, absl::Duration wait, Answered)> ask;
    // Opens the stream anew, unless the host is at work.
    std::function<void()> reattach;
    std::function<double()> random;  // Draws from [0, 1); any thread.
    Scheduler* scheduler = nullptr;
    WorkerPool* pool = nullptr;
    Log* log = nullptr;
    // Has a line before and after each new pair, with what becomes of roots;
    // null: nobody keeps one.
    AuditLog* audit = nullptr;
  };

  // Whether these files are of a host that has joined.
  static bool Renews(const TlsFiles& files);

  explicit LeafRenewal(Parts parts);
  ~LeafRenewal() { Stop(); }

  // Looks now, and from now on; again whenever the host has attached, so that
  // what was due while the controller was away does not wait for a next try.
  void Start() { LookAgain(absl::ZeroDuration()); }
  // Welcome.roots_bundle. Before Start, which looks.
  void OnOfferedRoots(uint64_t bundle) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing of it runs any more.
  void Stop() { gate_.Close(); }

 private:
  // At one time only: the last that was said.
  void LookAgain(absl::Duration after) ABSL_LOCKS_EXCLUDED(mutex_);
  // On a thread of the pool.
  void Look();
  // Whether to renew for the bundle that the controller offers.
  bool WantsRoots(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the key, unless there is one.
  absl::Status FillInLocked(CertificateRequest* request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AskOverStream();
  void OnAnswer(const absl::StatusOr<HubMessage>& answer);
  absl::Status TakeUp(const absl::StatusOr<HubMessage>& answer);
  void Tell(const absl::Status& trouble);

  const Parts parts_;
  const IdentityFolder folder_;
  const CallbackGate gate_;
  absl::Mutex mutex_;
  // The key that is asked for; kept until there is an answer, so that a second
  // try is the same question.
  std::string next_key_ ABSL_GUARDED_BY(mutex_);
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  double draw_ ABSL_GUARDED_BY(mutex_);
  std::string told_ ABSL_GUARDED_BY(mutex_);
  uint64_t offered_bundle_ ABSL_GUARDED_BY(mutex_) = 0;
  // What was offered when the host last asked over the stream, and the highest
  // that it has had an answer to. Its bundle the host has, or cannot take: that
  // is no reason to ask again.
  uint64_t asked_bundle_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t answered_bundle_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time next_for_roots_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_IDENTITY_LEAF_RENEWAL_H_
