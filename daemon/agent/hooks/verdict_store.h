// The last verdicts of jobs on this host, for when the controller is away and
// for a job's task prologs. Each is a file of its own,
//   state/verdicts/0001764000000000-<job digest>.verdict
// with the moment of the verdict before the digest, so that names sort by age
// and no text of a job is ever part of a path. What is read is proved again:
// a file that the controller of this cluster has not signed is nobody's word.
#ifndef DAEMON_AGENT_HOOKS_VERDICT_STORE_H_
#define DAEMON_AGENT_HOOKS_VERDICT_STORE_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/signature.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/command/clock.h"
#include "proto/job.pb.h"

namespace clusterd {

// One of 1,152 servers that all fail has some 300 kB.
inline constexpr size_t kMaxVerdictBytes = 4 << 20;
inline constexpr size_t kMaxKeptVerdicts = 64;
// A job may run for that long and still begin steps.
inline constexpr absl::Duration kMaxKeptAge = absl::Hours(24 * 14);
// How far ahead of this host the controller's clock may be.
inline constexpr absl::Duration kMaxClockLead = absl::Minutes(1);

// Safe for concurrent use; `files` is used by one thread at a time.
class VerdictStore {
 public:
  struct Options {
    std::string folder;  // Made when first needed; what is above it is there.
    std::string cluster;
    // The PEM of who signs this cluster's certificates, as it is now.
    std::function<absl::StatusOr<std::string>()> read_ca;
  };

  // Both pointers must outlive it.
  VerdictStore(Options options, FileSystem* files, Clock* clock)
      : options_(std::move(options)), files_(files), clock_(clock) {}

  // The verdict, if a controller of the cluster signed it, it is of the cluster
  // and no older than `max_age`. PermissionDenied otherwise, and
  // FailedPrecondition for its age.
  absl::StatusOr<JobVerdict> Prove(const SignedVerdict& verdict,
                                   absl::Duration max_age) const;

  // Replaces that of the same job; drops what is too much or too old. REQUIRES:
  // Prove(verdict) gave `proved`.
  absl::Status Keep(const SignedVerdict& verdict, const JobVerdict& proved)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The newest of that JobDigest. NotFound: none is kept; else as Prove.
  absl::StatusOr<JobVerdict> Find(absl::string_view digest,
                                  absl::Duration max_age) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::StatusOr<std::string> NewestFile(absl::string_view digest) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOld(const std::string& kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string PathOf(const std::string& name) const {
    return options_.folder + "/" + name;
  }

  const Options options_;
  FileSystem* const files_;
  Clock* const clock_;
  mutable SignatureVerifier verifier_;
  mutable absl::Mutex mutex_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_VERDICT_STORE_H_
