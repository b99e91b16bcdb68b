// Many simulated hosts in one process, for scale. Each has clusterd's own
// stream over its own connection and certificate, and facts from memory. They
// do not observe the machine that they run on.
#ifndef TESTS_SIM_FLEET_FLEET_H_
#define TESTS_SIM_FLEET_FLEET_H_

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/certificate.h"
#include "config/identity/tls_credentials.h"
#include "daemon/agent/agent_stream.h"
#include "daemon/agent/hub_connection.h"
#include "daemon/host/host_observer.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/facts.pb.h"
#include "tests/sim/fleet/changing_host.h"
#include "tests/support/config/test_authority.h"

namespace clusterd {

// Up to the hard limit: each host needs two, and the usual limit is 1024.
void RaiseDescriptorLimit();

// Logs trouble only: a thousand hosts that attach are routine.
class WarningLog final : public Log {
 public:
  void Write(LogLevel level, absl::string_view text) override {
    if (level <= LogLevel::kWarning) log_.Write(level, text);
  }

 private:
  DescriptorLog log_{2, /*with_level=*/false};
};

// Facts of many hosts by name. Safe for concurrent use once filled.
class FleetObserver final : public HostObserver {
 public:
  // The hosts' roots are those of `ca_pem`.
  FleetObserver(const std::vector<HostFacts>& facts, absl::string_view ca_pem);

  // A host that is not among the facts has a reason instead.
  HostFacts ObserveFor(const std::string& host, const ObserveRequest& request,
                       const Asker&) override ABSL_LOCKS_EXCLUDED(mutex_);

  // The number of requests for a host's facts since Forget, and the time of the
  // first; InfiniteFuture: never.
  void Forget() ABSL_LOCKS_EXCLUDED(mutex_);
  int asked() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Time first_asked() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::map<std::string, HostFacts> facts_;
  absl::Mutex mutex_;
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time first_asked_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
};

// Safe for concurrent use.
class Fleet {
 public:
  // Credentials with which a host of that cluster connects.
  using Credentials = std::function<std::shared_ptr<grpc::ChannelCredentials>(
      const TlsPem& pem, const std::string& cluster)>;

  // One host for each of `facts`, under its name there, with a certificate by
  // `authority`. They begin to attach to `controller`, HOST:PORT, at once. So
  // many dial at one time that the controller is always busy, but the fleet is
  // not. `log` must outlive the fleet and hears from every host.
  Fleet(const std::string& controller, const std::string& cluster,
        const std::vector<HostFacts>& facts, const TestAuthority& authority,
        Log* log,
        const Credentials& credentials = MakeChannelCredentialsFromPem);
  // The same of hosts that take changes; they must outlive the fleet, which
  // ends their changes.
  using ChangingHosts = std::vector<std::unique_ptr<ChangingHost>>;
  Fleet(const std::string& controller, const std::string& cluster,
        const ChangingHosts& hosts, const TestAuthority& authority, Log* log);
  // Detaches all hosts.
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Ordered as the facts or hosts.
  const std::vector<std::shared_ptr<AgentStream>>& streams() const {
    return streams_;
  }
  // The facts' observer.
  FleetObserver& observer() { return observer_; }
  int size() const { return static_cast<int>(streams_.size()); }
  int attached() ABSL_LOCKS_EXCLUDED(mutex_);
  // The number of times that an attached host was lost.
  int lost() ABSL_LOCKS_EXCLUDED(mutex_);
  static constexpr size_t kMaxDials = 200;
  // Blocks until this many have been lost; false after `limit`.
  bool WaitLost(int lost, absl::Duration limit) ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until all hosts are attached at the same time; false after `limit`.
  bool WaitAllAttached(absl::Duration limit) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Loop {
    std::mt19937_64 random{std::random_device{}()};  // Only on its thread.
    EventLoop loop;
  };

  struct Member {
    std::string name;
    HostObserver* observer;
    ApplyTasks* applies;  // nullptr: it only observes.
  };

  void Begin(const std::string& controller, const std::string& cluster,
             const std::vector<Member>& members, const TestAuthority& authority,
             Log* log, const Credentials& credentials);
  void StartNext() ABSL_LOCKS_EXCLUDED(mutex_);

  FleetObserver observer_;
  absl::Mutex mutex_;
  int attached_ ABSL_GUARDED_BY(mutex_) = 0;
  int lost_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t started_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Loop> loops_;
  ThreadScheduler scheduler_;
  WorkerPool pool_;
  std::vector<std::shared_ptr<AgentStream>> streams_;
  std::vector<ApplyTasks*> applies_;
};

}  // namespace clusterd

#endif  // TESTS_SIM_FLEET_FLEET_H_
