// One simulated server in memory that takes changes, too: clusterd's own
// applier and journals on a machine of tests/support/apply. It is as another
// cluster left it (OtherClusterFaults of tests/sim/simulated_host.h); PFC,
// classes and RoCE port are the devices' own. All other facts are those of a
// healthy server.
#ifndef TESTS_SIM_FLEET_CHANGING_HOST_H_
#define TESTS_SIM_FLEET_CHANGING_HOST_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/agent/apply_tasks.h"
#include "daemon/agent/drift_watch.h"
#include "daemon/audit/audit_log.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/host_observer.h"
#include "daemon/process/log.h"
#include "proto/facts.pb.h"
#include "proto/spec.pb.h"
#include "tests/support/apply/fake_machine.h"
#include "tests/support/host/fake_clock.h"

namespace clusterd {

// The roots of a host that takes controllers of this CA.
void FillRoots(absl::string_view ca_pem, HostFacts* facts);

// Safe for concurrent use.
class ChangingHost final : private HostObserver {
 public:
  // The server of that number in the spec. `audit` has its changes, as of any
  // number of other hosts. Both pointers must outlive it.
  ChangingHost(const ClusterSpec& spec, int server, AuditLog* audit, Log* log);

  // Sets the roots of the host's certificates; call it before it is observed.
  void SetRoots(absl::string_view ca_pem);

  const std::string& name() const { return base_.host(); }
  // Shows the server as it was before a change that is under way.
  HostObserver* observer() { return &with_drift_; }
  ApplyTasks* applies() { return &applies_; }

 private:
  HostFacts ObserveFor(const std::string& host, const ObserveRequest& request,
                       const Asker&) override ABSL_LOCKS_EXCLUDED(mutex_);
  // On the thread of the changes, which alone touches the machine.
  void Update() ABSL_LOCKS_EXCLUDED(mutex_);
  MachineAccess Access();

  const HostFacts base_;
  FakeMachine machine_;
  FakeClock clock_;
  DeviceLocks locks_;
  absl::Mutex mutex_;
  HostFacts seen_ ABSL_GUARDED_BY(mutex_);
  HostFacts roots_ ABSL_GUARDED_BY(mutex_);  // Only their roots.
  AppliesRecord record_;
  AgentObserver with_drift_;
  Applier applier_;
  ApplyTasks applies_;  // Last: its thread uses the rest.
};

}  // namespace clusterd

#endif  // TESTS_SIM_FLEET_CHANGING_HOST_H_
