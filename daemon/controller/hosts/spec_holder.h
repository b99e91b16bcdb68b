// The cluster spec that the controller uses, and its file. A file with a
// mistake never replaces a good spec.
#ifndef DAEMON_CONTROLLER_HOSTS_SPEC_HOLDER_H_
#define DAEMON_CONTROLLER_HOSTS_SPEC_HOLDER_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/process/scheduler.h"
#include "proto/agent_hub.pb.h"
#include "proto/controller.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Safe for concurrent use.
class SpecHolder {
 public:
  // First read of the file. NotFound or PermissionDenied if it cannot be read;
  // InvalidArgument with every mistake in it, one per line, or if its name is
  // not `cluster`. `scheduler` must outlive the holder. `may_learn`: a missing
  // file is not an error; the holder learns until a reload finds it.
  static absl::StatusOr<std::unique_ptr<SpecHolder>> Open(
      const std::string& path, const std::string& cluster, Scheduler* scheduler,
      bool may_learn = false);

  // Re-reads the file. On an error, as in Open, the spec stays as it was, and
  // Describe() names the error until a re-read succeeds.
  absl::Status Reload() ABSL_LOCKS_EXCLUDED(mutex_);

  // Activates a spec with other waivers. Those with an id, which are the
  // controller's, survive a reload.
  using Waivers = google::protobuf::RepeatedPtrField<Waiver>;
  void ChangeWaivers(absl::FunctionRef<void(Waivers* waivers)> change)
      ABSL_LOCKS_EXCLUDED(change_mutex_, mutex_);

  // The cluster's name, in the spec and in every certificate.
  const std::string& cluster() const { return cluster_; }
  // cluster.yaml does not exist yet, and the spec names no server.
  bool learns() const { return spec()->servers().empty(); }
  // The error of calls that need a cluster.yaml, while it learns.
  absl::Status WhyRefused() const;
  // Never null.
  std::shared_ptr<const ClusterSpec> spec() const ABSL_LOCKS_EXCLUDED(mutex_);

  GetSpecResponse Describe() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  SpecHolder(std::string path, std::string cluster, Scheduler* scheduler)
      : path_(std::move(path)),
        cluster_(std::move(cluster)),
        scheduler_(scheduler) {}

  absl::StatusOr<std::shared_ptr<ClusterSpec>> Load() const;

  const std::string path_;
  const std::string cluster_;
  Scheduler* const scheduler_;

  absl::Mutex change_mutex_;  // Serialises changes; before mutex_.
  mutable absl::Mutex mutex_;
  std::shared_ptr<const ClusterSpec> spec_ ABSL_GUARDED_BY(mutex_);
  absl::Time loaded_at_ ABSL_GUARDED_BY(mutex_);
  std::optional<FindingValue> refused_ ABSL_GUARDED_BY(mutex_);
};

// The spec's waivers that cover the host, in the form that it gets.
HostWaivers WaiversOfHost(const ClusterSpec& spec, const std::string& host);
// Hosts of the spec that are out of service at `now`.
std::set<std::string> HostsInMaintenance(const ClusterSpec& spec,
                                         absl::Time now);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_SPEC_HOLDER_H_
