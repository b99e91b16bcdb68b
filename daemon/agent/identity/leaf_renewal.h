// Renews the certificate of a joined host automatically. At half of its life, a
// tenth sooner or later to spread the cluster, it requests the next one over
// the stream, with a new key. If it has expired, because the host was off or
// its controller away, it uses a connection with the expired pair
// (Trust.RenewLate). The answer is checked, then installed as a whole
// (identity_folder.h). The next connection uses it; that is opened once the
// host is idle, while the old certificate is still valid. The answer includes a
// signed bundle of roots (root_bundle.h). A controller with a newer bundle says
// so when the host attaches. The host then renews at once, at most every five
// minutes until it has an answer, even if it cannot take the bundle. Files that
// were installed by hand are never renewed.
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

// The key and certificate that this host uses: the last valid pair of its
// files. Invalid files are refused, with the mistake named, and the old pair
// stays in use:
//   cut short, not PEM, not a pair, of another host or cluster, not valid now,
//   without a chain to the CA, a key that others may read
// The files are checked before every connection. Safe for concurrent use.
class HeldIdentity {
 public:
  // `first`: the result of ReadPairOf. `log` must outlive it.
  HeldIdentity(TlsFiles files, SpiffeId self, TlsPem first, Log* log)
      : files_(std::move(files)),
        self_(std::move(self)),
        log_(log),
        pair_(std::move(first)) {}

  // Takes the files if they are valid; otherwise logs each reason once.
  void Check() ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls Check and returns the credentials for a new connection.
  std::shared_ptr<grpc::ChannelCredentials> ForDial()
      ABSL_LOCKS_EXCLUDED(mutex_);

  TlsPem pair() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return pair_;
  }
  // True if the last connection was opened with another pair.
  bool IsNewerThanDialled() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return pair_.certificate != dialled_;
  }
  const SpiffeId& self() const { return self_; }

 private:
  const TlsFiles files_;
  const SpiffeId self_;
  Log* const log_;
  mutable absl::Mutex mutex_;
  TlsPem pair_ ABSL_GUARDED_BY(mutex_);
  std::string dialled_ ABSL_GUARDED_BY(mutex_);  // The certificate.
  std::string reported_ ABSL_GUARDED_BY(mutex_);
};

// When to renew: `draw`, from [0, 1), chooses 0.4 to 0.6 of the life.
absl::Time RenewalTime(const CertificateInfo& certificate, double draw);

// True if this host has joined and its certificate has expired at `now`.
bool HasEnded(const TlsFiles& files, absl::Time now);

// Renews an expired certificate with its key and installs the new one; for a
// daemon's start. OK at once unless HasEnded. Errors as AskToRenewLate and
// CheckedPair, and those of `audit`, unless that is null; `name` and cluster
// are those of the old certificate.
absl::Status RenewIfEnded(const TlsFiles& files, const std::string& controller,
                          absl::Time now, AuditLog* audit = nullptr,
                          Log* log = nullptr);

// The roots of the CA file, and the number of their bundle if the host has
// joined; missing if either cannot be read.
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
    // Reopens the stream, unless the host is busy.
    std::function<void()> reattach;
    std::function<double()> random;  // Draws from [0, 1); any thread.
    Scheduler* scheduler = nullptr;
    WorkerPool* pool = nullptr;
    Log* log = nullptr;
    // Gets a line before and after each new pair, with its roots; may be null.
    AuditLog* audit = nullptr;
  };

  // True if these files are of a host that has joined.
  static bool Renews(const TlsFiles& files);

  explicit LeafRenewal(Parts parts);
  ~LeafRenewal() { Stop(); }

  // Starts the checks. Call it again whenever the host has attached, so that a
  // renewal that became due without a controller does not wait any longer.
  void Start() { CheckAgain(absl::ZeroDuration()); }
  // Notes Welcome.roots_bundle. Call it before Start, which checks it.
  void OnOfferedRoots(uint64_t bundle) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    offered_bundle_ = bundle;
  }
  // No check runs after it.
  void Stop() { gate_.Close(); }

 private:
  // Sets the only timer; the last call wins.
  void CheckAgain(absl::Duration after) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    parts_.scheduler->Cancel(timer_);
    timer_ = parts_.scheduler->RunAfter(after, gate_.Wrap([this] {
      gate_.RunSoon(parts_.pool, parts_.scheduler, [this] { Check(); });
    }));
  }
  // Runs on a thread of the pool.
  void Check();
  // True if it should renew to get the bundle that the controller offers.
  bool WantsRoots(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the key, unless it exists.
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
  // The requested key; kept until there is an answer, to repeat the request.
  std::string next_key_ ABSL_GUARDED_BY(mutex_);
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  double draw_ ABSL_GUARDED_BY(mutex_);
  std::string reported_ ABSL_GUARDED_BY(mutex_);
  uint64_t offered_bundle_ ABSL_GUARDED_BY(mutex_) = 0;
  // The bundle offered when the host last asked over the stream, and the
  // highest one answered, which the host has or cannot take: there is no need
  // to ask again.
  uint64_t asked_bundle_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t answered_bundle_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time next_for_roots_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_IDENTITY_LEAF_RENEWAL_H_
