// The key and certificate that this host shows: the last pair of its files that
// was good. Files that are not, however they came to be so, are refused with
// their mistake named, and the pair before stays in use:
//   cut short, no PEM, not a pair, of another host or cluster, not valid now,
//   without a way to the CA, a key that others may read
// The files are looked at before every connection.
#ifndef DAEMON_AGENT_IDENTITY_HELD_IDENTITY_H_
#define DAEMON_AGENT_IDENTITY_HELD_IDENTITY_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/tls_credentials.h"
#include "daemon/process/log.h"
#include "grpcpp/security/credentials.h"

namespace clusterd {

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
  void Look() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::StatusOr<TlsPem> read = ReadPairOf(self_, files_);
    const std::string trouble(read.status().message());
    absl::MutexLock lock(&mutex_);
    if (read.ok()) pair_ = *std::move(read);
    if (std::exchange(told_, trouble) == trouble || trouble.empty()) return;
    log_->Error(absl::StrCat(
        "certificate files refused, the last good pair stays in use: ",
        trouble));
  }
  // The same, and what a connection that is opened now shows.
  std::shared_ptr<grpc::ChannelCredentials> ForDial()
      ABSL_LOCKS_EXCLUDED(mutex_) {
    Look();
    absl::MutexLock lock(&mutex_);
    dialled_ = pair_.certificate;
    return MakeChannelCredentialsFromPem(pair_, self_.cluster);
  }

  TlsPem pair() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return pair_;
  }
  // Whether the last connection was opened with another pair.
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
  std::string told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_IDENTITY_HELD_IDENTITY_H_
